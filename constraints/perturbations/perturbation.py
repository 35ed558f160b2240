"""The abstract perturbation equation: the stable differential equation that deviations are made to obey."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.arrays import finite
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Range


@dataclass(frozen=True)
class Certificate:
    """Proof that a linear perturbation equation is asymptotically stable.

    Attributes:
        eigenvalues: of the state matrix A, all with negative real part [1/s].
        decay_rate: the slowest of them, min(−Re) [1/s]; infinite for an equation without state.
        lyapunov: P > 0 with AᵀP + PA = −I, so that V = xᵀPx falls along every solution.
    """

    eigenvalues: NDArray[np.complex128]
    decay_rate: float
    lyapunov: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Deviation:
    """What a perturbation equation sees of its constraint.

    Attributes:
        value: y, y′ or z, shape (m,).
        rate: ẏ for order 0, shape (m,); empty for the others.
        time: t [s].
    """

    value: ca.SX
    rate: ca.SX
    time: ca.SX


class Perturbation(ABC):
    """Perturbation equation of one constraint.

    For order 0 it is ÿ = g(y, ẏ, t), for order 1 ẏ′ = h(y′, t), for order 2 the algebraic z = 0. A subclass is one
    file: it names its order and gains and writes the right side.
    """

    order: int
    """Order of the constraints that it fits: 0, 1 or 2."""

    @property
    @abstractmethod
    def gains(self) -> Mapping[str, float]:
        """Nominal gains by name; a program turns each into a parameter ``constraint.gain``."""

    @property
    def ranges(self) -> Mapping[str, Range]:
        """Range of each gain in which the equation is stable: positive, unless a subclass says otherwise."""
        return dict.fromkeys(self.gains, Range.POSITIVE)

    @abstractmethod
    def right_side(self, deviation: Deviation, gains: Mapping[str, ca.SX]) -> ca.SX:
        """The highest derivative that the deviation is made to have.

        Args:
            deviation: what the constraint deviates by, and how fast.
            gains: the symbol of each gain.

        Returns:
            g, h or z, shape (m,).
        """

    def linearization(self, gains: Mapping[str, ca.SX]) -> ca.SX:
        """Matrix A of ẋ = A x at zero for one row, x = (y, ẏ) for order 0, y′ for order 1, nothing for order 2.

        Args:
            gains: the symbol of each gain.
        """
        if self.order == 2:
            return ca.SX(0, 0)
        state, time = ca.SX.sym("state", 2 - self.order), ca.SX.sym("t")
        rate = state[1] if self.order == 0 else ca.SX(0, 1)
        last = ca.jacobian(self.right_side(Deviation(state[0], rate, time), gains), state)
        matrix = last if self.order == 1 else ca.vertcat(ca.SX(ca.DM([[0.0, 1.0]])), last)
        return ca.densify(ca.substitute(matrix, state, ca.SX.zeros(state.numel())))

    @abstractmethod
    def state_matrix(self) -> NDArray[np.float64]:
        """Matrix A of the linearization ẋ = A x at zero, with x = (y, ẏ) for order 0 and x = y′ for order 1."""

    def certificate(self) -> Certificate:
        """Eigenvalues, decay rate and a Lyapunov matrix of the linearization at zero.

        Raises:
            ModelError: if the equation is not asymptotically stable; the message gives the eigenvalues.
        """
        if not self.gains:
            return Certificate(np.zeros(0, dtype=np.complex128), np.inf, np.zeros((0, 0)))
        import control  # Late: it takes as long to import as all of Erugin.

        eigenvalues = self.stable_eigenvalues()
        A = self.state_matrix()
        # control.lyap solves X Aᵀ + A X + Q = 0, hence the transposes.
        lyapunov = np.asarray(control.lyap(A.T, np.eye(len(A))), dtype=np.float64)
        return Certificate(eigenvalues, float(-eigenvalues.real.max()), lyapunov)

    def stable_eigenvalues(self) -> NDArray[np.complex128]:
        """Eigenvalues of the state matrix [1/s].

        Raises:
            ModelError: if a gain is not finite, a real part is not negative, or a gain is out of its range.
        """
        for name, value in self.gains.items():
            finite(name, value)
        eigenvalues = np.linalg.eigvals(self.state_matrix()).astype(np.complex128)
        if not (eigenvalues.real < 0.0).all():
            raise ModelError(
                f"{self} is not asymptotically stable: its eigenvalues are "
                f"{np.array2string(eigenvalues, precision=6)}; choose gains for which every real part is negative"
            )
        for name, value in self.gains.items():
            if not self.ranges[name].allows(value):
                raise ModelError(f"{name} of {self} must be {self.ranges[name].value}, got {value!r}")
        return eigenvalues
