"""Our own format: schema-1 JSON Lines, as `fglguard.episode` writes them."""

from dataclasses import replace
from typing import Any

from fglguard.corpora.reading import Importer, Source
from fglguard.episode import Episode, episode_from_record


class JsonLines(Importer):
    """Episodes that are already in our format. Nothing in them is mended or cut."""

    looked_for = "*.jsonl files"
    suffixes = (".jsonl",)
    keeps_names = True
    keeps_domains = True

    def episode(self, record: Any, source: Source) -> Episode:
        """The line's episode, with its own id and, unless another is asked for, domain."""
        episode = episode_from_record(record, "episode")
        return replace(episode, domain=source.domain) if source.domain else episode
