"""The roster: which sites belong to the consortium, and the domain of each."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fglguard.corpora.selection import open_corpus
from fglguard.errors import FederationError
from fglguard.partitions import partition
from fglguard.settings import RunSettings
from strategies.cohort import Member


@dataclass(frozen=True)
class Roster:
    """The members expected, in order.

    Attributes:
        members: One a site; their order fixes the order of sums.
        source: Where the roster comes from, for messages.
    """

    members: tuple[Member, ...]
    source: str

    def member(self, site: str, claimed_domain: str) -> Member:
        """The member of that name, if the domain it believes it has is the roster's.

        Raises:
            FederationError: The site is not on the roster, or its domain is another.
        """
        for member in self.members:
            if member.site == site:
                if member.domain != claimed_domain:
                    raise FederationError(
                        f"site {site}: expected the roster's domain {member.domain!r} "
                        f"({self.source}), got {claimed_domain!r} from the site"
                    )
                return member
        known = ", ".join(member.site for member in self.members)
        raise FederationError(
            f"site {site!r} (domain {claimed_domain!r}) is not on the roster ({self.source}); "
            f"expected one of: {known}"
        )


def roster_of(settings: RunSettings) -> Roster:
    """The roster file that the settings name, or the simulation's partition."""
    if settings.federation.roster:
        return read_roster(Path(settings.federation.roster))
    silos = open_corpus(settings.corpus)
    shares = partition(silos, settings.partition, settings.federation.clients, settings.seed)
    return _roster([(share.site, share.domain) for share in shares], "the partition")


def read_roster(path: Path) -> Roster:
    """Read a roster: `{"sites": [{"site": "a", "domain": "banking"}, ...]}`.

    Raises:
        FederationError: The file can't be read, is not of that form, or names a site twice.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        entries = [(entry["site"], entry["domain"]) for entry in record["sites"]]
    except (OSError, UnicodeDecodeError) as error:
        raise FederationError(f"federation.roster: {path} can't be read: {error}") from error
    except json.JSONDecodeError as error:
        raise FederationError(
            f"federation.roster: {path}:{error.lineno}: broken JSON ({error.msg})"
        ) from error
    except (KeyError, TypeError) as error:
        raise FederationError(
            f"federation.roster: {path}: expected "
            '{"sites": [{"site": "...", "domain": "..."}, ...]}, '
            f"got something else near {error}"
        ) from error
    return _roster(entries, str(path))


def _roster(entries: Sequence[tuple[str, str]], source: str) -> Roster:
    seen: set[str] = set()
    for site, domain in entries:
        if not isinstance(site, str) or not isinstance(domain, str) or not site or not domain:
            raise FederationError(
                f"{source}: site and domain must be texts that are not empty, "
                f"got {site!r} and {domain!r}"
            )
        if site in seen:
            raise FederationError(f"{source}: site {site!r} is named twice")
        seen.add(site)
    if not seen:
        raise FederationError(f"{source}: expected at least one site, got none")
    members = tuple(Member(i, site, domain) for i, (site, domain) in enumerate(entries))
    return Roster(members, source)
