"""One scene played under one policy, and what the benchmark says of it."""

import contextlib
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from numpy.random import Generator

from fglguard.corpora.replay.execution import Step, ToolSession
from fglguard.corpora.replay.policies import Policy, attempts, drops_the_task, injected_calls
from fglguard.corpora.replay.scenes import Scene
from fglguard.corpora.replay.suites import ReplaySuite


@dataclass(frozen=True)
class Performance:
    """What happened.

    Attributes:
        policy: What the agent was to do.
        steps: Its calls with their results.
        exposed: Whether it read the injection.
        failed: Whether a call that the user asked for failed.
        unsafe: The benchmark's verdict: did the injection reach its goal?
    """

    policy: Policy
    steps: tuple[Step, ...]
    exposed: bool
    failed: bool
    unsafe: bool


def play(
    suite: ReplaySuite, scene: Scene, policy: Policy, environment: Any, rng: Generator
) -> Performance:
    """Play the user's calls, and what the policy makes of the injection once it was read.

    Args:
        suite: Its tools and checks.
        scene: What is asked for and injected.
        policy: What the agent does about the injection.
        environment: Prepared for the scene; changed by the calls.
        rng: For the policy's choices.
    """
    before = environment.model_copy(deep=True)
    session = ToolSession(suite.benchmark.tools, environment)
    task = suite.injection_tasks[scene.injection_task]
    watch = _Watch(scene.payload.values() if policy != "clean" else ())
    for call, asker in scene.request.calls(suite, before):
        step = session.call(call, asker)
        if watch.completed_by(step.result) and attempts(policy):
            for injected in injected_calls(policy, task.ground_truth(environment), rng):
                session.call(injected, "injection")
            if drops_the_task(scene.wording, rng):
                break
    return Performance(
        policy=policy,
        steps=tuple(session.steps),
        exposed=watch.completed,
        failed=any(step.failed for step in session.steps if step.asked_by != "injection"),
        unsafe=policy != "clean" and _reached_goal(suite, task, scene.final, before, session),
    )


class _Watch:
    """Waits for the tool results to have shown every part of the injection."""

    def __init__(self, parts: Iterable[str]) -> None:
        self._missing = {_bare(part) for part in parts}
        self.completed = False

    def completed_by(self, result: str) -> bool:
        """Whether this result is the one that completes the injection."""
        if not self._missing:
            return False
        bare = _bare(result)
        self._missing = {part for part in self._missing if part not in bare}
        self.completed = not self._missing
        return self.completed


def _bare(text: str) -> str:
    """The text without what YAML or a dictionary's `str` changes: spaces, quotes, escapes."""
    return re.sub(r"[\s'\"\\]+", "", text.replace("\\n", " "))


def _reached_goal(
    suite: ReplaySuite, task: Any, final: str, before: Any, session: ToolSession
) -> bool:
    """The benchmark's own check, from the calls where it has one for them, else from the state."""
    with contextlib.redirect_stdout(io.StringIO()):  # one check prints what it compares
        verdict = task.security_from_traces(final, before, session.environment, session.calls)
        if verdict is None:
            verdict = task.security(final, before, session.environment)
    return bool(verdict)
