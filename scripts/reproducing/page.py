"""A table as JSON, as Markdown, and as a section of the page of results."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fglguard.errors import SettingsError
from fglguard.evaluation.bootstrap import Estimate
from fglguard.files import write_atomically


@dataclass(frozen=True)
class Page:
    """One table as it is written.

    Attributes:
        name: Of its files and of its section.
        record: What JSON holds.
        text: Markdown, without a heading of the first level.
    """

    name: str
    record: Mapping[str, Any]
    text: str

    def write(self, out: Path, page: Path | None) -> list[Path]:
        """Write `NAME.json`, `NAME.md`, and the section of `page`.

        Raises:
            SettingsError: The page has no section of that name.
        """
        files = [out / f"{self.name}.json", out / f"{self.name}.md"]
        with write_atomically(files[0]) as file:
            text = json.dumps(self.record, indent=2, allow_nan=False, ensure_ascii=False)
            file.write(text.encode() + b"\n")
        with write_atomically(files[1]) as file:
            file.write(self.text.encode())
        if page is not None and page.exists():
            replace_section(page, self.name, self.text)
            files.append(page)
        return files


def replace_section(page: Path, name: str, text: str) -> None:
    """Replace what stands between `<!-- table: NAME -->` and `<!-- end: NAME -->`.

    Raises:
        SettingsError: The page lacks one of the marks.
    """
    before = page.read_text(encoding="utf-8")
    start, end = f"<!-- table: {name} -->\n", f"<!-- end: {name} -->"
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(before):
        raise SettingsError(f"page: {page}: expected a section from {start.strip()} to {end}")
    after = pattern.sub(lambda _: f"{start}{text.rstrip()}\n{end}", before, count=1)
    with write_atomically(page) as file:
        file.write(after.encode())


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A pipe table; the first column is text, the others are figures."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    lines = [header, rule, *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def told(estimate: Estimate, *, signed: bool = False) -> str:
    """`.812 [.74, .87]`; n/a where there is no value."""
    if estimate.value is None:
        return "n/a"
    value = number(estimate.value, 3, signed=signed)
    if estimate.low is None or estimate.high is None:
        return value
    low = number(estimate.low, 2, signed=signed)
    return f"{value} [{low}, {number(estimate.high, 2, signed=signed)}]"


def number(value: float | None, digits: int = 3, *, signed: bool = False) -> str:
    """`.812`, with a sign where asked for; n/a for None."""
    if value is None:
        return "n/a"
    text = f"{value:{'+' if signed else ''}.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def reasons(named: Mapping[str, Estimate]) -> str:
    """A line for each figure that is undefined, with why."""
    lines = [f"- {name}: {e.reason}" for name, e in named.items() if e.value is None]
    return "\n".join(["Undefined:", "", *lines, ""]) if lines else ""


def record_of(estimate: Estimate) -> dict[str, Any]:
    """An estimate as JSON holds it."""
    return asdict(estimate)


def beside_paper(what: str, ours: Estimate, published: float) -> str | None:
    """A plain sentence where the published figure lies outside our interval; else None."""
    if ours.value is None or ours.low is None or ours.high is None:
        return None
    if ours.low <= published <= ours.high:
        return None
    side = "below" if ours.value < published else "above"
    return (
        f"{what}: ours is {told(ours)}, {side} the paper's {number(published)}, which lies outside "
        f"the interval."
    )
