import json

import pytest

from fglguard.errors import ReportError
from fglguard.evaluation.report.history import loss_by_domain, read_history


def train(server_round, site, domain, loss):
    return {"kind": "train", "round": server_round, "site": site, "domain": domain, "loss": loss}


def test_losses_are_averaged_over_a_domains_clients():
    """Round 1 of a: (1 + 3) / 2 = 2; in round 2 only one of its clients trained."""
    learning = loss_by_domain(
        [
            train(1, "b0", "b", 5.0),
            train(1, "a0", "a", 1.0),
            train(1, "a1", "a", 3.0),
            {"kind": "round", "round": 1, "loss": 9.0},
            {"kind": "failure", "round": 2, "site": "a0", "domain": "a"},
            train(2, "a1", "a", 0.5),
        ]
    )
    assert list(learning) == ["a", "b"]
    assert learning["a"].rounds == [1, 2]
    assert learning["a"].mean == [2.0, 0.5]
    assert (learning["a"].low, learning["a"].high) == ([1.0, 0.5], [3.0, 0.5])


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text(json.dumps(train(1, "a", "a", 1.0)) + "\n" + '{"kind": ')
    with pytest.raises(ReportError, match=r"metrics.jsonl:2: can't be read"):
        read_history(path)
    path.write_text("[]\n")
    with pytest.raises(ReportError, match=r"metrics.jsonl:1: expected a line of a run's log"):
        read_history(path)
