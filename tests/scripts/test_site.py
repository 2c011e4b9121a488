"""What a site's owner sees: a dry run, and the log."""

import socket

import pytest

from scripts.site import main

RUN = ("detector=paper", "corpus.encoder=hashed-words")


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def silo(make_silo):
    return make_silo(domains=("a",)).path


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a dry run opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "bind", refuse)


def check(silo, *more):
    return main(["check", "--site", "north", "--data", str(silo), *RUN, *more])


def test_a_dry_run_shows_what_would_leave_and_leaves_nothing_behind(silo, no_network, capsys):
    before = sorted(silo.rglob("*"))
    assert check(silo, "--require-privacy", "aegis") == 0
    shown = capsys.readouterr().out
    for text in ("query", "train", "evaluate", "362753 float32", "1,451,484", "nothing was sent"):
        assert text in shown
    assert "privacy floor aegis: reached by the run (privacy=aegis" in shown
    assert "silo: train_graphs 24" in shown
    assert sorted(silo.rglob("*")) == before


def test_what_a_strategy_keeps_is_removed(silo, no_network):
    before = sorted(silo.rglob("*"))
    assert check(silo, "privacy=none", "strategy=scaffold") == 0
    assert sorted(silo.rglob("*")) == before


def test_a_run_below_the_floor_is_refused(silo, capsys):
    assert check(silo, "--require-privacy", "aegis", "privacy=none") == 2
    assert "site north: PrivacyError: this site takes part only with" in capsys.readouterr().err


def test_too_small_a_silo_for_the_mask_is_refused(make_silo, capsys):
    """Five training episodes of eight; the mask asks for sixteen."""
    small = make_silo(domains=("a",), count=8, name="small").path
    assert check(small, "privacy=aegis") == 2
    assert "expected at least 16" in capsys.readouterr().err


def test_a_silo_that_is_not_there_is_named(tmp_path, capsys):
    assert check(tmp_path / "nowhere") == 2
    assert f"error: {tmp_path}/nowhere" in capsys.readouterr().err


def test_a_kit_says_who_the_site_is(silo, tmp_path, capsys):
    kit = tmp_path / "kit"
    kit.mkdir()
    config = f'site = "south"\ndata-path = "{silo}"\nrequire-privacy = "aegis_extended"\n'
    (kit / "site.toml").write_text(config)
    assert main(["check", "--kit", str(kit), "--require-privacy", "aegis", *RUN]) == 0
    assert "What would leave site south (domain a)" in capsys.readouterr().out
    assert main(["check", "--kit", str(kit), *RUN]) == 2
    assert "privacy=aegis_extended or more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "--site: expected it, or a --kit"),
        (["--site", "x"], "--data: expected it"),
        (["--kit", "/nowhere"], "/nowhere/site.toml: expected a site's node config"),
    ],
)
def test_a_site_that_is_not_named_is_refused(capsys, options, told):
    assert main(["check", *options, *RUN]) == 2
    assert told in capsys.readouterr().err


def test_a_log_is_shown_by_round(tmp_path, capsys):
    """Two replies of 10 and 20 bytes in round 1."""
    log = tmp_path / "sent.jsonl"
    line = (
        '{{"time": "2030-01-01T00:00:00", "run": 7, "round": 1, "type": "train", "bytes": {}, '
        '"received": 400, '
    )
    metrics = (
        '"records": [{"name": "metrics", "kind": "MetricRecord", "bytes": 4, "sha256": "ab", '
        '"values": {"loss": 0.5}}]}\n'
    )
    error = '"records": [], "error": {"code": 1, "reason": "SiloError: gone"}}\n'
    log.write_text(line.format(10) + metrics + line.format(20) + error)
    assert main(["log", str(log)]) == 0
    shown = capsys.readouterr().out
    assert "loss=0.5" in shown and "SiloError: gone" in shown
    assert "round 1: 30 bytes out, 800 in" in shown
    assert "2 replies, 30 bytes out in all, 800 in" in shown


@pytest.mark.parametrize("text", ["{", "[]", '{"bytes": 1}'])
def test_a_damaged_line_is_named(tmp_path, capsys, text):
    log = tmp_path / "sent.jsonl"
    log.write_text(text + "\n")
    assert main(["log", str(log)]) == 2
    assert f"{log}:1: expected a line" in capsys.readouterr().err
