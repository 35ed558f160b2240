"""A perturbation equation whose acceleration never exceeds a given bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import casadi as ca

from ...symbolic.errors import ModelError
from .lyapunov_check import sampled_lyapunov_function
from .perturbation import Certificate, Deviation, Flow, Perturbation, lyapunov_matrix
from .step_gains import SupportsAmplification, fastest_pair, fastest_rate, require_share


@dataclass(frozen=True)
class BoundedAcceleration(Perturbation):
    """ÿ = −σ(2α (ẏ + w(y))), row by row, so that |ÿ| < L for any deviation, however large.

    σ(x) = x/√(1 + x²/L²) and w(y) = c y/(1 + y²/l²)^¼ with c = β²/2α and l = L/c². Near the constraint it is
    Baumgarte's equation. Far from it the deviation returns with the speed w ≈ √(L|y|), which half of L is enough to
    brake: started at rest it does not overshoot if β ≤ α, as simulations show. For order 1 it is ẏ′ = −σ(α y′).

    Globally asymptotically stable: V = ½ẏ² + ∫σ(2α w(y)) dy grows without bound, and its derivative
    ẏ (σ(2α w) − σ(2α (ẏ + w))) is negative unless ẏ = 0, because σ rises; and where ẏ = 0 only y = 0 stays. The bound
    is on the acceleration of the deviation, not on the force, which also depends on the mass and the rest of the
    motion.

    Attributes:
        limit: L, in the unit of ÿ (of ẏ′ for order 1).
        alpha: α [1/s].
        beta: β [1/s]; α if not given. Not used for order 1.
        order: 0 or 1.

    Raises:
        ModelError: if a number is not positive.
    """

    limit: float = 10.0
    alpha: float = 10.0
    beta: float | None = None
    order: int = 0

    def __post_init__(self) -> None:
        """Refuse unstable gains."""
        if self.order not in (0, 1):
            raise ModelError(f"BoundedAcceleration must have order 0 or 1, got order={self.order!r}")
        if self.order == 1 and self.beta is not None:
            raise ModelError(f"BoundedAcceleration of order 1 has no beta, got beta={self.beta!r}")
        self.require_ranges()
        self.stable_eigenvalues()

    @property
    def gains(self) -> Mapping[str, float]:
        """L, α and, for order 0, β."""
        common = {"limit": self.limit, "alpha": self.alpha}
        return common if self.order == 1 else common | {"beta": self.alpha if self.beta is None else self.beta}

    def right_side(self, deviation: Deviation, gains: Mapping[str, ca.SX]) -> ca.SX:
        """ÿ or ẏ′, of modulus below L."""
        limit = gains["limit"]
        if self.order == 1:
            return -smooth_saturation(limit, gains["alpha"] * deviation.value)
        alpha, slope = gains["alpha"], gains["beta"] ** 2 / (2 * gains["alpha"])
        approach = slope * deviation.value / (1 + (slope**2 / limit * deviation.value) ** 2) ** 0.25
        return -smooth_saturation(limit, 2 * alpha * (deviation.rate + approach))

    def certificate(self) -> Certificate:
        """Eigenvalues and P of the linearization, and V of the class, checked up to where all is saturated."""
        eigenvalues = self.stable_eigenvalues()
        flow = Flow.of(self)
        y, rate = flow.deviation.value, flow.deviation.rate
        if self.order == 1:
            V, statement = y**2 / 2, "dV/dt = −y′ σ(α y′) < 0 wherever y′ ≠ 0: proven, for all deviations"
            length = self.limit / self.alpha
        else:
            V = rate**2 / 2 + self._potential(y)
            statement = "dV/dt ≤ 0, zero only where ẏ = 0, because σ rises: proven, for all deviations"
            length = self.limit * (2.0 * self.alpha / self.gains["beta"] ** 2) ** 2
        function = sampled_lyapunov_function("BoundedAcceleration", flow, V, radius=10.0 * length, statement=statement)
        P = lyapunov_matrix(self.state_matrix())
        return Certificate(eigenvalues, float(-eigenvalues.real.max()), P, function)

    def _potential(self, y: ca.SX) -> ca.SX:
        """∫σ(2α w(y)) dy: with u = y/l, r = √(1 + u²) and κ = 2α/c it is L l κ ∫ r dr/√(κ²r² + r − κ²)."""
        alpha, slope = self.alpha, self.gains["beta"] ** 2 / (2.0 * self.alpha)
        length, k = self.limit / slope**2, 2.0 * alpha / slope
        r = ca.sqrt(1 + (y / length) ** 2)
        root = ca.sqrt(k**2 * r**2 + r - k**2)
        bracket = ca.log((2 * k * root + 2 * k**2 * r + 1) / (2 * k + 2 * k**2 + 1))
        return self.limit * length / k * (root - 1 - bracket / (2 * k))

    @classmethod
    def for_step(
        cls, step: float, integrator: SupportsAmplification, *, limit: float = 10.0, order: int = 0, share: float = 1.0
    ) -> Self:
        """Return the equation with Baumgarte's or FirstOrder's gains for this step near the constraint.

        Only deviations that require less than L, that is below L/β² or a fraction of L h², contract that fast.

        Args:
            step: h [s].
            integrator: integrator with a fixed step, whose ``amplification`` the gains are chosen for.
            limit: L.
            order: 0 or 1.
            share: eigenvalues are multiplied by this, in (0, 1].

        Raises:
            ModelError: if the integrator chooses its own steps, or a number is out of range.
        """
        if order == 1:
            return cls(limit, require_share(share) * fastest_rate(step, integrator), order=1)
        value = require_share(share) * fastest_pair(step, integrator)
        return cls(limit, -value.real, abs(value), order)


def smooth_saturation(limit: ca.SX, value: ca.SX) -> ca.SX:
    """x/√(1 + x²/L²), for a ``limit`` L > 0 and a ``value`` x, shape (m,): x where it is small, ±L where large."""
    return value / ca.sqrt(1 + (value / limit) ** 2)
