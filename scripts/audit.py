"""Try to break what hides a client's update: `python scripts/audit.py model=detector:small`.

Runs every attack on what one client exports of its own episodes, under every mask, for an attacker
who averages T exports; prints the table and saves it as Markdown, JSON and a page in `out`.

    python scripts/audit.py model=detector:small privacy=none,aegis,aegis_extended exports=1,16,100
    python scripts/audit.py model=gpt2,bert attacks=paper,candidates --gate rouge1=0.05
    python scripts/audit.py model=all-text --json figures.json

Families of transformers are audited in as many processes as there are cores (`workers=1`: in one).

With `utility=SILOS` it also runs whole federations on them and says what masks cost in AUROC.

Exit code 0; 1 where a gate is broken, which is told in words; 2 after an error.
"""

import sys
from collections.abc import Sequence

from rich.console import Console

from fglguard.errors import FglguardError
from fglguard.files import require_folder_of
from scripts.auditing.files import write_audit, write_summary
from scripts.auditing.gate import blunt, broken
from scripts.auditing.models import run_audit
from scripts.auditing.options import read_options
from scripts.auditing.table import print_audit


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit one model.

    Returns:
        0; 1 where a gate is broken; 2 after an error; 130 after an interrupt.
    """
    console, progress = Console(), Console(stderr=True)
    try:
        options = read_options(arguments, __doc__)
        if options.json is not None:
            require_folder_of(options.json)
        audit = run_audit(options, lambda text: progress.print(text, highlight=False))
        print_audit(audit, console)
        for file in write_audit(audit, options.out):
            print(file)
        if options.json is not None:
            write_summary(audit, options.json)
        failures, warnings = broken(audit, options.gates), blunt(audit, options.gates)
    except (FglguardError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for failure in failures:
        print(f"gate broken: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
