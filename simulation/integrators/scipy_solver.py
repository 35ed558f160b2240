"""Runs of SciPy's adaptive methods, sample by sample."""

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
    """Interface of a SciPy solver; its own stubs support complex states only."""

    t: float
    t_old: float | None
    h_abs: float
    y: Array
    status: str

    def step(self) -> str | None:
        """Take one step of the solver's choice."""
        ...

    def dense_output(self) -> Callable[[float], Array]:
        """Return the interpolant of the last step."""
        ...


class NotFiniteRateError(Exception):
    """A Jacobian is not finite, so that an implicit method cannot continue."""


Begin = Callable[[float, Array, float], Solver]
"""Function of t, x and a time bound that returns a solver which starts there and does not pass the bound."""


def adaptive_run(loop: ClosedLoop, make: Callable[[Array, Rate], Begin], max_steps: int) -> StartRun:
    """Return a function that starts a run with an adaptive solver; samples come from its interpolant.

    Args:
        loop: plant and controller.
        make: function of the parameters p and of ẋ(t, x) that returns a function which creates solvers.
        max_steps: largest number of the solver's steps between two samples.
    """

    def start(p: Array, step: float, t0: float) -> Advance:
        begin = make(p, loop.derivative(p))
        solver: Solver | None = None

        def follow(t: float, x: Array) -> Array:
            nonlocal solver
            # A corrected state, or a changed memory, leaves the solver's motion: a new solver starts there, and with a
            # memory it does not pass the sample.
            try:
                if loop.has_memory:
                    solver = begin(t, x, t + step)
                elif solver is None or loop.correction is not None:
                    solver = begin(t, x, np.inf)
                return _reach(solver, t + step, max_steps)
            except NotFiniteRateError:
                return np.full(x.shape, np.nan)

        return step_by_step(loop.observer(p), follow, step, loop.corrector(p), t0)

    return start


def _reach(solver: Solver, t: float, max_steps: int) -> Array:
    """Return the state at t, or NaN if the solver has failed."""
    steps = 0
    # SciPy repeats a step of zero length forever.
    while solver.t < t and solver.status == "running" and math.isfinite(solver.h_abs):
        if steps == max_steps:
            raise NotConvergedError(f"{type(solver).__name__} gave up: {TOO_MANY_STEPS}")
        solver.step()
        steps += 1
    if solver.t < t:
        return np.full(solver.y.shape, np.nan)
    return np.array(solver.y) if solver.t_old is None else solver.dense_output()(t)
