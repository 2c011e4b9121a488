import json

import pytest

from fglguard.corpora import CORPORA, corpus
from fglguard.corpora.fields import text_of
from fglguard.errors import CorpusError

FORMATS = sorted(CORPORA)


def good(request="Go"):
    contents = [[{"role": "user", "content": request}]]
    return {"label": 0, "contents": contents}


def test_the_registry_lists_its_choices():
    assert set(FORMATS) == {
        "agentdojo",
        "rjudge",
        "assebench",
        "agent_safetybench",
        "openagentsafety",
        "debate",
        "gsafeguard",
        "jsonl",
        "otlp",
        "langgraph",
        "autogen",
    }
    assert all(CORPORA[name].name == name for name in FORMATS)
    with pytest.raises(CorpusError, match=r"expected one of agent_safetybench, .*got 'rjugde'"):
        corpus("rjugde")


@pytest.mark.parametrize("name", FORMATS)
def test_a_folder_without_a_file_of_the_format_says_what_was_looked_for(tmp_path, name):
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(CorpusError, match=rf"expected .*\*?\.jsonl?.*\({name}\), found none"):
        list(corpus(name).read(tmp_path))


@pytest.mark.parametrize("name", FORMATS)
def test_a_path_that_is_not_there_is_an_error(tmp_path, name):
    with pytest.raises(CorpusError, match="there is none"):
        list(corpus(name).read(tmp_path / "absent"))


@pytest.mark.parametrize("name", [n for n in FORMATS if n != "openagentsafety"])
def test_files_of_another_format_are_an_error_with_the_first_problem(write, tmp_path, name):
    write("a.json", [{"some": "thing"}])
    write("a.jsonl", [{"some": "thing"}])
    with pytest.raises(CorpusError, match=rf"found no {name} episode in it; the first problem is"):
        list(corpus(name).read(tmp_path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[{", "broken JSON at line 1, column 3"),
        (b"\xff", "expected UTF-8, got byte 0xff at byte 0"),
        (b"[" * 100_000, "nested too deeply"),
        (b"", "broken JSON at line 1, column 1"),
    ],
)
def test_a_broken_file_is_one_problem_and_fatal_when_strict(write, tmp_path, content, message):
    write("b.json", [good()])
    (tmp_path / "a.json").write_bytes(content)
    problems = []
    assert len(list(corpus("rjudge").read(tmp_path, problems=problems))) == 1
    assert [p.where for p in problems] == [str(tmp_path / "a.json")]
    assert message in problems[0].message
    with pytest.raises(CorpusError, match=r"a\.json: "):
        list(corpus("rjudge").read(tmp_path, strict=True))


def test_a_broken_line_costs_that_line_alone(write, tmp_path):
    path = write("a.jsonl", [good("one"), good("two")])
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "{broken", "", lines[1]]))
    problems = []
    assert len(list(corpus("rjudge").read(path, problems=problems))) == 2
    assert [p.where for p in problems] == [f"{path}:2"]


def test_files_are_read_in_the_order_of_their_names(write, tmp_path):
    for name in ("b.json", "a/z.json", "c/a.json"):
        write(name, [good(name)])
    episodes = list(corpus("rjudge").read(tmp_path, domain="mine"))
    assert [e.messages[0].text for e in episodes] == ["a/z.json", "b.json", "c/a.json"]
    assert [e.attributes["source"] for e in episodes] == [
        f"{name}: record 0" for name in ("a/z.json", "b.json", "c/a.json")
    ]
    assert {e.domain for e in episodes} == {"mine"}


def test_an_id_does_not_depend_on_where_the_file_lies(write):
    (here,) = corpus("rjudge").read(write("a.json", [good()]))
    (there,) = corpus("rjudge").read(write("deep/b.json", [good()]))
    assert here.id == there.id


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("x", "x"),
        ([{"type": "text", "text": "a"}, {"type": "text", "content": "b"}, "c"], "a\nb\nc"),
        ([{"type": "image", "url": "u"}], ""),
        ({"k": 1}, '{"k": 1}'),
    ],
)
def test_contents_of_every_shape_become_text(content, text):
    assert text_of(content) == text


def test_errors_never_quote_what_was_said(write):
    record = good()
    record["contents"][0].append({"role": "SECRET", "content": "SECRET"})
    with pytest.raises(CorpusError) as caught:
        list(corpus("rjudge").read(write("a.json", [record, json.dumps("SECRET")]), strict=True))
    assert "SECRET" not in str(caught.value)
    assert "contents[0][1].role" in str(caught.value)
