"""For the owner of a site: `check` it before it takes part, and read the `log` of what left it.

    python scripts/site.py check --kit kits/north
    python scripts/site.py check --site north --data /srv/silo --require-privacy aegis
    python scripts/site.py log /srv/north/sent.jsonl

`check` answers one run's messages in this process, with the code of a real run, and sends nothing:
no connection is opened. What follows as key=value are settings of the run to be checked, as
`scripts/simulate.py` takes them. Exit code 0; 2 after an error.
"""

import argparse
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from fglguard.errors import FglguardError, SettingsError
from fglguard.settings import RunSettings
from privacy.plans import LADDER
from scripts.command_line import hydra_errors_told
from scripts.configuration import composed_values
from scripts.site_log import by_round, log_table, read_log

SITE_CONFIG = "site.toml"
"""The file of a site's kit that its SuperNode gets as node config."""


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
    check.add_argument("--kit", type=Path, help="the site's kit, which says the rest")
    check.add_argument("--site", help="the site's name on the roster")
    check.add_argument("--data", type=Path, help="its silo")
    check.add_argument("--require-privacy", help=", ".join(LADDER))
    log = commands.add_parser("log", help="what left the site, as a table")
    log.add_argument("path", type=Path, help="the file that `sent-log` names")
    return parser


def _log(path: Path) -> None:
    lines = read_log(path)
    console = Console()
    for run in dict.fromkeys(line["run"] for line in lines):
        own = [line for line in lines if line["run"] == run]
        console.print(log_table(own, f"What left this site in run {run}"))
        for server_round, (sent, received) in by_round(own).items():
            told = f"round {server_round}: {sent:,} bytes out, {received:,} in"
            console.print(told, highlight=False)
    sent, received = (sum(line[name] for line in lines) for name in ("bytes", "received"))
    told = f"{len(lines)} replies, {sent:,} bytes out in all, {received:,} in"
    console.print(told, highlight=False)


def _check(chosen: argparse.Namespace, overrides: Sequence[str]) -> None:
    # Here, so that reading a log does not load torch.
    from scripts.site_check import check_site

    settings = RunSettings.from_flat(composed_values(overrides))
    found = check_site(settings, _node_config(chosen))
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


def _node_config(chosen: argparse.Namespace) -> dict[str, Any]:
    """What the SuperNode would be given: the kit's, with what the command line says instead."""
    config: dict[str, Any] = {} if chosen.kit is None else _of_the_kit(chosen.kit / SITE_CONFIG)
    named = {
        "site": chosen.site,
        "data-path": chosen.data and str(chosen.data.resolve()),
        "require-privacy": chosen.require_privacy,
    }
    config |= {key: value for key, value in named.items() if value is not None}
    for key, option in (("site", "--site"), ("data-path", "--data")):
        if key not in config:
            raise SettingsError(f"{option}: expected it, or a --kit that says it, got neither")
    return config


def _of_the_kit(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: expected a site's node config, got: {error}") from error


if __name__ == "__main__":
    with hydra_errors_told():
        sys.exit(main())
