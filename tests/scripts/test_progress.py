"""The progress display follows a log that is cut back and goes on, without falling over."""

import io
import json
import time

import pytest
from rich.console import Console

from scripts import progress


def line(number, rounds=20):
    record = {"kind": "round", "round": number, "rounds": rounds, "loss": 0.5, "clients": 2}
    return json.dumps(record | {"seconds": 1.0}) + "\n"


def test_a_log_that_is_replaced_by_a_shorter_one_is_followed_on(tmp_path, monkeypatch):
    """Lines from before the cut are not shown, those after it are; damage is passed over."""
    out = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda **_: Console(file=out, width=120))
    log = tmp_path / "metrics.jsonl"
    log.write_text(line(1) + line(10))
    with progress.follow(tmp_path, 20):
        shorter = tmp_path / "new"
        shorter.write_text(line(1))
        shorter.replace(log)
        time.sleep(3 * progress.POLL_SECONDS)
        with log.open("a") as file:
            file.write("damaged\n" + line(20))
        time.sleep(3 * progress.POLL_SECONDS)
    shown = out.getvalue()
    assert "round 20/20" in shown
    assert "round 1/20" not in shown
    assert "round 10/20" not in shown


@pytest.mark.parametrize("terminal", [True, False])
def test_a_run_that_fails_before_its_first_round_leaves_no_bar(tmp_path, monkeypatch, terminal):
    out = io.StringIO()
    monkeypatch.setattr(
        progress,
        "Console",
        lambda **_: Console(file=out, width=120, force_terminal=terminal, color_system=None),
    )
    with pytest.raises(ValueError, match="wrong"), progress.follow(tmp_path, 20):
        raise ValueError("wrong")
    # On a terminal what was drawn is erased; the last thing drawn holds no bar.
    assert "0/20" not in out.getvalue().rpartition("\x1b[2K")[2]
