import json

import pytest

from fglguard.errors import SettingsError
from fglguard.evaluation.bootstrap import Estimate
from scripts.reproducing.page import Page, beside_paper, markdown_table, number, told

CLEAR = Estimate(0.8, 0.75, 0.85, None)


def test_figures_are_told_with_their_interval() -> None:
    assert told(CLEAR) == ".800 [.75, .85]"
    assert told(Estimate(-0.05, -0.1, 0.02, None), signed=True) == "-.050 [-.10, +.02]"
    assert told(Estimate(1.0, None, None, "one task group")) == "1.000"
    assert told(Estimate(None, None, None, "no unsafe episodes")) == "n/a"
    assert number(0.1006) == ".101"


def test_a_table_is_a_pipe_table() -> None:
    assert markdown_table(["a", "b"], [["x", ".5"]]) == "| a | b |\n| --- | ---: |\n| x | .5 |\n"


def test_a_plain_sentence_where_the_paper_lies_outside() -> None:
    assert beside_paper("x", CLEAR, 0.8) is None
    assert "below the paper's .900" in beside_paper("x", CLEAR, 0.9)
    assert "above the paper's .700" in beside_paper("x", CLEAR, 0.7)
    assert beside_paper("x", Estimate(0.5, None, None, "one group"), 0.9) is None


def test_a_page_goes_to_files_and_into_its_section(tmp_path) -> None:
    results = tmp_path / "results.md"
    results.write_text("# R\n<!-- table: main -->\nold\n<!-- end: main -->\nafter\n")
    page = Page("main", {"floor.mean_auroc": 0.8, "small.mean_auroc": None}, "new \\1 text\n")
    files = page.write(tmp_path / "out", results)
    assert results.read_text() == (
        "# R\n<!-- table: main -->\nnew \\1 text\n<!-- end: main -->\nafter\n"
    )
    assert json.loads(files[0].read_bytes())["small.mean_auroc"] is None
    assert files[1].read_text() == "new \\1 text\n"
    with pytest.raises(SettingsError, match="table: arms"):
        Page("arms", {}, "").write(tmp_path / "out", results)
