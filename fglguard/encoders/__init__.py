"""The encoders, one a module."""
