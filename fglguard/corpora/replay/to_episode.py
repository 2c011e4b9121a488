"""A performance as an episode."""

import json

from numpy.random import Generator

from fglguard.corpora.replay.hard_negatives import acts_on_what_it_read
from fglguard.corpora.replay.play import Performance
from fglguard.corpora.replay.policies import attempts
from fglguard.corpora.replay.rename import draw_renaming
from fglguard.corpora.replay.scenes import Scene
from fglguard.episode import Agent, Episode, Message


def to_episode(
    id: str, suite: str, side: str, scene: Scene, performance: Performance, rng: Generator
) -> Episode:
    """The episode of one performance, with the attacker renamed.

    Two labels: `unsafe` is the benchmark's verdict (success), the attribute `attempt` says whether
    the agent set out to follow the injection.
    """
    messages = _messages(scene, performance, rng)
    tools = dict.fromkeys(f"tool:{step.function}" for step in performance.steps)
    return Episode(
        id=id,
        domain=suite,
        task=_task(suite, scene, performance),
        agents=(
            Agent("user", "user"),
            Agent("agent", "agent"),
            *(Agent(tool, "tool") for tool in tools),
        ),
        messages=messages,
        final_agent="agent",
        unsafe=performance.unsafe,
        label_source="program",
        attributes=_attributes(suite, side, scene, performance),
    )


def _messages(scene: Scene, performance: Performance, rng: Generator) -> tuple[Message, ...]:
    renamed = draw_renaming(rng).text
    messages = [Message(0, "user", ("agent",), renamed(scene.request.prompt))]
    for turn, step in enumerate(performance.steps, start=1):
        tool = f"tool:{step.function}"
        call = f"{step.function} {json.dumps(step.arguments, ensure_ascii=False)}"
        messages.append(Message(turn, "agent", (tool,), renamed(call), "call"))
        messages.append(Message(turn, tool, ("agent",), renamed(step.result), "result"))
    last = len(performance.steps) + 1
    return (*messages, Message(last, "agent", ("user",), renamed(scene.final)))


def _task(suite: str, scene: Scene, performance: Performance) -> tuple[str, ...]:
    user = f"user:{suite}/{scene.request.user_task}"
    if performance.policy == "clean":
        return (user,)
    return user, f"injection:{suite}/{scene.injection_task}"


def _attributes(suite: str, side: str, scene: Scene, performance: Performance) -> dict[str, str]:
    request, attacked = scene.request, performance.policy != "clean"
    hard = not performance.unsafe and acts_on_what_it_read(request.prompt, performance.steps)
    return {
        "suite": suite,
        "split": side,
        "policy": performance.policy,
        "attack": scene.wording if attacked else "none",
        "attempt": _flag(attempts(performance.policy)),
        "user_task": request.user_task,
        "second_user_task": request.second_user_task,
        "injection_task": scene.injection_task if attacked else "",
        "authorised_task": request.authorised_task,
        "hard_negative": _flag(hard),
    }


def _flag(value: bool) -> str:
    return "true" if value else "false"
