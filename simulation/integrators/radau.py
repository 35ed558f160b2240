"""SciPy's adaptive implicit Runge–Kutta method of order 5, for stiff motions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.kernel import Kernel
from ..closed_loop import ClosedLoop
from .integrator import Adaptive, StartRun
from .scipy_solver import Begin, NotFiniteRateError, Rate, Solver, adaptive_run

Array = NDArray[np.float64]
Jacobian = Callable[[float, Array], Array]
SHIFT = float(np.sqrt(np.finfo(np.float64).eps))
"""Relative step of a difference quotient, for about equal truncation and rounding errors."""


@dataclass(frozen=True)
class Radau(Adaptive):
    """The Radau IIA method of order 5 [HairerWanner1996]_ section IV.8; samples come from its interpolant of order 3.

    It is L-stable: springs, gains and perturbation equations may be arbitrarily stiff, and the step follows the motion.
    Its equations are solved by Newton's method, with ∂ẋ/∂x from the expressions of the whole loop, or by difference
    quotients if the controller is called from Python.

    Attributes:
        relative_tolerance: relative tolerance of the local error.
        absolute_tolerance: absolute tolerance of the local error.
        max_steps: largest number of internal steps between two samples.
    """

    def prepare(self, loop: ClosedLoop) -> StartRun:
        """Build the compiled derivative and its Jacobian; each run creates a new solver.

        Args:
            loop: plant and controller.
        """
        symbolic = loop.symbolic()
        kernel: Kernel | None = None
        if symbolic is not None:
            s = symbolic.symbols
            slope = ca.densify(ca.jacobian(symbolic.rate, s.x))
            # Compilation would take a minute for an arm of seven joints, and the Jacobian is used once in many steps.
            kernel = Kernel("closed_loop_slope", {"t": s.t, "x": s.x, "p": s.p}, {"slope": slope}, compiled=False)

        def make(p: Array, rate: Rate) -> Begin:
            from scipy import integrate  # a tenth of a second to import

            slope = _finite(_quotients(rate) if kernel is None else _exact(kernel, p))
            rtol, atol = self.relative_tolerance, self.absolute_tolerance
            return lambda t, x, bound: cast(Solver, integrate.Radau(rate, t, x, bound, rtol=rtol, atol=atol, jac=slope))

        return adaptive_run(loop, make, self.max_steps)


def _exact(kernel: Kernel, p: Array) -> Jacobian:
    """Return ∂ẋ/∂x from its kernel."""
    return lambda t, x: np.atleast_2d(kernel(t, x, p)[0])


def _quotients(rate: Rate) -> Jacobian:
    """Return ∂ẋ/∂x by forward differences."""

    def slope(t: float, x: Array) -> Array:
        here, columns = rate(t, x), np.empty((len(x), len(x)))
        for i, value in enumerate(x):
            moved = x.copy()
            moved[i] = value + SHIFT * max(1.0, abs(value))
            columns[:, i] = (rate(t, moved) - here) / (moved[i] - value)
        return columns

    return slope


def _finite(slope: Jacobian) -> Jacobian:
    """Return the same Jacobian, which raises NotFiniteRateError where SciPy would raise an obscure error."""

    def checked(t: float, x: Array) -> Array:
        found = slope(t, x)
        if not np.isfinite(found).all():
            raise NotFiniteRateError
        return found

    return checked
