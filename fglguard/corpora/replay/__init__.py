"""Labelled episodes without a language model: the AgentDojo benchmark replayed in its own tools."""

from fglguard.corpora.replay.generate import generate

__all__ = ["generate"]
