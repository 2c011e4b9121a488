"""Baselines on sides: pooled and by corpus, kept by what they follow from."""

import numpy as np
import pytest

from fglguard.baselines.floors import floors
from fglguard.baselines.registry import BASELINES
from fglguard.corpora.splits import SPLITS
from fglguard.encoder import load_encoder
from fglguard.errors import FederationError
from fglguard.graph import GraphSettings
from fglguard.silo import Silo
from scripts.reproducing import baselines
from scripts.reproducing.baselines import FLOORS, PEERS, Bench, arm_of, baseline_of, is_floor

POOLED, OWN = "floor: tfidf, pooled", "floor: tfidf, per corpus"


@pytest.fixture
def silo(make_silo):
    return make_silo(("a", "b"), 60)


@pytest.fixture
def bench(silo, tmp_path):
    return lambda: Bench([silo], "hashed-words", 0, tmp_path / "kept")


def of(silo, side, domain=None):
    rows = np.flatnonzero(silo.split == SPLITS.index(side))
    return [e for e in silo.episodes(rows) if domain in (None, e.domain)]


def test_every_baseline_is_a_floor_or_a_peer() -> None:
    assert {*FLOORS, *PEERS} == set(BASELINES)
    assert not set(FLOORS) & set(PEERS)
    assert is_floor(arm_of("tfidf", "pooled"))
    assert not is_floor(arm_of("cola", "pooled"))
    assert baseline_of(arm_of("cola", "per corpus")) is BASELINES["cola"]
    assert baseline_of("recommended") is None


def test_scores_are_those_of_the_floor_itself(silo, bench) -> None:
    fitted = bench().fit(["tfidf"])
    train, test = of(silo, "train"), of(silo, "test")
    wanted = floors(train, test, 0)["tfidf"].decision
    assert fitted.scores[POOLED].id.tolist() == [e.id for e in test]
    assert fitted.scores[POOLED].raw == pytest.approx(1 / (1 + np.exp(-wanted)))
    for domain in "ab":
        own = floors(of(silo, "train", domain), of(silo, "test", domain), 0)["tfidf"].decision
        found = fitted.scores[OWN].where(fitted.scores[OWN].domain == domain)
        assert found.raw == pytest.approx(1 / (1 + np.exp(-own)))
    assert not fitted.nodes
    assert not fitted.reasons


def test_what_is_kept_is_used_again_unless_the_code_is_other(bench, monkeypatch) -> None:
    first = bench().fit(["counts"])
    with monkeypatch.context() as patched:
        patched.setattr(baselines, "run_baseline", lambda *_: pytest.fail("fitted again"))
        again = bench().fit(["counts"])
    for arm, scores in first.scores.items():
        assert np.array_equal(again.scores[arm].raw, scores.raw)
    monkeypatch.setattr(baselines, "code_digest", lambda _: "other")
    monkeypatch.setattr(
        baselines, "run_baseline", lambda *_: baselines.Outcome(None, "counts: fitted again")
    )
    assert set(bench().fit(["counts"]).reasons.values()) == {"fitted again"}


def test_a_damaged_file_is_named(bench, tmp_path) -> None:
    bench().fit(["counts"])
    for file in (tmp_path / "kept").iterdir():
        file.write_bytes(b"x")
    with pytest.raises(FederationError, match=r"counts-pooled-.*remove it"):
        bench().fit(["counts"])


def test_a_corpus_of_one_class_is_left_out_with_its_reason(tmp_path, make_episode) -> None:
    episodes = [make_episode(n, "a", n % 4 < 2) for n in range(60)]
    episodes += [make_episode(n, "b", unsafe=False) for n in range(60)]
    silo = Silo.create(tmp_path / "s", episodes)
    silo.prepare(load_encoder("hashed-words"), GraphSettings())
    fitted = Bench([silo], "hashed-words", 0, tmp_path / "kept").fit(["tfidf"])
    assert set(fitted.scores[POOLED].domain) == {"a", "b"}
    assert set(fitted.scores[OWN].domain) == {"a"}
    assert "got only safe ones" in fitted.reasons[OWN, "b"]


@pytest.mark.long
def test_nodes_are_all_those_of_the_test_side(bench) -> None:
    made = bench()
    fitted = made.fit(["g_safeguard", "dominant"])
    for name in ("g_safeguard", "dominant"):
        nodes = fitted.nodes[arm_of(name, "pooled")]
        assert nodes.shape == (made.test.graphs.nodes.sum(),)
        assert np.isfinite(nodes).all()
