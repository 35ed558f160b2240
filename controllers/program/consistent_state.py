"""Consistent states: coordinates and velocities at which a program holds exactly."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.solvability import CONSISTENCY, ConstrainedMotion, Dependence, dependences
from ...constraints.solvability import SINGULAR_VALUE_TOLERANCE as RANK
from ...robots.least_squares import gauss_newton
from ...robots.robot import Robot
from ...symbolic.errors import ContradictoryProgramError, ModelError, NotConvergedError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters
from ...symbolic.validation import dense_values, finite_time, vector
from .program import Program

Array = NDArray[np.float64]
TOLERANCE = 1e-12
NEARBY = 1e-3
"""Distance of the position at which rows are compared, to leave positions that are only accidentally singular."""


def start_on(
    program: Program,
    guess: ArrayLike,
    *,
    at: Sequence[tuple[ca.SX, ArrayLike]] = (),
    velocity_guess: ArrayLike | None = None,
    t: float = 0.0,
    p: Mapping[str, float] | ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Find coordinates and velocities that satisfy a program, and the natural constraints, exactly.

    Coordinates solve the constraints of order 0 and ``at``, by Gauss–Newton steps of least norm from the guess, halved
    until they reduce the residual. Velocities solve the rates of order 0 and the constraints of order 1 in the same
    way; from rest they are of least norm. A row whose derivatives vanish at rest (a speed |ẋ| = s) requires a nonzero
    velocity guess.

    Args:
        program: the program to satisfy.
        guess: coordinates to start from, shape (nq,), which select the branch (elbow up or down).
        at: pairs of an expression in q, such as ``robot.points["tip"]``, and its required value.
        velocity_guess: velocities to start from, shape (nv,); zero if not given.
        t: time [s].
        p: parameters of the program: nominal, overridden by name, or the whole vector.

    Returns:
        q, shape (nq,), and v, shape (nv,).

    Raises:
        ContradictoryProgramError: if rows contradict each other in every position; the message names them and by how
            much.
        NotConvergedError: if no such state is found; the message names the row that is missed and by how much.
        ModelError: if a point that follows a field starts inside one of its barriers.
    """
    robot, c, t = program.robot, program.robot.coordinates, finite_time("t", t)
    every = (*robot.natural, *program.constraints)
    residuals = [(k, k.residual(c)) for k in every]
    numbers = program.parameters.values(p)
    places = [
        (
            "at",
            ca.vec(e) - ca.SX(ca.DM(vector("at", np.atleast_1d(dense_values(value)), e.numel()))),
        )
        for e, value in at
    ]
    positions = [(k.name, e) for k, e in residuals if k.order == 0] + places
    velocities = [(k.name, c.rate(e)) for k, e in residuals if k.order == 0]
    velocities += [(k.name, e) for k, e in residuals if k.order == 1]

    q = vector("guess", guess, c.nq)
    free = {"t": c.t, "v": c.v, "p": program.p}
    q = _solve(robot, program.parameters, positions, c.q, q, free, [t, np.zeros(c.nv), numbers], "coordinates")
    _require_clearances(program, t, q, numbers)
    given = {"t": c.t, "q": c.q, "p": program.p}
    v = np.zeros(c.nv) if velocity_guess is None else vector("velocity_guess", velocity_guess, c.nv)
    v = _solve(robot, program.parameters, velocities, c.v, v, given, [t, q, numbers], "velocities")
    return q, v


def _require_clearances(program: Program, t: float, q: Array, numbers: Array) -> None:
    """Raise ModelError if a point that a constraint keeps clear of an obstacle lies inside it."""
    c = program.robot.coordinates
    for constraint in program.constraints:
        found = {} if constraint.clearances is None else dict(constraint.clearances(c))
        if not found:
            continue
        kernel = Kernel(
            "clearances", {"t": c.t, "q": c.q, "p": program.p}, {"d": ca.vertcat(*found.values())}, compiled=False
        )
        distances = np.atleast_1d(kernel(t, q, numbers)[0])
        worst = int(np.argmin(distances))
        if not distances[worst] > 0.0:
            raise ModelError(
                f"the start of {constraint.name!r} lies {-distances[worst]:.4g} m beyond the boundary of "
                f"{list(found)[worst]!r}, at q = {np.array2string(q, precision=4)}: start elsewhere, by guess= or at=, "
                "or move the obstacle"
            )


def _solve(
    robot: Robot,
    parameters: Parameters,
    equations: Sequence[tuple[str, ca.SX]],
    unknown: ca.SX,
    start: Array,
    given: Mapping[str, ca.SX],
    values: Sequence[ArrayLike],
    unknowns: str,
) -> Array:
    if not equations:
        return start
    residual = ca.vertcat(*(expression for _, expression in equations))
    robot.require_own_symbols("the starting state", residual, parameters)
    kernel = Kernel(
        "start",
        {"unknown": unknown, **given},
        {"residual": ca.vec(residual), "jacobian": ca.jacobian(residual, unknown)},
        compiled=False,
    )

    def evaluate(x: Array) -> tuple[Array, Array]:
        r, J = kernel(x, *values)
        return np.atleast_1d(r), J.reshape(residual.numel(), unknown.numel())

    found = gauss_newton(evaluate, start)
    x, r = found.x, found.residual
    J = evaluate(x)[1]
    worst = int(np.argmax(np.abs(np.where(np.isfinite(r), r, np.inf))))
    # Rounding in r grows with its terms, which are of the size of J x.
    allowed = 100 * TOLERANCE * max(1.0, float(np.abs(J).max(initial=0.0) * np.abs(x).max(initial=0.0)))
    if not abs(r[worst]) <= allowed:
        if contradiction := _contradiction(equations, evaluate, (x, start), allowed):
            where = "in any position" if unknowns == "coordinates" else "in this position"
            raise ContradictoryProgramError(
                f"no {unknowns} satisfy the program {where}: {contradiction}. Remove one of these rows, or give them "
                "values that agree"
            )
        names = [name for name, expression in equations for _ in range(expression.numel())]
        raise NotConvergedError(
            f"no {unknowns} were found that satisfy the program from {np.array2string(start, precision=4)}: "
            f"{names[worst]!r} is missed by {r[worst]:.3g}; it may be out of reach, or another guess is needed"
        )
    return x


def _contradiction(
    equations: Sequence[tuple[str, ca.SX]],
    evaluate: Callable[[Array], tuple[Array, Array]],
    places: tuple[Array, Array],
    allowed: float,
) -> str:
    """Return the first row that depends on others and contradicts them near both positions; empty otherwise.

    Rows also become dependent at the end of a robot's reach, but not near it.
    """
    names = [
        name if expression.numel() == 1 else f"{name}[{i}]"
        for name, expression in equations
        for i in range(expression.numel())
    ]

    def dependent(x: Array) -> dict[str, Dependence]:
        away = np.random.default_rng(0).uniform(-1.0, 1.0, x.size)
        r, J = evaluate(x + NEARBY * np.maximum(1.0, np.abs(x)) * away)
        if not (np.isfinite(r).all() and np.isfinite(J).all()):
            return {}
        motion = ConstrainedMotion(np.eye(x.size), np.zeros(x.size), J, -r, names=names)
        return {each.row: each for each in dependences(motion, motion.scaled_rows, RANK, CONSISTENCY)}

    def solvable(rows: Collection[str]) -> bool:
        own = [i for i, name in enumerate(names) if name in rows]

        def alone(x: Array) -> tuple[Array, Array]:
            r, J = evaluate(x)
            return r[own], J[own]

        return min(gauss_newton(alone, place).size for place in places) <= allowed

    found, elsewhere = (dependent(place) for place in places)
    for row, here in found.items():
        there = elsewhere.get(row)
        # The same contradiction at two positions holds everywhere; otherwise the parts must be solvable separately.
        same = there is not None and abs(there.contradiction - here.contradiction) <= here.allowed + there.allowed
        apart = (
            (not same)
            and solvable([row])
            and solvable(list(here.coefficients))
            and not solvable([row, *here.coefficients])
        )
        if not here.consistent and (same or apart):
            return str(here)
    return ""
