"""Points for sampling several numbers at once: Latin hypercubes and Sobol points, from SciPy's ``qmc``."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.validation import whole

Array = NDArray[np.float64]
HALF_CELL = 2.0**-31
"""Offset of Sobol points, which are multiples of 2⁻³⁰ in [0, 1): half a cell moves them into (0, 1)."""
LARGEST_HYPERCUBE = 1_000_000


@dataclass(frozen=True)
class Sampler(ABC):
    """Points that fill the unit cube evenly.

    A point depends only on the sampler, the dimension and the index of the point, so that some points can be computed
    without the others.

    Attributes:
        n: number of points.
        seed: seed of the random numbers; equal seeds give equal points.

    Raises:
        ModelError: for a number of points below 1, or a seed that is negative or not whole.
    """

    n: int
    seed: int = 0

    def __post_init__(self) -> None:
        """Check."""
        for name, value, least in (("n", self.n, 1), ("seed", self.seed, 0)):
            whole(f"{name} of {type(self).__name__}", value, least)

    def shares(self, first: int, end: int, dimension: int) -> Array:
        """Return points first … end − 1, shape (end − first, dimension), in (0, 1).

        Args:
            first: index of the first point.
            end: index after the last point, at most n.
            dimension: number of sampled numbers.

        Raises:
            ModelError: for indices out of range.
        """
        if not 0 <= first < end <= self.n:
            raise ModelError(f"points must be among 0 … {self.n - 1}, got {first} … {end - 1}")
        return self.points(first, end, dimension)

    @abstractmethod
    def points(self, first: int, end: int, dimension: int) -> Array:
        """Return points first … end − 1 for valid indices.

        Args:
            first: index of the first point.
            end: index after the last point.
            dimension: number of sampled numbers.
        """


@dataclass(frozen=True)
class LatinHypercube(Sampler):
    """A Latin hypercube: each number has one value in each of n intervals of equal probability, combined at random.

    All points are computed and kept in memory together.

    Raises:
        ModelError: as for every sampler, and for more than a million points.
    """

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        if self.n > LARGEST_HYPERCUBE:
            raise ModelError(
                f"a Latin hypercube keeps all points in memory and allows at most {LARGEST_HYPERCUBE}, got {self.n}: "
                "use Sobol points"
            )

    def points(self, first: int, end: int, dimension: int) -> Array:
        """Return points first … end − 1, shape (end − first, dimension), in (0, 1).

        Args:
            first: index of the first point.
            end: index after the last point.
            dimension: number of sampled numbers.
        """
        return _hypercube(self.n, self.seed, dimension)[first:end]


@dataclass(frozen=True)
class Sobol(Sampler):
    """Scrambled Sobol points, whose means converge faster than those of random points.

    Raises:
        ModelError: as for every sampler, and unless n is a power of 2 up to 2³⁰; otherwise the points are unbalanced.
    """

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        if self.n & (self.n - 1) or self.n > 2**30:
            near = min(2 ** (self.n - 1).bit_length(), 2**30)
            raise ModelError(f"the number of Sobol points must be a power of 2, for balance: use {near}, not {self.n}")

    def points(self, first: int, end: int, dimension: int) -> Array:
        """Return points first … end − 1, shape (end − first, dimension), in (0, 1).

        Args:
            first: index of the first point.
            end: index after the last point.
            dimension: number of sampled numbers.
        """
        from scipy.stats import qmc  # late, for SciPy takes its time

        points = qmc.Sobol(dimension, scramble=True, seed=np.random.default_rng(self.seed))
        parts: list[Array] = []
        if first == 0:
            # The first call must ask for a power of 2.
            parts.append(points.random(1))
        else:
            points.fast_forward(first)
        remaining = end - first - len(parts)
        if remaining:
            parts.append(points.random(remaining))
        return np.concatenate(parts)[: end - first] + HALF_CELL


@functools.lru_cache(maxsize=4)
def _hypercube(n: int, seed: int, dimension: int) -> Array:
    from scipy.stats import qmc  # late, for SciPy takes its time

    points = np.asarray(qmc.LatinHypercube(dimension, seed=np.random.default_rng(seed)).random(n), dtype=np.float64)
    # Shares lie in the open interval.
    np.clip(points, 2.0**-53, 1.0 - 2.0**-53, out=points)
    points.setflags(write=False)
    return points
