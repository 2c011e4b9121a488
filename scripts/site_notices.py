"""What a run's folder says of the sites, told to the person at the host."""

import json
import sys
from pathlib import Path

from server.delivery import DELIVERED, FAILED
from server.run_folder import DELIVERY, ENROLMENT


class EnrolmentNotice:
    """Tells who takes part, and who is left out, as soon as the run folder says so.

    Args:
        folder: The run's.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / ENROLMENT
        self._before = self._stamp()

    def tell_once(self) -> None:
        """Tell it if it is news."""
        stamp = self._stamp()
        if stamp == self._before:
            return
        self._before = stamp
        record = json.loads(self._path.read_text(encoding="utf-8"))
        present = ", ".join(one["site"] for one in record["present"])
        print(f"sites that take part: {present}", file=sys.stderr)
        for one in record["left_out"]:
            print(f"left out: {one['reason']}", file=sys.stderr)

    def _stamp(self) -> tuple[int, int] | None:
        if not self._path.exists():
            return None
        found = self._path.stat()
        return found.st_ino, found.st_mtime_ns


def tell_delivery(folder: Path) -> int:
    """Say which sites have the guard of a run.

    Returns:
        The exit code: 1 if a site was sent it and has not confirmed it, else 0.
    """
    path = folder / DELIVERY
    if not path.exists():
        print("the guard was not sent to the sites: the kit has no key to sign it", file=sys.stderr)
        return 0
    record = json.loads(path.read_text(encoding="utf-8"))
    having = ", ".join(one["site"] for one in record if one["state"] == DELIVERED)
    print(f"sites that have the guard: {having or 'none'}")
    for one in record:
        if one["state"] != DELIVERED:
            print(f"site {one['site']} has no guard of this run: {one['reason']}", file=sys.stderr)
    return int(any(one["state"] == FAILED for one in record))
