"""The floor of one embedding, against scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fglguard.baselines.last_message import fit_last_message
from fglguard.errors import BaselineError


def test_it_is_logistic_regression_on_last_messages(discussions) -> None:
    train, test = discussions
    labels = [int(episode.unsafe) for episode in train.episodes]
    model = LogisticRegression(C=3, class_weight="balanced", max_iter=1000)
    expected = model.fit(train.last_messages, labels).decision_function(test.last_messages)
    scores = fit_last_message(train, 0)(test)
    np.testing.assert_allclose(scores.episode, expected, atol=1e-6)
    assert scores.node is None
    assert len(fit_last_message(train, 0)(test.select([])).episode) == 0


def test_unlabelled_episodes_are_left_out(discussions) -> None:
    train, test = discussions
    bare = replace(train.episodes[0], unsafe=None, label_source=None)
    blind = replace(train, episodes=(bare, *train.episodes[1:]))
    expected = fit_last_message(train.select(np.arange(1, 60)), 0)(test).episode
    np.testing.assert_array_equal(fit_last_message(blind, 0)(test).episode, expected)


def test_vectors_that_are_not_finite_are_refused(discussions) -> None:
    train, test = discussions
    broken = test.last_messages.copy()
    broken[7, 0] = np.nan
    score = fit_last_message(train, 0)
    with pytest.raises(BaselineError, match="in 1 of 40 episodes, first in episode 7"):
        score(replace(test, last_messages=broken))
