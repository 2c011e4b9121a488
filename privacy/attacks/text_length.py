"""How many tokens a text had, where an update gives it away."""

from torch import nn

from privacy.attacks.observation import Export
from privacy.roles import Role, parts_of
from privacy.text_task import is_decoder, transformer


def text_length(model: nn.Module, export: Export) -> int | None:
    """The longest text's tokens: rows of the position embedding that have a gradient.

    A decoder's last token predicts nothing and has none: one more.

    None if no position embedding was exported, or noise covers all of its rows.
    """
    for part in parts_of(model):
        if part.role is Role.POSITION_EMBEDDING and part.name in export:
            rows = int(export[part.name].any(dim=1).sum())
            if 2 < rows < len(export[part.name]):
                return rows + is_decoder(transformer(model))
    return None
