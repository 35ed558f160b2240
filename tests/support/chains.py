"""Planar manipulators of 1 to 7 links in every convention, and comparisons at random states.

Every comparison asks for |actual - expected| <= 1e-12 max(1, max|expected|) at 50 random states or more, and for an
expected value that is not trivially zero.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erugin.robots import Link, Robot, planar_manipulator

from .references.planar_newton_euler import Angles, LinkData, Zero

Array = NDArray[np.float64]

STATES = 50
TOLERANCE = 1e-12
GRAVITY = 9.81


class Chain(NamedTuple):
    """One case of the table: how many links, and what the angles mean."""

    n: int
    angles: Angles
    zero: Zero

    @property
    def links(self) -> tuple[LinkData, ...]:
        """Random but fixed links; some centres of mass lie behind the joint or beyond the end."""
        rng = np.random.default_rng(1952 + self.n)
        lengths = rng.uniform(0.3, 1.2, self.n)
        return tuple(
            LinkData(
                float(length), rng.uniform(0.5, 3.0), float(length) * rng.uniform(-0.2, 1.2), rng.uniform(0.02, 0.2)
            )
            for length in lengths
        )

    @property
    def robot(self) -> Robot:
        """The robot under test."""
        return build_robot(self)


class State(NamedTuple):
    """Coordinates [rad], velocities [rad/s] and joint torques [N m], each of shape (n,)."""

    q: Array
    v: Array
    u: Array


ANGLES: tuple[Angles, ...] = ("relative", "absolute")
ZEROS: tuple[Zero, ...] = ("horizontal", "down")
CHAINS = [Chain(n, angles, zero) for n, angles, zero in itertools.product((1, 2, 3, 7), ANGLES, ZEROS)]
RELATIVE = [chain for chain in CHAINS if chain.angles == "relative"]


def name(chain: Chain) -> str:
    """Name of a case in pytest's report."""
    return f"{chain.n}-{chain.angles}-{chain.zero}"


@functools.cache
def build_robot(chain: Chain) -> Robot:
    """Build the robot of ``chain`` once for all tests."""
    links = [Link(*link) for link in chain.links]
    return planar_manipulator(links, angles=chain.angles, zero=chain.zero, gravity=GRAVITY)


def random_states(n: int, seed: int, count: int = STATES) -> Iterator[State]:
    """States all over the workspace."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield State(rng.uniform(-np.pi, np.pi, n), rng.uniform(-3.0, 3.0, n), rng.uniform(-20.0, 20.0, n))


class Comparison:
    """Compares values over many states and knows how large the expected ones were.

    Args:
        magnitude: the largest expected entry must be at least this, or the comparison would be trivial.
    """

    def __init__(self, magnitude: float) -> None:
        self.magnitude = magnitude
        self.largest = 0.0
        self.count = 0

    def add(self, actual: Array | float, expected: Array | float) -> None:
        """Assert that the two agree; ``actual`` may be 0-d where ``expected`` has one element."""
        truth = np.asarray(expected, dtype=np.float64)
        value = np.asarray(actual, dtype=np.float64)
        assert value.shape == (() if truth.size == 1 else truth.shape)
        largest = float(np.max(np.abs(truth)))
        assert float(np.max(np.abs(value - truth.reshape(value.shape)))) <= TOLERANCE * max(1.0, largest)
        self.largest = max(self.largest, largest)
        self.count += 1

    def conclude(self) -> None:
        """Assert that there was something to compare."""
        assert self.count >= STATES
        assert self.largest >= self.magnitude
