"""A number that tells of a run in a comparison, and how it is reckoned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...symbolic.pickles import Portable
from ..metrics import Metric

Array = NDArray[np.float64]
Better = Literal["less", "more", "neither"]
Join = Callable[[Sequence[Array]], Array]


def only(parts: Sequence[Array]) -> Array:
    """The one part that there is.

    Args:
        parts: shape (n,) each.
    """
    return parts[0]


def total(parts: Sequence[Array]) -> Array:
    """The sum of the parts, in their order.

    Args:
        parts: shape (n,) each.
    """
    summed = np.zeros_like(parts[0])
    for part in parts:
        summed = summed + part
    return summed


def most(parts: Sequence[Array]) -> Array:
    """The largest of the parts.

    Args:
        parts: shape (n,) each.
    """
    return np.asarray(np.max(np.stack(parts), axis=0), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Quantity(Portable):
    """A number that tells of a run.

    Attributes:
        name: how it is asked for.
        unit: empty if it has none.
        meaning: what it is, as a phrase.
        parts: what is reckoned along the run for it, by name.
        join: the number from those, in their order.
        better: whether less or more of it is better, or neither is.
        own: whether it is measured against rows of the controller's own, so that only controllers of the same rows can
            be compared by it.
    """

    name: str
    unit: str
    meaning: str
    parts: Mapping[str, Metric] = field(default_factory=dict[str, Metric])
    join: Join = only
    better: Better = "less"
    own: bool = False

    @property
    def label(self) -> str:
        """Name and unit, for tables and axes."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    def of(self, values: Mapping[str, Array]) -> Array:
        """The number of each run, shape (n,).

        Args:
            values: what was reckoned, by name, shape (n,) each.
        """
        return self.join([values[name] for name in self.parts])
