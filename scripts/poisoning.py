"""What a poisoned site does to the guard, and what each option of the aggregation keeps.

`python scripts/poisoning.py` deals two domains of a silo to eight sites, four a domain, each with
a silo of its own, makes one of them hostile, and prints for each attack under each option

- the mean AUROC of the two domains on held-out episodes, and
- how far the attack moved the model: ||theta - theta_clean|| / ||theta_clean - theta_0||, with
  theta_clean the model of the same option without an attack and theta_0 the model before round 1.
"""

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from flwr.clientapp import ClientApp
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import client.app as honest
from fglguard.bundle import load_bundle
from fglguard.detector import Detector, detector_of
from fglguard.encoder import load_encoder
from fglguard.errors import FederationError, FglguardError
from fglguard.graph import GraphSettings
from fglguard.parameters import flatten
from fglguard.settings import RunSettings, Scalar
from fglguard.silo import Silo
from scripts.consortium import Consortium, Site, write_roster
from scripts.generate_flower_config import composed
from scripts.hostile import (
    CLAIM,
    SCALE,
    Spoil,
    hostile_app,
    inflate_nodes,
    scale_update,
    to_nan,
)
from server.inprocess import InProcessGrid
from server.run import run

SITES_A_DOMAIN = 4
REFUSED = "refused"

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Attack:
    """One row of the table.

    Attributes:
        name: What the row is called.
        site: The hostile site's silo and claims.
        spoils: What it does to its train replies.
        capped: Whether the roster states `max_nodes`.
    """

    name: str
    site: Site
    spoils: tuple[Spoil, ...] = ()
    capped: bool = True


@dataclass(frozen=True)
class Outcome:
    """What came of a run: AUROC, how far the attack moved the model, and the model, [P]."""

    auroc: float
    moved: float
    model: Vector

    def __str__(self) -> str:
        return f"{self.auroc:.3f}  {self.moved:6.2f}"


class Poisoning:
    """Runs over one set of sites, the first of which is hostile."""

    def __init__(self, consortium: Consortium, domains: Sequence[str], config: Mapping[str, Any]):
        self.config = dict(config)
        self.folder = consortium.folder
        settings = RunSettings.from_flat(config)
        self.sites = consortium.deal(
            domains, SITES_A_DOMAIN, settings.partition, seed=settings.seed
        )
        dimension = consortium.graph.node_width(consortium.encoder.dimension)
        self.start = _vector(detector_of(settings.detector, dimension, settings.seed))
        victim = self.sites[0]
        flipped = consortium.with_flipped_labels(victim)
        self.attacks = (
            Attack("none", victim),
            Attack("flipped labels", flipped),
            Attack(f"flipped, nodes x {CLAIM}, no cap", flipped, (inflate_nodes,), capped=False),
            Attack(f"flipped, nodes x {CLAIM}, capped", flipped, (inflate_nodes,)),
            Attack(f"update x {SCALE:g}", victim, (scale_update,)),
            Attack("NaN", victim, (to_nan,)),
            Attack("invented domain", consortium.with_domain(victim, "invented")),
        )
        self._runs = 0

    def rules(self) -> dict[str, dict[str, Scalar]]:
        """The options by name; the bound is the median length of an update without an attack."""
        clean = self._folder_of_run(self.attacks[0], {})
        lines = [json.loads(line) for line in (clean / "metrics.jsonl").open(encoding="utf-8")]
        bound = float(np.median([x["update_norm"] for x in lines if x["kind"] == "train"]))
        return {
            "mean": {},
            f"norm bound {bound:.2g}": {"strategy.norm_bound": bound},
            "median": {"strategy.aggregation": "median"},
            "trimmed mean": {"strategy.aggregation": "trimmed_mean"},
        }

    def outcome(
        self, attack: Attack, rule: Mapping[str, Scalar], clean: Vector | None = None
    ) -> Outcome | None:
        """What came of a run; None where it was refused. Without `clean` it is the clean one."""
        try:
            folder = self._folder_of_run(attack, rule)
        except FederationError as error:
            if "can't start" not in str(error):
                raise
            return None
        results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        model = _vector(load_bundle(folder / "guard").detector)
        if clean is None:
            clean = model
        travelled = float(np.linalg.norm(clean - self.start))
        moved = float(np.linalg.norm(model - clean)) / travelled
        return Outcome(float(results["test"]["mean_auroc_raw"]), moved, model)

    def _folder_of_run(self, attack: Attack, rule: Mapping[str, Scalar]) -> Path:
        self._runs += 1
        output = self.folder / f"run-{self._runs:02d}"
        roster = self.folder / f"roster-{self._runs:02d}.json"
        write_roster(roster, self.sites, capped=attack.capped)
        config = {
            **self.config,
            **rule,
            "output": str(output),
            "federation.roster": str(roster),
            "federation.clients": len(self.sites),
            "federation.minimum_clients": len(self.sites) - 1,
        }
        sites = [attack.site, *self.sites[1:]]
        app: ClientApp = honest.app
        if attack.spoils:
            app = hostile_app(attack.site.name, *attack.spoils)
        grid = InProcessGrid(app, [site.node_config for site in sites], config)
        run(grid, RunSettings.from_flat(config))
        return output


def main() -> None:
    """Run every attack under every option and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--silo", type=Path, default=Path(".fglguard/silos/replay"))
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--domains", nargs=2, default=["banking", "workspace"])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    logging.getLogger("fglguard").setLevel(logging.CRITICAL)
    config = composed("detector=paper", "privacy=none") | {
        "seed": arguments.seed,
        "corpus.name": "silos",
        "corpus.encoder": arguments.encoder,
        "federation.rounds": arguments.rounds,
    }
    try:
        with tempfile.TemporaryDirectory() as folder:
            graph = GraphSettings.of(RunSettings.from_flat(config).detector)
            consortium = Consortium(
                Silo.open(arguments.silo), Path(folder), load_encoder(arguments.encoder), graph
            )
            Console(width=120).print(table(Poisoning(consortium, arguments.domains, config)))
    except FglguardError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def table(poisoning: Poisoning) -> Table:
    """One row an attack, one column an option."""
    rules = poisoning.rules()
    shown = Table("attack", *rules, title="One site of eight is hostile: AUROC, model moved by")
    clean: dict[str, Vector] = {}
    for attack in poisoning.attacks:
        cells = []
        for name, rule in rules.items():
            outcome = poisoning.outcome(attack, rule, clean.get(name))
            cells.append(REFUSED if outcome is None else str(outcome))
            if outcome is not None:
                clean.setdefault(name, outcome.model)
        shown.add_row(attack.name, *cells)
    return shown


def _vector(detector: Detector) -> Vector:
    return flatten(detector).astype(np.float64)


if __name__ == "__main__":
    main()
