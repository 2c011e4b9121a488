"""The audit of a detector, on a silo's own training episodes."""

from collections.abc import Callable

import numpy as np

from fglguard.corpora.splits import SPLITS
from fglguard.encoder import load_encoder
from fglguard.errors import PrivacyError, SettingsError
from fglguard.graph import GraphSettings
from fglguard.packed_graphs import PackedGraphs
from fglguard.settings import PrivacySettings, RunSettings
from fglguard.silo import Silo, open_silos
from fglguard.training import TrainingSettings
from privacy.audit.detector_overhead import REPEATS, detector_overhead
from privacy.audit.detectors import FAMILIES, DetectorAudit, audit_detector, global_detector
from privacy.audit.findings import Audit
from privacy.plans import Operation, operation_of, plan_of
from privacy.roles import parts_of
from scripts.auditing.federations import Federations, federated_auroc, mean_auroc
from scripts.auditing.masks import run_settings
from scripts.auditing.options import Options

BATCHES = (1, 16, 64)
TRIALS = {1: 8, 16: 4}
"""Batches of each size; of others two. One episode says little, so more are tried."""
SITE_GRAPHS = 128
"""As many as a site of an ordinary run trains on, to time a round with."""
QUICK_DECOYS, QUICK_UTTERANCES, QUICK_NULLS = 29, 200, 2


def audit_detectors(options: Options, preset: str, progress: Callable[[str], None]) -> Audit:
    """Audit one preset.

    Raises:
        SettingsError: A setting does not fit.
        SiloError: The silo is missing, or was not prepared for this preset.
        PrivacyError: It holds too few episodes.
    """
    runs = {
        name: run_settings(name, options.budget, f"detector={preset}") for name in options.privacies
    }
    plain = runs["none"]
    silo, packed = _open(options, plain)
    rows = np.flatnonzero(np.asarray(silo.split) == SPLITS.index("train"))
    rows = rows[np.asarray(packed.label)[rows] >= 0]
    audit = _audit(options, plain, {name: run.privacy for name, run in runs.items()})
    findings, notes = audit_detector(audit, packed, rows, progress)
    detector = global_detector(audit, packed, rows)
    overhead = {}
    for name, run in runs.items():
        if name != "none":
            repeats = 1 if options.quick else REPEATS
            try:
                overhead[name] = detector_overhead(
                    detector, packed, rows[:SITE_GRAPHS], audit.training, run.privacy, repeats
                )
            except PrivacyError as error:
                notes.append(f"{name}: nothing could be exported, so it costs nothing: {error}")
    return Audit(
        model=options.model,
        settings=_record(options, audit, silo),
        findings=findings,
        open_tensors={
            name: [
                part.name
                for part in parts_of(detector)
                if operation_of(part, plan_of(run.privacy.name)) is Operation.OPEN
                and part.parameter.requires_grad
            ]
            for name, run in runs.items()
        },
        overhead=overhead,
        notes=notes,
        utility=_utility(options, preset, progress),
    )


def _utility(options: Options, preset: str, progress: Callable[[str], None]) -> dict[str, float]:
    if options.utility is None:
        return {}
    federations = Federations(
        preset,
        options.utility,
        options.encoder,
        options.privacies,
        range(options.seeds),
        (f"privacy.exports={options.budget}",),
    )
    found = mean_auroc(federated_auroc(federations, progress))
    return {f"detector.auroc.{privacy}": value for privacy, value in found.items()}


def _open(options: Options, run: RunSettings) -> tuple[Silo, PackedGraphs]:
    silos = open_silos(options.path)
    if len(silos) != 1:
        raise SettingsError(
            f"path: expected one silo, found {len(silos)} at {options.path}: name one of "
            f"{', '.join(silo.path.name for silo in silos)}"
        )
    settings = GraphSettings.of(run.detector)
    prepared = [
        name for name in silos[0].encoder_fingerprints() if name.startswith(f"{options.encoder}-")
    ]
    fingerprint = prepared[0] if len(prepared) == 1 else load_encoder(options.encoder).fingerprint
    return silos[0], silos[0].graphs(fingerprint, settings)


def _audit(
    options: Options, run: RunSettings, privacies: dict[str, PrivacySettings]
) -> DetectorAudit:
    strategy, detector = run.strategy, run.detector
    training = TrainingSettings(
        epochs=strategy.epochs,
        steps=strategy.steps,
        batch_size=strategy.batch_size,
        learning_rate=strategy.learning_rate,
        optimizer=strategy.optimizer,
        weight_decay=strategy.weight_decay,
        proximal_mu=strategy.mu,
        labels=detector.labels,
        class_weight=detector.class_weight,
    )
    few = {"decoys": QUICK_DECOYS, "utterances": QUICK_UTTERANCES, "null_seeds": QUICK_NULLS}
    return DetectorAudit(
        detector=detector,
        training=training,
        privacies=privacies,
        exports=options.exports,
        trials={
            size: options.trials or (1 if options.quick else TRIALS.get(size, 2))
            for size in options.batches or BATCHES
        },
        modes=options.modes,
        families=FAMILIES if "all" in options.attacks else options.attacks,
        seed=options.seed,
        **(few if options.quick else {}),
    )


def _record(options: Options, audit: DetectorAudit, silo: Silo) -> dict[str, str]:
    masks = [mask for name, mask in audit.privacies.items() if name != "none"]
    return {
        "silo": silo.name,
        "encoder": options.encoder,
        "exports averaged": ", ".join(map(str, audit.exports)),
        "exports budgeted for": str(options.budget),
        "batches of each size": ", ".join(f"{n}: {count}" for n, count in audit.trials.items()),
        "decoys": str(audit.decoys),
        "null baselines of each batch": str(audit.null_seeds),
        "levels": ", ".join(f"{mask.name}: {mask.level}" for mask in masks),
        "optimizer": f"{audit.training.optimizer}, {audit.training.learning_rate:g}",
        "seed": str(options.seed),
    }
