"""Ask every client to score one of its splits with a model, and pool what they return."""

from collections.abc import Callable

from flwr.app import ConfigRecord
from flwr.serverapp import Grid

from fglguard.settings import RunSettings
from server.scores import ScoreTable, pool, read_scores
from strategies.guard_strategy import GuardStrategy
from strategies.updates import FlatVector, pack_parameters

Score = Callable[[FlatVector, str], ScoreTable]
"""Scores every client's episodes of a split with the parameters given."""


def scorer(grid: Grid, strategy: GuardStrategy, settings: RunSettings) -> Score:
    """What scores any parameters on any split, over this grid.

    In a simulation, where clients deal out one corpus, episodes keep their own domains and task
    groups; otherwise domains are the roster's and each site's groups are told apart.
    """
    simulated = not settings.federation.roster
    rounds = settings.federation.rounds

    def score(parameters: FlatVector, split: str) -> ScoreTable:
        arrays = pack_parameters(parameters)
        config = ConfigRecord({"split": split})
        messages = strategy.configure_evaluate(rounds, arrays, config, grid)
        replies = grid.send_and_receive(messages, timeout=settings.federation.timeout)
        tables = strategy.collect(
            f"evaluate ({split})",
            rounds,
            replies,
            lambda reply, member: read_scores(reply, member, trust_domains=simulated),
        )
        return pool(tables, shared_groups=simulated)

    return score
