"""The command, run in this process, on real files."""

import json

import pytest
from typer.testing import CliRunner

from fglguard.cli import app
from fglguard.episode import encode_line, write_episodes

runner = CliRunner()


@pytest.fixture
def episodes_file(tmp_path, make_episode):
    path = tmp_path / "episodes.jsonl"
    write_episodes(path, [make_episode(n, "a", n % 4 < 2) for n in range(20)])
    return path


def test_import_then_show(tmp_path, episodes_file):
    silo = tmp_path / "silo"
    options = ["--encoder", "hashed-words"]
    done = runner.invoke(
        app, ["corpus", "import", "jsonl", str(episodes_file), "-o", str(silo), *options]
    )
    assert done.exit_code == 0, done.output
    shown = runner.invoke(app, ["corpus", "show", str(silo)])
    assert shown.exit_code == 0
    assert "20 episodes" in shown.output
    assert "hashed-words-" in shown.output


def test_bad_lines_are_skipped_and_counted_or_fatal(tmp_path, episodes_file, make_episode):
    with episodes_file.open("ab") as file:
        file.write(b"{broken\n")
        file.write(encode_line(make_episode(0, "a", True)))
    arguments = ["corpus", "import", "jsonl", str(episodes_file), "-o"]
    done = runner.invoke(app, [*arguments, str(tmp_path / "loose")])
    assert done.exit_code == 0
    assert "2 records skipped" in done.stderr
    strict = runner.invoke(app, [*arguments, str(tmp_path / "strict"), "--strict"])
    assert strict.exit_code == 2
    assert "episodes.jsonl:21" in strict.stderr
    assert not (tmp_path / "strict").exists()


def test_names_that_look_like_markup_are_shown_as_they_are(tmp_path, make_episode):
    path, silo = tmp_path / "episodes.jsonl", tmp_path / "silo[bold]"
    write_episodes(path, [make_episode(n, "[/red]", n % 4 < 2) for n in range(20)])
    done = runner.invoke(app, ["corpus", "import", "jsonl", str(path), "-o", str(silo)])
    assert done.exit_code == 0, done.output
    assert "[/red]" in done.output
    assert "silo[bold]" in done.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["corpus", "import", "nothing", ".", "-o", "x"], "agentdojo"),
        (["corpus", "show", "/nowhere"], "/nowhere"),
        (["corpus", "replay", "other", "-o", "x"], "agentdojo"),
        (["score", "/nowhere", "/nowhere.jsonl"], "/nowhere"),
        (["score", "/nowhere", "/nowhere.jsonl"], "such as runs/NAME/guard"),
        (["score", ".", ".", "-o", "/nowhere/v.jsonl"], "expected the folder /nowhere to be there"),
        (["report", ".", "-o", "/nowhere/page.html"], "expected the folder /nowhere to be there"),
        (["corpus", "import", "rjugde", ".", "-o", "x"], "did you mean rjudge?"),
        (["corpus", "import", "rjudge", ".", "-o", "x", "--encoder", "minlm"], "mean minilm?"),
        (["corpus", "embed", ".", "--preset", "recomended"], "did you mean recommended?"),
    ],
)
def test_errors_are_one_line_and_exit_with_two(arguments, told):
    done = runner.invoke(app, arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert told in done.stderr
    assert "Traceback" not in done.output


def test_score_gives_a_verdict_a_line(tmp_path, episodes_file):
    from fglguard.bundle import save_bundle
    from fglguard.calibration import calibrate
    from fglguard.detector import build_detector
    from fglguard.encoder import load_encoder
    from fglguard.graph import GraphSettings

    encoder = load_encoder("hashed-words")
    save_bundle(
        tmp_path / "guard",
        build_detector("paper", encoder.dimension, seed=0),
        encoder=encoder,
        graph=GraphSettings(),
        calibration=calibrate([0.1, 0.9], [0, 1]),
        domains={"a": calibrate([0.1, 0.3], [0, 1])},
    )
    output = tmp_path / "verdicts.jsonl"
    done = runner.invoke(
        app, ["score", str(tmp_path / "guard"), str(episodes_file), "-o", str(output)]
    )
    assert done.exit_code == 0, done.output
    verdicts = [json.loads(line) for line in output.read_text().splitlines()]
    assert len(verdicts) == 20
    assert {v["status"] for v in verdicts} == {"success"}
    assert {v["threshold"] for v in verdicts} == {0.9}
    assert output.stat().st_mode & 0o777 == 0o600
    named = runner.invoke(
        app, ["score", str(tmp_path / "guard"), str(episodes_file), "--domain", "a"]
    )
    assert {json.loads(line)["threshold"] for line in named.stdout.splitlines()} == {0.3}


def test_score_leaves_taints_out_if_asked(tmp_path):
    from fglguard.bundle import save_bundle
    from fglguard.calibration import calibrate
    from fglguard.detector import build_detector
    from fglguard.encoder import load_encoder
    from fglguard.episode import write_episodes
    from fglguard.graph import PRESET_FEATURES, GraphSettings
    from tests.fglguard.flow.conftest import build

    encoder = load_encoder("hashed-words")
    save_bundle(
        tmp_path / "guard",
        build_detector("small", encoder.dimension, seed=0),
        encoder=encoder,
        graph=GraphSettings(**PRESET_FEATURES["small"]),
        calibration=calibrate([0.1, 0.9], [0, 1]),
    )
    write_episodes(tmp_path / "e.jsonl", [build()])
    command = ["score", str(tmp_path / "guard"), str(tmp_path / "e.jsonl")]
    assert json.loads(runner.invoke(app, command).stdout)["taints"]
    assert json.loads(runner.invoke(app, [*command, "--no-taints"]).stdout)["taints"] == []


def test_a_mistyped_folder_of_verdicts_is_not_made(tmp_path, episodes_file):
    output = tmp_path / "verdict" / "v.jsonl"
    done = runner.invoke(app, ["score", str(tmp_path), str(episodes_file), "-o", str(output)])
    assert done.exit_code == 2
    assert str(output.parent) in done.stderr
    assert not output.parent.exists()


def test_a_source_that_is_not_there_leaves_no_folder(tmp_path):
    silo = tmp_path / "silos" / "mine" / "s"
    done = runner.invoke(
        app, ["corpus", "import", "jsonl", str(tmp_path / "nowhere"), "-o", str(silo)]
    )
    assert done.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_bad_encoder_costs_no_import(tmp_path, episodes_file):
    silo = tmp_path / "silo"
    options = ["-o", str(silo), "--encoder", "bert"]
    done = runner.invoke(app, ["corpus", "import", "jsonl", str(episodes_file), *options])
    assert done.exit_code == 2
    assert "minilm, hashed-words" in done.stderr
    assert not silo.exists()


def test_a_silo_is_replaced_only_when_asked(tmp_path, episodes_file):
    arguments = ["corpus", "import", "jsonl", str(episodes_file), "-o", str(tmp_path / "silo")]
    assert runner.invoke(app, arguments).exit_code == 0
    again = runner.invoke(app, arguments)
    assert again.exit_code == 2
    assert "--overwrite replaces it" in again.stderr
    assert "overwrite=True" not in again.stderr
    assert runner.invoke(app, [*arguments, "--overwrite"]).exit_code == 0
