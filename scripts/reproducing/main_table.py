"""Table `main`: the presets against the text floors, at home and with something held out."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fglguard.evaluation.protocol import leave_domain_out, leave_value_out, task_disjoint
from scripts.reproducing.baselines import is_floor
from scripts.reproducing.board import Board, Trial
from scripts.reproducing.laboratory import Laboratory, Run
from scripts.reproducing.page import Page, beside_paper, markdown_table, record_of, told
from scripts.reproducing.paper import IN_DOMAIN
from scripts.reproducing.tables import (
    arm_record,
    auroc_rows,
    difference_rows,
    further_rows,
    not_run,
)

PRESETS = ("recommended", "small", "paper")
HOME, SUITE, CORPUS = "task_disjoint", "leave_suite_out", "leave_corpus_out"
STUDIES = {
    HOME: "Task-disjoint, every corpus trained on",
    SUITE: "One AgentDojo suite left out",
    CORPUS: "Trained on three corpora, tested on the fourth",
}
SUITES_OF = "agentdojo"

Sides = tuple[str, str, int, NDArray[np.uint8]]
"""Study, part, seed, sides."""


def make(laboratory: Laboratory) -> Page:
    """Run what the table needs and make it."""
    board = Board()
    runs = []
    for study, part, seed, sides in _sides(laboratory):
        laboratory.baselines(study, part, seed, sides, board)
        runs += [
            Run(Trial(preset, study, part, seed), sides, (f"detector={preset}",))
            for preset in PRESETS
        ]
    laboratory.run(runs, board)
    return page(board, laboratory.domains)


def page(board: Board, domains: Sequence[str]) -> Page:
    """The table of what is on the board."""
    record: dict[str, Any] = {}
    text = []
    best = {study: board.best(filter(is_floor, board.arms(study)), study) for study in STUDIES}
    for preset in PRESETS:
        _flat(record, board, preset, preset, domains)
    _flat(record, board, "floor", best[HOME] or "floor", domains)
    for study in (SUITE, CORPUS):
        for preset in PRESETS:
            record[f"{study}.{preset}"] = board.estimate(preset, study).value
        record[f"{study}.floor"] = board.estimate(best[study] or "floor", study).value
    for study, title in STUDIES.items():
        text.append(_section(board, study, title, best[study], domains))
    text += [_beside_paper(board), not_run(board)]
    record["studies"] = {
        study: {
            "best_floor": best[study],
            "arms": {
                arm: arm_record(board, arm, study, board.domains(study))
                for arm in (*PRESETS, *filter(is_floor, board.arms(study)))
            },
            "differences": {
                f"{a} - {b}": record_of(board.estimate(a, study, other=b))
                for a, b in _pairs(best[study])
            },
        }
        for study in STUDIES
    }
    return Page("main", record, "\n".join(text))


def _sides(laboratory: Laboratory) -> Iterator[Sides]:
    facts, options = laboratory.facts, laboratory.options
    for seed in options.seeds:
        yield HOME, "", seed, task_disjoint(facts, seed)
    inside = facts.domain == SUITES_OF
    suites = sorted(set(facts.attribute("suite")[inside].tolist()) - {""})
    for seed in options.transfer_seeds:
        for suite in suites if len(suites) > 1 else ():
            yield SUITE, suite, seed, leave_value_out(facts, "suite", suite, seed, SUITES_OF)
        for domain in laboratory.domains if len(laboratory.domains) > 1 else ():
            yield CORPUS, domain, seed, leave_domain_out(facts, domain, seed)


def _flat(
    record: dict[str, Any], board: Board, name: str, arm: str, domains: Sequence[str]
) -> None:
    record[f"{name}.mean_auroc"] = board.estimate(arm, HOME).value
    for domain in domains:
        record[f"{name}.{domain}.auroc"] = board.estimate(arm, HOME, domain=domain).value


def _pairs(floor: str | None) -> list[tuple[str, str]]:
    pairs = [("recommended", "paper"), ("small", "paper"), ("recommended", "small")]
    return [*((preset, floor) for preset in PRESETS if floor), *pairs]


def _section(
    board: Board, study: str, title: str, floor: str | None, domains: Sequence[str]
) -> str:
    tested = board.domains(study)
    columns = [domain for domain in domains if domain in tested]
    arms = [*PRESETS, *filter(is_floor, board.arms(study))]
    parts = sorted({trial.part for trial in board.scores if trial.study == study})
    lines = [f"### {title}", "", auroc_rows(board, arms, study, columns)]
    if len(parts) > 1 and study != CORPUS:
        rows = [
            [arm, *(told(board.estimate(arm, study, part=part)) for part in parts)] for arm in arms
        ]
        lines.append(markdown_table(["AUROC, left out:", *parts], rows))
    lines.append(difference_rows(board, _pairs(floor), study, columns))
    if study == HOME:
        lines.append(further_rows(board, arms, study))
    if floor:
        lines.append(
            f"The best floor is chosen by these test figures, in the floors' favour: {floor}.\n"
        )
    return "\n".join(lines)


def _beside_paper(board: Board) -> str:
    sentences = []
    for domain, published in IN_DOMAIN["federated"].items():
        ours = board.estimate("paper", HOME, domain=domain)
        told_of = f"`paper`, {domain}, federated across domains beside the paper's in-domain figure"
        sentence = beside_paper(told_of, ours, published)
        sentences += [f"- {sentence}"] if sentence else []
    if not sentences:
        return "No figure of the paper lies outside our interval for the same cell.\n"
    return "\n".join(["Where ours differs from the paper:", "", *sentences, ""])
