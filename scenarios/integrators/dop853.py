"""SciPy's adaptive Runge–Kutta method of order 8."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ...symbolic.arrays import positive
from ..closed_loop import ClosedLoop
from .integrator import Advance, Integrator, StartRun, step_by_step

Array = NDArray[np.float64]


class _Solver(Protocol):
    """What is used of a SciPy solver; its own stubs know complex states only."""

    t: float
    t_old: float | None
    y: Array
    status: str

    def step(self) -> str | None: ...

    def dense_output(self) -> Callable[[float], Array]: ...


@dataclass(frozen=True)
class DOP853(Integrator):
    """Dormand and Prince's 8(5,3) pair; samples come from its interpolant of order 7.

    Attributes:
        relative_tolerance: of the local error.
        absolute_tolerance: of the local error.
    """

    relative_tolerance: float = 1e-10
    absolute_tolerance: float = 1e-12

    def __post_init__(self) -> None:
        """Check the tolerances."""
        positive("relative_tolerance", self.relative_tolerance)
        positive("absolute_tolerance", self.absolute_tolerance)

    def prepare(self, loop: ClosedLoop) -> StartRun:
        """The compiled derivative; the integrator itself starts anew with each run."""

        def start(p: Array, step: float, t0: float) -> Advance:
            f = loop.derivative(p)
            solver: _Solver | None = None

            def follow(t: float, x: Array) -> Array:
                nonlocal solver
                # A corrected state, or a memory that has changed, make it another motion than the one the solver is on:
                # it starts anew, and with a memory goes no further than the sample.
                if loop.remembers:
                    solver = self._solver(f, t, x, t + step)
                elif solver is None or loop.correction is not None:
                    solver = self._solver(f, t, x)
                return _reach(solver, t + step)

            return step_by_step(loop.observer(p), follow, step, loop.corrector(p), t0)

        return start

    def _solver(self, f: Callable[[float, Array], Array], t: float, x: Array, end: float = np.inf) -> _Solver:
        from scipy import integrate  # a tenth of a second to import

        solver = integrate.DOP853(f, t, x, end, rtol=self.relative_tolerance, atol=self.absolute_tolerance)
        return cast(_Solver, solver)


def _reach(solver: _Solver, t: float) -> Array:
    """The state at t; NaN once the solver has given up."""
    while solver.t < t and solver.status == "running":
        solver.step()
    if solver.t < t:
        return np.full(solver.y.shape, np.nan)
    return np.array(solver.y) if solver.t_old is None else solver.dense_output()(t)
