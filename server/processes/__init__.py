"""Clients in worker processes of our own: start, talk to, schedule, and end them."""
