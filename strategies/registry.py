"""The one list of strategies."""

from fglguard.errors import SettingsError
from fglguard.settings import RunSettings
from strategies.cohort import Cohort
from strategies.fedavg import FedAvg
from strategies.fedprox import FedProx
from strategies.guard_strategy import GuardStrategy, Observer

STRATEGIES: dict[str, type[GuardStrategy]] = {"fedavg": FedAvg, "fedprox": FedProx}


def build_strategy(cohort: Cohort, settings: RunSettings, observer: Observer) -> GuardStrategy:
    """The strategy that the run's settings name.

    Raises:
        SettingsError: There is no such strategy; the choices are listed.
    """
    name = settings.strategy.name
    if name not in STRATEGIES:
        raise SettingsError(f"strategy.name: expected one of {', '.join(STRATEGIES)}, got {name!r}")
    return STRATEGIES[name](cohort, settings, observer)
