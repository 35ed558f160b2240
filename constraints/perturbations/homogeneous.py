"""The time in which a homogeneous equation of order 2 comes to rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError

Array = NDArray[np.float64]

DIRECTIONS = 4001
NEAR = np.geomspace(1e-13, 1e-2, 600)
"""Angles from each axis at which it is looked closer: a strong damping is felt most where the rate is nearly zero."""
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
        """The bound [s] from y and ẏ.

        Args:
            value: y.
            rate: ẏ.
        """
        energy = float(_energy(np.array([value]), np.array([rate]), self.k1, self.power)[0])
        V = energy ** ((3.0 - self.power) / 2.0) + self.mixture * value * rate
        a = 2.0 / (3.0 - self.power)
        return float(V ** (1.0 - a)) / (self.constant * (1.0 - a))


def settling_constant(k1: float, k2: float, power: float) -> SettlingConstant:
    """The constant of ÿ = −k₁ sig(y)^α₁ − k₂ sig(ẏ)^α, with the γ that makes it largest, both found on grids.

    Args:
        k1: k₁.
        k2: k₂.
        power: α; α₁ = α/(2−α).

    Raises:
        ModelError: if none is found: then the rate at which the damping holds the pull, (k₁/k₂)^(1/α) of the largest,
            is too small for any useful bound.
    """
    angles = np.concatenate([np.linspace(0.0, np.pi, DIRECTIONS), NEAR, np.pi / 2 - NEAR, np.pi / 2 + NEAR])
    # By homogeneity one curve around zero tells all; the other half of it is its mirror image.
    y, rate = np.sign(np.cos(angles)) * np.abs(np.cos(angles)) ** (2.0 - power), np.sin(angles)
    # π − NEAR by its sine and cosine, which the difference would round off.
    y, rate = np.append(y, -(np.cos(NEAR) ** (2.0 - power))), np.append(rate, np.sin(NEAR))
    y = y * (1.0 / k1) ** ((2.0 - power) / 2.0)
    first, degree = power / (2.0 - power), (3.0 - power) / 2.0
    E = _energy(y, rate, k1, power)
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
            "so strong a damping nearly holds the deviation where it is; take a smaller rate_gain or a larger power"
        )
    return best


def _energy(y: Array, rate: Array, k1: float, power: float) -> Array:
    """½ẏ² + k₁|y|^(1+α₁)/(1+α₁), of the shape of y."""
    exponent = 2.0 / (2.0 - power)
    return np.asarray(rate**2 / 2 + k1 * np.abs(y) ** exponent / exponent)
