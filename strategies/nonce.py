"""What makes a message's id unknown to everyone but its receiver."""

import secrets


def nonce() -> str:
    """128 random bits, in hex, to put into a message's config.

    Flower's SuperLink takes a reply as node B's if its metadata say so and it names the id of a
    message that went to B; whose key signed the request it does not compare (flwr 1.42). That id is
    a hash of the message, and sites of one round get messages that differ by little more than a
    time stamp, so that a hostile site could try ids until one fits and answer for its neighbour.
    With these bits in the message it can't. They change nothing that is trained.
    """
    return secrets.token_hex(16)
