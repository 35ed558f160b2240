"""Perturbation equations that reach zero in finite time, and a bound on that time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.validation import finite
from .lyapunov_check import sampled_lyapunov_function
from .perturbation import Certificate, Deviation, Flow, Perturbation, lyapunov_matrix
from .step_gains import SupportsAmplification, fastest_pair, fastest_rate

Array = NDArray[np.float64]

DIRECTIONS = 4001
NEAR_AXIS = np.geomspace(1e-13, 1e-2, 600)
"""Angles from each axis at which the grid is finer: strong damping matters most where the rate is nearly zero."""
MIXTURES = np.geomspace(1e-13, 3.0, 280)


@dataclass(frozen=True)
class SettlingConstant:
    """dV/dt ≤ −c V^a with a < 1, whence V = 0 after V₀^(1−a)/(c (1−a)).

    V = E^((3−α)/2) + γ y ẏ with E = ½ẏ² + k₁|y|^(1+α₁)/(1+α₁) is homogeneous of degree 3 − α in the weights 2 − α of y
    and 1 of ẏ, and dV/dt of degree 2, so that a = 2/(3−α).

    Attributes:
        k1: k₁.
        power: α.
        mixture: γ.
        constant: c.
    """

    k1: float
    power: float
    mixture: float
    constant: float

    def time(self, value: float, rate: float) -> float:
        """Bound on the settling time [s] from y and ẏ.

        Args:
            value: y.
            rate: ẏ.
        """
        energy = float(_homogeneous_energy(np.array([value]), np.array([rate]), self.k1, self.power)[0])
        V = energy ** ((3.0 - self.power) / 2.0) + self.mixture * value * rate
        a = 2.0 / (3.0 - self.power)
        return float(V ** (1.0 - a)) / (self.constant * (1.0 - a))


def settling_constant(k1: float, k2: float, power: float) -> SettlingConstant:
    """Return the constant of ÿ = −k₁ sig(y)^α₁ − k₂ sig(ẏ)^α with the γ that makes it largest, both found on grids.

    Args:
        k1: k₁.
        k2: k₂.
        power: α; α₁ = α/(2−α).

    Raises:
        ModelError: if none is found: then the rate at which damping and pull balance, of the order of (k₁/k₂)^(1/α), is
            too small for any useful bound.
    """
    angles = np.concatenate(
        [np.linspace(0.0, np.pi, DIRECTIONS), NEAR_AXIS, np.pi / 2 - NEAR_AXIS, np.pi / 2 + NEAR_AXIS]
    )
    # By homogeneity one curve around zero is enough; its other half is the mirror image.
    y, rate = np.sign(np.cos(angles)) * np.abs(np.cos(angles)) ** (2.0 - power), np.sin(angles)
    # π − NEAR_AXIS by its sine and cosine, because the difference would be rounded.
    y, rate = np.append(y, -(np.cos(NEAR_AXIS) ** (2.0 - power))), np.append(rate, np.sin(NEAR_AXIS))
    y = y * (1.0 / k1) ** ((2.0 - power) / 2.0)
    first, degree = power / (2.0 - power), (3.0 - power) / 2.0
    E = _homogeneous_energy(y, rate, k1, power)
    acceleration = -k1 * np.sign(y) * np.abs(y) ** first - k2 * np.sign(rate) * np.abs(rate) ** power
    damped = degree * E ** (degree - 1.0) * k2 * np.abs(rate) ** (1.0 + power)
    best = SettlingConstant(k1, power, 0.0, 0.0)
    scale = k1 ** (1.0 / 2.0 * (2.0 - power)) * min(1.0, k2 / k1**0.5)
    for mixture in (scale * MIXTURES).tolist():
        V, fall = E**degree + mixture * y * rate, damped - mixture * (rate**2 + y * acceleration)
        if (V > 0.0).all():
            constant = float((fall / V ** (1.0 / degree)).min())
            if constant > best.constant:
                best = SettlingConstant(k1, power, mixture, constant)
    if best.constant <= 0.0:
        raise ModelError(
            f"no bound on the settling time was found for position_gain={k1:g}, rate_gain={k2:g} and power={power:g}: "
            "the damping is so strong that the deviation hardly moves; use a smaller rate_gain or a larger power"
        )
    return best


def _homogeneous_energy(y: Array, rate: Array, k1: float, power: float) -> Array:
    """½ẏ² + k₁|y|^(1+α₁)/(1+α₁), of the shape of y."""
    exponent = 2.0 / (2.0 - power)
    return np.asarray(rate**2 / 2 + k1 * np.abs(y) ** exponent / exponent)


@dataclass(frozen=True)
class FiniteTime(Perturbation):
    """ÿ = −k₁ sig(y)^α₁ − k₂ sig(ẏ)^α₂, row by row, sig(x)^α = |x|^α sign x [BhatBernstein1998]_.

    With α₂ = ``power`` in (0, 1) and α₁ = α₂/(2 − α₂) it is homogeneous of negative degree: every solution comes to
    rest at zero after a finite time. For order 1 ẏ′ = −k₁ sig(y′)^α rests after |y′₀|^(1−α)/(k₁ (1−α)) exactly.

    The slope of sig is infinite at zero, where a discretised law would chatter. So sig(x)^α is replaced by
    x (x² + ε²)^((α−1)/2), which differs from it only where |x| is of the order of ε: the deviation reaches a few ε in
    the finite time and then decays exponentially, with the rate of the linearization. The price is that exact zero is
    not reached. The narrower ε, the steeper the linearization: the step must be short enough for k₁ ε^(α−1), by which
    :meth:`for_step` chooses ε.

    Globally asymptotically stable: V = ½ẏ² + k₁ ∫sig(y)^α₁ dy has dV/dt = −k₂ ẏ sig(ẏ)^α₂ ≤ 0, zero only where ẏ = 0.

    Attributes:
        position_gain: k₁; for order 1 the only one.
        rate_gain: k₂; not used for order 1.
        power: α₂, for order 1 α; in (0, 1).
        width: ε of y (of y′ for order 1), in its unit.
        rate_width: ε of ẏ; chosen so that the linearization is critically damped if not given.
        order: 0 or 1.

    Raises:
        ModelError: if a number is not positive, or the power is not in (0, 1).
    """

    position_gain: float = 1.0
    rate_gain: float | None = None
    power: float = 0.5
    width: float = 1e-3
    rate_width: float | None = None
    order: int = 0

    def __post_init__(self) -> None:
        """Refuse gains that are unstable or do not settle in finite time."""
        if self.order not in (0, 1):
            raise ModelError(f"FiniteTime must have order 0 or 1, got order={self.order!r}")
        if not 0.0 < finite("power", self.power) < 1.0:
            raise ModelError(
                f"power must be between 0 and 1, got {self.power!r}: at 1 the equation is linear, and beyond it never "
                "reaches zero"
            )
        for name in ("rate_gain", "rate_width"):
            if self.order == 1 and getattr(self, name) is not None:
                raise ModelError(f"FiniteTime of order 1 has no {name}, got {getattr(self, name)!r}")
        self.require_ranges()
        self.stable_eigenvalues()

    @property
    def gains(self) -> Mapping[str, float]:
        """k₁ and ε, for order 0 also k₂ and ε of the rate; the powers are numbers."""
        k1, width = finite("position_gain", self.position_gain), finite("width", self.width)
        first = {"position_gain": k1, "width": width}
        if self.order == 1:
            return first
        k2 = 2.0 * max(k1, 0.0) ** 0.5 if self.rate_gain is None else finite("rate_gain", self.rate_gain)
        if self.rate_width is not None:
            return first | {"rate_gain": k2, "rate_width": finite("rate_width", self.rate_width)}
        if min(k1, k2, width) <= 0.0:
            return first | {"rate_gain": k2, "rate_width": width}
        slope = 2.0 * (k1 * width ** (self._position_power - 1.0)) ** 0.5
        return first | {"rate_gain": k2, "rate_width": (slope / k2) ** (1.0 / (self.power - 1.0))}

    @property
    def _position_power(self) -> float:
        return self.power if self.order == 1 else self.power / (2.0 - self.power)

    def right_side(self, deviation: Deviation, gains: Mapping[str, ca.SX]) -> ca.SX:
        """ÿ or ẏ′, smoothed near zero."""
        pull = gains["position_gain"] * smooth_power(deviation.value, self._position_power, gains["width"])
        if self.order == 1:
            return -pull
        return -pull - gains["rate_gain"] * smooth_power(deviation.rate, self.power, gains["rate_width"])

    def settling_time(self, value: float, rate: float = 0.0) -> float:
        """Bound on the time [s] in which a row reaches ``width``, from y and ẏ, or from y′ for order 1.

        For order 1, from |y′|: (|y′|^(1−α) − ε^(1−α))/(k (1−α)) + ε^(1−α) ln(|y′|/ε)/k, proven for the smoothed
        equation. For order 0 it is the bound of the equation without ε, from which the smoothed one differs by a few
        ε; its constant, of a homogeneous Lyapunov function, was found on a grid of directions.

        Args:
            value: y or y′.
            rate: ẏ.

        Raises:
            ModelError: if a number is not finite, or the damping is so strong that no bound is found.
        """
        y, dy = abs(finite("value", value)), finite("rate", rate)
        k, width = self.gains["position_gain"], self.gains["width"]
        rest = 1.0 - self.power
        if self.order == 1:
            if y <= width:
                return 0.0
            return float((y**rest - width**rest) / (k * rest) + width**rest * np.log(y / width) / k)
        if y == 0.0 and dy == 0.0:
            return 0.0
        return settling_constant(k, self.gains["rate_gain"], self.power).time(value, dy)

    def certificate(self) -> Certificate:
        """Eigenvalues and P of the linearization, V of the class checked at samples, and the bound on settling."""
        eigenvalues = self.stable_eigenvalues()
        flow = Flow.of(self)
        y, rate = flow.deviation.value, flow.deviation.rate
        if self.order == 1:
            V, statement = y**2 / 2, "dV/dt = −k₁ y′ sig(y′)^α < 0 wherever y′ ≠ 0: proven, for all deviations"
        else:
            power, width = self._position_power + 1.0, self.gains["width"]
            # (y² + ε²)^a − ε^(2a) without the cancellation near zero.
            rise = width**power * ca.expm1(power / 2 * ca.log1p((y / width) ** 2))
            V = rate**2 / 2 + self.gains["position_gain"] / power * rise
            statement = "dV/dt = −k₂ ẏ sig(ẏ)^α₂ ≤ 0, zero only where ẏ = 0: proven, for all deviations"
        function = sampled_lyapunov_function("FiniteTime", flow, V, radius=1000.0 * self.width, statement=statement)
        P = lyapunov_matrix(self.state_matrix())
        return Certificate(eigenvalues, float(-eigenvalues.real.max()), P, function, self.settling_time)

    @classmethod
    def for_step(
        cls,
        step: float,
        integrator: SupportsAmplification,
        *,
        position_gain: float = 1.0,
        rate_gain: float | None = None,
        power: float = 0.5,
        order: int = 0,
    ) -> Self:
        """Return the equation with widths below which a deviation contracts fastest; the gains are free.

        Args:
            step: h [s].
            integrator: integrator with a fixed step, whose ``amplification`` the gains are chosen for.
            position_gain: k₁.
            rate_gain: k₂.
            power: α₂, for order 1 α.
            order: 0 or 1.

        Raises:
            ModelError: if the integrator chooses its own steps, or a number is out of range.
        """
        given = cls(position_gain, rate_gain, power, order=order)
        first = given._position_power - 1.0
        if order == 1:
            width = (fastest_rate(step, integrator) / given.position_gain) ** (1.0 / first)
            return cls(position_gain, None, power, width, None, 1)
        value = fastest_pair(step, integrator)
        width = (abs(value) ** 2 / given.position_gain) ** (1.0 / first)
        rate_width = (-2.0 * value.real / given.gains["rate_gain"]) ** (1.0 / (power - 1.0))
        return cls(position_gain, rate_gain, power, width, rate_width, 0)


def smooth_power(x: ca.SX, power: float, width: ca.SX) -> ca.SX:
    """|x|^α sign x, smoothed to x (x² + ε²)^((α−1)/2).

    Args:
        x: shape (m,).
        power: α.
        width: ε > 0.
    """
    return x * (x**2 + width**2) ** ((power - 1.0) / 2.0)
