"""Quasi-momenta of a heavy top in quaternion coordinates: Euler's equations, ṗ = p × ω + torque."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Dynamics, Robot
from erugin.robots.hamiltonian import Cholesky, canonical_form
from erugin.scenarios import simulate
from erugin.simulation import DOP853, CanonicalEuler
from erugin.symbolic import Coordinates, Parameters

Array = NDArray[np.float64]
J = np.array([0.4, 0.7, 0.9])
WEIGHT, ARM = 12.0, np.array([0.1, -0.2, 0.3])


def top() -> Robot:
    """q = (e0, e1, e2, e3) turns body into world, v = ω in the body; gravity along −z of the world."""
    e, w, u = ca.SX.sym("e", 4), ca.SX.sym("w", 3), ca.SX.sym("u", 3)
    N = ca.vertcat(-e[1:].T, e[0] * ca.SX.eye(3) + ca.skew(e[1:])) / 2
    up = ca.vertcat(
        2 * (e[1] * e[3] - e[0] * e[2]), 2 * (e[2] * e[3] + e[0] * e[1]), e[0] ** 2 - e[1] ** 2 - e[2] ** 2 + e[3] ** 2
    )
    inertia, arm = ca.SX(ca.diag(ca.DM(J))), ca.SX(ca.DM(ARM))
    momentum = inertia @ w
    names = tuple(e[i].name() for i in range(4))
    return Robot(
        name="top",
        coordinates=Coordinates(ca.SX.sym("t"), e, w, ca.SX.sym("a", 3), N, names, ("",) * 4),
        parameters=Parameters((), ca.SX(0, 1), {}),
        u=u,
        dynamics=Dynamics.given(
            mass_matrix=inertia,
            bias=ca.cross(w, momentum) + WEIGHT * ca.cross(arm, up),
            kinetic_energy=ca.dot(w, momentum) / 2,
            potential_energy=WEIGHT * ca.dot(arm, up),
        ),
        input_matrix=ca.SX.eye(3),
        input_names=("u1", "u2", "u3"),
        input_units=("N m",) * 3,
    )


def rotation(q: Array) -> Array:
    """Body to world, by turning each axis with q x q*."""
    s, r = q[0], q[1:]
    return np.column_stack([x + 2 * s * np.cross(r, x) + 2 * np.cross(r, np.cross(r, x)) for x in np.eye(3)])


def states() -> list[tuple[Array, Array, Array]]:
    rng = np.random.default_rng(9)
    made: list[tuple[Array, Array, Array]] = []
    for _ in range(20):
        q = rng.normal(size=4)
        made.append((q / np.linalg.norm(q), rng.uniform(-3, 3, 3), rng.uniform(-5, 5, 3)))
    return made


def test_eulers_equations() -> None:
    form = canonical_form(top())
    for q, w, u in states():
        p = J * w
        np.testing.assert_allclose(form.robot.evaluate(form.momentum, q=q, v=w), p, rtol=1e-14)
        down = rotation(q).T @ np.array([0.0, 0.0, -WEIGHT])
        expected = np.cross(p, w) + np.cross(ARM, down) + u
        actual = form.evaluate(form.momentum_rate, q=q, momenta=p, u=u)
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)
        turning = np.append(-q[1:] @ w, q[0] * w + np.cross(q[1:], w)) / 2
        np.testing.assert_allclose(form.evaluate(form.coordinate_rate, q=q, momenta=p), turning, rtol=1e-12, atol=1e-12)
        H = p @ (p / J) / 2 - ARM @ down
        assert form.evaluate(form.hamiltonian, q=q, momenta=p) == pytest.approx(H, rel=1e-12)


def test_gyroscopic_terms_have_no_power() -> None:
    """dH/dt = uᵀω, although −Nᵀ∂H/∂q alone is not ṗ."""
    robot = top()
    form = canonical_form(robot)
    H = form.hamiltonian
    slope = ca.jtimes(H, ca.vertcat(robot.q, form.momenta), ca.vertcat(form.coordinate_rate, form.momentum_rate))
    gyroscopic = form.momentum_rate - robot.u + robot.coordinates.N.T @ ca.gradient(H, robot.q)
    for q, w, u in states():
        at = functools.partial(form.evaluate, q=q, momenta=J * w, u=u)
        assert at(slope) == pytest.approx(float(u @ w), rel=1e-10, abs=1e-10)
        turn = at(gyroscopic)
        np.testing.assert_allclose(turn, np.cross(J * w, w), rtol=1e-9, atol=1e-10)
        assert np.abs(turn).max() > 1e-2


def test_the_euler_method_moves_coordinates_by_the_kinematic_matrix() -> None:
    """Of order 1, with q̇ = N z; the unit length of the quaternion is left with that error too."""
    q0, w0 = np.array([0.5, 0.5, -0.5, 0.5]), np.array([1.0, -0.5, 2.0])
    truth = simulate(top(), None, q0, w0, 0.4, step=0.4, integrator=DOP853(1e-12, 1e-12)).q[-1]
    errors: list[float] = []
    for h in (1e-3, 5e-4, 2.5e-4):
        motion = simulate(top(), None, q0, w0, 0.4, step=h, integrator=CanonicalEuler(Cholesky()))
        errors.append(float(np.abs(motion.q[-1] - truth).max()))
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 1.0, atol=0.05)
    assert errors[0] < 1e-2
