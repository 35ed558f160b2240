"""The abstract perturbation equation, which deviations are made to obey, and the certificate of its stability."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Range
from ...symbolic.pickling import Picklable
from ...symbolic.validation import constant_values, finite, positive, vector
from .step_gains import SupportsAmplification, require_amplification


@dataclass(frozen=True, eq=False)
class Deviation:
    """Deviation of a constraint, as a perturbation equation uses it.

    Attributes:
        value: y, y′ or z, shape (m,).
        rate: ẏ for order 0, shape (m,); empty for the others.
        time: t [s].
    """

    value: ca.SX
    rate: ca.SX
    time: ca.SX


@dataclass(frozen=True, eq=False)
class Flow:
    """A perturbation equation on its own, as ẋ = f(x, t) with x = (y, ẏ) for order 0 and x = y′ for order 1.

    Attributes:
        state: x, symbols, shape (n,).
        time: t [s], a symbol.
        derivative: f, shape (n,).
        deviation: the parts of x.
    """

    state: ca.SX
    time: ca.SX
    derivative: ca.SX
    deviation: Deviation

    @classmethod
    def of(cls, equation: Perturbation, gains: Mapping[str, ca.SX] | None = None) -> Flow:
        """Build the flow of an equation of order 0 or 1.

        Args:
            equation: the equation, on as many rows as it requires, on one if any number is allowed.
            gains: symbols by name; the nominal numbers if not given.
        """
        rows = equation.required_rows or 1
        value, time = ca.SX.sym("y", rows), ca.SX.sym("t")
        rate = ca.SX.sym("dy", rows) if equation.order == 0 else ca.SX(0, 1)
        numbers = {name: ca.SX(number) for name, number in equation.gains.items()} if gains is None else gains
        deviation = Deviation(value, rate, time)
        highest = equation.right_side(deviation, numbers)
        return cls(ca.vertcat(value, rate), time, ca.densify(ca.vertcat(rate, highest)), deviation)


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


class Perturbation(Picklable, ABC):
    """Perturbation equation of one constraint.

    For order 0 it is ÿ = g(y, ẏ, t), for order 1 ẏ′ = h(y′, t), for order 2 the algebraic z = 0. A subclass defines its
    order, its gains and the right side.
    """

    order: int
    """Order of the constraints that it fits: 0, 1 or 2."""

    @property
    @abstractmethod
    def gains(self) -> Mapping[str, float]:
        """Nominal gains by name; a program turns each into a parameter ``constraint.gain``."""

    @property
    def ranges(self) -> Mapping[str, Range]:
        """Range of each gain in which the equation is stable: positive, unless a subclass overrides it."""
        return dict.fromkeys(self.gains, Range.POSITIVE)

    @property
    def required_rows(self) -> int | None:
        """Number of rows m that the constraint must have; None if each row is treated alone."""
        return None

    @abstractmethod
    def right_side(self, deviation: Deviation, gains: Mapping[str, ca.SX]) -> ca.SX:
        """Highest derivative that the deviation is made to have.

        Args:
            deviation: the deviation and its rate.
            gains: symbols by name.

        Returns:
            g, h or z, shape (m,).

        Raises:
            ModelError: if the equation is for another number of rows.
        """

    def linearization(self, gains: Mapping[str, ca.SX]) -> ca.SX:
        """Matrix A of ẋ = A x at zero, x = (y, ẏ) for order 0, y′ for order 1, empty for order 2.

        It is that of ``required_rows`` rows, or of one row if each is treated alone.

        Args:
            gains: symbols by name.
        """
        if self.order == 2:
            return ca.SX(0, 0)
        flow = Flow.of(self, gains)
        matrix = ca.jacobian(flow.derivative, flow.state)
        return ca.densify(ca.substitute(matrix, flow.state, ca.SX.zeros(flow.state.numel())))

    def state_matrix(self) -> NDArray[np.float64]:
        """Matrix A of the linearization ẋ = A x at zero, with the nominal gains."""
        matrix = self.linearization({name: ca.SX(value) for name, value in self.gains.items()})
        values = constant_values(matrix)
        if values is None:
            foreign = ", ".join(sorted({s.name() for s in ca.symvar(matrix)}))
            raise ModelError(f"{self} uses {foreign}, which are neither deviations nor gains")
        return values

    def certificate(self) -> Certificate:
        """Eigenvalues, decay rate and a Lyapunov matrix of the linearization at zero.

        Raises:
            ModelError: if the equation is not asymptotically stable; the message gives the eigenvalues.
        """
        if self.order == 2:
            return Certificate(np.zeros(0, dtype=np.complex128), np.inf, np.zeros((0, 0)))
        eigenvalues = self.stable_eigenvalues()
        return Certificate(eigenvalues, float(-eigenvalues.real.max()), lyapunov_matrix(self.state_matrix()))

    def stable_eigenvalues(self) -> NDArray[np.complex128]:
        """Eigenvalues of the state matrix [1/s].

        Raises:
            ModelError: if a gain is not finite, a real part is not negative, or a gain is out of its range.
        """
        for name, value in self.gains.items():
            finite(name, value)
        eigenvalues = np.linalg.eigvals(np.asarray(self.state_matrix(), dtype=np.float64)).astype(np.complex128)
        if not (eigenvalues.real < 0.0).all():
            raise ModelError(
                f"{self} is not asymptotically stable: its eigenvalues are "
                f"{np.array2string(eigenvalues, precision=6)}; choose gains for which every real part is negative"
            )
        self.require_ranges()
        return eigenvalues

    def require_ranges(self) -> None:
        """Raise ModelError if a gain is not finite or out of its range."""
        for name, value in self.gains.items():
            if not self.ranges[name].allows(finite(name, value)):
                raise ModelError(f"{name} of {self} must be {self.ranges[name].value}, got {value!r}")

    def require_rows(self, deviation: Deviation) -> None:
        """Raise ModelError if ``deviation`` does not have the number of rows that the equation requires."""
        rows = deviation.value.numel()
        if self.required_rows is not None and rows != self.required_rows:
            raise ModelError(
                f"{self} is an equation for {self.required_rows} rows, but the constraint has {rows}: use an equation "
                f"for as many rows, or split the constraint"
            )

    @classmethod
    def for_step(cls, step: float, integrator: SupportsAmplification) -> Self:
        """Return the equation of this kind whose discretised deviation contracts fastest.

        Gains grow as 1/h (and 1/h² at y): after a large deviation they require large forces, so start on the
        constraint, use a smaller share where the equation offers one, or use :class:`BoundedAcceleration`.

        Args:
            step: h [s].
            integrator: integrator with a fixed step, whose ``amplification`` the gains are chosen for.

        Raises:
            ModelError: if the integrator chooses its own steps, or the equation has no gains to choose.
        """
        raise ModelError(
            f"{cls.__name__} has no gains that could be chosen for a step of {step!r} s and "
            f"{type(integrator).__name__}: use Baumgarte, FirstOrder, Linear, Energies, FiniteTime, PrescribedTime "
            "or BoundedAcceleration"
        )

    def contraction(self, step: float, integrator: SupportsAmplification) -> float:
        """Factor by which one step multiplies a small deviation in the long run, max |R(λ h)|; above 1 it grows.

        Args:
            step: h [s].
            integrator: integrator with a fixed step, whose ``amplification`` the gains are chosen for.

        Raises:
            ModelError: if the integrator chooses its own steps.
        """
        h = positive("step", step)
        require_amplification(integrator)
        if self.order == 2:
            return 0.0
        eigenvalues: list[complex] = np.linalg.eigvals(self.state_matrix()).astype(np.complex128).tolist()
        return max(integrator.amplification(value * h) for value in eigenvalues)


def lyapunov_matrix(A: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve AᵀP + PA = −I for P, for a state matrix ``A`` whose eigenvalues have negative real parts."""
    import control  # Late: it takes as long to import as all of Erugin.
    from scipy.linalg import matrix_balance  # Late, for the same reason.

    # y and ẏ differ by the rate of the equation, 1/h and more: balanced and in units of that rate the solver sees
    # numbers of the order of one. With A = S B S⁻¹ it is BᵀX + XB = −SᵀS for X = SᵀPS.
    balanced, S = (np.asarray(part, dtype=np.float64) for part in matrix_balance(A, permute=False))
    rate, s = float(np.abs(balanced).max()), np.diag(S)
    # control.lyap solves X Aᵀ + A X + Q = 0, hence the transpose.
    X = np.asarray(control.lyap(balanced.T / rate, np.diag(s**2) / rate), dtype=np.float64)
    P = X / np.outer(s, s)
    return (P + P.T) / 2
