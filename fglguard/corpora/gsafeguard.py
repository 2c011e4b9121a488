"""G-Safeguard communication graphs: agents that answer one question, some of them attackers.

Every graph has attackers, so as an episode each is unsafe, as planted; which agents are the
attackers is in `Agent.unsafe`, and that is what these graphs are good for. Agents that the
attackers persuaded (`infected_idxes`) are not attackers. The system prompts, which differ
between the two, are left out. A hash of what was said decides who is the final agent.
"""

from pathlib import Path
from typing import Any

from fglguard.corpora.building import EpisodeBuilder
from fglguard.corpora.fields import as_kind, digest, required, text_of
from fglguard.corpora.reading import Importer, Source
from fglguard.episode import Episode
from fglguard.errors import CorpusError

_ATTACKS = {"PI": "prompt_injection", "TA": "tool_attack", "MA": "memory_attack"}


class GSafeguard(Importer):
    """A list of `{adj_matrix, attacker_idxes, query or question, communication_data, ...}`."""

    looked_for = "*.json files"
    suffixes = (".json",)

    def episode(self, record: Any, source: Source) -> Episode:
        """One graph. Its split key is a hash of the question; a round is one of communication."""
        record = as_kind(record, dict, "record")
        question = required(record, "query" if "query" in record else "question", str)
        hearers = _hearers(record)
        attackers = {
            _index(value, len(hearers), f"attacker_idxes[{number}]")
            for number, value in enumerate(required(record, "attacker_idxes", list))
        }
        if not attackers:
            raise CorpusError("attacker_idxes: expected at least one attacker, got none")
        builder = EpisodeBuilder()
        agents = [
            builder.agent(f"agent_{index}", "agent", index in attackers)
            for index in range(len(hearers))
        ]
        said = _add(builder, record, agents, hearers)
        return builder.build(
            source,
            id=f"{self.name}-{digest(record)}",
            task=(f"task:{digest(question)}",),
            final_agent=agents[int(digest(said, "final"), 16) % len(agents)],
            unsafe=True,
            label_source="planted",
            attributes={"attack": _attack(record, source.file)},
        )


def _add(
    builder: EpisodeBuilder, record: dict[str, Any], agents: list[str], hearers: list[list[int]]
) -> list[Any]:
    """Add every utterance; returns them all."""
    rounds = required(record, "communication_data", list)
    for builder.round, utterances in enumerate(rounds):
        where = f"communication_data[{builder.round}]"
        for number, pair in enumerate(as_kind(utterances, list, where)):
            place = f"{where}[{number}]"
            if len(as_kind(pair, list, place)) != 2:
                raise CorpusError(f"{place}: expected [agent, utterance], got {len(pair)} values")
            speaker = _index(pair[0], len(agents), f"{place}[0]")
            builder.add(agents[speaker], [agents[j] for j in hearers[speaker]], text_of(pair[1]))
    return rounds


def _hearers(record: dict[str, Any]) -> list[list[int]]:
    """Who hears each agent: j hears i where `adj_matrix[i][j]` is 1."""
    matrix = required(record, "adj_matrix", list)
    for number, row in enumerate(matrix):
        if len(as_kind(row, list, f"adj_matrix[{number}]")) != len(matrix):
            raise CorpusError(
                f"adj_matrix[{number}]: expected {len(matrix)} values, got {len(row)}"
            )
    if not matrix:
        raise CorpusError("adj_matrix: expected a row an agent, got none")
    return [
        [j for j, value in enumerate(row) if value == 1 and j != i] for i, row in enumerate(matrix)
    ]


def _index(value: Any, count: int, where: str) -> int:
    index = as_kind(value, int, where)
    if not 0 <= index < count:
        raise CorpusError(f"{where}: expected an agent from 0 to {count - 1}, got {index}")
    return index


def _attack(record: dict[str, Any], file: Path) -> str:
    """The attack's name: texts planted in memories, else as a folder above the file says."""
    if "adv_texts" in record:
        return _ATTACKS["MA"]
    return next((_ATTACKS[part] for part in reversed(file.parts) if part in _ATTACKS), "planted")
