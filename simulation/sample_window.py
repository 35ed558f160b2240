"""Room for a block of samples of closed loops that run side by side, and tests of all samples of a block at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

FEW = 4
"""Samples that are no longer folded."""
COLUMNS = 2
"""Numbers side by side that are quicker to reduce one after the other."""


def all_finite(samples: Array) -> Flags:
    """Lanes without NaN or infinity.

    Args:
        samples: shape (lanes, n, size), the samples of a lane contiguous.

    Returns:
        Shape (lanes,).
    """
    return np.asarray(np.isfinite(_side_by_side(samples)).all(axis=1), dtype=np.bool_)


def largest(samples: Array) -> Array:
    """Largest of each number over the samples, NaN where any is NaN.

    Args:
        samples: shape (lanes, n, size) with n > 0, the samples of a lane contiguous.

    Returns:
        Shape (lanes, size).
    """
    return _folded(np.maximum, samples)


def all_above(samples: Array, bound: Array) -> Flags:
    """Lanes of which no number is below its bound, or NaN.

    Args:
        samples: shape (lanes, n, size) with n > 0, the samples of a lane contiguous.
        bound: shape (lanes, size).

    Returns:
        Shape (lanes,).
    """
    # Mostly the least of all numbers is above the greatest of all bounds.
    above = np.asarray(_side_by_side(samples).min(axis=1) >= bound.max(axis=1), dtype=np.bool_)
    near = np.flatnonzero(~above)
    if near.size:
        above[near] = (_folded(np.minimum, samples[near]) >= bound[near]).all(axis=1)
    return above


def all_within(samples: Array, bound: Array) -> Flags:
    """Lanes of which no number is larger than its bound in size, or NaN.

    Args:
        samples: shape (lanes, n, size) with n > 0, the samples of a lane contiguous.
        bound: shape (lanes, size), greater than zero.

    Returns:
        Shape (lanes,).
    """
    if not samples.shape[2]:
        return np.ones(len(samples), dtype=np.bool_)
    # Mostly the largest of all numbers is within the least of all bounds.
    rows, least = _side_by_side(samples), bound.min(axis=1)
    within = np.asarray((rows.max(axis=1) <= least) & (rows.min(axis=1) >= -least), dtype=np.bool_)
    near = np.flatnonzero(~within)
    if near.size:
        high, low = (_folded(extreme, samples[near]) for extreme in (np.maximum, np.minimum))
        within[near] = ((high <= bound[near]) & (low >= -bound[near])).all(axis=1)
    return within


def _folded(extreme: np.ufunc, samples: Array) -> Array:
    """Halves laid on each other: NumPy's own reduction goes number by number where few lie side by side."""
    n, size = samples.shape[1:]
    if size <= COLUMNS:
        return np.column_stack([extreme.reduce(samples[:, :, i], axis=1) for i in range(size)])
    rows = _side_by_side(samples)
    while n > FEW:
        keep = n - n // 2
        # Of an odd number the one in the middle is laid on itself.
        rows, n = extreme(rows[:, : keep * size], rows[:, (n - keep) * size :]), keep
    return np.asarray(extreme.reduce(rows.reshape(len(rows), n, size), axis=1), dtype=np.float64)


def _side_by_side(samples: Array) -> Array:
    return samples.reshape(len(samples), samples.shape[1] * samples.shape[2])


Lanes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class SampleWindow:
    """Where samples first … first + n − 1 of some lanes are to be written; a lane is one closed loop of a batch.

    Attributes:
        first: index of the first sample.
        n: number of samples.
        last: whether the last of them is the last of a full run, so that no step after it is needed.
        lanes: rows of the arrays that are wanted, ascending, shape (k,); no others may be written.
        states: x at each sample, shape (lanes of the record, n, nx); the samples of one lane are contiguous.
        data: what is recorded at each sample, shape (lanes of the record, n, size) each, likewise.
    """

    first: int
    n: int
    last: bool
    lanes: Lanes
    states: Array
    data: dict[str, Array]

    def cut(self, n: int) -> SampleWindow:
        """Its first samples.

        Args:
            n: how many.
        """
        if n == self.n:
            return self
        data = {key: room[:, :n] for key, room in self.data.items()}
        return SampleWindow(self.first, n, False, self.lanes, self.states[:, :n], data)
