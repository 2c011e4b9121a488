r"""A text made up by optimisation so that its gradient is like the one seen.

DLG (Zhu et al., 2019) and TAG (Deng et al., 2021): inputs are free vectors x in the embedding's
space, and gradient descent lowers the difference between their gradient and the export. Tokens are
those whose embedding is nearest at the end; of a decoder with a prior in the model itself, as LAMP
(Balunovic et al., 2022) has: a token's score is its nearness plus a share of its log-probability
after the tokens before it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import PreTrainedModel

from fglguard.errors import PrivacyError
from privacy.attacks.observation import Observation, Tokens
from privacy.attacks.scales import flatten, scales_of
from privacy.attacks.text_length import text_length
from privacy.roles import Role, parts_of
from privacy.text_task import classes, is_decoder, transformer


@dataclass(frozen=True)
class GradientMatching:
    """One text of the batch's longest length, by optimisation.

    Attributes:
        steps: Of Adam.
        rate: Step size, in standard deviations of an embedding's entry.
        distance: `cosine`, 1 minus it; `l2`, the squared difference over the export's norm.
        prior: Weight of the language prior; 0: none. Decoders only.
        length: Tokens of a text where the update does not tell.
        sharpness: A decoder's next tokens are not known either: they are the softmax of this times
            the cosine between x and each token's embedding.
        seed: Of the start.
        name: In the audit's table.
    """

    steps: int = 300
    rate: float = 0.1
    distance: Literal["cosine", "l2"] = "cosine"
    prior: float = 0.0
    length: int = 16
    sharpness: float = 20.0
    seed: int = 0
    name: str = "gradient matching"

    def __call__(self, seen: Observation) -> list[Tokens]:
        """The text found; none if nothing but the embedding was exported."""
        model = transformer(seen.model)
        embeddings = {part.name for part in parts_of(model) if part.role is Role.TOKEN_EMBEDDING}
        names = [name for name in seen.exports[0] if name not in embeddings]
        if not names:
            return []
        scales = scales_of(seen, names)
        goal = flatten(seen.exports[0], scales)
        length = text_length(model, seen.exports[0]) or self.length
        with sdpa_kernel(SDPBackend.MATH):  # Others have no second derivative.
            found = self._optimise(model, goal, scales, length)
        return [self._tokens(model, found)]

    def _optimise(
        self, model: PreTrainedModel, goal: Tensor, scales: Mapping[str, float], length: int
    ) -> Tensor:
        table = _table(model)
        spread = float(table.std())
        draw = torch.Generator().manual_seed(self.seed)
        inputs = torch.randn(length, table.shape[1], generator=draw).mul_(spread)
        inputs.requires_grad_(True)
        outcome = torch.zeros(1 if is_decoder(model) else classes(model), requires_grad=True)
        optimizer = torch.optim.Adam(
            [{"params": [inputs], "lr": self.rate * spread}, {"params": [outcome], "lr": self.rate}]
        )
        named = dict(model.named_parameters())
        weights = {name: named[name] for name in scales}
        for _ in range(self.steps):
            loss = self._loss(model, inputs, outcome)
            values = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
            own = flatten(dict(zip(weights, values, strict=True)), scales)
            apart = self._apart(own, goal)
            inputs.grad, outcome.grad = torch.autograd.grad(
                apart, [inputs, outcome], allow_unused=True
            )
            optimizer.step()
        return inputs.detach()

    def _loss(self, model: PreTrainedModel, inputs: Tensor, outcome: Tensor) -> Tensor:
        logits: Tensor = model(inputs_embeds=inputs.unsqueeze(0)).logits
        if not is_decoder(model):
            return F.cross_entropy(logits, outcome.softmax(0).unsqueeze(0))
        following = (self.sharpness * _cosines(inputs[1:], _table(model))).softmax(dim=-1)
        return F.cross_entropy(logits[0, :-1], following)

    def _apart(self, own: Tensor, goal: Tensor) -> Tensor:
        if self.distance == "cosine":
            return 1 - F.cosine_similarity(own, goal, dim=0)
        return (own - goal).square().sum() / goal.square().sum()

    @torch.no_grad()
    def _tokens(self, model: PreTrainedModel, inputs: Tensor) -> Tokens:
        nearness = _cosines(inputs, _table(model))
        if not self.prior or not is_decoder(model):
            return tuple(int(token) for token in nearness.argmax(dim=-1))
        text: list[int] = [int(nearness[0].argmax())]
        for near in nearness[1:]:
            logits: Tensor = model(input_ids=torch.tensor([text])).logits
            likely = logits[0, -1].log_softmax(dim=-1)
            text.append(int((near + self.prior * likely).argmax()))
        return tuple(text)


def _table(model: PreTrainedModel) -> Tensor:
    embedding = model.get_input_embeddings()
    if not isinstance(embedding, nn.Embedding):
        raise PrivacyError(f"{type(model).__name__}: expected an embedding of tokens, got none")
    return embedding.weight.detach()


def _cosines(inputs: Tensor, table: Tensor) -> Tensor:
    return F.normalize(inputs, dim=-1) @ F.normalize(table, dim=-1).t()
