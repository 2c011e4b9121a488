import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from client.app import app as client_app
from server.app import app as server_app
from server.client_figures import client_fairness, client_figures
from server.clients_table import LARGEST_TABLE, print_clients
from server.inprocess import simulate
from server.scores import ScoreTable
from strategies.cohort import Cohort, Member

SIZES = {"train_graphs": 9, "train_unsafe": 4, "test_graphs": 4, "test_unsafe": 2}


@pytest.fixture
def figures(tmp_path):
    """Two sites: of `mixed`, three of four pairs are ordered rightly; `clean` has one class."""
    raw = np.array([0.9, 0.4, 0.5, 0.1, 0.3, 0.2])
    label = np.array([1, 1, 0, 0, 0, 0])
    rest = np.zeros(6, np.int64)
    site = np.array(["mixed"] * 4 + ["clean"] * 2)
    test = ScoreTable(raw, raw, label, rest, rest, np.array(["d"] * 6), site)
    cohort = Cohort({2: Member(0, "mixed", "d"), 3: Member(1, "clean", "d")})
    metrics = tmp_path / "metrics.jsonl"
    lines = [
        {"kind": "train", "round": 1, "site": "mixed", "loss": 0.7},
        {"kind": "failure", "round": 1, "site": "clean", "reason": "late"},
        {"kind": "train", "round": 2, "site": "mixed", "loss": 0.6},
    ]
    metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return client_figures(cohort, {"mixed": SIZES, "clean": SIZES}, test, metrics)


def test_a_clients_own_rows_and_its_last_loss(figures):
    """Pairs (0.9, 0.5), (0.9, 0.1), (0.4, 0.1) are right, (0.4, 0.5) is not: 3 / 4."""
    assert figures["mixed"]["auroc"] == 0.75
    assert figures["mixed"]["loss"] == 0.6
    assert figures["mixed"]["train_graphs"] == 9


def test_a_client_of_one_class_is_undefined_not_half(figures):
    assert figures["clean"]["auroc"] is None
    assert figures["clean"]["undefined"] == "no unsafe test episodes"
    assert figures["clean"]["loss"] is None
    summary = client_fairness(figures)
    assert (summary["clients"], summary["undefined"], summary["minimum"]) == (1, 1, 0.75)


def printed(clients):
    console = Console(file=io.StringIO(), width=140)
    print_clients({"clients": clients, "fairness": client_fairness(clients)}, console)
    return console.file.getvalue()


def test_the_table_has_a_row_a_client(figures):
    text = printed(figures)
    assert "no unsafe test episodes" in text
    assert "AUROC over 1 clients: min 0.750" in text
    assert "undefined in 1" in text


def test_where_no_client_has_both_classes_there_is_no_summary(figures):
    assert "undefined in all 1 clients, whose" in printed({"clean": figures["clean"]})


def test_of_many_clients_the_summary_alone(figures):
    clients = {f"client-{n}": figures["mixed"] for n in range(LARGEST_TABLE + 1)}
    text = printed(clients)
    assert len(text.splitlines()) == 2
    assert f"{LARGEST_TABLE + 1} clients" in text


def test_a_whole_run_keeps_them(run_config, capsys):
    config = run_config(federation__rounds=1)
    simulate(server_app, client_app, config)
    results = json.loads((Path(config["output"]) / "results.json").read_text())
    defined = [one["auroc"] for one in results["clients"].values() if one["auroc"] is not None]
    assert results["fairness"]["clients"] == len(defined)
    assert results["fairness"]["mean"] == pytest.approx(np.mean(defined))
    assert results["fairness"]["std"] == pytest.approx(np.std(defined))
    assert all(one["loss"] > 0 for one in results["clients"].values())
    assert "deciles" in capsys.readouterr().out
