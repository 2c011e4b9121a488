"""The Flower ServerApp."""

import dataclasses

import torch
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fglguard.settings import RunSettings
from server.prompt_grid import PromptGrid
from server.results_table import print_results
from server.run import run
from server.run_folder import run_folder_path

torch.set_num_threads(1)

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the federation that the run's configuration describes and print its results."""
    settings = RunSettings.from_flat(context.run_config)
    # Flower's server process has a working directory of its own: say where things went.
    settings = dataclasses.replace(settings, output=str(run_folder_path(settings)))
    if settings.federation.roster:
        grid = PromptGrid(grid)
    print_results(run(grid, settings))
    print(f"run folder: {settings.output}")
