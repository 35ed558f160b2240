"""Points at which many numbers are sampled at once: Latin hypercubes and Sobol points, of SciPy's ``qmc``."""

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
"""Sobol points are multiples of 2⁻³⁰ in [0, 1): half of that more, and none is 0."""
LARGEST_HYPERCUBE = 1_000_000


@dataclass(frozen=True)
class Sampler(ABC):
    """Points that fill the unit cube evenly.

    A point depends only on the sampler, the dimension and the point's number, so that whoever needs some of the points
    can compute them without the others.

    Attributes:
        n: number of points.
        seed: of the random numbers; equal seeds give equal points.

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
        """Points first … end − 1, shape (end − first, dimension), in (0, 1).

        Args:
            first: number of the first point.
            end: one behind the last, at most n.
            dimension: how many numbers are sampled.

        Raises:
            ModelError: for points that there are not.
        """
        if not 0 <= first < end <= self.n:
            raise ModelError(f"there are points 0 … {self.n - 1}, not {first} … {end - 1}")
        return self.points(first, end, dimension)

    @abstractmethod
    def points(self, first: int, end: int, dimension: int) -> Array:
        """The same for points that there are.

        Args:
            first: number of the first point.
            end: one behind the last.
            dimension: how many numbers are sampled.
        """


@dataclass(frozen=True)
class LatinHypercube(Sampler):
    """Each number takes one value in each of n parts of equal probability, and they are joined at random.

    All points are held in memory at once.

    Raises:
        ModelError: as of every sampler, and for more than a million points.
    """

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        if self.n > LARGEST_HYPERCUBE:
            raise ModelError(
                f"a Latin hypercube is made of all its points at once: {self.n} are more than {LARGEST_HYPERCUBE}. "
                "Take Sobol points"
            )

    def points(self, first: int, end: int, dimension: int) -> Array:
        """Points first … end − 1, shape (end − first, dimension), in (0, 1).

        Args:
            first: number of the first point.
            end: one behind the last.
            dimension: how many numbers are sampled.
        """
        return _hypercube(self.n, self.seed, dimension)[first:end]


@dataclass(frozen=True)
class Sobol(Sampler):
    """Scrambled Sobol points, whose means converge faster than those of random ones.

    Raises:
        ModelError: as of every sampler, and if n is no power of 2 up to 2³⁰, without which the points are not balanced.
    """

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        if self.n & (self.n - 1) or self.n > 2**30:
            near = min(2 ** (self.n - 1).bit_length(), 2**30)
            raise ModelError(f"Sobol points are balanced if their number is a power of 2: take {near}, not {self.n}")

    def points(self, first: int, end: int, dimension: int) -> Array:
        """Points first … end − 1, shape (end − first, dimension), in (0, 1).

        Args:
            first: number of the first point.
            end: one behind the last.
            dimension: how many numbers are sampled.
        """
        from scipy.stats import qmc  # late, for SciPy takes its time

        points = qmc.Sobol(dimension, scramble=True, seed=np.random.default_rng(self.seed))
        parts: list[Array] = []
        if first == 0:
            # The first call must ask for a power of 2.
            parts.append(points.random(1))
        else:
            points.fast_forward(first)
        left = end - first - len(parts)
        if left:
            parts.append(points.random(left))
        return np.concatenate(parts)[: end - first] + HALF_CELL


@functools.lru_cache(maxsize=4)
def _hypercube(n: int, seed: int, dimension: int) -> Array:
    from scipy.stats import qmc  # late, for SciPy takes its time

    points = np.asarray(qmc.LatinHypercube(dimension, seed=np.random.default_rng(seed)).random(n), dtype=np.float64)
    # The edges themselves belong to no part of the open interval.
    np.clip(points, 2.0**-53, 1.0 - 2.0**-53, out=points)
    points.setflags(write=False)
    return points
