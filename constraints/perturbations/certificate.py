"""Proof of the stability of a perturbation equation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.kernel import Kernel
from ...symbolic.pickling import Picklable
from ...symbolic.validation import vector


@dataclass(frozen=True, eq=False)
class LyapunovFunction:
    """V(x, t) > 0 that does not rise along solutions, x = (y, ẏ) for order 0 and x = y′ for order 1.

    Attributes:
        value: V, an expression in ``state`` and ``time``, the gains at their nominal values.
        derivative: dV/dt along solutions, likewise.
        state: x, symbols, shape (n,).
        time: t [s], a symbol.
        statement: sentence on the sign of dV/dt, known by proof or by samples.
        radius: largest ‖x‖ of the random states at which dV/dt was evaluated.
        samples: number of these states.
        largest_derivative: largest dV/dt at these states, relative to the sum of |∂V/∂xᵢ ẋᵢ|: −1 at best, 0 where V
            is constant.
    """

    value: ca.SX
    derivative: ca.SX
    state: ca.SX
    time: ca.SX
    statement: str
    radius: float
    samples: int
    largest_derivative: float

    def evaluate(self, state: ArrayLike, time: float = 0.0) -> tuple[float, float]:
        """V and dV/dt at a state.

        Args:
            state: x, shape (n,).
            time: t [s].

        Raises:
            ShapeError: if the state has another shape, or numbers that are not finite.
        """
        x = vector("state", state, self.state.numel())
        outputs = {"value": self.value, "derivative": self.derivative}
        kernel = Kernel("lyapunov", {"x": self.state, "t": self.time}, outputs, compiled=False)
        value, derivative = kernel(x, time)
        return float(value), float(derivative)


@dataclass(frozen=True, eq=False)
class Certificate(Picklable):
    """Proof that a perturbation equation is asymptotically stable.

    Attributes:
        eigenvalues: eigenvalues of the state matrix A of the linearization at zero [1/s]; all have negative real parts,
            unless ``function`` is the only proof.
        decay_rate: the slowest of them, min(−Re) [1/s]; infinite for an equation without state.
        lyapunov: P > 0 with AᵀP + PA = −I, so that V = xᵀPx falls along every solution of the linearization; empty if
            no P exists.
        function: a Lyapunov function of the equation itself, if it is not linear with constant gains.
        settling_time: function of (value, rate) at the start that returns the time [s] after which a row has settled,
            for equations that settle in finite time; each defines what settled means. The rate is 0 for order 1.
    """

    eigenvalues: NDArray[np.complex128]
    decay_rate: float
    lyapunov: NDArray[np.float64]
    function: LyapunovFunction | None = None
    settling_time: Callable[[float, float], float] | None = None
