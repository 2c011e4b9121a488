"""Errors a person can act on: what was expected, what came, where."""

import difflib
import traceback
from collections.abc import Iterable
from pathlib import Path


class FglguardError(Exception):
    """Base of every error that fglguard raises on purpose.

    The text of such an error names keys, files, lines, sites and figures; it never quotes what an
    agent said, so that a site may send it to the server.
    """


def shown(value: object) -> str:
    """A value as an error may quote it: a number, a name cut to 60 characters, else its type."""
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if abs(value) < 10**20 else "a very large number"
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else f"{value[:60]!r}... ({len(value)} characters)"
    return f"a {type(value).__name__}"


def raised_at(error: BaseException, frames: int = 3) -> str:
    """Where an error was raised, innermost first: what a log may keep of one that quotes texts."""
    places = [
        f"{Path(frame.f_code.co_filename).name}:{line} in {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    return " < ".join(places[: -frames - 1 : -1]) or "nowhere"


def suggestion(name: str, known: Iterable[str]) -> str:
    """What an error that quotes an unknown name may add: `; did you mean ...?`, or nothing.

    Of dotted names, those whose last part is near are suggested where no whole name is.
    """
    names = list(dict.fromkeys(known))
    near = difflib.get_close_matches(name, names, n=1)
    if not near:
        last = {one: one.rpartition(".")[2] for one in names}
        wanted = name.rpartition(".")[2]
        # In order: of names that are equally near, always the same one.
        alike = difflib.get_close_matches(wanted, sorted(set(last.values())), n=1, cutoff=0.8)
        near = [one for one in names if last[one] in alike]
    return f"; did you mean {' or '.join(near)}?" if near else ""


class EpisodeError(FglguardError):
    """A record is not a valid episode, or an event can't be a message of its episode.

    Attributes:
        gap: Of an event that was said: the name of the gap that it left in its running episode.
    """

    gap: str | None = None


class ReusedIdError(EpisodeError):
    """An event's id was used for another event of its episode before."""


class RunsAlreadyError(EpisodeError):
    """An event was to begin an episode that runs already."""


class UntakenError(EpisodeError):
    """An event could not be taken in, by no fault of its own; the cause tells why."""


class CorpusError(FglguardError):
    """A source of episodes can't be read, or is not in the format that was named."""


class SiloError(FglguardError):
    """A silo is missing, damaged, or unfit for what was asked of it."""


class StateError(FglguardError):
    """What a client kept between rounds is damaged, or does not fit the run."""


class EncoderError(FglguardError):
    """An encoder can't be loaded, or differs from the one that is wanted."""


class SettingsError(FglguardError):
    """A configuration value is unknown, mistyped or out of range."""


class BaselineError(FglguardError):
    """A baseline can't be trained on the episodes given; the text is the reason to report."""


class OutputError(FglguardError):
    """A file can't be written where it was asked for."""


class BundleError(FglguardError):
    """A guard bundle is incomplete, of another version, or was changed."""


class SignatureError(BundleError):
    """A guard is not signed by the key that it must be signed with, or can't be signed."""


class CalibrationError(FglguardError):
    """No threshold can be chosen from the scores given."""


class DriftError(FglguardError):
    """A score can't be compared with those of calibration."""


class UpdateError(FglguardError):
    """A client's update can't be used."""


class FederationError(FglguardError):
    """A federated run can't go on."""


class QuorumError(FederationError):
    """Too few usable replies came back in a phase."""


class ReportError(FglguardError):
    """A run's report can't be made."""


class PrivacyError(FglguardError):
    """An update can't be masked as was asked, and therefore isn't exported."""


class TimeLimitError(FglguardError):
    """A check took longer than it may."""


class SidecarError(FglguardError):
    """The sidecar can't be started, or can't do what an operator asked of it."""


class IntegrationError(FglguardError, ImportError):
    """An agent framework is not installed."""
