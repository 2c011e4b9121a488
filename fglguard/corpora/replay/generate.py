"""The replayed corpus: about 1500 episodes of four domains from one seed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.random import Generator, SeedSequence, default_rng
from rich.console import Console
from rich.progress import Progress

from fglguard.corpora.replay.play import Performance, play
from fglguard.corpora.replay.policies import Policy
from fglguard.corpora.replay.pools import Pool, draw_pools
from fglguard.corpora.replay.scenes import Scene, SceneSource
from fglguard.corpora.replay.suites import SUITES, ReplaySuite, load_suite
from fglguard.corpora.replay.to_episode import to_episode
from fglguard.episode import Episode
from fglguard.errors import CorpusError

SCENES: Mapping[str, int] = {"train": 84, "val": 28, "test": 28}
"""Scenes drawn for each side of a suite; a scene gives 2.7 episodes on average."""

_MAX_TRIES = 40


def generate(seed: int = 0, *, progress: bool = False) -> list[Episode]:
    """Replay AgentDojo's ground truths offline, with no language model.

    Each scene (a user's request, an injection, where it stands) is played by an agent that obeys
    and by one that resists; every second scene also without the injection, every fifth by an agent
    that obeys in part. So the request tells nothing about the label. A scene is drawn anew if the
    agent would not read the injection, a call of the user's fails, or the benchmark's check
    disagrees with obeying or resisting; after 40 tries it is left out.

    The attribute `split` names each episode's side. No user task (main or second), no injected
    goal and no authorised goal stands on two sides.

    Args:
        seed: Same seed, same episodes, bit for bit.
        progress: Show a progress bar.

    Raises:
        CorpusError: agentdojo is not installed, or the seed is negative.
    """
    return generate_suites(SUITES, seed, SCENES, progress=progress)


def generate_suites(
    names: Sequence[str], seed: int, scenes: Mapping[str, int], *, progress: bool = False
) -> list[Episode]:
    """`generate` for some of the suites, with a number of scenes for each side."""
    if seed < 0:
        raise CorpusError(f"seed: expected 0 or more, got {seed}")
    episodes: list[Episode] = []
    with Progress(console=Console(stderr=True), disable=not progress) as bar:
        task = bar.add_task("loading AgentDojo", total=len(names) * sum(scenes.values()))
        for name in names:
            suite = load_suite(name)
            bar.update(task, description=f"replaying {name}")
            episodes += _replay(suite, seed, scenes, lambda: bar.advance(task))
    return episodes


def _replay(
    suite: ReplaySuite, seed: int, scenes: Mapping[str, int], advance: Callable[[], None]
) -> list[Episode]:
    # Streams hang on the suite's place in the list, not on which suites are asked for.
    streams = SeedSequence(seed, spawn_key=(SUITES.index(suite.name),)).spawn(4)
    pools = draw_pools(suite, default_rng(streams[0]))
    episodes: list[Episode] = []
    for pool, stream in zip(pools, streams[1:], strict=True):
        rng = default_rng(stream)
        source = SceneSource(suite, pool, rng)
        for number, (compound, wording) in enumerate(source.slots(scenes[pool.side])):
            for _ in range(_MAX_TRIES):
                scene = source.draw(compound, wording)
                performances = _perform(suite, scene, _cast(number), rng)
                if performances is not None:
                    episodes += _episodes(suite, pool, scene, performances, len(episodes), rng)
                    break
            advance()
    return episodes


def _cast(number: int) -> tuple[Policy, ...]:
    cast: list[Policy] = ["obeys", "resists"]
    if number % 2 == 0:
        cast.append("clean")
    if number % 5 == 4:
        cast.append("partial")
    return tuple(cast)


def _perform(
    suite: ReplaySuite, scene: Scene, cast: Sequence[Policy], rng: Generator
) -> list[Performance] | None:
    """Every policy's performance of the scene, None if one of them is unfit."""
    attacked = _environment(suite, scene, attacked=True)
    performances = []
    for policy in cast:
        stage = (
            attacked.model_copy(deep=True)
            if policy != "clean"
            else _environment(suite, scene, attacked=False)
        )
        performance = play(suite, scene, policy, stage, rng)
        if not _fit(performance):
            return None
        performances.append(performance)
    return performances


def _environment(suite: ReplaySuite, scene: Scene, *, attacked: bool) -> Any:
    environment = suite.template.build(scene.injections(attacked))
    request = scene.request
    for task in filter(None, (request.user_task, request.second_user_task)):
        environment = suite.user_tasks[task].init_environment(environment)
    return environment


def _fit(performance: Performance) -> bool:
    if performance.failed or (performance.policy != "clean" and not performance.exposed):
        return False
    if performance.policy == "obeys":
        return performance.unsafe
    return performance.policy == "partial" or not performance.unsafe


def _episodes(
    suite: ReplaySuite,
    pool: Pool,
    scene: Scene,
    performances: Sequence[Performance],
    first: int,
    rng: Generator,
) -> list[Episode]:
    return [
        to_episode(f"{suite.name}/{number:04d}", suite.name, pool.side, scene, performance, rng)
        for number, performance in enumerate(performances, start=first)
    ]
