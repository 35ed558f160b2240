"""The force of a reference motion, against laws of mechanics and Pinocchio; and what it is linear in."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from erugin.controllers.regressor import ParameterProduct, Regressor, reference_force
from erugin.robots import Robot, lagrangian_system
from erugin.symbolic import Kernel, ModelError, ParameterError, Parameters

from ..support.arms import two_link_arm
from ..support.controller_cases.robots import robot_case
from ..support.urdf import body, joint, load_quietly, pinocchio, seven_joint_arm, without_dissipation, write

Array = NDArray[np.float64]


def symbols(robot: Robot) -> tuple[ca.SX, ca.SX]:
    n = robot.coordinates.nv
    return ca.SX.sym("v_r", n), ca.SX.sym("a_r", n)


def states(n: int, *, count: int = 3) -> list[list[Array]]:
    rng = np.random.default_rng(1987)
    return [[rng.uniform(-1.5, 1.5, n) for _ in range(4)] for _ in range(count)]


@functools.cache
def floating_arm() -> Robot:
    """An arm on a base that floats, whose velocities are not rates."""
    with tempfile.TemporaryDirectory() as folder:
        parts = (
            body("carrier"),
            joint("elbow", "revolute", "carrier", "arm", '<origin xyz="0.3 0.1 0"/>'),
            body("arm"),
        )
        return load_quietly(write(Path(folder), *parts), base="floating")


@functools.cache
def arm_in_drag(kind: str) -> Robot:
    """Two point masses with a drag that is quadratic near rest: its degree is that of inertial forces."""
    q, v, u = (ca.SX.sym(name, 2) for name in "qvu")
    first, second = v[0], ca.vertcat(0.6 * v[0], 0.5 * (v[0] + v[1]))
    T = 0.45 * first**2 + 0.9 * (ca.sumsqr(second) + 2 * second[0] * second[1] * ca.cos(q[1]))
    wind = Parameters.declare({"wind": 1.5})
    past = v - wind["wind"]
    drag = past * ca.fabs(past) if kind == "wind" else ca.if_else(v > 0, v**2, -(v**2))
    return lagrangian_system(q=q, v=v, p=wind, T=T, Q=u - 4.0 * drag, u=u)


ROBOTS: dict[str, Callable[[], Robot]] = {
    "floating arm": floating_arm,
    "arm in a wind": lambda: arm_in_drag("wind"),
    "arm in still air": lambda: arm_in_drag("still"),
}


@pytest.mark.parametrize("name", ["two-link arm", "four links, absolute angles", "crane", *ROBOTS])
def test_the_part_quadratic_in_velocities_does_half_the_work_of_the_changing_mass(name: str) -> None:
    """sᵀ C s = ½ sᵀ Ṁ s for every s, with Ṁ by central differences: what the stability of all these laws rests on."""
    robot = ROBOTS[name]() if name in ROBOTS else robot_case(name).robot
    c, (v_r, a_r) = robot.coordinates, symbols(robot)
    force = reference_force(robot, v_r, a_r)
    kernel = Kernel(
        "force",
        {"q": c.q, "v": c.v, "v_r": v_r, "a_r": a_r, "p": robot.p},
        {"force": force, "M": robot.mass_matrix, "rate": c.N @ c.v, "h": robot.bias},
        compiled=False,
    )
    p, size = robot.parameters.values(), c.nv
    largest = 0.0
    for q, v, s, a in states(max(c.nq, c.nv)):
        q, v, s, a = q[: c.nq] + 0.2, v[:size], s[:size], a[:size]
        if c.nq > c.nv:
            q[3:7] /= np.linalg.norm(q[3:7])
        here, M, rate, h = kernel(q, v, v, a, p)
        np.testing.assert_allclose(here, M @ a + h, atol=1e-11)
        work = s @ (here - kernel(q, v, v - s, a, p)[0])
        eps = 1e-6
        after, before = (kernel(q + sign * eps * rate, v, v, a, p)[1] for sign in (1.0, -1.0))
        expected = s @ ((after - before) / (2 * eps)) @ s / 2
        assert work == pytest.approx(expected, abs=1e-7 * max(1.0, float(np.abs(M).max())))
        largest = max(largest, abs(float(expected)))
    assert largest > 1e-2


def test_two_point_masses_give_the_textbook_force() -> None:
    """C of Christoffel's symbols for two links, [SlotineLi1991]_ section 9.1, written out by hand."""
    robot, (v_r, a_r) = two_link_arm(), symbols(two_link_arm())
    c = robot.coordinates
    kernel = Kernel(
        "force",
        {"q": c.q, "v": c.v, "v_r": v_r, "a_r": a_r, "p": robot.p},
        {"force": reference_force(robot, v_r, a_r)},
        compiled=False,
    )
    l1, m1, l2, m2, g = (robot.nominal[name] for name in ("l1", "m1", "l2", "m2", "g"))
    for q, v, w, a in states(2):
        b, h = m2 * l1 * l2 * np.cos(q[1]), m2 * l1 * l2 * np.sin(q[1])
        M = np.array([[(m1 + m2) * l1**2 + m2 * l2**2 + 2 * b, m2 * l2**2 + b], [m2 * l2**2 + b, m2 * l2**2]])
        C = np.array([[-h * v[1], -h * (v[0] + v[1])], [h * v[0], 0.0]])
        far = m2 * l2 * g * np.cos(q[0] + q[1])
        weight = np.array([(m1 + m2) * l1 * g * np.cos(q[0]) + far, far])
        np.testing.assert_allclose(kernel(q, v, w, a, robot.parameters.values())[0], M @ a + C @ w + weight, atol=1e-12)


@pytest.mark.foreign
def test_the_regressor_of_a_seven_joint_arm_is_that_of_pinocchio() -> None:
    """At v_r = v, where it is that of inverse dynamics; a mass moves m, m c and the inertia about the joint."""
    robot, (pin, model) = seven_joint_arm(), pinocchio()
    data: Any = model.createData()
    v_r, a_r = symbols(robot)
    names = ["panda_link4.mass", "panda_hand_tcp.mass", "panda_link2.ixx"]
    found = Regressor.of(robot, names, v_r, a_r)
    assert found.names == tuple(names)
    c = robot.coordinates
    kernel = Kernel(
        "regressor",
        {"q": c.q, "v": c.v, "v_r": v_r, "a_r": a_r, "p": robot.p},
        {"Y": found.matrix, "rest": found.rest},
        compiled=False,
    )
    p = robot.parameters.values(without_dissipation(robot))
    values = np.array([robot.nominal[name] for name in names])
    tcp: Any = pin.framesForwardKinematics(model, data, np.zeros(7))
    tcp = data.oMi[7].actInv(data.oMf[model.getFrameId("panda_hand_tcp")])
    centers = {4: np.array([robot.nominal[f"panda_link4.{x}"] for x in ("cx", "cy", "cz")]), 7: tcp.translation}
    for q, v, _, a in states(7):
        Y, rest = kernel(q, v, v, a, p)
        np.testing.assert_allclose(Y @ values + rest, pin.rnea(model, data, q, v, a), atol=1e-10)
        whole: Array = np.array(pin.computeJointTorqueRegressor(model, data, q, v, a))
        for column, (place, r) in enumerate(centers.items()):
            S = r @ r * np.eye(3) - np.outer(r, r)
            change = np.array([1.0, *r, S[0, 0], S[0, 1], S[1, 1], S[0, 2], S[1, 2], S[2, 2]])
            block = whole[:, 10 * (place - 1) : 10 * place]
            np.testing.assert_allclose(Y[:, column], block @ change, atol=1e-10)
        np.testing.assert_allclose(Y[:, 2], whole[:, 10 + 4], atol=1e-10)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("m2",), ("m2",)),
        (("I1", "m1", "g"), None),
        (("m2", "c2", "I2"), ("m2", "I2", "m2*c2", "m2*c2^2")),
    ],
)
def test_what_is_taken_apart_is_the_whole(names: tuple[str, ...], expected: tuple[str, ...] | None) -> None:
    """Y π + rest is the force at other values of the unknowns too, which Y must not depend on."""
    robot, (v_r, a_r) = two_link_arm(), symbols(two_link_arm())
    found = Regressor.of(robot, names, v_r, a_r, products=True)
    if expected is not None:
        assert found.names == expected
    values = ca.vertcat(*(ca.SX(1) * _symbolic(product, robot) for product in found.products))
    whole = reference_force(robot, v_r, a_r)
    c = robot.coordinates
    kernel = Kernel(
        "parts",
        {"q": c.q, "v": c.v, "v_r": v_r, "a_r": a_r, "p": robot.p},
        {"difference": found.matrix @ values + found.rest - whole, "force": whole},
        compiled=False,
    )
    rng = np.random.default_rng(3)
    for state in states(2):
        difference, force = kernel(*state, rng.uniform(0.5, 2.0, len(robot.parameters)))
        np.testing.assert_allclose(difference, 0.0, atol=1e-12)
        assert np.abs(force).max() > 1.0
    for name in names:
        assert not ca.depends_on(ca.vertcat(ca.vec(found.matrix), found.rest), robot.parameters[name])


def _symbolic(product: ParameterProduct, robot: Robot) -> ca.SX:
    value = ca.SX(1)
    for name, power in product.powers:
        value = value * robot.parameters[name] ** power
    return value


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["c2"], "not linear in 'c2', which enters as c2\\^2"),
        (["m2", "c2"], r"not linear in 'm2', 'c2', which enter as m2\*c2, m2\*c2\^2: .* products=True"),
        ([], "at least one"),
    ],
)
def test_what_does_not_enter_linearly_is_refused_by_name(names: list[str], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Regressor.of(two_link_arm(), names, *symbols(two_link_arm()))


@pytest.mark.parametrize("names", [["mass"], ["m2", "m2"]])
def test_names_must_exist_and_differ(names: list[str]) -> None:
    with pytest.raises(ParameterError, match=r"unknown parameter"):
        Regressor.of(two_link_arm(), names, *symbols(two_link_arm()))


def test_parameters_outside_the_dynamics_are_refused() -> None:
    x, v, u = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("u")
    p = Parameters.declare({"m": 1.0, "gear": 2.0, "none": 1.0, "stiff": 3.0})
    m, gear, _, stiff = (p.symbols[i] for i in range(4))
    robot = lagrangian_system(q=x, v=v, p=p, T=m * v**2 / 2, V=ca.exp(stiff * x), Q=gear * u, u=u)
    reference = symbols(robot)
    with pytest.raises(ModelError, match="'gear' cannot be unknown: the input matrix"):
        Regressor.of(robot, ["gear"], *reference)
    with pytest.raises(ModelError, match="do not depend on 'none'"):
        Regressor.of(robot, ["none"], *reference)
    with pytest.raises(ModelError, match="not linear in 'stiff', nor polynomial"):
        Regressor.of(robot, ["stiff"], *reference)
    with pytest.raises(ModelError, match="'m' cannot be unknown: the reference motion"):
        Regressor.of(robot, ["m"], reference[0] * m, reference[1])


def test_a_mass_that_depends_on_time_is_refused() -> None:
    x, v, t = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("t")
    robot = lagrangian_system(q=x, v=v, t=t, T=(1 + t**2) * v**2 / 2)
    with pytest.raises(ModelError, match="depends on time"):
        reference_force(robot, *symbols(robot))


NUMBERS = st.floats(-3.0, 3.0)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=2), st.integers(1, 3), st.data())
def test_bounds_of_a_product_hold_all_of_it(pairs: list[tuple[float, float]], power: int, data: st.DataObject) -> None:
    limits = {name: (min(pair), max(pair)) for name, pair in zip("ab", pairs, strict=True)}
    product = ParameterProduct((("a", power), ("b", 1)))
    low, high = product.bounds(limits)
    a, b = (data.draw(st.floats(*limits[name])) for name in "ab")
    assert low - 1e-12 <= product.value({"a": a, "b": b}) <= high + 1e-12
    corners = [product.value({"a": x, "b": y}) for x in limits["a"] for y in limits["b"]]
    assert high >= max(corners) - 1e-12
    assert low <= min(corners) + 1e-12
