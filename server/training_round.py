"""One round of training: ask, wait, aggregate; try again where too few updates came."""

from flwr.app import ArrayRecord, ConfigRecord, MetricRecord
from flwr.serverapp import Grid

from fglguard.errors import QuorumError
from fglguard.settings import FederationSettings
from server.run_folder import RunFolder
from strategies.guard_strategy import GuardStrategy


def train_round(
    grid: Grid,
    strategy: GuardStrategy,
    folder: RunFolder,
    settings: FederationSettings,
    server_round: int,
    arrays: ArrayRecord,
    config: ConfigRecord,
) -> tuple[ArrayRecord, MetricRecord]:
    """The next global model and the round's metrics.

    An attempt with too few usable updates is given up, and `settings.retries` more follow at most.
    Each starts from the same global model, asks a sample of its own and suffers faults of its own,
    all drawn from (seed, round, attempt): the same run retries the same way.

    Raises:
        QuorumError: The last attempt had too few usable updates too.
    """
    attempt = 0
    while True:
        tried = ConfigRecord({**config, "attempt": attempt})
        messages = strategy.configure_train(server_round, arrays, tried, grid)
        replies = grid.send_and_receive(messages, timeout=settings.timeout)
        try:
            return strategy.aggregate_train(server_round, replies)
        except QuorumError as error:
            attempt += 1
            if attempt > settings.retries:
                if not settings.retries:
                    raise
                raise QuorumError(f"{error}\nthe last of {attempt} attempts") from error
            folder.retried(server_round, attempt, str(error))
