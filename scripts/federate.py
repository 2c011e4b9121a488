"""Run a federation over real sites: `python scripts/federate.py HOST_KIT federation.rounds=40`.

HOST_KIT is the host's kit, whose SuperLink is up; this runs on the host, beside it. What follows is
what `scripts/simulate.py` takes. The roster and the number of clients are the kit's, unless named.
After a failure `resume=RUN_FOLDER` goes on from the last checkpoint.
"""

import argparse
import contextlib
import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fglguard.errors import FglguardError
from fglguard.settings import RunSettings, Scalar
from scripts.command_line import hydra_errors_told
from scripts.configuration import composed_values, with_absolute_paths
from scripts.flower.commands import Flower, FlowerError
from scripts.flower.connection import Connection, read_connection
from scripts.flower.processes import environment
from scripts.flower.waiting import require_completed, wait_for_end
from scripts.progress import follow
from scripts.resume import with_settings_of_the_folder
from scripts.simulation import tell_results
from server.roster import read_roster
from server.run_folder import ENROLMENT, run_folder_path


def main(arguments: Sequence[str] | None = None) -> int:
    """Submit, follow, tell how it ended; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kit", type=Path, metavar="HOST_KIT", help="the host's kit")
    parser.add_argument("settings", nargs="*", metavar="key=value", help="settings of the run")
    chosen = parser.parse_args(arguments)
    folder: Path | None = None
    try:
        connection = read_connection(chosen.kit)
        settings = run_settings(connection, chosen.settings)
        folder = Path(settings.output)
        with follow(folder, settings.federation.rounds):
            federate(connection, settings)
        tell_results(folder)
    except (FglguardError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        _tell_resume(chosen.kit, folder)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the run is stopped", file=sys.stderr)
        _tell_resume(chosen.kit, folder)
        return 130
    return 0


def run_settings(connection: Connection, overrides: Sequence[str]) -> RunSettings:
    """The settings of a run over a kit's sites.

    Raises:
        FglguardError: A value is unknown or out of range, or the folder to resume holds no run.
    """
    values = composed_values(overrides)
    if values["resume"]:
        values = with_settings_of_the_folder(values, overrides)
    else:
        values |= _of_the_kit(connection, {override.partition("=")[0] for override in overrides})
    settings = RunSettings.from_flat(values)
    return with_absolute_paths(settings, run_folder_path(settings))


def _of_the_kit(connection: Connection, named: set[str]) -> dict[str, Scalar]:
    roster = connection.roster
    own: dict[str, Scalar] = {
        "federation.roster": str(roster),
        "federation.clients": len(read_roster(roster).members),
    }
    return {key: value for key, value in own.items() if key not in named}


def federate(connection: Connection, settings: RunSettings) -> None:
    """Run the app on a SuperLink that is up, and wait for its end within the run's bounds.

    Whatever ends the wait early stops the run too, so that nothing goes on unwatched.

    Raises:
        FederationError: The run failed, or the SuperLink can't be reached.
    """
    home = Path(tempfile.mkdtemp(prefix="fglguard-federate-"))
    try:
        connection.write(home)
        flower = Flower(home, environment(home))
        run_id = flower.submit(settings)
        try:
            state = wait_for_end(flower, run_id, settings, _Enrolment(settings).tell_once)
        except BaseException:
            with contextlib.suppress(FlowerError):  # what ended the wait is what counts
                flower.stop(run_id)
            raise
        require_completed(settings, state, "the SuperLink's log on the host tells why")
    finally:
        shutil.rmtree(home, ignore_errors=True)


class _Enrolment:
    """Tells who is left out as soon as the run folder says so."""

    def __init__(self, settings: RunSettings) -> None:
        self._path = Path(settings.output) / ENROLMENT
        self._before = self._stamp()

    def tell_once(self) -> None:
        stamp = self._stamp()
        if stamp == self._before:
            return
        self._before = stamp
        record = json.loads(self._path.read_text(encoding="utf-8"))
        present = ", ".join(one["site"] for one in record["present"])
        print(f"sites that take part: {present}", file=sys.stderr)
        for one in record["left_out"]:
            print(f"left out: {one['reason']}", file=sys.stderr)

    def _stamp(self) -> tuple[int, int] | None:
        if not self._path.exists():
            return None
        found = self._path.stat()
        return found.st_ino, found.st_mtime_ns


def _tell_resume(kit: Path, folder: Path | None) -> None:
    if folder is None or not any((folder / "checkpoints").glob("round-*.safetensors")):
        return
    command = ["python", "scripts/federate.py", str(kit), f"resume={folder}"]
    print(f"go on from the last checkpoint with:\n  {shlex.join(command)}", file=sys.stderr)


if __name__ == "__main__":
    with hydra_errors_told():
        sys.exit(main())
