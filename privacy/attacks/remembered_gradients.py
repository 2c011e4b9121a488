"""Gradients of a bank of texts, computed once for many exports of one global model."""

from collections.abc import Iterable

from torch import Tensor
from transformers import PreTrainedModel

from privacy.text_task import TextBatch, gradient


class RememberedGradients:
    """`privacy.text_task.gradient` at weights that stay, of each batch once.

    It holds every parameter's gradient of every batch asked for, which suits small models.

    Args:
        model: Holds the weights, and trains in every parameter.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self._model = model
        self._known: dict[TextBatch, dict[str, Tensor]] = {}

    def __call__(
        self, model: PreTrainedModel, batch: TextBatch, names: Iterable[str]
    ) -> dict[str, Tensor]:
        """The batch's gradient in parameters of these names.

        Args:
            model: Has the same weights; which of them train does not matter.
            batch: Of the bank.
            names: Of parameters.
        """
        if batch not in self._known:
            self._known[batch] = gradient(self._model, batch)
        return {name: self._known[batch][name] for name in names}
