"""Stored episodes as the events that they were."""

from collections.abc import Iterator

from fglguard.episode import Episode
from fglguard.events import Event


def events_of(episode: Episode) -> Iterator[tuple[Event, bool]]:
    """Each message as an event, and whether an agent is about to act by it."""
    kinds = episode.kinds
    for message in episode.messages:
        event = Event(
            episode.id,
            message.sender,
            message.text,
            message.receivers,
            message.kind,
            kinds,
            message.round,
        )
        yield event, kinds[message.sender] == "agent" and message.kind != "result"
