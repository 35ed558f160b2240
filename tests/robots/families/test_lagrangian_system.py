"""Lagrange's equations by automatic differentiation against SymPy, hand-made cases and laws of mechanics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from numpy.typing import NDArray
from sympy.physics.mechanics import LagrangesMethod, Point, ReferenceFrame, dynamicsymbols

from erugin.constraints import holonomic, nonholonomic
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import ModelError, ParameterError, Parameters, ShapeError

from ...support.random_lagrangians import Recipe

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
    with pytest.raises(ModelError, match="v must be a column of symbols of the same length as q"):
        lagrangian_system(q=q, v=2 * v, T=v**2)
    with pytest.raises(ModelError, match="mass_matrix uses k, which system does not have"):
        lagrangian_system(q=q, v=v, T=ca.SX.sym("k") * v**2)
    with pytest.raises(ModelError, match="v must be a column"):
        lagrangian_system(q=q, v=ca.SX.sym("v", 2), T=v**2)


def test_evaluate_requires_the_arguments_of_the_expression() -> None:
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


def test_an_expression_changed_in_place_is_evaluated_again() -> None:
    robot = driven_robot()
    expression = ca.vertcat(robot.q[0], robot.q[1])
    np.testing.assert_array_equal(robot.evaluate(expression, q=[1.0, 2.0]), [1.0, 2.0])
    expression[0] = 5 * robot.q[0]
    np.testing.assert_array_equal(robot.evaluate(expression, q=[1.0, 2.0]), [5.0, 2.0])


def test_nominal_values_belong_to_bare_symbols() -> None:
    q, v, p = ca.SX.sym("x"), ca.SX.sym("v"), Parameters.declare({"m": 1.0})
    with pytest.raises(ModelError, match="nominal= requires p= of bare symbols"):
        lagrangian_system(q=q, v=v, p=p, T=p["m"] * v**2, nominal={"m": 5.0})


STATES = 10
CASES = [
    *((2, seed, *kind) for seed in (0, 1, 2) for kind in ((False, False), (True, False), (False, True))),
    *((3, 0, both, both) for both in (False, True)),
    # SymPy needs seconds for each of these.
    *(pytest.param(4, 1, both, both, marks=pytest.mark.slow) for both in (False, True)),
]


def robot(recipe: Recipe, *, held: bool, rolling: bool) -> Robot:
    n = recipe.n
    t, u = ca.SX.sym("t"), ca.SX.sym("u", 2)
    q, v = ca.vertcat(*(ca.SX.sym(f"q{i}") for i in range(n))), ca.vertcat(*(ca.SX.sym(f"v{i}") for i in range(n)))
    qs, vs, us = ca.vertsplit(q), ca.vertsplit(v), ca.vertsplit(u)
    natural = [holonomic(recipe.held(ca, qs, t), name="held")] * held
    natural += [nonholonomic(recipe.rolling(ca, qs, vs, t), name="rolling")] * rolling
    return lagrangian_system(
        q=q,
        v=v,
        t=t,
        u=u,
        T=recipe.quadratic(ca, qs, vs, t) + recipe.linear(ca, qs, vs, t),
        V=-recipe.rest(ca, qs, t),
        D=recipe.dissipation(ca, qs, vs),
        Q=ca.vertcat(*recipe.forces(ca, qs, vs, us, t)),
        natural=natural,
    )


@dataclass(frozen=True, eq=False)
class Truth:
    """SymPy's equations as functions of numbers: M̂ (q̇, q̈, λ) = f̂, and the constraints' rates."""

    matrix: Any
    right: Any
    rates: Any
    place: Any

    @classmethod
    def of(cls, recipe: Recipe, *, held: bool, rolling: bool) -> Truth:
        n = recipe.n
        t: Any = vars(dynamicsymbols)["_t"]
        q: list[Any] = list(dynamicsymbols(f"q:{n}"))
        v: list[Any] = [x.diff(t) for x in q]
        u: list[Any] = list(sp.symbols("u:2"))
        frame: Any = ReferenceFrame("N")
        dissipated = [-recipe.dissipation(sp, q, v).diff(rate) for rate in v]
        loads: list[Any] = []
        for rate, force, resisting in zip(v, recipe.forces(sp, q, v, u, t), dissipated, strict=True):
            # A point that moves at the rate of one coordinate: a force on it is that coordinate's generalized force.
            point: Any = Point("P")
            point.set_vel(frame, rate * frame.x)
            loads.append((point, (force + resisting) * frame.x))
        L = recipe.quadratic(sp, q, v, t) + recipe.linear(sp, q, v, t) + recipe.rest(sp, q, t)
        method: Any = LagrangesMethod(
            L,
            q,
            forcelist=loads,
            frame=frame,
            hol_coneqs=[recipe.held(sp, q, t)] if held else None,
            nonhol_coneqs=[recipe.rolling(sp, q, v, t)] if rolling else None,
        )
        method.form_lagranges_equations()
        plain: Any = sp.symbols(f"x:{n} w:{n}")
        old = [*v, *q]
        new = [*plain[n:], *plain[:n]]

        def function(expression: Any) -> Any:  # noqa: ANN401
            free = sp.Matrix(expression).subs(list(zip(old, new, strict=True)))
            return sp.lambdify([t, list(plain[:n]), list(plain[n:]), u], free, cse=True)

        rates = method.coneqs if held or rolling else sp.zeros(0, 1)
        place = recipe.held(sp, q, t) if held else sp.Integer(0)
        return cls(
            function(method.mass_matrix_full),
            function(method.forcing_full),
            function(rates),
            function(sp.Matrix([place])),
        )


def consistent(truth: Truth, t: float, q: Array, v: Array) -> tuple[Array, Array]:
    """The state moved onto the constraints: q along its last coordinate, v by least squares."""
    u, n = np.zeros(2), len(q)
    q = np.array(q)
    q[-1] -= float(truth.place(t, q, v, u)[0, 0])
    offset = truth.rates(t, q, np.zeros(n), u)[:, 0]
    slopes = np.column_stack([truth.rates(t, q, unit, u)[:, 0] - offset for unit in np.eye(n)])
    return q, v - np.linalg.pinv(slopes) @ (slopes @ v + offset)


@pytest.mark.sampled
@pytest.mark.parametrize(("n", "seed", "held", "rolling"), CASES)
def test_random_systems_agree_with_sympy(n: int, seed: int, held: bool, rolling: bool) -> None:
    recipe = Recipe.random(n, seed)
    one, truth = robot(recipe, held=held, rolling=rolling), Truth.of(recipe, held=held, rolling=rolling)
    rng, largest = np.random.default_rng(seed), 0.0
    for _ in range(STATES):
        t, u = float(rng.uniform(0.0, 2.0)), rng.uniform(-1.0, 1.0, 2)
        q, v = rng.uniform(-1.0, 1.0, (2, n))
        if held or rolling:
            q, v = consistent(truth, t, q, v)
        solved = np.linalg.solve(truth.matrix(t, q, v, u), truth.right(t, q, v, u)[:, 0])
        a, mu = solved[n : 2 * n], solved[2 * n :]
        scale = max(1.0, float(np.abs(solved).max()))
        where = {"q": q, "v": v, "u": u}
        np.testing.assert_allclose(one.evaluate(one.acceleration, t=t, **where), a, rtol=0, atol=1e-11 * scale)
        if held or rolling:
            found = np.atleast_1d(one.evaluate(one.reactions, t=t, **where))
            np.testing.assert_allclose(found, mu, rtol=0, atol=1e-11 * scale)
        largest = max(largest, float(np.abs(a).max()))
    assert largest > 0.1


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("where", ["T", "V", "D", "Q"])
def test_nan_is_refused(where: str, number: float) -> None:
    q, v = ca.SX.sym("q"), ca.SX.sym("v")
    given = {"T": v**2 / 2, "V": q**2, "D": v**2, "Q": q}
    given[where] = given[where] * number
    with pytest.raises(ModelError, match=f"jammed: {where} contains {number}"):
        lagrangian_system(q=q, v=v, name="jammed", T=given["T"], V=given["V"], D=given["D"], Q=given["Q"])


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
