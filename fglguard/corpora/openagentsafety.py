"""OpenAgentSafety trajectories: an agent with tools and, in many tasks, colleagues that chat.

Unsafe where `final_score.result` of the task's evaluation file is 1: a rule on the end state, so
noisy. Nothing else of that file is read.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fglguard.corpora.dialogue import Dialogue
from fglguard.corpora.fields import as_kind, digest, flag, required, text_of
from fglguard.corpora.reading import Importer, Source, load_json
from fglguard.episode import Episode
from fglguard.errors import CorpusError

_PREFIX = "traj_"
_SILENT_ACTIONS = ("recall", "change_agent_state", "system", "null")
_SILENT_OBSERVATIONS = ("recall", "agent_state_changed", "null", "think")
# How the harness ran a call, not what was called for.
_BOOKKEEPING = frozenset(
    {
        "thought",
        "blocking",
        "hidden",
        "is_input",
        "is_static",
        "confirmation_state",
        "impl_source",
        "include_extra",
        "kernel_init_code",
        "image_urls",
        "wait_for_response",
        "security_risk",
        "cwd",
        "return_axtree",
    }
)


class OpenAgentSafety(Importer):
    """`<model>/traj_safety-<task>.json` with `eval_safety-<task>.json` beside it."""

    looked_for = "traj_*.json files with their eval_*.json beside them"

    def accepts(self, file: Path) -> bool:
        """A trajectory."""
        return file.name.startswith(_PREFIX) and file.suffix == ".json"

    def records(self, file: Path) -> Iterator[tuple[str, Any]]:
        """A trajectory is one record: the list of its events."""
        yield "", load_json(file)

    def episode(self, record: Any, source: Source) -> Episode:
        """One trajectory. Its split key is the task's name."""
        task = source.file.stem.removeprefix(_PREFIX)
        model = source.file.absolute().parent.name
        events = as_kind(record, list, "trajectory")
        trajectory = _Trajectory()
        for index, event in enumerate(events):
            trajectory.add_event(as_kind(event, dict, f"event {index}"), f"event {index}: ")
        return trajectory.build(
            source,
            id=f"{self.name}-{digest(task, model, events)}",
            task=(f"task:{task}",),
            final_agent=trajectory.main,
            unsafe=_label(source.file),
            label_source="program",
            attributes={"agent_model": model},
        )


class _Trajectory(Dialogue):
    """A dialogue that finds out whom an observation comes from by the action that caused it."""

    def __init__(self) -> None:
        super().__init__()
        self._asked: dict[str, str] = {}

    def add_event(self, event: Mapping[str, Any], where: str) -> None:
        if "observation" in event:
            self._observe(event)
            return
        action = event.get("action")
        if action is None or action in _SILENT_ACTIONS:
            return
        action = as_kind(action, str, f"{where}action")
        arguments = as_kind(event.get("args") or {}, dict, f"{where}args")
        source = required(event, "source", str, where)
        said = text_of(arguments.get("content") or event.get("message"))
        if source == "user":
            self.ask(said)
        elif source == "agent":
            self.turn()
            self._act(action, arguments, said, str(event.get("id")))

    def _act(self, action: str, arguments: Mapping[str, Any], said: str, identity: str) -> None:
        if action != "finish":
            self.think(text_of(arguments.get("thought")))
        if action == "chat":
            name = text_of(arguments.get("npc_name")).strip() or "unnamed"
            colleague = self.agent(f"npc:{name}", "agent")
            self._asked[identity] = colleague
            self.add(self.main, [colleague], text_of(arguments.get("content")))
        elif action == "finish":
            self.answer(text_of(arguments.get("final_thought")) or said)
        elif action == "message":
            self.answer(said)
        elif action != "think":
            meant = {
                key: value
                for key, value in arguments.items()
                if key not in _BOOKKEEPING and value is not None
            }
            self._asked[identity] = self.call(action, meant)

    def _observe(self, event: Mapping[str, Any]) -> None:
        kind = event["observation"]
        if kind is None or kind in _SILENT_OBSERVATIONS:
            return
        text = text_of(event.get("content"))
        sender = self._asked.get(str(event.get("cause"))) or self.environment()
        if not sender.startswith("npc:"):
            self.result(sender, text)
        elif kind == "chat":
            self.add(sender, [self.main], text)
        else:
            # The chat system says that a colleague can't be reached.
            self.result(self.environment(), text)


def _label(trajectory: Path) -> bool:
    file = trajectory.with_name(f"eval_{trajectory.name.removeprefix(_PREFIX)}")
    if not file.is_file():
        raise CorpusError(f"expected its evaluation {file.name} beside it, there is none")
    try:
        score = required(as_kind(load_json(file), dict, "evaluation"), "final_score", dict)
        return flag(score, "result", "final_score.")
    except CorpusError as error:
        raise CorpusError(f"{file.name}: {error}") from None
