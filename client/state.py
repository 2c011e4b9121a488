"""What a client keeps between rounds, on disk: a process forgets, and a thousand clients fit."""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import numpy as np
import safetensors.numpy
from flwr.app import Context
from numpy.typing import NDArray
from safetensors import SafetensorError

from client.identity import is_simulated
from fglguard.errors import SettingsError, StateError
from fglguard.files import write_atomically

Vectors = dict[str, NDArray[np.float32]]

_FILE = re.compile(r"round-(\d{4,})\.safetensors")


class ClientState:
    """Named flat float32 vectors, one file a round that saved any.

    Args:
        folder: Where; made when something is saved.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, since: int) -> Vectors:
        """What was saved in round `since`; nothing if nothing is there.

        Args:
            since: The last round in which the server used this client's update; 0: never yet. What
                was saved later belongs to updates that came too late, or to attempts that the
                server has given up.

        Raises:
            StateError: The file is damaged or holds something else.
        """
        path = self._path(since)
        if not path.exists():
            return {}
        try:
            vectors = safetensors.numpy.load(path.read_bytes())
        except (SafetensorError, ValueError, KeyError) as error:
            raise StateError(f"{path}: expected a safetensors file, got: {error}") from error
        for name, vector in vectors.items():
            if vector.dtype != np.float32 or vector.ndim != 1:
                raise StateError(
                    f"{path}: {name}: expected a flat float32 vector, got {vector.dtype} of shape "
                    f"{vector.shape}"
                )
        return vectors

    def save(
        self, server_round: int, vectors: Mapping[str, NDArray[np.float32]], since: int
    ) -> None:
        """Write a round's vectors; of the others keep those that `load(since)` reads.

        Those are what this round is done again from, should the server not use it or be killed.
        """
        with write_atomically(self._path(server_round), mode=0o600) as file:
            file.write(safetensors.numpy.save(dict(vectors)))
        rounds = self._rounds()
        for number in set(rounds) - {server_round, since}:
            self._path(number).unlink(missing_ok=True)

    def _path(self, server_round: int) -> Path:
        return self.folder / f"round-{server_round:04d}.safetensors"

    def _rounds(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        matches = [_FILE.fullmatch(child.name) for child in self.folder.iterdir()]
        return sorted(int(match[1]) for match in matches if match)


def state_of(context: Context, run_folder: str, site: str) -> ClientState:
    """The state of a client in a run.

    A simulated client keeps it in the run's folder; a real site beside its silo, under the name of
    the run's folder, since that folder is on the server's disk.

    Raises:
        SettingsError: The run folder's name can't be a folder's name at the site.
    """
    if is_simulated(context):
        # A site may be named after anything, such as a model with a slash in its name.
        name = quote(site, safe=" ")
        return ClientState(Path(run_folder) / "clients" / re.sub(r"^\.", "%2E", name))
    data = Path(str(context.node_config["data-path"]))
    return ClientState(data / "state" / name_at_site(run_folder))


def name_at_site(run_folder: str) -> str:
    """What a real site calls a run by in paths of its own: the name of the run's folder.

    Raises:
        SettingsError: It can't be a folder's name at the site.
    """
    name = Path(run_folder).name
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name) or not name.strip("."):
        raise SettingsError(
            f"run_folder: expected a last name of letters, digits, '.', '_' and '-', got {name!r}"
        )
    return name
