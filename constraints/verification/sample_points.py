"""Sample points of a field: its rows, the region to search, and Newton's method from many starts at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ..curves.curve import Curve
from ..field.probe import FieldProbe, VelocityField

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
STEPS = 60
SETTLED = 1e-12


def newton_search(
    evaluate: Callable[[Array, Array], tuple[Array, Array]], positions: Array, times: Array, *, longest: float
) -> tuple[Array, Bools]:
    """Search points where r(x, t) = 0, from each start by Newton steps of least norm, x ← x − r_x⁺ r.

    Args:
        evaluate: residuals r, shape (N, m), and their Jacobians r_x, shape (N, m, n), at positions and times.
        positions: starts, shape (N, n) [m].
        times: shape (N,) [s].
        longest: longest step [m]; longer ones are cut.

    Returns:
        End of each search, shape (N, n), and whether it settled there, shape (N,): True if its last step was below
        1e-12 of ``longest``, or of the size of the position.
    """
    x = positions.copy()
    settled = np.zeros(len(x), dtype=np.bool_)
    running = np.arange(len(x))
    for _ in range(STEPS):
        if not len(running):
            break
        r, slope = evaluate(x[running], times[running])
        finite = np.isfinite(r).all(axis=1) & np.isfinite(slope).all(axis=(1, 2))
        running, r, slope = running[finite], r[finite], slope[finite]
        step = least_norm_step(slope, r)
        length = np.linalg.norm(step, axis=1)
        x[running] -= step * np.minimum(1.0, longest / np.maximum(length, 1e-300))[:, None]
        near = length <= SETTLED * np.maximum(longest, np.abs(x[running]).max(axis=1, initial=0.0))
        settled[running[near]] = True
        running = running[~near]
    return x, settled


def least_norm_step(matrices: Array, right: Array) -> Array:
    """Return the shortest s with A s = b in the sense of least squares, shape (N, n).

    Args:
        matrices: A, shape (N, m, n).
        right: b, shape (N, m).
    """
    # Singular values far below the largest are rounding; dividing by them would throw the point out of the region.
    return np.asarray(np.einsum("Nij,Nj->Ni", np.linalg.pinv(matrices, rcond=1e-12), right))


@dataclass(frozen=True)
class FieldRow:
    """A program curve, or a barrier: the points where some functions of a field vanish together.

    Attributes:
        name: name of the curve.
        role: ``"program"``, which is followed; ``"obstacle"``, to stay outside of; ``"region"``, to stay inside of.
        indices: indices of its functions in ``field.functions``.
        margin: distance within which barriers have precedence over the program curve [m]; zero for a barrier.
        smoothness: number of continuous derivatives, see :attr:`Curve.smoothness`.
    """

    name: str
    role: Literal["program", "obstacle", "region"]
    indices: tuple[int, ...]
    margin: float = 0.0
    smoothness: float = math.inf

    @property
    def program(self) -> bool:
        """True if it is followed, False for a barrier."""
        return self.role == "program"

    @property
    def corners(self) -> bool:
        """True if its normal may jump."""
        return self.smoothness < 1


def field_rows(field: VelocityField, p: Array) -> tuple[FieldRow, ...]:
    """Return the program curve, with all its functions, then every barrier, one function each.

    Args:
        field: the field.
        p: values of its parameters, shape (np,).
    """
    x, t = ca.SX.sym("x", field.dimension), ca.SX.sym("t")
    first = field.path.functions(x, t).numel()
    names, key = field.parameters.names, f"{field.name}.margin"
    margin = float(p[names.index(key)]) if key in names else 0.0
    program = FieldRow(field.path.name, "program", tuple(range(first)), margin)
    obstacles = [
        FieldRow(one.name, "obstacle", (first + j,), smoothness=one.smoothness) for j, one in enumerate(field.obstacles)
    ]
    first += len(obstacles)
    regions = [
        FieldRow(one.name, "region", (first + j,), smoothness=one.smoothness) for j, one in enumerate(field.inside)
    ]
    return program, *obstacles, *regions


@dataclass(frozen=True, eq=False)
class SamplePoints:
    """Positions with their times.

    Attributes:
        x: shape (N, n) [m].
        t: shape (N,) [s].
    """

    x: Array
    t: Array

    def __len__(self) -> int:
        """Number of points."""
        return len(self.t)

    def only(self, chosen: NDArray[np.bool_]) -> SamplePoints:
        """Return the chosen points.

        Args:
            chosen: shape (N,).
        """
        return SamplePoints(self.x[chosen], self.t[chosen])


@dataclass(frozen=True, eq=False)
class SearchRegion:
    """A box of space and the instants at which it is sampled.

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

    def holds(self, positions: Array) -> NDArray[np.bool_]:
        """True for each position in the box, shape (N,).

        Args:
            positions: positions, shape (N, n) [m].
        """
        return np.asarray(((positions >= self.low) & (positions <= self.high)).all(axis=1))

    def draw(self, count: int, rng: np.random.Generator) -> SamplePoints:
        """Draw random points in it, at its instants in turn.

        Args:
            count: number of points.
            rng: random generator.
        """
        x = rng.uniform(self.low, self.high, (count, len(self.low)))
        return SamplePoints(x, np.resize(self.times, count))


def find_points_on(probe: FieldProbe, row: FieldRow, region: SearchRegion, starts: SamplePoints) -> SamplePoints:
    """Find points of a region where the functions of a row vanish, by Newton's method along their gradients.

    Args:
        probe: probe of the field.
        row: row of the functions.
        region: points outside of it are left out.
        starts: starts of the searches.
    """
    chosen = list(row.indices)

    def evaluate(x: Array, t: Array) -> tuple[Array, Array]:
        values = probe.rows.at(x, t)
        return values["f"][:, chosen], values["f_x"][:, chosen]

    x, settled = newton_search(evaluate, starts.x, starts.t, longest=0.1 * region.size)
    found = SamplePoints(x, starts.t).only(settled & region.holds(x))
    # Where a gradient vanishes, steps of least norm settle although the function does not vanish.
    f, slope = evaluate(found.x, found.t)
    scale = np.maximum(1.0, np.abs(found.x).max(axis=1, initial=0.0)) * np.abs(slope).max(axis=(1, 2), initial=1.0)
    return found.only(np.abs(f).max(axis=1, initial=0.0) <= 1e-11 * scale)


REGION_MARGIN = 0.15
"""Share of the diagonal by which the default region is wider than the curves in it."""


def default_region(field: VelocityField, values: Array) -> tuple[Array, Array, Array]:
    """Return the corners of a region that contains the curves, shape (n,) [m], and three instants, shape (3,) [s].

    The region holds the path's landmarks and the obstacles' balls at t = 0, and a margin around them. The instants are
    0, half and all of the time that its diagonal takes at the cruise speed.

    Args:
        field: the field.
        values: values of its parameters, shape (np,).

    Raises:
        ModelError: if the path has neither landmarks nor an extent.
    """
    t, symbols = ca.SX.sym("t"), field.parameters.symbols
    path = _bounding_points(field.path, t)
    if path is None:
        raise ModelError(
            f"{field.path.name!r} has neither landmarks nor an extent, so that no region can be chosen: give the "
            "corners of one by low= and high="
        )
    others = [
        found for found in (_bounding_points(one, t) for one in (*field.obstacles, *field.inside)) if found is not None
    ]
    positions = ca.horzcat(path, *others)
    kernel = Kernel("surroundings", {"t": t, "p": symbols}, {"places": ca.densify(positions)}, compiled=False)
    found = kernel(0.0, values)[0]
    low, high = found.min(axis=1), found.max(axis=1)
    diagonal = float(np.linalg.norm(high - low))
    names, key = field.parameters.names, f"{field.name}.speed"
    span = diagonal / float(values[names.index(key)]) if key in names else 0.0
    spare = REGION_MARGIN * diagonal
    return low - spare, high + spare, np.array([0.0, span / 2, span])


def _bounding_points(curve: Curve, t: ca.SX) -> ca.SX | None:
    """Points, shape (n, k), whose box holds a curve or a good part of it; None if the curve has none."""
    marks = curve.landmarks(t)
    if marks is not None:
        return marks
    center, radius = curve.reference(t), curve.extent(t)
    if center is None or radius is None:
        return None
    n = curve.dimension
    return ca.horzcat(center - radius * ca.SX.ones(n), center + radius * ca.SX.ones(n))
