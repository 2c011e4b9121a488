"""Which client this is: a partition of a simulation, or a site with a silo of its own."""

import dataclasses
from functools import lru_cache
from pathlib import Path

from flwr.app import Context

from client.holdings import Holdings, pooled_holdings, simulated_holdings, site_holdings
from fglguard.errors import SettingsError
from fglguard.settings import RunSettings, Scalar


def is_simulated(context: Context) -> bool:
    """Whether the node is a partition of a simulation, not a site with a silo path of its own."""
    return "data-path" not in context.node_config


def name_of(context: Context) -> str:
    """Who a node is, as far as its node config says."""
    node = context.node_config
    if "site" in node:
        return f"site {node['site']}"
    return f"client {node['partition-id']}" if "partition-id" in node else "an unnamed client"


def run_settings(context: Context) -> RunSettings:
    """The run's settings as they came with the run."""
    return _settings(tuple(context.run_config.items()))


@lru_cache(maxsize=8)
def _settings(items: tuple[tuple[str, Scalar], ...]) -> RunSettings:
    # Every message asks for them, some twice; checking sixty values costs as much as a small step.
    return RunSettings.from_flat(dict(items))


def holdings_of(context: Context, settings: RunSettings) -> Holdings:
    """Open what this client holds.

    A site names itself and its silo in its node config: `site='a' data-path='/srv/silo'`. A
    simulated client is told `partition-id` and `num-partitions` by Flower.

    Raises:
        SettingsError: The node config has neither.
        SiloError: The silo can't be used.
    """
    node = context.node_config
    if not is_simulated(context):
        if "site" not in node:
            raise SettingsError("node config: expected site='NAME' beside data-path, got none")
        return site_holdings(_data_settings(settings), str(node["site"]), str(node["data-path"]))
    if "partition-id" not in node or "num-partitions" not in node:
        raise SettingsError(
            "node config: expected data-path and site (a real site) or partition-id and "
            f"num-partitions (a simulation), got {', '.join(sorted(node)) or 'nothing'}"
        )
    client, clients = int(node["partition-id"]), int(node["num-partitions"])
    if clients != settings.federation.clients:
        raise SettingsError(
            f"federation.clients: expected the number of SuperNodes ({clients}), got "
            f"{settings.federation.clients}; start the run with "
            f"--federation-config 'num-supernodes={settings.federation.clients}' or set "
            f"federation.clients={clients}"
        )
    return simulated_holdings(_data_settings(settings), client, clients)


def pooled_holdings_of(context: Context, settings: RunSettings) -> tuple[Holdings, list[int]]:
    """Everything that the clients of a simulation hold, and how many training graphs each has.

    Raises:
        SettingsError: This is a real site: nobody's records leave it, so nothing can be pooled.
    """
    if not is_simulated(context):
        raise SettingsError(
            "strategy.name: pooled needs all clients' episodes in one place, which only a "
            "simulation has; at real sites choose another strategy"
        )
    clients = int(context.node_config["num-partitions"])
    return pooled_holdings(_data_settings(settings), clients)


def _data_settings(settings: RunSettings) -> RunSettings:
    """The settings with all that does not change a client's data put aside.

    Holdings are cached by settings; a sweep over, say, learning rates then opens them once.
    """
    path = str(Path(settings.corpus.path).resolve())
    return dataclasses.replace(
        settings, output="", corpus=dataclasses.replace(settings.corpus, path=path)
    )
