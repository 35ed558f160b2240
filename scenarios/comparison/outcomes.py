"""Shares of runs of which something holds, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, unknown_name
from .estimate import Estimate
from .proportions import newcombe, wilson
from .trial import OK

Column = NDArray[Any]
Flags = NDArray[np.bool_]
OUTCOMES: Mapping[str, str] = {
    "ended": "did not have to stop",
    "settled": "did not have to stop, and the error was settled at the end",
    "clear": "did not have to stop, and kept clear all along",
}


def succeeded(outcome: str, results: Mapping[str, Column]) -> Flags | None:
    """In which runs something holds, shape (n,); None if it cannot be told.

    Args:
        outcome: one of :data:`OUTCOMES`.
        results: of one controller.
    """
    ok = np.asarray(results[OK], dtype=np.bool_)
    if outcome == "ended":
        return ok
    needed = "settling" if outcome == "settled" else "clearance"
    if needed not in results:
        return None
    return ok & (np.isfinite(results[needed]) if outcome == "settled" else results[needed] > 0.0)


@dataclass(frozen=True, eq=False)
class Rates:
    """Of how many runs something holds.

    Attributes:
        outcome: what.
        flags: in which runs, by controller, shape (n,) each.
        confidence: of each interval.
    """

    outcome: str
    flags: Mapping[str, Flags]
    confidence: float

    def share(self, controller: str) -> Estimate:
        """Share of the runs, with Wilson's interval.

        Args:
            controller: its name.

        Raises:
            ModelError: for an unknown one.
        """
        flags = self._of(controller)
        return wilson(int(np.count_nonzero(flags)), len(flags), self.confidence)

    def difference(self, first: str, second: str) -> Estimate:
        """Share of the first less that of the second, with Newcombe's interval for pairs.

        Args:
            first: name of a controller.
            second: name of another.

        Raises:
            ModelError: for an unknown one.
        """
        a, b = self._of(first), self._of(second)
        both, first_only, second_only, neither = (
            int(np.count_nonzero(each)) for each in (a & b, a & ~b, ~a & b, ~a & ~b)
        )
        return newcombe(both, first_only, second_only, neither, self.confidence)

    def _of(self, controller: str) -> Flags:
        if controller not in self.flags:
            raise ModelError(unknown_name("controller", controller, self.flags))
        return self.flags[controller]
