"""What a trace or a log says of its episode in our own names, `fglguard.*`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from fglguard.corpora.fields import as_kind
from fglguard.episode_rules import LabelSource
from fglguard.errors import CorpusError, shown
from fglguard.traces import conventions as names

_NAMES = (
    names.DOMAIN,
    names.TASK,
    names.UNSAFE,
    names.LABEL_SOURCE,
    names.ATTACK,
    names.AGENT,
    names.AGENTS,
    names.FINAL_AGENT,
)


@dataclass(frozen=True, slots=True)
class Annotations:
    """What was said; None or empty where nothing was.

    Attributes:
        domain: `fglguard.domain`.
        task: `fglguard.task`: a split key, or a list of them.
        unsafe: `fglguard.unsafe`: the label.
        label_source: `fglguard.label_source`: who gave it.
        attack: `fglguard.attack`: the attack's name, or "none".
        agent: `fglguard.agent`: whose are the messages or spans that name no agent.
        agents: `fglguard.agents`: names that are agents' though no message shows it.
        final_agent: `fglguard.final_agent`: whose answer is guarded.
    """

    domain: str | None = None
    task: tuple[str, ...] = ()
    unsafe: bool | None = None
    label_source: LabelSource | None = None
    attack: str | None = None
    agent: str | None = None
    agents: tuple[str, ...] = ()
    final_agent: str | None = None


def annotations_of(records: Iterable[Mapping[str, Any]]) -> Annotations:
    """What some attributes or objects say together.

    Raises:
        CorpusError: They contradict each other, or a value is of another kind.
    """
    said: dict[str, Any] = {}
    for record in records:
        for name in _NAMES:
            value = record.get(name)
            if value is None:
                continue
            if said.setdefault(name, value) != value:
                raise CorpusError(f"{name}: expected one value in an episode, got two")
    label_source = _text(said, names.LABEL_SOURCE)
    if label_source is not None and label_source not in get_args(LabelSource):
        raise CorpusError(
            f"{names.LABEL_SOURCE}: expected one of {', '.join(get_args(LabelSource))}, "
            f"got {shown(label_source)}"
        )
    unsafe = said.get(names.UNSAFE)
    if unsafe is not None and not isinstance(unsafe, bool):
        raise CorpusError(f"{names.UNSAFE}: expected true or false, got {shown(unsafe)}")
    return Annotations(
        domain=_text(said, names.DOMAIN),
        task=_texts(said, names.TASK),
        unsafe=unsafe,
        label_source=cast(LabelSource | None, label_source),
        attack=_text(said, names.ATTACK),
        agent=_text(said, names.AGENT),
        agents=_texts(said, names.AGENTS),
        final_agent=_text(said, names.FINAL_AGENT),
    )


def _text(said: Mapping[str, Any], name: str) -> str | None:
    return as_kind(said[name], str, name) if name in said else None


def _texts(said: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = said.get(name, [])
    if isinstance(value, str):
        return (value,)
    return tuple(as_kind(item, str, name) for item in as_kind(value, list, name))
