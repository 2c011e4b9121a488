"""What masks cost a language model or a text classifier, fine-tuned across sites."""

import dataclasses
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fglguard.errors import PrivacyError, UpdateError
from fglguard.settings import PrivacySettings
from privacy.audit.fine_tuning import FineTuning, fine_tune, held_out
from privacy.audit.victims import Victim
from privacy.text_task import TextBatch, is_decoder


@dataclass(frozen=True)
class TextSplit:
    """Texts of one task; no text is in two parts.

    Attributes:
        private: The sites'.
        validation: Chooses learning rates.
        test: Says what came out.
    """

    private: TextBatch
    validation: TextBatch
    test: TextBatch


@dataclass(frozen=True)
class TextCost:
    """What one mask costs.

    Attributes:
        start: Held-out figure before fine-tuning: perplexity, or accuracy of a classifier.
        undefended: After it, without a mask.
        same_rate: After it, with the mask, at the learning rate that is best without one.
        tuned: The same at the learning rate that is best with the mask, on validation texts.
        learning_rate: That rate.
        undefended_rate: The rate of `undefended`.
    """

    start: float
    undefended: float
    same_rate: float
    tuned: float
    learning_rate: float
    undefended_rate: float

    @property
    def ratio(self) -> float:
        """Perplexity with the mask over that without, each at its best rate."""
        return self.tuned / self.undefended

    @property
    def difference(self) -> float:
        """Accuracy with the mask less that without, each at its best rate."""
        return self.tuned - self.undefended


def cost_figures(victim: Victim, costs: Mapping[str, TextCost]) -> dict[str, float]:
    """Flat keys: `MASK.perplexity_ratio` of a decoder, `MASK.accuracy_difference` of a classifier.

    With `.same_rate`, both at the learning rate that is best without a mask.
    """
    figures: dict[str, float] = {}
    for mask, cost in costs.items():
        if is_decoder(victim.model):
            key = f"{mask}.perplexity_ratio"
            figures |= {key: cost.ratio, f"{key}.same_rate": cost.same_rate / cost.undefended}
        else:
            key = f"{mask}.accuracy_difference"
            figures |= {key: cost.difference, f"{key}.same_rate": cost.same_rate - cost.undefended}
    return figures


def split_texts(
    victim: Victim,
    texts: Sequence[str],
    labels: Sequence[int] = (),
    *,
    longest: int = 32,
    seed: int = 0,
) -> TextSplit:
    """Seven tenths of the texts are the sites', one tenth validates, two tenths test.

    Args:
        victim: Whose tokenizer encodes them.
        texts: Repeated ones count once.
        labels: Class of each, for a classifier.
        longest: Tokens a text.
        seed: Of the shuffle.

    Raises:
        PrivacyError: Fewer than ten texts, or a classifier's have no labels.
    """
    if not is_decoder(victim.model) and len(labels) != len(texts):
        raise PrivacyError(f"expected a label for each of {len(texts)} texts, got {len(labels)}")
    places = list({text: place for place, text in enumerate(texts)}.values())
    if len(places) < 10:
        raise PrivacyError(f"expected at least 10 different texts to split, got {len(places)}")
    random.Random(seed).shuffle(places)
    encoded = victim.encode(texts, longest)
    first, second = len(places) * 7 // 10, len(places) * 8 // 10

    def part(chosen: Sequence[int]) -> TextBatch:
        kinds = () if is_decoder(victim.model) else tuple(labels[place] for place in chosen)
        return TextBatch(tuple(encoded[place] for place in chosen), kinds)

    return TextSplit(part(places[:first]), part(places[first:second]), part(places[second:]))


def text_utility(
    victim: Victim,
    texts: TextSplit,
    training: FineTuning,
    privacies: Mapping[str, PrivacySettings],
    rates: Mapping[str, Sequence[float]],
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, TextCost]:
    """Fine-tune from one start under every mask and compare held-out figures.

    Args:
        victim: The start; left as it is.
        texts: What is learned.
        training: How; its learning rate is replaced by each of `rates`.
        privacies: Masks by name; `none` must be among them.
        rates: Learning rates to try by mask. One at which training diverges is left out.
        progress: Is told what was done.

    Returns:
        The cost of every mask but `none`.

    Raises:
        PrivacyError: `none` is missing, or training diverged at every rate.
    """
    if "none" not in privacies:
        raise PrivacyError(f"expected none among the masks to compare with, got {list(privacies)}")
    found = {
        name: _by_rate(victim, texts, training, privacy, _tried(rates, name))
        for name, privacy in privacies.items()
    }
    better = min if is_decoder(victim.model) else max
    best = {
        name: better(figures, key=lambda rate: figures[rate][0]) for name, figures in found.items()
    }
    for name, figures in found.items():
        told = ", ".join(f"{rate:g}: {test:.4g}" for rate, (_, test) in figures.items())
        progress(f"{victim.family}, {name}: held out by learning rate {told}")
    start = held_out(victim.model, texts.test)
    undefended_rate = best["none"]
    return {
        name: TextCost(
            start=start,
            undefended=found["none"][undefended_rate][1],
            same_rate=figures[undefended_rate][1] if undefended_rate in figures else math.nan,
            tuned=figures[best[name]][1],
            learning_rate=best[name],
            undefended_rate=undefended_rate,
        )
        for name, figures in found.items()
        if name != "none"
    }


def _tried(rates: Mapping[str, Sequence[float]], name: str) -> list[float]:
    """A mask's own rates, and those of `none`, to compare at the same."""
    return sorted({*rates[name], *rates["none"]})


def _by_rate(
    victim: Victim,
    texts: TextSplit,
    training: FineTuning,
    privacy: PrivacySettings,
    rates: Sequence[float],
) -> dict[float, tuple[float, float]]:
    """Figures on validation and test texts by learning rate."""
    found = {}
    reasons = []
    for rate in rates:
        try:
            tried = dataclasses.replace(training, learning_rate=rate)
            trained = fine_tune(victim.model, texts.private, tried, privacy)
            found[rate] = held_out(trained, texts.validation), held_out(trained, texts.test)
        except UpdateError as error:
            reasons.append(f"{rate:g}: {error}")
    if not found:
        raise PrivacyError(
            f"{victim.family}: training diverged at every rate: {'; '.join(reasons)}"
        )
    return found
