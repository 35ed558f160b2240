"""The explicit Euler method in canonical variables, with a solver of the Legendre transform and its report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...robots.hamiltonian import (
    LegendreSolution,
    LegendreSolver,
    LegendreTransform,
    NotPositiveDefiniteError,
    OperationCount,
    Start,
)
from ...robots.hamiltonian.canonical_form import CanonicalForm, canonical_form
from ...robots.hamiltonian.legendre_solvers import require_start
from ...symbolic.errors import NotConvergedError
from ...symbolic.kernel import Kernel
from ..closed_loop import ClosedLoop
from .integrator import Advance, Integrator, StartRun, StepBlock, step_by_step

Array = NDArray[np.float64]


class LegendreReport:
    """Iterations and operations of the latest run, one entry per solved quadratic programme.

    Pass a new one to an integrator and read it after the run. The first sample requires no solution, since its
    velocities are given, so there is one entry less than there are samples.
    """

    def __init__(self) -> None:
        self._times: list[float] = []
        self._solutions: list[tuple[int, OperationCount, float]] = []

    def clear(self) -> None:
        """Forget the previous run."""
        self._times.clear()
        self._solutions.clear()

    def add(self, t: float, solution: LegendreSolution) -> None:
        """Add the counts of one solution.

        Args:
            t: time of the solution [s].
            solution: the solution, with counts and residual.
        """
        self._times.append(t)
        self._solutions.append((solution.iterations, solution.operations, solution.residual))

    def __len__(self) -> int:
        """Number of solutions."""
        return len(self._times)

    @property
    def t(self) -> Array:
        """Times of the solutions, shape (N,) [s]."""
        return np.array(self._times)

    @property
    def iterations(self) -> NDArray[np.int64]:
        """Steps of the iterative method, shape (N,); 0 for a direct one."""
        return np.array([iterations for iterations, _, _ in self._solutions], dtype=np.int64)

    @property
    def multiplications(self) -> NDArray[np.int64]:
        """Multiplications of each solution, shape (N,)."""
        return np.array([operations.multiplications for _, operations, _ in self._solutions], dtype=np.int64)

    @property
    def additions(self) -> NDArray[np.int64]:
        """Additions of each solution, shape (N,)."""
        return np.array([operations.additions for _, operations, _ in self._solutions], dtype=np.int64)

    @property
    def residuals(self) -> Array:
        """‖A z − b‖, shape (N,), in the unit of the momenta."""
        return np.array([residual for _, _, residual in self._solutions])

    def __str__(self) -> str:
        """Return a summary in one line."""
        if not len(self):
            return "no solution yet"
        return (
            f"{len(self)} solutions: {self.iterations.mean():.3g} iterations, {self.multiplications.mean():.4g} "
            f"multiplications and {self.additions.mean():.4g} additions on average, largest residual "
            f"{self.residuals.max():.2g}"
        )


@dataclass(frozen=True)
class CanonicalEuler(Integrator):
    """q⁺ = q + h N z, p⁺ = p + h ṗ(t, q, z), where z is the maximizer of the Legendre transform at (t, q, p).

    The difference scheme of [DunskayaPyatnitsky1996]_ eqs. (3.1), (3.2), for their arm (3.8). It has order 1, and
    like every explicit Euler method it feeds energy into an oscillation: a fraction (ω h)² of it in each step. The
    momenta are the state, so that residuals of the solver do not accumulate; trajectories contain q and z.

    Inputs, forces of a controller and reactions enter ṗ. If there are any, they are computed from the acceleration of
    the closed loop, which costs one factorization of M in addition to the Legendre transform; a free motion without
    natural constraints does not require it.

    Attributes:
        solver: solver of the quadratic programme.
        matrix_free: True to compute products K z from ∂T/∂v instead of the matrix, for iterative solvers and many
            links.
        start: initial guess of an iterative solver: ``"last"``, z of the previous step, as in the paper;
            ``"extrapolated"``, from the line through the last two, which saves iterations if the step is short.
        report: report that receives the counts of the latest run, if given.
    """

    solver: LegendreSolver
    matrix_free: bool = False
    start: Start = "last"
    report: LegendreReport | None = None

    def __post_init__(self) -> None:
        """Check the initial guess."""
        require_start(self.start)

    def prepare(self, loop: ClosedLoop) -> StartRun:
        """Build kernels for p, q̇ and ṗ, and those that the solver requires.

        Raises:
            ModelError: if the plant has no canonical form.
        """
        robot = loop.robot
        canonical = canonical_form(robot)
        transform = LegendreTransform(canonical, matrix_free=self.matrix_free)
        free = loop.sizes["output"] == 0 and not robot.natural
        nq, plant = robot.coordinates.nq, len(robot.parameters)
        momentum, rates = _kernels(canonical, free)

        def start(p: Array, step: float, t0: float) -> Advance:
            f = None if free else loop.derivative(p)
            own = p[:plant]
            nothing = np.zeros(robot.coordinates.nv)
            reached = momenta = before = np.zeros(0)
            if self.report is not None:
                self.report.clear()

            def follow(t: float, x: Array) -> Array:
                nonlocal reached, momenta, before
                q, z = x[:nq], x[nq:]
                if not np.array_equal(x, reached):
                    momenta, before = np.atleast_1d(momentum(t, q, z, own)[0]), z
                a = nothing if f is None else f(t, x)[nq:]
                q_rate, p_rate = rates(t, q, z, a, own)
                q, momenta = q + step * q_rate, momenta + step * p_rate
                if not (np.isfinite(q).all() and np.isfinite(momenta).all()):
                    return np.full(x.shape, np.nan)
                guess = z if self.start == "last" else 2 * z - before
                solution = transform.solve(self.solver, t + step, q, momenta, own, guess)
                if self.report is not None:
                    self.report.add(t + step, solution)
                before, reached = z, np.concatenate([q, solution.z])
                return reached

            advance = step_by_step(loop.observer(p), follow, step, loop.corrector(p), t0)

            def advance_or_fail(block: StepBlock, state: Array) -> None:
                try:
                    advance(block, state)
                except (NotConvergedError, NotPositiveDefiniteError) as error:
                    # The samples computed before the error are in the block and stay in the trajectory.
                    block.error = error

            return advance_or_fail

        return start

    def amplification(self, z: complex) -> float:
        """R(z) = 1 + z."""
        return abs(1 + z)


def _kernels(canonical: CanonicalForm, free: bool) -> tuple[Kernel, Kernel]:
    """Kernels t, q, z, p → momenta, and t, q, z, a, p → q̇, ṗ; a is not used in a free motion."""
    robot = canonical.robot
    c = robot.coordinates
    place = {"t": c.t, "q": c.q, "v": c.v}
    rate = canonical.free_rate if free else c.rate(canonical.momentum)
    return (
        Kernel("canonical_momentum", {**place, "p": robot.p}, {"momenta": canonical.momentum}),
        Kernel("canonical_rates", {**place, "a": c.a, "p": robot.p}, {"q_rate": c.N @ c.v, "p_rate": rate}),
    )
