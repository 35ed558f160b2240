"""The explicit Euler method in canonical variables, with a solver for the Legendre transform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...robots.canonical import CanonicalForm, canonical_form
from ...robots.legendre import LegendreSolver, LegendreTransform, NotPositiveDefiniteError, Start
from ...robots.legendre.legendre_solver import known_start
from ...symbolic.errors import NotConvergedError
from ...symbolic.kernel import Kernel
from ..closed_loop import ClosedLoop
from .integrator import Advance, Block, Integrator, StartRun, step_by_step
from .legendre_report import LegendreReport

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CanonicalEuler(Integrator):
    """q⁺ = q + h N z, p⁺ = p + h ṗ(t, q, z), where z is the maximizer of the Legendre transform at (t, q, p).

    The difference scheme of [DunskayaPyatnitsky1996]_ eqs. (3.1), (3.2), for their arm (3.8). It is of order 1, and
    like every explicit Euler method it feeds energy into an oscillation: a fraction (ω h)² of it in each step. The
    momenta are the state, so that what a solver leaves over does not add up; trajectories hold q and z.

    Inputs, forces of a controller and reactions enter ṗ. Where there are any, they are taken from the acceleration of
    the closed loop, which costs one factorization of M beside the Legendre transform; a free motion without natural
    constraints does without.

    Attributes:
        solver: of the quadratic programme.
        matrix_free: whether products K z come from ∂T/∂v instead of from the matrix, for iterative solvers and many
            links.
        start: where an iterative solver starts: ``"last"``, from the z of the step before, as in the paper;
            ``"extrapolated"``, on the line through the two before, which spares iterations if the step is short.
        report: takes the counts of the latest run, if given.
    """

    solver: LegendreSolver
    matrix_free: bool = False
    start: Start = "last"
    report: LegendreReport | None = None

    def __post_init__(self) -> None:
        """Check the word."""
        known_start(self.start)

    def prepare(self, loop: ClosedLoop) -> StartRun:
        """Kernels for p, q̇ and ṗ, and for whatever the solver asks for.

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

            def advance_or_fail(block: Block, state: Array) -> None:
                try:
                    advance(block, state)
                except (NotConvergedError, NotPositiveDefiniteError) as error:
                    # What was computed before is in the block, and stays with the error of the run.
                    block.error = error

            return advance_or_fail

        return start

    def amplification(self, z: complex) -> float:
        """R(z) = 1 + z."""
        return abs(1 + z)


def _kernels(canonical: CanonicalForm, free: bool) -> tuple[Kernel, Kernel]:
    """t, q, z, p → momenta, and t, q, z, a, p → q̇, ṗ; a is not used in a free motion."""
    robot = canonical.robot
    c = robot.coordinates
    place = {"t": c.t, "q": c.q, "v": c.v}
    rate = canonical.free_rate if free else c.rate(canonical.momentum)
    return (
        Kernel("canonical_momentum", {**place, "p": robot.p}, {"momenta": canonical.momentum}),
        Kernel("canonical_rates", {**place, "a": c.a, "p": robot.p}, {"q_rate": c.N @ c.v, "p_rate": rate}),
    )
