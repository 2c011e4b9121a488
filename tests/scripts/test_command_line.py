"""Slips on a command line that Hydra composes, told in one line."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.errors import HydraException

from scripts.command_line import CONF, describe, hydra_errors_told, known_keys

ROOT = Path(__file__).resolve().parents[2]
SLIPS = [
    ("detector=recomended", r"detector: expected one of finetune, .*; did you mean recommended\?"),
    ("strategy=fedporx", r"strategy: expected one of .* got 'fedporx'; did you mean fedprox\?"),
    ("experiment=smok", r"experiment: expected one of .*; did you mean smoke\?"),
    (
        "federation.round=5",
        r"federation\.round: unknown setting; .* federation\.rounds\?",
    ),
    ("detectr=paper", r"detectr: unknown setting; did you mean detector\?"),
    ("rounds=5", r"rounds: unknown .* mean federation\.rounds or detector\.rounds\?"),
    ("rounds 5", r"expected key=value, got 'rounds 5'; did you mean federation\.rounds or .*"),
    ("seed", r"expected key=value, got 'seed'; did you mean seed\?"),
    ("seed=[1", r"expected key=value, got 'seed=\[1': .*"),
    ("strategy=fedavg,fedprox", r".*'strategy=fedavg,fedprox'; -m sweeps over several values"),
    ("~seeed", r".*'seeed' does not exist\."),
]


@pytest.mark.parametrize(("override", "told"), SLIPS)
def test_a_slip_is_one_line_with_what_is_near(override, told):
    with (
        pytest.raises(HydraException) as caught,
        initialize_config_dir(str(CONF), version_base=None),
    ):
        compose("config", [override])
    assert re.fullmatch(told, describe(caught.value))


def test_keys_are_groups_and_settings():
    keys = known_keys()
    assert {"strategy", "detector", "federation.rounds", "seed"} <= set(keys)
    assert not {"base", "hydra"} & set(keys)


def test_other_exceptions_and_the_environment_stay(monkeypatch):
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    with pytest.raises(ZeroDivisionError), hydra_errors_told():
        raise ZeroDivisionError
    assert "HYDRA_FULL_ERROR" not in os.environ
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    with pytest.raises(HydraException, match="whole"), hydra_errors_told():
        raise HydraException("whole")


@pytest.mark.long
@pytest.mark.parametrize("script", ["simulate.py", "partition.py"])
@pytest.mark.parametrize(
    "arguments", [["strategy=fedporx"], ["rounds", "5"], ["-m", "seed=0,1", "detector=papr"]]
)
def test_every_script_that_hydra_starts_says_it_in_one_line_and_exits_with_two(script, arguments):
    done = subprocess.run(
        [sys.executable, f"scripts/{script}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and "did you mean" in done.stderr
    assert len(done.stderr.splitlines()) == 1
