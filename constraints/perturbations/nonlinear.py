"""A perturbation equation given by its right side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Range
from ...symbolic.validation import constant_values
from .coefficients import call_user_function
from .lyapunov_check import sampled_lyapunov_function
from .perturbation import Certificate, Deviation, Flow, Perturbation, lyapunov_matrix

Expression: TypeAlias = Callable[[ca.SX, ca.SX, Mapping[str, ca.SX]], ca.SX]
"""y and ẏ, shape (m,) (ẏ of shape (0,) for order 1), and the gains by name → an expression."""


@dataclass(frozen=True)
class Nonlinear(Perturbation):
    """ÿ = g(y, ẏ) for order 0, ẏ′ = g(y′) for order 1, with g(0) = 0.

    It must be stable at zero: either the linearization has eigenvalues with negative real parts only, which proves
    it for small deviations, or V is given. V is checked at samples, V > 0 and dV/dt < 0, which proves nothing between
    them.

    Attributes:
        g: right side as a function of y, ẏ and the gains, shape (m,).
        values: nominal gains by name.
        order: 0 or 1.
        rows: m.
        lyapunov: V as a function of y, ẏ and the gains, a scalar; if only a radius is given, xᵀPx with the P of the
            linearization.
        radius: radius of the ball ‖x‖ ≤ radius in which V is checked, in the unit of the deviations; 1 if only V is
            given.
        limits: range of each gain; positive if not given.

    Raises:
        ModelError: if g(0) ≠ 0, g or V is not such an expression, or neither proof succeeds.
    """

    g: Expression
    values: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)
    order: int = 0
    rows: int = 1
    lyapunov: Expression | None = None
    radius: float | None = None
    limits: Mapping[str, Range] = field(default_factory=dict[str, Range], hash=False)

    def __post_init__(self) -> None:
        """Refuse an equation that is not stable at zero."""
        for name in ("values", "limits"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        if self.order not in (0, 1) or self.rows < 1:
            raise ModelError(
                f"Nonlinear must have order 0 or 1 and at least one row, got order={self.order!r}, rows={self.rows!r}"
            )
        if unknown := sorted(set(self.limits) - set(self.values)):
            raise ModelError(
                f"limits= of Nonlinear has {', '.join(unknown)}, but the gains are {', '.join(self.values)}"
            )
        self.require_ranges()
        self._certificate(prove=False)

    def __str__(self) -> str:
        """Order, rows and gains, for messages."""
        listing = "".join(f", {name}={value!r}" for name, value in self.values.items())
        return f"Nonlinear(order={self.order}, rows={self.rows}{listing})"

    @property
    def gains(self) -> Mapping[str, float]:
        """The given gains."""
        return self.values

    @property
    def ranges(self) -> Mapping[str, Range]:
        """The given ranges, positive otherwise."""
        return dict.fromkeys(self.values, Range.POSITIVE) | dict(self.limits)

    @property
    def required_rows(self) -> int:
        """m."""
        return self.rows

    def right_side(self, deviation: Deviation, gains: Mapping[str, ca.SX]) -> ca.SX:
        """The given g."""
        self.require_rows(deviation)
        return call_user_function("g", self.g, deviation.value, deviation.rate, gains, self.rows)

    def certificate(self) -> Certificate:
        """Eigenvalues and P of the linearization, if it is stable, and the Lyapunov function, if there is one.

        Raises:
            ModelError: if neither proves the equation stable.
        """
        return self._certificate(prove=True)

    def _certificate(self, *, prove: bool) -> Certificate:
        flow = Flow.of(self)
        A = self._slope_at_zero(flow)
        eigenvalues = np.linalg.eigvals(A).astype(np.complex128)
        # A smaller real part is rounding: a double eigenvalue has an error of the square root of it.
        margin = 1e-7 * float(np.abs(A).max())
        stable = bool((eigenvalues.real < (0.0 if self.lyapunov is None else -margin)).all())
        if (eigenvalues.real > margin).any() or not (stable or self.lyapunov is not None):
            raise ModelError(
                f"Nonlinear is not proven asymptotically stable: its linearization has the eigenvalues "
                f"{np.array2string(eigenvalues, precision=6)}; choose gains for which every real part is negative, or "
                "give a Lyapunov function if none is positive"
            )
        sampled = self.lyapunov is not None or self.radius is not None
        P = lyapunov_matrix(A) if stable and (prove or (sampled and self.lyapunov is None)) else np.zeros((0, 0))
        function = None
        if sampled:
            function = sampled_lyapunov_function(
                "Nonlinear",
                flow,
                self._value(flow, P),
                radius=1.0 if self.radius is None else self.radius,
                statement="dV/dt < 0 at the samples; between them nothing is proven",
                strictly=True,
            )
        return Certificate(eigenvalues, float(-eigenvalues.real.max()) if stable else 0.0, P, function)

    def _slope_at_zero(self, flow: Flow) -> NDArray[np.float64]:
        known = {flow.state[i].element_hash() for i in range(flow.state.numel())}
        if foreign := sorted({s.name() for s in ca.symvar(flow.derivative) if s.element_hash() not in known}):
            raise ModelError(f"g of Nonlinear uses {', '.join(foreign)}, which are neither deviations nor gains")
        at_zero = constant_values(ca.substitute(flow.derivative, flow.state, ca.SX.zeros(flow.state.numel())))
        if at_zero is None or at_zero.any():
            raise ModelError(f"g must vanish at zero, so that the constraint itself is a solution; g(0) = {at_zero}")
        A = self.state_matrix()
        if not np.isfinite(A).all():
            raise ModelError(f"g must have a finite slope at zero, got {A[-self.rows :]}; smooth it there")
        return A

    def _value(self, flow: Flow, P: NDArray[np.float64]) -> ca.SX:
        if self.lyapunov is None:
            return ca.dot(flow.state, ca.DM(P) @ flow.state)
        numbers = {name: ca.SX(value) for name, value in self.values.items()}
        return call_user_function("lyapunov", self.lyapunov, flow.deviation.value, flow.deviation.rate, numbers, 1)
