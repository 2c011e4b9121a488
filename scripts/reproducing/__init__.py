"""The tables of `docs/results.md`, each from one command; see `scripts/reproduce.py`."""
