"""What goes wrong at a simulated client: it drops out, is slow, or crashes."""

import functools
from dataclasses import dataclass

import numpy as np
from flwr.app import Context, Message

from client.failure import Handler, SimulatedFault
from client.identity import is_simulated, run_settings
from fglguard.settings import FaultSettings
from strategies.sampling import SIMULATED_SECONDS

STREAM = 0xFA17
"""Keeps the draws of faults apart from every other use of a run's seed."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What befalls one client in one attempt at a round of training.

    Attributes:
        dropout: It does not answer.
        straggler: It is slow.
        crash: Its handler raises.
    """

    dropout: bool
    straggler: bool
    crash: bool


def draw_fault(
    settings: FaultSettings, seed: int, server_round: int, client: int, attempt: int
) -> Fault:
    """Draw what befalls a client, from the arguments alone: every backend draws the same.

    Drop-out and straggling are independent Bernoulli draws, and an attempt draws anew. A crash
    comes in every attempt at its round, as a broken client's would. For one key the sets are
    nested: who drops out at one probability does so at every larger one.
    """
    key = np.random.SeedSequence([seed, STREAM, server_round, client, attempt])
    dropout, straggler = np.random.default_rng(key).random(2)
    return Fault(
        dropout=bool(dropout < settings.dropout),
        straggler=bool(straggler < settings.straggler),
        crash=(server_round, client) == (settings.crash_round, settings.crash_client),
    )


def simulated_seconds(settings: FaultSettings, fault: Fault, steps: int) -> float:
    """How long training would have taken: steps * step_seconds, slowdown times that if slow."""
    return steps * settings.step_seconds * (settings.slowdown if fault.straggler else 1.0)


def inject_faults(handler: Handler) -> Handler:
    """Let a train handler suffer the faults that the settings describe; a real site ignores them.

    Nothing sleeps: a simulated client reports how long it would have taken as the metric
    `simulated_seconds`, and the server compares that with the deadline.

    Raises:
        SimulatedFault: The client drops out.
        RuntimeError: The client crashes.
    """

    @functools.wraps(handler)
    def handle(message: Message, context: Context) -> Message:
        if not is_simulated(context):
            return handler(message, context)
        settings = run_settings(context).faults
        config = message.content["config"]
        seed, server_round, client, attempt = (
            int(config[name]) for name in ("seed", "round", "index", "attempt")
        )
        fault = draw_fault(settings, seed, server_round, client, attempt)
        if fault.crash:
            raise RuntimeError(f"client {client} crashes in round {server_round}: a simulated bug")
        if fault.dropout:
            raise SimulatedFault(
                f"client {client} dropped out of round {server_round} (attempt {attempt + 1}, "
                f"faults.dropout={settings.dropout:g})"
            )
        reply = handler(message, context)
        metrics = reply.content["metrics"]
        metrics[SIMULATED_SECONDS] = simulated_seconds(settings, fault, int(metrics["steps"]))
        return reply

    return handle
