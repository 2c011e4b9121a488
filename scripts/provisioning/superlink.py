"""A running SuperLink, asked through Flower's own commands."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fglguard.errors import FederationError
from scripts.provisioning import listed_nodes
from scripts.provisioning.flower_config import CONNECTION, write_flower_config
from scripts.provisioning.layout import CA_CERTIFICATE
from scripts.provisioning.programs import program

SECONDS = 60.0
"""A command starts in 2 s; one that gets no answer never ends by itself."""
UNREGISTERED = "unregistered"


@dataclass(frozen=True)
class Node:
    """A node that the SuperLink knows.

    Attributes:
        id: Its node id.
        alive: Whether it is registered; a node that was unregistered never comes back.
    """

    id: int
    alive: bool


class SuperLinkCommands:
    """The SuperLink that a host's kit names.

    Args:
        kit: The host's kit.
        address: Where it is, as `kit.toml` says.
        port: Its port.
    """

    def __init__(self, kit: Path, address: str, port: int) -> None:
        self.kit, self.address, self.port = kit.resolve(), address, port

    def nodes(self) -> dict[bytes, Node]:
        """Every node by its public key (PEM).

        Raises:
            FederationError: The SuperLink can't be reached or refuses.
        """
        answer = self._run([sys.executable, listed_nodes.__file__, CONNECTION])
        return {
            entry["key"].encode("ascii"): Node(entry["node"], entry["status"] != UNREGISTERED)
            for entry in answer
        }

    def register(self, public_key: Path, name: str) -> int:
        """Register a key; returns the node id.

        Raises:
            FederationError: The SuperLink can't be reached or refuses the key.
        """
        answer = self._flwr("register", str(public_key), CONNECTION, "--name", name)
        return int(answer["node-id"])

    def unregister(self, node: int) -> None:
        """End a node's registration for good.

        Raises:
            FederationError: The SuperLink can't be reached, or knows no such node.
        """
        self._flwr("unregister", str(node), CONNECTION)

    def _flwr(self, *arguments: str) -> dict[str, Any]:
        answer = self._run([program("flwr"), "supernode", *arguments, "--format", "json"])
        if not isinstance(answer, dict) or not answer.get("success"):
            raise FederationError(f"flwr supernode {arguments[0]}: refused: {answer}")
        return answer

    def _run(self, command: list[str]) -> Any:
        with tempfile.TemporaryDirectory(prefix="fglguard-flower-") as folder:
            home = Path(folder)
            write_flower_config(home, self.address, self.port, self.kit / CA_CERTIFICATE)
            try:
                done = subprocess.run(
                    command,
                    cwd=home,
                    env={
                        **os.environ,
                        "FLWR_HOME": folder,
                        "FLWR_TELEMETRY_ENABLED": "0",
                        "FLWR_DISABLE_UPDATE_CHECK": "1",
                    },
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise FederationError(
                    f"{self.address}:{self.port}: no answer within {SECONDS:.0f} s; is the "
                    f"SuperLink up? Start it with {self.kit}/start.sh"
                ) from error
        try:
            return json.loads(done.stdout)
        except ValueError as error:
            said = (done.stderr or done.stdout).strip().splitlines()[-3:]
            raise FederationError(
                f"{self.address}:{self.port}: expected an answer of the SuperLink, got: "
                f"{' '.join(said)}; is it up? Start it with {self.kit}/start.sh"
            ) from error
