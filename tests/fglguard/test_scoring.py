"""One graph scored at once, against the same graph in a batch."""

from dataclasses import replace

import numpy as np
import pytest

from fglguard.detector_options import DetectorOptions
from fglguard.graph import PRESET_FEATURES
from tests.fglguard.flow.conftest import AGENTS, MESSAGES, build
from tests.fglguard.live.test_replaying import fresh_guard

EPISODES = [
    build(),
    build(MESSAGES[:1]),
    build(MESSAGES[:3]),
    replace(build(), final_agent="reader"),
    replace(build(), final_agent="user"),
    build((MESSAGES[0],), AGENTS[:1] + AGENTS[2:3] + AGENTS[1:2]),
]


@pytest.mark.parametrize("readout", ["final", "mean", "max"])
@pytest.mark.parametrize("preset", sorted(PRESET_FEATURES))
def test_one_graph_gets_the_scores_that_it_gets_in_a_batch(preset, readout) -> None:
    scorer = fresh_guard(preset, 0).scorer
    detector = scorer.bundle.detector
    detector.options = DetectorOptions(readout=readout)
    if preset != "paper":
        detector.moments.data = detector.moments.new_tensor([[0.3, 0.2], [1.7, 0.4]])
    graphs = scorer.graphs(EPISODES)
    for together, graph in zip(scorer.scored(graphs), graphs, strict=True):
        alone = scorer.scored_one(graph)
        assert np.allclose(alone.nodes, together.nodes, rtol=0, atol=1e-5)
        assert alone.score == pytest.approx(together.score, abs=1e-5)
        assert alone.corroborated == pytest.approx(together.corroborated, abs=1e-5)
        assert alone.corroborated >= alone.score


@pytest.mark.parametrize("preset", sorted(PRESET_FEATURES))
def test_a_score_that_is_nan_is_an_error(preset) -> None:
    scorer = fresh_guard(preset, 0).scorer
    next(scorer.bundle.detector.parameters()).data.fill_(float("nan"))
    with pytest.raises(FloatingPointError, match="a score is NaN"):
        scorer.scored_one(scorer.graphs([build()])[0])
