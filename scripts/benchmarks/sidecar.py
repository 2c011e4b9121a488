"""How many checks a second a sidecar answers on this machine, and how soon."""

import contextlib
import http.client
import itertools
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from fglguard.bundle import Bundle, save_bundle
from fglguard.encoder import Encoder

CONNECTIONS = 8
OFFERED = 200.0
"""Checks a second."""
CHECKS = 3000
STARTS_WITHIN, ANSWERS_WITHIN = 60.0, 10.0
CHECKS_AN_EPISODE = 5
TEXTS = 20
_LISTENING = "listening on http://127.0.0.1:"


def sidecar(bundle: Bundle, encoder: Encoder, events: list[dict[str, Any]]) -> dict[str, float]:
    """Checks of answers whose texts the sidecar has embedded before, by 8 connections on loopback.

    - `sidecar.rps`: answered a second when each connection asks again as soon as it is answered.
    - `sidecar.busy_p99_ms`: of those.
    - `sidecar.p99_ms`: at 200 checks a second, each counted from when it was due, so that one that
      waits for a late one before it counts as late too.

    Args:
        bundle: The guard.
        encoder: Its encoder.
        events: What is said in each episode before its answers are checked.

    Raises:
        RuntimeError: The sidecar did not start, or did not answer with a verdict.
    """
    with tempfile.TemporaryDirectory() as folder, _served(bundle, encoder, Path(folder)) as port:
        load = _Load(port, events)
        load.feed((2 * CHECKS + TEXTS) // CHECKS_AN_EPISODE)
        late = load.ask(OFFERED)
        began = time.perf_counter()
        busy = load.ask(float("inf"))
        seconds = time.perf_counter() - began
    return {
        "sidecar.rps": len(busy) / seconds,
        "sidecar.busy_p99_ms": 1e3 * float(np.percentile(busy, 99)),
        "sidecar.p99_ms": 1e3 * float(np.percentile(late, 99)),
    }


class _Load:
    """Connections that ask."""

    def __init__(self, port: int, events: list[dict[str, Any]]) -> None:
        self._port = port
        self._events = events
        self._local = threading.local()
        self._asked = itertools.count()

    def feed(self, episodes: int) -> None:
        """Tell of so many episodes, and have the answers' texts embedded."""
        for number in range(episodes):
            self._post(f"/v1/episodes/{number}/messages", {"events": self._events, "begins": True})
        for _ in range(TEXTS):
            self._check()

    def ask(self, rate: float) -> list[float]:
        """Ask at so many checks a second in all; each one's seconds until its answer."""
        began = time.perf_counter()

        def one(number: int) -> float:
            due = began + number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            asked = due if rate < float("inf") else time.perf_counter()
            self._check()
            return time.perf_counter() - asked

        with ThreadPoolExecutor(CONNECTIONS) as pool:
            return list(pool.map(one, range(CHECKS)))

    def _check(self) -> None:
        number = next(self._asked)
        event = {
            "episode": str(number // CHECKS_AN_EPISODE),
            "sender": "planner",
            "receivers": ["user"],
            "text": f"The bill is paid, receipt R-{number % TEXTS}",
        }
        verdict = self._post("/v1/check", {"event": event})
        if verdict["status"] != "success":
            raise RuntimeError(f"check {number}: {verdict['reason']}")

    def _post(self, path: str, body: object) -> dict[str, Any]:
        if not hasattr(self._local, "connection"):
            self._local.connection = http.client.HTTPConnection(
                "127.0.0.1", self._port, timeout=ANSWERS_WITHIN
            )
        connection: http.client.HTTPConnection = self._local.connection
        headers = {"Content-Type": "application/json"}
        connection.request("POST", path, json.dumps(body), headers)
        reply = connection.getresponse()
        text = reply.read()
        if reply.status != 200:
            raise RuntimeError(f"{path}: {reply.status} {text.decode()}")
        answer: dict[str, Any] = json.loads(text)
        return answer


@contextlib.contextmanager
def _served(bundle: Bundle, encoder: Encoder, folder: Path) -> Iterator[int]:
    save_bundle(
        folder / "guard",
        bundle.detector,
        encoder=encoder,
        graph=bundle.graph,
        calibration=bundle.calibration,
    )
    run = [sys.executable, "-c", "from fglguard.cli import app; app()", "serve"]
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*run, str(folder / "guard"), "--port", "0"], stdout=output, stderr=output
        )
    try:
        yield _port(process, log)
    finally:
        process.terminate()
        process.wait(STARTS_WITHIN)


def _port(process: "subprocess.Popen[bytes]", log: Path) -> int:
    deadline = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < deadline and process.poll() is None:
        _, found, rest = log.read_text(encoding="utf-8").partition(_LISTENING)
        if found and "\n" in rest:
            return int(rest.split()[0])
        time.sleep(0.05)
    raise RuntimeError(f"the sidecar did not start:\n{log.read_text(encoding='utf-8')}")
