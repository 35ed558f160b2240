"""Multiple shooting: the nonlinear programme of a predictive controller, for a solver of CasADi."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ....symbolic.runge_kutta import rk4_step
from .objective import MpcObjective

Array = NDArray[np.float64]
Solver = Literal["sqp", "ipopt"]

ITERATIONS = 100
"""Largest number of iterations of a solver that runs until convergence."""

CUT_SHORT = "Maximum_Iterations_Exceeded"
"""Status of both solvers if they stop before the optimum."""

GAP = 1e-5
"""Gap allowed between the states at the ends of intervals, relative to the largest state."""


@dataclass(frozen=True, eq=False)
class ShootingGuess:
    """Start of a solver.

    Attributes:
        states: x_0 … x_N, shape (nx, N + 1).
        inputs: u_0 … u_{N−1}, shape (nu, N).
        bounds: multipliers of the bounds, shape (N (nx + nu) + nx,); zero if not known.
        gaps: multipliers of the dynamics, shape ((N + 1) nx,); zero if not known.
    """

    states: Array
    inputs: Array
    bounds: Array = field(default_factory=lambda: np.zeros(0))
    gaps: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for array in (self.states, self.inputs, self.bounds, self.gaps):
            array.setflags(write=False)

    def shifted(self, ticks: int) -> ShootingGuess:
        """Return the guess shifted by some intervals, with its end repeated.

        Args:
            ticks: number of intervals.
        """
        nx, nu, nodes = len(self.states), len(self.inputs), len(self.states[0])
        later = np.minimum(np.arange(nodes) + ticks, nodes - 1)
        until = np.minimum(np.arange(nodes - 1) + ticks, nodes - 2)
        bounds, gaps = self.bounds, self.gaps
        if bounds.size:
            stages = bounds[:-nx].reshape(nodes - 1, nx + nu)[until]
            bounds = np.concatenate([stages.ravel(), bounds[-nx:]])
            gaps = gaps.reshape(nodes, nx)[later].ravel()
        return ShootingGuess(self.states[:, later].copy(), self.inputs[:, until].copy(), bounds, gaps)


@dataclass(frozen=True, eq=False)
class ShootingSolution:
    """Result of a solver.

    Attributes:
        found: the plan.
        ok: True if the plan can be used.
        word: status of the solver.
    """

    found: ShootingGuess
    ok: bool
    word: str


class ShootingProblem:
    """min ½ Σ_k h (|e_k/ē|² + |(u_k − u_d)/ū|²) + ½ e_Nᵀ P e_N with x_{k+1} = F(t_k, x_k, u_k) and |u_k| ≤ limits.

    e = (y, ẏ); F is a number of steps of the classical Runge–Kutta method with constant input. Both states and inputs
    are unknowns (multiple shooting, [BockPlitt1984]_), and the Hessian is that of Gauss and Newton: no second
    derivatives of the model are needed.
    """

    def __init__(
        self,
        aim: MpcObjective,
        p: ca.SX,
        *,
        interval: float,
        steps: int,
        substeps: int,
        error: Array,
        effort: Array,
        terminal: Array,
        limits: Array,
        solver: Solver,
        iterations: int | None,
    ) -> None:
        """Build the programme and the solver.

        Args:
            aim: the objective.
            p: symbols of all parameters.
            interval: length h of an interval [s].
            steps: number of intervals N.
            substeps: number of Runge–Kutta steps in an interval.
            error: ē, allowed values of e, shape (2 m,).
            effort: ū, allowed values of u − u_d, shape (nu,).
            terminal: P, positive semidefinite, shape (2 m, 2 m).
            limits: greatest |u|, shape (nu,); infinity for no limit.
            solver: name of the solver, ``"sqp"`` or ``"ipopt"``.
            iterations: largest number of iterations; None to iterate until convergence.
        """
        robot, c = aim.robot, aim.robot.coordinates
        self.nx, self.nu, self.steps, self.limits, self._cut = c.nq + c.nv, robot.u.numel(), steps, limits, iterations
        x = ca.vertcat(c.q, c.v)
        symbols = [c.t, x, robot.u, p]
        rate = ca.Function("rate", symbols, [ca.vertcat(c.N @ c.v, robot.acceleration)], {"cse": True})
        after, h = x, interval / substeps

        def slope(t: ca.SX, state: ca.SX) -> ca.SX:
            return rate.call([t, state, robot.u, p])[0]

        for i in range(substeps):
            reached: ca.SX = rk4_step(slope, c.t + i * h, after, h)
            after = reached
        step = ca.Function("step", symbols, [ca.densify(after)], {"cse": True})
        errors = ca.vertcat(aim.y, aim.rate)
        stage = math.sqrt(interval) * ca.vertcat(errors / error, (robot.u - aim.input) / effort)
        root = _root(terminal)
        residual = ca.Function("residual", symbols, [ca.densify(stage)], {"cse": True})
        last = ca.Function("last", [c.t, x, p], [ca.densify(root @ errors)], {"cse": True})
        self._solve = self._nlp(step, residual, last, interval, p.numel(), solver)

    def _nlp(
        self, step: ca.Function, residual: ca.Function, last: ca.Function, interval: float, np_: int, solver: Solver
    ) -> ca.Function:
        nx, nu, N = self.nx, self.nu, self.steps
        w, given = ca.MX.sym("w", N * (nx + nu) + nx), ca.MX.sym("given", 1 + nx + np_)
        start, p = given[1 : 1 + nx], given[1 + nx :]
        stages = ca.reshape(w[: N * (nx + nu)], nx + nu, N)
        states, inputs, end = stages[:nx, :], stages[nx:, :], w[N * (nx + nu) :]
        times = ca.repmat(given[0], 1, N) + interval * np.arange(N)[None, :]
        arguments = [times, states, inputs, ca.repmat(p, 1, N)]
        reached, misses = step.map(N).call(arguments)[0], residual.map(N).call(arguments)[0]
        gaps = ca.vertcat(states[:, 0] - start, ca.vec(ca.horzcat(states[:, 1:], end) - reached))
        r = ca.vertcat(ca.vec(misses), last.call([given[0] + N * interval, end, p])[0])
        J = ca.jacobian(r, w)
        factor, multipliers = ca.MX.sym("factor"), ca.MX.sym("multipliers", gaps.numel())
        # IPOPT reads the upper triangle, the other solver the whole matrix.
        H = ca.triu(J.T @ J) if solver == "ipopt" else J.T @ J
        hessian = ca.Function("hessian", [w, given, factor, multipliers], [factor * H])
        problem = {"x": w, "p": given, "f": 0.5 * ca.sumsqr(r), "g": gaps}
        plugin, options = _options(solver, ITERATIONS if self._cut is None else self._cut)
        return ca.nlpsol("prediction", plugin, problem, {**options, "hess_lag": hessian})

    def solve(self, t: float, x: Array, p: Array, guess: ShootingGuess) -> ShootingSolution:
        """Solve for the plan from a state on.

        Args:
            t: time [s].
            x: state (q, v), shape (nx,).
            p: values of all parameters.
            guess: start of the solver.
        """
        nx, nu, N = self.nx, self.nu, self.steps
        free = np.full((N, nx), np.inf)
        upper = np.concatenate([np.hstack([free, np.tile(self.limits, (N, 1))]).ravel(), np.full(nx, np.inf)])
        w = np.concatenate([np.vstack([guess.states[:, :-1], guess.inputs]).T.ravel(), guess.states[:, -1]])
        known = {"lam_x0": guess.bounds, "lam_g0": guess.gaps} if guess.bounds.size else {}
        try:
            out = self._solve(x0=w, p=np.concatenate([[t], x, p]), lbx=-upper, ubx=upper, lbg=0.0, ubg=0.0, **known)
        except RuntimeError as error:
            return ShootingSolution(guess, False, str(error).strip().splitlines()[-1])
        stats = self._solve.stats()
        word = str(stats["return_status"])
        found, bounds, gaps, missed = (out[key].full()[:, 0] for key in ("x", "lam_x", "lam_g", "g"))
        stages = found[: N * (nx + nu)].reshape(N, nx + nu)
        states = np.vstack([stages[:, :nx], found[N * (nx + nu) :]]).T
        inputs = np.clip(stages[:, nx:].T, -self.limits[:, None], self.limits[:, None])
        if not (np.isfinite(found).all() and np.isfinite(bounds).all() and np.isfinite(gaps).all()):
            return ShootingSolution(guess, False, f"{word}, with a number that is not finite")
        plan = ShootingGuess(states, inputs, bounds, gaps)
        if self._cut is not None and word == CUT_SHORT:
            return ShootingSolution(plan, True, word)
        # Check the equations independently of the solver's status.
        if bool(stats["success"]) and np.abs(missed).max() > GAP * max(1.0, np.abs(states).max()):
            return ShootingSolution(plan, False, f"{word}, but the plan misses the equations of motion")
        return ShootingSolution(plan, bool(stats["success"]), word)


def _root(matrix: Array) -> Array:
    """Return L with Lᵀ L = P, shape (n, n)."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T, dtype=np.float64)


def _options(solver: Solver, iterations: int) -> tuple[str, Mapping[str, object]]:
    """Return the name of CasADi's plugin and its options."""
    quiet = {"print_time": False, "error_on_fail": False}
    if solver == "ipopt":
        # An interior point: its distance from the bounds decreases with the tolerance.
        silent = {"ipopt.print_level": 0, "ipopt.sb": "yes"}
        return "ipopt", {**quiet, **silent, "ipopt.max_iter": iterations, "ipopt.tol": 1e-10}
    inner = {"print_iter": False, "print_header": False, "print_info": False, "error_on_fail": False}
    return "sqpmethod", {
        **quiet,
        "print_header": False,
        "print_iteration": False,
        "print_status": False,
        "max_iter": iterations,
        "qpsol": "qrqp",
        "qpsol_options": inner,
    }
