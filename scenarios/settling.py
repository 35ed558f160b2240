"""Metrics of how a number comes to rest, and of how much it goes to and fro."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .metrics import Metric

Array = NDArray[np.float64]
ABOVE = -1.0
"""In place of a time, where the value is not below the bound."""


@dataclass(frozen=True, eq=False)
class Settling(Metric):
    """Time from the start to the first sample from which on g ≤ ``below``; infinite if g is above at the last.

    Attributes:
        below: largest g that counts as settled, in the unit of g.
    """

    below: float

    def begin(self, value: Array) -> Array:
        """Time since g went below."""
        return np.where(value <= self.below, 0.0, ABOVE)

    def follow(self, carried: Array, before: Array, values: Array, step: float) -> Array:
        """Time since g went below at each sample."""
        settled = values <= self.below
        # Whole steps, so that times do not depend on where blocks begin.
        already = np.where(carried >= 0.0, np.rint(carried / step) + 1.0, 0.0)
        place = np.arange(values.shape[1], dtype=np.float64)
        last = np.asarray(np.maximum.accumulate(np.where(settled, -1.0, place), axis=1), dtype=np.float64)
        steps = np.where(last < 0.0, already[:, None] + place, place - last - 1.0)
        return np.where(settled, steps * step, ABOVE)

    def result(self, carried: Array, value: Array, duration: Array) -> Array:
        """Time up to when g went below for good."""
        return np.where(carried >= 0.0, np.maximum(duration - carried, 0.0), np.inf)


@dataclass(frozen=True, eq=False)
class Variation(Metric):
    """Total variation Σ |g_{k+1} − g_k|: how much g goes up and down; of a monotone g its change."""

    def begin(self, value: Array) -> Array:
        """Zero."""
        return np.zeros_like(value)

    def follow(self, carried: Array, before: Array, values: Array, step: float) -> Array:
        """The variation up to each sample, added up in the order of time."""
        changes = np.abs(np.diff(values, axis=1, prepend=before[:, None]))
        return np.asarray(np.add.accumulate(np.column_stack([carried, changes]), axis=1)[:, 1:], dtype=np.float64)
