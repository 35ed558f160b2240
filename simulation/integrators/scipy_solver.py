"""SciPy's adaptive methods, sample by sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import NotConvergedError
from ..closed_loop import ClosedLoop
from .integrator import TOO_MANY_STEPS, Advance, StartRun, step_by_step

Array = NDArray[np.float64]
Rate = Callable[[float, Array], Array]


class Solver(Protocol):
    """What is used of a SciPy solver; its own stubs know complex states only."""

    t: float
    t_old: float | None
    h_abs: float
    y: Array
    status: str

    def step(self) -> str | None:
        """Take one step of its own length."""
        ...

    def dense_output(self) -> Callable[[float], Array]:
        """The interpolant of the last step."""
        ...


class NotFiniteRateError(Exception):
    """A Jacobian is not finite, so that an implicit method has nothing to solve with: the solver gives up."""


Begin = Callable[[float, Array, float], Solver]
"""t, x and a bound of time → a solver that starts there and goes no further than the bound."""


def adaptive_run(loop: ClosedLoop, make: Callable[[Array, Rate], Begin], max_steps: int) -> StartRun:
    """What starts a run with a solver that chooses its own steps; samples come from its interpolant.

    Args:
        loop: plant and controller.
        make: parameters p of plant and controller, and ẋ as a function of t and x → what begins a solver.
        max_steps: of the solver between two samples.
    """

    def start(p: Array, step: float, t0: float) -> Advance:
        begin = make(p, loop.derivative(p))
        solver: Solver | None = None

        def follow(t: float, x: Array) -> Array:
            nonlocal solver
            # A corrected state, or a memory that has changed, make it another motion than the one the solver is on:
            # it starts anew, and with a memory goes no further than the sample.
            try:
                if loop.remembers:
                    solver = begin(t, x, t + step)
                elif solver is None or loop.correction is not None:
                    solver = begin(t, x, np.inf)
                return _reach(solver, t + step, max_steps)
            except NotFiniteRateError:
                return np.full(x.shape, np.nan)

        return step_by_step(loop.observer(p), follow, step, loop.corrector(p), t0)

    return start


def _reach(solver: Solver, t: float, max_steps: int) -> Array:
    """The state at t; NaN once the solver has given up."""
    steps = 0
    # SciPy repeats a step without a length for ever.
    while solver.t < t and solver.status == "running" and math.isfinite(solver.h_abs):
        if steps == max_steps:
            raise NotConvergedError(f"{type(solver).__name__} gave up: {TOO_MANY_STEPS}")
        solver.step()
        steps += 1
    if solver.t < t:
        return np.full(solver.y.shape, np.nan)
    return np.array(solver.y) if solver.t_old is None else solver.dense_output()(t)
