"""The n-link arm of [DunskayaPyatnitsky1996]_, eqs. (3.5)-(3.10), as printed, with the errata applied.

Angles q_i from the vertical, x down along gravity, y to the side. L_i are the lengths, l_i the distances of the centres
of mass from the joint to the previous link, m_i the masses, J_i the inertias about the centres of mass. Sums are
written out as in the paper; nothing is shared with the code under test.

Errata: the first sum of (3.10) has the factor 1/2, and M_{n+1} = 0 in (3.8).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Arm(NamedTuple):
    """L [m], l [m], m [kg], J [kg m^2], each of shape (n,), and g [m/s^2]."""

    L: Array
    l: Array
    m: Array
    J: Array
    g: float


def centers(arm: Arm, q: Array) -> tuple[Array, Array]:
    """(3.6): x_ic, y_ic."""
    n = len(q)
    x, y = np.zeros(n), np.zeros(n)
    for i in range(n):
        for v in range(i):
            x[i] += arm.L[v] * np.cos(q[v])
            y[i] += arm.L[v] * np.sin(q[v])
        x[i] += arm.l[i] * np.cos(q[i])
        y[i] += arm.l[i] * np.sin(q[i])
    return x, y


def center_velocities(arm: Arm, q: Array, z: Array) -> tuple[Array, Array]:
    """(3.7): their rates."""
    n = len(q)
    x, y = np.zeros(n), np.zeros(n)
    for i in range(n):
        for v in range(i):
            x[i] -= z[v] * arm.L[v] * np.sin(q[v])
            y[i] += z[v] * arm.L[v] * np.cos(q[v])
        x[i] -= z[i] * arm.l[i] * np.sin(q[i])
        y[i] += z[i] * arm.l[i] * np.cos(q[i])
    return x, y


def kinetic_energy(arm: Arm, q: Array, z: Array) -> float:
    """(3.5): T."""
    x, y = center_velocities(arm, q, z)
    return float(0.5 * np.sum(arm.m * (x**2 + y**2)) + 0.5 * np.sum(arm.J * z**2))


def potential_energy(arm: Arm, q: Array) -> float:
    """(3.5): Pi = -g sum m_i x_ic."""
    return float(-arm.g * np.sum(arm.m * centers(arm, q)[0]))


def kinetic_form(arm: Arm, q: Array, z: Array, *, first: float = 0.5) -> float:
    """(3.10): 0.5 z'Az; ``first`` is the factor of the first sum, 1/2 by the erratum, 1 as printed."""
    n, L, l = len(q), arm.L, arm.l
    total = 0.0
    for i in range(n):
        inner = l[i] ** 2 * z[i] ** 2
        for v in range(i):
            inner += 2.0 * l[i] * L[v] * np.cos(q[i] - q[v]) * z[i] * z[v]
            for k in range(i):
                inner += L[v] * L[k] * np.cos(q[k] - q[v]) * z[v] * z[k]
        total += first * arm.m[i] * inner
    return float(total + 0.5 * np.sum(arm.J * z**2))


def matrix(arm: Arm, q: Array, *, first: float = 0.5) -> Array:
    """A of (3.10), by polarization of the form: A_ij = f(e_i + e_j) - f(e_i) - f(e_j) with f = 0.5 z'Az."""
    n = len(q)
    unit = np.eye(n)
    A = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            both, one, two = (kinetic_form(arm, q, z, first=first) for z in (unit[i] + unit[j], unit[i], unit[j]))
            A[i, j] = both - one - two
    return A


def constant(arm: Arm, q: Array) -> float:
    """(3.10): L_0 = g sum m_i (sum L_v cos q_v + l_i cos q_i)."""
    total = 0.0
    for i in range(len(q)):
        reach = arm.l[i] * np.cos(q[i])
        for v in range(i):
            reach += arm.L[v] * np.cos(q[v])
        total += arm.m[i] * reach
    return float(arm.g * total)


def momenta(arm: Arm, q: Array, z: Array) -> Array:
    """p_i = dL/dz_i from (3.5) and (3.7): sum m_k (x'_k dx'_k/dz_i + y'_k dy'_k/dz_i) + J_i z_i."""
    n = len(q)
    x, y = center_velocities(arm, q, z)
    p = arm.J * z
    for i in range(n):
        for k in range(i, n):
            lever = arm.l[i] if k == i else arm.L[i]
            p[i] += arm.m[k] * (-x[k] * lever * np.sin(q[i]) + y[k] * lever * np.cos(q[i]))
    return np.asarray(p, dtype=np.float64)


def momentum_rates(arm: Arm, q: Array, z: Array, torques: Array) -> Array:
    """The bracket of (3.8) with (3.9): sum m_k (x'_k lambda_ki + y'_k mu_ki) + g sum m_k gamma_ki + M_i - M_{i+1}."""
    n = len(q)
    x, y = center_velocities(arm, q, z)
    rates = torques - np.append(torques[1:], 0.0)
    for i in range(n):
        for k in range(n):
            lever = 0.0 if k < i else arm.l[i] if k == i else arm.L[i]
            lam = -lever * np.cos(q[i]) * z[i]
            mu = -lever * np.sin(q[i]) * z[i]
            gamma = -lever * np.sin(q[i])
            rates[i] += arm.m[k] * (x[k] * lam + y[k] * mu) + arm.g * arm.m[k] * gamma
    return np.asarray(rates, dtype=np.float64)


def step(arm: Arm, q: Array, p: Array, torques: Array, h: float) -> tuple[Array, Array, Array]:
    """(3.8): q and p after one step, and the z that it was taken with, by a dense solution of A z = p."""
    z = np.asarray(np.linalg.solve(matrix(arm, q), p), dtype=np.float64)
    return q + h * z, p + h * momentum_rates(arm, q, z, torques), z
