import numpy as np
import pytest

from fglguard.partitions.corpus import Corpus
from fglguard.settings import PartitionSettings


def build_settings(kind, **changes):
    values = {"within_domains": False, "purity": 0.8, "concentration": 0.5, "exponent": 1.0}
    return PartitionSettings(**{"kind": kind, "key": "", **values, **changes})


def build_corpus(counts):
    """A corpus of counts[domain][split][label] episodes, labels safe, unsafe, unknown."""
    counts = np.asarray(counts)
    domain, split, label = (
        np.repeat(axis.ravel(), counts.ravel()) for axis in np.indices(counts.shape)
    )
    order = np.random.default_rng(0).permutation(len(label))
    return Corpus(
        silos=(),
        domains=[f"d{code}" for code in range(len(counts))],
        domain=domain[order].astype(np.int64),
        split=np.where(split == 3, 255, split)[order].astype(np.uint8),
        label=np.where(label == 2, -1, label)[order].astype(np.int8),
        parts=[slice(0, len(label))],
    )


@pytest.fixture(scope="session")
def make_settings():
    return build_settings


@pytest.fixture(scope="session")
def make_corpus():
    return build_corpus
