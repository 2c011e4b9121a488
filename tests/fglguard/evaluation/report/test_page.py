import dataclasses
import html
import json
import re
from html.parser import HTMLParser

import pytest

from fglguard.evaluation.report.clients import NAMED_CLIENTS
from fglguard.evaluation.report.distributions import MOST_PANELS
from fglguard.evaluation.report.page import report_page
from fglguard.evaluation.report.run_record import RunRecord

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Outline(HTMLParser):
    """What is in a page: elements, attributes, text; fails where elements do not nest."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def run(run_folder):
    return RunRecord.read(run_folder)


@pytest.fixture(scope="module")
def outline(run):
    return Outline(report_page(run))


def test_nothing_is_loaded_or_run(outline):
    assert not {"script", "link", "img", "iframe", "object"} & set(outline.tags)
    for name, value in outline.attributes:
        assert not name.startswith("on"), name
        if name in ("href", "src", "xlink:href"):
            assert value.startswith("#")
        assert "url(" not in (value or "") or "url(#" in value
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in outline.attributes


def test_ids_are_unique_and_every_label_is_there(outline):
    ids = [value for name, value in outline.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    labels = [v for name, v in outline.attributes if name == "aria-labelledby"]
    assert labels and {part for label in labels for part in label.split()} <= set(ids)


def test_names_come_out_as_they_are(run, outline):
    texts = {text.strip() for text in outline.text}
    for domain in run.domains:
        assert domain in texts
    for site in run.results["clients"]:
        assert site in texts
    assert f"Run report: {run.name}" in texts


def test_figures_are_those_of_results_json(run, outline):
    texts = {text.strip() for text in outline.text}
    for figures in run.results["test"]["domains"].values():
        for name in ("auroc_raw", "auroc_corroborated", "recall", "false_positive_rate"):
            e = figures[name]
            assert f"{e['value']:.3f}\n[{e['low']:.2f}, {e['high']:.2f}]" in texts
    for floor in run.results["floors"].values():
        assert f"{floor['mean']:.3f}" in texts


def test_paths_of_a_machine_are_left_out(run):
    page = html.unescape(report_page(run))
    for key in ("output", "corpus.path"):
        assert run.settings[key]
        assert run.settings[key] not in page


def changed(run, **parts):
    """The same run with parts of its results replaced, as other kinds of runs have them."""
    results = json.loads(json.dumps(run.results)) | parts
    return dataclasses.replace(run, results=results)


def test_a_run_without_floors_says_why(run):
    page = report_page(changed(run, floors=None))
    assert "they need every site&#39;s text in one place" in page
    assert "best text floor" not in page


def test_a_guard_below_the_floor_is_told_so(run):
    """The floor's mean is set to 1, which no guard is above."""
    floors = json.loads(json.dumps(run.results["floors"]))
    floors["tfidf"]["mean"] = 1.0
    page = report_page(changed(run, floors=floors))
    assert "a text classifier would do this job" in page
    assert "TF-IDF, mean AUROC" in page


def test_a_threshold_that_blocks_nothing(run):
    reason = "plain: even the highest benign scores are more than 0.1 of them"
    calibration = {**run.results["calibration"], "threshold": None, "reason": reason}
    page = html.unescape(report_page(changed(run, calibration=calibration)))
    assert f"This guard blocks nothing: {reason}." in page
    assert "threshold: blocks nothing" in page


@pytest.mark.long
def test_thousands_of_clients_and_many_domains_fit(run):
    one = next(iter(run.results["clients"].values()))
    clients = {f"site-{n}": {**one, "domain": f"d{n % 50}", "auroc": n / 2000} for n in range(2000)}
    fairness = {**run.results["fairness"], "clients": 2000, "mean": 0.5}
    domain = next(iter(run.results["test"]["domains"].values()))
    curve = next(iter(run.curves["domains"].values()))
    learning = next(iter(run.learning.values()))
    names = [f"d{n}" for n in range(50)]
    test = {**run.results["test"], "domains": dict.fromkeys(names, domain)}
    large = dataclasses.replace(
        changed(run, clients=clients, fairness=fairness, test=test),
        curves={**run.curves, "domains": dict.fromkeys(names, curve)},
        learning=dict.fromkeys(names, learning),
    )
    page = report_page(large)
    Outline(page)
    assert f"{50 - MOST_PANELS} more domains are left out" in page
    assert "2000 clients: results.json has every one" in page
    assert len(clients) > NAMED_CLIENTS
    assert len(page) < 2_000_000


def test_undefined_figures_are_told_with_their_reason(run):
    """A test split of safe episodes alone, and clients that never trained."""
    test = json.loads(json.dumps(run.results["test"]))
    first = run.domains[0]
    reason = "no unsafe episodes"
    undefined = {"value": None, "low": None, "high": None, "reason": reason}
    for name in ("auroc_raw", "auroc_corroborated", "recall"):
        test["domains"][first][name] = undefined
    test["mean_auroc_raw"] = None
    clients = {
        site: {**figures, "auroc": None, "undefined": "never trained", "loss": None}
        for site, figures in run.results["clients"].items()
    }
    fairness = dict.fromkeys(run.results["fairness"], None) | {"clients": 0, "undefined": 4}
    domains = {first: {**run.curves["domains"][first], "roc": None}}
    page = report_page(
        dataclasses.replace(
            changed(run, test=test, clients=clients, fairness=fairness),
            curves={**run.curves, "domains": domains},
            learning={},
        )
    )
    texts = " ".join(Outline(page).text)
    assert re.search(rf"{re.escape(first)}, AUROC raw: {reason}", texts)
    assert "never trained" in texts
    assert "No client reported a training loss" in texts
    assert "No domain's test split has both safe and unsafe episodes" in texts
    assert "AUROC is undefined in all 4 clients" in texts


def test_a_test_split_without_episodes_has_a_page_too(run):
    test = {**run.results["test"], "domains": {}, "mean_auroc_raw": None}
    curves = {"edges": run.curves["edges"], "domains": {}}
    Outline(report_page(dataclasses.replace(changed(run, test=test), curves=curves)))
