"""The guard at run time: episodes that grow, what is decided of them, and what happens then."""
