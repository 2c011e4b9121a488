"""How a round's cost grows with clients, local steps and graphs; one picture."""

from dataclasses import replace
from pathlib import Path

import matplotlib
import torch

from scripts.benchmarks.simulation import K8, K100, K1000, Case, ratios

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "images" / "growth.svg"
OURS, PLAIN = "round_cpu_s", "plain_round_cpu_s"
TICKS = (0.5, 1, 2, 5, 10, 20)

Points = list[tuple[int, Case]]

PANELS: dict[str, tuple[str, Points]] = {
    "clients": (
        "clients in a round\n(of 1000; 2 steps each)",
        [(n, replace(K1000, sampled=n, rounds=1)) for n in (10, 30, 100, 300)],
    ),
    "steps": (
        "local steps\n(8 clients of 320 graphs)",
        [(10 * epochs, replace(K8, epochs=epochs, rounds=1)) for epochs in (1, 2, 4)],
    ),
    "graphs": (
        "graphs a client\n(8 clients in a round; 1 epoch)",
        [
            (12800 // n, replace(K100, clients=n, epochs=1, sampled=8, rounds=1, silo_of=K100))
            for n in (200, 100, 50, 25)
        ],
    ),
}


def growth() -> dict[str, float]:
    """CPU seconds of a warm round along three axes, and the picture in `docs/images`."""
    torch.set_num_threads(1)
    figures: dict[str, float] = {}
    for axis, (_, points) in PANELS.items():
        for size, case in points:
            found = ratios(case)
            for kind, key in (("ours", OURS), ("plain", PLAIN)):
                figures[f"growth.{axis}.{size}.{kind}_cpu_s"] = found[f"{case.name}.{key}"]
    draw(figures, PICTURE)
    return figures


def draw(figures: dict[str, float], path: Path) -> None:
    """Draw the panels from the figures of `growth`."""
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "fglguard"  # the same figures give the same file
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, len(PANELS), figsize=(9.5, 3.4), sharey=True, layout="constrained"
    )
    for axis, (name, (label, points)) in zip(axes, PANELS.items(), strict=True):
        sizes = [size for size, _ in points]
        for kind, legend, style in (
            ("plain", "plain PyTorch Geometric loop", "s--"),
            ("ours", "fglguard, 2 worker processes", "o-"),
        ):
            seconds = [figures[f"growth.{name}.{size}.{kind}_cpu_s"] for size in sizes]
            axis.plot(sizes, seconds, style, label=legend)
        axis.set(xlabel=label, xscale="log", yscale="log")
        axis.set_xticks(sizes, [str(size) for size in sizes])
        axis.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("CPU seconds a round")
    handles, legends = axes[0].get_legend_handles_labels()
    figure.legend(handles, legends, loc="outside upper center", ncols=2, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
