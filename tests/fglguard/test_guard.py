"""The guard scores as the live model does, and never lets an answer out by accident."""

import logging
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import fglguard
from fglguard.bundle import Bundle, load_bundle, save_bundle, sign_bundle
from fglguard.calibration import Calibration, calibrate
from fglguard.detector import build_detector
from fglguard.detector_options import DetectorOptions
from fglguard.encoder import load_encoder
from fglguard.episode import Agent, Episode, Message
from fglguard.errors import BundleError, SettingsError, SignatureError
from fglguard.graph import PRESET_FEATURES, GraphSettings
from fglguard.graph_builder import episode_graph
from fglguard.guard import Guard
from fglguard.live.policy import Policy
from fglguard.packed_graphs import pack
from fglguard.silo import Silo
from fglguard.training import score_graphs
from tests.fglguard.flow.conftest import build
from tests.fglguard.test_signature import write_key

torch.set_num_threads(1)
SETTINGS = GraphSettings(rounds=2)
WORDS = ["transfer", "money", "hello", "ignore", "calendar", "meeting", "send", "done", "please"]


def episode(seed: int, **changes) -> Episode:
    random = np.random.default_rng(seed)
    agents = (Agent("u", "user"), Agent("a", "agent"), Agent("t", "tool"), Agent("b", "agent"))
    ids = [agent.id for agent in agents]
    messages = []
    for turn in range(6):
        sender, receiver = random.choice(ids, 2, replace=False)
        text = " ".join(random.choice(WORDS, 4))
        messages.append(Message(turn, str(sender), (str(receiver),), text))
    values = {
        "id": f"e{seed}",
        "domain": "demo",
        "task": (f"task:{seed}",),
        "agents": agents,
        "messages": tuple(messages),
        "final_agent": "a",
    }
    return Episode(**{**values, **changes})


EPISODES = [episode(seed) for seed in range(12)]


def live_scores(detector, encoder):
    graphs = [episode_graph(e, encoder.encode(e.texts), SETTINGS) for e in EPISODES]
    return graphs, score_graphs(detector, pack(graphs))


@pytest.fixture(scope="module")
def trained():
    """A detector, its scores on EPISODES, and a threshold that splits them."""
    detector, encoder = build_detector("paper", 384, 2), load_encoder("hashed-words")
    with torch.no_grad():
        detector.get_parameter("head_weight").mul_(20)
    graphs, scores = live_scores(detector, encoder)
    threshold = float(np.sort(scores.corroborated)[6])
    calibration = Calibration(threshold, 0.1, "max_recall", 1.0, 0.0, 5, 5)
    return detector, encoder, calibration, graphs, scores


@pytest.fixture
def path(trained, tmp_path):
    detector, encoder, calibration, _, _ = trained
    save_bundle(
        tmp_path / "guard", detector, encoder=encoder, graph=SETTINGS, calibration=calibration
    )
    return tmp_path / "guard"


def test_a_saved_guard_scores_and_decides_as_the_live_model(trained, path) -> None:
    _, _, calibration, graphs, scores = trained
    verdicts = Guard.load(path).score(EPISODES)
    assert [v.score for v in verdicts] == scores.raw.tolist()
    assert [v.corroborated_score for v in verdicts] == scores.corroborated.tolist()
    blocked = scores.corroborated >= calibration.threshold
    assert 0 < blocked.sum() < len(blocked)
    assert [v.decision for v in verdicts] == ["block" if b else "allow" for b in blocked]
    for verdict, graph, e in zip(verdicts, graphs, EPISODES, strict=True):
        assert verdict.status == "success"
        assert verdict.episode_id == e.id
        assert tuple(verdict.agents) == graph.agent_ids
        assert verdict.agents["a"] == verdict.score
        heard = [graph.agent_ids[i] for i in graph.src[graph.dst == graph.final]]
        expected = max([verdict.score, *(verdict.agents[i] for i in heard)])
        assert verdict.corroborated_score == expected
        assert verdict.threshold == calibration.threshold
        assert verdict.latency_ms > 0


@pytest.mark.parametrize("readout", ["final", "mean", "max"])
@pytest.mark.parametrize(
    "graph",
    [
        GraphSettings(2, messages=True),
        GraphSettings(0, "last"),
        GraphSettings(3, "mean_last", messages=True),
    ],
)
def test_every_kind_of_graph_is_scored_live_as_in_a_silo(tmp_path, graph, readout) -> None:
    encoder = load_encoder("hashed-words")
    edge_feature = "message" if graph.messages else "both"
    options = DetectorOptions(edge_feature, graph.node_feature, False, True, readout)
    detector = build_detector("paper", graph.node_width(encoder.dimension), 2, options)
    packed = Silo.create(tmp_path / "silo", EPISODES).prepare(encoder, graph)
    stored = score_graphs(detector, packed)
    threshold = float(np.median(stored.corroborated))
    calibration = Calibration(threshold, 0.1, "max_recall", 1.0, 0.0, 5, 5)
    save_bundle(tmp_path / "guard", detector, encoder=encoder, graph=graph, calibration=calibration)
    verdicts = Guard.load(tmp_path / "guard").score(EPISODES)
    assert {v.status for v in verdicts} == {"success"}
    assert [v.score for v in verdicts] == stored.raw.tolist()
    assert [v.corroborated_score for v in verdicts] == stored.corroborated.tolist()
    if readout == "max":  # agents are a and b; one that neither speaks nor hears is no node
        for v in verdicts:
            expected = max(s for name, s in v.agents.items() if name in ("a", "b"))
            assert v.score == pytest.approx(expected, abs=1e-12)
    if readout != "final":
        assert any(v.score != v.agents["a"] for v in verdicts)


def test_one_at_a_time_equals_all_at_once(path) -> None:
    together = Guard.load(path).score(EPISODES)
    apart = Guard.load(path, batch_size=1).score(iter(EPISODES))
    for one, other in zip(together, apart, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-6)
        assert one.agents == pytest.approx(other.agents, abs=1e-6)
    assert Guard.load(path).score([]) == []


def test_reasons_name_the_agent_that_decided(path) -> None:
    for verdict in Guard.load(path).score(EPISODES):
        side = "at or above" if verdict.decision == "block" else "below"
        assert f"{side} the threshold" in verdict.reason
        if verdict.corroborated_score > verdict.score:
            suspect = verdict.reason.split(",")[0].strip("'")
            assert verdict.agents[suspect] == verdict.corroborated_score
            assert "heard by the final agent 'a'" in verdict.reason
        else:
            assert verdict.reason.startswith("the final agent 'a' scores")


class FailingEncoder:
    """An encoder that fails on, or gives NaN for, a text with a marked word."""

    def __init__(self, how: str) -> None:
        self.inner, self.how = load_encoder("hashed-words"), how
        self.name, self.dimension = self.inner.name, self.inner.dimension
        self.fingerprint = self.inner.fingerprint

    def encode(self, texts, *, progress=False):
        vectors = self.inner.encode(texts)
        marked = ["poison" in text for text in texts]
        if any(marked) and self.how == "raise":
            raise RuntimeError("tokenizer gave up on: poison")
        vectors[marked] = np.nan
        return vectors


def poisoned() -> Episode:
    e = episode(50)
    return replace(e, messages=(*e.messages, Message(6, "u", ("a",), "poison secret")))


@pytest.mark.parametrize("how", ["raise", "nan"])
@pytest.mark.parametrize("on_error", ["block", "allow"])
def test_an_error_is_neither_an_allow_nor_a_violation(trained, path, how, on_error, caplog) -> None:
    """It spoils no other verdict of the batch, and its text reaches neither log nor verdict."""
    guard = Guard(load_bundle(path), FailingEncoder(how), policy=Policy(on_error=on_error))
    with caplog.at_level(logging.INFO):
        verdicts = guard.score([EPISODES[0], poisoned(), EPISODES[1]])
    failed = verdicts[1]
    assert (failed.status, failed.decision, failed.score) == ("error", on_error, None)
    assert "could not be scored" in failed.reason
    scores = trained[4]
    assert [verdicts[0].score, verdicts[2].score] == pytest.approx(scores.raw[:2], abs=1e-6)
    assert [v.status for v in verdicts] == ["success", "error", "success"]
    assert "e50" in caplog.text
    assert "poison" not in caplog.text + failed.reason
    assert ("test_guard.py" in caplog.text and "in encode" in caplog.text) is (how == "raise")


def test_errors_block_by_default(path) -> None:
    assert Guard(load_bundle(path), FailingEncoder("nan")).score([poisoned()])[0].blocked


def test_an_infinite_threshold_allows_everything_that_is_scored(trained, tmp_path) -> None:
    detector, encoder, calibration, _, _ = trained
    never = replace(calibration, threshold=float("inf"))
    save_bundle(tmp_path / "g", detector, encoder=encoder, graph=SETTINGS, calibration=never)
    guard = Guard.load(tmp_path / "g")
    assert {v.decision for v in guard.score(EPISODES)} == {"allow"}
    bad = Guard(load_bundle(tmp_path / "g"), FailingEncoder("nan")).score([poisoned()])
    assert bad[0].decision == "block"


def test_labels_ids_and_attributes_are_no_features(path) -> None:
    guard = Guard.load(path)
    told = [
        replace(
            e,
            id=f"x{e.id}",
            domain="other",
            unsafe=True,
            label_source="human",
            attributes={"attack": "direct"},
        )
        for e in EPISODES
    ]
    assert [v.score for v in guard.score(told)] == [v.score for v in guard.score(EPISODES)]


def test_another_encoder_is_refused(path) -> None:
    encoder = FailingEncoder("nan")
    encoder.fingerprint = "hashed-words-0000"
    with pytest.raises(BundleError, match=r"trained with hashed-words-.*, got hashed-words-0000"):
        Guard(load_bundle(path), encoder)


def test_wrong_use_is_refused(path) -> None:
    guard = Guard.load(path)
    with pytest.raises(TypeError, match="expected an Episode, got dict"):
        guard.score([EPISODES[0], {"id": "e"}])
    with pytest.raises(SettingsError, match="on_error: expected block or allow, got 'ignore'"):
        Policy(on_error="ignore")
    with pytest.raises(SettingsError, match="batch_size: expected at least 1, got 0"):
        Guard.load(path, batch_size=0)


def test_guard_is_offered_at_the_top() -> None:
    assert fglguard.Guard is Guard


@pytest.mark.long
def test_loads_and_scores_where_federation_packages_are_missing(path) -> None:
    code = (
        "import sys\n"
        "for name in ('flwr', 'ray', 'hydra', 'torch_geometric', 'sentence_transformers'):\n"
        "    sys.modules[name] = None  # as if it were not installed\n"
        "from fglguard import Agent, Episode, Guard, Message\n"
        "e = Episode('e', 'd', ('t',), (Agent('a', 'agent'),), (Message(0, 'a', (), 'hi'),), 'a')\n"
        "print(Guard.load(sys.argv[1]).score([e])[0].status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.strip() == "success"


def test_the_operators_domain_decides(trained, tmp_path, caplog) -> None:
    """A domain's threshold above every score allows all; the pooled one splits the episodes."""
    detector, encoder, calibration, _, scores = trained
    own = replace(calibration, threshold=1.0)
    folder = tmp_path / "g"
    save_bundle(
        folder,
        detector,
        encoder=encoder,
        graph=SETTINGS,
        calibration=calibration,
        domains={"mail": own},
    )
    pooled, mail = Guard.load(folder), Guard.load(folder, domain="mail")
    assert (pooled.threshold, mail.threshold) == (calibration.threshold, 1.0)
    ids = {guard.score(EPISODES[:1])[0].calibration_id for guard in (pooled, mail)}
    assert len(ids) == 2
    assert [v.blocked for v in mail.score(EPISODES)] == (scores.corroborated >= 1.0).tolist()
    assert {v.threshold for v in mail.score([poisoned()])} == {1.0}
    assert not caplog.records
    other = Guard.load(folder, domain="males")
    assert other.threshold == calibration.threshold
    assert "no threshold of its own for domain 'males' (it has: mail)" in caplog.text


def test_a_guard_that_blocks_nothing_says_so(trained, caplog) -> None:
    detector, encoder, *_ = trained
    nothing = calibrate([0.1, 0.9], [0, 1], rule="conformal")
    bundle = Bundle(detector, encoder.name, encoder.fingerprint, SETTINGS, nothing, "m", "c")
    Guard(bundle, encoder)
    assert "BLOCKS NOTHING: conformal: a budget of 0.1 needs at least 9 benign" in caplog.text


def test_without_taints_a_verdict_is_the_same_but_quotes_nothing() -> None:
    """The account that a page brought in stands in the verdict with them alone."""
    encoder, settings = load_encoder("hashed-words"), GraphSettings(**PRESET_FEATURES["small"])
    bundle = Bundle(
        detector=build_detector("small", encoder.dimension, 0),
        encoder_name=encoder.name,
        encoder_fingerprint=encoder.fingerprint,
        graph=settings,
        calibration=Calibration(0.5, 0.1, "max_recall", 1.0, 0.0, 5, 5),
        model_id="m",
        calibration_id="c",
    )
    (told,) = Guard(bundle, encoder).score([build()])
    (untold,) = Guard(bundle, encoder, taints=False).score([build()])
    assert "gb29160016319268" in str(told.to_record()).lower()
    assert "gb29160016319268" not in str(untold.to_record()).lower()
    assert replace(told, taints=(), latency_ms=0.0) == replace(untold, latency_ms=0.0)


@pytest.mark.long
def test_the_encoders_model_is_there_before_the_first_episode_is_timed(tmp_path):
    encoder = load_encoder("minilm")
    save_bundle(
        tmp_path / "g",
        build_detector("paper", encoder.dimension, 0),
        encoder=encoder,
        graph=SETTINGS,
        calibration=calibrate([0.1, 0.9], [0, 1]),
    )
    guard = Guard.load(tmp_path / "g")
    assert guard.scorer.encoder._loaded is not None


def test_a_guard_that_must_be_signed(path, tmp_path):
    """By the one key that is named, as a file or as its line, and with every byte as it was."""
    write_key(tmp_path / "host.key")
    public = tmp_path / "host.pub"
    with pytest.raises(SignatureError, match=r"guard\.json\.sig: .*host\.pub.* found no such file"):
        Guard.load(path, signed_by=public)
    sign_bundle(path, tmp_path / "host.key")
    assert Guard.load(path, signed_by=public).score(EPISODES)
    assert Guard.load(path, signed_by=public.read_text()).score(EPISODES)
    write_key(tmp_path / "other")
    with pytest.raises(SignatureError, match=r"other\.pub.*found one by another key"):
        Guard.load(path, signed_by=tmp_path / "other.pub")
    for name, told in (("guard.json", "does not fit"), ("model.safetensors", "changed since")):
        before = (path / name).read_bytes()
        (path / name).write_bytes(before[:-2] + bytes([before[-2] ^ 1]) + before[-1:])
        with pytest.raises(BundleError, match=told):
            Guard.load(path, signed_by=public)
        (path / name).write_bytes(before)
    assert Guard.load(path, signed_by=public).score(EPISODES)
