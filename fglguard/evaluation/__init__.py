"""How well a guard detects, with intervals."""
