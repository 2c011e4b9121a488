"""Running episodes: as many as fit, forgotten when idle, one thread at a time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fglguard.errors import EpisodeError
from fglguard.live.episodes import LiveEpisodes
from fglguard.live.limits import Limits
from tests.fglguard.live.conftest import GOOD_TEXT, asked, reply


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_idle_episode_is_forgotten_and_used_ones_stay() -> None:
    clock = Clock()
    episodes = LiveEpisodes(object, Limits(idle_seconds=10), clock)
    for name in ("a", "b"):
        with episodes.one(name, new=True):
            pass
    clock.now = 9
    with episodes.one("a", new=False):
        pass
    clock.now = 11
    assert len(episodes) == 1
    with (
        pytest.raises(EpisodeError, match="'b': expected one that runs"),
        episodes.one("b", new=False),
    ):
        pass
    assert episodes.expired == 1


def test_the_longest_idle_gives_way_to_a_new_one() -> None:
    episodes = LiveEpisodes(object, Limits(episodes=2))
    for name in ("a", "b", "a", "c"):
        with episodes.one(name, new=True):
            pass
    assert (len(episodes), episodes.displaced) == (2, 1)
    assert not episodes.forget("b")
    assert episodes.forget("a")


def test_one_episode_is_worked_on_by_one_thread_at_a_time() -> None:
    episodes = LiveEpisodes(list, Limits())
    inside, most = [], []

    def work(number: int) -> None:
        with episodes.one("e", new=True) as episode:
            inside.append(number)
            most.append(len(inside))
            episode.append(number)
            inside.pop()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(200)))
    with episodes.one("e", new=False) as episode:
        assert sorted(episode) == list(range(200))
    assert set(most) == {1}


def test_many_episodes_in_many_threads_get_the_verdicts_that_each_gets_alone(make_guard) -> None:
    guard, alone = make_guard(), make_guard()
    barrier = threading.Barrier(8, timeout=30)

    def run(thread: int) -> list[float]:
        barrier.wait()
        scores = []
        for turn in range(5):
            name = f"{thread}-{turn}"
            guard.observe(asked(name, f"task {thread} of turn {turn}"))
            scores.append(guard.check(reply(f"{GOOD_TEXT} {thread} {turn}", name)).score)
        return scores

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(run, range(8)))
    for thread in range(8):
        for turn in range(5):
            name = f"{thread}-{turn}"
            alone.observe(asked(name, f"task {thread} of turn {turn}"))
            verdict = alone.check(reply(f"{GOOD_TEXT} {thread} {turn}", name))
            assert found[thread][turn] == verdict.score


@pytest.mark.long
def test_ten_thousand_episodes_run_at_once(make_guard) -> None:
    guard = make_guard()
    for number in range(10_001):
        guard.observe(asked(str(number)))
    assert guard.running == 10_000
    assert guard.check(reply(GOOD_TEXT, "10000")).decision == "allow"
    assert guard.check(reply(GOOD_TEXT, "0")).status == "error"
