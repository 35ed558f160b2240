"""Ready constraints: acceleration forms against finite differences, geometry, and motions in closed form."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation
from scipy.special import ellipe

import erugin.constraints
from erugin.constraints import (
    Baumgarte,
    Constraint,
    bounded_tangential_acceleration,
    circle,
    distance,
    energy_level,
    nonholonomic,
    on_curve,
    orientation,
    parametric,
    path_curvature,
    rolling,
    speed,
    speed_along,
    synchronized,
    tangential_acceleration,
    tracking,
)
from erugin.controllers import Program, ProgramController, start_on
from erugin.robots import Link, Robot, combine, lagrangian_system, planar_manipulator, two_wheel_robot, with_inputs
from erugin.scenarios import simulate
from erugin.simulation import Trajectory
from erugin.symbolic import ModelError, NotConvergedError, ShapeError

from ...support.constraint_forms import TOLERANCE, compare
from ...support.relations import RELATIONS
from ...support.systems import BY_SYSTEM, System

Array = NDArray[np.float64]


def point(n: int = 2, mass: float = 2.0) -> Robot:
    x, v = ca.SX.sym("x", n), ca.SX.sym("v", n)
    return lagrangian_system(q=x, v=v, T=mass * ca.sumsqr(v) / 2)


def pendulum(mass: float, length: float = 1.0) -> Robot:
    phi, omega = ca.SX.sym("phi"), ca.SX.sym("omega")
    return lagrangian_system(
        q=phi,
        v=omega,
        T=mass * length**2 * omega**2 / 2,
        V=-mass * 9.81 * length * ca.cos(phi),
        u=ca.SX.sym("torque"),
        Q=0,
    )


def run(
    robot: Robot, constraints: list[Constraint], q: list[float], v: list[float], T: float, h: float = 1e-3
) -> Trajectory:
    return simulate(robot, ProgramController(Program(robot, constraints)), q, v, T, step=h)


def test_constant_curvature_and_speed_make_a_circle() -> None:
    """κ = 2 1/m to the left at 0.7 m/s: the circle about (0, ½) from the origin along x."""
    robot = point()
    motion = run(robot, [path_curvature(robot.q, 2.0), speed(robot.q, 0.7)], [0.0, 0.0], [0.7, 0.0], 5.0)
    angle = 0.7 * 2.0 * motion.t
    np.testing.assert_allclose(motion.q, np.column_stack([np.sin(angle), 1 - np.cos(angle)]) / 2, atol=1e-9)


def test_curvature_that_grows_with_the_arc_makes_a_clothoid() -> None:
    """Euler's spiral: κ = c s, beside Fresnel's integrals by Gauss's quadrature."""
    robot, c = point(), 1.5
    motion = run(robot, [path_curvature(robot.q, c * robot.t), speed(robot.q, 1.0)], [0.0, 0.0], [1.0, 0.0], 2.0)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    s = (nodes + 1) * 2.0 / 2
    end = [weights @ np.cos(c * s**2 / 2), weights @ np.sin(c * s**2 / 2)]
    np.testing.assert_allclose(motion.q[-1], end, atol=1e-9)


def test_a_bounded_tangential_acceleration_reaches_its_speed_as_documented() -> None:
    """sinh(k (s − |ẋ|)/w) falls exactly as exp(−k t), and the acceleration never exceeds the bound."""
    robot, goal, w, k = point(), 2.0, 0.6, 4.0
    program = [bounded_tangential_acceleration(robot.q, goal, w, rate=k), path_curvature(robot.q, 0.3)]
    motion = run(robot, program, [0.0, 0.0], [0.5, 0.0], 4.0)
    left = np.linalg.norm(motion.v, axis=1)
    np.testing.assert_allclose(
        np.sinh(k * (goal - left) / w), np.sinh(k * (goal - 0.5) / w) * np.exp(-k * motion.t), rtol=1e-6, atol=1e-6
    )
    slope = np.diff(left) / np.diff(motion.t)
    assert slope.max() <= w
    assert slope.max() > 0.99 * w


def test_an_ellipse_is_followed_at_constant_speed() -> None:
    """The arc length of an ellipse by E(m): after it, the point is back at its start."""
    a, b, pace = 1.0, 0.6, 0.5
    path = parametric(lambda s, t: ca.vertcat(a * ca.cos(s), b * ca.sin(s)), 0.0, 2 * np.pi)
    robot = point()
    around = 4 * a * float(ellipe(1 - (b / a) ** 2))
    motion = run(
        robot, [on_curve(path, robot.q), speed_along(path, robot.q, pace)], [a, 0.0], [0.0, pace], around / pace
    )
    np.testing.assert_allclose(motion.q[-1], [a, 0.0], atol=1e-9)
    np.testing.assert_allclose((motion.q[:, 0] / a) ** 2 + (motion.q[:, 1] / b) ** 2, 1.0, atol=1e-10)


def test_a_rod_without_mass_makes_a_pendulum() -> None:
    """A point held at a distance under gravity against the same pendulum in its angle."""
    x, v = ca.SX.sym("x", 2), ca.SX.sym("v", 2)
    mass = lagrangian_system(q=x, v=v, T=ca.sumsqr(v), V=2 * 9.81 * x[1])
    held = run(mass, [distance(x, [0.0, 0.0], 1.0)], [np.sin(1.0), -np.cos(1.0)], [0.0, 0.0], 2.0)
    free = simulate(pendulum(2.0), None, [1.0], [0.0], 2.0, step=1e-3)
    np.testing.assert_allclose(held.q, np.column_stack([np.sin(free.q), -np.cos(free.q)]), atol=1e-8)


def test_a_pendulum_is_swung_up_to_an_energy_level_and_let_go() -> None:
    """y′ falls as exp(−k t), the pendulum ends on its separatrix, where no force is left."""
    robot = pendulum(1.5)
    level = 1.5 * 9.81
    program = Program(robot, energy_level(robot.kinetic_energy + robot.potential_energy, level * 1.05))
    controller = ProgramController(program)
    motion = simulate(robot, controller, [0.3], [1.0], 3.0, step=1e-4)
    start = motion.deviation[0, 0]
    np.testing.assert_allclose(motion.deviation[:, 0], start * np.exp(-10 * motion.t), atol=1e-7 * abs(start))
    np.testing.assert_allclose(motion.energy[-1], 1.05 * level, rtol=1e-9)
    assert abs(motion.u[-1, 0]) < 1e-6 < abs(motion.u[0, 0])


def test_two_pendula_move_as_one() -> None:
    """Synchronised, two pendula of different mass and length share the motion of one with (Σ m g l)/(Σ m l²)."""
    left, right = pendulum(1.0, 0.5), pendulum(3.0, 0.8)
    both = combine({"left": left, "right": right})
    assert both.coordinates.names == ("left.phi", "right.phi")
    motion = run(both, [synchronized(left.q, right.q)], [0.7, 0.7], [0.0, 0.0], 3.0)
    np.testing.assert_allclose(motion.q[:, 0], motion.q[:, 1], atol=1e-12)
    weight, inertia = 9.81 * (1.0 * 0.5 + 3.0 * 0.8), 1.0 * 0.5**2 + 3.0 * 0.8**2
    phi, omega = ca.SX.sym("phi"), ca.SX.sym("omega")
    single = lagrangian_system(q=phi, v=omega, T=inertia * omega**2 / 2, V=-weight * ca.cos(phi))
    one = simulate(single, None, [0.7], [0.0], 3.0, step=1e-3)
    np.testing.assert_allclose(motion.q[:, 0], one.q[:, 0], atol=1e-10)
    # The force between them does no work on the pair, and is not zero.
    np.testing.assert_allclose(motion.u[:, 0], -motion.u[:, 1], atol=1e-12)
    assert np.abs(motion.u).max() > 0.1


def test_the_tip_of_an_arm_with_a_passive_joint_moves_as_prescribed() -> None:
    """One motor at the shoulder: one coordinate of the tip can be prescribed; the elbow swings as it must."""
    # The tip lies nearer to the elbow than the centre of percussion does, so that the shoulder moves it both ways.
    whole = planar_manipulator([Link(0.5, 2.0, 0.25, 0.05), Link(0.4, 1.0, 0.2, 0.1)], zero="down")
    arm = with_inputs(whole, whole.input_names[:1])
    across = tracking(arm.points["tip"][0], 0.2 + 0.05 * ca.sin(4 * arm.t), perturbation=Baumgarte(20.0))
    program = Program(arm, across)
    q, v = start_on(program, [0.2, 0.1])
    motion = simulate(arm, ProgramController(program, realization="actuated"), q, v, 1.0, step=1e-3)
    tip = motion.evaluate(arm.points["tip"])
    np.testing.assert_allclose(tip[:, 0], 0.2 + 0.05 * np.sin(4 * motion.t), atol=1e-9)
    # The passive joint feels no torque: its own equation of motion holds without one, accelerations by differences.
    a = (motion.v[2:] - motion.v[:-2]) / (motion.t[2] - motion.t[0])
    for i in range(1, len(motion) - 1, 50):
        M, h = (whole.evaluate(e, q=motion.q[i], v=motion.v[i]) for e in (whole.mass_matrix, whole.bias))
        torques = M @ a[i - 1] + h
        assert abs(torques[1]) < 1e-4
        assert torques[0] == pytest.approx(motion.u[i, 0], abs=1e-4)
    assert np.ptp(motion.q[:, 1]) > 0.1


def test_together_is_as_its_parts_are() -> None:
    left, right = planar_manipulator([Link(0.5, 1.0, 0.2, 0.03)] * 2), planar_manipulator([Link(0.7, 2.0, 0.3, 0.1)])
    both = combine({"left": left, "right": right})
    q, v, u = [0.3, 0.4, -0.9], [1.0, -0.5, 0.2], [0.4, 0.1, -0.3]
    a = both.evaluate(both.acceleration, q=q, v=v, u=u)
    np.testing.assert_allclose(a[:2], left.evaluate(left.acceleration, q=q[:2], v=v[:2], u=u[:2]), rtol=1e-13)
    np.testing.assert_allclose(a[2:], right.evaluate(right.acceleration, q=q[2:], v=v[2:], u=u[2:]), rtol=1e-13)
    assert both.nominal["right.m1"] == 2.0
    np.testing.assert_allclose(
        both.evaluate(both.points["right.tip"], q=q), right.evaluate(right.points["tip"], q=q[2:]), rtol=1e-15
    )
    total = left.evaluate(left.kinetic_energy, q=q[:2], v=v[:2]) + right.evaluate(
        right.kinetic_energy, q=q[2:], v=v[2:]
    )
    assert both.evaluate(both.kinetic_energy, q=q, v=v) == pytest.approx(float(total))
    with pytest.raises(ValueError, match="same robot"):
        combine({"a": left, "b": left})
    with pytest.raises(ValueError, match="at least two"):
        combine({"a": left})


def test_time_is_one_for_all() -> None:
    """Natural constraints that move in time, of the second robot too, follow the time of the whole."""
    x, w, t = ca.SX.sym("x"), ca.SX.sym("w"), ca.SX.sym("t")
    driven = lagrangian_system(q=x, v=w, T=w**2 / 2, t=t, natural=[nonholonomic(w - ca.cos(t), name="driven")])
    both = combine({"free": point(), "driven": driven})
    motion = simulate(both, None, [0.0, 0.0, 0.0], [1.0, 0.0, 1.0], 1.5, step=1e-3)
    np.testing.assert_allclose(motion.q[:, 2], np.sin(motion.t), atol=1e-10)
    assert [k.name for k in both.natural] == ["driven.driven"]


def test_robots_that_share_symbols_are_not_two() -> None:
    left = point()
    copied = dataclasses.replace(left, name="copy")
    with pytest.raises(ValueError, match="a and b share the symbol 'x_0'"):
        combine({"a": left, "b": copied})
    with pytest.raises(ValueError, match="requires a mapping of names to robots, got a list"):
        combine([left, point()])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="requires a name for every robot, got ''"):
        combine({"": left, "b": point()})


def test_redundant_rows_stay_allowed() -> None:
    x, v = ca.SX.sym("x", 2), ca.SX.sym("v", 2)
    rows = [distance(x, [0.0, 0.0], ca.SX(1.0), name=name) for name in ("rod", "same rod")]
    T, V = ca.sumsqr(v) / 2, x[1]
    held = dataclasses.replace(lagrangian_system(q=x, v=v, T=T, V=V, natural=rows), redundant="least-norm")
    both = combine({"free": point(), "held": held})
    assert both.redundant == "least-norm"
    assert combine({"a": point(), "b": point()}).redundant == "refused"
    alone = held.evaluate(held.acceleration, q=[0.6, 0.8], v=[0.8, -0.6])
    found = both.evaluate(both.acceleration, q=[0.0, 0.0, 0.6, 0.8], v=[0.0, 0.0, 0.8, -0.6])
    np.testing.assert_allclose(found[2:], alone, atol=1e-12)


def test_a_start_on_a_speed_needs_velocities_to_start_from() -> None:
    """|v|² = V² says nothing at rest; from a guess the nearest velocity in the guess's direction is found."""
    robot = point()
    program = Program(robot, nonholonomic(ca.sumsqr(robot.v) - 4.0, name="pace"))
    with pytest.raises(NotConvergedError, match="'pace' is missed by -4"):
        start_on(program, [0.0, 0.0])
    q, v = start_on(program, [0.0, 0.0], velocity_guess=[0.3, 0.4])
    np.testing.assert_allclose(v, [1.2, 1.6], rtol=1e-12)
    np.testing.assert_array_equal(q, [0.0, 0.0])
    with pytest.raises(ValueError, match="velocity_guess"):
        start_on(program, [0.0, 0.0], velocity_guess=[1.0])


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
    missing = sorted(name for name in made - GENERAL if f"{name}(" not in used)
    assert not missing, f"RELATIONS of tests/support/relations.py lacks a row for {', '.join(missing)}"
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


def test_rolling_gives_the_rows_of_the_mobile_robots_wheels() -> None:
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
        (lambda: orientation(R, 2 * np.eye(3)), "differs from the identity by 3"),
        (lambda: synchronized(x, x[:2]), "3, 2 and 3 rows"),
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
