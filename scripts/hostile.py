"""A ClientApp of which one site is hostile or broken."""

from collections.abc import Callable

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message
from flwr.clientapp import ClientApp

import client.app as honest
from strategies.updates import PARAMETERS

Spoil = Callable[[Message, Message], None]
"""Changes a train reply (second) in place, given the message that asked for it (first)."""

CLAIM = 1000
"""How many times its nodes a site claims to have."""
SCALE = -50.0
"""What a scaled update is multiplied with."""


def hostile_app(site: str, *spoils: Spoil) -> ClientApp:
    """The real ClientApp, but what the named site returns from training is spoiled."""
    app = ClientApp()
    app.query()(honest.query)
    app.evaluate()(honest.evaluate)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        reply = honest.train(message, context)
        if reply.has_content() and context.node_config.get("site") == site:
            for spoil in spoils:
                spoil(message, reply)
        return reply

    return app


def scale_update(message: Message, reply: Message) -> None:
    """Return theta_global + SCALE (theta - theta_global)."""
    sent = message.content["arrays"][PARAMETERS].numpy()
    trained = reply.content["arrays"][PARAMETERS].numpy()
    _replace(reply, sent + np.float32(SCALE) * (trained - sent))


def to_nan(message: Message, reply: Message) -> None:
    """Return one NaN among the parameters."""
    vector = reply.content["arrays"][PARAMETERS].numpy().copy()
    vector[len(vector) // 2] = np.nan
    _replace(reply, vector)


def inflate_nodes(message: Message, reply: Message) -> None:
    """Claim to have trained on CLAIM times as many nodes."""
    reply.content["metrics"]["nodes"] *= CLAIM


def invent_domain(message: Message, reply: Message) -> None:
    """Say in the reply to be another site of another domain."""
    reply.content["site"]["site"] = "somebody-else"
    reply.content["site"]["domain"] = "invented"


def _replace(reply: Message, vector: np.ndarray) -> None:
    others = {k: v for k, v in reply.content["arrays"].items() if k != PARAMETERS}
    reply.content["arrays"] = ArrayRecord({PARAMETERS: Array(vector), **others})
