"""The log of what left a site, read for its owner."""

import json
from collections.abc import Iterable
from pathlib import Path

from rich.table import Table

from client.sent_record import Described
from fglguard.errors import OutputError

HASH_CHARACTERS = 12


def read_log(path: Path) -> list[Described]:
    """The lines of a site's log, oldest first.

    Raises:
        OutputError: It can't be read, or a line is damaged; the text says which.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OutputError(f"{path}: expected a site's log, got: {error}") from error
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            record = json.loads(line)
            numbers = {name: int(record[name]) for name in ("bytes", "run")}
            # Logs from before it was written have none.
            lines.append({**record, **numbers, "received": int(record.get("received", 0))})
        except (ValueError, KeyError, TypeError) as error:
            raise OutputError(
                f"{path}:{number}: expected a line of a site's log, got damage"
            ) from error
    return lines


def log_table(lines: Iterable[Described], title: str, *, times: bool = True) -> Table:
    """A row for every record, by reply, and the bytes of all of them.

    Args:
        lines: Of the log.
        title: Of the table.
        times: Whether a reply's time is a column.
    """
    table = Table(title=title)
    for column in (*(("time",) if times else ()), "round", "message", "record"):
        table.add_column(column, no_wrap=True)
    table.add_column("content", overflow="fold")
    table.add_column("bytes", justify="right", no_wrap=True)
    table.add_column("SHA-256", no_wrap=True)
    replies = total = 0
    for line in lines:
        first = [str(line["round"]), line["type"]]
        first = [line["time"][5:19], *first] if times else first
        for row in _rows(line):
            table.add_row(*first, *row)
            first = [""] * len(first)
        replies, total = replies + 1, total + line["bytes"]
    table.add_section()
    table.add_row(*[""] * (3 if times else 2), "all", f"{replies} replies", f"{total:,}", "")
    return table


def _rows(line: Described) -> list[tuple[str, str, str, str]]:
    if "error" in line:
        reason = line["error"]["reason"].partition("\n")[0]
        return [("error", reason, f"{line['bytes']:,}", "")]
    rows = [
        (
            record["name"],
            content(record),
            f"{record['bytes']:,}",
            record["sha256"][:HASH_CHARACTERS],
        )
        for record in line["records"]
    ]
    rest = line["bytes"] - sum(record["bytes"] for record in line["records"])
    return [*rows, ("(envelope)", "", f"{rest:,}", "")]


def content(record: Described) -> str:
    """What a record holds, in words."""
    if "arrays" in record:
        return ", ".join(_array(array) for array in record["arrays"])
    if "values" in record:
        return ", ".join(f"{name}={_number(value)}" for name, value in record["values"].items())
    return ", ".join(record["names"])


def by_round(lines: Iterable[Described]) -> dict[int, tuple[int, int]]:
    """Bytes that left and bytes that came, by round, in order; 0 is before the first."""
    sums: dict[int, tuple[int, int]] = {}
    for line in lines:
        sent, received = sums.get(line["round"], (0, 0))
        sums[line["round"]] = sent + line["bytes"], received + line["received"]
    return sums


def _array(array: Described) -> str:
    shape = "x".join(str(length) for length in array["shape"])
    return f"{array['name']}: {shape} {array['dtype']}"


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
