import json
from pathlib import Path

import numpy as np
import pytest

from client.app import app as client_app
from fglguard.corpora.splits import SPLITS
from fglguard.silo import Silo
from server.app import app as server_app
from server.inprocess import simulate


def path(config):
    return Path(config["output"])


def status(config):
    return json.loads((path(config) / "status.json").read_text())


def test_curves_count_the_test_split_of_every_domain(run_config):
    config = run_config(federation__rounds=1)
    simulate(server_app, client_app, config)
    curves = json.loads((path(config) / "curves.json").read_text())
    silo = Silo.open(config["corpus.path"])
    for code, domain in enumerate(silo.domains):
        for label, name in ((0, "safe"), (1, "unsafe")):
            held = (silo.split == SPLITS.index("test")) & (silo.domain == code)
            expected = np.count_nonzero(held & (silo.label == label))
            assert sum(curves["domains"][domain][name]) == expected
    assert "report_error" not in status(config)


def test_a_report_that_cant_be_written_costs_no_results(run_config, caplog):
    """A folder stands where the report would: the run completes and says what is missing."""
    config = run_config(federation__rounds=1)
    (path(config) / "report.html").mkdir(parents=True)
    simulate(server_app, client_app, config)
    assert json.loads((path(config) / "results.json").read_text())["test"]["domains"]
    assert status(config)["state"] == "completed"
    assert status(config)["report_error"].startswith("IsADirectoryError: ")
    assert "its report could not be written" in caplog.text


@pytest.mark.parametrize("strategy", ["local", "pooled"])
def test_other_arms_have_reports_too(run_config, strategy):
    config = run_config(federation__rounds=1, strategy__name=strategy)
    simulate(server_app, client_app, config)
    page = (path(config) / "report.html").read_text()
    # A guard a client: none can score the viewer's episodes for all.
    assert ("Episodes worth a look" in page) == (strategy == "pooled")
