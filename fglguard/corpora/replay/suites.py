"""The benchmark's suites, reduced to the tasks that can be replayed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from fglguard.corpora.replay.canaries import EnvironmentTemplate, environment_template
from fglguard.corpora.replay.execution import ToolSession
from fglguard.corpora.replay.hard_negatives import acts_on_what_it_read
from fglguard.errors import CorpusError

BENCHMARK_VERSION = "v1.2.2"
SUITES = ("workspace", "travel", "banking", "slack")

# The benchmark's own classes; importing them costs seconds, so they are named in functions only.
TaskSuite: TypeAlias = Any
UserTask: TypeAlias = Any
InjectionTask: TypeAlias = Any
FunctionCall: TypeAlias = Any


@dataclass(frozen=True)
class UserTaskFacts:
    """What one replay of a user task alone tells about it.

    Attributes:
        prompt: The task's own words.
        calls: Its ground-truth calls, in order.
        vectors: The places for injected text that its results show, in order of appearance.
        hard: Whether it acts on a value that stands in a tool's result only.
    """

    prompt: str
    calls: tuple[FunctionCall, ...]
    vectors: tuple[str, ...]
    hard: bool


@dataclass(frozen=True)
class ReplaySuite:
    """One suite: its tools, its environment and its usable tasks.

    Attributes:
        name: The suite's name, which becomes the episodes' domain.
        benchmark: The benchmark's own suite.
        template: Builds environments with injected text.
        user_tasks: By id; only those whose ground truth runs without an error and shows at least
            one place for injected text.
        facts: About each of `user_tasks`.
        injection_tasks: By id; only those with a ground truth to play.
    """

    name: str
    benchmark: TaskSuite
    template: EnvironmentTemplate
    user_tasks: Mapping[str, UserTask]
    facts: Mapping[str, UserTaskFacts]
    injection_tasks: Mapping[str, InjectionTask]


@cache
def load_suite(name: str) -> ReplaySuite:
    """Load one suite and replay each of its user tasks once.

    Raises:
        CorpusError: agentdojo is not installed, or has no such suite.
    """
    if name not in SUITES:
        raise CorpusError(f"suite: expected one of {', '.join(SUITES)}, got {name!r}")
    try:
        # The benchmark imports clients of several language models on its way; none is ever used.
        from agentdojo.task_suite.load_suites import get_suites
    except ImportError as error:
        raise CorpusError(
            "the replay needs the AgentDojo benchmark: pip install 'fglguard[corpora]'"
        ) from error
    suites = get_suites(BENCHMARK_VERSION)
    if name not in suites:
        raise CorpusError(
            f"the installed agentdojo has no suite {name!r} of version {BENCHMARK_VERSION}"
        )
    benchmark = suites[name]
    template = environment_template(benchmark)
    facts = {
        task.ID: found
        for task in benchmark.user_tasks.values()
        if (found := _observe(benchmark, template, task)) is not None
    }
    plain = template.build({})
    return ReplaySuite(
        name=name,
        benchmark=benchmark,
        template=template,
        user_tasks={key: benchmark.user_tasks[key] for key in _by_number(facts)},
        facts=facts,
        injection_tasks={
            key: benchmark.injection_tasks[key]
            for key in _by_number(benchmark.injection_tasks)
            if benchmark.injection_tasks[key].ground_truth(plain)
        },
    )


def _observe(
    benchmark: TaskSuite, template: EnvironmentTemplate, task: UserTask
) -> UserTaskFacts | None:
    """Replay the task in an environment full of canaries; None if it can't be used.

    The ground truth is taken from the plain environment: some tasks look values up in the very text
    that a canary stands for.
    """
    calls = tuple(task.ground_truth(task.init_environment(template.build({}))))
    session = ToolSession(benchmark.tools, task.init_environment(template.build({})))
    steps = [session.call(call, "user") for call in calls]
    marked = ToolSession(benchmark.tools, task.init_environment(template.build_with_canaries()))
    results = [marked.call(call, "user").result for call in calls]
    vectors = template.vectors_in(results)
    if any(step.failed for step in steps) or not vectors:
        return None
    return UserTaskFacts(task.PROMPT, calls, vectors, acts_on_what_it_read(task.PROMPT, steps))


def _by_number(ids: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """Task ids in the order of their numbers, whatever order the benchmark registered them in."""
    return sorted(ids, key=lambda key: int(key.rsplit("_", 1)[1]))
