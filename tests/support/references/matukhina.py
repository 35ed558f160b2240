"""The two-link arm of [Matukhina]_, section "Example": her own formulas, erratum 1 applied.

Point masses m1, m2 at the ends of massless rods l1, l2; q1 from the horizontal, q2 relative to the first link.
The paper prints beta = m2 l1^2 + m2 l1 l2 cos q2; erratum 1: beta = m2 l2^2 + m2 l1 l2 cos q2. The slip is invisible
for l1 = l2; :func:`mass_matrix_as_printed` keeps it, so that a test can show the difference.
The excess variables y' (with 2D = c1 y1'^2 + c2 y2'^2) do not mix with q here and are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Arm(NamedTuple):
    """Masses m1, m2 [kg], lengths l1, l2 [m], acceleration of gravity g [m/s^2]."""

    m1: float
    m2: float
    l1: float
    l2: float
    g: float


def coefficients(arm: Arm, q: Array) -> tuple[float, float, float]:
    """alpha, beta, gamma [kg m^2] of the momenta, with beta after erratum 1."""
    m1, m2, l1, l2, _ = arm
    cosine = float(np.cos(q[1]))
    alpha = (m1 + m2) * l1**2 + m2 * l2**2 + 2.0 * m2 * l1 * l2 * cosine
    beta = m2 * l2**2 + m2 * l1 * l2 * cosine  # erratum 1; printed: m2 l1^2 + ...
    gamma = m2 * l2**2
    return alpha, beta, gamma


def mass_matrix(arm: Arm, q: Array) -> Array:
    """[[alpha, beta], [beta, gamma]], shape (2, 2), with beta after erratum 1."""
    alpha, beta, gamma = coefficients(arm, q)
    return np.array([[alpha, beta], [beta, gamma]])


def mass_matrix_as_printed(arm: Arm, q: Array) -> Array:
    """The same with the printed, wrong beta = m2 l1^2 + m2 l1 l2 cos q2, shape (2, 2); equal only for l1 = l2."""
    alpha, _, gamma = coefficients(arm, q)
    beta = arm.m2 * arm.l1**2 + arm.m2 * arm.l1 * arm.l2 * float(np.cos(q[1]))
    return np.array([[alpha, beta], [beta, gamma]])


def kinetic_energy(arm: Arm, q: Array, v: Array) -> float:
    """T [J]: 2T = (m1 + m2) l1^2 q1'^2 + m2 l2^2 (q1' + q2')^2 + 2 m2 l1 l2 q1' (q1' + q2') cos q2."""
    m1, m2, l1, l2, _ = arm
    both = v[0] + v[1]
    twice = (m1 + m2) * l1**2 * v[0] ** 2 + m2 * l2**2 * both**2 + 2.0 * m2 * l1 * l2 * v[0] * both * np.cos(q[1])
    return float(0.5 * twice)


def potential_energy(arm: Arm, q: Array) -> float:
    """P [J] = g (m1 + m2) l1 sin q1 + g m2 l2 sin(q1 + q2)."""
    m1, m2, l1, l2, g = arm
    return float(g * (m1 + m2) * l1 * np.sin(q[0]) + g * m2 * l2 * np.sin(q[0] + q[1]))


def momenta(arm: Arm, q: Array, v: Array) -> Array:
    """p1 = alpha q1' + beta q2', p2 = beta q1' + gamma q2', shape (2,) [kg m^2/s]; eq. (7), erratum 1."""
    alpha, beta, gamma = coefficients(arm, q)
    return np.array([alpha * v[0] + beta * v[1], beta * v[0] + gamma * v[1]])


def velocities(arm: Arm, q: Array, p: Array) -> Array:
    """First two canonical equations of the example, eq. (9), erratum 1, shape (2,) [rad/s].

    q1' = (gamma p1 - beta p2) / (alpha gamma - beta^2), q2' = (alpha p2 - beta p1) / (alpha gamma - beta^2).
    """
    alpha, beta, gamma = coefficients(arm, q)
    determinant = alpha * gamma - beta**2
    return np.array([gamma * p[0] - beta * p[1], alpha * p[1] - beta * p[0]]) / determinant


def momentum_rates(arm: Arm, q: Array, p: Array) -> Array:
    """Last two canonical equations of the example, eq. (10), without R, erratum 1, shape (2,) [N m].

    p1' = -g (m1 + m2) l1 cos q1 - g m2 l2 cos(q1 + q2),
    p2' = -m2 l1 l2 sin q2 [gamma (gamma - beta) p1^2 + beta (beta - alpha) p2^2
          + (alpha gamma - 2 beta gamma + beta^2) p1 p2] / (alpha gamma - beta^2)^2 - g m2 l2 cos(q1 + q2).
    """
    m1, m2, l1, l2, g = arm
    alpha, beta, gamma = coefficients(arm, q)
    quadratic = (
        gamma * (gamma - beta) * p[0] ** 2
        + beta * (beta - alpha) * p[1] ** 2
        + (alpha * gamma - 2.0 * beta * gamma + beta**2) * p[0] * p[1]
    ) / (alpha * gamma - beta**2) ** 2
    outer = g * m2 * l2 * np.cos(q[0] + q[1])
    return np.array([-g * (m1 + m2) * l1 * np.cos(q[0]) - outer, -m2 * l1 * l2 * np.sin(q[1]) * quadratic - outer])
