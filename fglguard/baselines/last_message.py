"""The floor of one embedding: what the final agent said last."""

import numpy as np

from fglguard.baselines.baseline import Scorer, Scores
from fglguard.baselines.logistic import logistic_regression
from fglguard.baselines.requirements import check_finite, labelled
from fglguard.baselines.samples import Samples


def fit_last_message(train: Samples, seed: int) -> Scorer:
    """Logistic regression (C = 3) on the vector of the final agent's last message.

    Raises:
        BaselineError: The training set is unfit, or a vector is not finite; the scorer raises it
            too.
    """
    _, unsafe = labelled(train.episodes)
    known = np.array([episode.unsafe is not None for episode in train.episodes])
    vectors = train.last_messages[known]
    check_finite(vectors, "labelled training episode")
    model = logistic_regression(3.0, seed).fit(vectors, unsafe)

    def score(samples: Samples) -> Scores:
        check_finite(samples.last_messages, "episode")
        if not len(samples):
            return Scores(np.zeros(0))
        return Scores(np.asarray(model.decision_function(samples.last_messages), np.float64))

    return score
