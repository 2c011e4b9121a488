"""`fglguard recalibrate` on real silos: the threshold is the rules' own, the old guard stays."""

import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from fglguard.bundle import GUARD_FILE, MODEL_FILE, load_bundle, save_bundle
from fglguard.calibration import ReferenceHistogram, calibrate
from fglguard.cli import app
from fglguard.detector import build_detector
from fglguard.drift import DriftMonitor
from fglguard.encoder import load_encoder
from fglguard.graph import GraphSettings
from fglguard.guard import Guard
from fglguard.sealing import seal, unseal
from fglguard.silo import Silo
from fglguard.training import TrainingSettings, score_graphs, train_locally

SPLITS = [0, 0, 1, 1, 2]
OLD = calibrate([0.1, 0.2, 0.9], [0, 0, 1], 0.4, rule="conformal")


def make_silo(path, make_episode, unsafe=lambda number: number % 4 < 2, domains=("a", "b")):
    """40 episodes a domain, two fifths of them in the validation split."""
    episodes = [make_episode(n, domain, unsafe(n)) for domain in domains for n in range(40)]
    splits = [SPLITS[n % 5] for _ in domains for n in range(40)]
    silo = Silo.create(path, episodes, splits=splits)
    silo.prepare(load_encoder("hashed-words"), GraphSettings())
    return silo


@pytest.fixture
def site(tmp_path, make_episode):
    """A silo, a guard trained a little on its train split, and the command between them."""
    silo = make_silo(tmp_path / "silo", make_episode)
    encoder = load_encoder("hashed-words")
    graphs = silo.graphs(encoder.fingerprint, GraphSettings())
    detector = build_detector("paper", encoder.dimension, seed=0)
    train = np.flatnonzero(np.asarray(silo.split) == 0)
    train_locally(detector, graphs, train, TrainingSettings(epochs=3), [0])
    guard, new = tmp_path / "guard", tmp_path / "new"
    save_bundle(
        guard,
        detector,
        encoder=encoder,
        graph=GraphSettings(),
        calibration=OLD,
        domains={"b": calibrate([0.3, 0.8], [0, 1], 0.2)},
        provenance={"clients": 4},
    )

    def rows(of=lambda silo: np.asarray(silo.split) == 1, among=silo):
        chosen = np.flatnonzero(of(among))
        scored = score_graphs(
            load_bundle(guard).detector, among.graphs(encoder.fingerprint, GraphSettings()), chosen
        )
        return scored.corroborated, among.label[chosen], among.group[chosen]

    def run(*options, on=silo.path, to=new):
        command = ["recalibrate", str(guard), str(on), "-o", str(to), *options]
        return CliRunner().invoke(app, command)

    return SimpleNamespace(silo=silo, guard=guard, new=new, rows=rows, run=run, root=tmp_path)


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_new_bundle_with_a_new_threshold_and_the_old_one_untouched(site) -> None:
    """Rule, budget and the rest are the old calibration's, the scores the validation split's."""
    before, old = files(site.guard), load_bundle(site.guard)
    done = site.run()
    assert done.exit_code == 0, done.output
    assert files(site.guard) == before
    new = load_bundle(site.new)
    scores, labels, _ = site.rows()
    assert len(labels) == 32
    assert new.calibration == calibrate(scores, labels, 0.4, rule="conformal")
    assert new.reference == ReferenceHistogram.of(scores, labels)
    assert new.model_id == old.model_id
    assert files(site.new)[MODEL_FILE] == before[MODEL_FILE]
    assert new.calibration_id != old.calibration_id
    assert (new.graph, new.encoder_fingerprint) == (old.graph, old.encoder_fingerprint)
    assert (new.domains, new.domain_ids) == (old.domains, old.domain_ids)
    assert new.provenance == {
        "clients": 4,
        "recalibrations": [
            {"replaces": old.calibration_id, "domain": None, "episodes": 32, "splits": "val"}
        ],
    }
    assert "old: threshold 0.9" in done.stdout
    assert f"(calibration {new.calibration_id})" in done.stdout
    assert "domains whose own thresholds stay: b" in done.stdout
    assert sorted(path.name for path in site.root.iterdir()) == ["guard", "new", "silo"]


def test_the_new_guard_decides_and_is_monitored_by_what_is_new(site) -> None:
    """Replaying the validation episodes: the guard blocks what the calibration says."""
    assert site.run("--budget", "0.2", "--rule", "plain").exit_code == 0
    guard = Guard.load(site.new)
    chosen = np.flatnonzero(np.asarray(site.silo.split) == 1)
    verdicts = guard.score(site.silo.episodes(chosen))
    blocked = np.array([verdict.decision == "block" for verdict in verdicts])
    benign = np.asarray(site.silo.label)[chosen] == 0
    assert blocked[benign].mean() == guard.calibration.false_positive_rate <= 0.2
    assert blocked[~benign].mean() == guard.calibration.recall
    monitor = DriftMonitor(guard.bundle.reference_for(None), minimum=10)
    for verdict, harmless in zip(verdicts, benign, strict=True):
        if harmless:
            monitor.observe(verdict.corroborated_score)
    report = monitor.report()
    assert (report.psi, report.alert) == (0.0, False)  # the very scores of the reference
    assert report.reference == report.scores == benign.sum()


def test_options_take_the_place_of_the_old_rule(site) -> None:
    options = ["--budget", "0.5", "--rule", "clopper_pearson", "--risk", "0.3", "--by", "group"]
    done = site.run(*options, "--all")
    assert done.exit_code == 0, done.output
    new = load_bundle(site.new)
    scores, labels, groups = site.rows(lambda silo: np.asarray(silo.label) >= 0)
    expected = calibrate(scores, labels, 0.5, rule="clopper_pearson", risk=0.3, groups=groups)
    assert new.calibration == expected
    assert new.provenance["recalibrations"][0]["splits"] == "all"
    assert new.provenance["recalibrations"][0]["episodes"] == 80


@pytest.mark.parametrize("domain", ["a", "b"])
def test_a_domain_gets_its_own_threshold_and_reference(site, domain) -> None:
    """b keeps the rule of its own threshold; a takes that of the pooled one."""
    old = load_bundle(site.guard)
    assert site.run("--domain", domain).exit_code == 0
    new = load_bundle(site.new)
    index = site.silo.domains.index(domain)
    scores, labels, _ = site.rows(
        lambda silo: (np.asarray(silo.split) == 1) & (np.asarray(silo.domain) == index)
    )
    previous, its_id = old.for_domain(domain)
    expected = calibrate(scores, labels, previous.budget, rule=previous.rule)
    assert new.domains == {**old.domains, domain: expected}
    assert new.reference_for(domain) == ReferenceHistogram.of(scores, labels)
    assert (new.calibration_id, new.reference) == (old.calibration_id, None)
    assert new.provenance["recalibrations"][0]["replaces"] == its_id


def test_again_and_again(site) -> None:
    assert site.run().exit_code == 0
    first = load_bundle(site.new)
    again = site.root / "again"
    command = ["recalibrate", str(site.new), str(site.silo.path), "-o", str(again), "--all"]
    assert CliRunner().invoke(app, command).exit_code == 0
    history = load_bundle(again).provenance["recalibrations"]
    assert [entry["replaces"] for entry in history] == [
        load_bundle(site.guard).calibration_id,
        first.calibration_id,
    ]


def test_benign_episodes_alone_give_a_threshold(site, make_episode) -> None:
    silo = make_silo(site.root / "benign", make_episode, unsafe=lambda number: False)
    done = site.run(on=silo.path)
    assert done.exit_code == 0, done.output
    new = load_bundle(site.new).calibration
    scores, labels, _ = site.rows(among=silo)
    assert new == calibrate(scores, labels, 0.4, rule="conformal")
    assert (new.objective, new.recall) == ("benign_only", None)


def test_nothing_there_is_replaced(site) -> None:
    before = files(site.guard)
    (site.root / "file").write_text("notes")
    (site.root / "empty").mkdir()
    (site.root / "link").symlink_to("nowhere")
    for target in (site.guard, site.root / "file", site.root / "empty", site.root / "link"):
        done = site.run(to=target)
        assert done.exit_code == 2
        assert f"error: {target}: expected nothing to be there" in done.stderr
    inside = site.run(to=site.guard / "new")
    assert inside.exit_code == 2
    assert "expected a folder outside of the old guard's" in inside.stderr
    nowhere = site.run(to=site.root / "no" / "new")
    assert nowhere.exit_code == 2
    assert f"expected the folder {site.root / 'no'} to be there" in nowhere.stderr
    assert files(site.guard) == before
    assert (site.root / "file").read_text() == "notes"
    assert sorted(p.name for p in site.root.iterdir()) == ["empty", "file", "guard", "link", "silo"]


@pytest.mark.parametrize(
    ("unsafe", "options", "told"),
    [
        (lambda n: True, [], "all 32 episodes are unsafe; without benign ones"),
        (lambda n: None, [], "found none in the validation split (--all takes every split)"),
        (lambda n: None, ["--all"], "expected labelled episodes, found none in any split"),
        (lambda n: n < 20, ["--domain", "c"], "expected a domain of the silo (a, b), got 'c'"),
        (lambda n: n < 20, ["--budget", "1.5"], "budget: expected a share in [0, 1], got 1.5"),
        (lambda n: n < 20, ["--risk", "0"], "risk: expected a share in (0, 1), got 0.0"),
        (
            lambda n: n < 20,
            ["--rule", "conformal", "--budget", "0.01"],
            "would block nothing: conformal: a budget of 0.01 needs at least 99 benign episodes, "
            "there are 16",
        ),
    ],
)
def test_what_gives_no_threshold_is_told_and_nothing_written(
    site, make_episode, unsafe, options, told
) -> None:
    silo = make_silo(site.root / "other", make_episode, unsafe=unsafe)
    done = site.run(*options, on=silo.path)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {silo.path}: ")
    assert told in done.stderr
    assert not site.new.exists()


def test_a_silo_that_was_not_prepared_says_how(site, make_episode) -> None:
    path = site.root / "raw"
    Silo.create(path, [make_episode(n, "a", n % 2 == 0) for n in range(20)])
    done = site.run(on=path)
    assert done.exit_code == 2
    command = re.search(r"`fglguard (corpus embed [^`]+)` prepares them", done.stderr)
    assert command
    assert CliRunner().invoke(app, command[1].split()).exit_code == 0
    assert site.run("--all", on=path).exit_code == 0


def test_damaged_guards_are_refused(site) -> None:
    record = unseal((site.guard / GUARD_FILE).read_bytes(), "guard")
    record["provenance"]["recalibrations"] = "none"
    (site.guard / GUARD_FILE).write_bytes(seal(record))
    done = site.run()
    assert done.exit_code == 2
    assert "provenance.recalibrations: expected a list, got 'none'" in done.stderr
    shutil.rmtree(site.guard)
    gone = site.run()
    assert gone.exit_code == 2
    assert "expected a guard's folder" in gone.stderr
    assert not site.new.exists()
