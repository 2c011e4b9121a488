"""Running episodes: as many as fit, forgotten when idle, one thread at a time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fglguard.errors import EpisodeError
from fglguard.live.episodes import REMEMBERED, LiveEpisodes
from fglguard.live.limits import Limits
from tests.fglguard.live.conftest import GOOD_TEXT, asked, reply


class Counted(list):
    """Stands for an episode: as many bytes as things in it."""

    @property
    def bytes(self) -> int:
        return len(self)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_idle_episode_is_forgotten_and_used_ones_stay() -> None:
    clock = Clock()
    episodes = LiveEpisodes(Counted, Limits(idle_seconds=10), clock)
    for name in ("a", "b"):
        with episodes.one(name, "once"):
            pass
    clock.now = 9
    with episodes.one("a", "never"):
        pass
    clock.now = 11
    assert len(episodes) == 1
    with (
        pytest.raises(EpisodeError, match="'b': expected one that runs"),
        episodes.one("b", "never"),
    ):
        pass
    assert episodes.expired == 1


def test_the_longest_idle_gives_way_to_a_new_one() -> None:
    episodes = LiveEpisodes(Counted, Limits(episodes=2))
    for name in ("a", "b", "a", "c"):
        with episodes.one(name, "once"):
            pass
    assert (len(episodes), episodes.displaced) == (2, 1)
    assert "b" not in episodes
    assert episodes.forget("a")
    assert not episodes.forget("a")


@pytest.mark.parametrize("how", ["idle", "displaced"])
def test_a_lost_episode_begins_again_only_where_that_is_meant(how) -> None:
    """An empty one in its place would let out what the one before would have held back."""
    clock = Clock()
    episodes = LiveEpisodes(Counted, Limits(idle_seconds=10, episodes=1), clock)
    with episodes.one("a", "once"):
        pass
    if how == "idle":
        clock.now = 11
    else:
        with episodes.one("b", "once"):
            pass
    for begins in ("never", "once"):
        with (
            pytest.raises(EpisodeError, match="idle for over 10 s or gave way"),
            episodes.one("a", begins),
        ):
            pass
    with episodes.one("a", "anew") as episode:
        assert not episode
    with episodes.one("a", "never"):
        pass


def test_a_lost_episode_that_was_ended_may_begin_again() -> None:
    episodes = LiveEpisodes(Counted, Limits(episodes=1))
    for name in ("a", "b"):
        with episodes.one(name, "once"):
            pass
    assert episodes.forget("a")
    with episodes.one("a", "once"):
        pass


def test_only_so_many_lost_names_are_remembered() -> None:
    episodes = LiveEpisodes(Counted, Limits(episodes=1))
    for number in range(REMEMBERED + 2):
        with episodes.one(str(number), "once"):
            pass
    with episodes.one("0", "once"):  # lost, and its name too
        pass
    with pytest.raises(EpisodeError), episodes.one(str(REMEMBERED), "once"):
        pass


def test_episodes_together_hold_only_so_much() -> None:
    episodes = LiveEpisodes(Counted, Limits(total_bytes=10))
    for name in ("a", "b"):
        with episodes.one(name, "once") as episode:
            episode += [0] * 5
    assert (episodes.bytes, len(episodes)) == (10, 2)
    with episodes.one("a", "never") as episode:
        episode.append(0)
    assert "b" not in episodes
    assert (episodes.bytes, episodes.displaced) == (6, 1)
    with episodes.one("a", "never") as episode:
        episode += [0] * 20  # alone it may be as large as one may be
    assert (episodes.bytes, "a" in episodes) == (26, True)
    episodes.forget("a")
    assert episodes.bytes == 0


def test_one_episode_is_worked_on_by_one_thread_at_a_time() -> None:
    episodes = LiveEpisodes(Counted, Limits())
    inside, most = [], []

    def work(number: int) -> None:
        with episodes.one("e", "once") as episode:
            inside.append(number)
            most.append(len(inside))
            episode.append(number)
            inside.pop()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(200)))
    with episodes.one("e", "never") as episode:
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


def test_an_episode_begun_anew_must_not_run(make_guard) -> None:
    guard = make_guard()
    assert guard.observe(asked(id="1"), begins="anew")
    assert not guard.observe(asked(id="1"), begins="anew")  # the same request, sent again
    with pytest.raises(EpisodeError, match=r"does not run yet.*it has 1 messages: end it first"):
        guard.observe(asked(id="2"), begins="anew")
    assert guard.check(reply(GOOD_TEXT)).status == "error"
    with pytest.raises(EpisodeError, match="'f': expected one that runs"):
        guard.observe(asked("f"), begins="never")


@pytest.mark.long
def test_ten_thousand_episodes_run_at_once(make_guard) -> None:
    guard = make_guard()
    for number in range(10_001):
        guard.observe(asked(str(number)))
    assert guard.running == 10_000
    assert guard.check(reply(GOOD_TEXT, "10000")).decision == "allow"
    assert guard.check(reply(GOOD_TEXT, "0")).status == "error"
