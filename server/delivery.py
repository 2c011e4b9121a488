"""At the end of a run over real sites: sign the guard, and send it to each site that wants it."""

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

from fglguard.bundle import GUARD_FILE, MODEL_FILE, SIGNATURE_FILE, sign_bundle
from fglguard.settings import RunSettings
from server.enrolment import Gathered
from strategies.guard_strategy import MALFORMED, GuardStrategy
from strategies.nonce import nonce
from strategies.senders import sender_of

logger = logging.getLogger("fglguard")

GUARD_MESSAGE = f"{MessageType.QUERY}.guard"
DELIVERED, NOT_WANTED, WITHHELD, FAILED = "delivered", "not wanted", "withheld", "failed"


@dataclass(frozen=True, slots=True)
class Delivery:
    """What came of one site's guard.

    Attributes:
        site: The site.
        state: `delivered`: it says that it has checked and kept it. `not wanted`: it names no
            folder for guards. `withheld`: it failed the run. `failed`: it was sent, or should have
            been, and the site has not confirmed it.
        reason: Why; empty where it was delivered.
    """

    site: str
    state: str
    reason: str = ""


def deliver(
    grid: Grid, gathered: Gathered, strategy: GuardStrategy, folder: Path, settings: RunSettings
) -> list[Delivery]:
    """Sign every guard of a run folder and send each site its own.

    Nothing that goes wrong here touches the guard at the host or ends the run: it is logged, and
    told for each site.

    Args:
        grid: How sites are reached.
        gathered: Who takes part, and who wants a guard.
        strategy: Knows whose replies could not be used.
        folder: The run's; its guards are in it.
        settings: The run's; `delivery.signing_key` signs.

    Returns:
        One a member, in roster order.
    """
    found: dict[str, Delivery] = {}
    wanted: dict[int, str] = {}
    for node, member in gathered.cohort:
        site = member.site
        if site not in gathered.want_guard:
            found[site] = Delivery(site, NOT_WANTED, "its node config names no guards-path")
        elif why := _failure(strategy, site):
            found[site] = Delivery(site, WITHHELD, f"it failed the run: {why}")
        else:
            wanted[node] = site
    try:
        found |= _send(grid, wanted, folder, settings) if wanted else {}
    except Exception as error:  # the guard is there: a run must not fail on its way out
        logger.exception("the guards in %s could not be signed and sent", folder)
        told = f"{type(error).__name__}: {error}"
        found |= {site: Delivery(site, FAILED, told) for site in wanted.values()}
    for one in found.values():
        if one.state in (WITHHELD, FAILED):
            logger.error("site %s has no guard of this run: %s", one.site, one.reason)
    return [found[member.site] for _, member in gathered.cohort]


def delivery_record(deliveries: list[Delivery]) -> list[dict[str, Any]]:
    """As the run folder keeps it."""
    return [asdict(one) for one in deliveries]


def _failure(strategy: GuardStrategy, site: str) -> str:
    """Why a site's part in the run counts as failed; empty where it does not.

    Its last reply in a phase of scoring couldn't be used, or no update of it ever could.
    """
    for (phase, failed), reason in strategy.unusable.items():
        if failed == site and not (phase == "train" and site in strategy.used):
            return f"{phase}: {reason}"
    return ""


def _send(
    grid: Grid, wanted: Mapping[int, str], folder: Path, settings: RunSettings
) -> dict[str, Delivery]:
    found: dict[str, Delivery] = {}
    messages: list[Message] = []
    digests: dict[int, str] = {}
    for node, site in wanted.items():
        guard = _guard_of(folder, site)
        if guard is None:
            found[site] = Delivery(site, WITHHELD, "the run made no guard for it")
            continue
        files = _signed_files(guard, settings)
        digests[node] = hashlib.sha256(files[GUARD_FILE]).hexdigest()
        messages.append(_message(files, node, folder))
    replies: dict[int, Message] = {}
    for reply in grid.send_and_receive(messages, timeout=settings.federation.timeout):
        replies.setdefault(sender_of(reply, messages), reply)
    for node, digest in digests.items():
        found[wanted[node]] = _outcome(wanted[node], replies.get(node), digest, settings)
    return found


def _guard_of(folder: Path, site: str) -> Path | None:
    """The guard of all sites, or in the local arm the site's own."""
    for guard in (folder / "guard", folder / "guards" / site):
        if (guard / GUARD_FILE).exists():
            return guard
    return None


def _signed_files(guard: Path, settings: RunSettings) -> dict[str, bytes]:
    sign_bundle(guard, Path(settings.delivery.signing_key))
    return {name: (guard / name).read_bytes() for name in (GUARD_FILE, MODEL_FILE, SIGNATURE_FILE)}


def _message(files: Mapping[str, bytes], node: int, folder: Path) -> Message:
    # Arrays, since Flower sends those in pieces.
    arrays = {name: Array(np.frombuffer(data, dtype=np.uint8)) for name, data in files.items()}
    config = ConfigRecord({"run_folder": str(folder), "nonce": nonce()})
    content = RecordDict({"guard": ArrayRecord(arrays), "config": config})
    return Message(content, dst_node_id=node, message_type=GUARD_MESSAGE)


def _outcome(site: str, reply: Message | None, digest: str, settings: RunSettings) -> Delivery:
    if reply is None:
        limit = f"{settings.federation.timeout:g} s"
        return Delivery(site, FAILED, f"it did not confirm it within {limit}")
    if reply.has_error():
        return Delivery(site, FAILED, reply.error.reason)
    try:
        confirmed = reply.content["guard"]["sha256"]
    except MALFORMED as error:
        return Delivery(site, FAILED, f"its answer is malformed ({type(error).__name__}: {error})")
    if confirmed != digest:
        return Delivery(site, FAILED, "it confirmed another guard than it was sent")
    return Delivery(site, DELIVERED)
