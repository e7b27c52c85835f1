"""Times that are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

_Z99 = 2.3263478740408408  # the 99th percentile of the normal distribution


@dataclass(frozen=True, slots=True)
class Lognormal:
    """Times that are mostly short and now and then long, as latencies are.

    Attributes:
        median: seconds.
        p99: seconds; one in a hundred is longer.
    """

    median: float
    p99: float

    def draw(self, random: Random) -> float:
        """Draw a time in seconds."""
        sigma = math.log(self.p99 / self.median) / _Z99
        return self.median * math.exp(random.gauss(0.0, sigma))
