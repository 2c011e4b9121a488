"""What can't be trained on is refused, with the reason."""

from dataclasses import replace

import numpy as np
import pytest

from fglguard.baselines.requirements import check_finite, check_unlabelled, labelled, why_unfit
from fglguard.errors import BaselineError


@pytest.fixture
def some(make_episode):
    def make(values, one_task=False):
        episodes = [make_episode(n, "a", unsafe) for n, unsafe in enumerate(values)]
        return [replace(e, task=("task:0",)) for e in episodes] if one_task else episodes

    return make


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([True] * 12, "expected safe and unsafe training episodes, got only unsafe ones"),
        ([False, None] * 12, "expected safe and unsafe training episodes, got only safe ones"),
        ([None] * 12, "expected safe and unsafe training episodes, got no labelled ones"),
        ([], "expected safe and unsafe training episodes, got no labelled ones"),
        (
            [True, False, True, False, True, None, None, None, None, None],
            "expected at least 10 labelled training episodes, got 5",
        ),
    ],
)
def test_too_little_to_learn_from(some, values, reason) -> None:
    assert why_unfit(some(values)) == reason
    with pytest.raises(BaselineError, match=reason):
        labelled(some(values))


def test_one_task_is_refused(some) -> None:
    reason = "expected labelled training episodes of at least 2 tasks, got 12 of one"
    assert why_unfit(some([True, False] * 6, one_task=True)) == reason
    with pytest.raises(BaselineError, match="expected training episodes of at least 2 tasks"):
        check_unlabelled(some([None] * 12, one_task=True))


def test_ten_labelled_episodes_of_two_classes_and_tasks_will_do(some) -> None:
    episodes = some([True, False] * 5 + [None])
    known, unsafe = labelled(episodes)
    assert known == episodes[:10]
    assert unsafe.tolist() == [True, False] * 5
    check_unlabelled(some([None] * 10))
    with pytest.raises(BaselineError, match="expected at least 10 training episodes, got 9"):
        check_unlabelled(some([None] * 9))


def test_vectors_that_are_not_finite_are_counted() -> None:
    vectors = np.zeros((4, 2), np.float32)
    check_finite(vectors, "node")
    vectors[1, 0], vectors[3, 1] = np.nan, np.inf
    with pytest.raises(BaselineError, match="in 2 of 4 nodes, first in node 1"):
        check_finite(vectors, "node")
