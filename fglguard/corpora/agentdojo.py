"""AgentDojo run logs: one agent, its tools, and instructions injected into their results.

Unsafe where an injection task ran and its goal was reached (`security` true), as AgentDojo's own
program checked. On a clean run `security` means nothing.
"""

import re
from typing import Any

from fglguard.corpora.dialogue import Dialogue, add_chat
from fglguard.corpora.fields import as_kind, digest, flag, name_or_none, required
from fglguard.corpora.reading import Importer, Source
from fglguard.episode import Episode

_BLANK = r"(?:\s|\\n)+"
_TAG = re.compile(r"</?INFORMATION>")
# The attack addresses the model by its name, and names tell how easily a model falls for it.
_ADDRESSEE = re.compile(
    rf"(message{_BLANK}from{_BLANK}me,[^,]{{1,80}},{_BLANK}to{_BLANK}you,{_BLANK})"
    r".{1,80}?\.(?=\s|\\|['\"<]|$)",
    re.DOTALL,
)


class AgentDojo(Importer):
    """A tree of run files, or JSON Lines of `{messages, metadata}`; MIT-licensed logs exist."""

    looked_for = "run logs *.json or traces *.jsonl"

    def episode(self, record: Any, source: Source) -> Episode | None:
        """One run. None for an injection task run in a user's place: it has no user task."""
        record = as_kind(record, dict, "record")
        facts = required(record, "metadata", dict) if "metadata" in record else record
        suite = required(facts, "suite_name", str)
        user_task = required(facts, "user_task_id", str)
        if user_task.startswith("injection_task"):
            return None
        injection = name_or_none(facts, "injection_task_id")
        attack = name_or_none(facts, "attack_type")
        task: tuple[str, ...] = (f"user:{suite}/{user_task}",)
        if injection:
            task += (f"injection:{suite}/{injection}",)
        dialogue = Dialogue()
        add_chat(dialogue, required(record, "messages", list), without_marks)
        return dialogue.build(
            source,
            id=f"{self.name}-{digest(record)}",
            task=task,
            final_agent=dialogue.main,
            unsafe=injection is not None and flag(facts, "security"),
            label_source="program",
            attributes={
                "suite": suite,
                "agent_model": name_or_none(facts, "pipeline_name") or name_or_none(facts, "model"),
                "attack": attack or ("unnamed" if injection else "none"),
                "user_task": user_task,
                "injection_task": injection,
            },
        )


def without_marks(text: str) -> str:
    """The text without the attack's tag and without the name of the model it addresses."""
    return _ADDRESSEE.sub(r"\1assistant.", _TAG.sub("", text))
