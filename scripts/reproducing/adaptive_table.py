"""Table `adaptive`: injections rewritten by somebody who knows the guard, and hard negatives."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fglguard.bundle import load_bundle
from fglguard.encoder import load_encoder
from fglguard.episode import Episode
from fglguard.evaluation.adaptive.suite import ATTACKS, HARD_NEGATIVES
from fglguard.evaluation.protocol import task_disjoint
from fglguard.guard import Guard
from fglguard.silo import Silo, open_silos
from scripts.reproducing.board import Board, Trial
from scripts.reproducing.laboratory import Laboratory, Run
from scripts.reproducing.main_table import HOME, PRESETS
from scripts.reproducing.page import Page, markdown_table, record_of, told
from scripts.reproducing.remembering_encoder import RememberingEncoder
from scripts.reproducing.rewritten_episodes import NEW, Counts, rewritten, texts_of
from scripts.reproducing.scorers import Scorer, floor_scorers, guard_scorer
from scripts.reproducing.scores import Scores, episode_rows, episodes_of, unscored
from scripts.reproducing.tables import not_run

UNCHANGED = ", unchanged"
"""Marks the arm's scores of the same episodes as they were."""
DECISIONS = ", decisions"
"""Marks what the arm's threshold decides: 1 blocked, 0 let out."""


def make(laboratory: Laboratory) -> Page:
    """Run what the table needs and make it."""
    seeds = laboratory.options.seeds
    sides = {seed: task_disjoint(laboratory.facts, seed) for seed in seeds}
    trials = [Trial(preset, HOME, "", seed) for seed in seeds for preset in PRESETS]
    runs = [Run(trial, sides[trial.seed], (f"detector={trial.arm}",)) for trial in trials]
    home = laboratory.run(runs, Board())
    silos = open_silos(laboratory.path)
    encoder = load_encoder(laboratory.options.encoder)
    keep = laboratory.folder / f"adaptive-{encoder.fingerprint}.npz"
    encoder = RememberingEncoder(encoder, silos, keep)
    counts, new = rewritten(silos, laboratory.options.attacks or NEW)
    guards = {
        trial: Guard(load_bundle(home.folders[trial] / "guard"), encoder)
        for trial in trials
        if trial in home.folders
    }
    tested = {seed: laboratory.silos(HOME, "", seed, sides[seed]) for seed in seeds}
    graphs = {guard.bundle.graph for guard in guards.values()}
    encoder.learn(texts_of(new, tested.values(), graphs), progress=True)
    board = Board(failed=home.failed)
    for seed in seeds:
        scorers = [guard_scorer(t.arm, guard) for t, guard in guards.items() if t.seed == seed]
        for scorer in (*scorers, *floor_scorers(tested[seed], HOME, seed, board)):
            enter(board, scorer, seed, tested[seed], new)
    return page(board, counts)


def enter(
    board: Board,
    scorer: Scorer,
    seed: int,
    silos: Sequence[Silo],
    new: Mapping[str, Mapping[str, Episode]],
) -> None:
    """Put a scorer's figures on the test episodes on the board, rewritten and unchanged.

    A study is a rewriting. It holds the rewritten episodes and, of their domains, all of the other
    label.

    Args:
        board: Receives them.
        scorer: What scores.
        seed: Of the sides.
        silos: With the sides that count.
        new: By rewriting and id, the new episodes.
    """
    episodes = episodes_of(silos, "test")
    blank = unscored(silos, episode_rows(silos, ("test",)))
    raw, corroborated = scorer.score(episodes)
    unchanged = replace(blank, raw=raw, corroborated=corroborated)
    for name, by_id in new.items():
        places = np.array([n for n, e in enumerate(episodes) if e.id in by_id], dtype=np.int64)
        if not len(places):
            continue
        others = (unchanged.label == (0 if name in ATTACKS else 1)) & np.isin(
            unchanged.domain, unchanged.domain[places]
        )
        chosen = others.copy()
        chosen[places] = True
        changed = replace(unchanged, raw=raw.copy(), corroborated=corroborated.copy())
        columns = scorer.score([by_id[episodes[place].id] for place in places])
        changed.raw[places], changed.corroborated[places] = columns
        for mark, scores in (("", changed), (UNCHANGED, unchanged)):
            own = scores.where(chosen)
            board.add(Trial(f"{scorer.arm}{mark}", name, "", seed), own)
            decided = _decisions(own, scorer.threshold)
            board.add(Trial(f"{scorer.arm}{DECISIONS}{mark}", name, "", seed), decided)


def page(board: Board, counts: Mapping[str, Mapping[str, Counts]]) -> Page:
    """The table of what is on the board, of the rewritings that were counted."""
    arms = list(
        dict.fromkeys(
            arm for name in counts for arm in board.arms(name) if not arm.endswith(_MARKS)
        )
    )
    text = []
    for title, names, decision in (
        ("Attacks rewritten", tuple(ATTACKS), "recall"),
        ("Hard negatives", tuple(HARD_NEGATIVES), "false_positive_rate"),
    ):
        made = [name for name in names if name in counts]
        if made:
            text += [f"### {title}", "", _section(board, made, arms, decision)]
    text += ["### How many episodes could be rewritten", "", _counted(counts), not_run(board)]
    return Page("adaptive", _record(board, arms, counts), "\n".join(text))


_MARKS = (UNCHANGED, DECISIONS)


def _decisions(scores: Scores, threshold: float) -> Scores:
    blocked = (scores.corroborated >= threshold).astype(np.float64)
    return replace(scores, raw=blocked, corroborated=blocked)


def _section(board: Board, names: Sequence[str], arms: Sequence[str], decision: str) -> str:
    told_of = decision.replace("_", " ")
    parts = []
    for heading, metric, mark, difference in (
        ("AUROC", "auroc", "", False),
        ("difference of AUROC to the unchanged episodes", "auroc", "", True),
        (f"{told_of} at the calibrated threshold", decision, DECISIONS, False),
        (f"difference of {told_of}", decision, DECISIONS, True),
    ):
        rows = [
            [
                name,
                *(
                    told(
                        board.estimate(
                            f"{arm}{mark}",
                            name,
                            metric,
                            other=f"{arm}{mark}{UNCHANGED}" if difference else None,
                        ),
                        signed=difference,
                    )
                    for arm in arms
                ),
            ]
            for name in names
        ]
        parts.append(markdown_table([heading, *arms], rows))
    return "\n".join(parts)


def _counted(counts: Mapping[str, Mapping[str, Counts]]) -> str:
    rows = [
        [name, domain, str(c.rewritten), str(c.not_located), str(c.not_applicable)]
        for name, by_domain in counts.items()
        for domain, c in by_domain.items()
    ]
    header = ["rewriting", "domain", "rewritten", "injection not located", "does not apply"]
    return markdown_table(header, rows)


def _record(
    board: Board, arms: Sequence[str], counts: Mapping[str, Mapping[str, Counts]]
) -> dict[str, Any]:
    return {
        name: {
            "counts": {domain: vars(c) for domain, c in counts[name].items()},
            "arms": {arm: dict(_figures(board, name, arm)) for arm in arms},
        }
        for name in counts
    }


def _figures(board: Board, name: str, arm: str) -> Iterator[tuple[str, Any]]:
    decision = "recall" if name in ATTACKS else "false_positive_rate"
    for metric, mark in (("auroc", ""), (decision, DECISIONS)):
        own = f"{arm}{mark}"
        yield metric, record_of(board.estimate(own, name, metric))
        yield f"{metric}_unchanged", record_of(board.estimate(f"{own}{UNCHANGED}", name, metric))
        difference = board.estimate(own, name, metric, other=f"{own}{UNCHANGED}")
        yield f"{metric}_difference", record_of(difference)
    yield (
        "auroc_by_domain",
        {d: record_of(board.estimate(arm, name, domain=d)) for d in board.domains(name)},
    )
