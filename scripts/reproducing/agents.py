"""Every agent of a team scored: peers that score nodes, beside detectors and floors on views.

A detector scores an episode's final agent, so it scores an agent in the view from it
(`scripts.reproducing.agent_views`); a peer scores all nodes of the episode as it is. Both are
trained on the same episodes, and their rows are the same agents in the same order.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fglguard.baselines.readout import flag_highest
from fglguard.episode import Episode
from fglguard.evaluation.protocol import task_disjoint
from fglguard.graph import GraphSettings, graph_agents
from scripts.reproducing.agent_views import make_agent_views, make_teams, view_id
from scripts.reproducing.baselines import FLOORS, PEERS
from scripts.reproducing.board import Board, Trial
from scripts.reproducing.laboratory import Laboratory, Run
from scripts.reproducing.main_table import PRESETS
from scripts.reproducing.scores import Scores, episode_rows, unscored

STUDY = "agents"
VIEW_OVERRIDES = ("detector.labels=final",)
"""A view's label is its final agent's own."""


def views_of(laboratory: Laboratory) -> Laboratory:
    """The laboratory on the views from labelled agents, which are made where they are not there.

    Raises:
        SettingsError: `corpus.root` does not hold the corpora.
    """
    path = laboratory.folder / "silos" / "agent_views"
    make_agent_views(laboratory.options.root, path)
    return laboratory.at(path)


def teams_of(laboratory: Laboratory) -> Laboratory:
    """Likewise on the episodes as they are.

    Raises:
        SettingsError: `corpus.root` does not hold the corpora.
    """
    path = laboratory.folder / "silos" / "teams"
    make_teams(laboratory.options.root, path)
    return laboratory.at(path)


def run_agents(views: Laboratory, teams: Laboratory, board: Board) -> Mapping[str, str]:
    """Score every test agent by presets, floors and peers; returns each view's episode, by id.

    Raises:
        KeyboardInterrupt: The runs were interrupted.
        FglguardError: A run's folder or a silo can't be used.
    """
    runs = []
    episode_of = {
        view_id(episode, agent.id): episode.id
        for silo in teams.facts.silos
        for episode in silo.episodes()
        for agent in episode.agents
    }
    for seed in views.options.transfer_seeds:
        sides = task_disjoint(views.facts, seed)
        views.baselines(STUDY, "", seed, sides, board, FLOORS)
        _peers(views, teams, seed, sides, episode_of, board)
        runs += [
            Run(Trial(preset, STUDY, "", seed), sides, (f"detector={preset}", *VIEW_OVERRIDES))
            for preset in PRESETS
        ]
    views.run(runs, board)
    return episode_of


def top_k(
    board: Board, arm: str, domain: str, count: int, episode_of: Mapping[str, str]
) -> tuple[float | None, float | None]:
    """Recall and precision of flagging the `count` highest-scored agents of each team.

    Means over seeds; None where a domain has no unsafe test agent. A rule that flags as many in a
    team without attackers has a precision of at most their share of what is flagged.

    Args:
        board: The scores.
        arm: Whose.
        domain: Where.
        count: How many a team.
        episode_of: Episode of each view, by id.
    """
    recalls, precisions = [], []
    for trial, scores in board.scores.items():
        inside = scores.where((scores.domain == domain) & (scores.label >= 0))
        if (trial.arm, trial.study) != (arm, STUDY) or not (inside.label == 1).any():
            continue
        episodes = np.array([episode_of[one] for one in inside.id.tolist()])
        codes = np.unique(episodes, return_inverse=True)[1].astype(np.int64)
        flagged = flag_highest(inside.raw, codes, count)
        hits = np.count_nonzero(flagged & (inside.label == 1))
        recalls.append(hits / np.count_nonzero(inside.label == 1))
        precisions.append(hits / np.count_nonzero(flagged))
    if not recalls:
        return None, None
    return float(np.mean(recalls)), float(np.mean(precisions))


def _peers(
    views: Laboratory,
    teams: Laboratory,
    seed: int,
    sides: NDArray[np.uint8],
    episode_of: Mapping[str, str],
    board: Board,
) -> None:
    bench = teams.bench(_sides_of_teams(views, teams, sides, episode_of), seed)
    fitted = bench.fit(PEERS)
    for (arm, domain), reason in fitted.reasons.items():
        board.unfit[Trial(arm, STUDY, "", seed), domain] = reason
    silos = views.facts.splits("agents", sides).apply(views.facts.silos, "agents")
    blank = unscored(silos, episode_rows(silos, ("test",)))
    for arm, nodes in fitted.nodes.items():
        found = by_view(bench.test.episodes, nodes)
        raw = np.array([found[one] for one in blank.id.tolist()])
        whole: Scores = replace(blank, raw=raw, corroborated=raw)
        board.add(Trial(arm, STUDY, "", seed), whole.where(~np.isnan(raw)))


def _sides_of_teams(
    views: Laboratory, teams: Laboratory, sides: NDArray[np.uint8], episode_of: Mapping[str, str]
) -> NDArray[np.uint8]:
    """[episodes] where an episode's views stand; they share its task, so that is one side."""
    ids = [one for silo in views.facts.silos for one in silo.ids]
    side = {episode_of[one]: code for one, code in zip(ids, sides, strict=True)}
    every = [one for silo in teams.facts.silos for one in silo.ids]
    return np.array([side[one] for one in every], dtype=np.uint8)


def by_view(episodes: Iterable[Episode], nodes: NDArray[np.float64]) -> dict[str, float]:
    """The score of each agent, by the id of the view from it.

    An agent that neither speaks nor hears within the window is no node, and a guard that does not
    see it does not suspect it: it gets its team's lowest score.
    """
    found: dict[str, float] = {}
    first = 0
    for episode in episodes:
        names = graph_agents(episode, GraphSettings())
        own = nodes[first : first + len(names)]
        first += len(names)
        found |= {view_id(episode, agent.id): float(own.min()) for agent in episode.agents}
        found |= {view_id(episode, name): float(x) for name, x in zip(names, own, strict=True)}
    return found
