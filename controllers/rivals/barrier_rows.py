"""What barriers ask of the inputs at one state, and the least change of a nominal input that gives it to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.errors import ModelError, NotConvergedError
from ...symbolic.parameters import Parameters
from ...symbolic.samples import samples
from ..limits import QpSolver, QuadraticProgram, is_optimal, misses
from .barrier import Barrier

Array = NDArray[np.float64]

SILENT = 1e-11
"""Share of its factors below which what inputs do to a barrier counts as rounding."""

CANCELLED = 1e-7
"""Share of what any force could do to a barrier, the natural constraints left out, below which that counts too."""

SOFT = 1e-6
"""Weight of the change beside what barriers miss, where they cannot all be kept."""

ROUGH = 1e-5
"""As :data:`~erugin.controllers.limits.quadratic_program.ACCURACY`, where that weight costs digits."""

FLAT = 1e-10
"""Added to the metric, as a share of what it is made of: inputs may act on fewer directions than there are of them, and
natural constraints leave nothing of an input at its dead centre."""


def barrier_rows(robot: Robot, drives: ca.SX, barriers: Sequence[Barrier], rate: ca.SX) -> dict[str, ca.SX]:
    """Expressions of all barriers.

    With γ the rate and h of the position alone, d/dt (ḣ + γ h) + γ (ḣ + γ h) ≥ 0 is ḧ + 2 γ ḣ + γ² h ≥ 0 [Xiao2019]_;
    with velocities in h it is ḣ + γ h ≥ 0. With a = a₀ + M̂ B u either is G u + c ≥ 0.

    Args:
        robot: the model.
        drives: B, or the unit matrix where forces are applied, shape (nv, nu).
        barriers: m of them.
        rate: γ [1/s].

    Returns:
        ``gain`` G (m, nu), ``rest`` c (m,), ``metric`` W = Bᵀ M̂ B, of which no direction is left without any (nu, nu),
        ``swirl`` (M̂ B)ᵀ of each barrier's swirl (nu, m), ``value`` h (m,), ``guarantee`` (m,), h or h + ḣ/γ, which
        must be positive at the start, and ``size`` √(θ M⁻¹ θᵀ) (m,), what any force could do to each.

    Raises:
        ModelError: for a barrier in inputs or accelerations, or one that no input changes within two derivatives.
    """
    c, free, reach = robot.coordinates, robot.drift[0], robot.mobility(drives)[0]
    gains, rests, values, guarantees, sizes = (list[ca.SX]() for _ in range(5))
    for barrier in barriers:
        h = barrier.value
        robot.require_own_symbols(f"barrier {barrier.name!r}", h, barrier.parameters)
        if ca.depends_on(h, ca.vertcat(robot.u, c.a)):
            raise ModelError(f"barrier {barrier.name!r} is a function of time, position, velocities and parameters")
        first = ca.depends_on(h, c.v)
        speed = c.rate(h)
        psi = h if first else speed + rate * h
        theta, drift = c.affine_in_acceleration(c.rate(psi))
        gains.append(theta @ reach)
        rests.append(theta @ free + drift + rate * psi)
        values.append(h)
        guarantees.append(h if first else psi / rate)
        sizes.append(ca.sqrt(ca.fmax(theta @ robot.factor.solve(theta.T), 0)))
    whole = ca.diag(ca.diag(drives.T @ robot.factor.solve(drives)))
    swirls = [ca.SX.zeros(c.nv) if barrier.swirl is None else barrier.swirl for barrier in barriers]
    found = {
        "gain": ca.vertcat(*gains),
        "rest": ca.vertcat(*rests),
        "metric": drives.T @ reach + FLAT * whole,
        "swirl": reach.T @ ca.horzcat(*swirls),
        "value": ca.vertcat(*values),
        "guarantee": ca.vertcat(*guarantees),
        "size": ca.vertcat(*sizes),
    }
    return {key: ca.densify(value) for key, value in found.items()}


def require_reached(robot: Robot, gain: ca.SX, barriers: Sequence[Barrier], rate: ca.SX) -> None:
    """Raise ModelError for a barrier that no input changes at any of some places.

    Args:
        robot: the model.
        gain: G, shape (m, nu).
        barriers: m of them.
        rate: γ, a symbol [1/s].
    """
    c = robot.coordinates
    own = [barrier.parameters for barrier in barriers]
    states = {"t": c.t, "q": c.q, "v": c.v, "rate": rate}
    largest = np.zeros(len(barriers))
    collected = Parameters.collect([robot.parameters, *own])
    for (G,) in samples({"gain": gain}, states, collected):
        largest = np.fmax(largest, np.abs(G).max(axis=1, initial=0.0))
    for barrier, size in zip(barriers, largest, strict=True):
        if size <= SILENT:
            raise ModelError(
                f"no input of {robot.name} changes barrier {barrier.name!r} within two derivatives: choose one that "
                "the inputs act on"
            )


@dataclass(frozen=True, eq=False)
class Change:
    """The least change of an input that keeps barriers and bounds.

    Attributes:
        change: u − u₀, shape (nu,).
        push: λ ≥ 0 of each barrier, the force that it adds where its value is a distance [N], shape (m,).
        missing: by how much each barrier's condition is missed, in its own unit, shape (m,); zero where it holds.
    """

    change: Array
    push: Array
    missing: Array


def least_change(
    solver: QpSolver,
    gain: Array,
    need: Array,
    metric: Array,
    size: Array,
    lower: Array,
    upper: Array,
    names: Sequence[str],
) -> Change:
    """Solution of min ½ xᵀ W x subject to G x ≥ need and lower ≤ x ≤ upper.

    Where no x is feasible, of all within the bounds the one with the least sum of squares of what the rows miss, each
    row measured by how much the inputs can do to it.

    Args:
        solver: of quadratic programmes.
        gain: G, shape (m, nu).
        need: shape (m,).
        metric: W, shape (nu, nu), positive semidefinite.
        size: what any force could do to each row, the natural constraints left out, shape (m,).
        lower: of x, shape (nu,), −inf where there is none.
        upper: of x, shape (nu,), inf where there is none.
        names: of the rows, for messages.

    Raises:
        NotConvergedError: if the solver fails.
    """
    nu = len(metric)
    # In w, x = L⁻ᵀ w, the metric is the unit matrix, and every row can be given length one.
    L = np.asarray(np.linalg.cholesky(metric + FLAT * float(np.trace(metric)) / nu * np.eye(nu)), dtype=np.float64)
    back: Array = np.asarray(np.linalg.solve(L, np.eye(nu)).T, dtype=np.float64)
    rows: Array = gain @ back
    scale: Array = np.sqrt(np.sum(rows**2, axis=1))
    least_scale = np.fmax(SILENT * max(1.0, float(scale.max(initial=0.0))), CANCELLED * size)
    scale = np.where(scale > least_scale, scale, np.inf)
    rows, right = rows / scale[:, None], np.where(np.isfinite(scale), need / scale, 0.0)
    bounded = np.isfinite(lower) | np.isfinite(upper)
    inputs: Array = back[bounded]
    sizes: Array = np.sqrt(np.sum(inputs**2, axis=1))
    A = np.vstack([rows, inputs / sizes[:, None]])
    most = np.concatenate([np.full(len(need), np.inf), upper[bounded] / sizes])
    least = np.concatenate([right, lower[bounded] / sizes])
    free = np.full(nu, np.inf)
    program = QuadraticProgram(np.eye(nu), np.zeros(nu), A, least, most, -free, free)
    answer = solver.solve(program)
    hopeless = ~np.isfinite(scale) & (need > 0.0)
    if not hopeless.any() and is_optimal(program, answer):
        w, push = answer.x, np.fmax(-answer.multipliers[nu : nu + len(need)], 0.0)
        missing = np.zeros(len(need))
    else:
        w, push = _softened(solver, A, least, most, len(need), names), np.zeros(len(need))
        missing = np.fmax(right - rows @ w, 0.0)
        missing = np.where(np.isfinite(scale), missing * np.where(np.isfinite(scale), scale, 0.0), np.fmax(need, 0.0))
    x: Array = back @ w
    return Change(np.clip(x, lower, upper), push / scale, missing)


def _softened(solver: QpSolver, A: Array, least: Array, most: Array, m: int, names: Sequence[str]) -> Array:
    """The w of least misses: each row of a barrier gets a slack of its own."""
    n = int(A.shape[1])
    H = np.diag(np.concatenate([np.full(n, SOFT), np.ones(m)]))
    slack = np.vstack([np.eye(m), np.zeros((len(A) - m, m))])
    free = np.full(n + m, np.inf)
    program = QuadraticProgram(H, np.zeros(n + m), np.hstack([A, slack]), least, most, -free, free)
    answer = solver.solve(program)
    if not misses(program, answer) <= ROUGH:
        raise NotConvergedError(
            f"the solver of quadratic programmes found no input for the barriers {', '.join(map(repr, names))}"
            f"{': ' if solver.word else ''}{solver.word}; a Supervised controller goes on with its last safe input"
        )
    return answer.x[:n]
