"""For the owner of a site: `check` it before it takes part, and read the `log` of what left it.

    python scripts/site.py check --site north --data /srv/silo --require-privacy aegis
    python scripts/site.py log /srv/north/sent.jsonl

`check` answers one run's messages in this process, with the code of a real run, and sends nothing:
no connection is opened. What follows as key=value are settings of the run to be checked, as
`scripts/simulate.py` takes them. Exit code 0; 2 after an error.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from fglguard.errors import FglguardError
from fglguard.settings import RunSettings
from privacy.plans import LADDER
from scripts.command_line import hydra_errors_told
from scripts.configuration import composed_values
from scripts.site_log import by_round, log_table, read_log


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the two commands; returns the exit code."""
    parser = _parser()
    # argparse itself takes no settings between options and after them.
    chosen, settings = parser.parse_known_args(arguments)
    wrong = [one for one in settings if one.startswith("-") or "=" not in one]
    if wrong or (settings and chosen.command == "log"):
        parser.error(f"expected key=value, got {' '.join(wrong or settings)}")
    try:
        _check(chosen, settings) if chosen.command == "check" else _log(chosen.path)
    except (FglguardError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser(
        "check", help="a dry run that sends nothing", usage="%(prog)s [options] [key=value ...]"
    )
    check.add_argument("--site", required=True, help="the site's name on the roster")
    check.add_argument("--data", required=True, type=Path, help="its silo")
    check.add_argument("--require-privacy", default="none", help=", ".join(LADDER))
    log = commands.add_parser("log", help="what left the site, as a table")
    log.add_argument("path", type=Path, help="the file that `sent-log` names")
    return parser


def _log(path: Path) -> None:
    lines = read_log(path)
    console = Console()
    for run in dict.fromkeys(line["run"] for line in lines):
        own = [line for line in lines if line["run"] == run]
        console.print(log_table(own, f"What left this site in run {run}"))
        for server_round, count in by_round(own).items():
            console.print(f"round {server_round}: {count:,} bytes", highlight=False)
    total = sum(line["bytes"] for line in lines)
    console.print(f"{len(lines)} replies, {total:,} bytes in all", highlight=False)


def _check(chosen: argparse.Namespace, overrides: Sequence[str]) -> None:
    # Here, so that reading a log does not load torch.
    from scripts.site_check import check_site, node_config

    settings = RunSettings.from_flat(composed_values(overrides))
    own = node_config(chosen.site, chosen.data, chosen.require_privacy)
    found = check_site(settings, own)
    console = Console()
    records = [reply.record for reply in found.replies]
    title = f"What would leave site {found.site} (domain {found.domain})"
    console.print(log_table(records, title, times=False))
    privacy = settings.privacy
    run = f"privacy={privacy.name}, level {privacy.level}, kappa {privacy.kappa:g}"
    console.print(f"privacy floor {found.floor}: reached by the run ({run})", highlight=False)
    sizes = ", ".join(f"{name} {count}" for name, count in found.sizes.items())
    console.print(f"silo: {sizes}", highlight=False)
    for reply in found.replies:
        console.print(f"{reply.record['type']}: {reply.seconds:.2f} s", highlight=False)
    console.print(f"detector: {found.parameters:,} parameters; nothing was sent", highlight=False)


if __name__ == "__main__":
    with hydra_errors_told():
        sys.exit(main())
