"""Multipliers and forces against dense linear algebra, bound ticks, idle inputs, and bad input."""

from __future__ import annotations

import re

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, Constraint, EruginField, follow, holonomic, line, nonholonomic, second_order
from erugin.controllers import BufferedTick, ControlLimits, Program, ProgramController, Status, analyse, start_on
from erugin.robots import Link, Robot, TelescopicLink, exoskeleton, lagrangian_system, planar_manipulator, with_inputs
from erugin.robots.examples import fukao_robot, maxon_re40
from erugin.symbolic import (
    ContradictoryProgramError,
    ModelError,
    NotConvergedError,
    ParameterError,
    ShapeError,
    SingularProgramError,
)

from ...support.arms import ELBOW, START, disc_program, three_link_arm, two_link_arm
from ...support.systems import cart_with_pendulum


def program(n: int = 3) -> Program:
    robot: Robot = planar_manipulator([Link(0.5, 1.0, 0.2, 0.02)] * n)
    t = robot.t
    path = ca.vertcat(0.6 + 0.1 * ca.cos(t), 0.2 + 0.1 * ca.sin(t))
    return Program(robot, [holonomic(robot.points["tip"] - path, perturbation=Baumgarte(5.0, 5.0), name="tip")])


@pytest.mark.parametrize("realization", ["ideal", "actuated"])
def test_tick_is_control(realization: str) -> None:
    controller = ProgramController(program(), realization="ideal" if realization == "ideal" else "actuated")
    tick = BufferedTick.of(controller, {"m1": 1.3})
    rng = np.random.default_rng(5)
    for t in (0.0, 0.7, 3.1):
        q, v = rng.uniform(-1.0, 1.0, 3), rng.uniform(-1.0, 1.0, 3)
        tick.t[0], tick.q[:], tick.v[:] = t, q, v
        tick()
        np.testing.assert_array_equal(tick.output, controller.control(t, q, v, {"m1": 1.3}))
        assert tick.status is Status.OK


def test_parameters_are_changed_in_place() -> None:
    controller = ProgramController(program())
    tick = BufferedTick.of(controller)
    q, v = np.array([0.3, 0.5, -0.4]), np.array([0.1, -0.2, 0.3])
    tick.q[:], tick.v[:] = q, v
    tick()
    before = tick.output.copy()
    tick.p[:] = controller.parameters.values({"m2": 4.0})
    tick()
    assert np.abs(tick.output - before).max() > 0.1
    np.testing.assert_array_equal(tick.output, controller.control(0.0, q, v, {"m2": 4.0}))


def test_stretched_arms_are_singular_and_nan_is_reported() -> None:
    tick = BufferedTick.of(ProgramController(program(2)))
    found: list[Status] = []
    for q, v in (((0.0, 0.0), 0.0), ((0.4, 0.9), 0.0), ((0.4, 0.9), np.nan)):
        tick.q[:], tick.v[0] = q, v
        tick()
        found.append(tick.status)
    assert found == [Status.SINGULAR, Status.OK, Status.NOT_FINITE]


def test_each_tick_has_separate_arrays() -> None:
    controller = ProgramController(program())
    one, other = BufferedTick.of(controller), BufferedTick.of(controller)
    one.q[:], other.q[:] = (0.3, 0.5, -0.4), (0.9, 0.5, 0.4)
    one()
    first = one.output.copy()
    other()
    np.testing.assert_array_equal(one.output, first)
    assert np.abs(other.output - first).max() > 0.1


def test_what_cannot_be_bound() -> None:
    limits = ControlLimits.of(program().robot, effort=10.0)
    bounded = ProgramController(program(), realization="bounded", limits=limits)
    with pytest.raises(ModelError, match="no symbolic law"):
        BufferedTick.of(bounded)
    with pytest.raises(ParameterError, match="mass"):
        BufferedTick.of(ProgramController(program()), {"mass": 1.0})


LINK = TelescopicLink(mass=2.0, inertia=0.1, center_ratio=0.5, stiffness=100.0, rest_length=0.5)


def solved(robot: Robot, row: object, q: list[float]) -> np.ndarray:
    """Inputs of an actuated program, after its residuals have been looked at."""
    controller = ProgramController(Program(robot, [holonomic(row)]), realization="actuated")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    solution = controller.solve(0.0, q, [0.0] * robot.coordinates.nv)
    assert solution.status is Status.OK
    assert solution.motion_residual < 1e-10
    assert solution.program_residual < 1e-9
    return solution.input


def test_a_drive_along_a_rigid_link_is_left_at_rest() -> None:
    robot = with_inputs(exoskeleton([LINK] * 2, axial_drives=True, rigid=[1]), ["M1", "F1"])
    torque, force = solved(robot, robot.q[0] - 0.5, [0.4, 0.3, 0.5, 0.8])
    alone = with_inputs(exoskeleton([LINK] * 2, axial_drives=True, rigid=[1]), ["M1"])
    assert torque == pytest.approx(solved(alone, alone.q[0] - 0.5, [0.4, 0.3, 0.5, 0.8])[0], rel=1e-9)
    assert abs(force) < 1e-9 * abs(torque)


def test_drives_of_a_floating_rigid_body_stay_of_the_size_of_the_torques() -> None:
    robot = exoskeleton([LINK] * 3, base="floating", rigid=True, pole_mass=0.4, axial_drives=True)
    u = solved(robot, robot.points["tip"][0] - 0.6, [0.0, 0.0, 0.4, 0.7, 0.9, 0.5, 0.5, 0.5])
    assert np.abs(u).max() < 1e5


def test_a_row_that_no_input_reaches_is_refused() -> None:
    robot = fukao_robot(motors=maxon_re40(gear_ratio=43.0))
    program = Program(robot, nonholonomic(robot.v[0], name="forward"))
    with pytest.raises(ModelError, match=r"no input of .*voltage_r, voltage_l\) acts on 'forward'"):
        ProgramController(program, realization="actuated")


Array = NDArray[np.float64]
STRETCHED = [0.4, 0.0]


def dense_motion(program: Program, q: Array, v: Array) -> tuple[Array, Array]:
    """a and λ of the ideal force from the whole KKT matrix, by NumPy."""
    robot = program.robot
    values = dict(program.nominal)
    every = [robot.mass_matrix, robot.bias, program.theta, program.beta, *robot.natural_form]
    f = ca.Function("f", [robot.t, robot.q, robot.v, program.p], every)
    M, h, theta, beta, A, b = (np.array(x.full()) for x in f.call([0.3, q, v, ca.DM(list(values.values()))]))
    rows = np.vstack([theta, A])
    n, m = len(M), len(rows)
    K = np.block([[M, -rows.T], [rows, np.zeros((m, m))]])
    right = np.concatenate([-h[:, 0], beta[:, 0], b[:, 0]])
    solution = np.asarray(np.linalg.solve(K, right), dtype=np.float64)
    return solution[:n], solution[n : n + len(theta)]


def tip_program(robot: Robot) -> Program:
    return Program(robot, follow(EruginField(line((0.1, 0.2), (0.5, 0.4)), speed=0.2), robot.points["tip"]))


def natural_program() -> Program:
    robot = cart_with_pendulum()
    return Program(robot, nonholonomic(robot.v[0] - ca.sin(robot.t) * robot.q[1]))


PROGRAMS = {
    "two links, two rows": disc_program,
    "three links, two rows": lambda: disc_program(three_link_arm()),
    "absolute angles": lambda: tip_program(
        planar_manipulator([Link(0.5, 1.0, 0.2, 0.1), Link(0.4, 2.0, 0.3, 0.2)], angles="absolute", zero="down")
    ),
    "one row, natural constraint": natural_program,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_ideal_force_agrees_with_dense_linear_algebra(name: str) -> None:
    program = PROGRAMS[name]()
    controller, rng = ProgramController(program), np.random.default_rng(5)
    for _ in range(50):
        q, v = rng.uniform(-1.3, 1.3, (2, program.robot.coordinates.nq))
        solution = controller.solve(0.3, q, v)
        a, lam = dense_motion(program, q, v)
        scale = max(1.0, float(np.abs(a).max()), float(np.abs(lam).max())) / float(solution.pivots.min())
        assert solution.status is Status.OK
        np.testing.assert_allclose(solution.acceleration, a, atol=1e-13 * scale)
        np.testing.assert_allclose(solution.multipliers, lam, atol=1e-13 * scale)
        np.testing.assert_array_equal(controller.control(0.3, q, v), solution.force)
        assert solution.motion_residual <= 1e-13 * scale * 10
        assert solution.program_residual <= 1e-13 * scale * 10
        assert solution.message == Status.OK.sentence


@pytest.mark.parametrize("name", PROGRAMS)
def test_actuated_realises_what_ideal_does(name: str) -> None:
    program = PROGRAMS[name]()
    ideal, actuated = ProgramController(program), ProgramController(program, realization="actuated")
    rng = np.random.default_rng(6)
    for _ in range(30):
        q, v = rng.uniform(-1.3, 1.3, (2, program.robot.coordinates.nq))
        one, two = ideal.solve(0.3, q, v), actuated.solve(0.3, q, v)
        assert two.program_residual <= 1e-10 * max(1.0, float(np.abs(two.acceleration).max()))
        assert two.input.shape == (program.robot.u.numel(),)
        B = program.robot.evaluate(program.robot.input_matrix, t=0.3, q=q, v=v).reshape(len(two.force), -1)
        np.testing.assert_allclose(B @ two.input, two.force, atol=1e-9)
        if B.shape[0] == B.shape[1]:
            # Inputs that can produce any force produce the ideal one.
            np.testing.assert_allclose(two.force, one.force, atol=1e-9 * max(1.0, float(np.abs(one.force).max())))


def test_fewer_inputs_than_coordinates_still_realise_the_rows() -> None:
    robot = cart_with_pendulum()
    program = Program(robot, [nonholonomic(robot.v[0] - 0.3, name="cart")])
    solution = ProgramController(program, realization="actuated").solve(0.0, [0.1, 0.4, -0.4], [0.1, 0.2, 0.15])
    assert solution.status is Status.OK
    assert solution.program_residual < 1e-12
    assert np.abs(solution.input).max() > 0.1


def test_more_inputs_than_freedom_takes_the_least_effort() -> None:
    q, v, u = ca.SX.sym("x", 1), ca.SX.sym("v", 1), ca.SX.sym("u", 3)
    robot = lagrangian_system(q=q, v=v, T=v**2, Q=u[0] + 2 * u[1] - u[2], u=ca.vertcat(*ca.vertsplit(u)))
    program = Program(robot, second_order(robot.coordinates.a - 3.0))
    solution = ProgramController(program, realization="actuated").solve(0.0, [0.0], [0.0])
    np.testing.assert_allclose(solution.input, np.array([1.0, 2.0, -1.0]), atol=1e-14)  # 6 = B u, least norm


def test_a_stretched_arm_is_singular_and_the_row_is_named() -> None:
    controller = ProgramController(disc_program())
    solution = controller.solve(0.0, STRETCHED, [0.1, 0.2])
    assert solution.status is Status.SINGULAR
    assert solution.pivots[1] < 1e-10
    assert "'follow[1]' depends on 'follow[0]'" in solution.message
    assert "of the largest row of its constraint" in solution.message
    with pytest.raises(SingularProgramError, match=r"t = 0: Row 'follow\[1\]' depends on 'follow\[0\]'.*stretched out"):
        controller.control(0.0, STRETCHED, [0.1, 0.2])


def test_a_nearly_stretched_arm_is_still_solved() -> None:
    solution = ProgramController(disc_program()).solve(0.0, [0.4, 1e-3], [0.1, 0.2])
    assert solution.status is Status.OK
    assert solution.pivots[1] < 1e-4


def test_a_row_that_no_force_can_influence_vanishes() -> None:
    robot = two_link_arm()
    row = holonomic(ca.cos(robot.q[0]) - 1.0, name="cosine")
    solution = ProgramController(Program(robot, row)).solve(0.0, [0.0, 1.0], [0.1, 0.2])
    assert solution.status is Status.SINGULAR
    assert "Row 'cosine' vanishes. The" in solution.message


def test_a_row_that_vanishes_beside_the_other_of_its_constraint_is_singular() -> None:
    """Stretched along x the row of the tip's x is zero, although at no angle to the row of y."""
    controller = ProgramController(disc_program())
    for bend in (0.0, 1e-7):
        solution = controller.solve(0.0, [0.0, bend], [0.1, 0.2])
        assert solution.status is Status.SINGULAR
        assert "'follow[0]' vanishes" in solution.message


def test_the_pivot_is_what_is_left_of_a_row_beside_the_largest() -> None:
    program = disc_program()
    q, v = np.array([0.3, 0.8]), np.array([0.2, -0.1])
    pivots = ProgramController(program).solve(0.0, q, v).pivots
    M = program.robot.evaluate(program.robot.mass_matrix, q=q)
    J = program.robot.evaluate(ca.jacobian(program.robot.points["tip"], program.robot.q), q=q)
    metric = np.linalg.inv(M)
    a, b = J
    aa, ab, bb = a @ metric @ a, a @ metric @ b, b @ metric @ b
    np.testing.assert_allclose(pivots, np.array([aa, bb - ab**2 / aa]) / max(aa, bb), atol=1e-13)


def test_parameters_by_name_and_as_a_vector_agree() -> None:
    program = disc_program()
    controller = ProgramController(program, realization="actuated")
    q, v = [0.3, 0.8], [0.2, -0.1]
    names = list(program.nominal)
    vector = np.array(list(program.nominal.values()))
    vector[names.index("m2")] = 4.0
    heavy = controller.control(0.0, q, v, {"m2": 4.0})
    np.testing.assert_array_equal(heavy, controller.control(0.0, q, v, vector))
    assert np.abs(heavy - controller.control(0.0, q, v)).max() > 1.0


def test_bad_input_to_a_tick() -> None:
    controller = ProgramController(disc_program())
    with pytest.raises(ShapeError, match=r"q must have shape \(2,\), got shape \(3,\)"):
        controller.control(0.0, [0.0, 0.0, 0.0], [0.0, 0.0])
    with pytest.raises(ShapeError, match=r"v\[1\] is nan"):
        controller.control(0.0, [0.0, 1.0], [0.0, np.nan])
    with pytest.raises(ShapeError, match="t must be finite, got inf"):
        controller.solve(np.inf, [0.0, 1.0], [0.0, 0.0])
    with pytest.raises(ParameterError, match=r"unknown parameter 'disc.radios'. Did you mean 'disc.radius'"):
        controller.control(0.0, [0.0, 1.0], [0.0, 0.0], {"disc.radios": 0.1})
    with pytest.raises(ParameterError, match=r"'m1' must be greater than zero, got -1\.0"):
        controller.control(0.0, [0.0, 1.0], [0.0, 0.0], {"m1": -1.0})


def test_programs_that_cannot_be_realised_are_refused_when_built() -> None:
    robot = two_link_arm()
    tip = follow(EruginField(line((0.1, 0.2), (0.5, 0.4)), speed=0.2), robot.points["tip"])
    three = Program(robot, [tip, holonomic(robot.q[0] - 0.1)])
    with pytest.raises(ModelError, match=r"3 rows \(follow\[0\], follow\[1\], holonomic\).*2 velocities"):
        ProgramController(three)
    with pytest.raises(ModelError, match=r"3 rows.*only 2 inputs \(M1, M2\): drop 1 row"):
        ProgramController(three, realization="actuated")
    with pytest.raises(ModelError, match="realization must be one of 'ideal', 'actuated', 'bounded', got 'magic'"):
        ProgramController(three, realization="magic")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="tolerance must be greater than zero"):
        ProgramController(disc_program(), tolerance=0.0)
    with pytest.raises(ModelError, match="ProgramController requires a Program, got Robot"):
        ProgramController(robot)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"method must be a MultiplierMethod such as LdlMultipliers\(\), got 'ldl'"):
        ProgramController(disc_program(), method="ldl")  # type: ignore[arg-type]


def test_start_on_solves_place_and_velocity() -> None:
    program = disc_program()
    robot = program.robot
    q, v = start_on(program, ELBOW, at=[(robot.points["tip"], START)])
    np.testing.assert_allclose(robot.evaluate(robot.points["tip"], q=q), START, atol=1e-12)
    assert np.abs(ProgramController(program).solve(0.0, q, v).deviation).max() < 1e-12
    other, _ = start_on(program, [1.0, -1.4], at=[(robot.points["tip"], START)])
    assert q[1] > 0.0 > other[1]


def test_start_on_obeys_natural_constraints_and_takes_the_least_velocity() -> None:
    program = natural_program()
    robot = program.robot
    q, v = start_on(program, [0.0, 0.3, -0.2], t=0.5)
    rod = np.hypot(q[1] - q[0], q[2])
    assert rod == pytest.approx(0.5, abs=1e-12)
    assert v[0] == pytest.approx(np.sin(0.5) * q[1], abs=1e-12)
    assert (q[1] - q[0]) * (v[1] - v[0]) + q[2] * v[2] == pytest.approx(0.0, abs=1e-12)
    assert robot.coordinates.nq == 3


def test_start_on_names_rows_that_contradict_each_other_as_analyse_does() -> None:
    robot = two_link_arm()
    x, y = ca.vertsplit(robot.points["tip"])
    q = [-0.9, 1.4]

    def contradicts(rows: list[Constraint], message: str) -> None:
        program = Program(robot, rows)
        with pytest.raises(ContradictoryProgramError, match=message) as caught:
            start_on(program, q)
        assert "reach" not in str(caught.value)
        assert "Remove one of these rows" in str(caught.value)
        report = analyse(program, t=0.0, q=q, v=[0.0, 0.0])
        assert not report.consistent
        assert set(report.dependent_rows) == {re.findall(r"'([^']*)' = ", str(caught.value))[0]}

    contradicts(
        [holonomic(x - 0.5, name="near"), holonomic(2.0 * x - 1.4, name="far")],
        r"no coordinates satisfy the program in any position: 'far' = \+2·'near': contradictory by 0.4\.",
    )
    contradicts(
        [nonholonomic(robot.v[0] - 1.0, name="slow"), nonholonomic(robot.v[0] - 1.5, name="fast")],
        r"no velocities satisfy the program in this position: 'fast' = \+1·'slow': contradictory by 0.5\.",
    )
    # Three rows for two joints.
    contradicts(
        [holonomic(ca.vertcat(x - 0.5, y - 0.2), name="tip"), holonomic(robot.q[0], name="shoulder")],
        r"'shoulder' = .*·'tip\[0\]' .*·'tip\[1\]': contradictory by",
    )


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_start_on_lets_rows_depend_that_agree(scale: float) -> None:
    """A row that another says too; where the place is out of reach, it is that, and not the two of them."""
    robot = two_link_arm()
    x, y = ca.vertsplit(robot.points["tip"])

    def twice(distance: float) -> Program:
        rows = [holonomic(ca.vertcat(x - distance, y), name="tip"), holonomic(scale * (x - distance), name="again")]
        return Program(robot, [*rows, holonomic((x - distance) ** 3 + x - distance, name="bent")])

    q, _ = start_on(twice(0.7), [-0.9, 1.4])
    np.testing.assert_allclose(robot.evaluate(robot.points["tip"], q=q), [0.7, 0.0], atol=1e-9)
    with pytest.raises(NotConvergedError, match="it may be out of reach"):
        start_on(twice(1.5), [-0.9, 1.4])


def test_start_on_reports_the_distance_when_out_of_reach() -> None:
    program = disc_program()
    with pytest.raises(NotConvergedError, match=r"'at' is missed by -?0\.\d+; it may be out of reach"):
        start_on(program, ELBOW, at=[(program.robot.points["tip"], (1.5, 0.0))])
