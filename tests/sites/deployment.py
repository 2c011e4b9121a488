"""A consortium's processes on loopback: a SuperLink with TLS and keys, and SuperNodes."""

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from scripts.flower.processes import BIN, end, environment, free_port, start, wait_until_up
from scripts.provisioning.key_pairs import new_bundle_key, public_text_of
from scripts.provisioning.kit_files import put_new_private
from scripts.provisioning.layout import BUNDLE_KEY
from tests.sites.certificates import write_certificates, write_key_pair

COMMAND_SECONDS = 120
CONNECT_SECONDS = 60


class Deployment:
    """A host's kit in `host/`, and processes that `close` ends whatever happened."""

    def __init__(self, folder):
        self.folder, self.host = folder, folder / "host"
        self.port = free_port()
        self.nodes, self.processes = {}, {}
        folder.mkdir(exist_ok=True)
        self.authority = write_certificates(self.host)
        put_new_private(self.host / BUNDLE_KEY, new_bundle_key())
        self.host_key = public_text_of((self.host / BUNDLE_KEY).read_bytes(), self.host)
        (self.host / "empty").mkdir()
        (self.host / "config.toml").write_text(
            '[superlink]\ndefault = "host"\n\n[superlink.host]\n'
            f'address = "127.0.0.1:{self.port}"\nroot-certificates = "{self.host}/ca.crt"\n'
        )

    def start_superlink(self):
        command = [
            "flower-superlink",
            *("--ssl-ca-certfile", "ca.crt", "--ssl-certfile", "server.pem"),
            *("--ssl-keyfile", "server.key", "--enable-supernode-auth"),
            *("--host", "127.0.0.1", "--port", str(self.port), "--database", "state.db"),
            "--disable-runtime-dependency-installation",
        ]
        process = self._start("superlink", command, self.host, self.host)
        wait_until_up(process, self.port, self.log("superlink"))

    def register(self, name):
        """Make a key pair and register it; returns the node id."""
        write_key_pair(self.folder / name)
        self.nodes[name] = self.flwr("supernode", "register", f"{self.folder / name}.pub")[
            "node-id"
        ]
        return self.nodes[name]

    def write_roster(self, sites):
        """Bind each site to the node that its name was registered as."""
        entries = [
            {"site": site.name, "domain": site.domain, "max_nodes": site.nodes}
            | {"node": self.nodes[site.name]}
            for site in sites
        ]
        (self.host / "roster.json").write_text(json.dumps({"sites": entries}))

    def start_site(
        self, name, data, *, key=None, claims=None, port=None, authority=None, code=None, **more
    ):
        """A SuperNode with the key of `name` that says it is `claims` (itself if not given).

        It keeps a log of what it sends and its guards. `port` is where it looks for the SuperLink,
        `authority` the folder of the certificate that it believes in, `code` a folder of its own
        code that Python looks into first.
        """
        home = self.folder / f"home-{name}"
        (home / "empty").mkdir(parents=True, exist_ok=True)
        config = {
            "site": claims or name,
            "data-path": str(data),
            "sent-log": self.folder / f"{name}.jsonl",
            "guards-path": self.folder / f"guards-{name}",
            "host-key": self.host_key,
            **more,
        }
        command = [
            "flower-supernode",
            *("--superlink", f"127.0.0.1:{port or self.port}"),
            *("--root-certificates", str((authority or self.host) / "ca.crt")),
            *("--auth-supernode-private-key", str(key or self.folder / name)),
            *("--host", "127.0.0.1", "--port", str(free_port())),
            *("--node-config", " ".join(f"{k}='{v}'" for k, v in config.items())),
        ]
        return self._start(name, command, home / "empty", home, code)

    def log(self, name):
        return self.folder / f"{name}.log"

    def wait_for(self, name, text, times=1, seconds=CONNECT_SECONDS):
        """Wait until a process has logged a text so many times."""
        deadline = time.monotonic() + seconds
        while self.log(name).read_text(errors="replace").count(text) < times:
            if time.monotonic() > deadline:
                raise AssertionError(f"{name} never said {text!r}:\n{self.log(name).read_text()}")
            time.sleep(0.2)

    def stop(self, name):
        """Let a process take its leave, as an administrator would."""
        end(self.processes.pop(name))

    def kill(self, name):
        """End a process and all it started at once."""
        os.killpg(self.processes[name].pid, signal.SIGKILL)
        self.processes.pop(name).wait(30)

    def pause(self, name):
        """Stop a process and all it started where they are."""
        os.killpg(self.processes[name].pid, signal.SIGSTOP)

    def go_on(self, name):
        """Let what was paused go on."""
        os.killpg(self.processes[name].pid, signal.SIGCONT)

    def flwr(self, *arguments):
        done = subprocess.run(
            [str(BIN / "flwr"), *arguments, "--format", "json"],
            cwd=self.host / "empty",
            env=environment(self.host),
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=True,
        )
        return json.loads(done.stdout)

    def close(self):
        for name, process in self.processes.items():
            with contextlib.suppress(ProcessLookupError):  # it may have been paused
                self.go_on(name)
            end(process)

    def _start(self, name, command, cwd, home, code=None):
        if self.log(name).exists():  # of the process before
            self.log(name).rename(self.folder / f"{name}.log.{time.monotonic_ns()}")
        variables = environment(Path(home))
        if code:
            variables["PYTHONPATH"] = os.pathsep.join([str(code), variables.get("PYTHONPATH", "")])
        process = start(command, Path(cwd), variables, self.log(name))
        self.processes[name] = process
        return process
