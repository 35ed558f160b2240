"""The longest step at which an integrator keeps the perturbation equations of a program stable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Law
from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel
from ..symbolic.parameters import Parameters
from .integrators.integrator import Integrator

Array = NDArray[np.float64]


class StepLimit:
    """Refuses a step at which an integrator would make a deviation grow that its equation makes decay."""

    def __init__(self, law: Law, parameters: Parameters, integrator: Integrator) -> None:
        """Keep the state matrices of the perturbation equations as a function of the gains."""
        self._names = [name for name, matrix in law.linearizations if matrix.numel()]
        matrices = {f"A{i}": matrix for i, (_, matrix) in enumerate(law.linearizations) if matrix.numel()}
        self._kernel = Kernel("linearizations", {"p": parameters.symbols}, matrices, compiled=False)
        self._integrator = integrator

    def check(self, p: Array, step: float) -> None:
        """Raise ModelError if this step is too long for a constraint; the message gives the longest that is not.

        Args:
            p: parameters of the law.
            step: h [s].
        """
        for name, matrix in zip(self._names, self._kernel(p), strict=True):
            eigenvalues = np.linalg.eigvals(np.atleast_2d(matrix)).astype(np.complex128)
            if (eigenvalues.real < 0.0).all() and self._growth(eigenvalues, step) > 1.0:
                low, high = 0.0, step
                while high - low > 1e-3 * step:
                    middle = (low + high) / 2
                    low, high = (middle, high) if self._growth(eigenvalues, middle) <= 1.0 else (low, middle)
                raise ModelError(
                    f"a step of {step:g} s is too long for the perturbation equation of {name!r}: "
                    f"{type(self._integrator).__name__} multiplies its deviation by "
                    f"{self._growth(eigenvalues, step):.3g} per step. Take at most {low:.2g} s, or slower gains"
                )

    def _growth(self, eigenvalues: NDArray[np.complex128], step: float) -> float:
        return max(self._integrator.amplification(complex(value) * step) for value in eigenvalues)
