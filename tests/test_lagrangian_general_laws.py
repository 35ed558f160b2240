"""Laws of every Lagrangian system: gauge, change of coordinates, Jacobi's integral; and a charge in known fields."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import DOP853

from .lagrangians import Recipe

Array = NDArray[np.float64]

TIGHT = DOP853(1e-13, 1e-13)


def symbols(n: int) -> tuple[ca.SX, ca.SX, ca.SX]:
    """q, v and t."""
    q, v = ca.vertcat(*(ca.SX.sym(f"q{i}") for i in range(n))), ca.vertcat(*(ca.SX.sym(f"v{i}") for i in range(n)))
    return q, v, ca.SX.sym("t")


def system(recipe: Recipe, q: ca.SX, v: ca.SX, t: ca.SX, x: ca.SX, more: ca.SX | float = 0.0) -> Robot:
    """The recipe's Lagrangian at the places x(q, t), whose rates come from q, v and t; plus ``more`` in T."""
    rate = ca.jtimes(x, ca.vertcat(q, t), ca.vertcat(v, 1))
    xs, rates = ca.vertsplit(x), ca.vertsplit(rate)
    T = recipe.quadratic(ca, xs, rates, t) + recipe.linear(ca, xs, rates, t) + more
    return lagrangian_system(q=q, v=v, t=t, T=T, V=-recipe.rest(ca, xs, t))


@pytest.mark.parametrize("seed", range(5))
def test_a_total_derivative_in_the_lagrangian_changes_nothing(seed: int) -> None:
    """L + dF(q, t)/dt has the same equations of motion."""
    recipe, rng = Recipe.random(3, seed), np.random.default_rng(seed)
    q, v, t = symbols(3)
    F = q[0] ** 2 * ca.sin(q[1] * t) + ca.exp(q[2] - t) * q[0] + q[1] ** 3 * t**2
    plain = system(recipe, q, v, t, q)
    gauged = system(recipe, q, v, t, q, ca.jtimes(F, ca.vertcat(q, t), ca.vertcat(v, 1)))
    for _ in range(10):
        time, where = float(rng.uniform(-1.0, 1.0)), dict(zip("qv", rng.uniform(-1.0, 1.0, (2, 3)), strict=True))
        a = plain.evaluate(plain.acceleration, t=time, **where)
        scale = max(1.0, float(np.abs(a).max()))
        np.testing.assert_allclose(gauged.evaluate(gauged.acceleration, t=time, **where), a, rtol=0, atol=1e-11 * scale)
        assert float(gauged.evaluate(gauged.kinetic_energy, t=time, **where)) != pytest.approx(
            float(plain.evaluate(plain.kinetic_energy, t=time, **where)), abs=1e-3
        )


@pytest.mark.parametrize("seed", range(5))
def test_the_motion_does_not_depend_on_the_coordinates(seed: int) -> None:
    """x = x(q, t), moving and curved: ẍ from the equations in q is that of the equations in x."""
    recipe, rng = Recipe.random(3, seed), np.random.default_rng(seed)
    q, v, t = symbols(3)
    x = ca.vertcat(
        q[0] * ca.cos(t) - q[1] * ca.sin(t) + 0.2 * q[2] ** 2, q[0] * ca.sin(t) + q[1] * ca.cos(t), q[2] + t * q[0] / 3
    )
    straight, curved = system(recipe, q, v, t, q), system(recipe, q, v, t, x)
    state = ca.vertcat(q, v, t)
    rate = ca.jtimes(x, ca.vertcat(q, t), ca.vertcat(v, 1))
    second = ca.jtimes(rate, state, ca.vertcat(v, curved.acceleration, 1))
    for _ in range(10):
        time, where = float(rng.uniform(-1.0, 1.0)), dict(zip("qv", rng.uniform(-0.7, 0.7, (2, 3)), strict=True))
        place, velocity, acceleration = (curved.evaluate(e, t=time, **where) for e in (x, rate, second))
        a = straight.evaluate(straight.acceleration, t=time, q=place, v=velocity)
        scale = max(1.0, float(np.abs(a).max()))
        np.testing.assert_allclose(acceleration, a, rtol=0, atol=1e-10 * scale)


def test_jacobis_integral_is_kept_where_time_does_not_occur() -> None:
    """½ q̇ᵀAq̇ − L₀: the terms linear in the velocities are in T, do no work, and are not in the integral."""
    q, v, t = symbols(2)
    A = ca.vertcat(ca.horzcat(2 + ca.sin(q[1]) ** 2, 0.5 * ca.cos(q[0])), ca.horzcat(0.5 * ca.cos(q[0]), 1 + q[0] ** 2))
    quadratic, linear = v.T @ A @ v / 2, 3 * q[1] * v[0] + ca.sin(q[0]) * v[1]
    V = q[0] ** 2 + 2 * q[1] ** 2 + q[0] * q[1] ** 2 / 3
    one = lagrangian_system(q=q, v=v, t=t, T=quadratic + linear, V=V)
    motion = simulate(one, None, [0.4, -0.3], [0.2, 0.5], 10.0, step=0.02, integrator=TIGHT)
    integral = motion.evaluate(quadratic + V)
    assert np.ptp(integral) < 1e-10 * integral[0]
    assert np.ptp(motion.energy) > 0.1


def test_a_charge_drifts_across_electric_and_magnetic_fields() -> None:
    """L = ½ m|v|² + e A·v + e E x with B = rot A along z: a cycloid, drifting at −E/B along y, in closed form."""
    q, v, _ = symbols(2)
    m, e, B, E = 0.7, 1.3, 2.0, 0.5
    vector_potential = ca.vertcat(-B * q[1] / 2, B * q[0] / 2)
    one = lagrangian_system(q=q, v=v, T=m * ca.sumsqr(v) / 2 + e * ca.dot(vector_potential, v), V=-e * E * q[0])
    motion = simulate(one, None, [0.0, 0.0], [0.0, 0.0], 10.0, step=0.02, integrator=TIGHT)
    omega, drift = e * B / m, E / B
    exact = np.column_stack(
        [
            drift / omega * (1 - np.cos(omega * motion.t)),
            drift / omega * (np.sin(omega * motion.t) - omega * motion.t),
        ]
    )
    np.testing.assert_allclose(motion.q, exact, rtol=0, atol=1e-10)


def test_coordinates_have_names_and_units() -> None:
    x, angle = ca.SX.sym("height"), ca.SX.sym("angle")
    v = ca.vertcat(ca.SX.sym("v_height"), ca.SX.sym("v_angle"))
    u = ca.SX.sym("torque")
    one = lagrangian_system(
        q=ca.vertcat(x, angle),
        v=v,
        T=ca.sumsqr(v) / 2,
        Q=ca.vertcat(0, u),
        u=u,
        units=("m", "rad"),
        input_units=("N m",),
        name="lift",
    )
    assert one.coordinates.names == ("height", "angle")
    assert one.coordinates.units == ("m", "rad")
    assert (one.input_names, one.input_units, one.name) == (("torque",), ("N m",), "lift")
