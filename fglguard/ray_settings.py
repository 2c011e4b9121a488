"""Settings of a Ray cluster that runs already."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RaySettings:
    """Where Ray runs.

    Attributes:
        address: `host:port` of a cluster that runs; empty: Ray is started for the run and ended
            with it. A cluster's nodes see this Python and the folders of code, silos and run under
            the same paths.
    """

    address: str
