"""Sites with silos of their own, dealt from one silo: a consortium on one machine."""

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fglguard.corpora.splits import SPLITS
from fglguard.encoder import Encoder
from fglguard.episode import Episode
from fglguard.graph import GraphSettings
from fglguard.partitions import partition
from fglguard.settings import PartitionSettings
from fglguard.silo import Silo

TRAIN = SPLITS.index("train")


@dataclass(frozen=True)
class Site:
    """A site and its silo.

    Attributes:
        name: Its name on the roster.
        domain: Its domain.
        path: Its silo.
        nodes: Graph nodes that it truly trains on.
    """

    name: str
    domain: str
    path: Path
    nodes: int

    @property
    def node_config(self) -> dict[str, str]:
        """What its SuperNode would be started with."""
        return {"site": self.name, "data-path": str(self.path)}


@dataclass(frozen=True)
class Consortium:
    """Makes sites out of one silo that was prepared with `encoder`.

    Attributes:
        source: The silo; texts keep its vectors, so nothing is encoded again.
        folder: Where the sites' silos go.
        encoder: The encoder.
        graph: The window and the features.
    """

    source: Silo
    folder: Path
    encoder: Encoder
    graph: GraphSettings

    def deal(
        self, domains: Sequence[str], each: int, settings: PartitionSettings, seed: int
    ) -> list[Site]:
        """`each` sites in each of `domains`, the domain's episodes dealt among them."""
        clients = each * len(self.source.domains)
        shares = partition([self.source], settings, clients, seed)
        return [
            self._site(share.site, share.domain, share.site, share.indices[0], flipped=False)
            for share in shares
            if share.domain in domains
        ]

    def with_flipped_labels(self, site: Site) -> Site:
        """The same site, but every label that it trains on is the wrong one.

        Validation and test labels stay right, so that figures still tell the truth.
        """
        own = Silo.open(site.path)
        ids = {episode.id for episode in own.episodes()}
        rows = [row for row, episode in enumerate(self.source.episodes()) if episode.id in ids]
        folder = f"{site.name}-flipped"
        return self._site(site.name, site.domain, folder, np.array(rows), flipped=True)

    def with_domain(self, site: Site, domain: str) -> Site:
        """The same site, but its episodes say that they are of another domain."""
        own = Silo.open(site.path)
        episodes = [replace(episode, domain=domain) for episode in own.episodes()]
        path = self.folder / f"{site.name}-as-{domain}"
        return self._prepared(site.name, domain, path, episodes, np.asarray(own.split))

    def _site(
        self, name: str, domain: str, folder: str, rows: NDArray[np.int64], *, flipped: bool
    ) -> Site:
        split = np.asarray(self.source.split)[rows]
        episodes = [
            replace(episode, unsafe=not episode.unsafe) if flipped and code == TRAIN else episode
            for episode, code in zip(self.source.episodes(rows), split, strict=True)
        ]
        return self._prepared(name, domain, self.folder / folder, episodes, split)

    def _prepared(
        self,
        name: str,
        domain: str,
        path: Path,
        episodes: Iterable[Episode],
        split: NDArray[np.uint8],
    ) -> Site:
        # Vectors of texts that stay are kept when a silo is replaced.
        shutil.copytree(self.source.path, path)
        silo = Silo.create(path, episodes, splits=split, overwrite=True)
        packed = silo.prepare(self.encoder, self.graph)
        nodes = np.diff(packed.node_offsets)
        return Site(name, domain, path, int(nodes[silo.split == TRAIN].sum()))


def write_roster(path: Path, sites: Sequence[Site], *, capped: bool) -> None:
    """The roster of these sites; `capped` with the nodes they have as `max_nodes`."""
    entries = [
        {"site": site.name, "domain": site.domain} | ({"max_nodes": site.nodes} if capped else {})
        for site in sites
    ]
    path.write_text(json.dumps({"sites": entries}), encoding="utf-8")
