"""SciPy's adaptive Runge–Kutta method of order 8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..closed_loop import ClosedLoop
from .integrator import Adaptive, StartRun
from .scipy_solver import Begin, Rate, Solver, adaptive_run

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DOP853(Adaptive):
    """Dormand and Prince's 8(5,3) pair; samples come from its interpolant of order 7.

    Attributes:
        relative_tolerance: relative tolerance of the local error.
        absolute_tolerance: absolute tolerance of the local error.
        max_steps: largest number of internal steps between two samples.
    """

    relative_tolerance: float = 1e-10
    absolute_tolerance: float = 1e-12

    def prepare(self, loop: ClosedLoop) -> StartRun:
        """Compile the derivative; each run creates a new solver.

        Args:
            loop: plant and controller.
        """

        def make(_: Array, rate: Rate) -> Begin:
            from scipy import integrate  # a tenth of a second to import

            rtol, atol = self.relative_tolerance, self.absolute_tolerance
            return lambda t, x, bound: cast(Solver, integrate.DOP853(rate, t, x, bound, rtol=rtol, atol=atol))

        return adaptive_run(loop, make, self.max_steps)
