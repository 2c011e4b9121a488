"""Work in other processes: what each gives, in order, and how each fails."""

import math
import os

import pytest

from fglguard.errors import PrivacyError, SettingsError
from scripts.audit import main
from scripts.auditing.gate import read_gate
from scripts.auditing.processes import in_processes


def test_one_worker_works_here():
    assert in_processes(lambda number: number + 1, {"a": 1, "b": 2}, 1) == [2, 3]


@pytest.mark.long
def test_results_come_in_the_order_asked():
    assert in_processes(math.sqrt, {"a": 4.0, "b": 9.0, "c": 1.0}, 2) == [2.0, 3.0, 1.0]


@pytest.mark.long
@pytest.mark.parametrize("workers", [1, 2])
def test_a_failure_names_its_task(workers):
    with pytest.raises(SettingsError, match="audit of bert: gate: expected FIGURE=LIMIT"):
        in_processes(read_gate, {"gpt2": "auc=0.1", "bert": "auc"}, workers)


@pytest.mark.long
def test_a_killed_process_is_told():
    """`os._exit` ends a process without a word, as the kernel does where memory runs out."""
    with pytest.raises(PrivacyError, match=r"audit of (gpt2|bert): its process was killed"):
        in_processes(os._exit, {"gpt2": 3, "bert": 3}, 2)


@pytest.mark.long
def test_two_processes_find_what_one_does(tmp_path):
    """Everything but where it was written, down to the last bit."""
    found = []
    for workers in (1, 2):
        out = tmp_path / str(workers)
        arguments = ["model=gpt2,opt", "privacy=aegis", "attacks=candidates", "exports=1"]
        settings = ["batches=1", "trials=1", f"workers={workers}", f"out={out}", "--quick"]
        assert main([*arguments, *settings]) == 0
        found.append((out / "gpt2-opt.json").read_text())
    assert found[0] == found[1]
