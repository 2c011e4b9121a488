"""Table `calibration`: how often each rule breaks the budget on new tasks, and at what recall."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fglguard.evaluation.calibration_study import Resplit, RuleOutcome, resplit_by_group, study
from fglguard.evaluation.protocol import task_disjoint
from scripts.reproducing.board import Board, Trial
from scripts.reproducing.laboratory import Laboratory, Run
from scripts.reproducing.main_table import HOME
from scripts.reproducing.page import Page, markdown_table, number
from scripts.reproducing.tables import not_run

ARMS = ("recommended", "paper")
RESPLITS = 20
BUDGET, RISK = 0.10, 0.10
NAMES = {"plain": "the paper's", "conformal": "conformal", "clopper_pearson": "Clopper-Pearson"}
HEADER = [
    "rule, exchangeable",
    "broken, by episode",
    "broken, by task group",
    "FPR",
    "FPR, mean over groups",
    "recall",
    "blocks nothing",
]


def make(laboratory: Laboratory) -> Page:
    """Run what the table needs and make it; its runs are those of the table `main`."""
    runs = []
    for seed in laboratory.options.seeds:
        sides = task_disjoint(laboratory.facts, seed)
        runs += [Run(Trial(arm, HOME, "", seed), sides, (f"detector={arm}",)) for arm in ARMS]
    return page(laboratory.run(runs, Board()))


def page(board: Board) -> Page:
    """The table of what is on the board."""
    record: dict[str, Any] = {"resplits_a_model": RESPLITS, "budget": BUDGET, "risk": RISK}
    text = [_how()]
    for arm in ARMS:
        by_seed = _resplits(board, arm)
        outcomes = study([one for own in by_seed.values() for one in own], budget=BUDGET, risk=RISK)
        text += [f"### `{arm}`: models {len(by_seed)}, resplits of each {RESPLITS}", ""]
        text.append(markdown_table(HEADER, [_row(one) for one in outcomes]))
        text.append(_reasons(outcomes))
        record[arm] = {
            "rules": [asdict(one) for one in outcomes],
            "by_seed": {
                str(seed): [asdict(one) for one in study(own, budget=BUDGET, risk=RISK)]
                for seed, own in by_seed.items()
            },
            "problem": board.problem(arm),
        }
    return Page("calibration", record, "\n".join([*text, not_run(board)]))


def _how() -> str:
    return (
        f"Each model's validation and test episodes, which it did not train on, are pooled over "
        f"domains and dealt {RESPLITS} times, by whole task groups, into a half that calibrates "
        f"and a half that tests. A rule breaks the budget where more than {number(BUDGET, 2)} of "
        f"the safe test episodes are blocked; by task group, where the mean over groups of the "
        f"blocked share is larger. The bound of Clopper and Pearson may be broken with "
        f"probability {number(RISK, 2)}.\n\n"
        f"The resplits of one model share its episodes, and models of several seeds share most "
        f"of theirs, so the rows are means over dependent draws: the shares have no interval, and "
        f"their number says little about how exact they are. The figures of each model by itself "
        f"are in JSON. Where a detector's parts are fused by weights that validation episodes "
        f"decided, those episodes are not quite exchangeable with the others.\n"
    )


def _resplits(board: Board, arm: str) -> dict[int, list[Resplit]]:
    return {
        trial.seed: resplit_by_group(
            scores.corroborated, scores.label, scores.group, count=RESPLITS, seed=trial.seed
        )
        for trial, scores in board.held_out.items()
        if (trial.arm, trial.study) == (arm, HOME)
    }


def _row(outcome: RuleOutcome) -> list[str]:
    return [
        f"{NAMES[outcome.rule]}, {outcome.by}s",
        number(outcome.broken_by_episode, 2),
        number(outcome.broken_by_group, 2),
        number(outcome.false_positive_rate),
        number(outcome.group_false_positive_rate),
        number(outcome.recall),
        f"{outcome.blocks_nothing} of {outcome.resplits}",
    ]


def _reasons(outcomes: Sequence[RuleOutcome]) -> str:
    told = dict.fromkeys(
        f"- {NAMES[one.rule]}, {one.by}s: {one.reason}" for one in outcomes if one.reason
    )
    return "\n".join(["Undefined:", "", *told, ""]) if told else ""
