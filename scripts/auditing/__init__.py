"""The audit: what its command line says, what it runs, and how its table is shown."""
