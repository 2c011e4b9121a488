"""Logs of a framework's messages: a file of messages is an episode, or each record of it is one."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fglguard.corpora.annotations import Annotations, annotations_of
from fglguard.corpora.conversation import Conversation
from fglguard.corpora.fields import as_kind, digest, required
from fglguard.corpora.reading import Importer, Source
from fglguard.episode import Episode
from fglguard.errors import CorpusError
from fglguard.traces import conventions as names

_OWN = names.DOMAIN.partition(".")[0] + "."


class MessageLog(Importer):
    """JSON or JSON Lines of messages.

    A record that is a list of messages, or an object with such a list as `messages`, is an
    episode. Where the records are messages themselves, the file is one. Names that begin with
    `fglguard.`, in the object with `messages` or in an object of their own between the messages,
    tell of the episode.
    """

    keeps_domains = True

    def records(self, file: Path) -> Iterator[tuple[str, Any]]:
        """The episodes of a file; a message that can't be parsed spoils the file's episode."""
        loose: list[Any] = []
        broken: CorpusError | None = None
        for place, record in super().records(file):
            if isinstance(record, list) or (isinstance(record, dict) and "messages" in record):
                yield place, record
            elif isinstance(record, CorpusError):
                broken = broken or CorpusError(f"{file.name}{place}: {record}")
            else:
                loose.append(record)
        if broken is not None or loose:
            yield "", broken or loose

    def episode(self, record: Any, source: Source) -> Episode:
        """One log. Its messages' places are counted from 0 in errors."""
        record = {"messages": record} if isinstance(record, list) else record
        record = as_kind(record, dict, "record")
        items = [
            as_kind(item, dict, f"messages[{index}]")
            for index, item in enumerate(required(record, "messages", list))
        ]
        told = annotations_of([record, *(item for item in items if _is_annotation(item))])
        conversation = Conversation()
        messages = [(index, item) for index, item in enumerate(items) if not _is_annotation(item)]
        self.converse(conversation, messages, told)
        return conversation.finished(
            replace(source, domain=source.domain or told.domain or self.name),
            told,
            id=f"{self.name}-{digest([item for _, item in messages])}",
            attributes={},
        )

    @abstractmethod
    def converse(
        self,
        conversation: Conversation,
        messages: list[tuple[int, dict[str, Any]]],
        told: Annotations,
    ) -> None:
        """Put the messages into the conversation.

        Args:
            conversation: Receives them.
            messages: Each with its number in the log.
            told: What the log says of the episode.

        Raises:
            CorpusError: A message is malformed, or its sender or receiver is not known.
        """


def _is_annotation(item: Mapping[str, Any]) -> bool:
    return bool(item) and all(key.startswith(_OWN) for key in item)
