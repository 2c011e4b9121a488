"""Table `peers`: every floor and peer beside the detectors, on the same sides."""

from collections.abc import Mapping, Sequence
from typing import Any

from fglguard.baselines.registry import BASELINES
from fglguard.errors import SettingsError
from fglguard.evaluation.bootstrap import Estimate
from fglguard.evaluation.comparison import NEED_PROBABILITIES
from fglguard.evaluation.protocol import task_disjoint
from scripts.reproducing import agents
from scripts.reproducing.baselines import baseline_of
from scripts.reproducing.board import Board, Trial
from scripts.reproducing.laboratory import Laboratory, Run
from scripts.reproducing.main_table import PRESETS
from scripts.reproducing.page import Page, markdown_table, number, record_of
from scripts.reproducing.tables import (
    arm_record,
    auroc_rows,
    difference_rows,
    further_rows,
    not_run,
)

STUDY = "task_disjoint"
TOP = (1, 2, 3)
"""Agents flagged a team; the labelled teams have up to four attackers."""
UNSUPERVISED = Estimate(None, None, None, "an anomaly's score is no probability")


def make(laboratory: Laboratory) -> Page:
    """Run what the table needs and make it."""
    board, runs = Board(), []
    for seed in laboratory.options.seeds:
        sides = task_disjoint(laboratory.facts, seed)
        laboratory.baselines(STUDY, "", seed, sides, board, tuple(BASELINES))
        runs += [
            Run(Trial(preset, STUDY, "", seed), sides, (f"detector={preset}",))
            for preset in PRESETS
        ]
    laboratory.run(runs, board)
    episode_of: Mapping[str, str] = {}
    note = ""
    try:
        views, teams = agents.views_of(laboratory), agents.teams_of(laboratory)
    except SettingsError as error:
        note = f"Agents were not scored: {error}\n"
    else:
        episode_of = agents.run_agents(views, teams, board)
    return page(board, laboratory.domains, episode_of, note)


def page(
    board: Board, domains: Sequence[str], episode_of: Mapping[str, str], note: str = ""
) -> Page:
    """The table of what is on the board."""
    arms = _arms(board, STUDY)
    supervised = [arm for arm in arms if _is_supervised(arm)]
    text = [
        "### Episodes",
        "",
        auroc_rows(board, arms, STUDY, domains),
        difference_rows(board, _pairs(arms), STUDY, domains),
        further_rows(board, supervised, STUDY),
    ]
    record: dict[str, Any] = {"episodes": _record(board, STUDY, domains)}
    if episode_of:
        text += _agents_text(board, episode_of)
        record["agents"] = _agents_record(board, episode_of)
    return Page("peers", record, "\n".join([*text, note, not_run(board)]))


def _arms(board: Board, study: str) -> list[str]:
    return [*PRESETS, *(arm for arm in board.arms(study) if arm not in PRESETS)]


def _pairs(arms: Sequence[str]) -> list[tuple[str, str]]:
    return [(PRESETS[0], arm) for arm in arms if arm not in PRESETS]


def _is_supervised(arm: str) -> bool:
    baseline = baseline_of(arm)
    return baseline is None or baseline.uses_labels


def _record(board: Board, study: str, domains: Sequence[str]) -> dict[str, Any]:
    record = {arm: arm_record(board, arm, study, domains) for arm in _arms(board, study)}
    for arm, own in record.items():
        own["difference"] = (
            None if arm in PRESETS else record_of(board.estimate(PRESETS[0], study, other=arm))
        )
        if not _is_supervised(arm):
            own |= dict.fromkeys(NEED_PROBABILITIES, record_of(UNSUPERVISED))
    return record


def _agents_text(board: Board, episode_of: Mapping[str, str]) -> list[str]:
    domains, arms = board.domains(agents.STUDY), _arms(board, agents.STUDY)
    header = [
        "recall / precision",
        *(f"{domain}, top {count}" for domain in domains for count in TOP),
    ]
    rows = [
        [
            arm,
            *(
                " / ".join(number(x, 2) for x in agents.top_k(board, arm, d, count, episode_of))
                for d in domains
                for count in TOP
            ),
        ]
        for arm in arms
    ]
    return [
        "### Agents, where each has a label of its own",
        "",
        "A detector scores an agent as the final one of its team; floors see the same. Trained "
        "without attacks' labels, an anomaly guard flags a fixed number of agents in every team, "
        "attacked or not: that is what recall and precision of the top are of.\n",
        auroc_rows(board, arms, agents.STUDY, domains),
        difference_rows(board, _pairs(arms), agents.STUDY, domains),
        markdown_table(header, rows),
    ]


def _agents_record(board: Board, episode_of: Mapping[str, str]) -> dict[str, Any]:
    domains = board.domains(agents.STUDY)
    record = _record(board, agents.STUDY, domains)
    for arm, own in record.items():
        top = {d: {k: agents.top_k(board, arm, d, k, episode_of) for k in TOP} for d in domains}
        own["top"] = {
            domain: {
                str(count): {"recall": recall, "precision": precision}
                for count, (recall, precision) in found.items()
            }
            for domain, found in top.items()
        }
    return record
