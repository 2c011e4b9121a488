from types import SimpleNamespace

import numpy as np
import pytest

from fglguard.corpora.replay.pools import SIDES, draw_pools, families
from fglguard.corpora.replay.suites import SUITES, ReplaySuite, UserTaskFacts, load_suite


def facts(prompt: str, *calls: tuple[str, str]) -> UserTaskFacts:
    made = tuple(SimpleNamespace(function=f, args={"to": to}) for f, to in calls)
    return UserTaskFacts(prompt, made, ("place",), False)


def test_families() -> None:
    """b quotes a; c sends what b sends; d and e read the same only."""
    found = families(
        {
            "a": facts("Pay the rent.", ("get_day", "1")),
            "b": facts("Do both: 1. Pay the rent. 2. Write.", ("send_email", "Bob")),
            "c": facts("Tell Bob.", ("send_email", "Bob")),
            "d": facts("Read it.", ("read_file", "x")),
            "e": facts("Say what it says.", ("read_file", "x"), ("send_email", "Eve")),
        }
    )
    assert found == [("a", "b", "c"), ("d",), ("e",)]


def check(suite: ReplaySuite, seed: int) -> None:
    pools = draw_pools(suite, np.random.default_rng(seed))
    assert tuple(pool.side for pool in pools) == SIDES
    users = [task for pool in pools for task in pool.user_tasks]
    injections = [task for pool in pools for task in pool.injection_tasks]
    assert sorted(users) == sorted(suite.user_tasks)
    assert sorted(injections) == sorted(suite.injection_tasks)
    side = {task: pool.side for pool in pools for task in pool.user_tasks}
    assert all(len({side[task] for task in family}) == 1 for family in families(suite.facts))
    train, val, test = pools
    assert len(train.user_tasks) > max(len(val.user_tasks), len(test.user_tasks)) >= 3
    # Slack has five injection tasks only: two, one and two.
    assert min(len(train.injection_tasks), len(test.injection_tasks)) >= 2
    assert len(val.injection_tasks) == (1 if suite.name == "slack" else 2)
    assert all(any(suite.facts[t].hard for t in pool.user_tasks) for pool in pools)


def test_pools_of_banking(banking: ReplaySuite) -> None:
    for seed in range(50):
        check(banking, seed)


@pytest.mark.long
@pytest.mark.parametrize("name", SUITES)
def test_pools_of_every_suite(name: str) -> None:
    for seed in range(20):
        check(load_suite(name), seed)
