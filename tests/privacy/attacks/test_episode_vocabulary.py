import numpy as np
import pytest
import torch

from fglguard.detector import build_detector
from privacy.attacks.episode_bank import CandidateUpdates, EpisodeBank
from privacy.attacks.episode_vocabulary import (
    check_vocabulary,
    name_vocabulary,
    score_vocabulary,
    text_rows,
    touched_rows,
)
from privacy.attacks.observation import Observation


@pytest.fixture
def detector():
    return build_detector("small", 8, seed=0)


def export_of(detector, values):
    rows = torch.zeros_like(detector.text_weight)
    for column, value in values.items():
        rows[column] = value
    return {"text_weight": rows.detach()}


def bank_of(graphs, detector, columns):
    """Candidates whose updates touch the columns given."""
    rows = torch.zeros(2 * len(columns), detector.text_weight.numel())
    for candidate, own in enumerate(columns):
        rows[2 * candidate : 2 * candidate + 2, own] = 1.0
    return EpisodeBank(graphs, (CandidateUpdates("gradient", {"text_weight": rows}),))


def test_support_is_the_share_of_a_candidates_columns_that_are_touched(detector, make_graphs):
    """Touched {3, 5}: of {3, 5} all, of {5, 9} half, of {1, 2} none."""
    bank = bank_of(make_graphs(3), detector, [[3, 5], [5, 9], [1, 2]])
    scores = check_vocabulary(Observation(detector, (export_of(detector, {3: 1, 5: -2}),)), bank)
    np.testing.assert_allclose(scores["support of text rows"], [1, 0.5, 0])
    np.testing.assert_allclose(scores["magnitude of text rows"], [1.5, 1, 0])


def test_a_sparse_export_names_exactly_its_columns(detector):
    seen = Observation(detector, (export_of(detector, {7: 0.1, 40: -3}),))
    assert name_vocabulary(seen, count=1).tolist() == [7, 40]


def test_a_dense_export_names_its_longest_rows(detector):
    rows = torch.full_like(detector.text_weight, 0.01).detach()
    rows[[4, 90]] = 1.0
    named = name_vocabulary(Observation(detector, ({"text_weight": rows},)), count=2)
    assert named.tolist() == [4, 90]


def test_precision_and_recall():
    """Named {1, 2, 3, 4} of true {1, 2, 9}: two of three, two of four."""
    score = score_vocabulary(np.array([1, 2, 9]), np.array([1, 2, 3, 4]))
    assert (score.recall, score.precision) == (pytest.approx(2 / 3), 0.5)


def test_frozen_text_rows_say_nothing(detector, make_graphs):
    seen = Observation(detector, ({},))
    assert check_vocabulary(seen, bank_of(make_graphs(1), detector, [[1]])) == {}
    assert name_vocabulary(seen, 3) is None


def test_only_a_detector_with_hashed_text_has_text_rows(detector):
    assert text_rows(detector) == "text_weight"
    assert text_rows(build_detector("paper", 8, seed=0)) is None
    assert touched_rows(torch.tensor([[0.0, 0], [0, 1]])).tolist() == [1]
