"""Canonical form where the mass matrix is singular and natural constraints determine the motion."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic, nonholonomic
from erugin.robots import lagrangian_system
from erugin.robots.examples import heavy_top
from erugin.robots.hamiltonian import Cholesky, ConjugateDirections, LegendreTransform, canonical_form
from erugin.scenarios import simulate
from erugin.simulation import DOP853, CanonicalEuler
from erugin.symbolic import ModelError

Array = NDArray[np.float64]
MASS, CENTER, GRAVITY = 2.0, np.array([0.1, -0.2, 0.3]), 9.81
INERTIA = np.diag([0.4, 0.7, 0.9])
ABOUT_ORIGIN = INERTIA + MASS * (CENTER @ CENTER * np.eye(3) - np.outer(CENTER, CENTER))


def body_rates(e: Array) -> Array:
    """G with ω = 2 G(e) ė, shape (3, 4)."""
    return np.column_stack([-e[1:], e[0] * np.eye(3) + np.cross(np.eye(3), e[1:]).T])


def rotation(e: Array) -> Array:
    """Body to world."""
    s, r = e[0], e[1:]
    return np.column_stack([x + 2 * s * np.cross(r, x) + 2 * np.cross(r, np.cross(r, x)) for x in np.eye(3)])


def test_a_top_in_quaternions_obeys_eulers_equations() -> None:
    """p = 2 Gᵀ J ω, so ṗ = 2 G(ė)ᵀ J ω + 2 Gᵀ (J ω × ω + torque), on e of length one."""
    robot = heavy_top(MASS, INERTIA, center=list(CENTER), gravity=GRAVITY)
    form = canonical_form(robot)
    rng = np.random.default_rng(0)
    for _ in range(20):
        e = rng.normal(size=4)
        e /= np.linalg.norm(e)
        omega, torque = rng.uniform(-3, 3, 3), rng.uniform(-5, 5, 3)
        G = body_rates(e)
        rate = G.T @ omega / 2
        np.testing.assert_allclose(2 * G @ rate, omega, rtol=1e-13, atol=1e-13)
        spin = ABOUT_ORIGIN @ omega
        p = 2 * G.T @ spin
        np.testing.assert_allclose(robot.evaluate(form.momentum, q=e, v=rate), p, rtol=1e-12, atol=1e-13)
        assert np.linalg.matrix_rank(robot.evaluate(robot.mass_matrix, q=e)) == 3
        np.testing.assert_allclose(form.evaluate(form.velocity, q=e, momenta=p), rate, rtol=1e-11, atol=1e-12)
        pull = MASS * np.cross(CENTER, rotation(e).T @ np.array([0.0, 0.0, -GRAVITY]))
        expected = 2 * body_rates(rate).T @ spin + 2 * G.T @ (np.cross(spin, omega) + pull + torque)
        actual = form.evaluate(form.momentum_rate, q=e, momenta=p, u=torque)
        np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-11)
        H = omega @ spin / 2 + MASS * GRAVITY * (rotation(e) @ CENTER)[2]
        assert form.evaluate(form.hamiltonian, q=e, momenta=p) == pytest.approx(H, rel=1e-12)


def test_a_constraint_that_moves_with_time_gives_the_velocity_that_has_no_momentum() -> None:
    """A massless slider x is driven by x = b sin t, a mass hangs on it at y: p_x = 0, and still ẋ = b cos t."""
    q, v, t = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("t")
    drive = holonomic(q[0] - 0.3 * ca.sin(t), name="drive")
    robot = lagrangian_system(
        q=q, v=v, t=t, T=0.7 * v[1] ** 2, V=2 * (q[1] - q[0]) ** 2, natural=[drive], name="slider"
    )
    form = canonical_form(robot)
    at = functools.partial(form.evaluate, t=0.4, q=[0.3 * np.sin(0.4), 0.5], momenta=[0.0, 2.1])
    np.testing.assert_allclose(at(form.velocity), [0.3 * np.cos(0.4), 1.5], rtol=1e-14)
    stretch = 0.5 - 0.3 * np.sin(0.4)
    # The driver takes up the spring, so that the massless slider never has a momentum.
    np.testing.assert_allclose(at(form.momentum_rate), [0.0, -4 * stretch], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("matrix_free", [False, True])
def test_solvers_and_integrator_serve_it_too(matrix_free: bool) -> None:
    robot = heavy_top(MASS, INERTIA, center=list(CENTER), gravity=GRAVITY)
    e, omega = np.array([0.5, 0.5, -0.5, 0.5]), np.array([1.0, -0.5, 2.0])
    rate = body_rates(e).T @ omega / 2
    form = canonical_form(robot)
    transform = LegendreTransform(form, matrix_free=matrix_free)
    momenta = robot.evaluate(form.momentum, q=e, v=rate)
    p = robot.parameters.values()
    for solver in (Cholesky(), ConjugateDirections(1e-12)):
        np.testing.assert_allclose(transform.solve(solver, 0.0, e, momenta, p).z, rate, rtol=1e-10, atol=1e-11)
    truth = simulate(robot, None, e, rate, 0.3, step=0.3, integrator=DOP853(1e-12, 1e-12)).q[-1]
    errors: list[float] = []
    for h in (1e-3, 5e-4):
        euler = CanonicalEuler(Cholesky(), matrix_free)
        errors.append(float(np.abs(simulate(robot, None, e, rate, 0.3, step=h, integrator=euler).q[-1] - truth).max()))
    assert errors[0] < 1e-2
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.1)


def test_constraints_that_are_not_linear_in_the_velocities_are_refused() -> None:
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    coupled = nonholonomic(v[0] ** 2 + v[0] - v[1], name="coupled")
    robot = lagrangian_system(q=q, v=v, T=v[0] ** 2 / 2, natural=[coupled], name="odd")
    with pytest.raises(ModelError, match="odd has no canonical form: its mass matrix is singular"):
        canonical_form(robot)
