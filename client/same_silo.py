"""A site answers a whole run from one silo: of another it would be another site."""

from pathlib import Path

from flwr.app import ConfigRecord, Context

from client.identity import is_simulated, name_of
from fglguard.errors import SiloError
from fglguard.sealing import digest
from fglguard.silo import open_silos

RECORD = "silo"
"""The record of a client's state that remembers it; it never leaves the site's machine."""


def remember_silo(context: Context) -> None:
    """Remember what a real site's silo holds, as it joins a run.

    Raises:
        SiloError: The silo can't be opened.
    """
    if not is_simulated(context):
        record = {"run": str(context.run_id), "episodes": _episodes(context)}
        context.state[RECORD] = ConfigRecord(record)


def require_same_silo(context: Context) -> None:
    """Refuse to go on with other episodes than those that the site joined the run with.

    Sizes, splits and the calibration would fit no more, and the host could tell what is new from
    two answers. A SuperNode that was restarted remembers nothing: what it finds is taken.

    Raises:
        SiloError: The episodes are others, or the silo can't be opened.
    """
    known = context.state.config_records.get(RECORD)
    if is_simulated(context) or known is None or known["run"] != str(context.run_id):
        return
    if known["episodes"] != _episodes(context):
        raise SiloError(
            f"{name_of(context)}: its silo {context.node_config['data-path']} holds other episodes "
            f"than when it joined this run; it takes no further part in it"
        )


def _episodes(context: Context) -> str:
    silos = open_silos(Path(str(context.node_config["data-path"])))
    return digest([silo.episodes_digest for silo in silos])
