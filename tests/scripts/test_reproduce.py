"""A table from the command to its files, on a small silo; what is done is used again."""

import json
import stat

import pytest

from fglguard.encoder import load_encoder
from fglguard.graph import GraphSettings
from fglguard.silo import Silo
from scripts.reproduce import TABLES, main
from scripts.reproducing import ablations_table, recommended_ablations
from tests.conftest import build_episode

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with a silo, and with the runs of all tests: what one made another uses."""
    folder = tmp_path_factory.mktemp("kept")
    episodes = [
        build_episode(number, domain, unsafe=number % 4 < 2)
        for domain in ("a", "b")
        for number in range(60)
    ]
    Silo.create(folder / "silo", episodes).prepare(load_encoder("hashed-words"), GraphSettings())
    return folder


@pytest.fixture
def arguments(kept, tmp_path):
    def make(*more):
        return [
            f"corpus.path={kept / 'silo'}",
            f"folder={kept / 'runs'}",
            f"out={tmp_path / 'results'}",
            "page=",
            "encoder=hashed-words",
            "seeds=2",
            "rounds=1",
            "workers=1",
            *more,
        ]

    return make


def test_main_names_its_keys_and_goes_on_with_what_is_kept(
    arguments, kept, tmp_path, capsys
) -> None:
    assert main(arguments("table=main")) == 0
    record = json.loads((tmp_path / "results/main.json").read_bytes())
    for arm in ("recommended", "small", "paper", "floor"):
        assert {f"{arm}.mean_auroc", f"{arm}.a.auroc", f"{arm}.b.auroc"} <= set(record)
    for study in ("leave_suite_out", "leave_corpus_out"):
        assert {f"{study}.recommended", f"{study}.floor"} <= set(record)
    assert record["leave_suite_out.paper"] is None  # the silo has no suites
    assert 0 <= record["paper.mean_auroc"] <= 1

    runs = sorted(path.parent for path in (kept / "runs").glob("*paper*disjoint*/results.json"))
    assert len(runs) == 2
    scores = runs[0] / "scores.npz"
    assert stat.S_IMODE(scores.stat().st_mode) == 0o600
    # Rescored from the guard, the figures are those that the run itself reports.
    own = [json.loads((run / "results.json").read_bytes()) for run in runs]
    means = [one["test"]["domains"]["a"]["auroc_raw"]["value"] for one in own]
    assert record["paper.a.auroc"] == pytest.approx(sum(means) / 2, abs=1e-6)

    before = {run: (run / "results.json").stat().st_mtime_ns for run in runs}
    text = (tmp_path / "results/main.md").read_text()
    assert main(arguments("table=main")) == 0
    assert before == {run: (run / "results.json").stat().st_mtime_ns for run in runs}
    assert (tmp_path / "results/main.md").read_text() == text
    capsys.readouterr()


@pytest.fixture
def few_ablations(monkeypatch):
    """The table of ablations with few rows of each kind."""
    changes = dict(list(ablations_table.CHANGES.items())[:2])
    monkeypatch.setattr(ablations_table, "CHANGES", changes)
    monkeypatch.setattr(ablations_table, "MUS", ("0",))
    monkeypatch.setattr(ablations_table, "PURITIES", ("0.8",))
    left_out = {n: recommended_ablations.ABLATIONS[n] for n in (recommended_ablations.NO_FLOW,)}
    monkeypatch.setattr(recommended_ablations, "ABLATIONS", left_out)


@pytest.mark.usefixtures("few_ablations")
@pytest.mark.parametrize("table", sorted(set(TABLES) - {"main", "arms"}))
def test_every_table_can_be_made(arguments, tmp_path, table) -> None:
    assert main(arguments(f"table={table}", "seeds=1")) == 0
    json.loads((tmp_path / f"results/{table}.json").read_bytes())
    assert "| " in (tmp_path / f"results/{table}.md").read_text()


@pytest.mark.usefixtures("few_ablations")
def test_a_part_left_out_is_trained_apart_and_compared_with_the_whole(
    arguments, kept, tmp_path
) -> None:
    assert main(arguments("table=ablations", "seeds=1")) == 0
    record = json.loads((tmp_path / "results/ablations.json").read_bytes())["recommended"]
    whole, no_flow = record["recommended"], record[recommended_ablations.NO_FLOW]
    assert whole["difference"] is None
    value = no_flow["auroc"]["value"] - whole["auroc"]["value"]
    assert no_flow["difference"]["value"] == pytest.approx(value)
    for name in ("no provenance term", "no normalisation of the fusion"):
        assert record[name]["auroc"]["value"] is not None
    assert record["no words"]["auroc"]["value"] is None  # not among the few
    trained = {path.name for path in (kept / "runs").glob("arm-*disjoint*seed-0*")}
    assert any("arm-no-flow-features" in name.lower() for name in trained), trained
    # A lock may stay behind, the temporary silo may not.
    assert not [path for path in (kept / "runs/silos").glob("*flow*") if path.is_dir()]


def test_the_local_arm_is_compared_guard_by_guard(arguments, tmp_path) -> None:
    assert main(arguments("table=arms", "seeds=1")) == 0
    record = json.loads((tmp_path / "results/arms.json").read_bytes())
    text = (tmp_path / "results/arms.md").read_text()
    assert record["all_domains"]["local, off-domain"]["mean_auroc"]["value"] is not None
    (line,) = [line for line in text.splitlines() if line.startswith("| local - balanced |")]
    assert "n/a" not in line


def test_a_wrong_argument_ends_with_2(arguments, capsys) -> None:
    assert main(arguments("table=none")) == 2
    assert "table: expected one of" in capsys.readouterr().err


@pytest.mark.usefixtures("few_ablations")
def test_a_run_that_fails_is_named_and_ends_with_2(
    arguments, tmp_path, capsys, monkeypatch
) -> None:
    """The tables are written all the same, with the other cells in them."""
    changes = {ablations_table.BASE: (), "T = 1": ("detector.rounds=-1",)}
    monkeypatch.setattr(ablations_table, "CHANGES", changes)
    assert main(arguments("table=ablations", "seeds=1")) == 2
    told = capsys.readouterr().err
    assert "failed: T = 1 (task_disjoint, seed 0): detector.rounds" in told
    text = (tmp_path / "results/ablations.md").read_text()
    assert "- T = 1: detector.rounds" in text
    assert "(task_disjoint, seed 0)" in text
    record = json.loads((tmp_path / "results/ablations.json").read_bytes())["task_disjoint"]
    assert "detector.rounds" in record["T = 1"]["problem"]
    assert record[ablations_table.BASE]["auroc"]["value"] is not None
