"""Presets `recommended` and `small` against dense arithmetic, in silos, bundles and live guards."""

import numpy as np
import pytest
import torch

from fglguard.bundle import save_bundle
from fglguard.calibration import Calibration
from fglguard.detector import Role, build_detector
from fglguard.encoder import load_encoder
from fglguard.episode_rules import AGENT_KINDS
from fglguard.errors import SiloError
from fglguard.flow.features import PROVENANCE
from fglguard.flow_detector import (
    FLOW_SCALE,
    NEVER_SUSPECT,
    PROVENANCE_WEIGHT,
    FlowDetector,
)
from fglguard.fusion import BranchSums, branch_sums, fuse_branches
from fglguard.graph import PRESET_FEATURES, GraphSettings
from fglguard.graph_builder import episode_graph
from fglguard.guard import Guard
from fglguard.hashed_text import columns_of
from fglguard.packed_graphs import collate, concatenate, pack
from fglguard.parameters import flatten, load_flat
from fglguard.silo import Silo
from fglguard.training import TrainingSettings, score_graphs, train_locally
from tests.fglguard.flow.conftest import build, embedded

torch.set_num_threads(1)
SMALL = GraphSettings(0, **PRESET_FEATURES["small"])
TRAINING = TrainingSettings(
    optimizer="sgd", learning_rate=2.0, weight_decay=0.0, labels="final", class_weight="balanced"
)


@pytest.fixture
def packed(make_silo):
    """80 graphs with the features of `small`."""
    return make_silo().prepare(load_encoder("hashed-words"), SMALL)


def randomised(preset: str = "small") -> FlowDetector:
    detector = build_detector(preset, 384, 0)
    assert isinstance(detector, FlowDetector)
    vector = np.random.default_rng(3).standard_normal(len(flatten(detector))).astype(np.float32)
    load_flat(detector, np.abs(vector), "the test")
    return detector


def test_the_fused_logit_is_the_formula_of_the_docstring(packed) -> None:
    detector, batch = randomised(), collate(packed, [0, 5, 9])
    text = np.zeros((len(batch.x), columns_of(10, 0)))
    starts = [*batch.text_starts.tolist(), len(batch.text_columns)]
    for row in range(len(text)):
        part = slice(starts[row], starts[row + 1])
        text[row, batch.text_columns[part]] = batch.text_values[part]
    flow = batch.flow.numpy()
    w, v, b = (
        detector.get_parameter(n).detach().numpy() for n in ("text_weight", "flow_weight", "bias")
    )
    (m1, m2), (s1, s2) = detector.moments.detach().numpy()
    linear = text @ w[:, 0] + (flow * FLOW_SCALE) @ v + b
    agents = batch.kind.numpy() == AGENT_KINDS.index("agent")
    assert 0 < agents.sum() < len(agents)
    linear = np.where(agents, linear, NEVER_SUSPECT)
    expected = (linear - m1) / s1 + PROVENANCE_WEIGHT * (flow[:, PROVENANCE] - m2) / s2
    assert np.allclose(detector(batch).detach().numpy(), expected, atol=1e-4)
    hidden = detector.hidden(batch)
    assert np.allclose(detector.training_logits(hidden).detach().numpy(), linear, atol=1e-4)


def test_weights_are_as_many_as_said_and_have_roles() -> None:
    for preset, trained in (("recommended", 40_971), ("small", 5_131)):
        detector = build_detector(preset, 384, 0)
        names = dict(detector.named_parameters())
        assert sum(p.numel() for p in names.values() if p.requires_grad) == trained
        roles = detector.roles()
        assert list(roles) == list(names)
        assert [n for n, role in roles.items() if role is Role.STATISTIC] == ["moments"]
        assert not names["moments"].requires_grad


def test_training_learns_and_leaves_the_moments_alone(packed) -> None:
    detector = build_detector("small", 384, 0)
    report = train_locally(detector, packed, None, TRAINING, (0,))
    assert report.loss < np.log(2)
    assert detector.get_parameter("moments").tolist() == [[0, 0], [1, 1]]
    scores = score_graphs(detector, packed)
    assert scores.raw[packed.label == 1].min() > scores.raw[packed.label == 0].max()


def test_fusion_standardises_by_mean_and_deviation_over_all_sites(packed) -> None:
    """Sums of two sites give what NumPy's mean and std give of all their episodes."""
    detector = randomised()
    rows = np.arange(len(packed))
    parts = [branch_sums(detector, packed, some) for some in (rows[:30], rows[30:])]
    batch = collate(packed)
    scores = detector.hidden(batch)[batch.final].detach().numpy()
    fuse_branches(detector, parts)
    mean, deviation = detector.get_parameter("moments").detach().numpy()
    assert np.allclose(mean, scores.mean(axis=0), rtol=1e-5, atol=1e-5)
    spread = scores.std(axis=0)
    assert np.allclose(deviation, np.where(spread > 0, spread, 1), rtol=1e-4)


def test_without_episodes_nothing_is_fused_and_a_constant_branch_keeps_its_scale() -> None:
    detector = build_detector("small", 384, 0)
    fuse_branches(detector, [BranchSums(0, np.zeros(2), np.zeros(2))])
    assert detector.get_parameter("moments").tolist() == [[0, 0], [1, 1]]
    fuse_branches(detector, [BranchSums(4, np.array([2.0, 4.0]), np.array([1.0, 8.0]))])
    assert detector.get_parameter("moments").tolist() == [[0.5, 1], [1, 1]]


def test_robust_fusion_takes_the_medians_of_the_sites_own_moments() -> None:
    """Means 1, 2, 30 and deviations 1, 0, 0 in both branches: the medians are 2 and, at 0, 1."""
    sites = [
        BranchSums(2, np.array([2.0, 2.0]), np.array([4.0, 4.0])),
        BranchSums(1, np.array([2.0, 2.0]), np.array([4.0, 4.0])),
        BranchSums(10**6, np.array([3e7, 3e7]), np.array([9e8, 9e8])),
    ]
    detector = build_detector("small", 384, 0)
    fuse_branches(detector, sites, robust=True)
    assert detector.get_parameter("moments").tolist() == [[2, 2], [1, 1]]


def test_the_order_of_agents_only_orders_the_logits() -> None:
    from dataclasses import replace

    episode = build()
    turned = replace(episode, agents=tuple(reversed(episode.agents)))
    detector = randomised()
    logits = []
    for one in (episode, turned):
        vectors, lookup = embedded(one)
        graph = episode_graph(one, vectors, SMALL, lookup)
        values = detector(collate(pack([graph]))).tolist()
        logits.append(dict(zip(graph.agent_ids, values, strict=True)))
    assert logits[0] == pytest.approx(logits[1], abs=1e-5)


def test_selecting_and_joining_keep_each_graphs_rows(packed) -> None:
    detector = randomised()
    whole = score_graphs(detector, packed).raw
    order = np.random.default_rng(0).permutation(len(packed))
    joined = concatenate([packed.select(order[:11]), packed.select(order[11:])])
    assert np.allclose(score_graphs(detector, joined).raw, whole[order], atol=1e-6)


@pytest.mark.parametrize("preset", ["recommended", "small"])
def test_a_live_guard_scores_as_the_silo_and_tells_what_leaked(tmp_path, preset) -> None:
    encoder, graph = load_encoder("hashed-words"), GraphSettings(0, **PRESET_FEATURES[preset])
    detector = randomised(preset)
    stored = Silo.create(tmp_path / "silo", [build()]).prepare(encoder, graph)
    calibration = Calibration(0.0, 0.1, "max_recall", 1.0, 0.0, 5, 5)
    save_bundle(tmp_path / "guard", detector, encoder=encoder, graph=graph, calibration=calibration)
    (verdict,) = Guard.load(tmp_path / "guard").score([build()])
    assert verdict.status == "success"
    assert verdict.score == score_graphs(detector, stored).raw[0]
    assert verdict.taints[0].value == "gb29160016319268"
    assert verdict.taints[0].path == ("web", "reader", "banker")
    told = verdict.to_record()["taints"][0]
    assert told["span"] == verdict.taints[0].span


def test_graphs_of_another_preset_are_refused(packed, make_silo) -> None:
    plain = make_silo(name="plain").graphs(
        load_encoder("hashed-words").fingerprint, GraphSettings()
    )
    with pytest.raises(SiloError, match="flow"):
        score_graphs(randomised(), plain)
    paper = build_detector("paper", 384, 0)
    with pytest.raises(SiloError, match="preset than paper"):
        score_graphs(paper, packed)
