"""Larin's example, and the term that it leaves out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from erugin.constraints import null_space
from erugin.controllers import reduced_equations

from .reduced_models import G, pendulum

Array = NDArray[np.float64]


def test_the_pendulum_of_section_5() -> None:
    """ẇ = g y₂/l, ẏ = [−y₂, y₁] w/l with y₁ up, eqs. (5.1): one degree of freedom and constant T need no V̇₂."""
    robot = pendulum(2)
    equations, rng = reduced_equations(robot, method="recurrent"), np.random.default_rng(4)
    for angle in [np.pi, np.pi + 1e-9, 0.0, *rng.uniform(-3.0, 3.0, 10)]:
        y1, y2 = np.cos(angle), np.sin(angle)
        V2 = np.array([[y1], [-y2]])
        w = float(rng.normal())
        # q = (x, z) = (y₂, y₁).
        q, v = np.array([y2, y1]), V2[:, 0] * w
        state = equations.at(q, v, near=V2)
        np.testing.assert_allclose(state.basis, V2, atol=1e-14)
        np.testing.assert_allclose(state.w_rate, [G * y2], atol=1e-13)
        np.testing.assert_allclose(state.transport, 0.0, atol=1e-13)


def spatial_motion(*, transport: bool, steps: int = 500, span: float = 4.0) -> tuple[float, float, Array]:
    """Drift of energy and of vertical angular momentum with V₂ by the printed formula.

    Below the pivot it is a smooth function of q, with γ = (−z, x, y)/l.

    q̇ = V₂(q) w, m ẇ + m V₂ᵀV̇₂ w = V₂ᵀQ, by RK4; without the second term as in [Larin1993]_ section 5.
    """

    def basis(q: Array) -> Array:
        V2 = null_space([[-q[2], q[0], q[1]]], "recurrent")[[1, 2, 0]]
        return np.asarray(V2 * np.array([[1.0], [1.0], [-1.0]]))

    def rate(x: Array) -> Array:
        q, w = x[:3], x[3:]
        V2 = basis(q)
        v, eps = V2 @ w, 1e-5
        turning = (basis(q + eps * v) - basis(q - eps * v)) / (2 * eps)
        along = V2.T @ np.array([0.0, 0.0, -G])
        return np.concatenate([v, along - V2.T @ turning @ w * transport])

    q, h = np.array([np.sqrt(0.91), 0.0, -0.3]), span / steps
    x = np.concatenate([q, basis(q).T @ np.array([0.0, 1.5, 0.0])])
    record: list[Array] = []
    for _ in range(steps):
        v = basis(x[:3]) @ x[3:]
        record.append(np.array([v @ v / 2 + G * x[2], x[0] * v[1] - x[1] * v[0]]))
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))
    drift = np.ptp(np.array(record), axis=0)
    return float(drift[0]), float(drift[1]), x[:3]


def test_without_the_rate_of_the_basis_angular_momentum_is_lost() -> None:
    """The errata: a spatial pendulum keeps its energy either way, and its angular momentum only with V̇₂."""
    energy, momentum, _ = spatial_motion(transport=True)
    assert energy < 1e-6
    assert momentum < 1e-6
    energy, momentum, _ = spatial_motion(transport=False)
    assert energy < 1e-6
    assert momentum > 0.5
