"""Methods for dependent rows: one motion for all, also with switched and nonlinear rows."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import ConstrainedMotion, Constraint, holonomic, nonholonomic, second_order
from erugin.constraints.solvers import UdwadiaPhohomsiri
from erugin.controllers import Program, ProgramController, Status
from erugin.controllers.multipliers import (
    AugmentedMultipliers,
    LdlMultipliers,
    LeastNormMultipliers,
    MultiplierMethod,
    ProximalMultipliers,
)
from erugin.robots import Robot, assemble, assemble_velocities, with_inputs
from erugin.robots.examples import quaternion_body, torn_oscillator
from erugin.scenarios import simulate
from erugin.simulation import DOP853, RK4, Integrator, SimulationError
from erugin.symbolic import ContradictoryProgramError, ModelError, SingularProgramError

from ...support.arms import disc_program, three_link_arm, two_link_arm
from ...support.mechanisms import crank_rocker
from ...support.quadratic_rows import point_mass, size_of

Array = NDArray[np.float64]

METHODS: dict[MultiplierMethod, float] = {
    LeastNormMultipliers(): 1e-9,
    ProximalMultipliers(): 1e-6,
    AugmentedMultipliers(): 1e-9,
    AugmentedMultipliers(weight=30.0, method=ProximalMultipliers()): 1e-6,
}
"""How near each comes to the multipliers of least norm; the motion is as exact as with any other method."""
every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)


def tip_rows(robot: Robot, name: str = "tip", factor: float = 1.0) -> Constraint:
    """The tip on a moving point."""
    goal = ca.vertcat(0.5 + 0.1 * ca.sin(robot.t), 0.3)
    return holonomic(factor * (robot.points["tip"] - goal), name=name)


def twice() -> Program:
    """The same two rows in other units, and their sum."""
    robot = three_link_arm()
    return Program(robot, [tip_rows(robot), tip_rows(robot, "again", 3.0), holonomic(ca.sum1(_tip(robot)), name="sum")])


def _tip(robot: Robot) -> ca.SX:
    return robot.points["tip"] - ca.vertcat(0.5 + 0.1 * ca.sin(robot.t), 0.3)


def overfull() -> Program:
    """Six rows for the two velocities of an arm, all from one motion q₁ = 0.3 + 0.2 sin t, q₂ = 0.8."""
    robot = two_link_arm()
    goal = ca.vertcat(0.3 + 0.2 * ca.sin(robot.t), 0.8)
    y = robot.q - goal
    rows = [holonomic(y[0], name="one"), holonomic(y[1], name="two"), holonomic(y[0] + 2 * y[1], name="three")]
    return Program(robot, [*rows, holonomic(ca.vertcat(y[0] - y[1], 5 * y[1], -y[0]), name="others")])


def vanishing() -> Program:
    """A row whose gradient is zero where it is looked at, beside one that drives the crank of a four-bar."""
    robot = crank_rocker()
    y = robot.q[0] - 0.7
    return Program(robot, [holonomic(y**2, name="square"), holonomic(y, name="crank"), holonomic(2 * y, name="double")])


def implied(*drives: str) -> Program:
    """A program that repeats a natural constraint."""
    robot = with_inputs(crank_rocker(), drives or ("crank", "coupler", "rocker"))
    pin = robot.natural[0].residual(robot.coordinates)
    return Program(robot, [holonomic(pin, name="pin again"), holonomic(robot.q[0] - 0.7, name="crank")])


PROGRAMS: dict[str, tuple[Callable[[], Program], Array]] = {
    "twice": (twice, np.array([0.3, 0.8, -0.4])),
    "overfull": (overfull, np.array([0.3, 0.8])),
    "vanishing": (vanishing, np.array([0.7, 0.0, 0.0])),
    "implied": (implied, np.array([0.7, 0.0, 0.0])),
    "implied, one drive": (lambda: implied("crank"), np.array([0.7, 0.0, 0.0])),
}


@functools.cache
def start(name: str) -> tuple[Program, Array, Array]:
    """A program, and a state from which the natural constraints hold."""
    build, q = PROGRAMS[name]
    program = build()
    v = np.linspace(0.2, -0.1, len(q))
    if name == "overfull":
        v = np.array([0.25, 0.0])
    if program.robot.natural:
        q = assemble(program.robot, q, fixed=("crank",)).q
        v = assemble_velocities(program.robot, q, np.zeros(3), fixed={"crank": 0.0})
    return program, q, v


def equations(program: Program, q: Array, v: Array) -> ConstrainedMotion:
    """Natural rows and the program's, in numbers."""
    robot = program.robot
    every = [robot.mass_matrix, robot.bias, *robot.natural_form, program.theta, program.beta]
    f = ca.Function("f", [robot.t, robot.q, robot.v, program.p], every)
    numbers = f.call([0.3, q, v, ca.DM(list(program.nominal.values()))])
    M, h, A, b, theta, beta = (np.array(x.full()) for x in numbers)
    rows = np.vstack([A, theta])
    return ConstrainedMotion(M, -h[:, 0], rows, np.concatenate([b, beta])[:, 0])


@every_method
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("realization", ["ideal", "actuated"])
def test_the_motion_is_unique_and_found(name: str, method: MultiplierMethod, realization: str) -> None:
    program, q, v = start(name)
    controller = ProgramController(program, realization=realization, method=method)  # type: ignore[arg-type]
    solution = controller.solve(0.3, q, v)
    assert solution.status is Status.OK, solution.message
    assert solution.message.startswith("The force realises the program. Multipliers of rows that depend on each other")
    truth = UdwadiaPhohomsiri().solve(equations(program, q, v))
    if realization == "ideal" or name == "overfull":
        size = max(1.0, float(np.abs(truth.acceleration).max()))
        np.testing.assert_allclose(solution.acceleration, truth.acceleration, rtol=0, atol=1e-10 * size)
    size = max(1.0, float(np.abs(solution.acceleration).max()))
    assert solution.program_residual <= 1e-9 * size
    assert solution.motion_residual <= 1e-10 * size
    np.testing.assert_array_equal(
        controller.control(0.3, q, v), solution.force if realization == "ideal" else solution.input
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_such_a_method_they_are_refused(name: str) -> None:
    program, q, v = start(name)
    if len(program.rows) > program.robot.coordinates.nv:
        with pytest.raises(ModelError, match=r"more than the .* velocities"):
            ProgramController(program)
    else:
        with pytest.raises(SingularProgramError, match=r"depends on|vanishes"):
            ProgramController(program).control(0.3, q, v)


@every_method
def test_multipliers_are_of_least_norm(method: MultiplierMethod) -> None:
    """Against K⁺ by NumPy; for proximal steps with the norm √(λᵀEλ), E being the largest K_jj of each constraint."""
    program, q, v = start("twice")
    solution = ProgramController(program, method=method).solve(0.3, q, v)
    known = equations(program, q, v)
    K = known.rows @ np.linalg.solve(known.mass, known.rows.T)
    right = known.right - known.rows @ np.linalg.solve(known.mass, known.force)
    weights = np.ones(len(K))
    if isinstance(method, ProximalMultipliers):
        weights = np.array([max(K[0, 0], K[1, 1])] * 2 + [max(K[2, 2], K[3, 3])] * 2 + [K[4, 4]])
    elif isinstance(method, AugmentedMultipliers) and method.weight != 1.0:
        # K of the augmented matrix weighs otherwise; its null space is the same, and so is R.
        np.testing.assert_allclose(known.rows.T @ solution.multipliers, solution.force, atol=1e-10)
        return
    root = np.sqrt(weights)
    expected = np.linalg.pinv(K / np.outer(root, root), rcond=1e-10) @ (right / root) / root
    np.testing.assert_allclose(solution.multipliers, expected, atol=METHODS[method] * np.abs(expected).max())


@every_method
def test_a_contradiction_is_named_with_its_size(method: MultiplierMethod) -> None:
    robot = two_link_arm()
    y = robot.q[0] - 0.3
    program = Program(robot, [holonomic(y, name="one"), second_order(2 * robot.coordinates.a[0] - 7.0, name="other")])
    q, v = np.array([0.3, 0.8]), np.zeros(2)
    controller = ProgramController(program, method=method)
    solution = controller.solve(0.0, q, v)
    assert solution.status is Status.CONTRADICTORY
    assert "'other' by 7" in solution.message or "'other' by 3.5" in solution.message
    with pytest.raises(ContradictoryProgramError, match=r"t = 0: Rows contradict each other: .*'other' by "):
        controller.control(0.0, q, v)
    consistent = Program(robot, [holonomic(y, name="one"), second_order(2 * robot.coordinates.a[0], name="other")])
    assert ProgramController(consistent, method=method).solve(0.0, q, v).status is Status.OK


@every_method
def test_a_stretched_arm_contradicts_itself(method: MultiplierMethod) -> None:
    solution = ProgramController(disc_program(), method=method).solve(0.0, [0.4, 0.0], [0.1, 0.2])
    assert solution.status is Status.CONTRADICTORY
    assert "'follow[" in solution.message


def test_independent_rows_agree_with_the_factorization() -> None:
    program, rng = disc_program(three_link_arm()), np.random.default_rng(3)
    for realization in ("ideal", "actuated"):
        plain = ProgramController(program, realization=realization)
        others = [ProgramController(program, realization=realization, method=m) for m in METHODS]
        for _ in range(20):
            q, v = rng.uniform(-1.3, 1.3, (2, 3))
            expected = plain.solve(0.3, q, v)
            for controller in others:
                found = controller.solve(0.3, q, v)
                size = max(1.0, float(np.abs(expected.acceleration).max())) / float(expected.pivots.min())
                np.testing.assert_allclose(found.acceleration, expected.acceleration, rtol=0, atol=1e-12 * size)
                np.testing.assert_allclose(found.force, expected.force, rtol=0, atol=1e-11 * size)
                np.testing.assert_array_equal(found.pivots, np.ones(2))


@pytest.mark.parametrize("inner", [LeastNormMultipliers(), ProximalMultipliers()], ids=["least norm", "proximal"])
@pytest.mark.parametrize("realization", ["ideal", "actuated"])
def test_a_program_takes_the_place_of_inertia(inner: MultiplierMethod, realization: str) -> None:
    """Without eᵀe = 1 as a natural constraint a quaternion's length has no inertia; the program holds it instead."""
    body = quaternion_body(2.0, np.diag([0.1, 0.2, 0.25]), center=(0.1, 0.05, -0.03))
    loose = dataclasses.replace(body, natural=())
    rows = [holonomic(ca.sumsqr(loose.q[3:]) - 1, name="unit"), nonholonomic(loose.v[0] - 0.1, name="speed")]
    method = AugmentedMultipliers(method=inner)
    controller = ProgramController(Program(loose, rows), realization=realization, method=method)  # type: ignore[arg-type]
    rng = np.random.default_rng(1)
    for _ in range(10):
        e = rng.normal(size=4)
        e /= np.linalg.norm(e)
        rate = rng.normal(size=4)
        q, v = np.concatenate([rng.normal(size=3), e]), np.concatenate([rng.normal(size=3), rate - (rate @ e) * e])
        solution = controller.solve(0.0, q, v)
        assert solution.status is Status.OK
        assert solution.motion_residual < 1e-10
        assert solution.program_residual < 1e-10
        if realization == "ideal":
            held = Program(body, nonholonomic(body.v[0] - 0.1, name="speed"))
            truth = ProgramController(held).solve(0.0, q, v)
            np.testing.assert_allclose(solution.acceleration, truth.acceleration, atol=1e-9)
            np.testing.assert_allclose(solution.multipliers[0], truth.reactions[0], atol=1e-9)


def test_the_torn_oscillator_tied_by_the_program() -> None:
    """[UdwadiaPhohomsiri2006]: m₁ẍ₁ = −k₁(x₁ − l₁) + k₂(x₂ − l₂), m₂(ẍ₁ + ẍ₂) = −k₂(x₂ − l₂), whoever ties them."""
    torn = torn_oscillator((2.0, 0.7), (30.0, 11.0), (0.5, 0.4), width=0.1)
    loose = dataclasses.replace(torn, natural=())
    program = Program(loose, holonomic(loose.q[1] - loose.q[0] - loose.parameters["d"], name="tie"))
    solution = ProgramController(program, method=AugmentedMultipliers()).solve(0.0, [0.6, 0.7, 0.3], [0.1, 0.1, -0.2])
    pull = 11.0 * (0.3 - 0.4)
    first = (-30.0 * (0.6 - 0.5) + pull) / 2.0
    np.testing.assert_allclose(solution.acceleration, [first, first, -pull / 0.7 - first], rtol=1e-12)
    np.testing.assert_allclose(solution.multipliers, [-pull], rtol=1e-12)
    with pytest.raises(ModelError, match=r"neither inertia, natural constraints nor the program determine v_q1, v_x2"):
        ProgramController(Program(loose, holonomic(loose.q[0] - 0.6)), method=AugmentedMultipliers())


@every_method
def test_a_run_with_dependent_rows_is_that_with_independent_ones(method: MultiplierMethod) -> None:
    robot = two_link_arm()
    rows = tip_rows(robot)
    plain = ProgramController(Program(robot, rows), realization="actuated")
    spare = ProgramController(
        Program(robot, [rows, tip_rows(robot, "again", 3.0)]), realization="actuated", method=method
    )
    q = np.array([-0.6, 1.9])
    one, other = (simulate(robot, c, q, np.zeros(2), 2.0, step=2e-3) for c in (plain, spare))
    np.testing.assert_allclose(other.q, one.q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(other.u, one.u, rtol=0, atol=1e-8)
    assert np.ptp(one.q[:, 0]) > 0.05
    assert other.deviation.shape == (len(other), 4)


def test_a_run_ends_where_rows_become_contradictory() -> None:
    """Two drives of one joint, q₁ = 0.3 and q₁ = 0.3 + (t − 0.5)³ from 0.5 s on."""
    robot = two_link_arm()
    late = ca.fmax(robot.t - 0.5, 0)
    rows = [holonomic(robot.q[0] - 0.3, name="one"), holonomic(robot.q[0] - 0.3 - late**3, name="other")]
    controller = ProgramController(Program(robot, rows), method=LeastNormMultipliers())
    with pytest.raises(
        SimulationError, match=r"at t = 0\.5\d* s: Rows contradict each other: 'other' by 0\.\d+"
    ) as caught:
        simulate(robot, controller, [0.3, 0.8], np.zeros(2), 2.0, step=1e-2)
    assert caught.value.status is Status.CONTRADICTORY
    assert caught.value.trajectory.t[-1] == pytest.approx(0.51)


def test_bad_settings() -> None:
    with pytest.raises(ModelError, match="tolerance must be greater than zero"):
        LeastNormMultipliers(tolerance=0.0)
    with pytest.raises(ModelError, match="epsilon must be greater than zero"):
        ProximalMultipliers(epsilon=-1e-8)
    with pytest.raises(ModelError, match="steps must be a whole number of at least 1, got 0"):
        ProximalMultipliers(steps=0)
    with pytest.raises(ModelError, match="weight must be greater than zero"):
        AugmentedMultipliers(weight=0.0)
    with pytest.raises(ModelError, match="LdlMultipliers does not support dependent rows"):
        AugmentedMultipliers(method=LdlMultipliers())


@every_method
def test_a_row_that_is_off_reports_nothing(method: MultiplierMethod) -> None:
    """The second drive of a joint joins the first at 1 s; from 2 s on the third contradicts both."""
    robot = two_link_arm()
    rows = [
        holonomic(robot.q[0] - 0.3, name="one"),
        holonomic(2 * robot.q[0] - 0.6, name="joins", when=robot.t - 1.0),
        second_order(robot.coordinates.a[0] - 4.0, name="against", when=robot.t - 2.0),
    ]
    controller = ProgramController(Program(robot, rows), method=method)
    alone = ProgramController(Program(robot, rows[0]))
    q, v = [0.4, 0.8], [0.1, -0.2]
    truth = alone.solve(0.0, q, v)
    for t in (0.5, 1.5):
        found = controller.solve(t, q, v)
        assert found.status is Status.OK
        np.testing.assert_allclose(found.acceleration, truth.acceleration, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.force, truth.force, rtol=0, atol=1e-9)
        assert bool(found.multipliers[1] == 0.0) is (t < 1.0)
        assert found.multipliers[2] == 0.0
    against = controller.solve(2.5, q, v)
    assert against.status is Status.CONTRADICTORY
    assert "'against' by" in against.message


@every_method
def test_rows_nonlinear_in_the_accelerations_and_the_same_once_more(method: MultiplierMethod) -> None:
    """a₁² = 4 required twice, in two units: the branch a₁ = 2 of the guess is found, with the other joint free."""
    robot = two_link_arm()
    a = robot.coordinates.a[0]
    rows = [second_order(a**2 - 4.0, name="one"), second_order(3 * a**2 - 12.0, name="other")]
    q, v, guess = [0.4, 0.8], [0.1, -0.2], ca.DM([1.5, 0.0]).full()[:, 0]
    found = ProgramController(Program(robot, rows), method=method, acceleration_guess=guess).solve(0.0, q, v)
    truth = ProgramController(Program(robot, rows[0]), acceleration_guess=guess).solve(0.0, q, v)
    assert truth.acceleration[0] == pytest.approx(2.0, rel=1e-9)
    assert found.status is Status.OK, found.message
    np.testing.assert_allclose(found.acceleration, truth.acceleration, rtol=0, atol=1e-8)


@pytest.mark.parametrize("integrator", [RK4(), DOP853()], ids=["RK4", "DOP853"])
def test_a_contradiction_inside_a_step_ends_the_run_of_a_called_controller(integrator: Integrator) -> None:
    """Rows nonlinear in a are solved from Python; from 0.54 s on, between two samples, one row contradicts another."""
    robot = point_mass()
    a = robot.coordinates.a
    late = second_order(a[0] - 2.0, name="late", when=robot.t - 0.54)
    program = Program(robot, [size_of(a, 5.0), second_order(a[0] - 1.0, name="early"), late])
    controller = ProgramController(program, method=LeastNormMultipliers(), acceleration_guess=[1.0, 4.9])
    with pytest.raises(SimulationError, match="Rows contradict each other: 'late' by 1") as caught:
        simulate(robot, controller, [0.0, 0.0], [0.0, 0.0], 1.0, step=0.1, integrator=integrator)
    kept = caught.value.trajectory
    assert caught.value.status is Status.CONTRADICTORY
    # The step in which it is seen is lost, and with an adaptive one all samples inside.
    assert kept.t[-1] <= 0.5
    np.testing.assert_allclose(kept.v, np.outer(kept.t, [1.0, np.sqrt(24.0)]), atol=1e-9)
