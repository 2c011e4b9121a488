"""Versions: of this Python, of the packages, and of the program that the kit starts."""

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

from packaging.specifiers import SpecifierSet

from fglguard.errors import FederationError
from scripts.provisioning.checks.finding import Finding, Findings, found
from scripts.provisioning.kit_record import KitRecord
from scripts.provisioning.programs import program

SECONDS = 60.0


def check_versions(record: KitRecord, started: str) -> Findings:
    """What is installed against what the kit was made with.

    Args:
        record: The kit's.
        started: The program that start.sh becomes.
    """
    here = ".".join(map(str, sys.version_info[:3]))
    if here not in SpecifierSet(record.python):
        yield Finding(f"this is Python {here}, expected {record.python}", "install another Python")
    for package, expected in record.versions.items():
        try:
            installed = version(package)
        except PackageNotFoundError:
            installed = "none"
        if installed != expected:
            yield _differs(package, expected, installed)
    yield from _program(record, started)


def _program(record: KitRecord, started: str) -> Findings:
    try:
        path = program(started)
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except FederationError as error:
        yield found(error, "install the project, or set FGLGUARD_BIN")
        return
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding(f"{started} --version: {error}", "install the project again")
        return
    said = re.search(r"version: (\S+)", done.stdout)
    of_program = said.group(1) if said else "no answer"
    if of_program != record.versions.get("flwr"):
        yield _differs(path, record.versions.get("flwr", "none"), of_program)


def _differs(name: str, expected: str, got: str) -> Finding:
    return Finding(
        f"{name}: expected version {expected}, which the kit was made with, got {got}",
        "install that version here, or have the kits made anew with the one that all will use",
    )
