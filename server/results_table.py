"""A run's results as a table."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from server.clients_table import print_clients
from server.privacy_record import privacy_line

WIDTH = 140
FLOORS = {"counts": "counts", "tfidf": "TF-IDF", "hashed_words": "hashed words"}


def print_results(results: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the guard's figures by domain, text floors, threshold, clients and their fairness."""
    console = console or Console(width=WIDTH, markup=False)
    console.print(results_table(results))
    calibration = results["calibration"]
    console.print(
        _threshold(calibration)
        + f" (over-refusal budget {calibration['budget']:g}; on calibration data: recall "
        f"{_plain(calibration['recall'])}, FPR {_plain(calibration['false_positive_rate'])}, "
        f"{calibration['benign']} safe and {_count(calibration['unsafe'])} unsafe episodes)"
    )
    for line in _calibration_lines(calibration):
        console.print(line)
    if calibration["bins"] and results["floors"] is None:
        console.print("test figures come from histograms too: to a bin's width, without intervals")
    if results["local"]:
        console.print(
            f"every client on its own: mean AUROC {_plain(results['local']['own_domain'])} in its "
            f"own domain, {_plain(results['local']['other_domains'])} in the others"
        )
    for line in _reasons(results):
        console.print(line)
    print_clients(results, console)
    console.print(privacy_line(results["privacy"]))
    seconds = results["seconds"]
    console.print(
        f"{results['parameters']:,} parameters from {len(results['clients'])} clients; "
        f"training {seconds['train']:.0f} s of {seconds['total']:.0f} s"
    )


def results_table(results: Mapping[str, Any]) -> Table:
    """One row a domain, one for all pooled, and the mean AUROC over domains."""
    table = Table(title="Held-out test split, 95 % intervals")
    table.add_column("domain")
    table.add_column("episodes\n(unsafe)", justify="right")
    for title in ("AUROC\nraw", "AUROC\ncorroborated", "recall", "FPR", "over-\nrefusal"):
        table.add_column(title, justify="right")
    floors = results["floors"]
    for title in FLOORS.values():
        table.add_column(f"floor:\n{title}", justify="right", style="dim")
    for name, figures in results["test"]["domains"].items():
        values = [_floor(floors, floor, name) for floor in FLOORS]
        table.add_row(name, *_cells(figures), *values)
    table.add_section()
    table.add_row("pooled", *_cells(results["test"]["pooled"]), *["" for _ in FLOORS])
    mean = _plain(results["test"]["mean_auroc_raw"])
    means = [_plain(floors[floor]["mean"]) if floors else "-" for floor in FLOORS]
    table.add_row("mean of domains", "", mean, "", "", "", "", *means)
    return table


def _threshold(calibration: Mapping[str, Any]) -> str:
    if "guards" in calibration:
        return f"{calibration['guards']} thresholds, a client each"
    threshold = calibration["threshold"]
    if threshold is None:
        return "NO THRESHOLD: nothing is blocked"
    return f"threshold {threshold:.4f}"


def _calibration_lines(calibration: Mapping[str, Any]) -> list[str]:
    """The rule, where it is not the plain one on pairs, what went wrong, and domains' own."""
    lines = []
    if calibration["rule"] != "plain" or calibration["by"] != "episode":
        risk = "" if calibration["risk"] is None else f" at risk {calibration['risk']:g}"
        lines.append(f"rule {calibration['rule']}{risk}, by {calibration['by']}")
    if calibration["bins"]:
        lines.append(f"from histograms of {calibration['bins']} bins")
    if calibration["reason"] and "guards" not in calibration:
        lines.append(f"no unsafe calibration episode is blocked: {calibration['reason']}")
    for name, own in calibration["domains"].items():
        if "fallback" in own:
            lines.append(f"{name}: the pooled threshold, for {own['fallback']}")
        else:
            why = f": {own['reason']}" if own["reason"] else ""
            lines.append(f"{name}: {_threshold(own)}{why}")
    return lines


def _count(value: int | None) -> str:
    return "-" if value is None else str(value)


def _cells(figures: Mapping[str, Any]) -> list[str]:
    names = ("auroc_raw", "auroc_corroborated", "recall", "false_positive_rate", "over_refusal")
    return [
        f"{figures['episodes']} ({figures['unsafe']})",
        *(_interval(figures[name]) for name in names),
    ]


def _interval(estimate: Mapping[str, Any]) -> str:
    if estimate["value"] is None:
        return "undefined"
    if estimate["low"] is None:
        return f"{estimate['value']:.3f}"
    return f"{estimate['value']:.3f}\n[{estimate['low']:.2f}, {estimate['high']:.2f}]"


def _floor(floors: Mapping[str, Any] | None, floor: str, domain: str) -> str:
    return "-" if floors is None else _plain(floors[floor]["domains"].get(domain))


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _reasons(results: Mapping[str, Any]) -> list[str]:
    lines = []
    for domain, figures in results["test"]["domains"].items():
        for name, estimate in figures.items():
            if isinstance(estimate, Mapping) and estimate["value"] is None:
                lines.append(f"{domain}, {name}: {estimate['reason']}")
    for name, floor in (results["floors"] or {}).items():
        if floor["mean"] is None:
            lines.append(f"floor {FLOORS[name]}: {floor['reason']}")
            continue
        lines += [f"{d}, floor {FLOORS[name]}: {why}" for d, why in floor["reasons"].items()]
    if results["floors"] is None:
        lines.append("no text floors: they need every site's text in one place")
    return lines
