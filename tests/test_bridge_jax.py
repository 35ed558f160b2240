"""Laws and robots in JAX: the same numbers, with derivatives, in batches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import casadi as ca
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges.jax import JaxFunction, export
from erugin.bridges.jax.translation import jax_operations
from erugin.controllers import Controller, OpenLoop
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots.examples import fukao_robot, pinocchio_four_bar
from erugin.scenarios.catalogue import seven_joint_arm_on_a_sphere, two_link_arm_moving_obstacle
from erugin.symbolic import NO_PARAMETERS, BridgeError, MissingPackageError, ParameterError, ShapeError

from .arms import two_link_arm
from .controller_cases import BUILDERS
from .controller_cases.robots import robot_case

Array = NDArray[np.float64]


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    """For one test only: it is no one else's setting."""
    with jax.enable_x64(True):
        yield


def law_of(name: str) -> tuple[Controller, Array, Array]:
    """A law, and where it is looked at."""
    if name in ("field", "sphere"):
        setup = {"field": two_link_arm_moving_obstacle, "sphere": seven_joint_arm_on_a_sphere}[name]()
        assert setup.controller is not None
        return setup.controller, np.asarray(setup.q0, dtype=float), np.asarray(setup.v0, dtype=float)
    robot, cls = {
        "computed torque": ("two-link arm", "ComputedTorque"),
        "four-bar": ("four-bar linkage", "ProgramController"),
        "wheels": ("two-wheel robot", "Kanayama"),
    }[name]
    case = robot_case(robot)
    return next(build(case) for kind, build in BUILDERS.items() if kind.__name__ == cls), case.q0, case.v0


def jacobians(controller: Controller) -> Callable[..., list[Array]]:
    """Of the law, by CasADi: with respect to q, v and p."""
    law, c, p = controller.law, controller.robot.coordinates, controller.parameters.symbols
    assert law is not None
    parts = [ca.densify(ca.jacobian(law.output, symbol)) for symbol in (c.q, c.v, p)]
    function = ca.Function("jacobians", [c.t, c.q, c.v, p], parts)
    return lambda *state: [np.array(part) for part in function(*state)]


@pytest.mark.parametrize(
    "name",
    [
        "computed torque",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("four-bar", "wheels", "field", "sphere")),
    ],
)
def test_a_law_and_its_derivatives_are_ours(name: str) -> None:
    controller, q0, v0 = law_of(name)
    law, rng, p = export(controller), np.random.default_rng(5), controller.parameters.values()
    qs, vs = (start + 0.05 * rng.normal(size=(8, len(start))) for start in (q0, v0))
    expected = np.array([controller.control(0.3, q, v) for q, v in zip(qs, vs, strict=True)])
    largest = np.abs(expected).max()
    assert largest > 0.1
    np.testing.assert_allclose(law(0.3, qs[0], vs[0]), expected[0], rtol=0, atol=1e-12 * largest)
    batched = jax.jit(jax.vmap(law, in_axes=(None, 0, 0, None)))(0.3, qs, vs, p)
    np.testing.assert_allclose(batched, expected, rtol=0, atol=1e-12 * largest)
    forward = jax.jit(jax.jacfwd(law, argnums=(1, 2, 3)))
    reverse = jax.jit(jax.jacrev(law, argnums=(1, 2, 3)))
    known = jacobians(controller)
    for q, v in list(zip(qs, vs, strict=True))[:3]:
        for one, other, told in zip(forward(0.3, q, v, p), reverse(0.3, q, v, p), known(0.3, q, v, p), strict=True):
            scale = max(1.0, np.abs(told).max(initial=0.0))
            np.testing.assert_allclose(one, told, rtol=0, atol=1e-9 * scale)
            np.testing.assert_allclose(other, told, rtol=0, atol=1e-9 * scale)
        along, h = rng.normal(size=q.shape), 1e-4
        at = [np.asarray(law(0.3, q + i * h * along, v)) for i in (-2, -1, 1, 2)]
        slope = (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)
        np.testing.assert_allclose(forward(0.3, q, v, p)[0] @ along, slope, rtol=0, atol=1e-7 * max(1.0, largest))


@pytest.mark.slow
def test_every_operation_is_translated_with_its_derivative() -> None:
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y", 3)
    codes = sorted(jax_operations())
    built: list[ca.SX] = []
    for code in codes:
        for i in range(3):
            first = x[i] + 1 if code == ca.OP_ACOSH else x[i]
            built.append(ca.SX.unary(code, first) if _is_unary(code) else ca.SX.binary(code, first, y[i]))
    values = ca.vertcat(*built)
    function = JaxFunction({"x": x, "y": y}, NO_PARAMETERS, values)
    given = np.array([0.37, 0.81, 0.14]), np.array([2.0, 0.23, 1.7])
    parts = [values, ca.jacobian(values, x), ca.jacobian(values, y)]
    known = ca.Function("known", [x, y], [ca.densify(part) for part in parts]).call([*given])
    np.testing.assert_allclose(function(*given), np.array(known[0]).ravel(), rtol=1e-14, atol=1e-15)
    for mode in (jax.jacfwd, jax.jacrev):
        for found, told in zip(mode(function, argnums=(0, 1))(*given), known[1:], strict=True):
            np.testing.assert_allclose(found, np.array(told), rtol=1e-12, atol=1e-12)


def _is_unary(code: int) -> bool:
    x = ca.SX.sym("x")
    function = ca.Function("f", [x], [ca.SX.unary(code, x)])
    return any(
        function.instruction_id(k) == code and len(function.instruction_input(k)) == 1
        for k in range(function.n_instructions())
    )


@pytest.mark.slow
def test_accelerations_are_ours_and_may_be_differentiated_twice() -> None:
    for robot in (two_link_arm(), fukao_robot(), pinocchio_four_bar()):
        c, rng = robot.coordinates, np.random.default_rng(3)
        function = export(robot)
        q, v, u = (0.3 * rng.normal(size=n) for n in (c.nq, c.nv, robot.u.numel()))
        expected = robot.evaluate(robot.acceleration, q=q, v=v, u=u)
        np.testing.assert_allclose(function(0.0, q, v, u), expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    robot = two_link_arm()
    function = export(robot)
    hessian, _ = ca.hessian(robot.acceleration[0], robot.q)
    told = robot.evaluate(ca.densify(hessian), q=[0.2, 0.7], v=[1.0, -2.0], u=[0.5, 0.1])
    found = jax.hessian(lambda at: function(0.0, at, jnp.array([1.0, -2.0]), jnp.array([0.5, 0.1]))[0])
    np.testing.assert_allclose(found(jnp.array([0.2, 0.7])), told, rtol=1e-10, atol=1e-10 * np.abs(told).max())


def test_parameters_go_by_name_or_as_a_vector() -> None:
    controller, q, v = law_of("computed torque")
    law = export(controller)
    assert law.p == controller.parameters.nominal
    changed = {**law.p, "m2": 3.0}
    expected = controller.control(0.1, q, v, {"m2": 3.0})
    vector = controller.parameters.values({"m2": 3.0})
    for p in ({"m2": 3.0}, {"m2": jnp.array(3.0)}, vector):
        np.testing.assert_allclose(law(0.1, q, v, p), expected, rtol=1e-12, atol=1e-12)
    slopes = jax.grad(lambda p: law(0.1, q, v, p)[0])(changed)
    assert set(slopes) == set(law.p)
    h = 1e-5
    up, down = (controller.control(0.1, q, v, {"m2": 3.0 + e})[0] for e in (h, -h))
    assert float(slopes["m2"]) == pytest.approx((up - down) / (2 * h), rel=1e-8)


@pytest.mark.slow
def test_rows_that_depend_on_each_other_give_nan_and_not_a_number() -> None:
    controller, q, v = law_of("field")
    law = export(controller)
    stretched = np.array([0.3, 0.0])
    assert np.isnan(law(0.0, stretched, v)).all()
    assert np.isfinite(law(0.0, q, v)).all()


def test_single_precision_is_refused() -> None:
    law = export(law_of("computed torque")[0])
    with jax.enable_x64(False), pytest.raises(BridgeError, match=r"call jax\.config\.update"):
        law(0.0, [0.1, 0.2], [0.0, 0.0])


def test_bad_input_is_told() -> None:
    robot = two_link_arm()
    law = export(OpenLoop(robot, [1.0, 2.0]))
    np.testing.assert_array_equal(law(0.0, [0.0, 0.0], [0.0, 0.0]), [1.0, 2.0])
    cases: list[tuple[type[Exception], str, tuple[Any, ...]]] = [
        (ShapeError, "expected the arguments t, q, v, p, got 2", (0.0, [0.0, 0.0])),
        (ShapeError, r"q must have shape \(2,\), got \(3,\); batches go through", (0.0, np.zeros(3), np.zeros(2))),
        (ShapeError, r"q must be an array of shape \(2,\), got None", (0.0, None, np.zeros(2))),
        (ShapeError, r"p must have shape \(9,\), got \(4,\)", (0.0, np.zeros(2), np.zeros(2), np.zeros(4))),
        (ShapeError, r"t must have shape \(1,\), or be a number, got \(2,\)", (np.zeros(2), np.zeros(2), np.zeros(2))),
        (ShapeError, r"parameter 'm1' must have", (0.0, np.zeros(2), np.zeros(2), {"m1": [1.0, 2.0]})),
        (ParameterError, "unknown parameter 'm9'", (0.0, np.zeros(2), np.zeros(2), {"m9": 1.0})),
    ]
    assert len(robot.p.elements()) == 9
    for error, said, arguments in cases:
        with pytest.raises(error, match=said):
            law(*arguments)
    with pytest.raises(BridgeError, match="SampleAndHold has no symbolic law"):
        export(SampleAndHold(OpenLoop(robot, [1.0, 2.0]), 0.01))
    with pytest.raises(BridgeError, match="JAX takes a Controller or a Robot from here, got str"):
        export("law")  # type: ignore[arg-type]


def test_without_jax_the_command_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'erugin\[jax\]'"):
        export(two_link_arm())
