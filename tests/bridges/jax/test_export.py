"""Laws and robots in JAX: same numbers, derivatives, batches, and branches free of NaN."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import casadi as ca
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from erugin.bridges.jax import JaxFunction, export
from erugin.bridges.jax.translation import guard_branches, jax_operations
from erugin.controllers import Controller, OpenLoop
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots.examples import fukao_robot, pinocchio_four_bar
from erugin.scenarios.catalogue import seven_joint_arm_on_a_sphere, two_link_arm_moving_obstacle
from erugin.symbolic import NO_PARAMETERS, BridgeError, MissingPackageError, ParameterError, ShapeError
from erugin.symbolic.codegen import Tape

from ...support.arms import two_link_arm
from ...support.controller_cases import BUILDERS
from ...support.controller_cases.robots import robot_case
from ...support.random_graphs import NUMBERS, Graph, bits, graphs, interpret

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
        for one, other, reported in zip(forward(0.3, q, v, p), reverse(0.3, q, v, p), known(0.3, q, v, p), strict=True):
            scale = max(1.0, np.abs(reported).max(initial=0.0))
            np.testing.assert_allclose(one, reported, rtol=0, atol=1e-9 * scale)
            np.testing.assert_allclose(other, reported, rtol=0, atol=1e-9 * scale)
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
        for found, reported in zip(mode(function, argnums=(0, 1))(*given), known[1:], strict=True):
            np.testing.assert_allclose(found, np.array(reported), rtol=1e-12, atol=1e-12)


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
    reported = robot.evaluate(ca.densify(hessian), q=[0.2, 0.7], v=[1.0, -2.0], u=[0.5, 0.1])
    found = jax.hessian(lambda at: function(0.0, at, jnp.array([1.0, -2.0]), jnp.array([0.5, 0.1]))[0])
    np.testing.assert_allclose(found(jnp.array([0.2, 0.7])), reported, rtol=1e-10, atol=1e-10 * np.abs(reported).max())


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


def test_bad_input_is_refused() -> None:
    robot = two_link_arm()
    law = export(OpenLoop(robot, [1.0, 2.0]))
    np.testing.assert_array_equal(law(0.0, [0.0, 0.0], [0.0, 0.0]), [1.0, 2.0])
    cases: list[tuple[type[Exception], str, tuple[Any, ...]]] = [
        (ShapeError, "expected the arguments t, q, v, p, got 2", (0.0, [0.0, 0.0])),
        (ShapeError, r"q must have shape \(2,\), got \(3,\); use jax.vmap", (0.0, np.zeros(3), np.zeros(2))),
        (ShapeError, r"q must be an array of shape \(2,\), got None", (0.0, None, np.zeros(2))),
        (ShapeError, r"p must have shape \(9,\), got \(4,\)", (0.0, np.zeros(2), np.zeros(2), np.zeros(4))),
        (ShapeError, r"t must have shape \(1,\), or be a number, got \(2,\)", (np.zeros(2), np.zeros(2), np.zeros(2))),
        (ShapeError, r"parameter 'm1' must have", (0.0, np.zeros(2), np.zeros(2), {"m1": [1.0, 2.0]})),
        (ParameterError, "unknown parameter 'm9'", (0.0, np.zeros(2), np.zeros(2), {"m9": 1.0})),
    ]
    assert len(robot.p.elements()) == 9
    for error, message, arguments in cases:
        with pytest.raises(error, match=message):
            law(*arguments)
    with pytest.raises(BridgeError, match="SampleAndHold cannot be exported to JAX: it has a memory"):
        export(SampleAndHold(OpenLoop(robot, [1.0, 2.0]), 0.01))
    with pytest.raises(BridgeError, match="only a Controller or a Robot can be exported to JAX, got str"):
        export("law")  # type: ignore[arg-type]


def test_without_jax_the_error_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'erugin\[jax\]'"):
        export(two_link_arm())


INF = math.inf


def branching(seed: int) -> ca.Function:
    """A random function of branches in branches, some of whose values several branches use."""
    rng, x = np.random.default_rng(seed), ca.SX.sym("x", 4)
    made: list[ca.SX] = []

    def build(depth: int) -> ca.SX:
        kind = int(rng.integers(0, 9)) if depth > 0 else 0
        if made and rng.random() < 0.15:
            return made[int(rng.integers(len(made)))]
        if kind == 0:
            found = x[int(rng.integers(4))] + float(rng.normal())
        elif kind <= 4:
            found = ca.if_else(build(depth - 2) < build(depth - 2), build(depth - 1), build(depth - 1))
        elif kind == 5:
            found = build(depth - 1) / build(depth - 1)
        elif kind == 6:
            found = ca.sqrt(build(depth - 1))
        elif kind == 7:
            found = build(depth - 1) * build(depth - 1)
        else:
            found = -build(depth - 1)
        made.append(found)
        return found

    return ca.Function("branching", [x], [ca.vertcat(build(7), build(7))])


@pytest.mark.parametrize("seed", range(12))
def test_numbers_stay_the_same_to_the_last_bit(seed: int) -> None:
    tape = Tape.of(branching(seed))
    made = guard_branches(tape)
    for k, (operation, a, b) in enumerate(made.entries):
        assert operation in (ca.OP_INPUT, ca.OP_CONST) or max(int(a), b) < k
    rng = np.random.default_rng(seed)
    for _ in range(20):
        inputs = [rng.choice([0.0, -0.0, 1.0, -1.5, 0.3, 7.0, 1e9, INF, math.nan], 4).tolist()]
        assert bits(interpret(made, inputs)) == bits(interpret(tape, inputs))


def test_most_of_these_have_something_to_guard() -> None:
    tapes = [Tape.of(branching(seed)) for seed in range(12)]
    assert sum(len(guard_branches(tape).entries) > len(tape.entries) for tape in tapes) >= 9


@given(graphs(2, 2, 60), st.data())
def test_numbers_of_any_function_stay_the_same(graph: Graph, data: st.DataObject) -> None:
    inputs = [data.draw(st.lists(NUMBERS, min_size=size, max_size=size)) for size in graph.sizes]
    tape = Tape.of(graph.function())
    assert bits(interpret(guard_branches(tape), inputs)) == bits(interpret(tape, inputs))


def root_or_zero(x: ca.SX) -> ca.SX:
    return ca.if_else(x > 0, ca.sqrt(x), 0)


def sinc(x: ca.SX) -> ca.SX:
    return ca.if_else(ca.fabs(x) > 1e-3, ca.sin(x) / x, 1 - x**2 / 6)


def shared(x: ca.SX) -> ca.SX:
    """One root that two branches use, the second condition written after it."""
    root = ca.sqrt(x - 1)
    return ca.if_else(x > 1, root, 0) + ca.if_else(ca.sin(x) * x > 1, x * root, x)


def nested(x: ca.SX) -> ca.SX:
    inner = ca.if_else(x > 2, ca.log(x - 2), ca.acosh(x))
    return ca.if_else(x > 1, inner, ca.if_else(x < 0, 1 / x, x))


def own_condition(x: ca.SX) -> ca.SX:
    """The condition is about the value that the branch takes."""
    root = ca.sqrt(x + 1)
    return ca.if_else(root > 1, 1 / (root - 1), root)


CASES: dict[str, tuple[Callable[[ca.SX], ca.SX], dict[float, float]]] = {
    "root": (root_or_zero, {4.0: 0.25, 0.0: 0.0, -1.0: 0.0}),
    "sinc": (sinc, {0.0: 0.0, 1.0: math.cos(1.0) - math.sin(1.0), 1e-4: -1e-4 / 3}),
    "shared": (shared, {0.5: 1.0, 1.0: 1.0, 0.0: 1.0, 5.0: 1 / 4 + 1.0}),
    "nested": (nested, {3.0: 1.0, 1.5: 1 / math.sqrt(1.25), -2.0: -0.25, 0.0: 1.0, 0.5: 1.0}),
    "own condition": (own_condition, {3.0: -0.25, -0.75: 1.0, 0.0: 0.5}),
}


def test_derivatives_are_those_of_the_branch_that_is_taken() -> None:
    import jax

    rows = [(build, at, reported) for build, expected in CASES.values() for at, reported in expected.items()]
    x, points = ca.SX.sym("x", len(rows)), np.array([at for _, at, _ in rows])
    values = ca.vertcat(*(build(x[i]) for i, (build, _, _) in enumerate(rows)))
    function = JaxFunction({"x": x}, NO_PARAMETERS, values)
    with jax.enable_x64(True):
        expected = np.array(ca.Function("values", [x], [values])(points)).ravel()
        np.testing.assert_allclose(function(points), expected, rtol=1e-14)
        for mode in (jax.jacrev, jax.jacfwd):
            slopes = np.array(mode(function)(points))
            np.testing.assert_allclose(slopes, np.diag([reported for *_, reported in rows]), rtol=1e-12, atol=1e-12)


def test_a_derivative_that_is_infinite_stays_so() -> None:
    import jax

    x = ca.SX.sym("x")
    function = JaxFunction({"x": x}, NO_PARAMETERS, ca.if_else(x >= 0, ca.sqrt(x), 0))
    with jax.enable_x64(True):
        slope = jax.grad(lambda at: function(at)[0])
        assert slope(0.0) == INF
        assert slope(-1.0) == 0.0


def test_without_guards_the_derivative_would_be_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    import jax

    x = ca.SX.sym("x")
    monkeypatch.setattr("erugin.bridges.jax.translation.guard_branches", lambda tape: tape)
    function = JaxFunction({"x": x}, NO_PARAMETERS, root_or_zero(x))
    with jax.enable_x64(True):
        assert math.isnan(jax.grad(lambda at: function(at)[0])(-1.0))
