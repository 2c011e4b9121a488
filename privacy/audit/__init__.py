"""Measures what masks hide, by attacking them."""
