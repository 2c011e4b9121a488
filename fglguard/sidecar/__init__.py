"""The guard as a small service over HTTP: `fglguard serve`."""
