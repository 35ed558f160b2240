"""Sample points of a field: its rows, the region to search, and Newton's method from many places at once."""

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
from ..curves import Curve
from ..field.probe import FieldProbe, VelocityField

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
STEPS = 60
SETTLED = 1e-12


def newton_search(
    evaluate: Callable[[Array, Array], tuple[Array, Array]], places: Array, times: Array, *, longest: float
) -> tuple[Array, Bools]:
    """Places where r(x, t) = 0, from each start by Newton steps of least norm, x ← x − r_x⁺ r.

    Args:
        evaluate: residuals r, shape (N, m), and their Jacobians r_x, shape (N, m, n), at places and times.
        places: starts, shape (N, n) [m].
        times: shape (N,) [s].
        longest: longest step [m]; longer ones are cut.

    Returns:
        Where each search ended, shape (N, n), and whether it settled there, shape (N,): whether its last step was below
        1e-12 of ``longest``, or of the place's own size.
    """
    x = places.copy()
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
    """The shortest s with A s = b in the sense of least squares, shape (N, n).

    Args:
        matrices: A, shape (N, m, n).
        right: b, shape (N, m).
    """
    # Singular values far below the largest are rounding; dividing by them would throw the point out of the region.
    return np.asarray(np.einsum("Nij,Nj->Ni", np.linalg.pinv(matrices, rcond=1e-12), right))


@dataclass(frozen=True)
class FieldRow:
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


def field_rows(field: VelocityField, p: Array) -> tuple[FieldRow, ...]:
    """The program curve, with all its functions, then every barrier, one function each.

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

    def only(self, chosen: NDArray[np.bool_]) -> SamplePoints:
        """Those of them that are chosen.

        Args:
            chosen: shape (N,).
        """
        return SamplePoints(self.x[chosen], self.t[chosen])


@dataclass(frozen=True, eq=False)
class SearchRegion:
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

    def draw(self, count: int, rng: np.random.Generator) -> SamplePoints:
        """Random places in it, at its instants in turn.

        Args:
            count: how many.
            rng: where they come from.
        """
        x = rng.uniform(self.low, self.high, (count, len(self.low)))
        return SamplePoints(x, np.resize(self.times, count))


def find_points_on(probe: FieldProbe, row: FieldRow, region: SearchRegion, starts: SamplePoints) -> SamplePoints:
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

    x, settled = newton_search(evaluate, starts.x, starts.t, longest=0.1 * region.size)
    found = SamplePoints(x, starts.t).only(settled & region.holds(x))
    # Where a gradient vanishes, steps of least norm settle although the function does not vanish.
    f, slope = evaluate(found.x, found.t)
    scale = np.maximum(1.0, np.abs(found.x).max(axis=1, initial=0.0)) * np.abs(slope).max(axis=(1, 2), initial=1.0)
    return found.only(np.abs(f).max(axis=1, initial=0.0) <= 1e-11 * scale)


REGION_MARGIN = 0.15
"""Share of the diagonal by which the region is wider than what lies in it."""


def default_region(field: VelocityField, values: Array) -> tuple[Array, Array, Array]:
    """Lower and upper corner of a region, shape (n,) [m], and three instants, shape (3,) [s].

    The region holds the path's landmarks and the obstacles' balls at t = 0, and a margin round them. The instants are
    0, half and all of the time that its diagonal takes at the cruise speed.

    Args:
        field: what is to be looked at.
        values: of its parameters, shape (np,).

    Raises:
        ModelError: if the path does not tell where it lies.
    """
    t, symbols = ca.SX.sym("t"), field.parameters.symbols
    path = _bounding_points(field.path, t)
    if path is None:
        raise ModelError(
            f"{field.path.name!r} does not tell where it lies, so say where to look: low= and high=, the corners of a "
            "region"
        )
    others = [
        found for found in (_bounding_points(one, t) for one in (*field.obstacles, *field.inside)) if found is not None
    ]
    places = ca.horzcat(path, *others)
    kernel = Kernel("surroundings", {"t": t, "p": symbols}, {"places": ca.densify(places)}, compiled=False)
    found = kernel(0.0, values)[0]
    low, high = found.min(axis=1), found.max(axis=1)
    diagonal = float(np.linalg.norm(high - low))
    names, key = field.parameters.names, f"{field.name}.speed"
    span = diagonal / float(values[names.index(key)]) if key in names else 0.0
    spare = REGION_MARGIN * diagonal
    return low - spare, high + spare, np.array([0.0, span / 2, span])


def _bounding_points(curve: Curve, t: ca.SX) -> ca.SX | None:
    """Places, shape (n, k), of which the box holds a curve or a good part of it; None if it tells nothing."""
    marks = curve.landmarks(t)
    if marks is not None:
        return marks
    center, radius = curve.reference(t), curve.extent(t)
    if center is None or radius is None:
        return None
    n = curve.dimension
    return ca.horzcat(center - radius * ca.SX.ones(n), center + radius * ca.SX.ones(n))
