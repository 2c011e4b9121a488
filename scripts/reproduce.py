"""Make the tables of results: `python scripts/reproduce.py table=main corpus.root=FOLDER`.

Every cell is a federated run, kept in `folder` (.fglguard/reproduce) and used again where it is
complete with the same settings, so that an interrupted table goes on where it stopped. Tables go to
`out` as JSON and Markdown, and into their sections of `page` (docs/results.md).
"""

import sys
from collections.abc import Callable, Mapping, Sequence

from fglguard.errors import FglguardError
from scripts.reproducing import (
    ablations_table,
    adaptive_table,
    arms_table,
    calibration_table,
    main_table,
    peers_table,
    transfer_table,
)
from scripts.reproducing.laboratory import Laboratory
from scripts.reproducing.options import read_options
from scripts.reproducing.page import Page

TABLES: Mapping[str, Callable[[Laboratory], Page]] = {
    "main": main_table.make,
    "arms": arms_table.make,
    "transfer": transfer_table.make,
    "ablations": ablations_table.make,
    "peers": peers_table.make,
    "adaptive": adaptive_table.make,
    "calibration": calibration_table.make,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Make one table or all.

    Returns:
        0; 2 after an error, or where a run failed, which is named once the tables are written;
        130 after an interrupt.
    """
    try:
        options = read_options(sys.argv[1:] if arguments is None else arguments, list(TABLES))
        laboratory = Laboratory(options)
        for name in TABLES if options.table == "all" else [options.table]:
            page = TABLES[name](laboratory)
            for file in page.write(options.out, options.page):
                print(file)
        for trial, reason in laboratory.failed.items():
            print(f"failed: {trial.arm} ({trial.cell}): {reason}", file=sys.stderr)
    except (FglguardError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    return 2 if laboratory.failed else 0


if __name__ == "__main__":
    sys.exit(main())
