"""Lagrange's equations by automatic differentiation, against SymPy and against hand-made cases."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from numpy.typing import NDArray

from erugin.constraints import holonomic
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import ModelError, ParameterError, Parameters, ShapeError

Array = NDArray[np.float64]


def driven(m: Any, x: Any, y: Any, vx: Any, vy: Any, t: Any) -> tuple[Any, Any, Any]:  # noqa: ANN401 - SymPy or CasADi
    """T with terms of degree 2, 1 and 0 in the velocities and explicit time; V; D."""
    T = (2 + m.sin(y) ** 2 + t**2) * vx**2 / 2 + m.cos(x) * vx * vy + (3 + x**2) * vy**2 / 2
    T = T + m.sin(t) * y * vx + x**2 * vy + m.cos(x * t)
    V = x**2 * y + m.sin(x - 2 * t)
    D = (1 + x**2) * vx**2 / 2 + vx * vy / 3 + vy**4 / 4
    return T, V, D


def driven_robot() -> Robot:
    x, y, vx, vy, t = (ca.SX.sym(name) for name in ("x", "y", "vx", "vy", "t"))
    u = ca.SX.sym("u", 1)
    T, V, D = driven(ca, x, y, vx, vy, t)
    q, v = ca.vertcat(x, y), ca.vertcat(vx, vy)
    return lagrangian_system(q=q, v=v, T=T, V=V, D=D, Q=ca.vertcat(x * u, ca.cos(y) * u - vx), u=u, t=t)


def test_equations_of_motion_agree_with_sympy() -> None:
    """Time-dependent, gyroscopic and dissipative terms, derived a second time by SymPy."""
    t: Any = sp.Symbol("t")
    x: Any = sp.Function("x")(t)
    y: Any = sp.Function("y")(t)
    T, V, D = driven(sp, x, y, x.diff(t), y.diff(t), t)
    L = T - V
    equations: list[Any] = []
    for coordinate in (x, y):
        rate = coordinate.diff(t)
        equations.append(L.diff(rate).diff(t) - L.diff(coordinate) + D.diff(rate))
    numbers: Any = sp.symbols("a1 a2 v1 v2 q1 q2")
    old: Any = (x.diff(t, 2), y.diff(t, 2), x.diff(t), y.diff(t), x, y)
    expressions = [e.doit().subs(list(zip(old, numbers, strict=True))) for e in equations]
    left: Any = sp.lambdify([t, *numbers], expressions)  # pyright: ignore[reportUnknownVariableType]

    robot, rng = driven_robot(), np.random.default_rng(3)
    for _ in range(50):
        time, u = rng.uniform(0.0, 2.0), rng.uniform(-1.0, 1.0, 1)
        q, v = rng.uniform(-1.0, 1.0, (2, 2))
        a = robot.evaluate(robot.acceleration, t=time, q=q, v=v, u=u)
        forces = np.array([q[0] * u[0], np.cos(q[1]) * u[0] - v[0]])
        residual: Array = np.array(left(time, *a, *v, *q), dtype=np.float64) - forces
        assert np.abs(residual).max() < 1e-12 * max(1.0, float(np.abs(a).max()))
        assert np.abs(a).max() > 1e-3


def test_dissipation_takes_the_power_of_its_forces() -> None:
    q, v = ca.SX.sym("x"), ca.SX.sym("v")
    robot = lagrangian_system(q=q, v=v, T=v**2 / 2, V=2 * q**2, D=0.3 * v**2 / 2)
    motion = simulate(robot, None, [1.0], [0.0], 3.0, step=1e-2, integrator=DOP853())
    omega = np.sqrt(4.0 - 0.15**2)
    exact = np.exp(-0.15 * motion.t) * (np.cos(omega * motion.t) + 0.15 / omega * np.sin(omega * motion.t))
    np.testing.assert_allclose(motion.q[:, 0], exact, atol=1e-9)


def test_a_natural_constraint_and_its_reaction() -> None:
    """A pendulum in Cartesian coordinates against the pendulum in its angle."""
    x, y, vx, vy = (ca.SX.sym(name) for name in ("x", "y", "vx", "vy"))
    p = Parameters.declare({"m": 1.5, "l": 0.8, "g": 9.81})
    rod = holonomic(x**2 + y**2 - p["l"] ** 2, name="rod")
    robot = lagrangian_system(
        q=ca.vertcat(x, y),
        v=ca.vertcat(vx, vy),
        p=p,
        T=p["m"] * (vx**2 + vy**2) / 2,
        V=p["m"] * p["g"] * y,
        natural=[rod],
    )
    for angle, rate in ((0.4, 1.3), (2.5, -0.7), (-1.1, 2.0)):
        q = 0.8 * np.array([np.sin(angle), -np.cos(angle)])
        along = 0.8 * np.array([np.cos(angle), np.sin(angle)])
        a = robot.evaluate(robot.acceleration, q=q, v=rate * along)
        expected = -9.81 / 0.8 * np.sin(angle) * along - rate**2 * q
        np.testing.assert_allclose(a, expected, atol=1e-12)
        tension = 1.5 * (9.81 * np.cos(angle) + 0.8 * rate**2)
        # The gradient of the constraint has length 2 l and points outward.
        assert float(robot.evaluate(robot.reactions, q=q, v=rate * along)) == pytest.approx(-tension / 1.6, rel=1e-12)


def test_parameters_as_bare_symbols_need_values_when_evaluated() -> None:
    q, v, m = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("m")
    robot = lagrangian_system(q=q, v=v, p=m, T=m * v**2 / 2)
    assert float(robot.evaluate(robot.mass_matrix, p=[3.0])) == 3.0
    assert float(robot.evaluate(robot.mass_matrix, p={"m": 4.0})) == 4.0
    with pytest.raises(ParameterError, match="no value for m"):
        robot.evaluate(robot.mass_matrix)
    named = lagrangian_system(q=q, v=v, p=m, T=m * v**2 / 2, nominal={"m": 5.0})
    assert float(named.evaluate(named.mass_matrix)) == 5.0
    assert dict(named.nominal) == {"m": 5.0}


def test_what_cannot_be_a_lagrangian_system_is_refused() -> None:
    q, v, u = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("u", 1)
    with pytest.raises(ModelError, match="degree at most 2"):
        lagrangian_system(q=q, v=v, T=v**4)
    with pytest.raises(ModelError, match="affine in the inputs"):
        lagrangian_system(q=q, v=v, T=v**2, Q=u**2, u=u)
    with pytest.raises(ModelError, match=r"Q must have shape \(1,\), got \(2, 1\)"):
        lagrangian_system(q=q, v=v, T=v**2, Q=ca.vertcat(u, u), u=u)
    with pytest.raises(ModelError, match="v must be a column of symbols as long as q"):
        lagrangian_system(q=q, v=2 * v, T=v**2)
    with pytest.raises(ModelError, match="mass_matrix uses k, which system does not have"):
        lagrangian_system(q=q, v=v, T=ca.SX.sym("k") * v**2)
    with pytest.raises(ModelError, match="v must be a column"):
        lagrangian_system(q=q, v=ca.SX.sym("v", 2), T=v**2)


def test_evaluate_asks_for_what_an_expression_needs() -> None:
    robot = driven_robot()
    with pytest.raises(ShapeError, match=r"depends on q: pass q=, shape \(2,\)"):
        robot.evaluate(robot.mass_matrix)
    with pytest.raises(ShapeError, match="depends on v: pass v="):
        robot.evaluate(robot.bias, q=[0.0, 0.0])
    with pytest.raises(ShapeError, match=r"q\[1\] is nan"):
        robot.evaluate(robot.mass_matrix, q=[0.0, np.nan])
    with pytest.raises(ModelError, match="uses other, which system does not have"):
        robot.evaluate(ca.SX.sym("other"))
    assert robot.evaluate(robot.mass_matrix, q=[0.1, 0.2]).shape == (2, 2)
    assert robot.evaluate(robot.bias, q=[0.1, 0.2], v=[0.0, 0.0]).shape == (2,)
    assert robot.evaluate(robot.kinetic_energy, q=[0.1, 0.2], v=[0.0, 0.0]).shape == ()


def test_parameters_of_natural_constraints_stay_parameters() -> None:
    """The rod's length is varied: a state that fits the new length has no pull on it."""
    x, y, vx, vy = (ca.SX.sym(name) for name in ("x", "y", "vx", "vy"))
    p = Parameters.declare({"L": 1.0})
    rod = holonomic(x**2 + y**2 - p["L"] ** 2, parameters=p, name="rod")
    robot = lagrangian_system(q=ca.vertcat(x, y), v=ca.vertcat(vx, vy), p=p, T=(vx**2 + vy**2) / 2, natural=[rod])
    q, v = [2.0, 0.0], [0.0, 1.0]
    free = robot.evaluate(robot.acceleration, q=q, v=v, p={"L": 2.0})
    np.testing.assert_allclose(free, np.array([-0.5, 0.0]), atol=1e-14)
    assert robot.evaluate(robot.acceleration, q=q, v=v)[0] < -10.0


def test_foreign_symbols_in_natural_constraints_are_named() -> None:
    q, v, z = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("z")
    with pytest.raises(ModelError, match="natural constraint 'held' uses z"):
        lagrangian_system(q=q, v=v, T=v**2 / 2, natural=[holonomic(q - z, name="held")])


def test_an_expression_changed_in_place_is_evaluated_anew() -> None:
    robot = driven_robot()
    expression = ca.vertcat(robot.q[0], robot.q[1])
    np.testing.assert_array_equal(robot.evaluate(expression, q=[1.0, 2.0]), [1.0, 2.0])
    expression[0] = 5 * robot.q[0]
    np.testing.assert_array_equal(robot.evaluate(expression, q=[1.0, 2.0]), [5.0, 2.0])


def test_nominal_values_belong_to_bare_symbols() -> None:
    q, v, p = ca.SX.sym("x"), ca.SX.sym("v"), Parameters.declare({"m": 1.0})
    with pytest.raises(ModelError, match="nominal= is for bare symbols"):
        lagrangian_system(q=q, v=v, p=p, T=p["m"] * v**2, nominal={"m": 5.0})
