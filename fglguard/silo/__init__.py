"""A site's private store: episodes, their labels and splits, cached embeddings, packed graphs."""

from fglguard.silo.store import Silo, open_silos

__all__ = ["Silo", "open_silos"]
