"""Traces of agents: the names that are read, OTLP JSON, and the guard's own span."""
