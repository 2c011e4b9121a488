"""The table as files: CSV, Parquet, Markdown."""

from pathlib import Path

import polars as pl

from fglguard.files import write_atomically
from scripts.collecting.intervals import mean_over_seeds
from scripts.collecting.tidy import FIGURES, MEAN


def write_table(frame: pl.DataFrame, settings: list[str], folder: Path) -> list[Path]:
    """Write `runs.csv`, `runs.parquet` and `runs.md`, which has the means over seeds first.

    Args:
        frame: The tidy table.
        settings: Its columns that hold settings that vary.
        folder: Where files go.
    """
    files = [folder / f"runs.{kind}" for kind in ("csv", "parquet", "md")]
    with write_atomically(files[0]) as file:
        frame.write_csv(file)
    with write_atomically(files[1]) as file:
        frame.write_parquet(file)
    with write_atomically(files[2]) as file:
        file.write(_page(frame, settings).encode())
    return files


def over_seeds(frame: pl.DataFrame, settings: list[str]) -> pl.DataFrame:
    """A row a configuration: means over seeds of the domains' mean, +- half the t-interval."""
    keys = ["strategy", "partition", "clients", *settings]
    means = frame.filter(pl.col("domain") == MEAN)
    records = []
    for values, rows in means.group_by(keys, maintain_order=True):
        record = dict(zip(keys, values, strict=True)) | {"seeds": rows["seed"].n_unique()}
        records.append(record | {name: _told(rows[name].to_list()) for name in FIGURES})
    return pl.DataFrame(records, infer_schema_length=None)


def _told(values: list[float | None]) -> str:
    mean = mean_over_seeds(values)
    if mean is None:
        return "undefined"
    return f"{mean.mean:.3f}" + ("" if mean.half is None else f" ± {mean.half:.3f}")


def _page(frame: pl.DataFrame, settings: list[str]) -> str:
    return (
        "# Means over seeds\n\n"
        "Of the mean over domains; ± half the 95 % t-interval over seeds, none with one seed.\n\n"
        f"{_markdown(over_seeds(frame, settings))}\n\n"
        "# Runs\n\n"
        "A row a run and domain; `_low` and `_high` bound 95 % intervals from a bootstrap over "
        "task groups.\n\n"
        f"{_markdown(frame)}\n"
    )


def _markdown(frame: pl.DataFrame) -> str:
    options = {
        "tbl_formatting": "MARKDOWN",
        "tbl_hide_column_data_types": True,
        "tbl_hide_dataframe_shape": True,
        "tbl_rows": -1,
        "tbl_cols": -1,
        "tbl_width_chars": 65_535,
        "fmt_str_lengths": 10_000,
        "float_precision": 4,
    }
    with pl.Config(**options):
        return str(frame)
