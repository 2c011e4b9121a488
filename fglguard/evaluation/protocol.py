"""Sides of an evaluation: task-disjoint at home, or with something held out altogether.

Every function gives a side to each episode of several silos together, such that no task key
stands on two of the sides train, val and test. The result makes a file for `corpus.splits`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fglguard.corpora.assignment import LEFT_OUT
from fglguard.corpora.splits import SPLITS, assign_splits
from fglguard.corpora.splits_file import Splits
from fglguard.errors import SettingsError
from fglguard.silo import Silo

FRACTIONS = (0.5, 0.2, 0.3)
"""Shares of train, val and test: a fifth for test leaves a grid of tasks hardly any episode."""
TRAIN_AND_VAL = (0.75, 0.25, 0.0)
"""Shares where what is tested is held out by itself."""
MOST_DROPPED = 0.2
"""Largest share of the rest that may be left out because it shares a task with what is held out."""
TEST = SPLITS.index("test")


@dataclass(frozen=True)
class Facts:
    """What a protocol may look at; all episodes of the silos in a row.

    Attributes:
        silos: The silos, in order.
        tasks: Each episode's task keys.
        labels: Each episode's label, to balance over; None unknown.
        domain: [episodes] each one's domain.
        agents: [episodes] number of agents of kind `agent`.
        density: [episodes] share of the ordered pairs of those agents in which one hears the
            other; 0 with fewer than two.
    """

    silos: tuple[Silo, ...]
    tasks: list[tuple[str, ...]]
    labels: list[bool | None]
    domain: NDArray[np.str_]
    agents: NDArray[np.int64]
    density: NDArray[np.float64]

    @classmethod
    def of(cls, silos: Sequence[Silo]) -> Self:
        """Read the silos' episodes."""
        tasks, labels, domains, agents, density = [], [], [], [], []
        for silo in silos:
            for episode in silo.episodes():
                team = {agent.id for agent in episode.agents if agent.kind == "agent"}
                heard = {
                    (message.sender, receiver)
                    for message in episode.messages
                    if message.sender in team
                    for receiver in message.receivers
                    if receiver in team and receiver != message.sender
                }
                tasks.append(episode.task)
                labels.append(episode.unsafe)
                domains.append(episode.domain)
                agents.append(len(team))
                density.append(len(heard) / max(1, len(team) * (len(team) - 1)))
        return cls(
            tuple(silos), tasks, labels, np.array(domains), np.array(agents), np.array(density)
        )

    def __len__(self) -> int:
        return len(self.tasks)

    def attribute(self, key: str) -> NDArray[np.str_]:
        """[episodes] the value of an attribute, empty where an episode lacks it."""
        columns = []
        for silo in self.silos:
            attribute = silo.attributes.get(key)
            if attribute is None:
                columns.append(np.full(len(silo), "", dtype=np.str_))
            else:
                values = np.array([*attribute.values, ""])
                columns.append(values[attribute.codes])
        return np.concatenate(columns)

    def splits(self, name: str, codes: NDArray[np.uint8]) -> Splits:
        """The sides as a file has them."""
        ends = np.cumsum([len(silo) for silo in self.silos])[:-1]
        return Splits.of(name, self.silos, np.split(codes, ends))


def task_disjoint(
    facts: Facts, seed: int, fractions: Sequence[float] = FRACTIONS
) -> NDArray[np.uint8]:
    """Sides by task alone, balanced over domains and labels: `fglguard.corpora.splits`."""
    return _assigned(facts, np.ones(len(facts), dtype=np.bool_), seed, fractions)


def hold_out(facts: Facts, held: NDArray[np.bool_], seed: int) -> NDArray[np.uint8]:
    """Sides that test on what is held out alone, and train and validate on the rest.

    Where hardly any of the rest of its domain shares a task with what is held out, all of that is
    tested and those few are left out. Otherwise (the same tasks by another agent model) the
    domain's tasks are split as by `task_disjoint`, and each side keeps its own part: test what is
    held out, train and val the rest. The other episodes are left out.

    Args:
        facts: The episodes.
        held: [episodes] which are held out.
        seed: Of the assignment.

    Raises:
        SettingsError: Nothing is held out, or everything.
    """
    if not held.any() or held.all():
        what = "nothing" if not held.any() else "every episode"
        raise SettingsError(f"hold out: expected a part of the episodes, got {what}")
    home = np.isin(facts.domain, np.unique(facts.domain[held]))
    sharing = _sharing(facts, held)
    codes = np.full(len(facts), LEFT_OUT, dtype=np.uint8)
    if (sharing & home).sum() > MOST_DROPPED * (home & ~held).sum():
        split = _assigned(facts, home, seed, FRACTIONS)
        codes[home] = np.where((split == TEST) == held[home], split, LEFT_OUT)
        rest = ~home & ~_sharing(facts, home)
    else:
        codes[held] = TEST
        rest = ~held & ~sharing
    codes[rest] = _assigned(facts, rest, seed, TRAIN_AND_VAL)
    return codes


def _sharing(facts: Facts, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[episodes] which of the others have a task key of a chosen one."""
    keys = {key for own, inside in zip(facts.tasks, chosen, strict=True) if inside for key in own}
    return np.array([not keys.isdisjoint(own) for own in facts.tasks]) & ~chosen


def _assigned(
    facts: Facts, chosen: NDArray[np.bool_], seed: int, fractions: Sequence[float]
) -> NDArray[np.uint8]:
    rows = np.flatnonzero(chosen)
    codes = assign_splits(
        [facts.tasks[i] for i in rows],
        fractions=fractions,
        seed=seed,
        strata=facts.domain[rows].tolist(),
        labels=[facts.labels[i] for i in rows],
    )
    # As in a silo: an episode without a label neither trains, calibrates nor tests.
    codes[[facts.labels[i] is None for i in rows]] = LEFT_OUT
    return codes


def leave_value_out(
    facts: Facts, key: str, value: str, seed: int, domain: str = ""
) -> NDArray[np.uint8]:
    """Hold out the episodes with one value of an attribute, such as a suite or an agent model.

    Args:
        facts: The episodes.
        key: The attribute.
        value: Of the episodes that are held out.
        seed: Of the assignment.
        domain: The value counts in this domain alone; empty: in all.

    Raises:
        SettingsError: No episode has the value; the text lists those there are.
    """
    values = facts.attribute(key)
    inside = (facts.domain == domain) if domain else np.ones(len(facts), dtype=np.bool_)
    held = (values == value) & inside
    if not held.any():
        known = ", ".join(sorted(set(values[inside].tolist()) - {""})) or "none"
        raise SettingsError(f"{key}: expected one of {known}, got {value!r}")
    return hold_out(facts, held, seed)


def leave_domain_out(facts: Facts, domain: str, seed: int) -> NDArray[np.uint8]:
    """Hold out a whole domain: train on the others.

    Raises:
        SettingsError: There is no such domain; the text lists those there are.
    """
    if domain not in facts.domain:
        known = ", ".join(sorted(set(facts.domain.tolist())))
        raise SettingsError(f"domain: expected one of {known}, got {domain!r}")
    return hold_out(facts, facts.domain == domain, seed)


def leave_team_size_out(facts: Facts, agents: int, seed: int) -> NDArray[np.uint8]:
    """Hold out the episodes with a number of agents.

    Raises:
        SettingsError: No episode has so many; the text lists the numbers there are.
    """
    held = facts.agents == agents
    if not held.any():
        known = ", ".join(str(n) for n in np.unique(facts.agents))
        raise SettingsError(f"agents: expected one of {known}, got {agents}")
    return hold_out(facts, held, seed)


def leave_topology_out(
    facts: Facts, dense: bool, seed: int, domain: str = "", boundary: float = 0.5
) -> NDArray[np.uint8]:
    """Hold out the dense communication graphs, or the sparse ones.

    Args:
        facts: The episodes.
        dense: Hold out those of at least `boundary`; otherwise those below.
        seed: Of the assignment.
        domain: Hold out in this domain alone; empty: in all.
        boundary: Density that tells them apart.

    Raises:
        SettingsError: All episodes are alike.
    """
    inside = (facts.domain == domain) if domain else np.ones(len(facts), dtype=np.bool_)
    return hold_out(facts, ((facts.density >= boundary) == dense) & inside, seed)


def thin_unsafe(
    facts: Facts, codes: NDArray[np.uint8], share: float, seed: int
) -> NDArray[np.uint8]:
    """The sides with unsafe training and validation episodes left out until a share is left.

    On each of the two sides of each domain, unsafe episodes are drawn at random until they are at
    most `share` of its labelled episodes, but at least one; test stays as it is.

    Args:
        facts: The episodes.
        codes: [episodes] sides.
        share: Wanted share of the unsafe, below 1.
        seed: Of the draw.
    """
    random = np.random.default_rng(np.random.SeedSequence([seed, 0x5AFE]))
    thinned = codes.copy()
    unsafe = np.array([label is True for label in facts.labels])
    safe = np.array([label is False for label in facts.labels])
    for domain in np.unique(facts.domain):
        for side in (SPLITS.index("train"), SPLITS.index("val")):
            inside = (codes == side) & (facts.domain == domain)
            rows = np.flatnonzero(inside & unsafe)
            kept = max(1, int(share / (1 - share) * np.count_nonzero(inside & safe)))
            dropped = random.permutation(rows)[kept:]
            thinned[dropped] = LEFT_OUT
    return thinned
