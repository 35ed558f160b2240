"""Closed chains: loops of a robot closed by natural constraints."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints.constraint import Constraint, row_names
from ...constraints.perturbations.perturbation import Perturbation
from ...constraints.relations.expression import holonomic
from ...symbolic.coordinates import Coordinates
from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.parameters import Parameters
from ...symbolic.validation import finite
from ..constrained_factor import Redundant
from ..robot import Robot

ClosurePoint = ca.SX | str | float | Sequence[float] | NDArray[np.float64]
"""An expression in the robot's symbols, the name of one of its points, or numbers for a fixed position."""

AXES = "xyz"


@dataclass(frozen=True, eq=False)
class Closure:
    """Two positions that coincide.

    Attributes:
        first: an expression, shape (n,), or the name of a point.
        second: another of the same shape, or fixed numbers; these become parameters ``name.x``, ``name.y``, … or, for
            a scalar, ``name.value``, so that a study can vary them.
        name: name of the natural constraint; from the points if not given, such as ``"closure tip-joint1"``.
        rows: indices of the constrained components, all if not given: ``(1,)`` lets a point slide along x.
    """

    first: ClosurePoint
    second: ClosurePoint
    name: str | None = None
    rows: tuple[int, ...] | None = None


def mechanism(
    robot: Robot,
    closures: Iterable[Closure | tuple[ClosurePoint, ClosurePoint]],
    *,
    name: str | None = None,
    perturbation: Perturbation | None = None,
    redundant: Redundant | None = None,
) -> Robot:
    """Close loops of a robot, as Larin builds closed chains: the open chain first, then C(q) = 0.

    Each closure adds the natural constraint first − second = 0, so that M a + h = B u + Aᵀμ with A = ∂C/∂q N. If the
    two are points in metres, μ is the force [N] of the pin on the first point. Everything else of the robot is
    unchanged.

    Points are sufficient for pins and spherical joints; ``rows`` or a pair of scalars describe guides and gears, such
    as ``(robot.points["tip"][1], 0.0)``; the scalar product of two axes, set to zero, keeps them at right angles. A
    closure whose rows depend on others (a parallelogram with a third crank) makes A M⁻¹ Aᵀ singular:
    :func:`~erugin.robots.assemble` names such rows, :func:`without_rows` removes them. With ``redundant="least-norm"``
    they may stay: the motion is unique and unchanged; of the reactions, which are not unique, those of least norm are
    computed. This requires a constant rank; a position in which the rank falls further, such as a parallelogram that
    lies flat, is singular with or without redundant rows, and a motion through it is not reliable.

    Args:
        robot: robot with open chains, or with some loops already closed.
        closures: pairs of positions, or :class:`Closure` for a name or a choice of rows; at least one.
        name: name of the mechanism, shown in messages.
        perturbation: perturbation equation, Baumgarte's with its default gains if not given; its gains become numbers.
        redundant: ``"least-norm"`` if rows may depend on each other, ``"refused"`` if not; that of ``robot`` if not
            given.

    Raises:
        ModelError: for no closure, an unknown point, shapes that differ, foreign symbols, velocities, accelerations
            or inputs in a closure, or rows in which nothing moves; the message names the closure.
    """
    if isinstance(closures, Closure | str | ca.SX):
        raise ModelError(f"closures must be a list of pairs of points, got {closures!r}")
    given = list(closures)
    if not given:
        raise ModelError(f"{robot.name}: a mechanism needs at least one closure, got none")
    parameters = robot.parameters
    natural = list(robot.natural)
    for number, item in enumerate(given, 1):
        closure = _closure(item, number)
        label = _label(robot, closure, number, {constraint.name for constraint in natural})
        residual, new = _residual(robot, closure, label)
        parameters = Parameters.collect([parameters, new])
        natural.append(holonomic(residual, perturbation=perturbation, name=label))
    loops = f"{len(given)} closed loop{'s' * (len(given) > 1)}"
    return dataclasses.replace(
        robot,
        name=name or f"{robot.name} with {loops}",
        parameters=parameters,
        natural=tuple(natural),
        redundant=robot.redundant if redundant is None else redundant,
    )


def without_rows(robot: Robot, rows: Iterable[str]) -> Robot:
    """Return the robot without some rows of its natural constraints, such as the redundant ones of an assembly.

    Removing a row that depends on others everywhere changes no motion, and makes the remaining reactions unique.
    The remaining rows are renumbered.

    Args:
        robot: robot with natural constraints.
        rows: names such as ``"closure tip-joint1[1]"``, as in :attr:`~erugin.robots.Assembly.rows`.

    Raises:
        ModelError: for a row that the robot does not have.
    """
    removed = {rows} if isinstance(rows, str) else set(rows)
    natural: list[Constraint] = []
    known: list[str] = []
    for constraint, size in zip(robot.natural, robot.natural_sizes, strict=True):
        names = row_names(constraint.name, size)
        known.extend(names)
        remaining = [i for i, name in enumerate(names) if name not in removed]
        if remaining:
            natural.append(constraint if len(remaining) == len(names) else _part(constraint, remaining))
    for name in removed:
        if name not in known:
            raise ModelError(f"{robot.name}: {unknown_name('row of a natural constraint', name, known)}")
    return dataclasses.replace(robot, natural=tuple(natural))


def _part(constraint: Constraint, rows: Sequence[int]) -> Constraint:
    def residual(coordinates: Coordinates) -> ca.SX:
        whole = constraint.residual(coordinates)
        return ca.vertcat(*(whole[i] for i in rows))

    return dataclasses.replace(constraint, residual=residual)


def _closure(item: Closure | tuple[ClosurePoint, ClosurePoint], number: int) -> Closure:
    if isinstance(item, Closure):
        return item
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise ModelError(f"closure {number} must be a pair of points or a Closure, got {item!r}")
    return Closure(*item)


def _label(robot: Robot, closure: Closure, number: int, used: set[str]) -> str:
    if closure.name is None:
        names = [_point_name(robot, point) for point in (closure.first, closure.second)]
        label = f"closure {'-'.join(n for n in names if n)}" if all(names) else f"closure {number}"
        numbered = (f"{label} {k}" for k in range(2, len(used) + 3))
        return label if label not in used else next(x for x in numbered if x not in used)
    if closure.name in used:
        raise ModelError(f"{robot.name} already has a natural constraint {closure.name!r}; rename the closure")
    return closure.name


def _point_name(robot: Robot, point: ClosurePoint) -> str:
    """Return the name of a point, ``"ground"`` for numbers, an empty string for other expressions."""
    if isinstance(point, str):
        return point
    if not isinstance(point, ca.SX):
        return "ground"
    same = (n for n, x in robot.points.items() if x.shape == point.shape and ca.is_equal(x, point))
    return next(same, "")


def _residual(robot: Robot, closure: Closure, label: str) -> tuple[ca.SX, Parameters]:
    """Return first − second, and the parameters of a fixed position."""
    sides = [_expression(robot, point, label) for point in (closure.first, closure.second)]
    shapes = [side.shape if isinstance(side, ca.SX) else (len(side), 1) for side in sides]
    if shapes[0] != shapes[1] or shapes[0][1] != 1 or shapes[0][0] == 0:
        raise ModelError(
            f"{label}: the two points must be columns of equal length, got shapes {shapes[0]} and {shapes[1]}"
        )
    size = shapes[0][0]
    rows = tuple(range(size)) if closure.rows is None else tuple(closure.rows)
    if not rows or len(set(rows)) < len(rows) or not all(isinstance(i, int) and 0 <= i < size for i in rows):
        raise ModelError(f"{label}: rows must be different numbers from 0 to {size - 1}, got {closure.rows!r}")
    names = ["value"] if size == 1 else list(AXES[:size]) if size <= len(AXES) else [f"x{i + 1}" for i in range(size)]
    new = Parameters.declare({})
    columns: list[list[ca.SX]] = []
    for side in sides:
        if isinstance(side, ca.SX):
            columns.append([side[i] for i in rows])
        else:
            new = Parameters.declare({names[i]: side[i] for i in rows}, label)
            columns.append([new.symbols[k] for k in range(len(rows))])
    if not any(isinstance(side, ca.SX) for side in sides):
        raise ModelError(f"{label}: at least one of the two points must move, but both are numbers")
    residual = ca.vertcat(*(columns[0][k] - columns[1][k] for k in range(len(rows))))
    robot.require_own_symbols(label, residual, new)
    c = robot.coordinates
    for what, symbols in (("velocities", c.v), ("accelerations", c.a), ("inputs", robot.u)):
        if ca.depends_on(residual, symbols):
            raise ModelError(f"{label} depends on {what}; a closure is a position constraint in t, q and p only")
    nonzero = [k for k, row in enumerate(ca.vertsplit(residual)) if not row.is_zero()]
    if nonzero and len(nonzero) < len(rows):
        # Rows of two points that never leave a common plane are satisfied identically.
        residual, rows = ca.vertcat(*(residual[k] for k in nonzero)), tuple(rows[k] for k in nonzero)
    still = [names[i] for i, row in zip(rows, ca.vertsplit(residual), strict=True) if not ca.depends_on(row, c.q)]
    if still:
        raise ModelError(
            f"{label}: no coordinate moves one point relative to the other along {', '.join(still)}. Leave out such "
            "rows with Closure(..., rows=...)"
        )
    return residual, new


def _expression(robot: Robot, point: ClosurePoint, label: str) -> ca.SX | list[float]:
    if isinstance(point, ca.SX):
        return point
    if isinstance(point, str):
        if point not in robot.points:
            raise ModelError(f"{label}: {unknown_name('point', point, robot.points)}")
        return robot.points[point]
    try:
        numbers = [point] if isinstance(point, float | int) else list(point)
    except TypeError as error:
        raise ModelError(
            f"{label}: a point must be an expression, the name of a point, or numbers; got {point!r}"
        ) from error
    return [finite(f"{label}: a coordinate of the fixed point", number) for number in numbers]
