"""Bundles give back what was saved, and refuse everything else."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from fglguard.bundle import GUARD_FILE, MODEL_FILE, load_bundle, save_bundle
from fglguard.calibration import Calibration, ReferenceHistogram, calibrate
from fglguard.detector import build_detector
from fglguard.detector_options import DetectorOptions
from fglguard.encoder import load_encoder
from fglguard.errors import BundleError
from fglguard.files import sha256_of
from fglguard.graph import GraphSettings
from fglguard.parameters import flatten
from fglguard.sealing import seal

GRAPH = GraphSettings(rounds=5)
CALIBRATION = Calibration(1 / 3, 0.1, "max_recall", 0.75, 0.1, 10, 4)


REFERENCE = ReferenceHistogram((7, 2, 1), (0, 1, 3))


def save(
    path,
    *,
    detector=None,
    calibration=CALIBRATION,
    domains=None,
    provenance=None,
    graph=GRAPH,
    **references,
):
    save_bundle(
        path,
        detector or build_detector("paper", 384, 4),
        encoder=load_encoder("hashed-words"),
        graph=graph,
        calibration=calibration,
        domains=domains,
        provenance=provenance or {"run": {"seed": 7}, "site": "Zürich"},
        **references,
    )


@pytest.fixture
def saved(tmp_path):
    save(tmp_path / "guard")
    return tmp_path / "guard"


def test_round_trip(saved) -> None:
    bundle = load_bundle(saved)
    encoder = load_encoder("hashed-words")
    np.testing.assert_array_equal(
        flatten(bundle.detector), flatten(build_detector("paper", 384, 4))
    )
    assert not bundle.detector.training
    assert (bundle.encoder_name, bundle.encoder_fingerprint) == (encoder.name, encoder.fingerprint)
    assert bundle.graph == GraphSettings(rounds=5)
    assert bundle.calibration == CALIBRATION
    assert bundle.provenance == {"run": {"seed": 7}, "site": "Zürich"}
    assert bundle.model_id == sha256_of(saved / MODEL_FILE)[:16]
    assert sorted(p.name for p in saved.iterdir()) == [GUARD_FILE, MODEL_FILE]
    assert [p.name for p in saved.parent.iterdir()] == ["guard"]


@pytest.mark.parametrize(
    ("options", "graph"),
    [
        (DetectorOptions("both"), GraphSettings()),
        (DetectorOptions("sender", self_loops=False, residual=True), GraphSettings(2)),
        (
            DetectorOptions("message", "mean_last", readout="max"),
            GraphSettings(0, "mean_last", messages=True),
        ),
        (DetectorOptions(node_feature="last", readout="mean"), GraphSettings(3, "last")),
    ],
)
def test_departures_from_the_preset_survive(tmp_path, options, graph) -> None:
    detector = build_detector("paper", graph.node_width(384), 0, options)
    save(tmp_path / "g", detector=detector, graph=graph)
    bundle = load_bundle(tmp_path / "g")
    assert bundle.detector.options == options
    assert bundle.graph == graph
    np.testing.assert_array_equal(flatten(bundle.detector), flatten(detector))


@pytest.mark.parametrize(("threshold", "word"), [(math.inf, "nothing"), (-math.inf, "everything")])
def test_infinite_thresholds_are_strict_json(tmp_path, threshold, word) -> None:
    calibration = Calibration(threshold, 0.0, "benign_only", None, 0.0, 3, 0)
    save(tmp_path / "g", calibration=calibration)

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    record = json.loads((tmp_path / "g" / GUARD_FILE).read_text(), parse_constant=refuse)
    assert record["calibration"]["threshold"] is None
    assert record["calibration"]["blocks"] == word
    assert load_bundle(tmp_path / "g").calibration == calibration


def test_domains_have_their_own_calibrations(tmp_path) -> None:
    """By every rule; a domain that is not there has the pooled one, and its id."""
    values, labels = np.arange(60) / 60, [0] * 30 + [0, 1] * 15
    domains = {
        "mail": calibrate(values, labels, 0.2, rule="conformal"),
        "bank": calibrate(values, labels, 0.2, rule="clopper_pearson", risk=0.05),
        "few": calibrate(values, labels, 0.01, rule="conformal", groups=np.arange(60) // 2),
    }
    assert math.isinf(domains["few"].threshold)
    save(tmp_path / "g", domains=domains)
    bundle = load_bundle(tmp_path / "g")
    assert bundle.domains == domains
    ids = {name: bundle.for_domain(name)[1] for name in domains}
    assert len({*ids.values(), bundle.calibration_id}) == 4
    assert bundle.for_domain("mail")[0] == domains["mail"]
    for name in ("other", None):
        assert bundle.for_domain(name) == (CALIBRATION, bundle.calibration_id)


def test_a_record_of_a_guard_without_rules_or_domains_is_read(saved) -> None:
    """As they were written before there were several rules: the objective under `rule`."""

    def as_before(record):
        del record["domains"]
        old = ("threshold", "blocks", "budget", "recall", "false_positive_rate", "benign", "unsafe")
        now = record["calibration"]
        record["calibration"] = {name: now[name] for name in old} | {"rule": now["objective"]}

    resealed(saved / GUARD_FILE, as_before)
    bundle = load_bundle(saved)
    assert (bundle.calibration, bundle.domains) == (CALIBRATION, {})


def test_references_survive_and_leave_the_ids(tmp_path, saved) -> None:
    """No decision rests on them, so they are no part of a calibration's record."""
    domains = {"mail": replace(CALIBRATION, benign=1, unsafe=2), "bank": CALIBRATION}
    own = {"mail": ReferenceHistogram((1, 0), (0, 2))}
    save(tmp_path / "g", domains=domains, reference=REFERENCE, domain_references=own)
    bundle = load_bundle(tmp_path / "g")
    assert (bundle.reference, bundle.domain_references) == (REFERENCE, own)
    assert bundle.reference_for("mail") == own["mail"]
    assert bundle.reference_for("bank") == bundle.reference_for(None) == REFERENCE
    save(tmp_path / "without", domains=domains)
    without = load_bundle(tmp_path / "without")
    assert without.reference_for("mail") is None
    assert without.calibration_id == bundle.calibration_id == load_bundle(saved).calibration_id
    assert without.domain_ids == bundle.domain_ids


def test_a_guard_from_before_there_were_references_has_none(saved) -> None:
    def as_before(record):
        del record["reference"], record["domain_references"]

    resealed(saved / GUARD_FILE, as_before)
    bundle = load_bundle(saved)
    assert (bundle.reference, bundle.domain_references) == (None, {})


@pytest.mark.parametrize(
    ("references", "told"),
    [
        ({"reference": ReferenceHistogram((7, 2), (0, 4))}, "reference: expected the 10 benign"),
        ({"domain_references": {"mail": REFERENCE}}, "domain_references.mail: the domain has no"),
        (
            {
                "domains": {"mail": replace(CALIBRATION, unsafe=5)},
                "domain_references": {"mail": REFERENCE},
            },
            "domain_references.mail: expected the 10 benign and 5 unsafe episodes",
        ),
    ],
)
def test_references_of_other_episodes_are_not_saved(tmp_path, references, told) -> None:
    with pytest.raises(BundleError, match=told):
        save(tmp_path / "g", **references)
    assert not (tmp_path / "g").exists()


def test_thresholds_survive_to_the_last_bit(tmp_path) -> None:
    for turn, score in enumerate(np.random.default_rng(0).random(5).astype(np.float32)):
        calibration = calibrate([score, 0.0], [1, 0])
        save(tmp_path / str(turn), calibration=calibration)
        assert load_bundle(tmp_path / str(turn)).calibration.threshold == float(score)


def test_ids_follow_weights_and_calibration(tmp_path, saved) -> None:
    same, other = tmp_path / "same", tmp_path / "other"
    save(same, provenance={"run": "another"})
    save(other, calibration=Calibration(0.5, 0.1, "max_recall", 0.75, 0.1, 10, 4))
    first = load_bundle(saved)
    assert load_bundle(same).model_id == load_bundle(other).model_id == first.model_id
    assert load_bundle(same).calibration_id == first.calibration_id
    assert load_bundle(other).calibration_id != first.calibration_id


def test_any_changed_byte_of_the_record_is_refused(saved) -> None:
    """Every 7th byte, flipped in its lowest bit, replaced by a space, and removed."""
    path = saved / GUARD_FILE
    good = path.read_bytes()
    for at in range(0, len(good), 7):
        for middle in (bytes([good[at] ^ 1]), b" ", b""):
            bad = good[:at] + middle + good[at + 1 :]
            if bad == good:
                continue
            path.write_bytes(bad)
            with pytest.raises(BundleError, match=GUARD_FILE):
                load_bundle(saved)
    path.write_bytes(good)
    load_bundle(saved)


@pytest.mark.parametrize("at", [0, 100, -1])
def test_a_changed_byte_of_the_weights_is_refused(saved, at) -> None:
    path = saved / MODEL_FILE
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(BundleError, match=r"model\.safetensors: changed since it was saved"):
        load_bundle(saved)


def test_swapped_weights_are_refused(tmp_path, saved) -> None:
    save(tmp_path / "other", detector=build_detector("paper", 384, 5))
    (saved / MODEL_FILE).write_bytes((tmp_path / "other" / MODEL_FILE).read_bytes())
    with pytest.raises(BundleError, match="changed since it was saved"):
        load_bundle(saved)


@pytest.mark.parametrize("name", [GUARD_FILE, MODEL_FILE])
def test_a_missing_file_is_named(saved, name) -> None:
    (saved / name).unlink()
    with pytest.raises(BundleError, match=f"{name}: can't be read: No such file"):
        load_bundle(saved)


def test_a_path_without_a_guard_says_what_was_expected_and_what_is_near(saved, tmp_path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for path, found in (
        (tmp_path / "nowhere", "found no such folder"),
        (run, "found neither in it"),
        (saved / GUARD_FILE, "found a file"),
    ):
        with pytest.raises(BundleError, match=f"{path}: expected a guard's folder .*{found}$"):
            load_bundle(path)
    saved.rename(run / "guard")
    with pytest.raises(BundleError, match=rf"did you mean {run / 'guard'}\?$"):
        load_bundle(run)


def resealed(path, change) -> None:
    """A record changed by someone who can compute hashes: the checks behind the seal must hold."""
    record = json.loads(path.read_bytes())
    del record["sha256"]
    change(record)
    path.write_bytes(seal(record))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.update(schema=2), "schema: expected 1, got 2"),
        (lambda r: r.pop("schema"), "schema: expected 1, got None"),
        (lambda r: r.pop("encoder"), "the key 'encoder' is missing"),
        (lambda r: r["encoder"].pop("fingerprint"), "the key 'fingerprint' is missing"),
        (lambda r: r["calibration"].pop("threshold"), "the key 'threshold' is missing"),
        (lambda r: r["calibration"].pop("budget"), "guard.json: .*budget"),
        (
            lambda r: r["detector"].update(preset="gcn"),
            "expected one of paper, recommended, small, got 'gcn'",
        ),
        (lambda r: r["detector"].update(dimension=8), "detector.parameters differ"),
        (lambda r: r["graph"].update(rounds=-1), "graph rounds: expected a whole number"),
        (lambda r: r["graph"].update(hops=2), "guard.json: .*hops"),
        (lambda r: r["graph"].update(messages=1), "graph messages: expected true or false"),
        (lambda r: r["graph"].update(node_feature=[]), "graph node_feature: expected one of"),
        (lambda r: r["graph"].update(node_feature="last"), "expected node_feature 'mean' .*'last'"),
        (lambda r: r["detector"]["options"].update(readout="sum"), "readout: expected one of"),
        (lambda r: r["detector"]["options"].update(depth=3), "guard.json: .*depth"),
        (lambda r: r["detector"].update(options=[1]), "guard.json: "),
        (lambda r: r.update(provenance=[]), "provenance: expected an object"),
        (lambda r: r.update(encoder=[]), "guard.json: "),
        (lambda r: r["calibration"].update(threshold="0.5"), "threshold: expected a number"),
        (lambda r: r["calibration"].update(threshold=None), "calibration.blocks: expected"),
        (lambda r: r.update(calibration="abc"), "guard.json: "),
        (lambda r: r["calibration"].update(budget="0.1"), "calibration.budget: expected 0 to 1"),
        (lambda r: r["calibration"].update(benign=-1), "calibration.benign: expected 0 to inf"),
        (lambda r: r["calibration"].update(rule="best"), "calibration.rule: expected one of plain"),
        (lambda r: r["calibration"].update(objective=1), "calibration.objective: expected one"),
        (lambda r: r["calibration"].update(by=[]), "calibration.by: expected one of episode"),
        (lambda r: r["calibration"].update(risk=2.0), "calibration.risk: expected 0 to 1"),
        (lambda r: r["calibration"].update(bins=True), "calibration.bins: expected 0 to inf"),
        (lambda r: r["calibration"].update(reason=3), "calibration.reason: expected a text"),
        (lambda r: r["calibration"].update(more=3), "guard.json: .*more"),
        (lambda r: r.update(domains=[]), "domains: expected an object"),
        (lambda r: r.update(domains={"a": 1}), "domains.a: expected an object, got 1"),
        (
            lambda r: r.update(domains={"a": r["calibration"] | {"budget": 7.0}}),
            "domains.a.budget: expected 0 to 1, got 7.0",
        ),
        (lambda r: r.update(reference=[1]), "reference: expected an object of benign and unsafe"),
        (
            lambda r: r.update(reference={"benign": [9, 2], "unsafe": [0, 4]}),
            "guard.json: reference: expected the 10 benign and 4 unsafe episodes",
        ),
        (lambda r: r.update(domain_references=None), "domain_references: expected an object"),
        (
            lambda r: r.update(domain_references={"a": {"benign": [10, 0], "unsafe": [0, 4]}}),
            "domain_references.a: the domain has no calibration",
        ),
        (lambda r: r["encoder"].update(name=None), "encoder.name: expected a text, got None"),
        (lambda r: r["detector"].update(dimension=10**9), "dimension: expected 1 to 16384"),
    ],
)
def test_records_that_do_not_fit_are_refused(saved, change, message) -> None:
    resealed(saved / GUARD_FILE, change)
    with pytest.raises(BundleError, match=message):
        load_bundle(saved)


def test_a_bundle_from_before_there_were_options_is_the_papers(saved) -> None:
    def older(record) -> None:
        record["detector"]["options"] = {"edge_feature": "receiver"}
        record["graph"] = {"rounds": 5}

    resealed(saved / GUARD_FILE, older)
    bundle = load_bundle(saved)
    assert bundle.detector.options == DetectorOptions()
    assert bundle.graph == GraphSettings(5)


def test_graphs_without_what_the_detector_looks_at_are_not_saved(tmp_path) -> None:
    detector = build_detector("paper", 384, 0, DetectorOptions("message"))
    with pytest.raises(BundleError, match="messages True, as the detector wants them, got 'mean'"):
        save(tmp_path / "g", detector=detector)


@pytest.mark.parametrize("text", ["", "[]", "{}", "not json", '{"schema": NaN}', "[" * 100_000])
def test_other_files_are_refused(saved, text) -> None:
    (saved / GUARD_FILE).write_text(text)
    with pytest.raises(BundleError, match=GUARD_FILE):
        load_bundle(saved)


def test_weights_that_are_not_finite_are_not_saved(tmp_path) -> None:
    detector = build_detector("paper", 384, 0)
    with torch.no_grad():
        detector.get_parameter("head_bias").fill_(math.nan)
    with pytest.raises(BundleError, match="parameter head_bias holds NaN or infinity"):
        save(tmp_path / "g", detector=detector)
    assert not (tmp_path / "g").exists()


def test_a_threshold_of_nan_is_not_saved(tmp_path) -> None:
    with pytest.raises(BundleError, match="threshold: expected a number or infinity, got NaN"):
        save(tmp_path / "g", calibration=replace(CALIBRATION, threshold=math.nan))


def test_unwritable_provenance_leaves_the_old_bundle(saved) -> None:
    before = load_bundle(saved).model_id
    for odd in ({"at": object()}, {"loss": math.nan}):
        with pytest.raises(BundleError, match="strict JSON can't hold it"):
            save(saved, detector=build_detector("paper", 384, 9), provenance=odd)
    assert load_bundle(saved).model_id == before


def test_a_bundle_is_replaced_and_other_folders_are_not(tmp_path, saved) -> None:
    before = load_bundle(saved).model_id
    save(saved, detector=build_detector("paper", 384, 9))
    assert load_bundle(saved).model_id != before
    assert [p.name for p in tmp_path.iterdir()] == ["guard"]
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.tex").write_text("years of work")
    with pytest.raises(BundleError, match=r"not replaced: it holds 'thesis\.tex'"):
        save(home)
    (tmp_path / "file").write_text("")
    with pytest.raises(BundleError, match="expected a folder or nothing, found a file"):
        save(tmp_path / "file")


def test_a_failed_rename_leaves_the_old_bundle(saved, monkeypatch) -> None:
    """The disk fails at the moment when the new folder should take the old one's place."""
    from pathlib import Path

    before = load_bundle(saved).model_id
    rename = Path.rename

    def failing(self, target):
        if self.name == "new":
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="Input/output error"):
        save(saved, detector=build_detector("paper", 384, 9))
    monkeypatch.undo()
    assert load_bundle(saved).model_id == before
    assert [p.name for p in saved.parent.iterdir()] == ["guard"]
