"""A bundle with the hashed-words encoder, and real sidecar processes on loopback."""

import contextlib
import re
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import httpx
import numpy as np
import pytest
import torch
from starlette.testclient import TestClient

from fglguard.bundle import save_bundle
from fglguard.calibration import Calibration, ReferenceHistogram
from fglguard.detector import build_detector
from fglguard.encoder import load_encoder
from fglguard.graph import GraphSettings
from fglguard.sidecar.app import make_app
from fglguard.sidecar.loading import load_guard
from fglguard.sidecar.service import Service
from fglguard.sidecar.settings import SidecarSettings

KEY = "a-key-for-tests-only-0001"
SETTINGS = GraphSettings(rounds=2)
HELLO = {
    "sender": "u",
    "text": "please do the job",
    "receivers": ["a"],
    "agents": {"u": "user", "a": "agent"},
}


def said(text="please do the job", **changes):
    """A user's event as JSON."""
    return {**HELLO, "text": text, **changes}


def beginning(*events):
    """The body of an episode's first request: its first events."""
    return {"events": list(events) or [said(id="1")], "begins": True}


def answer(episode="e", text="done", **changes):
    """A check of an agent's answer as JSON."""
    event = {"episode": episode, "sender": "a", "text": text, "receivers": ["u"], **changes}
    return {"event": event}


def write_bundle(path, threshold=1.0, graph=SETTINGS, seed=2):
    """A guard that allows all (threshold 1) or blocks all (threshold 0)."""
    encoder = load_encoder("hashed-words")
    detector = build_detector("paper", encoder.dimension, seed)
    with torch.no_grad():
        detector.get_parameter("head_weight").mul_(20)
    calibration = Calibration(threshold, 0.1, "max_recall", 1.0, 0.0, 500, 500)
    counts = tuple(int(n) for n in np.bincount(np.arange(500) % 20, minlength=20))
    save_bundle(
        path,
        detector,
        encoder=encoder,
        graph=graph,
        calibration=calibration,
        reference=ReferenceHistogram(counts, counts),
    )
    return path


@pytest.fixture
def bundle(tmp_path):
    return write_bundle(tmp_path / "guard")


class Sidecar:
    """A process of `fglguard serve`, and what it printed."""

    def __init__(self, arguments, **popen):
        run = [sys.executable, "-c", "from fglguard.cli import app; app()", "serve"]
        self.process = subprocess.Popen(
            [*run, *map(str, arguments)], stderr=subprocess.PIPE, text=True, **popen
        )
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = re.search(r"listening on (\S+)", self.wait_for("listening on")).group(1)

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)

    @property
    def text(self):
        return "".join(self.lines)

    def wait_for(self, words, seconds=60):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = [line for line in self.lines if words in line]
            if found:
                return found[0]
            assert self.process.poll() is None or self._reader.is_alive(), self.text
            time.sleep(0.02)
        raise AssertionError(f"not said within {seconds} s: {words}\n{self.text}")

    def client(self, **options):
        options.setdefault("headers", {"Authorization": f"Bearer {KEY}"})
        return httpx.Client(base_url=self.url, timeout=30, **options)

    def stop(self, seconds=60):
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(seconds)
        self._reader.join(5)
        return code


@contextlib.contextmanager
def running(*arguments, **popen):
    """A sidecar process, on a free port unless told otherwise, ended with the context."""
    one = Sidecar(["--port", "0", *arguments], **popen)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.wait(30)


@pytest.fixture
def keys(tmp_path):
    path = tmp_path / "keys"
    path.touch(0o600)
    path.write_text(f"# the first\n{KEY}\n\nanother-key-for-tests-0002\n")
    return path


@pytest.fixture
def serve_in_process(bundle):
    """An app of real parts, asked without a network; closed at the end."""
    made = []

    def make(load=load_guard, **changes):
        settings = SidecarSettings(**{"bundle": bundle, "keys": (KEY,), **changes})
        service = Service(settings, partial(load, settings))
        made.append(service)
        app = make_app(service)
        headers = {"Authorization": f"Bearer {KEY}"}
        return service, TestClient(app, headers=headers, raise_server_exceptions=False)

    yield make
    for service in made:
        service.close()
