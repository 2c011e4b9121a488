"""The Flower ServerApp: rounds, checkpoints, calibration, and the grids that run it."""
