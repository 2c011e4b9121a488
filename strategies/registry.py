"""The one list of strategies."""

from fglguard.errors import SettingsError
from fglguard.settings import StrategySettings
from strategies.cohort import Cohort
from strategies.fedavg import FedAvg
from strategies.feddc import FedDC
from strategies.fedprox import FedProx
from strategies.fgssl import Fgssl
from strategies.guard_strategy import GuardStrategy, Observer
from strategies.moon import Moon
from strategies.pooled import Pooled
from strategies.scaffold import Scaffold

STRATEGIES: dict[str, type[GuardStrategy]] = {
    "fedavg": FedAvg,
    "fedprox": FedProx,
    "scaffold": Scaffold,
    "feddc": FedDC,
    "moon": Moon,
    "fgssl": Fgssl,
    "pooled": Pooled,
}


def build_strategy(
    cohort: Cohort, settings: StrategySettings, minimum: int, observer: Observer
) -> GuardStrategy:
    """The strategy that the settings name.

    Raises:
        SettingsError: There is no such strategy; the choices are listed.
    """
    if settings.name not in STRATEGIES:
        raise SettingsError(
            f"strategy.name: expected one of {', '.join(STRATEGIES)}, got {settings.name!r}"
        )
    return STRATEGIES[settings.name](cohort, settings, minimum, observer)
