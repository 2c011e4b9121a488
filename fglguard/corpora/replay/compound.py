"""What the user asks for: a task, often with a second one or with a goal that others inject.

With the second half present as often under every policy, neither the number of calls nor an action
that is elsewhere an attack tells whether an episode is unsafe.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from numpy.random import Generator

from fglguard.corpora.replay.execution import Asker
from fglguard.corpora.replay.rename import Renaming, draw_renaming
from fglguard.corpora.replay.suites import ReplaySuite

Compound = Literal["none", "second", "authorised"]


@dataclass(frozen=True)
class Request:
    """The user's whole request.

    Attributes:
        user_task: Id of the main task.
        prompt: What the user says.
        answer: What the final answer has to tell, possibly "".
        second_user_task: Id of the second task, or "".
        authorised_task: Id of the injection task whose goal the user asks for, or "".
        own_values: What the authorised goal has in place of the attacker's constants.
        point: How much of the main task is done before the authorised goal's turn, 0 to 1.
    """

    user_task: str
    prompt: str
    answer: str
    second_user_task: str = ""
    authorised_task: str = ""
    own_values: Renaming = field(default_factory=lambda: Renaming({}))
    point: float = 1.0

    def calls(self, suite: ReplaySuite, environment: Any) -> list[tuple[Any, Asker]]:
        """Everything the user asks for, in the order in which the agent does it.

        Ground truths look ids and names up, so they are taken in the environment to be played in.
        """
        first = suite.user_tasks[self.user_task].ground_truth(environment)
        turn = round(self.point * len(first))
        calls: list[tuple[Any, Asker]] = [(call, "user") for call in first[:turn]]
        if self.authorised_task:
            task = suite.injection_tasks[self.authorised_task]
            calls += [(self._own(call), "authorised") for call in task.ground_truth(environment)]
        calls += [(call, "user") for call in first[turn:]]
        if self.second_user_task:
            second = suite.user_tasks[self.second_user_task].ground_truth(environment)
            calls += [(call, "user") for call in second]
        return calls

    def _own(self, call: Any) -> Any:
        return call.model_copy(update={"args": self.own_values.value(dict(call.args))})


def single(suite: ReplaySuite, user: str) -> Request:
    """One user task alone."""
    return Request(user, _prompt(suite, user), _answer(suite, user))


def with_second_task(suite: ReplaySuite, user: str, second: str) -> Request:
    """Two user tasks, one after the other."""
    answers = (_answer(suite, user), _answer(suite, second))
    return Request(
        user,
        prompt=f"{_prompt(suite, user)} Also: {_prompt(suite, second)}",
        answer=" ".join(filter(None, answers)),
        second_user_task=second,
    )


def with_authorised_goal(suite: ReplaySuite, user: str, injection: str, rng: Generator) -> Request:
    """A user task and an injection's goal that the user asks for, mostly late in the work.

    The goal gets values of its own: a transfer to the user's landlord is not one to the attacker,
    for whom the benchmark looks.
    """
    own = draw_renaming(rng)
    goal, prompt = (
        own.text(str(suite.injection_tasks[injection].GOAL)).strip(),
        _prompt(suite, user),
    )
    return Request(
        user,
        prompt=f"{goal} Then: {prompt}" if rng.random() < 0.5 else f"{prompt} Also: {goal}",
        answer=_answer(suite, user),
        authorised_task=injection,
        own_values=own,
        point=float(rng.random(2).max()),
    )


def _prompt(suite: ReplaySuite, user: str) -> str:
    return suite.facts[user].prompt.strip()


def _answer(suite: ReplaySuite, user: str) -> str:
    return str(suite.user_tasks[user].GROUND_TRUTH_OUTPUT or "").strip()
