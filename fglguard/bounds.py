"""Ranges that settings lie in."""

import math
from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class Bounds:
    """The range of a number: [low, high], or (low, high] with `above`."""

    low: float
    high: float = math.inf
    above: bool = False

    def __contains__(self, value: float) -> bool:
        return (
            math.isfinite(value)
            and self.low <= value <= self.high
            and not (self.above and value == self.low)
        )

    def __str__(self) -> str:
        limit = "" if math.isinf(self.high) else f" and at most {self.high:.10g}"
        return f"{'above' if self.above else 'at least'} {self.low:.10g}{limit}"


Count = Annotated[int, Bounds(1)]
Whole = Annotated[int, Bounds(0)]
Positive = Annotated[float, Bounds(0, above=True)]
NotNegative = Annotated[float, Bounds(0)]
Share = Annotated[float, Bounds(0, 1)]
