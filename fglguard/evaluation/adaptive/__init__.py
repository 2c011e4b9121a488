"""Adaptive attacks: the corpora's injections rewritten by somebody who knows the guard."""
