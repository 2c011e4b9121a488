"""Kits for a consortium's host and sites: keys, certificates, roster, start scripts."""
