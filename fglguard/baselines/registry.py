"""All floors and peers by name, for an evaluation to loop over."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fglguard.baselines.anomaly import AnomalyGuard, fit_anomaly_guard
from fglguard.baselines.baseline import Baseline, Scorer, Scores
from fglguard.baselines.blindguard import CorruptionContrast
from fglguard.baselines.cola import SubgraphContrast
from fglguard.baselines.dominant import Reconstruction
from fglguard.baselines.floors import TEXT_FLOORS
from fglguard.baselines.last_message import fit_last_message
from fglguard.baselines.node_classifier import fit_node_classifier
from fglguard.baselines.requirements import labelled
from fglguard.baselines.samples import Samples
from fglguard.baselines.text_floor import TextFloor


def _from_text(name: str, floor: TextFloor) -> Baseline:
    def fit(train: Samples, seed: int) -> Scorer:
        score = floor(*labelled(train.episodes), seed)
        return lambda samples: Scores(score(samples.episodes))

    return Baseline(name, "episodes", True, fit)


def _unsupervised(name: str, build: Callable[[int, int], AnomalyGuard]) -> Baseline:
    def fit(train: Samples, seed: int) -> Scorer:
        return fit_anomaly_guard(build, train, seed)

    return Baseline(name, "graphs", False, fit)


_ALL = (
    *(_from_text(name, floor) for name, floor in TEXT_FLOORS.items()),
    Baseline("last_message", "last_messages", True, fit_last_message),
    Baseline("g_safeguard", "graphs", True, fit_node_classifier),
    _unsupervised("dominant", Reconstruction),
    _unsupervised("cola", SubgraphContrast),
    _unsupervised("blindguard", CorruptionContrast),
)

BASELINES: Mapping[str, Baseline] = MappingProxyType({entry.name: entry for entry in _ALL})
"""The text floors, then last-message embeddings, the supervised peer, the unsupervised ones."""
