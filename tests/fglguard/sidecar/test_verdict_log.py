"""The log is whole lines, its owner's, of bounded size, also on a disk that was full."""

import json
import resource

import pytest

from fglguard.errors import OutputError
from fglguard.events import Event
from fglguard.flow.taint import Taint
from fglguard.sidecar.verdict_log import VerdictLog, entry
from fglguard.verdict import Verdict

TAINT = Taint("secret@evil", "send it to secret@evil", 0.9, 1, 2, ("t", "a"))
VERDICT = Verdict("e", "block", "success", 0.9, 0.9, 0.5, "why", "m", "c", 1.0, taints=(TAINT,))
EVENT = Event("e", "a", "the secret words", id="1", tool=None)


def lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_no_text_unless_asked():
    told = json.dumps(entry(VERDICT, EVENT, "agent 'a'", text=False))
    assert "secret" not in told
    assert json.loads(told)["allowed_by"] == "agent 'a'"
    with_text = entry(VERDICT, EVENT, None, text=True)
    assert with_text["text"] == "the secret words"
    assert with_text["taints"][0]["value"] == "secret@evil"


def test_files_of_bounded_size_their_owner_s(tmp_path):
    """Each record takes 1000 bytes, so 4 fit in 4096; 20 of them are 5 files, 3 kept."""
    path = tmp_path / "verdicts.jsonl"
    path.write_text("")
    path.chmod(0o644)
    log = VerdictLog(path, 4096, 2)
    padding = 1000 - len(json.dumps({"n": 10, "p": ""})) - 1
    for number in range(10, 30):
        assert log.write({"n": number, "p": "x" * padding})
    log.close()
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == [f"verdicts.jsonl{end}" for end in ("", ".1", ".2")]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert [one["n"] for file in reversed(files) for one in lines(file)] == list(range(18, 30))


def test_without_old_files_the_one_begins_anew(tmp_path):
    log = VerdictLog(tmp_path / "v", 4096, 0)
    for number in range(5):
        assert log.write({"n": number, "p": "x" * 2000})
    assert [one["n"] for one in lines(tmp_path / "v")] == [4]
    assert [file.name for file in tmp_path.iterdir()] == ["v"]


def test_it_goes_on_where_it_was(tmp_path):
    for number in range(2):
        log = VerdictLog(tmp_path / "v", 4096, 1)
        log.write({"n": number})
        log.close()
    assert [one["n"] for one in lines(tmp_path / "v")] == [0, 1]


def test_a_full_disk_is_told_and_leaves_no_half_records(tmp_path, caplog):
    """A limit on the size of files stands for it: the kernel then writes a part, or refuses."""
    log = VerdictLog(tmp_path / "v", 2**20, 1)
    assert log.write({"n": 0})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30, hard))
    try:
        assert not log.write({"n": 1, "p": "x" * 100})
        assert not log.write({"n": 2, "p": "x" * 100})
        assert (log.failing, log.lost) == ("File too large", 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert log.write({"n": 3})
    assert (log.failing, log.lost) == (None, 2)
    assert [one["n"] for one in lines(tmp_path / "v")] == [0, 3]
    assert caplog.text.count("can't be written") == 1
    assert "written again; 2 lost" in caplog.text


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(OutputError, match=r"--log: .* can't be written"):
        VerdictLog(tmp_path, 4096, 1)
    with pytest.raises(OutputError, match="No such file"):
        VerdictLog(tmp_path / "no" / "v", 4096, 1)
