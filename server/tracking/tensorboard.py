"""TensorBoard: event files in the run folder."""

from collections.abc import Mapping
from pathlib import Path

from fglguard.errors import SettingsError
from fglguard.settings import RunSettings, values_of
from server.tracking.tracker import Tracker

FOLDER = "tensorboard"
SHOWN = ("round/loss", "test/mean_auroc_raw", "test/pooled/auroc_raw", "test/pooled/recall")
"""Figures that the table of hyperparameters shows beside the settings."""


class TensorBoard(Tracker):
    """Scalars by round, and the settings as hyperparameters: `tensorboard --logdir RUN_FOLDER`.

    A resumed run writes another event file into the same folder; TensorBoard reads them as one.

    Args:
        folder: The run folder.
        settings: The run's.

    Raises:
        SettingsError: The package is not installed.
    """

    def __init__(self, folder: Path, settings: RunSettings) -> None:
        super().__init__(settings.federation.rounds)
        try:
            from torch.utils.tensorboard import SummaryWriter
            from torch.utils.tensorboard.summary import hparams
        except ImportError as error:
            raise SettingsError(
                "tracking.tensorboard: needs a package that is not installed: "
                "pip install 'fglguard[tracking]'"
            ) from error
        self._writer = SummaryWriter(str(folder / FOLDER))
        experiment, start, self._end = hparams(values_of(settings), dict.fromkeys(SHOWN))
        for summary in (experiment, start):
            self._writer.file_writer.add_summary(summary)

    def write(self, step: int, figures: Mapping[str, float]) -> None:
        """Add scalars, and see that they reach the disk."""
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def close(self, error: str | None) -> None:
        """Close the event file; a failed run's reason stands under `error`."""
        if error is None:
            self._writer.file_writer.add_summary(self._end)
        else:
            self._writer.add_text("error", error)
        self._writer.close()
