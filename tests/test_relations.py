"""Ready constraints: acceleration forms beside finite differences, and what each of them says, beside geometry."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

import erugin.constraints
from erugin.constraints import (
    Constraint,
    bounded_tangential_acceleration,
    circle,
    distance,
    on_curve,
    orientation,
    path_curvature,
    rolling,
    speed,
    speed_along,
    synchronized,
    tangential_acceleration,
    tracking,
)
from erugin.controllers import Program, start_on
from erugin.robots import Robot, lagrangian_system, two_wheel_robot
from erugin.scenarios import simulate
from erugin.symbolic import ModelError, ShapeError

from .forms import TOLERANCE, compare
from .relations import RELATIONS
from .systems import BY_SYSTEM, System

Array = NDArray[np.float64]
GENERAL = {"follow", "holonomic", "nonholonomic", "second_order"}


def deviation(robot: Robot, constraint: Constraint, **state: ArrayLike) -> Array:
    """The residual at one state, from the program."""
    program = Program(robot, constraint)
    c = robot.coordinates
    f = ca.Function("f", [c.t, c.q, c.v, c.a, program.p], [program.deviation])
    given = [np.asarray(state.get(key, 0.0), dtype=np.float64) for key in ("t", "q", "v", "a")]
    return np.array(f.call([*given, program.parameters.values()])[0].full())[:, 0]


def free_point(n: int = 2, mass: float = 1.0) -> Robot:
    q, v = ca.SX.sym("x", n), ca.SX.sym("v", n)
    return lagrangian_system(q=q, v=v, T=mass * ca.sumsqr(v) / 2)


@pytest.mark.parametrize("form", RELATIONS)
@BY_SYSTEM
def test_the_acceleration_form_agrees_with_differences(system: System, form: str) -> None:
    order, make = RELATIONS[form]
    constraint = make(system.robot)
    assert constraint.order == order
    outcome = compare(system, constraint)
    assert outcome.mismatch.max() < TOLERANCE
    assert (np.abs(outcome.left).max(axis=0) > 0.05).all(), "every row must have something to compare"


def test_every_ready_constraint_is_in_the_table() -> None:
    """Found by what functions of the room return; a new one that is not compared with differences fails here."""
    made = {
        name
        for name, function in inspect.getmembers(erugin.constraints, inspect.isfunction)
        if inspect.signature(function).return_annotation == "Constraint"
    }
    used = "\n".join(inspect.getsource(make) for _, make in RELATIONS.values())
    assert made - GENERAL == {name for name in made - GENERAL if f"{name}(" in used}
    assert len(made) > 12


def test_orientation_is_twice_the_sine_of_half_the_angle_about_the_axis() -> None:
    robot = free_point(3)
    angles = robot.q
    cos, sin = [ca.cos(angles[i]) for i in range(3)], [ca.sin(angles[i]) for i in range(3)]
    about_x = ca.vertcat(ca.horzcat(1, 0, 0), ca.horzcat(0, cos[0], -sin[0]), ca.horzcat(0, sin[0], cos[0]))
    about_z = ca.vertcat(ca.horzcat(cos[1], -sin[1], 0), ca.horzcat(sin[1], cos[1], 0), ca.horzcat(0, 0, 1))
    about_y = ca.vertcat(ca.horzcat(cos[2], 0, sin[2]), ca.horzcat(0, 1, 0), ca.horzcat(-sin[2], 0, cos[2]))
    R = ca.densify(about_z @ about_x @ about_y)
    rng = np.random.default_rng(3)
    for goal in (*Rotation.random(50, random_state=4), Rotation.identity()):
        q = rng.uniform(-3.0, 3.0, 3)
        left = goal.inv() * Rotation.from_euler("ZXY", [q[1], q[0], q[2]])
        vector = left.as_rotvec()
        angle = np.linalg.norm(vector)
        expected = 2 * np.sin(angle / 2) * vector / angle
        np.testing.assert_allclose(deviation(robot, orientation(R, goal.as_matrix()), q=q), expected, atol=1e-7)


@pytest.mark.parametrize("angle", [0.0, 0.1, -2.0, 3.0, -3.1])
def test_orientation_in_the_plane(angle: float) -> None:
    robot = free_point()
    c, s = ca.cos(robot.q[0]), ca.sin(robot.q[0])
    R = ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))
    goal = [[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]]
    found = deviation(robot, orientation(R, goal), q=[0.4 + angle, 0.0])
    np.testing.assert_allclose(found, [2 * np.sin(angle / 2)], atol=1e-12)


def test_rolling_says_what_the_wheels_of_the_mobile_robot_say() -> None:
    """The right wheel as a body in space, against the robot's own natural constraints."""
    r, half = 0.05, 0.2
    robot = two_wheel_robot(
        wheel_radius=r,
        half_track=half,
        com_offset=0.05,
        platform_mass=3.0,
        platform_inertia=0.1,
        wheel_mass=0.3,
        wheel_inertia_axle=0.001,
        wheel_inertia_diameter=0.0006,
    )
    x, y, theta, right, _ = ca.vertsplit(robot.q)
    c, s = ca.cos(theta), ca.sin(theta)
    heading = ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))
    c, s = ca.cos(right), ca.sin(right)
    spin = ca.vertcat(ca.horzcat(c, 0, s), ca.horzcat(0, 1, 0), ca.horzcat(-s, 0, c))
    center = ca.vertcat(x + half * ca.sin(theta), y - half * ca.cos(theta), r)
    ground = ca.vertcat(center[:2], 0.0)
    along = ca.densify(heading[:, :2])
    wheel = rolling(ca.densify(heading @ spin), center, ground, directions=along)
    rng = np.random.default_rng(5)
    own = {k.name: k for k in robot.natural}
    slip = next(k for name, k in own.items() if "right" in name)
    side = next(k for name, k in own.items() if "side" in name)
    for _ in range(20):
        state = {"q": rng.uniform(-2, 2, 5), "v": rng.uniform(-2, 2, 5)}
        found = deviation(robot, wheel, **state)
        expected = [abs(deviation(robot, slip, **state)[0]), abs(deviation(robot, side, **state)[0])]
        np.testing.assert_allclose(np.abs(found), expected, atol=1e-12)
        assert min(expected) > 1e-3


def test_curvature_and_tangential_acceleration_of_a_known_motion() -> None:
    """An ellipse x = (a cos t, b sin t) has the curvature ab/(a² sin² t + b² cos² t)^(3/2)."""
    robot, a, b = free_point(), 2.0, 0.7
    for t in (0.1, 0.8, 2.5):
        c, s = np.cos(t), np.sin(t)
        state = {"q": [a * c, b * s], "v": [-a * s, b * c], "a": [-a * c, -b * s]}
        square = a**2 * s**2 + b**2 * c**2
        missed = deviation(robot, path_curvature(robot.q, a * b / square**1.5), **state)
        np.testing.assert_allclose(missed, 0.0, atol=1e-12)
        along = (a**2 - b**2) * s * c / np.sqrt(square)
        np.testing.assert_allclose(deviation(robot, tangential_acceleration(robot.q, along), **state), 0.0, atol=1e-12)
        assert abs(deviation(robot, path_curvature(robot.q, 0.1), **state)[0]) > 0.01


def test_what_does_not_fit_is_refused() -> None:
    robot = free_point(3)
    x = robot.q
    R = ca.SX.eye(3)
    strange: Any = [x[0], "a", 1.0]
    bad: list[tuple[Callable[[], Constraint], str]] = [
        (lambda: on_curve(circle((0.0, 0.0), 1.0), x), "2 dimensions"),
        (lambda: on_curve("circle", x), "needs a curve"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        (lambda: speed_along(circle((0.0, 0.0, 0.0), 1.0), x, 1.0), "2 functions"),
        (lambda: distance(x, x[:2], 1.0), "3 and 2 coordinates"),
        (lambda: distance(x, [0.0, 0.0, 0.0], -1.0), r"length of 'distance' must be greater than zero, got -1"),
        (lambda: orientation(R, [[1.0, 0.0], [0.0, 1.0]]), r"\(3, 3\) and \(2, 2\)"),
        (lambda: orientation(R, np.diag([1.0, 1.0, -1.0])), "determinant is -1"),
        (lambda: orientation(R, 2 * np.eye(3)), "off the identity by 3"),
        (lambda: synchronized(x, x[:2]), "3, 2, 3 rows"),
        (lambda: synchronized(x, x, ratio=0.0), "ratio"),
        (lambda: synchronized(x, x, ratio=float("nan")), "ratio of 'synchronized' must be finite"),
        (lambda: synchronized(x, x, ratio=x), "ratio of 'synchronized' must be a scalar"),
        (lambda: speed(x, -0.1), "value of 'speed' must be at least zero"),
        (lambda: bounded_tangential_acceleration(x, -0.1, 1.0), "speed of .* must be at least zero"),
        (lambda: orientation(R, np.full((3, 3), np.nan)), "must be finite"),
        (lambda: rolling(np.eye(3), x, x), "rotation must be CasADi SX"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        (lambda: rolling(R, x, x, directions=[0.0, np.nan, 1.0]), "finite matrix of shape"),
        (lambda: rolling(R, x, x, directions="x"), "numbers or expressions"),
        (lambda: tracking(x, strange), "target of 'trajectory' must be a number, got 'a'"),
        (lambda: tracking(x, None), "column of CasADi SX expressions or numbers, got None"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        (lambda: rolling(R, x[:2], x), r"\(2, 2\)"),
        (lambda: path_curvature(x, 1.0), "column of 2"),
        (lambda: tangential_acceleration(x, ca.vertcat(x)), "scalar"),
        (lambda: tangential_acceleration(x, float("nan")), "finite"),
    ]
    for make, message in bad:
        with pytest.raises(ValueError, match=message):
            make()


def test_a_column_may_be_a_number_or_a_list_of_both() -> None:
    robot = free_point(2)
    x, t = robot.q, robot.t
    assert deviation(robot, tracking(x[0], 0.5), q=[2.0, 0.0]) == pytest.approx([1.5])
    target: list[ca.SX | float] = [0.5, 3 * t]
    mixed = tracking(x, target)
    assert deviation(robot, mixed, t=0.2, q=[2.0, 1.0]) == pytest.approx([1.5, 0.4])
    geared = synchronized(x[0], x[1], ratio=1 + t, offset=0.25)
    assert deviation(robot, geared, t=1.0, q=[2.0, 0.5]) == pytest.approx([0.75])
    sideways = rolling(ca.SX.eye(2), x, x, directions=[0.6, 0.8])
    assert deviation(robot, sideways, v=[2.0, 1.0]) == pytest.approx([2.0])


def dm(value: ArrayLike) -> ArrayLike:
    """Numbers as CasADi keeps them, which type checkers do not take for an array."""
    return cast(ArrayLike, ca.DM(np.asarray(value, dtype=np.float64)))


def test_numbers_of_casadi_are_numbers_wherever_arrays_are() -> None:
    robot = free_point(3)
    place, q, v = [0.3, -0.2], np.linspace(0.1, 0.5, robot.q.numel()), np.linspace(-0.2, 0.4, robot.v.numel())
    for numbers in (dm(place), cast(ArrayLike, ca.DM(place).T), np.array(place), tuple(place)):
        rows = Program(robot, tracking(robot.q[:2], numbers))
        np.testing.assert_array_equal(robot.evaluate(rows.deviation, q=q), q[:2] - place)
    np.testing.assert_array_equal(robot.evaluate(robot.q, q=dm(q), v=cast(ArrayLike, ca.DM(v).T)), q)
    assert (
        circle(cast(Sequence[float], dm(place)), 0.5).parameters.nominal == circle((0.3, -0.2), 0.5).parameters.nominal
    )
    point = free_point()
    held = Program(point, tracking(point.q, dm([1.0, 2.0])))
    start = start_on(held, dm([0.5, 0.5]), at=[(point.q[0], dm(1.0))], velocity_guess=dm([0.0, 0.0]))
    np.testing.assert_allclose(start[0], [1.0, 2.0], atol=1e-12)
    one = simulate(point, None, dm([1.0, 2.0]), dm([0.5, 0.0]), 0.1, step=0.05)
    np.testing.assert_array_equal(one.q, simulate(point, None, [1.0, 2.0], [0.5, 0.0], 0.1, step=0.05).q)
    lanes = simulate(point, None, dm([[1.0, 2.0], [3.0, 4.0]]), dm([0.5, 0.0]), 0.1, step=0.05)
    assert lanes.q.shape == (2, 3, 2)
    with pytest.raises(ModelError, match="must be a column of CasADi SX expressions or numbers"):
        tracking(robot.q[:2], dm([[1.0, 2.0], [3.0, 4.0]]))
    with pytest.raises(ShapeError, match=r"the target of 'trajectory' must be finite"):
        tracking(robot.q[:2], dm([np.nan, 0.0]))
