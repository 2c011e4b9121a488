"""A sweep: many points, each a run in a process of its own; see `scripts/sweep/sweep.py`."""
