"""Trajectory optimization: motions of least effort between two states, by direct collocation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.errors import ModelError, NotConvergedError
from ...symbolic.validation import not_negative, positive, reals, vector
from ..linearization.nominal_motion import NominalMotion

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OptimalMotion:
    """Result of the search.

    Attributes:
        motion: motion at the ends and the middles of the intervals, 2 N + 1 samples.
        cost: ∫ (uᵀu + w vᵀv) dt.
        defect: largest violation of a collocation equation, in its unit.
        iterations: number of iterations of the solver.
    """

    motion: NominalMotion
    cost: float
    defect: float
    iterations: int


def optimal_motion(
    robot: Robot,
    q0: ArrayLike,
    q1: ArrayLike,
    duration: float,
    *,
    intervals: int = 200,
    effort: ArrayLike | None = None,
    speed_weight: float = 0.0,
    guess: ArrayLike | None = None,
    iterations: int = 1000,
    p: Mapping[str, float] | ArrayLike | None = None,
) -> OptimalMotion:
    """Find a motion from rest to rest that minimizes ∫ (uᵀu + w vᵀv) dt locally, within limits.

    Hermite–Simpson collocation [HargravesParis1987]_ in separated form, order 4; IPOPT solves the nonlinear program
    with exact derivatives. The robot's limits bound inputs, and coordinates and velocities at the ends of the
    intervals. Intervals must be short relative to the motion: with too few of them the solver may find motions that
    satisfy the discrete equations only; compare the cost with that of twice as many.

    Args:
        robot: robot without natural constraints, in velocities v = q̇, with at least one input.
        q0: coordinates at the start, at rest, shape (nq,).
        q1: coordinates at the end, at rest, shape (nq,).
        duration: length of the motion [s].
        intervals: number of intervals N.
        effort: bounds on |u|, shape (nu,); those of ``robot.limits`` if not given.
        speed_weight: weight w of the velocities.
        guess: coordinates at the ends of the intervals, shape (N + 1, nq), from which the search starts; a straight
            line if not given.
        iterations: largest number of iterations of the solver.
        p: parameters: nominal, overridden by name, or the whole vector.

    Raises:
        ModelError: for a robot with natural constraints, other velocities or no inputs, ends beyond its limits, or
            numbers out of range.
        NotConvergedError: if the solver found no motion; the message gives its reason and the largest defect.
    """
    c, nu = robot.coordinates, robot.u.numel()
    if robot.natural or not c.are_rates:
        raise ModelError(
            f"optimal_motion requires a robot without natural constraints whose velocities are the rates of its "
            f"coordinates, which {robot.name} is not"
        )
    if not nu:
        raise ModelError(f"{robot.name} has no inputs: add drives by with_inputs")
    span, weight = positive("duration", duration), not_negative("speed_weight", speed_weight)
    if intervals < 2 or iterations < 1:
        raise ModelError(f"at least 2 intervals and 1 iteration are required, got {intervals} and {iterations}")
    n, h = c.nq, span / intervals
    ends = _within(robot, "q0", vector("q0", q0, n)), _within(robot, "q1", vector("q1", q1, n))
    bound = robot.limits.effort if effort is None else reals("effort", effort)
    if bound.shape != (nu,) or not (bound > 0.0).all():
        raise ModelError(f"effort must be {nu} numbers greater than zero, got {bound}")
    shares = np.linspace(0.0, 1.0, intervals + 1)[:, None]
    places = ends[0] + shares * (ends[1] - ends[0])
    if guess is not None:
        places = reals("guess", guess)
        if places.shape != (intervals + 1, n) or not np.isfinite(places).all():
            raise ModelError(f"guess must be finite, of shape ({intervals + 1}, {n}), got shape {places.shape}")
    X, U, J, defects = _collocation(robot, intervals, h, weight, robot.parameters.values(p))
    unknowns = ca.vertcat(ca.vec(X), ca.vec(U))
    lower = np.concatenate(
        [np.tile([*robot.limits.lower, *-robot.limits.speed], intervals + 1), np.tile(-bound, 2 * intervals + 1)]
    )
    upper = np.concatenate(
        [np.tile([*robot.limits.upper, *robot.limits.speed], intervals + 1), np.tile(bound, 2 * intervals + 1)]
    )
    for place, at in zip(ends, (0, 2 * n * intervals), strict=True):
        lower[at : at + 2 * n] = upper[at : at + 2 * n] = [*place, *np.zeros(n)]
    start = np.concatenate([np.hstack([places, np.zeros_like(places)]).ravel(), np.zeros(nu * (2 * intervals + 1))])
    options = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False, "ipopt.max_iter": iterations}
    solver = ca.nlpsol("optimal_motion", "ipopt", {"x": unknowns, "f": J, "g": defects}, options)
    found = solver(x0=start, lbx=lower, ubx=upper, lbg=0.0, ubg=0.0)
    stats = solver.stats()
    numbers = found["x"].full()[:, 0]
    defect = float(np.abs(found["g"].full()).max())
    if not stats["success"]:
        raise NotConvergedError(
            f"no motion of {robot.name} was found in {stats['iter_count']} iterations: {stats['return_status']}, the "
            f"equations are missed by {defect:.3g}. Allow more time, effort or iterations, or give a guess"
        )
    states = numbers[: 2 * n * (intervals + 1)].reshape(intervals + 1, 2 * n)
    # The solver may exceed bounds by its tolerance.
    inputs = np.clip(numbers[2 * n * (intervals + 1) :].reshape(2 * intervals + 1, nu), -bound, bound)
    motion = _dense(robot, states, inputs, h, p)
    return OptimalMotion(motion, float(found["f"]), defect, int(stats["iter_count"]))


def _within(robot: Robot, what: str, q: Array) -> Array:
    for name, place, low, high in zip(robot.coordinates.names, q, robot.limits.lower, robot.limits.upper, strict=True):
        if not low <= place <= high:
            raise ModelError(
                f"{what}: {name} = {place:g} lies beyond the limits of {robot.name}, {low:g} to {high:g}: use another "
                "position, or give the robot other limits by erugin.robots.with_limits"
            )
    return q


def _collocation(robot: Robot, intervals: int, h: float, weight: float, p: Array) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Return states at the ends, shape (2n, N + 1), inputs at ends and middles, the cost and the defects."""
    c, nu = robot.coordinates, robot.u.numel()
    f = _derivative(robot, p)
    X, U = ca.SX.sym("X", 2 * c.nq, intervals + 1), ca.SX.sym("U", nu, 2 * intervals + 1)

    def rate(k: int, x: ca.SX, u: ca.SX) -> ca.SX:
        return f.call([k * h / 2, x, u])[0]

    rates = [rate(2 * k, X[:, k], U[:, 2 * k]) for k in range(intervals + 1)]
    J, defects = ca.SX(0), list[ca.SX]()
    for k in range(intervals):
        x, after, u, between, last = X[:, k], X[:, k + 1], U[:, 2 * k], U[:, 2 * k + 1], U[:, 2 * k + 2]
        middle = (x + after) / 2 + h / 8 * (rates[k] - rates[k + 1])
        defects.append(after - x - h / 6 * (rates[k] + 4 * rate(2 * k + 1, middle, between) + rates[k + 1]))
        J += h / 6 * (ca.sumsqr(u) + 4 * ca.sumsqr(between) + ca.sumsqr(last))
        v, v_middle, v_after = x[c.nq :], middle[c.nq :], after[c.nq :]
        J += weight * h / 6 * (ca.sumsqr(v) + 4 * ca.sumsqr(v_middle) + ca.sumsqr(v_after))
    return X, U, J, ca.vertcat(*defects)


def _derivative(robot: Robot, p: Array) -> ca.Function:
    """Return the function (t, x, u) → ẋ."""
    c = robot.coordinates
    a = ca.substitute(robot.acceleration, robot.p, ca.SX(ca.DM(p)))
    return ca.Function("f", [c.t, ca.vertcat(c.q, c.v), robot.u], [ca.vertcat(c.v, a)], {"cse": True})


def _dense(
    robot: Robot, states: Array, inputs: Array, h: float, p: Mapping[str, float] | ArrayLike | None
) -> NominalMotion:
    """Add states at the middles, by Hermite's cubic."""
    f = _derivative(robot, robot.parameters.values(p))
    nq, times = robot.coordinates.nq, np.arange(len(inputs)) * h / 2
    ends = [f.call([float(times[2 * k]), x, inputs[2 * k]])[0].full()[:, 0] for k, x in enumerate(states)]
    rates = np.array(ends)
    every = np.zeros((len(inputs), states.shape[1]))
    every[::2] = states
    every[1::2] = (states[:-1] + states[1:]) / 2 + h / 8 * (rates[:-1] - rates[1:])
    return NominalMotion(robot, times, every[:, :nq], every[:, nq:], inputs)
