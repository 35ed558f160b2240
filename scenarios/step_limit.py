"""The longest step at which an integrator keeps the perturbation equations of a program stable."""

from __future__ import annotations

import math
from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel
from ..symbolic.parameters import Parameters
from .integrators.integrator import Integrator

Array = NDArray[np.float64]

ROUNDING = 1e-7
"""Of the largest entry of a state matrix: a double eigenvalue comes out with an error of the root of rounding."""


class StepLimit:
    """Refuses gains that make a deviation grow, and a step at which an integrator would, though its equation decays.

    Both are seen in the linearization at zero, with the largest gains where they depend on time: there equations that
    saturate, and the smoothed ones of finite time, are steepest.
    """

    def __init__(
        self, linearizations: Sequence[tuple[str, ca.SX]], parameters: Parameters, integrator: Integrator
    ) -> None:
        """Keep the state matrices of the perturbation equations as a function of the gains.

        Args:
            linearizations: name of each constraint and the state matrix of its perturbation equation.
            parameters: of the controller, the gains among them.
            integrator: takes the steps.
        """
        self._names = [name for name, matrix in linearizations if matrix.numel()]
        matrices = {f"A{i}": matrix for i, (_, matrix) in enumerate(linearizations) if matrix.numel()}
        symbols = parameters.symbols
        self._kernel = Kernel("linearizations", {"p": symbols}, matrices, compiled=False)
        together = ca.vertcat(ca.SX(0, 1), *map(ca.vec, matrices.values()))
        self._gains = [i for i in range(len(parameters)) if ca.depends_on(together, symbols[i])]
        self._integrator = integrator

    def check(self, p: Array, step: float, *, batch: bool = False) -> None:
        """Raise ModelError for unstable gains, or for a step that is too long, with the longest that is not.

        Args:
            p: parameters of the law, shape (lanes, number of them).
            step: h [s].
            batch: whether to say which lane it is.
        """
        # What is swept in a batch seldom is a gain.
        lanes = np.unique(p[:, self._gains], axis=0, return_index=True)[1] if len(p) > 1 and self._gains else [0]
        for lane in sorted(map(int, lanes)):
            self._check_one(p[lane], step, f"lane {lane}: " if batch else "")

    def _check_one(self, p: Array, step: float, who: str) -> None:
        for name, matrix in zip(self._names, self._kernel(p), strict=True):
            A = np.atleast_2d(matrix)
            eigenvalues = np.linalg.eigvals(A).astype(np.complex128)
            if (eigenvalues.real > ROUNDING * float(np.abs(A).max())).any():
                raise ModelError(
                    f"{who}the perturbation equation of {name!r} is unstable with these parameters: its eigenvalues "
                    f"are {np.array2string(eigenvalues, precision=6)}; choose gains for which every real part is "
                    "negative"
                )
            if (eigenvalues.real < 0.0).all() and self._growth(eigenvalues, step) > 1.0:
                low, high = 0.0, step
                while high - low > 1e-3 * high:
                    middle = (low + high) / 2
                    low, high = (middle, high) if self._growth(eigenvalues, middle) <= 1.0 else (low, middle)
                longest = float(f"{low:.2g}")
                if self._growth(eigenvalues, longest) > 1.0:
                    # Rounded up beyond the limit: whoever took that step would be refused again.
                    longest -= 10.0 ** (math.floor(math.log10(low)) - 1)
                raise ModelError(
                    f"{who}a step of {step:g} s is too long for the perturbation equation of {name!r}: "
                    f"{type(self._integrator).__name__} multiplies its deviation by "
                    f"{self._growth(eigenvalues, step):.3g} per step. Take at most {longest:.2g} s, or slower gains"
                )

    def _growth(self, eigenvalues: NDArray[np.complex128], step: float) -> float:
        return max(self._integrator.amplification(complex(value) * step) for value in eigenvalues)
