"""Runs a sidecar until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import ssl
import threading
from functools import partial
from types import FrameType

import torch
import uvicorn

from fglguard.errors import SettingsError, SidecarError
from fglguard.sidecar.app import make_app
from fglguard.sidecar.loading import load_guard
from fglguard.sidecar.problems import Problem
from fglguard.sidecar.service import Service
from fglguard.sidecar.settings import SidecarSettings
from fglguard.sidecar.slow_heads import protocol

log = logging.getLogger(__name__)

CONNECTIONS = 2048
"""At one time; beyond, they are answered with 503 and closed."""
CLOSE_SECONDS = 5.0
"""How long a stop waits for checks that were given up."""


class Server(uvicorn.Server):
    """uvicorn, with a reload at SIGHUP, and refusing new work from the signal to stop on.

    Args:
        config: uvicorn's.
        service: What is served.
    """

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        self._reloads: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._hang_up)
        await super().startup(sockets=sockets)
        for one in sockets or []:
            host, port = one.getsockname()[:2]
            scheme = "https" if self.config.is_ssl else "http"
            shown = f"[{host}]" if ":" in host else host
            log.info("listening on %s://%s:%d", scheme, shown, port)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: what was taken is finished, nothing more is taken."""
        self._service.queue.close()
        super().handle_exit(sig, frame)

    def _hang_up(self) -> None:
        task = asyncio.get_running_loop().create_task(self._reload())
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)

    async def _reload(self) -> None:
        try:
            await self._service.reload()
        except Problem:
            log.error("the reload that SIGHUP asked for was refused; see above")
        except Exception:
            log.exception("the reload that SIGHUP asked for failed")


def serve(settings: SidecarSettings) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises:
        FglguardError: The bundle can't be loaded, the address can't be had, ...
    """
    _warn(settings)
    # Checks run beside each other, each on one core.
    torch.set_num_threads(1)
    service = Service(settings, partial(load_guard, settings))
    server = Server(_config(settings, service), service)
    listening = _listen(settings)
    # What was loaded stays: looking through it for garbage holds up every check meanwhile.
    gc.collect()
    gc.freeze()
    for number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn raises the signal once more at its end: an orderly stop exits with 0.
        signal.signal(number, server.handle_exit)
    try:
        server.run(sockets=[listening])
    finally:
        _close(service)
    log.info("stopped")


def _config(settings: SidecarSettings, service: Service) -> uvicorn.Config:
    config = uvicorn.Config(
        make_app(service),
        http=protocol(settings.slow_seconds),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        workers=1,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=max(1, round(settings.slow_seconds)),
        timeout_graceful_shutdown=round(settings.grace_seconds),
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
    )
    try:
        config.load()
    except (ssl.SSLError, OSError) as error:
        raise SettingsError(
            f"--tls-cert {settings.tls_certificate} and --tls-key {settings.tls_key}: expected a "
            f"certificate and its key in PEM without a password ({type(error).__name__})"
        ) from error
    return config


def _listen(settings: SidecarSettings) -> socket.socket:
    try:
        found = socket.getaddrinfo(
            settings.host.strip("[]"), settings.port, type=socket.SOCK_STREAM
        )
        return socket.create_server(found[0][4][:2], family=found[0][0], backlog=CONNECTIONS)
    except OSError as error:
        raise SidecarError(
            f"--host {settings.host} --port {settings.port}: can't listen there: {error.strerror}"
        ) from error


def _warn(settings: SidecarSettings) -> None:
    if not settings.keys:
        log.warning("there are no keys: whoever reaches %s may use this guard", settings.host)
    if settings.keys and settings.tls_key is None and settings.host not in ("127.0.0.1", "::1"):
        log.warning("keys and texts go over the network in the clear: there is no TLS")
    if settings.policy.on_error == "allow":
        log.warning("what can't be scored goes out unguarded: on_error is allow")
    if settings.policy.mode == "shadow":
        log.warning("shadow mode: verdicts are recorded, and nothing is held back")


def _close(service: Service) -> None:
    closing = threading.Thread(target=service.close, daemon=True)
    closing.start()
    closing.join(CLOSE_SECONDS)
    if closing.is_alive():
        # Threads can't be ended, and Python would wait for them without a bound.
        log.error("a check that was given up still runs: not waiting for it any longer")
        logging.shutdown()
        os._exit(1)
