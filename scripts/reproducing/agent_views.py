"""Communication graphs seen from each of their agents, so that a label is an agent's own.

Every G-Safeguard graph has an attacker and so no graph is safe; what its labels tell apart is
agents. A view is the graph with one agent as the final one and that agent's label, and trains with
`detector.labels=final`. Views of one graph share its task key, and so stand on one side.
"""

import dataclasses
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fglguard.corpora import corpus
from fglguard.episode import Episode
from fglguard.errors import SettingsError
from fglguard.silo import Silo

CORPORA = ("gsafeguard", "debate")


def agent_views(episodes: Iterable[Episode]) -> Iterator[Episode]:
    """A view a labelled agent of each episode, in the episodes' and agents' order."""
    for episode in episodes:
        for agent in episode.agents:
            if agent.kind == "agent" and agent.unsafe is not None:
                yield dataclasses.replace(
                    episode,
                    id=view_id(episode, agent.id),
                    final_agent=agent.id,
                    unsafe=agent.unsafe,
                )


def view_id(episode: Episode, agent: str) -> str:
    """The id of the view of an episode from one of its agents."""
    return f"{episode.id}-{agent}"


def make_agent_views(root: Path | None, path: Path) -> None:
    """Leave a silo of views of each corpus under `path`, unless they are there.

    Raises:
        SettingsError: They are not there and `root` does not hold the corpora.
    """
    _make(root, path, agent_views)


def make_teams(root: Path | None, path: Path) -> None:
    """Likewise a silo of each corpus' episodes as they are.

    Raises:
        SettingsError: They are not there and `root` does not hold the corpora.
    """
    _make(root, path, lambda episodes: episodes)


def _make(
    root: Path | None, path: Path, derive: Callable[[Iterable[Episode]], Iterable[Episode]]
) -> None:
    """Leave silos of what is derived from each corpus.

    Raises:
        SettingsError: They are not there and `root` does not hold the corpora.
    """
    if path.exists():
        return
    absent = [name for name in CORPORA if root is None or not (root / name).is_dir()]
    if root is None or absent:
        raise SettingsError(
            f"corpus.root: expected the folder that holds {', '.join(CORPORA)}, got {root}"
        )
    # Beside the path first: a path that exists holds every silo.
    unfinished = path.with_name(f".{path.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    for name in CORPORA:
        episodes = corpus(name).read(root / name, problems=[])
        Silo.create(unfinished / name, derive(episodes), name=name)
    unfinished.rename(path)
