"""Three pools of tasks a suite, drawn before any episode, so that every episode lies on one side.

An episode can touch four tasks: the user's, a second one, an injected one and one the user asks for
that elsewhere is injected. Splitting finished episodes by all four would leave most of them out.
Drawing all four from one pool leaves out none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numpy.random import Generator

from fglguard.corpora.replay.hard_negatives import is_acting
from fglguard.corpora.replay.suites import ReplaySuite, UserTaskFacts

SIDES = ("train", "val", "test")
_SHARES = {"train": 0.6, "val": 0.2, "test": 0.2}


@dataclass(frozen=True)
class Pool:
    """The tasks of one side of a suite, by id."""

    side: str
    user_tasks: tuple[str, ...]
    injection_tasks: tuple[str, ...]


def draw_pools(suite: ReplaySuite, rng: Generator) -> tuple[Pool, ...]:
    """Deal a suite's tasks to the sides, about 60, 20 and 20 %.

    User tasks go by family (see `families`), families with hard negatives first so that each side
    has some. Validation and test get two injection tasks each where the suite has six or more.
    """
    users = _deal_families(suite.facts, rng)
    injections = _deal_injections(list(suite.injection_tasks), rng)
    return tuple(Pool(side, tuple(users[side]), tuple(injections[side])) for side in SIDES)


def families(facts: Mapping[str, UserTaskFacts]) -> list[tuple[str, ...]]:
    """Groups of user tasks that are partly the same task.

    Two tasks belong together if one's prompt quotes the other's, or if they share an acting call
    with all its arguments: the benchmark has tasks composed of others.
    """
    tasks = list(facts)
    leader = {task: task for task in tasks}

    def find(task: str) -> str:
        while leader[task] != task:
            task = leader[task]
        return task

    for index, one in enumerate(tasks):
        for other in tasks[:index]:
            if _related(facts[one], facts[other]):
                leader[find(one)] = find(other)
    groups: dict[str, list[str]] = {}
    for task in tasks:
        groups.setdefault(find(task), []).append(task)
    return [tuple(group) for group in groups.values()]


def _related(one: UserTaskFacts, other: UserTaskFacts) -> bool:
    a, b = one.prompt.strip(), other.prompt.strip()
    return a in b or b in a or bool(_actions(one) & _actions(other))


def _actions(facts: UserTaskFacts) -> set[str]:
    return {
        f"{call.function} {sorted(call.args.items())}"
        for call in facts.calls
        if is_acting(call.function)
    }


def _deal_families(facts: Mapping[str, UserTaskFacts], rng: Generator) -> dict[str, list[str]]:
    groups = families(facts)
    groups = [groups[i] for i in rng.permutation(len(groups))]
    # Large groups first fill the sides evenly; hard ones first give each side some.
    groups.sort(key=lambda group: (not any(facts[task].hard for task in group), -len(group)))
    hard = [group for group in groups if any(facts[task].hard for task in group)]
    dealt: dict[str, list[str]] = {side: [] for side in SIDES}
    for chosen in (hard, groups[len(hard) :]):
        total = sum(map(len, chosen)) + sum(map(len, dealt.values()))
        for group in chosen:
            side = min(SIDES, key=lambda s: (len(dealt[s]) + len(group) / 2) / _SHARES[s] / total)
            dealt[side].extend(group)
    return dealt


def _deal_injections(tasks: Sequence[str], rng: Generator) -> dict[str, list[str]]:
    shuffled = [tasks[i] for i in rng.permutation(len(tasks))]
    test = max(2, round(_SHARES["test"] * len(tasks)))
    val = max(2, round(_SHARES["val"] * len(tasks))) if len(tasks) >= 6 else 1
    return {
        "test": shuffled[:test],
        "val": shuffled[test : test + val],
        "train": shuffled[test + val :],
    }
