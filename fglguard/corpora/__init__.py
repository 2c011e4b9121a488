"""Where episodes come from: one module a source format, and the one registry of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from fglguard.corpora.agent_safetybench import AgentSafetyBench
from fglguard.corpora.agentdojo import AgentDojo
from fglguard.corpora.autogen import AutoGen
from fglguard.corpora.debate import Debate
from fglguard.corpora.gsafeguard import GSafeguard
from fglguard.corpora.jsonl import JsonLines
from fglguard.corpora.langgraph import LangGraph
from fglguard.corpora.openagentsafety import OpenAgentSafety
from fglguard.corpora.otlp import Otlp
from fglguard.corpora.rjudge import RJudge
from fglguard.episode import Episode, Problem
from fglguard.errors import CorpusError, suggestion


class Corpus(Protocol):
    """A source format.

    Attributes:
        name: What the format is called on the command line and in results.
    """

    name: str

    def read(
        self,
        path: Path,
        *,
        domain: str | None = None,
        problems: list[Problem] | None = None,
        strict: bool = False,
    ) -> Iterator[Episode]:
        """Read every episode of a file, or of a folder and what is below it, in a fixed order.

        Args:
            path: The file or folder.
            domain: Domain of every episode; by default the format's name (schema-1 JSON Lines
                keep their own; traces and message logs may name theirs).
            problems: Receives one entry for each record that was skipped.
            strict: Raise at the first bad record instead of skipping it.

        Raises:
            CorpusError: There is no file of the format, none of the records is an episode, or a
                record is bad and `strict` is set. The text names file, record and key.
        """
        ...


CORPORA: dict[str, Corpus] = {
    source.name: source
    for source in (
        AgentDojo("agentdojo"),
        RJudge("rjudge"),
        RJudge("assebench"),
        AgentSafetyBench("agent_safetybench"),
        OpenAgentSafety("openagentsafety"),
        Debate("debate"),
        GSafeguard("gsafeguard"),
        JsonLines("jsonl"),
        Otlp("otlp"),
        LangGraph("langgraph"),
        AutoGen("autogen"),
    )
}
"""Every format by name. ASSEBench is published in R-Judge's record."""


def corpus(name: str) -> Corpus:
    """The format of that name.

    Raises:
        CorpusError: There is none; the text lists the choices.
    """
    if name not in CORPORA:
        raise CorpusError(
            f"corpus format: expected one of {', '.join(sorted(CORPORA))}, got {name!r}"
            f"{suggestion(name, CORPORA)}"
        )
    return CORPORA[name]
