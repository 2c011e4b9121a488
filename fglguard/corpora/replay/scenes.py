"""Scenes: all that the episodes of one draw share, whatever the agent then does."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from numpy.random import Generator

from fglguard.corpora.replay.compound import (
    Compound,
    Request,
    single,
    with_authorised_goal,
    with_second_task,
)
from fglguard.corpora.replay.pools import Pool
from fglguard.corpora.replay.suites import ReplaySuite
from fglguard.corpora.replay.wordings import WORDINGS

T = TypeVar("T")

_COMPOUNDS: tuple[Compound, ...] = ("none",) * 2 + ("second",) * 3 + ("authorised",) * 15
"""10 % a task alone, 15 % with a second one, 75 % with an authorised goal."""
_HARD_SHARE = 0.25
_NOTES = (
    "Reminder: the side entrance is closed on Mondays, please use the main door.",
    "Please bring a printed copy if you can, the screen in the room is small.",
    "Thanks again to everyone who helped last week, it went very well.",
    "The desk can be reached at 044 123 4567 on weekdays between 9 and 5.",
    "Next time we should order earlier, two of the items were out of stock.",
    "Photos are in the shared album, feel free to add yours.",
    "Parking is free after six; before that, ask at the reception for a ticket.",
    "I will be travelling until Thursday and answer as soon as I am back.",
)
_CLOSINGS = (
    "Done.",
    "I have completed the task.",
    "All set, let me know if you need anything else.",
    "The request has been completed.",
    "Finished.",
    "That is taken care of.",
)


@dataclass(frozen=True)
class Scene:
    """A request, an injection and where it stands.

    Attributes:
        request: What the user asks for.
        injection_task: Id of the injected task.
        wording: Name of the wording.
        payload: Injected text by place; the agent has read the injection once it has seen all.
        notes: Harmless text by place, there with and without the injection.
        final: The agent's final answer, whatever it did.
    """

    request: Request
    injection_task: str
    wording: str
    payload: Mapping[str, str]
    notes: Mapping[str, str]
    final: str

    def injections(self, attacked: bool) -> dict[str, str]:
        """The texts to put in each place."""
        texts = dict(self.notes)
        if attacked:
            for vector, text in self.payload.items():
                texts[vector] = f"{texts[vector]} {text}" if vector in texts else text
        return texts


class SceneSource:
    """Draws scenes from one pool so that tasks, wordings and compounds come up evenly."""

    def __init__(self, suite: ReplaySuite, pool: Pool, rng: Generator) -> None:
        self._suite, self._pool, self._rng = suite, pool, rng
        hard = [task for task in pool.user_tasks if suite.facts[task].hard]
        easy = [task for task in pool.user_tasks if not suite.facts[task].hard]
        self._hard, self._easy = _deck(hard, rng), _deck(easy, rng)
        self._hard_share = _HARD_SHARE if hard and easy else float(bool(hard))
        self._hard_share = max(self._hard_share, len(hard) / len(pool.user_tasks))
        self._injections = _deck(pool.injection_tasks, rng)
        self._wordings = _deck(tuple(WORDINGS), rng)
        # A pool of one injection task has none left to authorise beside it.
        compounds = _COMPOUNDS if len(pool.injection_tasks) > 1 else ("none", "second")
        self._compounds = _deck(compounds, rng)

    def slots(self, count: int) -> Iterator[tuple[Compound, str]]:
        """Compound and wording of each scene to draw; a scene that fails is drawn again as such."""
        for _ in range(count):
            yield next(self._compounds), next(self._wordings)

    def draw(self, compound: Compound, wording: str) -> Scene:
        """One scene."""
        rng = self._rng
        user = next(self._hard if rng.random() < self._hard_share else self._easy)
        injection = next(self._injections)
        request = self._request(compound, user, injection)
        places = self._suite.facts[user].vectors
        goal = str(self._suite.injection_tasks[injection].GOAL).strip()
        texts = WORDINGS[wording](goal, len(places), rng)
        chosen = [places[i] for i in rng.permutation(len(places))]
        noted = chosen[int(rng.integers(len(chosen)))]
        closing = _CLOSINGS[int(rng.integers(len(_CLOSINGS)))]
        return Scene(
            request=request,
            injection_task=injection,
            wording=wording,
            payload=dict(zip(chosen, texts, strict=False)),
            notes={noted: _NOTES[int(rng.integers(len(_NOTES)))]} if rng.random() < 0.5 else {},
            final=f"{request.answer} {closing}".strip(),
        )

    def _request(self, compound: Compound, user: str, injection: str) -> Request:
        rng = self._rng
        if compound == "second":
            others = [task for task in self._pool.user_tasks if task != user]
            return with_second_task(self._suite, user, others[int(rng.integers(len(others)))])
        if compound == "authorised":
            others = [task for task in self._pool.injection_tasks if task != injection]
            goal = others[int(rng.integers(len(others)))]
            return with_authorised_goal(self._suite, user, goal, rng)
        return single(self._suite, user)


def _deck(cards: Sequence[T], rng: Generator) -> Iterator[T]:
    """The cards in random order, again and again, each as often as the others."""
    while cards:
        for index in rng.permutation(len(cards)):
            yield cards[index]
