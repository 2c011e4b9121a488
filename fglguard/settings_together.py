"""What settings must hold together, once each is right by itself."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fglguard.errors import SettingsError

if TYPE_CHECKING:
    from fglguard.settings import DetectorSettings, FederationSettings, RunSettings


def check_together(settings: RunSettings) -> None:
    """Raise SettingsError for values that are right by themselves and wrong beside each other."""
    federation = settings.federation
    if federation.minimum_clients > federation.clients:
        raise SettingsError(
            f"federation.minimum_clients: expected at most federation.clients "
            f"({federation.clients}), got {federation.minimum_clients}"
        )
    if federation.ray.address:
        _check_cluster(federation)
    if settings.strategy.name == "pooled" and federation.fraction < 1:
        raise SettingsError(
            f"federation.fraction: expected 1 with strategy.name=pooled, which takes all clients' "
            f"steps, got {federation.fraction:g}"
        )
    _check_preset(settings.detector)
    if settings.detector.encoder == "finetune":
        _check_finetuning(settings.detector, settings.corpus.encoder)
    calibration = settings.calibration
    if calibration.scores == "histogram" and calibration.by == "group":
        raise SettingsError(
            "calibration.by: expected episode with calibration.scores=histogram, which counts "
            "episodes and can't tell their groups, got group"
        )
    faults = settings.faults
    if faults.crash_round and faults.crash_client >= federation.clients:
        raise SettingsError(
            f"faults.crash_client: expected a number below federation.clients "
            f"({federation.clients}), got {faults.crash_client}"
        )


def _check_cluster(federation: FederationSettings) -> None:
    address = federation.ray.address
    if federation.backend != "ray":
        raise SettingsError(
            f"federation.ray.address: expected federation.backend=ray with it, got "
            f"{federation.backend}"
        )
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16 or "/" in host:
        raise SettingsError(
            f"federation.ray.address: expected host:port of a cluster's head, as `ray start "
            f"--head` prints it, got {address!r}"
        )


_ATTENTION_ALONE: Mapping[str, Any] = MappingProxyType(
    {"edge_feature": "receiver", "node_feature": "mean", "self_loops": True, "residual": False}
)


def _check_preset(detector: DetectorSettings) -> None:
    if detector.preset == "paper":
        return
    for name, default in _ATTENTION_ALONE.items():
        value = getattr(detector, name)
        if value != default:
            raise SettingsError(
                f"detector.{name}: expected {default!r} with detector.preset={detector.preset}, "
                f"which has no graph attention, got {value!r}"
            )
    if detector.labels != "final":
        raise SettingsError(
            f"detector.labels: expected final with detector.preset={detector.preset}, got "
            f"{detector.labels!r}; detector={detector.preset} sets all that goes with the preset"
        )


def _check_finetuning(detector: DetectorSettings, encoder: str) -> None:
    if encoder != "minilm":
        raise SettingsError(
            f"corpus.encoder: expected minilm with detector.encoder=finetune, which has layers to "
            f"train, got {encoder!r}"
        )
    wanted = {"preset": "paper", "node_feature": "mean"}
    for name, value in wanted.items():
        if (got := getattr(detector, name)) != value:
            raise SettingsError(
                f"detector.{name}: expected {value} with detector.encoder=finetune, got {got!r}"
            )
    if detector.edge_feature == "message":
        raise SettingsError(
            "detector.edge_feature: expected receiver, sender, both or none with "
            "detector.encoder=finetune, got 'message'"
        )
