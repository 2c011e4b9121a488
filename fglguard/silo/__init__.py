"""A site's private store: episodes, their labels and splits, cached embeddings, packed graphs."""

from fglguard.silo.opening import open_silos
from fglguard.silo.store import Silo

__all__ = ["Silo", "open_silos"]
