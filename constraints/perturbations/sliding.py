"""A perturbation equation like sliding mode: under bounded disturbances deviations end in a known ball."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.validation import finite, not_negative
from .lyapunov_check import sampled_lyapunov_function
from .perturbation import Certificate, Deviation, Flow, Perturbation, lyapunov_matrix


@dataclass(frozen=True)
class Sliding(Perturbation):
    """ṡ = −ρ sat(s/φ) with s = ẏ + c y for order 0 and s = y′ for order 1, row by row; sat(x) = x within ±1, else ±1.

    On a plant whose rows are disturbed, ÿ = g(y, ẏ) + δ(t) with |δ| ≤ D (D bounds Θ M⁻¹ times the unknown forces), it
    is ṡ = −ρ sat(s/φ) + δ. If ρ > D, then |s| falls at least at the rate ρ − D until it is in the layer |s| ≤ φ, and
    ends in |s| ≤ φ D/ρ, so |y| ≤ φ D/(ρ c): as small as the layer is thin, by a pull that never exceeds ρ + c |ẏ|. If
    ρ ≤ D nothing is guaranteed. A thin layer is a fast equation, of the rate ρ/φ, and requires short steps; without a
    layer it would chatter [SlotineLi1991]_ section 7.2.

    Globally asymptotically stable without disturbance: V = ½s² + ½ρ (√(l² + y²) − l) with l = φ/c falls.

    Attributes:
        gain: ρ, in the unit of ÿ (of ẏ′ for order 1); above the largest disturbance.
        layer: φ, in the unit of ẏ (of y′ for order 1).
        rate: c [1/s]; 10 if not given. Not used for order 1.
        order: 0 or 1.

    Raises:
        ModelError: if a number is not positive.
    """

    gain: float = 10.0
    layer: float = 1.0
    rate: float | None = None
    order: int = 0

    def __post_init__(self) -> None:
        """Refuse unstable gains."""
        if self.order not in (0, 1):
            raise ModelError(f"Sliding is for order 0 or 1, got order={self.order!r}")
        if self.order == 1 and self.rate is not None:
            raise ModelError(f"Sliding of order 1 has no rate, got rate={self.rate!r}")
        self.require_ranges()
        self.stable_eigenvalues()

    @property
    def gains(self) -> Mapping[str, float]:
        """ρ, φ and, for order 0, c."""
        common = {"gain": self.gain, "layer": self.layer}
        return common if self.order == 1 else common | {"rate": 10.0 if self.rate is None else self.rate}

    def right_side(self, deviation: Deviation, gains: Mapping[str, ca.SX]) -> ca.SX:
        """ÿ = −c ẏ − ρ sat(s/φ), or ẏ′ = −ρ sat(y′/φ)."""
        if self.order == 1:
            return -gains["gain"] * saturation(deviation.value / gains["layer"])
        s = deviation.rate + gains["rate"] * deviation.value
        return -gains["rate"] * deviation.rate - gains["gain"] * saturation(s / gains["layer"])

    def certificate(self) -> Certificate:
        """Eigenvalues and P of the linearization, and V of the class, checked up to where all is saturated."""
        eigenvalues = self.stable_eigenvalues()
        flow = Flow.of(self)
        y = flow.deviation.value
        if self.order == 1:
            V, statement = y**2 / 2, "dV/dt = −ρ y′ sat(y′/φ) < 0 wherever y′ ≠ 0: proven, for all deviations"
            radius = 10.0 * self.layer
        else:
            c, length = self.gains["rate"], self.layer / self.gains["rate"]
            s = flow.deviation.rate + c * y
            # √(l² + y²) − l, without the loss of digits near zero.
            V = s**2 / 2 + self.gain / 2 * y**2 / (ca.sqrt(length**2 + y**2) + length)
            statement = "dV/dt < 0 wherever y or ẏ is not zero: proven, for all deviations"
            radius = 10.0 * max(self.layer, length)
        function = sampled_lyapunov_function("Sliding", flow, V, radius=radius, statement=statement)
        P = lyapunov_matrix(self.state_matrix())
        return Certificate(eigenvalues, float(-eigenvalues.real.max()), P, function)

    def ultimate_bound(self, disturbance: float) -> tuple[float, float]:
        """Ultimate bounds of |y| and |ẏ|, φD/(ρc) and 2φD/ρ; for order 1 of |y′|, φD/ρ, and of |ẏ′|, 2D.

        A constant δ = D reaches the first; the second is sharp for order 1, and for order 0 the sharper the thinner
        the layer.

        Args:
            disturbance: D, the largest |δ|, in the unit of the gain.

        Raises:
            ModelError: if the gain does not exceed the disturbance.
        """
        D = self._below_gain(disturbance)
        inside = self.layer * D / self.gain
        return (inside, 2.0 * D) if self.order == 1 else (inside / self.gains["rate"], 2.0 * inside)

    def reaching_time(self, value: float, disturbance: float) -> float:
        """Upper bound of the time after which |s| ≤ φ, (|s₀| − φ)/(ρ − D) [s].

        Args:
            value: s₀ = ẏ + c y at the start, y′ for order 1.
            disturbance: D, the largest |δ|, in the unit of the gain.

        Raises:
            ModelError: if a number is not finite, or the gain does not exceed the disturbance.
        """
        D = self._below_gain(disturbance)
        return max(0.0, (abs(finite("value", value)) - self.layer) / (self.gain - D))

    def _below_gain(self, disturbance: float) -> float:
        D = not_negative("disturbance", disturbance)
        if self.gain <= D:
            raise ModelError(
                f"gain={self.gain:g} gives no bound against a disturbance of {D:g}: the gain must exceed it; use "
                f"gain > {D:g}"
            )
        return D


def saturation(value: ca.SX) -> ca.SX:
    """``value`` clipped to ±1, shape (m,)."""
    return ca.fmax(ca.fmin(value, 1.0), -1.0)
