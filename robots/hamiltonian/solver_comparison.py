"""Comparison of Legendre solvers on chains of growing length."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.runge_kutta import rk4_step
from ...symbolic.validation import finite, positive
from ..families.planar_manipulator import Link
from .legendre_solvers import (
    Cholesky,
    ConjugateDirections,
    LegendreSolution,
    LegendreSolver,
    MinimalResiduals,
    Start,
    StructuredElimination,
    require_start,
)
from .operation_count import OperationCount
from .planar_chain import ChainForm, PlanarChain

Array = NDArray[np.float64]


MOST_STEPS = 10**7
"""Largest number of steps; more would take hours."""


@dataclass(frozen=True)
class LegendreRow:
    """Cost and accuracy of one solver on one chain, per step of the motion.

    Attributes:
        n: number of links.
        solver: name of its class; for minimal residuals also the stopping condition.
        tolerance: ε [rad/s].
        condition: median condition number of A along the motion.
        iterations: mean number; 0 for a direct method.
        max_iterations: largest number of iterations.
        multiplications: mean number, with divisions and roots, from the angles and momenta to the velocities.
        additions: mean number, likewise.
        printed: multiplications by the formula in the paper, 6n² + 13n or 12n + 16nN with N the mean iterations, for
            the whole step of its scheme; None for a method that is not in the paper.
        seconds: mean time of the implementation in NumPy and Python [s].
        error: largest ‖z − z*‖, z* by elimination along the chain [rad/s].
        converged: fraction of the steps at which the residual met its target.
    """

    n: int
    solver: str
    tolerance: float
    condition: float
    iterations: float
    max_iterations: int
    multiplications: float
    additions: float
    printed: float | None
    seconds: float
    error: float
    converged: float

    @property
    def accurate(self) -> bool:
        """True if every error is within ε."""
        return self.error <= self.tolerance


def compare_legendre(
    n_values: Iterable[int],
    *,
    link: Link,
    step: float,
    steps: int,
    tolerance: float,
    angle: float,
    gravity: float = 9.81,
    limit: int = 10_000,
    start: Start = "last",
) -> tuple[LegendreRow, ...]:
    """Solve the quadratic programme at the steps of a falling chain, by each method, warm-started from its own last z.

    The chain starts straight and at rest, and falls freely. Both iterative methods stop at ‖A z − b‖ ≤ ε min J, which
    makes ‖z − z*‖ ≤ ε, [DunskayaPyatnitsky1996]_ eq. (3.4) with γ̄ = 1/min J; their products take O(n). Minimal
    residuals are also run with the condition from which (3.4) is derived, ‖ξ_{m+1} − ξ_m‖ ≤ ε.

    Args:
        n_values: numbers of links.
        link: link used for all; its inertia must be greater than zero.
        step: time between two programmes [s].
        steps: number of steps.
        tolerance: ε [rad/s].
        angle: initial angle of all links, from the vertical [rad].
        gravity: g [m/s²].
        limit: largest number of iterations of minimal residuals at one step.
        start: guess of z: ``"last"``, z of the previous step, as in the paper; ``"extrapolated"``, linearly from the
            two previous steps.

    Returns:
        Five rows for each n: Cholesky, Factored, ConjugateDirections, MinimalResiduals by the residual and by the step.

    Raises:
        ModelError: for a number that is out of range.
    """
    epsilon, h = positive("tolerance", tolerance), positive("step", step)
    require_start(start)
    if steps > MOST_STEPS:
        raise ModelError(f"steps must be at most {MOST_STEPS}, got {steps!r}")
    if steps < 1:
        raise ModelError(f"a comparison needs at least one step, got {steps!r}")
    if link.inertia <= 0.0:
        raise ModelError("the inertia of the link must be greater than zero: it bounds the eigenvalues of A")
    rows: list[LegendreRow] = []
    for n in n_values:
        chain = PlanarChain([link] * n, gravity)
        bound = chain.eigenvalue_bound
        motion = list(_fall(chain, finite("angle", angle), h, steps))
        condition = float(np.median([np.linalg.cond(form.matrix()) for form, _, _ in motion]))
        solvers: dict[str, LegendreSolver] = {
            "Cholesky": Cholesky(),
            "Factored": StructuredElimination(),
            "ConjugateDirections": ConjugateDirections(0.0, epsilon * bound),
            "MinimalResiduals, residual": MinimalResiduals(epsilon, 1.0 / bound, limit),
            "MinimalResiduals, step": MinimalResiduals(epsilon, None, limit),
        }
        rows += [_row(name, solver, epsilon, condition, motion, start) for name, solver in solvers.items()]
    return tuple(rows)


def fewest_multiplications(rows: Iterable[LegendreRow]) -> dict[int, str]:
    """Return the solver with the fewest multiplications for each n, among those whose error is within ε.

    Args:
        rows: rows of :func:`compare_legendre`.
    """
    best: dict[int, LegendreRow] = {}
    for row in rows:
        if row.accurate and (row.n not in best or row.multiplications < best[row.n].multiplications):
            best[row.n] = row
    return {n: row.solver for n, row in best.items()}


def _fall(chain: PlanarChain, angle: float, h: float, steps: int) -> Iterator[tuple[ChainForm, Array, Array]]:
    """Yield the form, the momenta and the velocities after each step."""
    n = len(chain.links)
    x = np.concatenate([np.full(n, angle), np.zeros(n)])

    def rate(_: float, state: Array) -> Array:
        form = chain.form(state[:n])
        z = form.eliminate(state[n:])
        return np.concatenate([z, form.rate(z)])

    for i in range(steps):
        x = rk4_step(rate, i * h, x, h)
        form = chain.form(x[:n])
        yield form, x[n:], form.eliminate(x[n:])


def _row(
    name: str,
    solver: LegendreSolver,
    tolerance: float,
    condition: float,
    motion: list[tuple[ChainForm, Array, Array]],
    start: Start,
) -> LegendreRow:
    n = motion[0][0].size
    solutions: list[LegendreSolution] = []
    errors: list[float] = []
    seconds = 0.0
    z = before = np.zeros(n)
    for form, momenta, truth in motion:
        # A separate form, so that no solver benefits from results cached by another.
        fresh = ChainForm(form.chain, form.directions)
        began = time.perf_counter()
        solution = solver.attempt(fresh, momenta, z if start == "last" else 2 * z - before)
        seconds += time.perf_counter() - began
        before, z = z, solution.z
        solutions.append(solution)
        errors.append(float(np.linalg.norm(z - truth)))
    iterations = float(np.mean([s.iterations for s in solutions]))
    printed = None
    if isinstance(solver, ConjugateDirections):
        printed = 6.0 * n**2 + 13.0 * n
    elif isinstance(solver, MinimalResiduals):
        printed = 12.0 * n + 16.0 * n * iterations
    guess = OperationCount() if printed is None or start == "last" else OperationCount.of_update(n)
    return LegendreRow(
        n=n,
        solver=name,
        tolerance=tolerance,
        condition=condition,
        iterations=iterations,
        max_iterations=max(s.iterations for s in solutions),
        multiplications=float(np.mean([s.operations.multiplications for s in solutions])) + guess.multiplications,
        additions=float(np.mean([s.operations.additions for s in solutions])) + guess.additions,
        printed=printed,
        seconds=seconds / len(motion),
        error=max(errors),
        converged=float(np.mean([s.converged for s in solutions])),
    )
