"""Run a federation over real sites: `python scripts/federate.py HOST_KIT federation.rounds=40`.

HOST_KIT is the host's kit, whose SuperLink is up; this runs on the host, beside it. What follows is
what `scripts/simulate.py` takes. What every run over these sites needs is the kit's (`run.toml`),
unless named; fewer sites than the kit's minimum are refused. After a failure `resume=RUN_FOLDER`
goes on from the last checkpoint. At the end the guard is signed with the kit's `host.key` and sent
to each site that wants it.

Exit code 0; 1 if the run is whole and a site did not get its guard; 2 after an error.
"""

import argparse
import contextlib
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fglguard.errors import FglguardError
from fglguard.settings import RunSettings
from scripts.command_line import hydra_errors_told
from scripts.flower.commands import Flower, FlowerError
from scripts.flower.connection import Connection, read_connection
from scripts.flower.processes import environment
from scripts.flower.waiting import require_completed, wait_for_end
from scripts.kit_settings import run_settings
from scripts.progress import follow
from scripts.simulation import tell_results
from scripts.site_notices import EnrolmentNotice, tell_delivery


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
        return tell_delivery(folder)
    except (FglguardError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        _tell_resume(chosen.kit, folder)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the run is stopped", file=sys.stderr)
        _tell_resume(chosen.kit, folder)
        return 130


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
            state = wait_for_end(
                flower, run_id, settings, EnrolmentNotice(Path(settings.output)).tell_once
            )
        except BaseException:
            with contextlib.suppress(FlowerError):  # what ended the wait is what counts
                flower.stop(run_id)
            raise
        require_completed(settings, state, "the SuperLink's log on the host tells why")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _tell_resume(kit: Path, folder: Path | None) -> None:
    if folder is None or not any((folder / "checkpoints").glob("round-*.safetensors")):
        return
    command = ["python", "scripts/federate.py", str(kit), f"resume={folder}"]
    print(f"go on from the last checkpoint with:\n  {shlex.join(command)}", file=sys.stderr)


if __name__ == "__main__":
    with hydra_errors_told():
        sys.exit(main())
