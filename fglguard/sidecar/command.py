"""`fglguard serve`: its options. What serves is imported once they are known to be right."""

from __future__ import annotations

import importlib
import logging
from pathlib import Path
from typing import Annotated

import typer

from fglguard.errors import SidecarError
from fglguard.live.policy import Mode, OnError, Policy
from fglguard.sidecar.keys import read_keys
from fglguard.sidecar.settings import SidecarSettings, allow_list
from fglguard.signature import read_public_key

PACKAGES = ("fastapi", "httptools", "uvicorn", "prometheus_client")


def serve(
    bundle: Annotated[Path, typer.Argument(help="A guard's folder; read again at each reload.")],
    signed_by: Annotated[
        Path | None,
        typer.Option(help="Public key that must have signed the guard, such as a kit's host.pub."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0: one that is free.")] = 8765,
    keys: Annotated[
        Path | None,
        typer.Option(help="Bearer keys, one a line; without it the variable FGLGUARD_KEYS."),
    ] = None,
    without_keys: Annotated[
        bool, typer.Option("--without-keys", help="Listen beyond this machine without keys.")
    ] = False,
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key, PEM.")] = None,
    mode: Annotated[Mode, typer.Option(help="shadow decides and never blocks.")] = "enforce",
    on_error: Annotated[OnError, typer.Option(help="For what can't be scored.")] = "block",
    calls: Annotated[bool, typer.Option("--calls", help="Check tool calls too.")] = False,
    allow_agent: Annotated[
        list[str] | None, typer.Option(help="An agent that passes unchecked; may be repeated.")
    ] = None,
    allow_tool: Annotated[
        list[str] | None, typer.Option(help="A tool whose calls do; may be repeated.")
    ] = None,
    allow_hash: Annotated[
        list[str] | None, typer.Option(help="SHA-256 of a text that does; may be repeated.")
    ] = None,
    domain: Annotated[
        str | None, typer.Option(help="Decide by this domain's threshold; else by the pooled one.")
    ] = None,
    log: Annotated[Path | None, typer.Option(help="Verdict log, JSON Lines.")] = None,
    log_text: Annotated[
        bool, typer.Option("--log-text", help="With what was said; without it no text.")
    ] = False,
    log_bytes: Annotated[int, typer.Option(help="A new file is begun from this size on.")] = 64
    * 1024
    * 1024,
    log_files: Annotated[int, typer.Option(help="Old files that are kept.")] = 10,
    log_required: Annotated[
        bool,
        typer.Option("--log-required", help="Block what can't be logged, e.g. on a full disk."),
    ] = False,
    max_body: Annotated[int, typer.Option(help="Bytes of a request's body.")] = 4 * 1024 * 1024,
    rate: Annotated[float, typer.Option(help="Requests a second a key; 0: any number.")] = 0.0,
    queue: Annotated[int, typer.Option(help="Requests worked at at one time; beyond, 429.")] = 64,
    check_seconds: Annotated[
        float, typer.Option(help="Longest check; a longer one is an error.")
    ] = 5.0,
    grace_seconds: Annotated[
        float, typer.Option(help="How long a stop waits for what was taken.")
    ] = 30.0,
    slow_seconds: Annotated[
        float, typer.Option(help="How long a client may take to send a request.")
    ] = 15.0,
) -> None:
    """Serve a guard over HTTP: observe, check and score, until SIGTERM; SIGHUP reloads."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    allowed = allow_list(allow_agent or (), allow_tool or (), allow_hash or ())
    settings = SidecarSettings(
        bundle=bundle,
        signed_by=None if signed_by is None else read_public_key(signed_by),
        host=host,
        port=port,
        keys=read_keys(keys),
        without_keys=without_keys,
        tls_certificate=tls_cert,
        tls_key=tls_key,
        policy=Policy(on_error=on_error, mode=mode, calls=calls, allowed=allowed),
        domain=domain,
        log=log,
        log_text=log_text,
        log_bytes=log_bytes,
        log_files=log_files,
        log_required=log_required,
        max_body=max_body,
        rate=rate,
        queue=queue,
        check_seconds=check_seconds,
        grace_seconds=grace_seconds,
        slow_seconds=slow_seconds,
    )
    _require_packages()
    from fglguard.sidecar.serving import serve as run

    run(settings)


def _require_packages() -> None:
    for name in PACKAGES:
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise SidecarError(
                f"serve: needs the package {error.name or name}, which is not installed; install "
                f"fglguard with its extra: pip install 'fglguard[serve]'"
            ) from error
