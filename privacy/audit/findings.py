"""What an audit finds: a figure of each attack under each mask, beside its null baseline."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

BEST = "best of all"
"""The attack that has the highest figure of a family, chosen afterwards, as no attacker can."""


@dataclass(frozen=True)
class Figure:
    """One number of one attack.

    Attributes:
        score: What it reached, averaged over batches.
        null: What the same attack reaches on pure noise; None where it does not apply.
        undefended: What it reaches without a mask on the same batches; None where not measured.
        error: Standard error of score - null, from the differences batch by batch; None of one
            batch alone.
    """

    score: float
    null: float | None = None
    undefended: float | None = None
    error: float | None = None

    @property
    def over_null(self) -> float:
        """How far the score lies above the null baseline; the score itself without one."""
        return self.score - (self.null or 0.0)


@dataclass(frozen=True)
class Finding:
    """One attack under one mask.

    Attributes:
        case: What was exported, such as `FedSGD, 16 episodes`.
        family: Attacks of a kind.
        attack: Its name, or `BEST`.
        privacy: The mask.
        exports: T, how many exports of the same batch it averaged.
        figures: By name, such as `auc` or `rouge1`.
        size: Texts or episodes in a batch.
        batches: How many batches the figures are means over.
    """

    case: str
    family: str
    attack: str
    privacy: str
    exports: int
    figures: Mapping[str, Figure]
    size: int
    batches: int


@dataclass(frozen=True)
class Overhead:
    """What a mask costs.

    Attributes:
        step_time_ratio: Of a training step with a mask on every gradient, to one without.
        round_time_ratio: Of local training with the change masked once, to the same without.
        payload_bytes: What a client sends a round, without headers.
        trained: How many of the model's numbers train.
    """

    step_time_ratio: float
    round_time_ratio: float
    payload_bytes: int
    trained: int


@dataclass(frozen=True)
class Audit:
    """Everything that one audit measured.

    Attributes:
        model: As it was asked for.
        settings: What was varied and what was not, for the record.
        findings: All of them; `BEST` among them.
        open_tensors: By mask, names of parameters that are exported as they are.
        overhead: By mask.
        notes: What a reader must know, a sentence each.
        utility: What models are worth after training under each mask, such as
            `detector.auroc.aegis`; empty: not measured.
    """

    model: str
    settings: Mapping[str, str]
    findings: Sequence[Finding]
    open_tensors: Mapping[str, Sequence[str]]
    overhead: Mapping[str, Overhead]
    notes: Sequence[str] = ()
    utility: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """Figures of every attack of a family on one batch: attack, then name of the figure."""

    figures: Mapping[str, Mapping[str, float]]


def means(trials: Sequence[Trial]) -> dict[str, dict[str, float]]:
    """Each attack's figures averaged over the batches, then those of `BEST`.

    An attack that finds nothing to look at in a batch has not guessed at all there: its figures
    count as chance would have them, .5 for `auc` and else 0.
    """
    attacks = list(dict.fromkeys(attack for trial in trials for attack in trial.figures))
    names = list(
        dict.fromkeys(n for trial in trials for found in trial.figures.values() for n in found)
    )
    mean = {
        attack: {
            name: sum(_figure(trial, attack, name) for trial in trials) / len(trials)
            for name in names
        }
        for attack in attacks
    }
    if mean:
        mean[BEST] = {name: max(found[name] for found in mean.values()) for name in names}
    return mean


def compared(
    scored: Sequence[Trial],
    nulls: Sequence[Sequence[Trial]],
    bare: Mapping[str, Mapping[str, float]],
) -> dict[str, dict[str, Figure]]:
    """Each attack's figures, `BEST` among them, beside what it reaches on noise and undefended.

    On noise `BEST` is chosen for each draw. Its standard error is that of the differences between
    the attacks so chosen; what choosing adds to it is left out.

    Args:
        scored: One for each batch.
        nulls: Of each draw of noise, one for each batch, in the same order; empty: no baseline.
        bare: Figures without a mask.
    """
    reached, drawn = means(scored), [means(trials) for trials in nulls]
    null = average(drawn)
    told: dict[str, dict[str, Figure]] = {}
    for attack, figures in reached.items():
        told[attack] = {}
        for name, score in figures.items():
            own = _of_batches(scored, reached, attack, name)
            guessed = [
                _of_batches(trials, table, attack, name)
                for trials, table in zip(nulls, drawn, strict=True)
                if attack in table
            ]
            apart = [
                value - (statistics.fmean(others) if others else 0.0)
                for value, *others in zip(own, *guessed, strict=True)
            ]
            told[attack][name] = Figure(
                score,
                null.get(attack, {}).get(name),
                bare.get(attack, {}).get(name),
                statistics.stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else None,
            )
    return told


def _of_batches(
    trials: Sequence[Trial], table: Mapping[str, Mapping[str, float]], attack: str, name: str
) -> list[float]:
    """A figure of one attack batch by batch; of `BEST`, that of the attack with the best mean."""
    if attack == BEST:
        attack = max((a for a in table if a != BEST), key=lambda a: table[a][name])
    return [_figure(trial, attack, name) for trial in trials]


def average(several: Iterable[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """The mean of several tables such as `means` makes, figure by figure."""
    tables = list(several)
    attacks = dict.fromkeys(attack for table in tables for attack in table)
    averaged: dict[str, dict[str, float]] = {}
    for attack in attacks:
        found = [table[attack] for table in tables if attack in table]
        averaged[attack] = {
            name: sum(figures[name] for figures in found) / len(found) for name in found[0]
        }
    return averaged


def _figure(trial: Trial, attack: str, name: str) -> float:
    chance = 0.5 if name == "auc" else 0.0
    return trial.figures.get(attack, {}).get(name, chance)
