"""Table `transfer`: another suite, corpus, agent model, topology and team size than trained on."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from fglguard.errors import SettingsError
from fglguard.evaluation.protocol import (
    leave_domain_out,
    leave_team_size_out,
    leave_topology_out,
    leave_value_out,
)
from scripts.reproducing.agents import VIEW_OVERRIDES, views_of
from scripts.reproducing.baselines import is_floor
from scripts.reproducing.board import Board, Trial
from scripts.reproducing.laboratory import Laboratory, Run
from scripts.reproducing.main_table import PRESETS, Sides
from scripts.reproducing.page import Page, markdown_table, reasons, record_of, told
from scripts.reproducing.tables import not_run

TITLES = {
    "leave_suite_out": "One suite left out",
    "leave_corpus_out": "Trained on three corpora, tested on the fourth",
    "leave_agent_model_out": "One agent model left out, on tasks not trained on",
    "topology": "Dense to sparse communication graphs and back (AUROC over agents)",
    "team_size": "One team size to another (AUROC over agents)",
}
SUITE_DOMAIN = "agentdojo"
MODEL_DOMAINS = ("agentdojo", "agent_safetybench")
MODELS_NUMBERED = (
    "Agent models are numbered in the order of their names in the logs; `results/transfer.json` "
    "names them.\n"
)
FEWEST_VIEWS = 50
"""A team size with fewer labelled agents is trained on, but not tested."""
TOPOLOGIES = "gsafeguard"
"""The corpus of many topologies; debates are all fully connected, and would train on one."""


def make(laboratory: Laboratory) -> Page:
    """Run what the table needs and make it."""
    board = Board()
    _run(laboratory, _logs(laboratory), (), board)
    notes = [MODELS_NUMBERED]
    try:
        teams = views_of(laboratory)
    except SettingsError as error:
        notes.append(f"Topology and team size were not run: {error}\n")
    else:
        _run(teams, _teams(teams), VIEW_OVERRIDES, board)
        notes.append(_about_teams(teams))
    return page(board, notes, _agent_models(laboratory))


def page(board: Board, notes: list[str], models: Mapping[str, str] = MappingProxyType({})) -> Page:
    """The table of what is on the board; `models` names what it numbers."""
    text: list[str] = []
    record: dict[str, Any] = {"agent_models": dict(models)}
    for study, title in TITLES.items():
        parts = sorted({trial.part for trial in board.scores if trial.study == study})
        if not parts:
            continue
        floor = board.best(filter(is_floor, board.arms(study)), study)
        arms = [*PRESETS, *([floor] if floor else [])]
        pairs = [(preset, floor) for preset in PRESETS if floor]
        rows = [
            [
                part,
                *(told(board.estimate(arm, study, part=part)) for arm in arms),
                *(
                    told(board.estimate(a, study, part=part, other=b), signed=True)
                    for a, b in pairs
                ),
            ]
            for part in [*parts, None]
        ]
        rows = [["mean" if row[0] is None else row[0], *row[1:]] for row in rows]
        header = ["tested on", *arms, *(f"{a} - floor" for a, _ in pairs)]
        text += [f"### {title}", "", markdown_table(header, rows)]
        cells = {
            f"{arm}, {part}": board.estimate(arm, study, part=part)
            for part in parts
            for arm in arms
        }
        text.append(reasons({k: v for k, v in cells.items() if not k.startswith(_absent(board))}))
        record[study] = {
            "floor": floor,
            "cells": {name: record_of(estimate) for name, estimate in cells.items()},
            "mean": {arm: record_of(board.estimate(arm, study)) for arm in arms},
            "differences": {
                f"{a} - {b}": record_of(board.estimate(a, study, other=b)) for a, b in pairs
            },
        }
    return Page("transfer", record, "\n".join([*text, *notes, not_run(board)]))


def _absent(board: Board) -> tuple[str, ...]:
    """Arms that never ran, whose reasons are told beneath."""
    return tuple(f"{t.arm}, " for t in board.failed if t.arm not in {s.arm for s in board.scores})


def _run(
    laboratory: Laboratory, every: Iterator[Sides], overrides: tuple[str, ...], board: Board
) -> None:
    runs = []
    for study, part, seed, sides in every:
        laboratory.baselines(study, part, seed, sides, board)
        domains = (TOPOLOGIES,) if study == "topology" else ()
        runs += [
            Run(
                Trial(preset, study, part, seed),
                sides,
                (f"detector={preset}", *overrides),
                domains,
            )
            for preset in PRESETS
        ]
    laboratory.run(runs, board)


def _logs(laboratory: Laboratory) -> Iterator[Sides]:
    facts = laboratory.facts
    for seed in laboratory.options.transfer_seeds:
        for suite in _values(laboratory, "suite", SUITE_DOMAIN):
            sides = leave_value_out(facts, "suite", suite, seed, SUITE_DOMAIN)
            yield "leave_suite_out", suite, seed, sides
        for domain in laboratory.domains if len(laboratory.domains) > 1 else ():
            yield "leave_corpus_out", domain, seed, leave_domain_out(facts, domain, seed)
        for domain in MODEL_DOMAINS:
            for part, model in _models_of(laboratory, domain).items():
                sides = leave_value_out(facts, "agent_model", model, seed, domain)
                yield "leave_agent_model_out", part, seed, sides


def _teams(laboratory: Laboratory) -> Iterator[Sides]:
    facts = laboratory.facts
    for seed in laboratory.options.transfer_seeds:
        for dense, name in ((False, "sparse"), (True, "dense")):
            yield "topology", name, seed, leave_topology_out(facts, dense, seed, TOPOLOGIES)
        for agents, views in _sizes(laboratory).items():
            if views >= FEWEST_VIEWS:
                sides = leave_team_size_out(facts, agents, seed)
                yield "team_size", f"{agents} agents", seed, sides


def _agent_models(laboratory: Laboratory) -> dict[str, str]:
    """Names of the agent models in the logs, by what the table calls them."""
    parts = (_models_of(laboratory, domain) for domain in MODEL_DOMAINS)
    return {part: model for of in parts for part, model in of.items()}


def _models_of(laboratory: Laboratory, domain: str) -> dict[str, str]:
    names = _values(laboratory, "agent_model", domain)
    return {f"{domain} model {number}": name for number, name in enumerate(names, 1)}


def _sizes(laboratory: Laboratory) -> dict[int, int]:
    """Number of views of each team size."""
    sizes, views = np.unique(laboratory.facts.agents, return_counts=True)
    return dict(zip(sizes.tolist(), views.tolist(), strict=True))


def _about_teams(laboratory: Laboratory) -> str:
    facts, told = laboratory.facts, []
    for agents, views in _sizes(laboratory).items():
        corpora = ", ".join(np.unique(facts.domain[facts.agents == agents]).tolist())
        few = "" if views >= FEWEST_VIEWS else ", too few to test on"
        told.append(f"- {agents} agents: {views} labelled agents, of {corpora}{few}")
    what = "Teams by size; one whose corpora differ from the others' is new by more than its size:"
    return "\n".join([what, "", *told, ""])


def _values(laboratory: Laboratory, key: str, domain: str) -> list[str]:
    """The values of an attribute in a domain; none where there is no second to train on."""
    inside = laboratory.facts.domain == domain
    values = sorted(set(laboratory.facts.attribute(key)[inside].tolist()) - {""})
    return values if len(values) > 1 else []
