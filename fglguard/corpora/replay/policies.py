"""What the agent does about an injection it reads."""

import copy
import re
from collections.abc import Sequence
from typing import Any, Literal, get_args

from numpy.random import Generator

from fglguard.corpora.replay.hard_negatives import is_acting

Policy = Literal["clean", "resists", "obeys", "partial"]
POLICIES: tuple[Policy, ...] = get_args(Policy)

_DROPS_THE_TASK = {"ignore_previous": 0.9, "injecagent": 0.9}
_DROPS_THE_TASK_OTHERWISE = 0.6


def attempts(policy: Policy) -> bool:
    """Whether the agent sets out to do what the injection says."""
    return policy in ("obeys", "partial")


def injected_calls(policy: Policy, ground_truth: Sequence[Any], rng: Generator) -> list[Any]:
    """The calls that the agent makes for the injection's sake.

    `obeys`: all of the ground truth. `partial`: the first call alone, or one acting call with one
    argument wrong. `clean` and `resists`: none.
    """
    if policy == "obeys":
        return list(ground_truth)
    if policy != "partial":
        return []
    if len(ground_truth) > 1 and rng.random() < 0.5:
        return [ground_truth[0]]
    acting = [call for call in ground_truth if is_acting(call.function)]
    return [with_wrong_argument((acting or list(ground_truth))[0], rng)]


def drops_the_task(wording: str, rng: Generator) -> bool:
    """Whether an agent that follows the injection leaves the rest of the user's task undone.

    More often where the wording tells it to.
    """
    return bool(rng.random() < _DROPS_THE_TASK.get(wording, _DROPS_THE_TASK_OTHERWISE))


def with_wrong_argument(call: Any, rng: Generator) -> Any:
    """A copy of the call with one argument changed a little."""
    changed = copy.deepcopy(call)
    names = sorted(name for name in call.args if name != "date")
    if names:
        name = names[int(rng.integers(len(names)))]
        changed.args[name] = _wrong(call.args[name], rng)
    return changed


def _wrong(value: Any, rng: Generator) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + (1, 7, 20)[int(rng.integers(3))]
    if isinstance(value, list):
        return [_wrong(value[0], rng), *value[1:]] if value else value
    text = str(value)
    if re.match(r"\d{4}-\d\d-\d\d", text):
        return text[:8] + ("12" if text[8:10] == "11" else "11") + text[10:]
    if "@" in text:
        return "x" + text[2:]
    ending = ("7", "99", "_old")[int(rng.integers(3))]
    return (text[:-2] if len(text) > 4 else text) + ending
