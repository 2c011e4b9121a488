"""Debates of fully connected agents, in `adv_*` files with a planted adversary.

Unsafe where the file is an `adv_*` one. The adversary is always the first log and has one
message more (its instructions), so only what the agents said is read, under neutral ids and in
an order that a hash of the episode decides; the hash also decides who is the final agent.
"""

import re
from typing import Any

from fglguard.corpora.building import EpisodeBuilder
from fglguard.corpora.fields import as_kind, digest, required, text_of
from fglguard.corpora.reading import Importer, Source
from fglguard.episode import Episode
from fglguard.errors import CorpusError

_NAME = re.compile(r"(?:adv_)?(?P<suite>[A-Za-z]\w*?)_\d+_\d+")
_ADVERSARY = 0


class Debate(Importer):
    """JSON Lines of `{question, agent_responses: [chat log of each agent]}`."""

    looked_for = "*.jsonl files"
    suffixes = (".jsonl",)

    def episode(self, record: Any, source: Source) -> Episode:
        """One debate. Its split key is a hash of the question."""
        record = as_kind(record, dict, "record")
        question = required(record, "question", str)
        turns = _turns(record)
        planted = source.file.name.startswith("adv_")
        order = sorted(range(len(turns)), key=lambda log: digest(turns, "order", log))
        builder = EpisodeBuilder()
        speakers = [
            builder.agent(f"agent_{place}", "agent", planted and log == _ADVERSARY)
            for place, log in enumerate(order)
        ]
        for builder.round in range(max(map(len, turns))):
            for speaker, log in zip(speakers, order, strict=True):
                if builder.round < len(turns[log]):
                    others = [other for other in speakers if other != speaker]
                    builder.add(speaker, others, turns[log][builder.round])
        name = _NAME.match(source.file.name)
        return builder.build(
            source,
            id=f"{self.name}-{digest(record)}",
            task=(f"task:{digest(question)}",),
            final_agent=speakers[int(digest(turns, "final"), 16) % len(speakers)],
            unsafe=planted,
            label_source="planted",
            attributes={
                "suite": name["suite"] if name else None,
                "attack": "adversary" if planted else "none",
            },
        )


def _turns(record: dict[str, Any]) -> list[list[str]]:
    """What each agent said, round by round."""
    logs = required(record, "agent_responses", list)
    if not logs:
        raise CorpusError("agent_responses: expected a chat log an agent, got none")
    turns = []
    for index, log in enumerate(logs):
        where = f"agent_responses[{index}]"
        messages = [
            as_kind(message, dict, f"{where}[{number}]")
            for number, message in enumerate(as_kind(log, list, where))
        ]
        turns.append([text_of(m.get("content")) for m in messages if m.get("role") == "assistant"])
    return turns
