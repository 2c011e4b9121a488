"""Run one simulation, in process, in worker processes or on Ray, and show how it goes."""

import json
import sys
from pathlib import Path

from fglguard.settings import RunSettings, values_of
from scripts.configuration import with_absolute_paths
from scripts.flower_run import flower_run
from scripts.progress import follow
from server.results_table import print_results
from server.run_folder import run_folder_path


def simulate_run(settings: RunSettings) -> Path:
    """Run a simulation to its end; returns its run folder.

    Raises:
        FglguardError: The run failed.
    """
    folder = run_folder_path(settings)
    settings = with_absolute_paths(settings, folder)
    if settings.federation.backend == "inprocess":
        _in_process(settings, folder)
    elif settings.federation.backend == "processes":
        _in_processes(settings, folder)
    else:
        with follow(folder, settings.federation.rounds):
            flower_run(settings)
        tell_results(folder)
    return folder


def tell_results(folder: Path) -> None:
    """Print the results of a run whose server was another process."""
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    print_results(results)
    # The server's own words about a missing report are in Flower's log.
    status = json.loads((folder / "status.json").read_text(encoding="utf-8"))
    if "report_error" in status:
        print(f"error: no report: {status['report_error']}", file=sys.stderr)
    print(f"run folder: {folder}")


def _in_process(settings: RunSettings, folder: Path) -> None:
    # Here, so that a run on Ray does not load torch twice.
    from client.app import app as client_app
    from server.app import app as server_app
    from server.inprocess import simulate

    with follow(folder, settings.federation.rounds):
        simulate(server_app, client_app, values_of(settings))


def _in_processes(settings: RunSettings, folder: Path) -> None:
    from client.app import app as client_app
    from server.app import app as server_app
    from server.local_grid import serve
    from server.process_grid import process_grid

    values = values_of(settings)
    # The grid forks, so it comes before the progress display's threads.
    with process_grid(client_app, values) as grid, follow(folder, settings.federation.rounds):
        serve(server_app, grid, values)
