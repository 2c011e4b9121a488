"""The guard inside agent frameworks, one module each; each needs its framework installed."""
