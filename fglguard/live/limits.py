"""How much a guard holds at once."""

from dataclasses import dataclass, fields

from fglguard.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a guard's memory, and its time.

    Attributes:
        episodes: Running episodes. A new one takes the place of the one that was idle longest.
        messages: Of one episode.
        agents: Likewise, users and tools included.
        bytes: Of one episode's texts and ids.
        total_bytes: Of all episodes' together. What comes beyond takes the place of the episodes
            that were idle longest.
        idle_seconds: After so long without an event an episode is forgotten.
        cached_texts: Embeddings that are kept, whoever said the texts.
        check_seconds: How long a check may take; 0: as long as it takes. One that takes longer is
            an error, and `on_error` decides.
        checks: Checks with a time limit, and asynchronous ones, that run at the same time.
        waiting: Those that may wait for their turn; what comes beyond is an error at once. What is
            observed is never turned away.

    Raises:
        SettingsError: A value is not a number of at least 1 (`check_seconds`: 0).
    """

    episodes: int = 10_000
    messages: int = 2_000
    agents: int = 500
    bytes: int = 16 * 1024 * 1024
    total_bytes: int = 1024 * 1024 * 1024
    idle_seconds: float = 3_600.0
    cached_texts: int = 20_000
    check_seconds: float = 0.0
    checks: int = 4
    waiting: int = 256

    def __post_init__(self) -> None:
        """Hold every value to its range."""
        for one in fields(self):
            value = getattr(self, one.name)
            least = 0 if one.name == "check_seconds" else 1
            number = isinstance(value, int if one.type is int else int | float)
            if not number or isinstance(value, bool) or not least <= value < float("inf"):
                kind = "a whole number" if one.type is int else "a number"
                raise SettingsError(
                    f"limits.{one.name}: expected {kind} of at least {least}, got {value!r}"
                )
