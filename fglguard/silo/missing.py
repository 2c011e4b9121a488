"""What an encoder has not encoded of a silo, and what to run where graphs are missing."""

from collections.abc import Container, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fglguard.episode import Episode
from fglguard.graph import GraphSettings, beside_messages
from fglguard.silo.index import text_id


def missing_rows(text_ids: NDArray[np.uint8], known: Container[bytes]) -> list[int]:
    """Rows of `text_ids` [texts, bytes] that are not known."""
    return [row for row, key in enumerate(text_ids) if key.tobytes() not in known]


def missing_texts(
    episodes: Iterable[Episode],
    message_text: NDArray[np.int64],
    text_ids: NDArray[np.uint8],
    known: Container[bytes],
) -> dict[bytes, str]:
    """By id, the messages' texts that are not known, in the order in which they are first said.

    Args:
        episodes: All episodes; read only where a text is missing.
        message_text: [messages] row of `text_ids` of each message, in the episodes' order.
        text_ids: [texts, bytes].
        known: Ids of the texts that are encoded.
    """
    rows = set(missing_rows(text_ids, known))
    missing: dict[bytes, str] = {}
    text_row = iter(message_text.tolist())
    for episode in episodes if rows else ():
        for text in episode.texts:
            row = next(text_row)
            if row in rows:
                rows.remove(row)
                missing[text_ids[row].tobytes()] = text
    return missing


def missing_beside(
    episodes: Iterable[Episode], settings: GraphSettings, known: Container[bytes]
) -> dict[bytes, str]:
    """By id, the texts beside the messages that these graphs need and that are not known."""
    texts = {text: None for episode in episodes for text in beside_messages(episode, settings)}
    return {key: text for text in texts if (key := text_id(text)) not in known}


def unprepared(
    path: Path, encoder_fingerprint: str, settings: GraphSettings, prepared: Sequence[str]
) -> str:
    """That a silo has no such graphs, and the command that prepares them.

    Args:
        path: The silo.
        encoder_fingerprint: Of the graphs asked for.
        settings: Of the graphs asked for.
        prepared: Fingerprints of the encoders that have encoded every text.
    """
    name = encoder_fingerprint.rpartition("-")[0] or "NAME"
    options = f"--encoder {name} --rounds {settings.rounds}"
    features = ""
    if departures := settings.departures():
        features = f" and features {', '.join(f'{k}={v}' for k, v in departures.items())}"
    if settings.node_feature != "mean":
        options += f" --node-feature {settings.node_feature}"
    if settings.messages:
        options += " --messages"
    if settings.flow or settings.has_text:
        options += f" --preset {settings.preset}"
    if settings.tokens:
        options += f" --tokens {settings.tokens}"
    return (
        f"{path}: no graphs of the last {settings.rounds} rounds{features} with encoder "
        f"{encoder_fingerprint} (encoders prepared: {', '.join(prepared) or 'none'}); "
        f"`fglguard corpus embed {path} {options}` prepares them"
    )
