"""Storage for a block of samples of parallel closed loops, and tests of all samples of a block at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

BLOCK = 100
"""Samples per block: few enough for a progress bar and Ctrl-C, enough to make the overhead of Python negligible."""
FEW = 4
"""Number of samples that are reduced directly, without folding."""
COLUMNS = 2
"""Number of columns that are faster to reduce one by one."""


def all_finite(samples: Array) -> Flags:
    """True for lanes without NaN or infinity.

    Args:
        samples: shape (lanes, n, size), the samples of a lane contiguous.

    Returns:
        Shape (lanes,).
    """
    return np.asarray(np.isfinite(_side_by_side(samples)).all(axis=1), dtype=np.bool_)


def largest(samples: Array) -> Array:
    """Largest value of each entry over the samples; NaN where any is NaN.

    Args:
        samples: shape (lanes, n, size) with n > 0, the samples of a lane contiguous.

    Returns:
        Shape (lanes, size).
    """
    return _folded(np.maximum, samples)


def all_above(samples: Array, bound: Array) -> Flags:
    """True for lanes in which no entry is below its bound or NaN.

    Args:
        samples: shape (lanes, n, size) with n > 0, the samples of a lane contiguous.
        bound: shape (lanes, size).

    Returns:
        Shape (lanes,).
    """
    # Usually the smallest entry is above the largest bound.
    above = np.asarray(_side_by_side(samples).min(axis=1) >= bound.max(axis=1), dtype=np.bool_)
    near = np.flatnonzero(~above)
    if near.size:
        above[near] = (_folded(np.minimum, samples[near]) >= bound[near]).all(axis=1)
    return above


def all_within(samples: Array, bound: Array) -> Flags:
    """True for lanes in which no entry exceeds its bound in magnitude or is NaN.

    Args:
        samples: shape (lanes, n, size) with n > 0, the samples of a lane contiguous.
        bound: shape (lanes, size), greater than zero.

    Returns:
        Shape (lanes,).
    """
    if not samples.shape[2]:
        return np.ones(len(samples), dtype=np.bool_)
    # Usually the largest entry is within the smallest bound.
    rows, least = _side_by_side(samples), bound.min(axis=1)
    within = np.asarray((rows.max(axis=1) <= least) & (rows.min(axis=1) >= -least), dtype=np.bool_)
    near = np.flatnonzero(~within)
    if near.size:
        high, low = (_folded(extreme, samples[near]) for extreme in (np.maximum, np.minimum))
        within[near] = ((high <= bound[near]) & (low >= -bound[near])).all(axis=1)
    return within


def _folded(extreme: np.ufunc, samples: Array) -> Array:
    """Reduce samples by combining halves: NumPy's own reduction is slow along short rows."""
    n, size = samples.shape[1:]
    if size <= COLUMNS:
        return np.column_stack([extreme.reduce(samples[:, :, i], axis=1) for i in range(size)])
    rows = _side_by_side(samples)
    while n > FEW:
        keep = n - n // 2
        # With an odd number of samples the middle one is combined with itself.
        rows, n = extreme(rows[:, : keep * size], rows[:, (n - keep) * size :]), keep
    return np.asarray(extreme.reduce(rows.reshape(len(rows), n, size), axis=1), dtype=np.float64)


def _side_by_side(samples: Array) -> Array:
    return samples.reshape(len(samples), samples.shape[1] * samples.shape[2])


Lanes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class SampleWindow:
    """Storage for samples first … first + n − 1 of some lanes; a lane is one closed loop of a batch.

    Attributes:
        first: index of the first sample.
        n: number of samples.
        last: True if it contains the last sample of a full run, after which no step is needed.
        lanes: rows of the arrays to be written, ascending, shape (k,); no others may be written.
        states: x at each sample, shape (lanes of the record, n, nx); the samples of one lane are contiguous.
        data: recorded values at each sample, by key, shape (lanes of the record, n, size) each.
    """

    first: int
    n: int
    last: bool
    lanes: Lanes
    states: Array
    data: dict[str, Array]

    def cut(self, n: int) -> SampleWindow:
        """Return the first samples of the window.

        Args:
            n: number of samples.
        """
        if n == self.n:
            return self
        data = {key: room[:, :n] for key, room in self.data.items()}
        return SampleWindow(self.first, n, False, self.lanes, self.states[:, :n], data)
