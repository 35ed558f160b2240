"""Bounds of the accelerations of joints and points: closed forms, conditions of optimality, and their priority."""

from __future__ import annotations

import functools
import pickle
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog, lsq_linear

from erugin.constraints import Baumgarte, FirstOrder, holonomic, nonholonomic
from erugin.controllers import ControlLimits, Program, ProgramController, Solution, Status
from erugin.controllers.bounded import ConicSolver
from erugin.controllers.bounded.problem import face_normals
from erugin.robots import Link, Robot, lagrangian_system, planar_manipulator
from erugin.robots.examples import fukao_robot
from erugin.scenarios import simulate
from erugin.symbolic import ModelError

from ...support.arms import two_link_arm
from ...support.bounded_cases import cone_miss, numbers, posture_case
from ...support.controller_cases.programs import braking_program
from ...support.controller_cases.robots import CASES as ROBOTS
from ...support.controller_cases.robots import robot_case

Array = NDArray[np.float64]


def rail(drives: int = 1, gravity: float = 0.0) -> Robot:
    """Masses of 2 kg, each along an axis; only the first ones are driven."""
    q, v, u = ca.SX.sym("x", 2), ca.SX.sym("v", 2), ca.SX.sym("u", drives)
    Q = ca.vertcat(u, ca.SX.zeros(2 - drives))
    return lagrangian_system(q=q, v=v, T=ca.sumsqr(v), V=2.0 * gravity * q[1], Q=Q, u=u, points={"mass": q})


def pendulum() -> Robot:
    """A rod of 0.8 m whose angle is from the horizontal."""
    return planar_manipulator([Link(0.8, 1.5, 0.4, 0.08)])


def wanting(robot: Robot, wanted: list[float], **given: Any) -> ProgramController:  # noqa: ANN401
    """A law that wants these accelerations, under limits."""
    ahead = ca.DM(wanted)
    rows = nonholonomic(robot.v - ahead * robot.t, perturbation=FirstOrder(1.0), name="ahead")
    return ProgramController(Program(robot, rows), realization="bounded", limits=ControlLimits.of(robot, **given))


def test_a_mass_accelerates_at_its_bound_and_then_as_wanted() -> None:
    robot = rail(2)
    law = wanting(robot, [3.0, -1.0], acceleration=[2.0, 5.0])
    motion = simulate(robot, law, [0.0, 0.0], [0.0, 0.0], 0.5, step=0.01)
    np.testing.assert_allclose(motion.q[:, 0], motion.t**2, atol=1e-12)
    np.testing.assert_allclose(motion.q[:, 1], -(motion.t**2) / 2.0, atol=1e-12)
    np.testing.assert_allclose(motion.u, np.tile([4.0, -2.0], (len(motion), 1)), rtol=1e-9)
    message = motion.notes[0][1]
    assert "Rows of the program are missed: 'ahead[0]' by -1." in message
    assert f"At their limit: {robot.coordinates.names[0]!r} (acceleration at most 2)." in message
    free = wanting(robot, [3.0, -1.0], acceleration=[3.0 + 1e-9, 5.0]).observe(0.0, [0.0, 0.0], [0.0, 0.0])
    assert free.status is Status.OK


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_polyhedron_lies_inside_the_sphere_and_nearly_fills_it(dimension: int) -> None:
    normals, share = face_normals(dimension)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, rtol=1e-15)
    directions = np.random.default_rng(3).normal(size=(200_000, dimension))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    # From the origin to the boundary in each direction.
    reach = share / np.abs(directions @ normals.T).max(axis=1)
    assert share == pytest.approx({2: 0.98, 3: 0.92}[dimension], abs=0.004)
    assert share <= reach.min() < share + 0.002
    assert 0.999 < reach.max() <= 1.0 + 1e-15


@pytest.mark.parametrize("angle", np.arange(32) * np.pi / 32.0)
def test_the_tip_of_a_pendulum_accelerates_up_to_its_bound(angle: float) -> None:
    """|p̈|² = l² (θ̈² + θ̇⁴), along faces, along corners and between them."""
    robot, length, bound = pendulum(), 0.8, 6.0
    law = wanting(robot, [50.0], point_acceleration={"tip": bound})
    share = np.cos(np.pi / 16.0)
    for rate in (0.0, 1.0, -2.0, 2.6):
        solution = law.solve(0.0, [angle], [rate])
        size = length * np.hypot(solution.acceleration[0], rate**2)
        assert share * bound * (1.0 - 1e-9) <= size <= bound * (1.0 + 1e-9)
        assert solution.status is Status.LIMITED
        assert solution.message.count("'tip' (acceleration at most 6 m/s²)") == 1
        assert "come first" not in solution.message


@pytest.mark.parametrize("angle", [0.0, 0.3, np.pi / 16.0, 1.1])
def test_a_tip_that_turns_too_fast_is_reported_by_how_much(angle: float) -> None:
    """l θ̇² alone exceeds the bound, and no torque can change that."""
    law = wanting(pendulum(), [50.0], point_acceleration={"tip": 6.0})
    solution = law.solve(0.0, [angle], [4.0])
    size = 0.8 * np.hypot(solution.acceleration[0], 16.0)
    # Along a face or a corner the least excess is that of no angular acceleration.
    assert size == pytest.approx(0.8 * 16.0, rel=1e-9 if angle in (0.0, np.pi / 16.0) else 2e-3)
    assert f"require more: 'tip' (acceleration at most 6 m/s²) by {size - 6.0:.6g}." in solution.message
    assert solution.status is Status.LIMITED


def test_a_joint_of_a_pendulum_is_bounded_beside_its_tip() -> None:
    robot = pendulum()
    law = wanting(robot, [50.0], acceleration=4.0, point_acceleration={"tip": 6.0})
    for rate, expected in ((0.0, 4.0), (2.6, None)):
        a = law.solve(0.0, [0.4], [rate]).acceleration[0]
        if expected is None:
            assert 0.98 * 6.0 <= 0.8 * np.hypot(a, rate**2) <= 6.0
            assert abs(a) < 4.0
        else:
            assert a == pytest.approx(expected, rel=1e-12)


def test_a_point_may_be_an_expression_that_depends_on_time() -> None:
    """In a carriage that accelerates at 5 m/s² a load may slide at 2 m/s² at most; x is normal to a face."""
    robot = rail(2)
    load = robot.q - ca.vertcat(2.5 * robot.t**2, 0)
    law = wanting(robot, [0.0, 0.0], point_acceleration={"load": (load, 2.0)})
    solution = law.solve(0.3, [0.0, 0.0], [0.0, 0.0])
    np.testing.assert_allclose(solution.acceleration, [5.0 - 2.0 * np.cos(np.pi / 16.0), 0.0], atol=1e-9)
    assert "At their limit: 'load' (acceleration at most 2 m/s²)." in solution.message


def test_what_no_drive_can_change_is_reported_and_the_program_holds() -> None:
    """One mass falls, the other is driven."""
    robot = rail(1, gravity=9.81)
    rows = holonomic(robot.q[0] - 1.0, perturbation=Baumgarte(2.0), name="driven")
    limits = ControlLimits.of(robot, acceleration=5.0)
    solution = ProgramController(Program(robot, rows), realization="bounded", limits=limits).solve(
        0.0, [0.5, 0.0], [0.0, 0.0]
    )
    np.testing.assert_allclose(solution.acceleration, [2.0, -9.81], rtol=1e-9)
    assert solution.status is Status.LIMITED
    assert f"require more: {robot.coordinates.names[1]!r} (acceleration at most 5) by 4.81." in solution.message
    assert "missed" not in solution.message


@pytest.mark.parametrize(("distance", "rate"), [(0.1, 1.5), (0.01, 0.4), (-0.05, 0.1)])
def test_a_limit_of_position_comes_before_the_acceleration(distance: float, rate: float) -> None:
    """ẍ ≤ −2 k ẋ + k² d, which asks for more than the bound, and no more than that is applied."""
    robot, k = rail(2), 10.0
    law = wanting(robot, [30.0, 1.0], joint_upper=[1.0, np.inf], acceleration=3.0)
    needed = -2.0 * k * rate + k**2 * distance
    assert needed < -3.0
    solution = law.solve(0.0, [1.0 - distance, 0.0], [rate, 0.0])
    np.testing.assert_allclose(solution.acceleration[0], needed, rtol=1e-9)
    assert solution.status is Status.LIMITED
    name = repr(robot.coordinates.names[0])
    assert (
        f"require more: {name} (acceleration at most 3) by {-needed - 3.0:.6g}. A lower approach=" in solution.message
    )
    assert f"At their limit: {name} (limit of position)" in solution.message
    assert "too weak" not in solution.message


@pytest.mark.parametrize(("acceleration", "kept"), [(8.0, True), (3.0, True), (2.0, False)])
def test_a_fast_enough_deceleration_keeps_position_speed_and_acceleration(acceleration: float, kept: bool) -> None:
    """k · speed ≤ acceleration suffices from everywhere, a share of 1/e from afar; below that the position is kept.

    From ḋ = −s and d = 2 s/k, where the bound first acts, d = (2 s/k + s t) e^(−k t): d̈ = k² s t e^(−k t) ≤ k s/e.
    """
    robot = rail(2)
    limits: dict[str, Any] = {"joint_upper": 1.0, "speed": 0.8, "acceleration": acceleration, "approach": 10.0}
    law = wanting(robot, [40.0, 1.0], **limits)
    motion = simulate(robot, law, [0.0, 0.0], [0.0, 0.0], 2.5, step=2e-3)
    a = motion.u / 2.0
    assert motion.q.max() <= 1.0 + 1e-9
    assert motion.q[-1, 0] > 0.999
    assert np.abs(motion.v).max() <= 0.8 + 1e-6
    assert a.max() == pytest.approx(acceleration, rel=1e-9)
    assert (np.abs(a).max() <= acceleration * (1.0 + 1e-9)) == kept
    assert -a[:, 0].min() == pytest.approx(8.0 / np.e, rel=1e-3)
    hardest = int(np.argmin(a[:, 0]))
    message = law.observe(motion.t[hardest], motion.q[hardest], motion.v[hardest]).message
    assert ("require more" in message) != kept


def test_a_tie_of_two_bounds_is_no_conflict() -> None:
    """At rest k' · speed is the bound of the acceleration, to the last bit, and so is k² d."""
    robot = rail(2)
    law = wanting(robot, [90.0, 90.0], joint_upper=[0.5, np.inf], speed=1.0, acceleration=50.0)
    solution = law.solve(0.0, [0.0, 0.0], [0.0, 0.0])
    np.testing.assert_allclose(solution.acceleration, 50.0, rtol=1e-9)
    assert "require more" not in solution.message
    assert "solver failed" not in solution.message


def test_velocities_that_are_no_rates_are_bounded_by_name() -> None:
    """A vehicle with rolling wheels: its speed along its axis, and a point ahead of the axle."""
    robot = fukao_robot(form="reduced")
    c = robot.coordinates
    assert not c.are_rates
    ahead = robot.q[:2] + 0.3 * ca.vertcat(ca.cos(robot.q[2]), ca.sin(robot.q[2]))
    rows = nonholonomic(robot.v - ca.DM([4.0, 2.0]), perturbation=FirstOrder(5.0), name="speeds")
    q, v = np.array([0.1, 0.2, 0.7, 0.0, 0.0]), np.array([1.0, 0.5])

    def solved(**given: Any) -> Solution:  # noqa: ANN401
        limits = ControlLimits.of(robot, **given)
        return ProgramController(Program(robot, rows), realization="bounded", limits=limits).solve(0.0, q, v)

    solution = solved(acceleration=[1.0, np.inf])
    np.testing.assert_allclose(solution.acceleration, [1.0, 7.5], rtol=1e-9)
    assert f"At their limit: {c.velocity_names[0]!r} (acceleration at most 1)." in solution.message
    solution = solved(point_acceleration={"nose": (ahead, 1.5)})
    # Accelerations of the nose by hand: speed and turning rate of the axle, v₁ and v₂.
    speed, turn = v
    (forward, angular), heading = solution.acceleration, np.array([np.cos(0.7), np.sin(0.7)])
    across = np.array([-heading[1], heading[0]])
    nose = (forward - 0.3 * turn**2) * heading + (speed * turn + 0.3 * angular) * across
    assert 0.98 * 1.5 <= np.linalg.norm(nose) <= 1.5 * (1.0 + 1e-9)


@pytest.mark.foreign
def test_without_other_limits_the_accelerations_are_what_scipy_finds() -> None:
    """With as many drives as joints the accelerations themselves are the unknowns of bounded least squares."""
    program = posture_case().program
    robot, case = program.robot, posture_case()
    none = np.full(7, np.inf)
    limits = ControlLimits.of(
        robot, effort=np.inf, joint_lower=-none, joint_upper=none, speed=none, acceleration=np.linspace(1.0, 6.0, 7)
    )
    law = ProgramController(program, realization="bounded", limits=limits)
    rng, limited = np.random.default_rng(4), 0
    for _ in range(30):
        q, v = case.q + 0.1 * rng.normal(size=7), 0.3 * rng.normal(size=7)
        M, h = robot.evaluate(robot.mass_matrix, q=q), robot.evaluate(robot.bias, q=q, v=v)
        G, r, _ = numbers(program, 0.0, q, v)
        a = np.linalg.solve(M, law.control(0.0, q, v) - h)
        assert (np.abs(a) <= limits.acceleration * (1.0 + 1e-9)).all()
        expected = lsq_linear(
            G @ M, r - G @ h, (-limits.acceleration, limits.acceleration), method="bvls", tol=1e-15, max_iter=500
        ).x
        np.testing.assert_allclose(G @ M @ a, G @ M @ expected, rtol=0.0, atol=1e-7 * max(1.0, np.abs(r).max()))
        limited += bool((np.abs(expected) > limits.acceleration * (1.0 - 1e-9)).any())
    assert limited >= 25


@pytest.mark.foreign
@pytest.mark.parametrize("name", ROBOTS)
def test_accelerations_of_every_robot_stay_within_bounds_or_are_reported(name: str) -> None:
    """Loops, rolling, passive joints, quasi-velocities, more drives than degrees of freedom."""
    case = robot_case(name)
    robot, program, v = case.robot, braking_program(case, rate=20.0), case.v0 + 0.5
    wanted = ProgramController(program, realization="actuated").solve(0.0, case.q0, v)
    bound = 0.6 * float(np.abs(wanted.acceleration).max())
    none = np.full(robot.coordinates.nv, np.inf)
    limits = ControlLimits.of(
        robot, effort=np.inf, joint_lower=-np.inf, joint_upper=np.inf, speed=none, acceleration=bound
    )
    solution = ProgramController(program, realization="bounded", limits=limits).solve(0.0, case.q0, v)
    assert solution.status is Status.LIMITED
    assert "solver failed" not in solution.message
    excess = np.abs(solution.acceleration) - bound
    for i, label in enumerate(robot.coordinates.velocity_names):
        reported = re.search(rf"'{re.escape(label)}' \(acceleration at most [^)]*\) by ([\d.e+-]*\d)", solution.message)
        assert (reported is not None) == (excess[i] > 1e-6 * bound)
        if reported is not None:
            assert float(reported[1]) == pytest.approx(excess[i], rel=1e-4)
    assert np.abs(solution.acceleration).max() > 0.99 * bound
    assert solution.motion_residual < 1e-8 * max(1.0, np.abs(solution.input).max())
    assert solution.natural_residual < 1e-8


class Rows(NamedTuple):
    """least ≤ rows · u ≤ most, in the unit in which an excess counts."""

    rows: Array
    least: Array
    most: Array

    def split(self, u: Array) -> tuple[Array, list[Array]]:
        """Excess of each row, and outward normals of those that are reached."""
        over, under = self.rows @ u - self.most, self.least - self.rows @ u
        room = 1e-8 * (1.0 + np.abs(self.rows) @ np.abs(u))
        beyond = np.where(over > room, over, np.where(under > room, -under, 0.0))
        outward = [self.rows[i] for i in np.flatnonzero(np.abs(over) <= room)]
        return beyond, outward + [-self.rows[i] for i in np.flatnonzero(np.abs(under) <= room)]


HAND, BOUND, ACCELERATION = "panda_hand", 3.0, 20.0
TIP, POSTURE = range(3), range(3, 6)


@functools.cache
def jacobian() -> ca.Function:
    robot = posture_case().program.robot
    return ca.Function("J", [robot.q, robot.p], [ca.jacobian(robot.frames[HAND].position, robot.q)])


def limit_rows(limits: ControlLimits, q: Array, v: Array) -> tuple[Rows, Rows]:
    """Positions and speeds, then accelerations, in NumPy; J̇ v by central differences."""
    robot = posture_case().program.robot
    M, h = robot.evaluate(robot.mass_matrix, q=q), robot.evaluate(robot.bias, q=q, v=v)
    mobility, drift = np.linalg.inv(M), -np.linalg.solve(M, h)
    k, hurry = limits.approach, limits.speed_approach
    least, most = (-2.0 * k * v + k**2 * (bound - q) for bound in (limits.joint_lower, limits.joint_upper))
    slow, fast = (np.clip(hurry * (sign * limits.speed - v), least, most) for sign in (-1.0, 1.0))
    unit = 1.0 / np.sqrt(np.diag(mobility))
    joints = Rows(unit[:, None] * mobility, unit * (slow - drift), unit * (fast - drift))
    p = np.array(list(robot.nominal.values()))
    J, ahead, behind = (jacobian().call([x, p])[0].full() for x in (q, q + 1e-5 * v, q - 1e-5 * v))
    rest = J @ drift + (ahead - behind) @ v / 2e-5
    normals, share = face_normals(3)
    scale = 1.0 / np.sqrt(np.trace(J @ mobility @ J.T) / 3.0)
    along, room = normals @ rest, share * BOUND
    faces = Rows(scale * normals @ J @ mobility, scale * (-room - along), scale * (room - along))
    a = limits.acceleration
    own = Rows(joints.rows, unit * (-a - drift), unit * (a - drift))
    return joints, Rows(*(np.concatenate(pair) for pair in zip(own, faces, strict=True)))


def limits_of(effort: float) -> ControlLimits:
    case = posture_case()
    return ControlLimits.of(
        case.program.robot,
        effort=effort,
        joint_lower=case.q - 0.2,
        joint_upper=case.q + 0.2,
        speed=0.8,
        acceleration=ACCELERATION,
        point_acceleration={HAND: BOUND},
    )


@functools.cache
def law_of(effort: float, ordered: bool, solver: ConicSolver | None) -> ProgramController:
    program, priorities, limits = posture_case().program, ["tip"] if ordered else None, limits_of(effort)
    return ProgramController(program, realization="bounded", limits=limits, priorities=priorities, solver=solver)


def states(count: int) -> Iterator[tuple[Array, Array]]:
    rng, case = np.random.default_rng(11), posture_case()
    for _ in range(count):
        yield case.q + rng.uniform(-0.25, 0.25, 7), 0.6 * rng.normal(size=7)


@pytest.mark.foreign
@pytest.mark.parametrize("solver", [None, ConicSolver()], ids=["compiled", "level by level"])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(("effort", "weak"), [(12.0, 5), (40.0, 0), (1e4, 0)])
def test_positions_precede_accelerations_and_these_the_program(
    effort: float, weak: int, ordered: bool, solver: ConicSolver | None
) -> None:
    """At each level the slope is balanced by bounds and by the levels before; accelerations balance no position."""
    law, program = law_of(effort, ordered, solver), posture_case().program
    limits, low, high = limits_of(effort), np.full(7, -effort), np.full(7, effort)
    too_weak = gave_way = 0
    for q, v in states(40):
        reported = law.observe(0.0, q, v)
        assert reported.status in (Status.OK, Status.LIMITED)
        assert "solver failed on" not in reported.message
        u = reported.output
        joints, accelerations = limit_rows(limits, q, v)
        beyond, outward = joints.split(u)
        assert cone_miss(joints.rows.T @ beyond, np.zeros((0, 7)), u, low, high, outward) < 1e-7
        assert ("too weak" in reported.message) == bool(beyond.any())
        too_weak += bool(beyond.any())
        reached = joints.rows[beyond != 0.0]
        exceeded, more = accelerations.split(u)
        outward += more
        assert cone_miss(accelerations.rows.T @ exceeded, reached, u, low, high, outward) < 1e-7
        gave_way += bool(exceeded.any())
        both = Rows(*(np.concatenate(pair) for pair in zip(joints, accelerations, strict=True)))
        feasible = linprog(
            np.zeros(7),
            A_ub=np.vstack([both.rows, -both.rows]),
            b_ub=np.concatenate([both.most, -both.least]),
            bounds=[(-effort, effort)] * 7,
        )
        assert (feasible.status == 2) == bool(beyond.any() or exceeded.any())
        reached = np.vstack([reached, accelerations.rows[exceeded != 0.0]])
        G, r, H = numbers(program, 0.0, q, v)
        for group in (TIP, POSTURE) if ordered else (range(6),):
            gain, right = G[list(group)], r[list(group)]
            slope = gain.T @ (gain @ u - right)
            if np.linalg.norm(slope) > 1e-8 * np.linalg.norm(gain.T @ right):
                assert cone_miss(slope, reached, u, low, high, outward) < 1e-7
            reached = np.vstack([reached, gain])
        assert cone_miss(H @ u, reached, u, low, high, outward) < 1e-7
    assert too_weak >= weak
    assert 10 <= gave_way < 40 or effort == 12.0


@pytest.mark.foreign
@pytest.mark.parametrize("effort", [12.0, 40.0])
def test_a_start_that_gave_accelerations_up_changes_nothing(effort: float) -> None:
    """Level by level, as the compiled programme has no start."""
    warm, cold, case = (*(law_of(effort, True, ConicSolver()) for _ in range(2)), posture_case())
    rng, q, v = np.random.default_rng(2), case.q - 0.1, case.v.copy()
    gave_way: list[bool] = []
    warm.reset()
    for k in range(100):
        q, v = q + 0.01 * rng.normal(size=7), 0.98 * v + 0.08 * rng.normal(size=7)
        warm.advance(1e-3 * k, q, v)
        found, memory = warm.observe(1e-3 * k, q, v), warm.memory
        cold.reset()
        expected = cold.control(1e-3 * k, q, v)
        warm.memory = memory
        np.testing.assert_allclose(found.output, expected, rtol=0.0, atol=1e-9 * effort)
        gave_way.append("require more" in found.message)
    assert np.count_nonzero(np.diff(gave_way)) >= 4 or all(gave_way)


def test_a_pickled_law_keeps_its_points() -> None:
    arm = two_link_arm()
    tip = arm.points["tip"] + 0.1 * ca.vertcat(ca.cos(arm.q[0]), 0)
    limits = ControlLimits.of(arm, effort=60.0, acceleration=30.0, point_acceleration={"tip": 8.0, "cup": (tip, 5.0)})
    rows = holonomic(arm.q - ca.DM([1.0, 1.5]), perturbation=Baumgarte(12.0), name="pose")
    law = ProgramController(Program(arm, rows), realization="bounded", limits=limits)
    again = pickle.loads(pickle.dumps(law))
    expected, found = (one.observe(0.0, [-1.2, 0.4], [0.5, 0.2]) for one in (law, again))
    np.testing.assert_array_equal(found.output, expected.output)
    assert found.message == expected.message
    assert "'cup' (acceleration at most 5 m/s²)" in found.message
    same = pickle.loads(pickle.dumps(limits))
    assert {name: bound for name, (_, bound) in same.point_acceleration.items()} == {"tip": 8.0, "cup": 5.0}
    with pytest.raises(TypeError):
        limits.point_acceleration["tip"] = (tip, 1.0)  # type: ignore[index]


ARM = two_link_arm()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"acceleration": 0.0}, "acceleration must be greater than zero"),
        ({"acceleration": [1.0, -1.0]}, "acceleration must be greater than zero"),
        ({"acceleration": np.nan}, "acceleration must not be NaN"),
        ({"acceleration": [1.0, 2.0, 3.0]}, r"acceleration must be one number or have shape \(2,\)"),
        ({"acceleration": "quick"}, "acceleration must be numbers"),
        ({"point_acceleration": {"tipp": 1.0}}, "point_acceleration: unknown point of .*'tipp'. Did you mean 'tip'"),
        ({"point_acceleration": {"tip": 0.0}}, "point_acceleration of 'tip' must be greater than zero"),
        ({"point_acceleration": {"tip": np.inf}}, "point_acceleration of 'tip' must be finite"),
        ({"point_acceleration": {"tip": "slow"}}, "point_acceleration"),
        ({"point_acceleration": {"": (ARM.q, 1.0)}}, "a point of point_acceleration"),
        ({"point_acceleration": 5.0}, "point_acceleration"),
        ({"point_acceleration": {"x": (ARM.q[0], 1.0)}}, "the point 'x' .* must have 2 or 3 coordinates"),
        ({"point_acceleration": {"x": (ARM.points["tip"].T, 1.0)}}, "the point 'x' .* must have 2 or 3 coordinates"),
        ({"point_acceleration": {"x": (ARM.v, 1.0)}}, "the point 'x' .* must not depend on v, a or u"),
        ({"point_acceleration": {"x": (ca.SX.zeros(2), 1.0)}}, "the point 'x' .* does not depend on the coordinates"),
        ({"point_acceleration": {"x": (ca.SX.sym("stranger", 2), 1.0)}}, "the point 'x' .*stranger"),
        ({"point_acceleration": {"x": (3.0, 1.0)}}, "point_acceleration of 'x' must be a number or a pair"),
        ({"point_acceleration": {"x": ()}}, "point_acceleration of 'x' must be a number or a pair"),
    ],
)
def test_wrong_bounds_of_accelerations_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        ControlLimits.of(ARM, **given)


def test_limits_of_another_robot_are_refused() -> None:
    """Of as many joints and drives, but with other symbols."""
    other = two_link_arm()
    limits = ControlLimits.of(other, point_acceleration={"tip": 1.0})
    with pytest.raises(ModelError, match="the point 'tip' of point_acceleration"):
        ProgramController(Program(ARM, holonomic(ARM.q)), realization="bounded", limits=limits)
    plain = {name: getattr(limits, name) for name in ("lower", "upper", "rate", "power", "joint_lower", "joint_upper")}
    assert ControlLimits(**plain, speed=limits.speed, acceleration=np.array(3.0)).acceleration.tolist() == [3.0, 3.0]
    with pytest.raises(ModelError, match="speed and acceleration must be of one shape"):
        ControlLimits(**plain, speed=limits.speed, acceleration=np.ones(3))
