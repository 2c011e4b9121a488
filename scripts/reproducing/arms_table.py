"""Table `arms`: what sharing is worth, at the same gradient budget, within and across domains."""

from collections.abc import Sequence
from typing import Any

from fglguard.evaluation.protocol import task_disjoint
from scripts.reproducing.board import Board, Trial
from scripts.reproducing.laboratory import Laboratory, Run, specialist
from scripts.reproducing.page import Page, beside_paper, markdown_table, number
from scripts.reproducing.paper import CROSS_DOMAIN, IN_DOMAIN, OFF_DOMAIN
from scripts.reproducing.tables import arm_record, auroc_rows, difference_rows, not_run

ARMS = {
    "local": ("strategy=local",),
    "fedavg": ("strategy=fedavg",),
    "fedprox": ("strategy=fedprox", "strategy.balanced=false"),
    "balanced": ("strategy=fedprox", "strategy.balanced=true"),
    "pooled": ("strategy=pooled",),
}
"""`balanced` is FedProx with domains weighed equally; within one domain it is `fedprox`."""
WITHIN, ACROSS = "one_domain", "all_domains"
STUDIES = {
    ACROSS: "Across domains: 8 clients, two a domain",
    WITHIN: "Within one domain: 4 clients, each domain by itself",
}
PAPERS_ARMS = {"federated": "fedprox", "pooled": "pooled", "local": "local"}


def make(laboratory: Laboratory) -> Page:
    """Run what the table needs and make it."""
    runs = []
    for seed in laboratory.options.seeds:
        sides = task_disjoint(laboratory.facts, seed)
        for arm, overrides in ARMS.items():
            runs.append(Run(Trial(arm, ACROSS, "", seed), sides, overrides))
            runs += [
                Run(Trial(arm, WITHIN, domain, seed), sides, overrides, (domain,))
                for domain in laboratory.domains
                if arm != "balanced"
            ]
    return page(laboratory.run(runs, Board()), laboratory.domains)


def page(board: Board, domains: Sequence[str]) -> Page:
    """The table of what is on the board."""
    text, record = [], {}
    _keep_own_domain(board)
    for study, title in STUDIES.items():
        arms = [arm for arm in (*ARMS, specialist("local")) if arm in board.arms(study)]
        pairs = [(a, b) for a, b in _pairs() if a in arms and b in arms]
        text += [f"### {title}", "", auroc_rows(board, arms, study, domains)]
        if pairs:
            text.append(difference_rows(board, pairs, study, domains))
        record[study] = {arm: arm_record(board, arm, study, domains) for arm in arms}
    text += [_papers(board, domains), not_run(board)]
    return Page("arms", record, "\n".join(text))


def _pairs() -> list[tuple[str, str]]:
    return [
        # Each site's own guard against the common one, so the local arm comes first.
        ("local", "balanced"),
        ("local", "fedprox"),
        ("pooled", "fedprox"),
        ("fedprox", "fedavg"),
        ("balanced", "fedprox"),
    ]


def _keep_own_domain(board: Board) -> None:
    """Within one domain, a guard counts on that domain alone; outside it is a specialist."""
    for trial, scores in list(board.scores.items()):
        if trial.study == WITHIN and trial.arm != specialist("local"):
            board.scores[trial] = scores.where(scores.domain == trial.part)


def _papers(board: Board, domains: Sequence[str]) -> str:
    named = [domain for domain in domains if domain in IN_DOMAIN["federated"]]
    rows = []
    sentences: list[str] = []
    for published, arm in PAPERS_ARMS.items():
        rows.append(
            [f"{published} (ours: {arm})", *(number(IN_DOMAIN[published][d]) for d in named)]
        )
        for domain in named:
            ours = board.estimate(arm, WITHIN, domain=domain)
            sentence = beside_paper(
                f"{domain}, {published}, one domain", ours, IN_DOMAIN[published][domain]
            )
            sentences += [f"- {sentence}"] if sentence else []
    lines = []
    if named:
        table = markdown_table(["arm", *named], rows)
        lines = ["The paper's AUROC within one domain:", "", table]
    across = ", ".join(number(value) for value in CROSS_DOMAIN)
    low, high = (number(value) for value in OFF_DOMAIN)
    lines.append(
        f"Its four domains together: {across} (not all of its domains are ours). Its specialists "
        f"outside their domain: {low} to {high}."
    )
    off: dict[str, Any] = {
        study: board.estimate(specialist("local"), study) for study in (ACROSS, WITHIN)
    }
    for study, ours in off.items():
        if ours.value is not None and not OFF_DOMAIN[0] <= ours.value <= OFF_DOMAIN[1]:
            where = "above" if ours.value > OFF_DOMAIN[1] else "below"
            sentences.append(
                f"- Specialists outside their domain ({study}): ours reach {number(ours.value)}, "
                f"{where} the paper's range."
            )
    told = ["", "Where ours differs from the paper:", "", *sentences] if sentences else []
    return "\n".join([*lines, *told, ""])
