"""Closed chains: loops of any robot closed by natural constraints."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints import Perturbation
from ...constraints.constraint import Constraint, holonomic, row_names
from ...symbolic.coordinates import Coordinates
from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.parameters import Parameters
from ...symbolic.validation import finite
from ..constrained_factor import Redundant
from ..robot import Robot

ClosurePoint = ca.SX | str | float | Sequence[float] | NDArray[np.float64]
"""An expression in the robot's symbols, the name of one of its points, or numbers: a place that does not move."""

AXES = "xyz"


@dataclass(frozen=True, eq=False)
class Closure:
    """Two places that are held together.

    Attributes:
        first: an expression, shape (n,), or the name of a point.
        second: another of the same shape, or fixed numbers; these become parameters ``name.x``, ``name.y``, … or, for
            a scalar, ``name.value``, so that a study can move the place.
        name: of the natural constraint; made from the points if not given, such as ``"closure tip-joint1"``.
        rows: which components are held, all if not given: ``(1,)`` lets a point slide along x.
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
    """The robot with loops closed, as Larin builds closed chains: the open chain first, then C(q) = 0.

    Each closure adds the natural constraint first − second = 0, so that M a + h = B u + Aᵀμ with A = ∂C/∂q N. Where the
    two are points in metres, μ is the force [N] of the pin that holds the first on the second. Everything else of the
    robot is kept.

    Points are enough for pins and spherical joints; ``rows`` or a pair of scalars for guides and gears, such as
    ``(robot.points["tip"][1], 0.0)``; a product of two axes' components, held at zero, keeps the axes at right angles.
    A closure whose rows depend on others (a parallelogram with a third crank) makes A M⁻¹ Aᵀ singular:
    :func:`~erugin.robots.assemble` names such rows, :func:`without_rows` leaves them out. With ``redundant`` they may
    stay: the motion, which is unique, is the same, and of the reactions, which are not, those of least norm are taken.
    That holds where the rank stays what it is; a position in which it falls further, such as a parallelogram that lies
    flat, is singular with or without spare rows, and a motion through it is not to be trusted.

    Args:
        robot: with open chains, or some loops closed already.
        closures: pairs of places, or :class:`Closure` for a name or a choice of rows; at least one.
        name: of the mechanism, shown in messages.
        perturbation: what deviations obey, Baumgarte's equation with its usual gains if not given; its gains are the
            world's, and numbers.
        redundant: ``"least-norm"`` where rows may depend on each other, ``"refused"`` where not; as ``robot`` has it if
            not given.

    Raises:
        ModelError: for no closure, an unknown point, shapes that differ, foreign symbols, velocities, accelerations
            or inputs in a closure, or rows in which nothing moves; the message names the closure.
    """
    if isinstance(closures, Closure | str | ca.SX):
        raise ModelError(f"closures must be a list of pairs of places, got {closures!r}")
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
    """The robot without some rows of its natural constraints, such as the redundant ones of an assembly.

    Leaving out a row that depends on others everywhere changes no motion, and makes the remaining reactions unique.
    The rows that stay are numbered anew.

    Args:
        robot: with natural constraints.
        rows: names such as ``"closure tip-joint1[1]"``, as in :attr:`~erugin.robots.Assembly.rows`.

    Raises:
        ModelError: for a row that the robot does not have.
    """
    leaving = {rows} if isinstance(rows, str) else set(rows)
    natural: list[Constraint] = []
    known: list[str] = []
    for constraint in robot.natural:
        names = row_names(constraint.name, constraint.residual(robot.coordinates).numel())
        known.extend(names)
        kept = [i for i, name in enumerate(names) if name not in leaving]
        if kept:
            natural.append(constraint if len(kept) == len(names) else _part(constraint, kept))
    for name in leaving:
        if name not in known:
            raise ModelError(f"{robot.name}: {unknown_name('row of a natural constraint', name, known)}")
    return dataclasses.replace(robot, natural=tuple(natural))


def _part(constraint: Constraint, kept: Sequence[int]) -> Constraint:
    def residual(coordinates: Coordinates) -> ca.SX:
        whole = constraint.residual(coordinates)
        return ca.vertcat(*(whole[i] for i in kept))

    return dataclasses.replace(constraint, residual=residual)


def _closure(item: Closure | tuple[ClosurePoint, ClosurePoint], number: int) -> Closure:
    if isinstance(item, Closure):
        return item
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise ModelError(f"closure {number} must be a pair of places or a Closure, got {item!r}")
    return Closure(*item)


def _label(robot: Robot, closure: Closure, number: int, taken: set[str]) -> str:
    if closure.name is None:
        names = [_place_name(robot, place) for place in (closure.first, closure.second)]
        label = f"closure {'-'.join(n for n in names if n)}" if all(names) else f"closure {number}"
        return (
            label
            if label not in taken
            else next(x for k in range(2, len(taken) + 3) if (x := f"{label} {k}") not in taken)
        )
    if closure.name in taken:
        raise ModelError(f"{robot.name} already has a natural constraint {closure.name!r}; name the closure otherwise")
    return closure.name


def _place_name(robot: Robot, place: ClosurePoint) -> str:
    """Name of a point, ``"ground"`` for numbers, nothing for other expressions."""
    if isinstance(place, str):
        return place
    if not isinstance(place, ca.SX):
        return "ground"
    same = (n for n, x in robot.points.items() if x.shape == place.shape and ca.is_equal(x, place))
    return next(same, "")


def _residual(robot: Robot, closure: Closure, label: str) -> tuple[ca.SX, Parameters]:
    """first − second, and the parameters of a place given by numbers."""
    sides = [_expression(robot, place, label) for place in (closure.first, closure.second)]
    shapes = [side.shape if isinstance(side, ca.SX) else (len(side), 1) for side in sides]
    if shapes[0] != shapes[1] or shapes[0][1] != 1 or shapes[0][0] == 0:
        raise ModelError(
            f"{label}: the two places must be columns of equal length, got shapes {shapes[0]} and {shapes[1]}"
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
        raise ModelError(f"{label}: both places are fixed, so there is nothing to close")
    residual = ca.vertcat(*(columns[0][k] - columns[1][k] for k in range(len(rows))))
    robot.require_own_symbols(label, residual, new)
    c = robot.coordinates
    for what, symbols in (("velocities", c.v), ("accelerations", c.a), ("inputs", robot.u)):
        if ca.depends_on(residual, symbols):
            raise ModelError(f"{label} depends on {what}; a closure holds places, so it may use t, q and p only")
    kept = [k for k, row in enumerate(ca.vertsplit(residual)) if not row.is_zero()]
    if kept and len(kept) < len(rows):
        # Rows of two points that never leave a common plane hold by themselves.
        residual, rows = ca.vertcat(*(residual[k] for k in kept)), tuple(rows[k] for k in kept)
    still = [names[i] for i, row in zip(rows, ca.vertsplit(residual), strict=True) if not ca.depends_on(row, c.q)]
    if still:
        raise ModelError(
            f"{label} has nothing to close in {', '.join(still)}: no coordinate moves one place against the other "
            "there. Leave such rows out with Closure(..., rows=...)"
        )
    return residual, new


def _expression(robot: Robot, place: ClosurePoint, label: str) -> ca.SX | list[float]:
    if isinstance(place, ca.SX):
        return place
    if isinstance(place, str):
        if place not in robot.points:
            raise ModelError(f"{label}: {unknown_name('point', place, robot.points)}")
        return robot.points[place]
    try:
        numbers = [place] if isinstance(place, float | int) else list(place)
    except TypeError as error:
        raise ModelError(f"{label}: a place is an expression, a point's name, or numbers; got {place!r}") from error
    return [finite(f"{label}: a coordinate of the fixed place", number) for number in numbers]
