"""Ask every client to score one of its splits with a model, and pool what they return."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from flwr.app import ConfigRecord, Message
from flwr.serverapp import Grid

from fglguard.settings import RunSettings
from server.branch_sums import SiteSums, read_branch_sums
from server.histograms import HistogramTable, join, read_histogram
from server.scores import ScoreTable, pool, read_scores
from strategies.cohort import Member
from strategies.guard_strategy import GuardStrategy
from strategies.updates import FlatVector, pack_parameters

Table = TypeVar("Table")


class Scorer:
    """Scores any parameters on the clients' splits, over this grid.

    In a simulation, where clients deal out one corpus, episodes keep their own domains and task
    groups; otherwise domains are the roster's and each site's groups are told apart. With
    `calibration.scores=histogram` no score-label pair is asked for, but for a simulation's test.

    Args:
        grid: How clients are reached.
        strategy: Who is asked, and what becomes of those who fail.
        settings: The run's.
    """

    def __init__(self, grid: Grid, strategy: GuardStrategy, settings: RunSettings) -> None:
        self.grid = grid
        self.strategy = strategy
        self.settings = settings
        self.simulated = not settings.federation.roster

    def calibration(self, parameters: FlatVector) -> ScoreTable | HistogramTable:
        """What the clients say of their validation splits."""
        if self.settings.calibration.scores == "histogram":
            return join(self._ask(parameters, "val", self._histogram(test=False)))
        return self._pairs(parameters, "val")

    def test(self, parameters: FlatVector) -> ScoreTable:
        """Scores of the clients' test splits; on real sites with histograms at bins' edges."""
        if self.settings.calibration.scores == "histogram" and not self.simulated:
            return join(self._ask(parameters, "test", self._histogram(test=True))).at_edges()
        return self._pairs(parameters, "test")

    def branch_sums(self, parameters: FlatVector, branches: int) -> list[SiteSums]:
        """Sums of the branches' scores on the clients' validation splits."""
        return self._ask(
            parameters,
            "val",
            lambda reply, member: read_branch_sums(reply, member, branches),
            {"branches": True},
        )

    def _pairs(self, parameters: FlatVector, split: str) -> ScoreTable:
        tables = self._ask(
            parameters,
            split,
            lambda reply, member: read_scores(reply, member, trust_domains=self.simulated),
        )
        return pool(tables, shared_groups=self.simulated)

    def _histogram(self, *, test: bool) -> Callable[[Message, Member], HistogramTable]:
        bins = self.settings.calibration.bins
        return lambda reply, member: read_histogram(
            reply, member, bins=bins, test=test, trust_domains=self.simulated
        )

    def _ask(
        self,
        parameters: FlatVector,
        split: str,
        read: Callable[[Message, Member], Table],
        wanted: Mapping[str, bool] = MappingProxyType({}),
    ) -> list[Table]:
        federation = self.settings.federation
        messages = self.strategy.configure_evaluate(
            federation.rounds,
            pack_parameters(parameters),
            ConfigRecord({"split": split, **wanted}),
            self.grid,
        )
        replies = self.grid.send_and_receive(messages, timeout=federation.timeout)
        return self.strategy.collect(f"evaluate ({split})", federation.rounds, replies, read)
