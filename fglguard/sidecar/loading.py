"""Guards for a sidecar, one after another."""

from __future__ import annotations

import logging

from fglguard.bundle import load_bundle
from fglguard.encoder import load_encoder
from fglguard.guard import Guard
from fglguard.sidecar.settings import SidecarSettings

log = logging.getLogger(__name__)


def load_guard(settings: SidecarSettings, before: Guard | None) -> Guard:
    """The guard of the bundle that is in the folder now.

    Args:
        settings: Which folder, and how the guard decides.
        before: The one that serves; its encoder, seconds to load, is used again if it fits.

    Raises:
        SignatureError: It is not signed by the key that the settings name.
        BundleError: The bundle is incomplete or changed, or the encoder differs.
        EncoderError: The encoder's packages are not installed.
    """
    # A link is followed once: it may be set to another folder between two reads.
    bundle = load_bundle(settings.bundle.resolve(), settings.signed_by)
    if before is not None and before.scorer.encoder.fingerprint == bundle.encoder_fingerprint:
        encoder = before.scorer.encoder
    else:
        encoder = load_encoder(bundle.encoder_name)
        # Its model is loaded with the first text: now, not in the first check's latency.
        encoder.encode(["load"])
    return Guard(
        bundle,
        encoder,
        policy=settings.policy,
        limits=settings.limits,
        domain=settings.domain,
    )
