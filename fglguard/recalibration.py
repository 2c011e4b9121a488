"""A guard with a new threshold, chosen on a silo's own episodes; the old guard stays."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.bundle import Bundle, load_bundle, save_bundle
from fglguard.calibration import By, Calibration, ReferenceHistogram, Rule, calibrate
from fglguard.corpora.splits import SPLITS
from fglguard.errors import (
    BundleError,
    CalibrationError,
    OutputError,
    shown,
    suggestion,
)
from fglguard.files import require_folder_of
from fglguard.silo import Silo
from fglguard.training import score_graphs

HISTORY = "recalibrations"
"""Key of the provenance under which a bundle lists what became of its thresholds, oldest first."""
_VALIDATION = SPLITS.index("val")


@dataclass(frozen=True)
class Choice:
    """How to choose; what is None is as the old calibration has it.

    Attributes:
        budget: rho, in [0, 1].
        rule: In which sense the budget is met.
        risk: delta of `clopper_pearson`, 0.1 where the old calibration has none.
        by: What is exchangeable: episodes, or the silo's groups of episodes of one task.
        domain: Choose this domain's own threshold, on its episodes alone; None: the pooled one, on
            all the silo's episodes.
        every_split: Use all labelled episodes, not those of the validation split alone.
    """

    budget: float | None = None
    rule: Rule | None = None
    risk: float | None = None
    by: By | None = None
    domain: str | None = None
    every_split: bool = False


@dataclass(frozen=True)
class Recalibration:
    """What `recalibrate` did.

    Attributes:
        old: The bundle that was read.
        new: The bundle that was written.
        domain: Whose threshold is new; None for the pooled one.
    """

    old: Bundle
    new: Bundle
    domain: str | None

    @property
    def before(self) -> tuple[Calibration, str]:
        """What decided before, and its id."""
        return self.old.for_domain(self.domain)

    @property
    def after(self) -> tuple[Calibration, str]:
        """What decides now, and its id."""
        return self.new.for_domain(self.domain)


@dataclass(frozen=True)
class _Encoder:
    """A bundle's own record of its encoder: scoring a prepared silo needs no more."""

    name: str
    fingerprint: str


def recalibrate(path: Path, silo_path: Path, output: Path, choice: Choice) -> Recalibration:
    """Score a silo with a guard, choose a threshold anew, and write a new guard.

    Weights, features and all other thresholds are the old guard's; the chosen threshold and the
    reference of its scores are new, and the provenance names the calibration that it replaces.

    Args:
        path: The old guard's folder; only read.
        silo_path: The silo, prepared for the guard's encoder and graphs.
        output: The new guard's folder; there must be nothing yet.
        choice: How.

    Raises:
        OutputError: Something is at `output` already, or it can't be made there.
        BundleError: The old guard can't be read.
        SiloError: The silo can't be read, or was not prepared; the text names the command.
        CalibrationError: The silo has no labelled episodes to choose on, no benign ones, or too few
            for any threshold to keep within the budget.
    """
    _require_free(output, path)
    old = load_bundle(path)
    silo = Silo.open(silo_path)
    rows = _rows(silo, choice)
    graphs = silo.graphs(old.encoder_fingerprint, old.graph)
    scores = score_graphs(old.detector, graphs, rows).corroborated
    labels, groups = np.asarray(silo.label)[rows], np.asarray(silo.group)[rows]
    previous, previous_id = old.for_domain(choice.domain)
    try:
        found = _calibrate(scores, labels, groups, previous, choice)
    except CalibrationError as error:
        raise CalibrationError(f"{silo_path}: {error}") from None
    if found.blocks_nothing:
        raise CalibrationError(
            f"{silo_path}: no guard was written, since it would block nothing: {found.reason}"
        )
    entry = {
        "replaces": previous_id,
        "domain": choice.domain,
        "episodes": len(rows),
        "splits": "all" if choice.every_split else "val",
    }
    _save(output, old, found, ReferenceHistogram.of(scores, labels), choice.domain, entry)
    return Recalibration(old, load_bundle(output), choice.domain)


def _require_free(output: Path, bundle: Path) -> None:
    require_folder_of(output)
    if os.path.lexists(output):
        raise OutputError(
            f"{output}: expected nothing to be there, as a recalibrated guard never replaces "
            f"anything; name another folder"
        )
    if output.resolve().is_relative_to(bundle.resolve()):
        raise OutputError(f"{output}: expected a folder outside of the old guard's, {bundle}")


def _rows(silo: Silo, choice: Choice) -> NDArray[np.int64]:
    """The episodes to choose on: labelled, of the split and the domain."""
    wanted = np.asarray(silo.label) >= 0
    where = "in any split"
    if not choice.every_split:
        wanted &= np.asarray(silo.split) == _VALIDATION
        where = "in the validation split (--all takes every split)"
    if choice.domain is not None:
        if choice.domain not in silo.domains:
            raise CalibrationError(
                f"{silo.path}: expected a domain of the silo ({', '.join(silo.domains)}), got "
                f"{shown(choice.domain)}{suggestion(choice.domain, silo.domains)}"
            )
        wanted &= np.asarray(silo.domain) == silo.domains.index(choice.domain)
        where += f" of domain {choice.domain}"
    rows = np.flatnonzero(wanted).astype(np.int64)
    if not len(rows):
        raise CalibrationError(f"{silo.path}: expected labelled episodes, found none {where}")
    return rows


def _calibrate(
    scores: NDArray[np.float64],
    labels: NDArray[np.int8],
    groups: NDArray[np.int64],
    previous: Calibration,
    choice: Choice,
) -> Calibration:
    by = choice.by or previous.by
    risk = previous.risk if choice.risk is None else choice.risk
    return calibrate(
        scores,
        labels,
        previous.budget if choice.budget is None else choice.budget,
        rule=choice.rule or previous.rule,
        risk=0.1 if risk is None else risk,
        groups=groups if by == "group" else None,
    )


def _save(
    output: Path,
    old: Bundle,
    found: Calibration,
    reference: ReferenceHistogram,
    domain: str | None,
    entry: Mapping[str, Any],
) -> None:
    own = {} if domain is None else {domain: found}
    own_reference = {} if domain is None else {domain: reference}
    save_bundle(
        output,
        old.detector,
        encoder=_Encoder(old.encoder_name, old.encoder_fingerprint),
        graph=old.graph,
        calibration=found if domain is None else old.calibration,
        domains={**old.domains, **own},
        reference=reference if domain is None else old.reference,
        domain_references={**old.domain_references, **own_reference},
        provenance={**old.provenance, HISTORY: [*_history(old), entry]},
    )


def _history(old: Bundle) -> list[Any]:
    history = old.provenance.get(HISTORY, [])
    if not isinstance(history, list):
        raise BundleError(f"provenance.{HISTORY}: expected a list, got {shown(history)}")
    return history
