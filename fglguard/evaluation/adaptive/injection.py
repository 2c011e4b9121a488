"""Where an episode's injection stands, what it asks for, and which of its values were used."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fglguard.episode import Episode
from fglguard.flow.authorised import Authorised
from fglguard.flow.values import values

Writing = Callable[[str], str]
"""How a value is written."""


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a message's text.

    Attributes:
        message: Number of the message.
        start: First character.
        end: One past the last.
    """

    message: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Injection:
    """An injection as it stands in an episode.

    Attributes:
        places: Its occurrences in results, in order, at most one a message.
        payload: What is asked for, without the wording around it that other injections share.
        plain: Pieces of results in the domain that hold no injection and order nothing.
    """

    places: tuple[Place, ...]
    payload: str
    plain: Sequence[str] = ()


def carried_values(episode: Episode, injection: Injection) -> list[str]:
    """The payload's values that a later call of an agent uses, as the payload spells them.

    Values that are the user's too are left out, and so are parts of other values.
    """
    kinds = episode.kinds
    asked = [Authorised(m.text) for m in episode.messages if kinds[m.sender] == "user"]
    found: dict[str, None] = {}
    for number in later_calls(episode, injection):
        for value in values(episode.messages[number].text, call=True):
            match = spelled(value).search(injection.payload)
            if match and not any(value in one for one in asked):
                found[match.group()] = None
    whole = [v for v in found if not any(v != w and v.lower() in w.lower() for w in found)]
    return sorted(whole, key=injection.payload.find)


def later_calls(episode: Episode, injection: Injection) -> list[int]:
    """Numbers of the agents' calls after the injection was first read."""
    first = injection.places[0].message
    kinds = episode.kinds
    return [
        number
        for number, message in enumerate(episode.messages)
        if number > first and message.kind == "call" and kinds[message.sender] == "agent"
    ]


def spelled(value: str) -> re.Pattern[str]:
    """Finds a value in any case, also where a line break folds it."""
    folded = r"\s+".join(re.escape(part) for part in value.split())
    return re.compile(rf"(?<!\w){folded}(?!\w)", re.IGNORECASE)


def replaced(episode: Episode, injection: Injection, write: Callable[[str], str]) -> Episode:
    """The episode with each occurrence of the injection written anew.

    Args:
        episode: The episode.
        injection: Its injection.
        write: From an occurrence's text to the new one.
    """
    messages = list(episode.messages)
    for place in injection.places:
        text = messages[place.message].text
        new = write(text[place.start : place.end])
        text = text[: place.start] + new + text[place.end :]
        messages[place.message] = replace(messages[place.message], text=text)
    return replace(episode, messages=tuple(messages))


def with_values(episode: Episode, injection: Injection, write: Writing) -> Episode | None:
    """The episode with the injection's values written otherwise.

    Args:
        episode: The episode.
        injection: Its injection.
        write: From a value, as the payload spells it, to what stands there instead.

    Returns:
        None where no call carries a value, or none is changed.
    """
    written = {v: w for v in carried_values(episode, injection) if (w := write(v)) != v}
    if not written:
        return None

    def rewrite(text: str) -> str:
        for value, other in written.items():
            text = spelled(value).sub(other.replace("\\", r"\\"), text)
        return text

    return replaced(episode, injection, rewrite)
