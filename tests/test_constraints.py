"""Every constraint in the acceleration form agrees with finite differences along motions; bad ones are refused by name.

Along a smooth motion, dq/dt = N(q) v and dv/dt = a, the residual y must obey, whatever the motion:
order 0: d²y/dt² = Θ a − β + g(y, dy/dt); order 1: dy/dt = Θ a − β + h(y); order 2: y = Θ a − β.
The left sides are differences of numbers, in which no total derivative of the code occurs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import (
    Baumgarte,
    Constraint,
    Curve,
    EruginField,
    Exact,
    FirstOrder,
    Perturbation,
    circle,
    follow,
    holonomic,
    implicit,
    line,
    nonholonomic,
    second_order,
    spline,
)
from erugin.controllers import Program
from erugin.robots import Link, Robot, planar_manipulator
from erugin.symbolic import Coordinates, Kernel, ModelError, ParameterError, Parameters

Array = NDArray[np.float64]

TOLERANCE = 1e-9
MOTIONS = 12
ALPHA, BETA, RATE = 3.0, 5.0, 4.0
STEP = {0: 1e-2, 1: 1e-3, 2: 1e-3}
FIELD_STEP = 1e-4
# Central differences of eighth order on the points -4 … 4.
FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
SECOND = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
STENCIL = range(-4, 5)


# Robots --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class System:
    """A robot, its kinematics by hand, and places to start from."""

    label: str
    robot: Robot
    q_rate: Callable[[Array, Array], Array]
    """dq/dt = N(q) v, written independently of the robot."""
    starts: Callable[[np.random.Generator, int], Array]


def arm(n: int, *, absolute: bool) -> System:
    """A manipulator; every third motion starts with the arm nearly or exactly stretched."""
    robot = planar_manipulator(
        [Link(0.5 - 0.1 * i, 2.0 - 0.5 * i, 0.2, 0.03) for i in range(n)], angles="absolute" if absolute else "relative"
    )

    def start(rng: np.random.Generator, i: int) -> Array:
        q = rng.uniform(-np.pi, np.pi, n)
        if i % 3 == 0:
            bend = (0.0, 1e-9, 1e-4)[i // 3 % 3]
            q[1:] = q[0] + bend if absolute else bend
        return q

    return System(f"{n}-{'absolute' if absolute else 'relative'}", robot, lambda _, v: v, start)


def unicycle() -> System:
    """Three coordinates, two quasi-velocities: ẋ = s cos θ, ẏ = s sin θ, θ̇ = ω."""
    q = ca.vertcat(*(ca.SX.sym(name) for name in ("x", "y", "theta")))
    v = ca.vertcat(ca.SX.sym("s"), ca.SX.sym("omega"))
    N = ca.vertcat(ca.horzcat(ca.cos(q[2]), 0), ca.horzcat(ca.sin(q[2]), 0), ca.horzcat(0, 1))
    tip = ca.vertcat(q[0] + 0.3 * ca.cos(q[2]), q[1] + 0.3 * ca.sin(q[2]))

    def rate(x: Array, w: Array) -> Array:
        return np.array([w[0] * np.cos(x[2]), w[0] * np.sin(x[2]), w[1]])

    def start(rng: np.random.Generator, _: int) -> Array:
        return np.append(rng.uniform(-0.7, 0.7, 2), rng.uniform(-np.pi, np.pi))

    return System("unicycle", quasi_robot("unicycle", q, v, N, tip), rate, start)


def body() -> System:
    """A body that turns about a point: four coordinates of a quaternion, three angular velocities."""
    q, v = ca.SX.sym("e", 4), ca.SX.sym("w", 3)
    e0, e = q[0], q[1:]
    N = ca.vertcat(-e.T, e0 * ca.SX.eye(3) + ca.skew(e)) / 2
    arm_ = ca.DM([0.6, 0.3, -0.4])
    turned = arm_ + 2 * ca.cross(e, ca.cross(e, arm_) + e0 * arm_)

    def rate(x: Array, w: Array) -> Array:
        return np.append(-(x[1:] @ w), x[0] * w + np.cross(x[1:], w)) / 2

    def start(rng: np.random.Generator, _: int) -> Array:
        x = rng.normal(size=4)
        return x / np.linalg.norm(x)

    return System("body", quasi_robot("body", q, v, N, turned[:2]), rate, start)


def quasi_robot(name: str, q: ca.SX, v: ca.SX, N: ca.SX, tip: ca.SX) -> Robot:
    """A robot in quasi-velocities with one parameter and unit inertia."""
    nq, nv = q.numel(), v.numel()
    p = Parameters.declare({"m": 2.0})
    names = tuple(q[i].name() for i in range(nq))
    return Robot(
        name=name,
        coordinates=Coordinates(ca.SX.sym("t"), q, v, ca.SX.sym("a", nv), N, names, ("",) * nq),
        parameters=p,
        u=ca.SX.sym("u", 1),
        mass_matrix=p["m"] * ca.SX.eye(nv),
        bias=ca.SX.zeros(nv),
        input_matrix=ca.SX.ones(nv),
        kinetic_energy=p["m"] * ca.sumsqr(v) / 2,
        potential_energy=ca.SX(0),
        points={"tip": tip},
        input_names=("u",),
        input_units=("N",),
    )


SYSTEMS = (
    arm(2, absolute=False),
    arm(2, absolute=True),
    arm(3, absolute=False),
    arm(3, absolute=True),
    unicycle(),
    body(),
)


@dataclass(frozen=True, eq=False)
class Motion:
    """Nine samples of a smooth motion: times and, by row, q, v and a."""

    step: float
    t: Array
    q: Array
    v: Array
    a: Array


@functools.cache
def motions(system: System, step: float) -> tuple[Motion, ...]:
    """v(s) = v₀ + a₀ s + b s²/2, and q by Runge-Kutta steps of h/20, whose error is far below rounding."""
    rng = np.random.default_rng(11)
    made: list[Motion] = []
    for i in range(MOTIONS):
        start = system.starts(rng, i)
        t = float(rng.uniform(-1.0, 2.0))
        v0, a0, b = rng.uniform(-1.5, 1.5, (3, system.robot.coordinates.nv))

        def velocity(s: float, v0: Array = v0, a0: Array = a0, b: Array = b) -> Array:
            return v0 + a0 * s + b * s**2 / 2

        places = {0: start}
        for sign in (1, -1):
            q = start
            for k in range(4):
                q = travel(system.q_rate, velocity, sign * k * step, q, sign * step)
                places[sign * (k + 1)] = q
        s = step * np.array(STENCIL)
        made.append(
            Motion(
                step,
                t + s,
                np.array([places[k] for k in STENCIL]),
                np.array([velocity(x) for x in s]),
                a0 + b * s[:, None],
            )
        )
    return tuple(made)


def travel(
    rate: Callable[[Array, Array], Array], velocity: Callable[[float], Array], s: float, q: Array, step: float
) -> Array:
    """q after a step, in 20 Runge-Kutta steps."""
    h = step / 20
    for i in range(20):
        at = s + i * h
        k1 = rate(q, velocity(at))
        k2 = rate(q + h / 2 * k1, velocity(at + h / 2))
        k3 = rate(q + h / 2 * k2, velocity(at + h / 2))
        k4 = rate(q + h * k3, velocity(at + h))
        q = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return q


# Constraints ---------------------------------------------------------------------------------------------------------

K = Parameters.declare({"reach": 0.4, "rate": 1.3}, "task")
P0, P1 = Baumgarte(ALPHA, BETA), FirstOrder(RATE)


def tip_velocity(robot: Robot) -> ca.SX:
    """d(tip)/dt written out: J(q) N v."""
    return ca.jacobian(robot.points["tip"], robot.q) @ robot.coordinates.N @ robot.v


def joint(robot: Robot) -> Constraint:
    return holonomic(robot.q[0] - 0.3 * ca.sin(1.7 * robot.t), perturbation=P0)


def task(robot: Robot) -> Constraint:
    goal = ca.vertcat(0.5 + 0.1 * ca.cos(robot.t), 0.2 * ca.sin(2 * robot.t))
    return holonomic(robot.points["tip"] - goal, perturbation=P0)


def mixed(robot: Robot) -> Constraint:
    x, y = robot.points["tip"][0], robot.points["tip"][1]
    rows = ca.vertcat(robot.q[0] * y + robot.t**2, x**2 - robot.q[-1] * ca.cos(robot.t), ca.sqrt(x**2 + y**2 + 0.1))
    return holonomic(rows, perturbation=P0)


def with_parameters(robot: Robot) -> Constraint:
    return holonomic(
        robot.points["tip"][1] - K["task.reach"] * ca.cos(K["task.rate"] * robot.t), perturbation=P0, parameters=K
    )


def linear(robot: Robot) -> Constraint:
    rows = ca.vertcat(
        ca.cos(robot.q[0]) * robot.v[0] - ca.sin(robot.t) * robot.v[1] + robot.q[1], tip_velocity(robot)[0] - 0.2
    )
    return nonholonomic(rows, perturbation=P1)


def nonlinear(robot: Robot) -> Constraint:
    rows = ca.vertcat(
        robot.kinetic_energy - 1 - 0.2 * ca.sin(robot.t), ca.sqrt(ca.sumsqr(tip_velocity(robot)) + 0.1) - robot.q[0]
    )
    return nonholonomic(rows, perturbation=P1)


def with_parameters_and_velocities(robot: Robot) -> Constraint:
    return nonholonomic(
        robot.v[0] ** 3 - K["task.rate"] * robot.v[1] * robot.t, perturbation=P1, parameters=K, name="cubic"
    )


def affine(robot: Robot) -> Constraint:
    a = robot.coordinates.a
    rows = ca.vertcat(
        (robot.mass_matrix @ a)[0] + robot.bias[0], ca.sin(robot.q[0]) * a[1] + robot.v[0] ** 2 * robot.t - 1
    )
    return second_order(rows)


PATHS: dict[str, Callable[[], Curve]] = {
    "line": lambda: line((-1.0, 0.2), (1.0, 0.5), name="path"),
    "spline": lambda: spline([(-1.0, 0.0), (-0.3, 0.5), (0.3, 0.3), (1.0, 0.6)], name="path"),
    "circle": lambda: circle((0.1, -0.1), 0.6, name="path"),
    "drifting circle": lambda: circle((0.1, -0.1), 0.6, velocity=(0.1, -0.2), name="path"),
    "implicit": lambda: implicit(lambda x, t: x[1] - 0.3 * ca.sin(2 * x[0] + t), 2, length=1.0, name="path"),
}


@functools.cache
def field(path: str, discs: int) -> EruginField:
    """A field with up to three drifting discs."""
    places = [(0.6, 0.4), (-0.5, 0.6), (0.1, -0.7)]
    shapes = [circle(places[j], 0.15, velocity=(0.1 - 0.05 * j, 0.05 * j - 0.1), name=f"disc{j}") for j in range(discs)]
    return EruginField(PATHS[path](), shapes, speed=0.4, margin=0.3 if discs else None)


FORMS: dict[str, tuple[int, Callable[[Robot], Constraint]]] = {
    "joint": (0, joint),
    "task": (0, task),
    "mixed": (0, mixed),
    "with parameters": (0, with_parameters),
    "linear": (1, linear),
    "nonlinear": (1, nonlinear),
    "with parameters and velocities": (1, with_parameters_and_velocities),
    "affine": (2, affine),
}


@dataclass(frozen=True, eq=False)
class Outcome:
    """Both sides of the identity along many motions, by row."""

    left: Array
    right: Array
    scale: Array

    @property
    def mismatch(self) -> Array:
        """|left − right| against the size of the terms, one number per motion."""
        return np.asarray(np.abs(self.left - self.right).max(axis=1) / self.scale)


def compare(
    system: System,
    constraint: Constraint,
    *,
    beta: Callable[[Program], ca.SX] = lambda program: program.beta,
    step: float | None = None,
) -> Outcome:
    """Evaluate the identity of the head of this file; ``beta`` may replace the one that the code makes."""
    robot, order = system.robot, constraint.order
    c = robot.coordinates
    program = Program(robot, constraint)
    kernel = Kernel(
        "form",
        {"t": c.t, "q": c.q, "v": c.v, "a": c.a, "p": program.p},
        {"y": program.deviation, "theta": program.theta, "beta": beta(program)},
        compiled=False,
    )
    numbers = program.parameters.values()
    m, nv = program.deviation.numel(), c.nv
    lefts: list[Array] = []
    rights: list[Array] = []
    scales: list[float] = []
    for motion in motions(system, STEP[order] if step is None else step):
        samples = [kernel(*row, numbers) for row in zip(motion.t, motion.q, motion.v, motion.a, strict=True)]
        y: Array = np.array([np.atleast_1d(sample[0]) for sample in samples])
        theta, b = samples[4][1].reshape(m, nv), np.atleast_1d(samples[4][2])
        rate = FIRST @ y / motion.step
        match order:
            case 0:
                left, wanted = SECOND @ y / motion.step**2, -2 * ALPHA * rate - BETA**2 * y[4]
            case 1:
                left, wanted = rate, -RATE * y[4]
            case _:
                left, wanted = y[4], np.zeros(m)
        force = theta @ motion.a[4]
        lefts.append(left)
        rights.append(force - b + wanted)
        scales.append(max(1.0, *(float(np.abs(part).max()) for part in (left, force, b, wanted))))
    return Outcome(np.array(lefts), np.array(rights), np.array(scales))


BY_SYSTEM = pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.label)


@pytest.mark.parametrize("form", FORMS)
@BY_SYSTEM
def test_the_acceleration_form_agrees_with_differences(system: System, form: str) -> None:
    order, make = FORMS[form]
    constraint = make(system.robot)
    assert constraint.order == order
    outcome = compare(system, constraint)
    assert outcome.mismatch.max() < TOLERANCE
    assert (np.abs(outcome.left).max(axis=0) > 0.1).all(), "every row must have something to compare"


@BY_SYSTEM
def test_theta_is_the_jacobian_of_the_task(system: System) -> None:
    """Θ = J(q) N for a point, J by differences; near stretched arms its rows become dependent, and it stays right."""
    robot = system.robot
    theta = Program(robot, task(robot)).theta
    for motion in motions(system, STEP[0]):
        q, nv = motion.q[4], robot.coordinates.nv

        def along(w: Array, q: Array = q) -> Array:
            h = 1e-3
            at = [
                robot.evaluate(robot.points["tip"], q=travel(system.q_rate, lambda _: w, 0.0, q, k * h))
                for k in STENCIL
            ]
            return np.asarray(FIRST @ np.array(at) / h)

        expected = np.column_stack([along(w) for w in np.eye(nv)])
        np.testing.assert_allclose(robot.evaluate(theta, q=q), expected, atol=1e-10)


@pytest.mark.parametrize("discs", [0, 1, 2, 3])
@pytest.mark.parametrize("path", PATHS)
@BY_SYSTEM
def test_following_a_field_agrees_with_differences(system: System, path: str, discs: int) -> None:
    robot, w = system.robot, field(path, discs)
    tip = robot.points["tip"]
    constraint = follow(w, tip, perturbation=P1)
    outcome = compare(system, constraint, step=FIELD_STEP)
    # The field has kinks inside the discs, where the point must never be.
    x, t = ca.SX.sym("x", 2), ca.SX.sym("t")
    functions = Kernel("f", {"x": x, "t": t, "p": w.parameters.symbols}, {"f": w.functions(x, t)}, compiled=False)
    outside: list[bool] = []
    for motion in motions(system, FIELD_STEP):
        f = np.atleast_1d(functions(robot.evaluate(tip, q=motion.q[4]), motion.t[4], w.parameters.values())[0])
        outside.append(bool((f[1:] > 0.01).all()))
    assert sum(outside) >= MOTIONS // 2
    assert outcome.mismatch[outside].max() < TOLERANCE
    assert (np.abs(outcome.left).max(axis=0) > 0.1).all()


@BY_SYSTEM
def test_the_deviation_of_following_is_velocity_minus_field(system: System) -> None:
    """ψ = dx/dt − w, with dx/dt from differences of the place and w from the field itself."""
    robot, w = system.robot, field("spline", 2)
    program = Program(robot, follow(w, robot.points["tip"]))
    x, t = ca.SX.sym("x", 2), ca.SX.sym("t")
    velocity = Kernel("w", {"x": x, "t": t, "p": w.parameters.symbols}, {"w": w.velocity(x, t)}, compiled=False)
    c = robot.coordinates
    inputs = {"t": c.t, "q": c.q, "v": c.v, "p": program.p}
    deviation = Kernel("psi", inputs, {"psi": program.deviation}, compiled=False)
    for motion in motions(system, STEP[1]):
        places: Array = np.array([robot.evaluate(robot.points["tip"], q=q) for q in motion.q])
        field_there = velocity(places[4], motion.t[4], w.parameters.values())[0]
        expected = FIRST @ places / motion.step - field_there
        actual = deviation(motion.t[4], motion.q[4], motion.v[4], program.parameters.values())[0]
        np.testing.assert_allclose(actual, expected, atol=1e-9)
        assert np.linalg.norm(field_there) > 0.05


# The tests above can fail --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS[:4], ids=lambda system: system.label)
def test_the_jacobian_at_the_velocities_is_not_its_rate(system: System) -> None:
    """J(q̇)q̇ instead of J̇q̇ (a slip in print): the same comparison finds it on every bent motion."""
    robot = system.robot
    constraint = holonomic(robot.points["tip"] - ca.DM([0.5, 0.2]), perturbation=P0)
    J = ca.jacobian(robot.points["tip"], robot.q)

    def with_rate(program: Program, rate: ca.SX) -> ca.SX:
        alpha, beta = program.parameters["holonomic.alpha"], program.parameters["holonomic.beta"]
        return -2 * alpha * J @ robot.v - beta**2 * program.deviation - rate

    def right(program: Program) -> ca.SX:
        return with_rate(program, ca.jtimes(J @ robot.v, robot.q, robot.v))

    def slip(program: Program) -> ca.SX:
        return with_rate(program, ca.substitute(J, robot.q, robot.v) @ robot.v)

    assert compare(system, constraint, beta=right).mismatch.max() < TOLERANCE
    assert compare(system, constraint, beta=slip).mismatch.min() > 1e-3


def without_n(self: Coordinates, expression: ca.SX) -> ca.SX:
    """Forgets N: takes the first velocities for the rates of the coordinates."""
    q_rate = ca.vertcat(self.v, ca.SX.zeros(self.nq - self.nv))
    return ca.jtimes(expression, ca.vertcat(self.q, self.v, self.t), ca.vertcat(q_rate, self.a, ca.SX(1)))


def without_time(self: Coordinates, expression: ca.SX) -> ca.SX:
    """Forgets that expressions depend on time."""
    return ca.jtimes(expression, ca.vertcat(self.q, self.v), ca.vertcat(self.N @ self.v, self.a))


def with_frozen_jacobian(self: Coordinates, expression: ca.SX) -> ca.SX:
    """Forgets the terms quadratic in the velocities: takes the Jacobians for constant."""
    on_v = ca.jacobian(expression, self.v)
    if ca.depends_on(expression, self.v):
        return on_v @ self.a + ca.jacobian(expression, self.t)
    return ca.jacobian(expression, self.q) @ self.N @ self.v + ca.jacobian(expression, self.t)


@pytest.mark.parametrize("form", ["task", "linear", "nonlinear"])
@pytest.mark.parametrize("broken", [without_n, without_time, with_frozen_jacobian])
def test_a_broken_total_derivative_is_noticed(
    form: str, broken: Callable[[Coordinates, ca.SX], ca.SX], monkeypatch: pytest.MonkeyPatch
) -> None:
    for system in SYSTEMS:
        if broken is without_n and system.robot.coordinates.N.is_eye():
            continue
        constraint = FORMS[form][1](system.robot)
        with monkeypatch.context() as patch:
            patch.setattr(Coordinates, "rate", broken)
            mismatch = compare(system, constraint).mismatch
        assert mismatch.max() > 1e-2, system.label
        assert compare(system, constraint).mismatch.max() < TOLERANCE


def test_gains_of_another_perturbation_are_noticed() -> None:
    system = SYSTEMS[0]
    wrong = holonomic(system.robot.points["tip"], perturbation=Baumgarte(ALPHA, BETA + 0.1))
    assert compare(system, wrong).mismatch.max() > 1e-3


# What a program is made of -------------------------------------------------------------------------------------------

ROBOT = SYSTEMS[0].robot
TIP = ROBOT.points["tip"]
ELBOW = ROBOT.points["joint2"]


def test_parameters_are_the_robots_then_the_constraints_in_order() -> None:
    program = Program(
        ROBOT,
        [
            holonomic(ROBOT.q[0] - K["task.reach"], parameters=K, perturbation=Baumgarte(2.0, 3.0), name="hold"),
            second_order(ROBOT.coordinates.a[0]),
            nonholonomic(ROBOT.v[1] - K["task.rate"], parameters=K, perturbation=FirstOrder(7.0), name="spin"),
        ],
    )
    own = ("task.reach", "task.rate", "hold.alpha", "hold.beta", "spin.rate")
    assert program.parameters.names == ROBOT.parameters.names + own
    assert tuple(program.nominal) == program.parameters.names
    assert [program.nominal[name] for name in own] == [0.4, 1.3, 2.0, 3.0, 7.0]
    assert program.p.shape == (len(program.nominal), 1)
    assert [program.p[i].name() for i in range(program.p.numel())] == list(program.parameters.names)
    assert program.rows == ("hold", "second_order", "spin")
    with pytest.raises(ParameterError, match=r"'hold\.beta' must be greater than zero, got 0\.0"):
        program.parameters.values({"hold.beta": 0.0})


def test_gains_are_symbols_that_a_study_may_change() -> None:
    program = Program(ROBOT, holonomic(ROBOT.q[0], perturbation=Baumgarte(2.0, 3.0)))
    kernel = Kernel("beta", {"q": ROBOT.q, "v": ROBOT.v, "p": program.p}, {"beta": program.beta}, compiled=False)
    for alpha, beta in ((2.0, 3.0), (5.0, 1.0)):
        values = program.parameters.values({"holonomic.alpha": alpha, "holonomic.beta": beta})
        y, rate = 0.7, -0.4
        actual = kernel([y, 0.0], [rate, 0.0], values)[0]
        assert float(actual) == pytest.approx(-2 * alpha * rate - beta**2 * y)


def test_constraints_of_one_name_are_numbered() -> None:
    w = field("line", 1)
    program = Program(
        ROBOT,
        [
            follow(w, TIP, perturbation=FirstOrder(1.0)),
            holonomic(ROBOT.q[0]),
            follow(w, ELBOW, perturbation=FirstOrder(2.0)),
            holonomic(ROBOT.q[1]),
            follow(w, TIP + ELBOW, perturbation=FirstOrder(3.0)),
        ],
    )
    assert program.rows == (
        *("follow[0]", "follow[1]", "holonomic", "follow2[0]", "follow2[1]"),
        *("holonomic2", "follow3[0]", "follow3[1]"),
    )
    gains = {name: value for name, value in program.nominal.items() if name.endswith(".rate")}
    assert gains == {"follow.rate": 1.0, "follow2.rate": 2.0, "follow3.rate": 3.0}
    # The field is shared: its parameters stand once, where it first occurs.
    shared = len(w.parameters)
    start = len(ROBOT.parameters)
    assert program.parameters.names[start : start + shared] == w.parameters.names
    assert len(set(program.parameters.names)) == len(program.parameters.names) == start + shared + 3 + 2 * 2


def test_rows_are_stacked_in_order() -> None:
    parts = [task(ROBOT), linear(ROBOT), affine(ROBOT)]
    whole = Program(ROBOT, (part for part in parts))
    alone = [Program(ROBOT, part) for part in parts]
    assert whole.constraints == tuple(parts)
    assert whole.theta.shape == (6, 2)
    c = ROBOT.coordinates

    def numbers(program: Program) -> Array:
        columns = ca.horzcat(program.theta, program.beta, program.deviation)
        inputs = {"t": c.t, "q": c.q, "v": c.v, "a": c.a, "p": program.p}
        kernel = Kernel("stack", inputs, {"columns": columns}, compiled=False)
        return kernel(0.3, [0.4, 1.1], [0.5, -0.6], [0.7, 0.8], program.parameters.values())[0].reshape(-1, 4)

    np.testing.assert_allclose(numbers(whole), np.vstack([numbers(part) for part in alone]), atol=1e-13)


def test_defaults() -> None:
    assert holonomic(ROBOT.q[0]).perturbation == Baumgarte()
    assert nonholonomic(ROBOT.v[0]).perturbation == FirstOrder()
    assert follow(field("line", 0), TIP).perturbation == FirstOrder()
    assert second_order(ROBOT.coordinates.a[0]).perturbation == Exact()
    assert [c.name for c in (joint(ROBOT), linear(ROBOT), affine(ROBOT), follow(field("line", 0), TIP))] == [
        *("holonomic", "nonholonomic", "second_order", "follow")
    ]


def test_fields_of_one_name_are_told_apart() -> None:
    other = EruginField(line((0, 0), (1, 1), name="path"), speed=1.0)
    with pytest.raises(ParameterError, match=r"two different parameters are called 'path.start_x'.*name="):
        Program(ROBOT, [follow(field("line", 0), TIP), follow(other, ELBOW)])


# Bad input -----------------------------------------------------------------------------------------------------------

STRANGER = planar_manipulator([Link(0.5, 2.0, 0.2, 0.03), Link(0.4, 1.5, 0.2, 0.03)])
LOOSE = ca.SX.sym("loose")
A = ROBOT.coordinates.a
IN_SPACE = EruginField(line((0, 0, 0), (1, 0, 0)), speed=1.0)

BAD: tuple[tuple[str, Callable[[], object], str], ...] = (
    (
        "holonomic with velocities",
        lambda: holonomic(ROBOT.q[0] + ROBOT.v[0], name="N"),
        r"constraint 'N' has order 0 but depends on velocities; use nonholonomic",
    ),
    (
        "holonomic with accelerations",
        lambda: holonomic(ROBOT.q[0] + A[0], name="N"),
        r"constraint 'N' has order 0 but depends on accelerations; use second_order",
    ),
    (
        "nonholonomic without velocities",
        lambda: nonholonomic(ROBOT.q[0] - ROBOT.t, name="N"),
        r"constraint 'N' has order 1 but does not depend on velocities; use holonomic",
    ),
    (
        "nonholonomic with accelerations",
        lambda: nonholonomic(ROBOT.v[0] + A[0], name="N"),
        r"constraint 'N' has order 1 but depends on accelerations; use second_order",
    ),
    (
        "second order with velocities only",
        lambda: second_order(ROBOT.v[0], name="N"),
        r"constraint 'N' has order 2 but does not depend on accelerations; use nonholonomic",
    ),
    (
        "second order with coordinates only",
        lambda: second_order(ROBOT.q[0], name="N"),
        r"constraint 'N' has order 2 but does not depend on accelerations; use holonomic",
    ),
    (
        "not affine in the accelerations",
        lambda: second_order(A[0] ** 2 + A[1], name="N"),
        r"constraint 'N'.*not affine in the accelerations",
    ),
    (
        "a product of accelerations",
        lambda: second_order(ca.vertcat(A[0], A[0] * A[1]), name="N"),
        r"constraint 'N'.*not affine in the accelerations",
    ),
    (
        "another robot's coordinates",
        lambda: holonomic(STRANGER.q[0] - ROBOT.q[0], name="N"),
        r"constraint 'N' uses q1, which .*does not have.*another robot",
    ),
    (
        "another robot's velocities only",
        lambda: nonholonomic(STRANGER.v[1], name="N"),
        r"constraint 'N' uses v2",
    ),
    (
        "another robot's point",
        lambda: follow(field("line", 0), STRANGER.points["tip"], name="N"),
        r"constraint 'N' uses .*q1",
    ),
    (
        "an undeclared parameter",
        lambda: holonomic(ROBOT.q[0] - LOOSE, name="N"),
        r"constraint 'N' uses loose.*parameters must be declared with parameters=",
    ),
    (
        "a matrix",
        lambda: holonomic(ca.horzcat(TIP, ELBOW), name="N"),
        r"constraint 'N' must be a column of expressions, got shape \(2, 2\)",
    ),
    ("a row", lambda: holonomic(TIP.T, name="N"), r"constraint 'N' must be a column of expressions, got.*\(1, 2\)"),
    ("no rows", lambda: holonomic(ca.SX(0, 1), name="N"), r"constraint 'N' must be a column.*got shape \(0, 1\)"),
    (
        "following in another dimension",
        lambda: follow(IN_SPACE, TIP, name="N"),
        r"constraint 'N': the field lives in 3 dimensions, so the point must be a column of 3",
    ),
    (
        "following a fixed point",
        lambda: follow(field("line", 0), ca.SX(ca.DM([0.0, 1.0])), name="N"),
        r"constraint 'N\[0\]' has order 1 but does not depend on velocities; nothing in it moves",
    ),
    (
        "following a velocity",
        lambda: follow(field("line", 0), TIP + ROBOT.v, name="N"),
        r"constraint 'N\[0\]' has order 1 but depends on accelerations",
    ),
    (
        "a perturbation of order 1 for order 0",
        lambda: holonomic(ROBOT.q[0], perturbation=FirstOrder(3.5), name="N"),
        r"constraint 'N' has order 0, but FirstOrder\(rate=3\.5\) is an equation for order 1",
    ),
    (
        "a perturbation of order 0 for order 1",
        lambda: nonholonomic(ROBOT.v[0], perturbation=Baumgarte(2.5), name="N"),
        r"constraint 'N' has order 1, but Baumgarte\(alpha=2\.5, beta=None\) is an equation for order 0",
    ),
    (
        "a perturbation of order 2 for following",
        lambda: follow(field("line", 0), TIP, perturbation=Exact(), name="N"),
        r"constraint 'N' has order 1, but Exact\(\) is an equation for order 2",
    ),
    ("a negative gain", lambda: holonomic(ROBOT.q[0], perturbation=Baumgarte(-1.5)), r"alpha=-1\.5.*1\.5"),
    ("a zero gain", lambda: nonholonomic(ROBOT.v[0], perturbation=FirstOrder(0.0)), r"rate=0\.0.*\[-?0\."),
    ("a gain that is no number", lambda: holonomic(ROBOT.q[0], perturbation=Baumgarte(math.nan)), r"alpha.*got nan"),
    (
        "an input of the robot",
        lambda: holonomic(ROBOT.q[0] - ROBOT.u[0], name="N"),
        r"constraint 'N' depends on the inputs",
    ),
    ("no constraints", lambda: Program(ROBOT, []), r"at least one constraint, got none"),
    (
        "an expression for a constraint",
        lambda: Program(ROBOT, [joint(ROBOT), cast(Constraint, 3.25)]),
        r"made of constraints, got 3\.25",
    ),
    ("a constant", lambda: holonomic(ca.SX(5), name="N"), r"'N'"),
    ("only time", lambda: holonomic(ROBOT.t - 1, name="N"), r"'N'"),
    ("one row without coordinates", lambda: holonomic(ca.vertcat(ROBOT.q[0], ROBOT.t), name="N"), r"'N\[1\]'"),
    ("one row of a lower order", lambda: nonholonomic(ca.vertcat(ROBOT.v[0], ROBOT.q[1]), name="N"), r"'N\[1\]'"),
    ("one row without accelerations", lambda: second_order(ca.vertcat(A[0], ROBOT.v[1]), name="N"), r"'N\[1\]'"),
    ("a number", lambda: holonomic(cast(ca.SX, 5.0), name="N"), r"'N'.*5\.0"),
    ("words", lambda: holonomic(cast(ca.SX, "q1"), name="N"), r"'N'.*q1"),
    (
        "a gain for a perturbation",
        lambda: holonomic(ROBOT.q[0], perturbation=cast(Perturbation, 3.25), name="N"),
        r"'N'.*3\.25",
    ),
    ("a number of constraints", lambda: Program(ROBOT, cast(Constraint, 3.25)), r"3\.25"),
    ("following in another dimension, by name", lambda: follow(IN_SPACE, TIP, name="N"), r"'N'"),
)


@pytest.mark.parametrize(
    ("make", "message"),
    [pytest.param(make, message, id=label) for label, make, message in BAD],
)
def test_bad_input_is_refused_by_name(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        # A constraint meets the symbols of a robot, and with them most of its errors, in a program.
        Program(ROBOT, cast(Constraint, make()))


@pytest.mark.parametrize("names", [("a", "a", "a2"), ("a2", "a", "a")])
def test_a_number_never_repeats_a_given_name(names: Sequence[str]) -> None:
    program = Program(ROBOT, [second_order(A[i % 2], name=name) for i, name in enumerate(names)])
    assert len(set(program.rows)) == 3
