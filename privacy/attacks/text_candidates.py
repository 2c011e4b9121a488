"""What a mask makes of each text of a bank, computed once for many exports of one model."""

from collections.abc import Sequence

import torch
from torch import Tensor

from privacy.attacks.defence import Defence
from privacy.attacks.gradient_comparison import GradientOf
from privacy.attacks.masked_rows import MaskedRows, mask_rows
from privacy.attacks.observation import Observation, Tokens
from privacy.text_task import TextBatch, classes, gradient, is_decoder, transformer


def masked_texts(
    seen: Observation, candidates: Sequence[Tokens], gradient_of: GradientOf = gradient
) -> dict[str, MaskedRows]:
    """Rows of each text under each of a classifier's labels, one after another.

    Args:
        seen: Says what was exported, and under which mask.
        candidates: The bank.
        gradient_of: Computes a candidate's gradient, or remembers it.
    """
    model, names = transformer(seen.model), list(seen.exports[0])
    if not names:
        return {}
    labels: list[tuple[int, ...]] = [()]
    if not is_decoder(model):
        labels = [(label,) for label in range(classes(model))]
    rows: dict[str, Tensor] = {}
    for number, text in enumerate(candidates):
        for place, label in enumerate(labels):
            found = gradient_of(model, TextBatch((text,), label), names)
            for name, values in found.items():
                if name not in rows:
                    rows[name] = torch.zeros(len(candidates) * len(labels), values.numel())
                rows[name][number * len(labels) + place] = values.reshape(-1)
    return mask_rows(seen.model, rows, seen.defence)


class RememberedMasks:
    """`masked_texts` of one bank at weights that stay, under each mask once.

    Args:
        gradient_of: Computes a candidate's gradient, or remembers it.
    """

    def __init__(self, gradient_of: GradientOf) -> None:
        self._gradient_of = gradient_of
        self._known: dict[Defence | None, dict[str, MaskedRows]] = {}
        self._bank: Sequence[Tokens] | None = None

    def __call__(self, seen: Observation, candidates: Sequence[Tokens]) -> dict[str, MaskedRows]:
        """Of an export at the weights that `gradient_of` knows.

        Args:
            seen: Says what was exported, and under which mask.
            candidates: The bank; another one than before is computed anew.
        """
        if candidates is not self._bank:
            self._known.clear()
            self._bank = candidates
        if seen.defence not in self._known:
            self._known[seen.defence] = masked_texts(seen, candidates, self._gradient_of)
        return self._known[seen.defence]
