"""The rows of a field: which of its functions vanish together, and what for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from .newton import newton
from .probe import FieldProbe
from .subject import Subject

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """A program curve, or a barrier: the places where some functions of a field vanish together.

    Attributes:
        name: of the curve.
        role: ``"program"``, to be followed; ``"obstacle"``, to be kept outside of; ``"region"``, to be kept inside of.
        indices: numbers of its functions in ``field.functions``.
        margin: barriers nearer than this come before the program curve, which is then only aimed at [m]; zero for a
            barrier.
        smoothness: how often it is continuously differentiable, see :attr:`Curve.smoothness`.
    """

    name: str
    role: Literal["program", "obstacle", "region"]
    indices: tuple[int, ...]
    margin: float = 0.0
    smoothness: float = math.inf

    @property
    def program(self) -> bool:
        """Whether it is to be followed; a barrier otherwise."""
        return self.role == "program"

    @property
    def corners(self) -> bool:
        """Whether its normal may jump."""
        return self.smoothness < 1


def rows_of(field: Subject, p: Array) -> tuple[Row, ...]:
    """The program curve, with all its functions, then every barrier, one function each.

    Args:
        field: the field.
        p: values of its parameters, shape (np,).
    """
    x, t = ca.SX.sym("x", field.dimension), ca.SX.sym("t")
    first = field.path.functions(x, t).numel()
    names, key = field.parameters.names, f"{field.name}.margin"
    margin = float(p[names.index(key)]) if key in names else 0.0
    program = Row(field.path.name, "program", tuple(range(first)), margin)
    obstacles = [
        Row(one.name, "obstacle", (first + j,), smoothness=one.smoothness) for j, one in enumerate(field.obstacles)
    ]
    first += len(obstacles)
    regions = [Row(one.name, "region", (first + j,), smoothness=one.smoothness) for j, one in enumerate(field.inside)]
    return program, *obstacles, *regions


@dataclass(frozen=True, eq=False)
class Places:
    """Places with their times.

    Attributes:
        x: shape (N, n) [m].
        t: shape (N,) [s].
    """

    x: Array
    t: Array

    def __len__(self) -> int:
        """Number of places."""
        return len(self.t)

    def only(self, chosen: NDArray[np.bool_]) -> Places:
        """Those of them that are chosen.

        Args:
            chosen: shape (N,).
        """
        return Places(self.x[chosen], self.t[chosen])


@dataclass(frozen=True, eq=False)
class Region:
    """A box of space and the instants at which it is looked at.

    Attributes:
        low: its lower corner, shape (n,) [m].
        high: its upper corner, shape (n,) [m].
        times: instants, shape (k,) [s].
    """

    low: Array
    high: Array
    times: Array

    @property
    def size(self) -> float:
        """Its diagonal [m]."""
        return float(np.linalg.norm(self.high - self.low))

    def holds(self, places: Array) -> NDArray[np.bool_]:
        """Whether each place lies in the box, shape (N,).

        Args:
            places: shape (N, n) [m].
        """
        return np.asarray(((places >= self.low) & (places <= self.high)).all(axis=1))

    def draw(self, count: int, rng: np.random.Generator) -> Places:
        """Random places in it, at its instants in turn.

        Args:
            count: how many.
            rng: where they come from.
        """
        x = rng.uniform(self.low, self.high, (count, len(self.low)))
        return Places(x, np.resize(self.times, count))


def points_on(probe: FieldProbe, row: Row, region: Region, starts: Places) -> Places:
    """Places of a region where the functions of a row vanish, by Newton's method along their gradients.

    Args:
        probe: of the field.
        row: which functions.
        region: what lies outside of it is left out.
        starts: where the searches begin.
    """
    chosen = list(row.indices)

    def evaluate(x: Array, t: Array) -> tuple[Array, Array]:
        values = probe.rows.at(x, t)
        return values["f"][:, chosen], values["f_x"][:, chosen]

    x, settled = newton(evaluate, starts.x, starts.t, longest=0.1 * region.size)
    found = Places(x, starts.t).only(settled & region.holds(x))
    # Where a gradient vanishes, steps of least norm settle although the function does not vanish.
    f, slope = evaluate(found.x, found.t)
    scale = np.maximum(1.0, np.abs(found.x).max(axis=1, initial=0.0)) * np.abs(slope).max(axis=(1, 2), initial=1.0)
    return found.only(np.abs(f).max(axis=1, initial=0.0) <= 1e-11 * scale)
