"""Make a consortium's kits, register its keys, and check a kit before anybody starts it.

    python scripts/provision.py consortium.yaml -o kits/
    python scripts/provision.py consortium.yaml -o kits/ --rotate SITE
    python scripts/provision.py register kits/host
    python scripts/provision.py --check kits/SITE

Run again after a change of the file, it changes nothing for those who stay. Exit code 0; 1 if a
check found something; 2 after an error. docs/deploy.md walks through all of it.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fglguard.errors import FglguardError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the three commands; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = given[0] if given and given[0] in _COMMANDS else "kits"
    if command != "kits":
        del given[0]
    try:
        return _COMMANDS[command](given)
    except (FglguardError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _kits(arguments: list[str]) -> int:
    from scripts.provisioning.consortium import read_consortium
    from scripts.provisioning.provisioning import Provisioning

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("consortium", type=Path, help="the consortium file (YAML)")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for the kits")
    parser.add_argument(
        "--rotate", action="append", default=[], metavar="SITE", help="new keys for it, or `host`"
    )
    chosen = parser.parse_args(arguments)
    consortium = read_consortium(chosen.consortium)
    provisioning = Provisioning(consortium, chosen.output, tuple(chosen.rotate))
    provisioning.run()
    for note in provisioning.notes or ["nothing new"]:
        print(note)
    return 0


def _register(arguments: list[str]) -> int:
    from scripts.provisioning.registration import register

    parser = argparse.ArgumentParser(prog="provision.py register")
    parser.add_argument("kit", type=Path, help="the host's kit, beside a SuperLink that is up")
    for note in register(parser.parse_args(arguments).kit) or ["nothing new"]:
        print(note)
    return 0


def _check(arguments: list[str]) -> int:
    from scripts.provisioning.checking import check_kit

    parser = argparse.ArgumentParser(prog="provision.py check")
    parser.add_argument("kit", type=Path, help="a kit, the host's or a site's")
    findings = check_kit(parser.parse_args(arguments).kit)
    for finding in findings:
        print(finding)
    if not findings:
        print("nothing wrong")
    return 1 if findings else 0


_COMMANDS = {"kits": _kits, "register": _register, "check": _check, "--check": _check}

if __name__ == "__main__":
    sys.exit(main())
