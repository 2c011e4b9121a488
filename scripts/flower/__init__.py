"""Flower's command line with its traps closed: staging, submitting, waiting, telling the truth."""
