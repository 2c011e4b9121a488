"""One client's batch of episodes and the decoys beside it, no two of them alike."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fglguard.errors import PrivacyError
from fglguard.packed_graphs import PackedGraphs

_FEATURES = ("x", "flow", "text_columns", "text_values")


@dataclass(frozen=True)
class EpisodeBatch:
    """Who was in the batch and who was not.

    Attributes:
        graphs: The members, then the decoys.
        members: How many members.
        utterances: Candidate node features [U, d], no two alike: the members' own, then others'.
        spoken: How many of them are the members'.
        strangers: Episodes that are no members, at least as many: outside of the candidates where
            there are so many. Null baselines are made of them.
    """

    graphs: PackedGraphs
    members: int
    utterances: NDArray[np.float32]
    spoken: int
    strangers: PackedGraphs

    @property
    def is_member(self) -> NDArray[np.bool_]:
        """Of each graph."""
        return np.arange(len(self.graphs)) < self.members

    @property
    def is_spoken(self) -> NDArray[np.bool_]:
        """Of each utterance vector."""
        return np.arange(len(self.utterances)) < self.spoken


def distinct_graphs(packed: PackedGraphs, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first of each set of labelled graphs with the same features.

    A decoy that equals a member can't be told from it, and would hide that the member was found.
    """
    seen: dict[bytes, int] = {}
    for row in rows:
        if packed.label[row] >= 0:
            seen.setdefault(_digest(packed.select([row])), int(row))
    return np.array(sorted(seen.values()), dtype=np.int64)


def draw_batch(
    packed: PackedGraphs,
    rows: NDArray[np.int64],
    members: int,
    decoys: int,
    utterances: int,
    seed: tuple[int, ...],
) -> EpisodeBatch:
    """Draw a batch, its decoys and candidate utterances.

    Args:
        packed: A site's graphs.
        rows: Which of them there are to choose from, as `distinct_graphs` gives them.
        members: Episodes in the batch.
        decoys: Episodes beside it.
        utterances: Node features beside the members' own, as far as there are so many.
        seed: Same seed, same batch.

    Raises:
        PrivacyError: There are too few episodes.
    """
    others = max(members, decoys)
    if len(rows) < members + others:
        raise PrivacyError(
            f"audit: expected at least {members + others} different labelled training episodes "
            f"({members} in the batch, {others} others), got {len(rows)}"
        )
    order = np.random.default_rng(seed).permutation(rows)
    chosen = order[: members + decoys]
    own = _distinct_rows(packed.select(order[:members]).x)
    beside = _distinct_rows(packed.select(order[members:]).x)
    known = {vector.tobytes() for vector in own}
    fresh = [vector for vector in beside if vector.tobytes() not in known][:utterances]
    return EpisodeBatch(
        graphs=packed.select(chosen),
        members=members,
        utterances=np.concatenate([own, np.array(fresh).reshape(-1, own.shape[1])]),
        spoken=len(own),
        strangers=packed.select(order[-max(members, len(order) - members - decoys) :]),
    )


def _distinct_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows that are not zero, each once, in the order of their first place."""
    _, first = np.unique(vectors, axis=0, return_index=True)
    kept = vectors[np.sort(first)]
    chosen: NDArray[np.float32] = kept[np.linalg.norm(kept, axis=1) > 0]
    return chosen


def _digest(graph: PackedGraphs) -> bytes:
    content = b"".join(np.ascontiguousarray(getattr(graph, name)).tobytes() for name in _FEATURES)
    return hashlib.sha256(content).digest()
