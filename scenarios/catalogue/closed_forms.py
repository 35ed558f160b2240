"""Motions in closed form, or in one coordinate, with which entries of the catalogue are compared."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def turning_pendulum(k: float, rate: float, t: Array) -> Array:
    """Angle ψ from the hanging position of ψ'' = −k sin ψ that starts upright [rad]: ψ/2 = am(½ ω t + K | 4k/ω²).

    Args:
        k: square of the frequency of small swings [1/s²].
        rate: ψ' at the start, greater than zero [rad/s].
        t: times, shape (N,) [s].
    """
    from scipy.special import ellipj, ellipk

    fastest = math.sqrt(rate**2 + 4.0 * k)
    m = 4.0 * k / fastest**2
    return np.asarray(2.0 * ellipj(fastest / 2.0 * t + ellipk(m), m)[3], dtype=np.float64)


def heights_of_a_bob(height: float, speed: float, length: float, gravity: float, t: Array) -> Array:
    """Height of a bob thrown sideways [m]: z = z₁ + (z₂ − z₁) sn²(√(g (z₃ − z₁)/2) t/l + s K | (z₂ − z₁)/(z₃ − z₁)).

    z₁ ≤ z₂ < z₃ are the roots of 2 (E − g z)(l² − z²) = J², of which the start is one; s is 0 at z₁ and 1 at z₂.

    Args:
        height: over the pivot at the start [m].
        speed: at the start [m/s].
        length: l of the rod [m].
        gravity: g [m/s²].
        t: times, shape (N,) [s].
    """
    from scipy.special import ellipj, ellipk

    energy, moment = speed**2 / 2.0 + gravity * height, speed**2 * (length**2 - height**2)
    cubic = [2.0 * gravity, -2.0 * energy, -2.0 * gravity * length**2, 2.0 * energy * length**2 - moment]
    roots = np.sort(np.real(np.roots(cubic)))
    low, high, beyond = (float(root) for root in roots)
    m = (high - low) / (beyond - low)
    start = float(ellipk(m)) if abs(height - high) < abs(height - low) else 0.0
    sn = ellipj(math.sqrt(gravity * (beyond - low) / 2.0) / length * t + start, m)[0]
    return np.asarray(low + (high - low) * sn**2, dtype=np.float64)


def equal_arms(slider: float, gravity: float, torque: float, angle: float, rate: float, t: Array) -> Array:
    """Angle of the crank of a slider-crank with equal bars of 1 m and 1 kg [rad], on the branch x = 2 cos φ.

    I(φ) φ'' + ½ I'(φ) φ'² = τ − g cos φ, I = 1/3 + 1/12 + (9/4 + 4 m) sin² φ + ¼ cos² φ, integrated by SciPy.

    Args:
        slider: its mass m [kg].
        gravity: g [m/s²].
        torque: τ on the crank [N m].
        angle: at the start [rad].
        rate: at the start [rad/s].
        t: times, shape (N,) [s].
    """
    from scipy.integrate import solve_ivp

    def slope(_: float, x: Array) -> list[float]:
        s, c = math.sin(x[0]), math.cos(x[0])
        inertia = 5.0 / 12.0 + (2.25 + 4.0 * slider) * s**2 + 0.25 * c**2
        return [x[1], (torque - (2.0 + 4.0 * slider) * s * c * x[1] ** 2 - gravity * c) / inertia]

    found = solve_ivp(slope, (0.0, t[-1]), [angle, rate], "DOP853", t_eval=t, rtol=1e-13, atol=1e-13)
    return np.asarray(found.y[0], dtype=np.float64)


def free_spin(moments: Array, start: Array, t: Array) -> Array:
    """Rates of a free body about its principal axes, shape (N, 3) [rad/s], Landau and Lifshitz, Mechanics, § 37.

    I₁ < I₂ < I₃, and the angular momentum goes round the third axis: ω = (a cn, b sn, c dn).

    Args:
        moments: I₁, I₂, I₃ [kg m²].
        start: rates at t = 0, of which the first is zero and the others positive [rad/s].
        t: times, shape (N,) [s].
    """
    from scipy.special import ellipj, ellipk

    I1, I2, I3 = (float(x) for x in moments)
    twice, square = float(moments @ start**2), float(moments**2 @ start**2)
    speed = math.sqrt((I3 - I2) * (square - twice * I1) / (I1 * I2 * I3))
    m = (I2 - I1) * (twice * I3 - square) / ((I3 - I2) * (square - twice * I1))
    sn, cn, dn, _ = ellipj(speed * t + ellipk(m), m)
    return np.column_stack(
        [
            math.sqrt((twice * I3 - square) / (I1 * (I3 - I1))) * cn,
            math.sqrt((twice * I3 - square) / (I2 * (I3 - I2))) * sn,
            math.sqrt((square - twice * I1) / (I3 * (I3 - I1))) * dn,
        ]
    ).astype(np.float64)


def butterworth_step(order: int, cutoff: float, t: Array) -> Array:
    """Step response of Butterworth's filter, 1 + Σ c_k e^{p_k t} with its poles p_k on the left half of a circle.

    Args:
        order: n.
        cutoff: radius of the circle [rad/s].
        t: times, shape (N,) [s].
    """
    poles = cutoff * np.exp(0.5j * np.pi * (2.0 * np.arange(1, order + 1) + order - 1.0) / order)
    apart = poles[:, None] - poles + np.eye(order)
    residues = cutoff**order / (poles * apart.prod(axis=1))
    return np.asarray(1.0 + (np.exp(np.outer(t, poles)) @ residues).real, dtype=np.float64)
