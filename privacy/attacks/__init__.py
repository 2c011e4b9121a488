"""Attacks on what a client exports, each in a file of its own, none weakened."""
