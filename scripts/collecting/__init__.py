"""From run folders to one table and its plots; see `scripts/collect.py`."""
