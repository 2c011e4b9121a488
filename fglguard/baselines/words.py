"""The text of an episode as word counts see it."""

from fglguard.episode import Episode
from fglguard.episode_rules import AgentKind

MESSAGE_CHARACTERS = 1_200
"""Of each message, the first so many count."""
EPISODE_CHARACTERS = 20_000


def spoken_text(episode: Episode, speakers: frozenset[AgentKind]) -> str:
    """What speakers of some kinds said, joined and cut; nothing but messages enters."""
    kinds = episode.kinds
    parts = [
        message.text[:MESSAGE_CHARACTERS]
        for message in episode.messages
        if kinds[message.sender] in speakers
    ]
    return " ".join(parts)[:EPISODE_CHARACTERS]
