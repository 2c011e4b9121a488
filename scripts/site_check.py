"""A dry run at a site: what would leave it, made by the very code of a real run, and not sent."""

import contextlib
import dataclasses
import secrets
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flwr.app import ConfigRecord, Message

from client.app import app
from client.identity import holdings_of
from client.masking import FLOOR
from client.sent_log import SENT_LOG
from client.sent_record import Described, sent_record
from client.state import state_of
from fglguard.detector import detector_of
from fglguard.encoder import load_encoder
from fglguard.graph import GraphSettings
from fglguard.parameters import flatten
from fglguard.settings import RunSettings, values_of
from server.gathering import gather
from server.inprocess import InProcessGrid
from server.roster import Roster
from server.scoring import Scorer
from strategies.cohort import Member
from strategies.registry import build_strategy
from strategies.updates import Failure, Update, pack_parameters

THIS_CHECK = "this check"


@dataclass(frozen=True)
class Reply:
    """What a site would have sent.

    Attributes:
        seconds: How long it took to make.
        record: What it consists of, as the site's log would have it.
    """

    seconds: float
    record: Described


@dataclass(frozen=True)
class SiteCheck:
    """What a dry run found.

    Attributes:
        site: The site.
        domain: The domain of its silo.
        sizes: Episodes and unsafe ones of each split.
        floor: What the site asks of a run; the run of the check reaches it.
        parameters: The detector's.
        replies: One a message, in order.
    """

    site: str
    domain: str
    sizes: Mapping[str, int]
    floor: str
    parameters: int
    replies: list[Reply]


def check_site(settings: RunSettings, node_config: Mapping[str, Any]) -> SiteCheck:
    """Let a site answer a run's query, one step of training, calibration and test.

    The server's side runs in this process too, and reads the replies as it would; nothing is sent,
    nothing is written to the site's log, and what the strategy keeps between rounds is removed.

    Args:
        settings: Of the run that the site would take part in.
        node_config: What its SuperNode would be started with.

    Raises:
        FglguardError: The silo, the encoder or the settings don't fit, or the run hides less than
            the site asks for.
    """
    settings = _one_step(settings)
    own = {key: value for key, value in node_config.items() if key != SENT_LOG}
    encoder = load_encoder(settings.corpus.encoder)
    grid = _RecordingGrid(app, [own], values_of(settings))
    context = grid.new_context(*grid.get_node_ids())
    holdings = holdings_of(context, settings)
    roster = Roster((Member(0, holdings.site, holdings.domain),), THIS_CHECK)
    gathered = gather(grid, roster, settings, encoder.fingerprint)
    strategy = build_strategy(gathered.cohort, settings, _Unobserved())
    dimension = GraphSettings.of(settings.detector).node_width(encoder.dimension)
    start = flatten(detector_of(settings.detector, dimension, seed=settings.seed))
    config = ConfigRecord({"seed": settings.seed, "run_folder": settings.output})
    try:
        messages = strategy.configure_train(1, pack_parameters(start), config, grid)
        strategy.aggregate_train(1, grid.send_and_receive(messages))
    finally:
        state = state_of(context, settings.output, holdings.site).folder
        shutil.rmtree(state, ignore_errors=True)
        with contextlib.suppress(OSError):  # other runs' states are there
            state.parent.rmdir()
    scorer = Scorer(grid, strategy, settings)
    scorer.calibration(start)
    scorer.test(start)
    sizes = gathered.sizes[holdings.site]
    floor = str(own.get(FLOOR, "none"))
    return SiteCheck(holdings.site, holdings.domain, sizes, floor, len(start), grid.replies)


def _one_step(settings: RunSettings) -> RunSettings:
    federation = dataclasses.replace(
        settings.federation, clients=1, minimum_clients=1, rounds=1, roster=THIS_CHECK
    )
    return dataclasses.replace(
        settings,
        output=f"site-check-{secrets.token_hex(8)}",
        federation=federation,
        strategy=dataclasses.replace(settings.strategy, steps=1),
    )


class _RecordingGrid(InProcessGrid):
    """A grid of one node that keeps what each reply consists of."""

    def __init__(
        self, client_app: Any, node_configs: list[dict[str, Any]], run_config: Mapping[str, Any]
    ) -> None:
        super().__init__(client_app, node_configs, run_config)
        self.replies: list[Reply] = []

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        pushed: list[str] = []
        for message in messages:
            began = time.monotonic()
            (message_id,) = super().push_messages([message])
            seconds = time.monotonic() - began
            context = self.new_context(message.metadata.dst_node_id)
            record = sent_record(message, self._replies[message_id], context)
            self.replies.append(Reply(seconds, record))
            pushed.append(message_id)
        return pushed


class _Unobserved:
    """Who is told what comes of the client; the caller reads the replies themselves."""

    def trained(self, server_round: int, update: Update, weight: float) -> None: ...

    def failed(self, phase: str, server_round: int, failure: Failure) -> None: ...

    def surplus(self, server_round: int, update: Update) -> None: ...
