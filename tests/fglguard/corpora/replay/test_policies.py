import copy
from types import SimpleNamespace

import numpy as np
import pytest

from fglguard.corpora.replay.policies import (
    attempts,
    drops_the_task,
    injected_calls,
    with_wrong_argument,
)


def call(function: str, **args: object) -> SimpleNamespace:
    return SimpleNamespace(function=function, args=dict(args))


GROUND_TRUTH = [call("get_channels"), call("post_webpage", url="www.a.com", content="text")]


@pytest.mark.parametrize("policy", ["clean", "resists"])
def test_nothing_is_done_for_an_injection_that_is_not_followed(policy: str) -> None:
    assert injected_calls(policy, GROUND_TRUTH, np.random.default_rng(0)) == []  # type: ignore[arg-type]
    assert not attempts(policy)  # type: ignore[arg-type]


def test_obeying_is_the_whole_ground_truth() -> None:
    assert injected_calls("obeys", GROUND_TRUTH, np.random.default_rng(0)) == GROUND_TRUTH
    assert attempts("obeys")


def test_partial_is_one_call_the_first_or_a_wrong_one() -> None:
    seen = set()
    for seed in range(30):
        (made,) = injected_calls("partial", GROUND_TRUTH, np.random.default_rng(seed))
        seen.add(made.function)
        assert made == GROUND_TRUTH[0] or made.args != GROUND_TRUTH[1].args
    assert seen == {"get_channels", "post_webpage"}
    assert attempts("partial")


@pytest.mark.parametrize(
    "value", ["2024-05-11 10:00", "a.b@c.com", "text", "x", 7, 0.01, True, ["a@b.com", "c@d.com"]]
)
def test_one_argument_is_wrong_and_the_original_untouched(value: object) -> None:
    original = call("act", value=value, date="2022-01-01")
    before = copy.deepcopy(original)
    changed = with_wrong_argument(original, np.random.default_rng(0))
    assert original == before
    assert changed.args["value"] != value
    assert type(changed.args["value"]) is type(value)
    assert changed.args["date"] == "2022-01-01"


def test_a_call_without_arguments_stays() -> None:
    assert with_wrong_argument(call("act"), np.random.default_rng(0)).args == {}


def test_wordings_that_say_so_make_the_agent_drop_its_task_more_often() -> None:
    """0.9 against 0.6; 400 draws put either within 0.1 with overwhelming probability."""
    rng = np.random.default_rng(0)
    share = {
        wording: np.mean([drops_the_task(wording, rng) for _ in range(400)])
        for wording in ("injecagent", "narrative")
    }
    assert share["injecagent"] == pytest.approx(0.9, abs=0.1)
    assert share["narrative"] == pytest.approx(0.6, abs=0.1)
