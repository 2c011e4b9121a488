"""Audit of detectors: which episodes, utterances and words one client's export gives away."""

import copy
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fglguard.detector import Detector, detector_of
from fglguard.errors import PrivacyError
from fglguard.packed_graphs import PackedGraphs
from fglguard.settings import DetectorSettings, PrivacySettings
from fglguard.training import TrainingSettings, train_locally
from privacy.attacks.episode_bank import (
    EpisodeAttack,
    EpisodeBank,
    Scores,
    candidate_gradients,
    candidate_replays,
)
from privacy.attacks.episode_comparison import compare_updates
from privacy.attacks.episode_masks import compare_noise_sizes, compare_through_mask
from privacy.attacks.episode_span import check_episodes, check_utterances
from privacy.attacks.episode_vocabulary import (
    check_vocabulary,
    name_vocabulary,
    score_vocabulary,
    text_rows,
    touched_rows,
)
from privacy.attacks.observation import Observation
from privacy.attacks.scoring import score_candidates
from privacy.audit.detector_exports import (
    MaskedClient,
    Mode,
    masked_client,
    noise_alone,
    steps_of,
)
from privacy.audit.episode_batches import EpisodeBatch, distinct_graphs, draw_batch
from privacy.audit.findings import BEST, Finding, Trial, compared, means

MEMBERSHIP: Mapping[str, EpisodeAttack] = {
    "comparison": compare_updates,
    "span": check_episodes,
    "vocabulary": check_vocabulary,
    "known_mask": compare_through_mask,
    "noise_size": compare_noise_sizes,
}
"""Families of attacks that tell members of a batch from decoys."""
EPISODES, UTTERANCES, WORDS = "episodes", "utterances", "words"
FAMILIES = (*MEMBERSHIP, UTTERANCES, WORDS)
CASES: Mapping[Mode, str] = {"fedsgd": "FedSGD", "fedprox": "FedProx"}

_STRANGERS = 20
"""Other batches tried for a null baseline, where masks refuse some."""

Table = dict[str, dict[str, float]]
"""Of each attack, its figures by name."""


@dataclass(frozen=True)
class DetectorAudit:
    """What is varied, and how much of it.

    Attributes:
        detector: Which detector.
        training: How a client trains; one step of it is a `fedsgd` export.
        privacies: The masks by name; `none` is measured in any case, to stand beside them.
        exports: Numbers T of exports that an attacker averages.
        trials: Sizes of batches, and how many batches of each.
        modes: What is exported.
        families: Which attacks.
        decoys: Episodes beside a batch's own.
        utterances: Node features beside a batch's own.
        null_seeds: How often the null baseline is drawn for each batch.
        warm_steps: Steps that the global model has been trained for.
        seed: Of everything.
    """

    detector: DetectorSettings
    training: TrainingSettings
    privacies: Mapping[str, PrivacySettings]
    exports: Sequence[int]
    trials: Mapping[int, int]
    modes: Sequence[Mode] = ("fedsgd", "fedprox")
    families: Sequence[str] = FAMILIES
    decoys: int = 99
    utterances: int = 1000
    null_seeds: int = 5
    warm_steps: int = 60
    seed: int = 0


def global_detector(
    audit: DetectorAudit, packed: PackedGraphs, rows: NDArray[np.int64]
) -> Detector:
    """The global model of a run that is under way: trained on all of `rows`, members or not."""
    detector = detector_of(audit.detector, packed.dimension, seed=audit.seed)
    warm = TrainingSettings(**{**vars(audit.training), "steps": audit.warm_steps})
    if audit.warm_steps:
        train_locally(detector, packed, rows, warm, seed=(audit.seed,))
    return detector


def audit_detector(
    audit: DetectorAudit,
    packed: PackedGraphs,
    rows: NDArray[np.int64],
    progress: Callable[[str], None] = lambda text: None,
) -> tuple[list[Finding], list[str]]:
    """Run every attack on every export.

    Args:
        audit: What to vary.
        packed: A site's graphs.
        rows: Those it trains on.
        progress: Is told what was done.

    Returns:
        The findings, and notes.

    Raises:
        PrivacyError: There are too few episodes, or nothing could be exported at all.
    """
    rows = distinct_graphs(packed, rows)
    detector = global_detector(audit, packed, rows)
    findings: list[Finding] = []
    notes: list[str] = []
    for mode in audit.modes:
        for members, trials in audit.trials.items():
            case = f"{CASES[mode]}, {members} episode{'s' * (members > 1)}"
            batches = [
                draw_batch(
                    packed,
                    rows,
                    members,
                    audit.decoys,
                    audit.utterances,
                    (audit.seed, members, trial),
                )
                for trial in range(trials)
            ]
            measured = _Case(audit, detector, mode, members)
            for trial, batch in enumerate(batches):
                measured.run(trial, batch)
                progress(f"{case}: batch {trial + 1} of {trials}")
            findings += measured.findings(case)
            notes += measured.notes(case)
    if not findings:
        raise PrivacyError("audit: no batch could be exported under any mask")
    return findings, notes


class _Case:
    """All batches of one size, exported in one way."""

    def __init__(self, audit: DetectorAudit, detector: Detector, mode: Mode, size: int) -> None:
        self._audit, self._detector, self._mode, self._size = audit, detector, mode, size
        self._scored: dict[tuple[str, int, str], list[Trial]] = defaultdict(list)
        self._null: dict[tuple[str, int, str], list[Trial]] = defaultdict(list)
        self._withheld: dict[str, list[str]] = defaultdict(list)
        self._ran = 0

    def run(self, trial: int, batch: EpisodeBatch) -> None:
        """Attack the exports of one batch under every mask."""
        self._ran += 1
        banks: dict[tuple[str, ...], EpisodeBank] = {}
        members = batch.graphs.select(np.arange(batch.members))
        for privacy in self._audit.privacies:
            seed = (self._audit.seed, len(CASES) * self._size, trial)
            client = self._client(privacy, members, seed)
            trained = tuple(client.plain)
            if trained not in banks:
                banks[trained] = self._bank(client, batch)
            try:
                self._attack(privacy, client, banks[trained], batch, seed)
            except PrivacyError as error:
                self._withheld[privacy].append(str(error))

    def findings(self, case: str) -> list[Finding]:
        """Means over batches beside the null baseline and what is reached without a mask."""
        plain = {
            family: means(trials)
            for (name, _, family), trials in self._scored.items()
            if name == "none"
        }
        draws = range(self._audit.null_seeds)
        found = []
        for (privacy, exports, family), trials in self._scored.items():
            nulls = [self._null[privacy, draw, family] for draw in draws]
            for attack, told in compared(
                trials, [drawn for drawn in nulls if drawn], plain.get(family, {})
            ).items():
                if family == EPISODES and attack != BEST:
                    continue  # they stand under their own families
                found.append(
                    Finding(case, family, attack, privacy, exports, told, self._size, len(trials))
                )
        return found

    def notes(self, case: str) -> list[str]:
        """Batches that a mask refused to export."""
        return [
            f"{case}: under {privacy}, {len(reasons)} of {self._ran} batches were not exported, "
            f"e.g. {reasons[0]}"
            for privacy, reasons in self._withheld.items()
        ]

    def _attack(
        self,
        privacy: str,
        client: MaskedClient,
        bank: EpisodeBank,
        batch: EpisodeBatch,
        seed: tuple[int, ...],
    ) -> None:
        exports, families = self._audit.exports, self._audit.families
        words = _touched(client)
        # Without noise every export is the same.
        observed = [
            (count, attack_once(families, seen, bank, batch, words))
            for count, seen in client.observe([1] if privacy == "none" else exports)
        ]
        # One T stands for all: the noise left after T exports only has another unit of length.
        nulls = [
            attack_once(families, self._noise(privacy, batch, (*seed, draw)), bank, batch, words)
            for draw in range(self._audit.null_seeds)
        ]
        for count, figures in observed:
            for family, trial in figures.items():
                for number in exports if privacy == "none" else [count]:
                    self._scored[privacy, number, family].append(trial)
        for draw, figures in enumerate(nulls):
            for family, trial in figures.items():
                self._null[privacy, draw, family].append(trial)

    def _noise(self, privacy: str, batch: EpisodeBatch, seed: tuple[int, ...]) -> Observation:
        """Noise alone, of the sizes that episodes drawn from others than the batch's would get.

        Raises:
            PrivacyError: The mask refused to export any of several draws.
        """
        draw = np.random.default_rng((*seed, 1))
        refused: PrivacyError | None = None
        for _ in range(_STRANGERS):
            rows = draw.choice(len(batch.strangers), batch.members, replace=False)
            stranger = self._client(privacy, batch.strangers.select(rows), seed)
            try:
                return noise_alone(stranger, int(draw.integers(2**32)))
            except PrivacyError as error:
                refused = error
        raise PrivacyError(f"null baseline: {_STRANGERS} other batches were refused: {refused}")

    def _client(self, privacy: str, graphs: PackedGraphs, seed: tuple[int, ...]) -> MaskedClient:
        audit = self._audit
        settings = audit.privacies[privacy]
        return masked_client(self._detector, graphs, self._mode, audit.training, settings, seed)

    def _bank(self, client: MaskedClient, batch: EpisodeBatch) -> EpisodeBank:
        audit, detector = self._audit, copy.deepcopy(client.detector)
        updates = [candidate_gradients(detector, batch.graphs, audit.training.labels)]
        if self._mode == "fedprox":
            # A batch's loss is averaged over its graphs, a candidate's is its own: one at a time,
            # for as many steps as the client took.
            training = steps_of(audit.training, batch.members)
            updates.append(candidate_replays(detector, batch.graphs, training))
        return EpisodeBank(batch.graphs, tuple(updates))


def attack_once(
    families: Sequence[str],
    seen: Observation,
    bank: EpisodeBank,
    batch: EpisodeBatch,
    words: NDArray[np.int64],
) -> dict[str, Trial]:
    """Figures of every attack on one observation, by family.

    Args:
        families: Some of `FAMILIES`.
        seen: What the attacker sees.
        bank: The candidates.
        batch: Who was in it, to score by.
        words: Columns of hashed text that the batch touches.
    """
    found: dict[str, Trial] = {}
    together: Table = {}
    for family in families:
        if family in MEMBERSHIP:
            figures = _candidate_figures(MEMBERSHIP[family](seen, bank), batch.is_member)
            together |= figures
        elif family == UTTERANCES:
            scores = check_utterances(seen, batch.utterances)
            figures = _candidate_figures(scores, batch.is_spoken)
        else:
            figures = _word_figures(seen, words)
        if figures:
            found[family] = Trial(figures)
    if together:
        found[EPISODES] = Trial(together)
    return found


def _candidate_figures(scores: Scores, members: NDArray[np.bool_]) -> Table:
    figures: Table = {}
    for attack, values in scores.items():
        score = score_candidates(values, members)
        figures[attack] = {"auc": score.auc, "recall": score.recall}
    return figures


def _word_figures(seen: Observation, words: NDArray[np.int64]) -> Table:
    named = name_vocabulary(seen, len(words))
    if named is None:
        return {}
    score = score_vocabulary(words, named)
    return {"longest text rows": {"word_recall": score.recall, "word_precision": score.precision}}


def _touched(client: MaskedClient) -> NDArray[np.int64]:
    name = text_rows(client.detector)
    gradient = client.plain.get(name) if name else None
    return np.zeros(0, dtype=np.int64) if gradient is None else touched_rows(gradient)
