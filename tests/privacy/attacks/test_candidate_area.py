import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from privacy.attacks.scoring import score_candidates


@pytest.mark.parametrize("seed", range(20))
def test_the_area_is_that_of_scikit_learn_ties_included(seed):
    rng = np.random.default_rng(seed)
    members = np.arange(30) < rng.integers(1, 30)
    scores = rng.integers(0, 6, 30).astype(np.float64)
    area = score_candidates(scores, members).auc
    assert area == pytest.approx(roc_auc_score(members, scores), abs=1e-12)
