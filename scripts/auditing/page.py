"""The audit as one self-contained page: pictures over the number of exports, and the table."""

from collections.abc import Sequence

from fglguard.errors import ReportError
from fglguard.evaluation.report.style import STYLE
from fglguard.evaluation.report.svg import figure, inline_svg, place_axes
from fglguard.evaluation.report.theme import colour, series, stylesheet
from privacy.audit.detectors import MEMBERSHIP
from privacy.audit.findings import Audit
from scripts.auditing.table import (
    FAMILIES,
    FIGURES,
    OVERHEAD,
    UTILITY,
    Row,
    by_case,
    cells,
    head,
    legend,
    masked,
    open_lines,
    overhead_rows,
    rows_of,
    utility_rows,
)

_UNDRAWN = ("token_recall", "token_precision")
"""Figures that follow ROUGE-1."""
_PARTS = tuple(MEMBERSHIP)
"""Families whose best stands under `episodes` already."""
_HEIGHT = 2.4
_NULL = "muted"

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Audit of {{ audit.model }}</title>
<style>{{ stylesheet|safe }}
.pictures { display: grid; grid-template-columns: repeat(auto-fit,minmax(300px,1fr)); gap: 12px; }
.pictures figure { margin: 0; }
.wide { overflow-x: auto; }
.key span { display: inline-block; margin-right: 1.2em; }
.key i { display: inline-block; width: 1.6em; height: 0; border-top: 3px solid; margin-right: .4em;
  vertical-align: middle; }
</style>
</head>
<body><main>
<h1>What an update of {{ audit.model }} gives away</h1>
<p>Each line is the best of a family of attacks under one mask, over the number T of exports of the
same batch that the attacker averages. Grey is the same choice made on pure noise: an attack that
stays on it has learnt nothing.</p>
<p class="key">{% for name, tint, style in keys %}<span><i style="border-color:var(--{{ tint }});
border-top-style:{{ style }}"></i>{{ name }}</span>{% endfor %}</p>
<div class="pictures">
{% for title, svg in pictures %}<figure class="card"><figcaption>{{ title }}</figcaption>
{{ svg|safe }}</figure>
{% endfor %}</div>
<h2>What stays open</h2>
{% for line in open %}<p>{{ line }}</p>
{% endfor %}{% for note in audit.notes %}<p>{{ note }}</p>
{% endfor %}
<p>{{ legend }}</p>
{% for name, columns, rows in tables %}<h2>{{ name }}</h2>
<div class="wide"><table><thead><tr>{% for cell in columns %}<th scope="col">{{ cell }}</th>
{% endfor %}</tr></thead><tbody>
{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></div>
{% endfor %}
</main></body></html>
"""


def audit_page(audit: Audit) -> str:
    """The page: no script, nothing loaded from elsewhere.

    Raises:
        ReportError: matplotlib or jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ReportError(
            f"a page is laid out with jinja2 ({error}): pip install 'fglguard[report]'"
        ) from error
    rows = rows_of(audit)
    masks = list(dict.fromkeys(row.privacy for row in rows))
    keys = [(name, series(place)[0], "solid") for place, name in enumerate(masks)]
    settings = [[key, value] for key, value in audit.settings.items()]
    return (
        Environment(autoescape=True, undefined=StrictUndefined)
        .from_string(_PAGE)
        .render(
            audit=audit,
            legend=legend(rows),
            stylesheet=stylesheet() + STYLE,
            keys=[*keys, ("pure noise", _NULL, "dashed")],
            pictures=_pictures(rows, masks),
            open=open_lines(audit),
            tables=[
                *(
                    (case, head(rows), [cells(row, rows) for row in lines])
                    for case, lines in by_case(masked(rows)).items()
                ),
                *([("Overhead", OVERHEAD, overhead_rows(audit))] if audit.overhead else []),
                *([("Utility", UTILITY, utility_rows(audit))] if audit.utility else []),
                ("Settings", ("setting", "value"), settings),
            ],
        )
    )


def _pictures(rows: Sequence[Row], masks: Sequence[str]) -> list[tuple[str, str]]:
    grouped: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.family not in _PARTS and row.figure not in _UNDRAWN:
            grouped.setdefault((row.case, row.family, row.figure), []).append(row)
    pictures = []
    for number, ((case, family, name), lines) in enumerate(grouped.items()):
        title = f"{case}: {FAMILIES.get(family, family)}, {FIGURES.get(name, name)}"
        pictures.append((title, _draw(lines, masks, title, f"picture-{number}")))
    return pictures


def _draw(lines: Sequence[Row], masks: Sequence[str], title: str, identity: str) -> str:
    with figure(_HEIGHT) as drawn:
        axes = place_axes(drawn)
        exports = sorted({count for line in lines for count in line.scores})
        for line in lines:
            name, _ = series(masks.index(line.privacy))
            axes.plot(
                [exports.index(count) for count in line.scores],
                list(line.scores.values()),
                color=colour(name),
                linewidth=1.8,
                marker="o",
                markersize=5,
                label=line.privacy,
            )
            if line.null is not None:
                axes.plot(
                    [0, max(len(exports) - 1, 0.5)],
                    [line.null] * 2,
                    color=colour(_NULL),
                    linewidth=1.0,
                    linestyle=(0, (4, 3)),
                    zorder=1,
                )
        axes.set_ylim(-0.03, 1.03)
        axes.set_xlim(-0.3, max(len(exports) - 0.7, 0.7))
        axes.set_xticks(range(len(exports)), [f"T = {count}" for count in exports])
        axes.grid(axis="y")
        return inline_svg(drawn, identity, title, "; ".join(_told(line) for line in lines))


def _told(line: Row) -> str:
    scores = ", ".join(f"{score:.2f} at T = {count}" for count, score in line.scores.items())
    return f"{line.privacy}: {scores}"
