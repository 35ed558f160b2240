"""Simulation: agreement of its paths with one another and with physics, how runs end, and bad input."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import holonomic, nonholonomic, second_order
from erugin.controllers import Controller, Program, ProgramController, Status, Tick, start_on
from erugin.robots import Link, Robot, lagrangian_system, planar_manipulator
from erugin.scenarios import simulate
from erugin.simulation import DOP853, RK4, SimulationError, SimulationInterrupted, Simulator
from erugin.symbolic import ModelError, ParameterError, Parameters, ShapeError

from ..support.arms import ELBOW, START, disc_program, three_link_arm, two_link_arm
from ..support.called_controller import Called
from ..support.systems import Array, outward_program


@pytest.mark.parametrize("realization", ["ideal", "actuated"])
@pytest.mark.parametrize("integrator", [RK4(), DOP853()])
def test_a_controller_without_a_law_gives_the_same_motion(integrator: RK4 | DOP853, realization: str) -> None:
    program = disc_program()
    inner = ProgramController(program, realization=realization)  # type: ignore[arg-type]
    called = Called(inner)
    q0, v0 = start_on(program, ELBOW, at=[(program.robot.points["tip"], START)])
    one = simulate(program.robot, inner, q0, 0 * v0, 0.3, step=2e-3, integrator=integrator)
    two = simulate(program.robot, called, q0, 0 * v0, 0.3, step=2e-3, integrator=integrator)
    assert called.resets == 1
    np.testing.assert_allclose(two.q, one.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(two.u, one.u, rtol=0, atol=1e-9)
    assert two.deviation.shape == (len(two), 0)
    assert np.abs(one.q[-1] - one.q[0]).max() > 0.01


@pytest.mark.parametrize("robot", [two_link_arm(), three_link_arm()], ids=["two links", "three links"])
def test_free_motion_keeps_its_energy(robot: Robot) -> None:
    n = robot.coordinates.nq
    motion = simulate(
        robot, None, np.linspace(0.3, 0.8, n), np.zeros(n), 10.0, step=1e-2, integrator=DOP853(1e-13, 1e-13)
    )
    assert np.ptp(motion.energy) / np.ptp(motion.evaluate(robot.kinetic_energy)) < 1e-10
    assert motion.u.shape == (len(motion), 0)


def test_energy_changes_by_the_work_of_the_inputs() -> None:
    program = disc_program()
    q0, v0 = start_on(program, ELBOW, at=[(program.robot.points["tip"], START)])
    motion = simulate(program.robot, ProgramController(program, realization="actuated"), q0, v0, 3.0, step=1e-3)
    power = (motion.u * motion.v).sum(axis=1)
    work = np.sum((power[1:] + power[:-1]) / 2) * 1e-3
    assert motion.energy[-1] - motion.energy[0] == pytest.approx(work, abs=1e-5)
    assert abs(work) > 1.0


def test_plant_and_model_may_differ() -> None:
    program = disc_program()
    controller = ProgramController(program, realization="actuated")
    q0, v0 = start_on(program, ELBOW, at=[(program.robot.points["tip"], START)])
    exact = simulate(program.robot, controller, q0, v0, 1.0, step=1e-3)
    by_number = simulate(program.robot, controller, q0, v0, 1.0, step=1e-3, p={"m2": 2.0})
    heavier = planar_manipulator([Link.point_mass(0.6, 2.5), Link.point_mass(0.5, 2.0)])
    by_model = simulate(heavier, controller, q0, v0, 1.0, step=1e-3)
    assert np.abs(by_number.deviation).max() > 1e3 * np.abs(exact.deviation).max()
    np.testing.assert_allclose(by_model.q, by_number.q, atol=1e-13)
    np.testing.assert_allclose(by_model.deviation, by_number.deviation, atol=1e-12)
    known = simulate(program.robot, controller, q0, v0, 1.0, step=1e-3, p={"m2": 2.0}, controller_p={"m2": 2.0})
    assert np.abs(known.deviation).max() < 1e-8


def test_deviation_of_order_two_uses_the_accelerations_of_the_plant() -> None:
    robot = two_link_arm()
    program = Program(robot, second_order(robot.coordinates.a[0] - 0.5))
    controller = ProgramController(program)
    exact = simulate(robot, controller, [0.3, 0.8], [0.0, 0.0], 0.1, step=1e-3)
    wrong = simulate(robot, controller, [0.3, 0.8], [0.0, 0.0], 0.1, step=1e-3, p={"m1": 3.0})
    assert np.abs(exact.deviation).max() < 1e-12
    assert np.abs(wrong.deviation).max() > 1e-2


def test_samples_lie_at_multiples_of_the_step_and_end_at_the_duration() -> None:
    robot = two_link_arm()
    seen: list[float] = []
    motion = simulate(robot, None, [0.3, 0.8], [0.0, 0.0], 0.25, step=1e-3, progress=seen.append)
    np.testing.assert_allclose(motion.t, np.arange(251) * 1e-3, atol=1e-15)
    uneven = simulate(robot, None, [0.3, 0.8], [0.0, 0.0], 0.25, step=0.11)
    np.testing.assert_allclose(uneven.t, [0.0, 0.25 / 3, 0.5 / 3, 0.25], atol=1e-15)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_the_order_of_rk4_is_four() -> None:
    robot, start = two_link_arm(), ([-1.2, 0.4], [0.0, 0.0])
    truth = simulate(robot, None, *start, 1.0, step=1.0, integrator=DOP853(1e-13, 1e-13)).q[-1]
    errors = [np.abs(simulate(robot, None, *start, 1.0, step=h).q[-1] - truth).max() for h in (8e-3, 4e-3, 2e-3)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(orders, 4.0, atol=0.25)


def test_one_simulator_serves_many_runs() -> None:
    program = disc_program()
    simulator = Simulator(program.robot, ProgramController(program, realization="actuated"))
    q0, v0 = start_on(program, ELBOW, at=[(program.robot.points["tip"], START)])
    first = simulator.run(q0, v0, 0.5, step=1e-3)
    other = simulator.run(q0, v0, 0.7, step=2e-3, p={"g": 1.6}, controller_p={"g": 1.6, "disc.radius": 0.2})
    again = simulator.run(q0, v0, 0.5, step=1e-3)
    np.testing.assert_array_equal(first.q, again.q)
    assert np.abs(other.u[0] - first.u[0]).max() > 1.0


def test_trajectories_are_read_only_and_evaluate_expressions() -> None:
    program = disc_program()
    robot = program.robot
    controller = ProgramController(program)
    motion = simulate(robot, controller, [0.3, 0.8], [0.1, 0.2], 0.05, step=1e-3, p={"l2": 0.55})
    with pytest.raises(ValueError, match="read-only"):
        motion.q[0, 0] = 1.0
    tip = motion.evaluate(robot.points["tip"])
    for k in (0, 20, 50):
        np.testing.assert_allclose(
            tip[k], robot.evaluate(robot.points["tip"], q=motion.q[k], p={"l2": 0.55}), atol=1e-15
        )
    np.testing.assert_allclose(
        motion.evaluate(robot.kinetic_energy + robot.potential_energy), motion.energy, atol=1e-12
    )
    assert motion.evaluate(program.parameters["disc.radius"]).shape == (51,)
    with pytest.raises(ModelError, match="scalar or a column"):
        motion.evaluate(robot.mass_matrix)
    with pytest.raises(ModelError, match="uses alien"):
        motion.evaluate(ca.SX.sym("alien"))
    assert motion.rows == ("follow[0]", "follow[1]")


def test_bad_input_is_refused_before_anything_runs() -> None:
    program = disc_program()
    robot, controller = program.robot, ProgramController(program)
    q0, v0 = [0.3, 0.8], [0.0, 0.0]
    with pytest.raises(ModelError, match=r"step must be greater than zero, got -0\.001"):
        simulate(robot, controller, q0, v0, 1.0, step=-1e-3)
    with pytest.raises(ModelError, match="duration must be finite, got nan"):
        simulate(robot, controller, q0, v0, np.nan, step=1e-3)
    with pytest.raises(ShapeError, match=r"q0 must have shape \(2,\) or \(batch, 2\), got shape \(3,\)"):
        simulate(robot, controller, [0.0, 0.0, 0.0], v0, 1.0, step=1e-3)
    with pytest.raises(ShapeError, match=r"v0\[0\] is inf"):
        simulate(robot, controller, q0, [np.inf, 0.0], 1.0, step=1e-3)
    with pytest.raises(ParameterError, match=r"unknown parameter 'm3'\. Did you mean 'm[12]'"):
        simulate(robot, controller, q0, v0, 1.0, step=1e-3, p={"m3": 1.0})
    with pytest.raises(ParameterError, match=r"'disc\.radius' must be greater than zero, got -0\.1"):
        simulate(robot, controller, q0, v0, 1.0, step=1e-3, controller_p={"disc.radius": -0.1})
    with pytest.raises(ModelError, match="stop must be a scalar"):
        simulate(robot, controller, q0, v0, 1.0, step=1e-3, stop=robot.q)
    with pytest.raises(ModelError, match="stop uses alien"):
        simulate(robot, controller, q0, v0, 1.0, step=1e-3, stop=ca.SX.sym("alien"))
    with pytest.raises(
        ModelError, match=r"3 links has \(nq, nv, nu\) = \(3, 3, 3\), but the controller was built for .*2 links"
    ):
        simulate(three_link_arm(), controller, [0.0] * 3, [0.0] * 3, 1.0, step=1e-3)


def test_a_controller_that_returns_the_wrong_shape_is_named() -> None:
    class Wrong(Called):
        def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
            return Tick(np.zeros(3))

    program = disc_program()
    with pytest.raises(ModelError, match=r"Wrong\.evaluate must return an output of shape \(2,\), got shape \(3,\)"):
        simulate(program.robot, Wrong(ProgramController(program)), [0.3, 0.8], [0.0, 0.0], 0.1, step=1e-3)


def test_natural_constraints_hold_in_free_motion() -> None:
    q, v = ca.SX.sym("x", 1), ca.SX.sym("v", 1)
    x = ca.vertcat(q, ca.SX.sym("y"))
    w = ca.vertcat(v, ca.SX.sym("w"))
    p = Parameters.declare({"m": 1.0, "g": 9.81})
    slope = nonholonomic(w[1] + 0.5 * w[0], name="slope")
    robot = lagrangian_system(q=x, v=w, p=p, T=p["m"] * ca.sumsqr(w) / 2, V=p["m"] * p["g"] * x[1], natural=[slope])
    motion = simulate(robot, None, [0.0, 0.0], [0.0, 0.0], 1.0, step=1e-2)
    # A bead on a straight slope of −1/2: acceleration g·sin·cos along x.
    np.testing.assert_allclose(motion.q[:, 0], 9.81 * 0.4 * motion.t**2 / 2, atol=1e-12)
    np.testing.assert_allclose(motion.q[:, 1], -0.5 * motion.q[:, 0], atol=1e-12)
    reaction = robot.evaluate(robot.reactions, q=[0.0, 0.0], v=[0.0, 0.0])
    assert float(reaction) == pytest.approx(9.81 * 0.8)


def test_a_parameter_given_to_the_wrong_side_is_refused_with_the_right_one() -> None:
    program = disc_program()
    with pytest.raises(ParameterError, match=r"'disc\.radius' is a parameter of the controller.*controller_p="):
        simulate(
            program.robot, ProgramController(program), [0.3, 0.8], [0.0, 0.0], 0.1, step=0.01, p={"disc.radius": 1}
        )


def test_a_program_is_no_controller() -> None:
    program = disc_program()
    with pytest.raises(ModelError, match=r"ProgramController\(program\)"):
        simulate(program.robot, program, [0.3, 0.8], [0.0, 0.0], 0.1, step=0.01)  # type: ignore[arg-type]


def runaway() -> Robot:
    """ẍ = x³: leaves every bound in finite time."""
    q, v = ca.SX.sym("x"), ca.SX.sym("v")
    return lagrangian_system(q=q, v=v, T=v**2 / 2, V=-(q**4) / 4, name="runaway")


def test_an_arm_driven_to_full_stretch_stops_with_what_was_computed() -> None:
    program = outward_program()
    controller = ProgramController(program, realization="actuated")
    q0, v0 = start_on(program, [-0.5, 1.4], at=[(program.robot.points["tip"], (0.5, 0.3))])
    with pytest.raises(SimulationError, match=r"'follow\[1\]' depends on 'follow\[0\]', .* the next step") as caught:
        simulate(program.robot, controller, q0, v0, 10.0, step=1e-3)
    kept = caught.value.trajectory
    assert caught.value.status is Status.SINGULAR
    assert kept.status[-1] == Status.SINGULAR
    assert not kept.status[:-1].any()
    assert not kept.ok
    # It stops where the reach of 1.1 m ends, with numbers that still mean something.
    reach = np.linalg.norm(kept.evaluate(program.robot.points["tip"]), axis=1)
    assert 1.0999 < reach[-1] <= 1.1
    assert np.isfinite(kept.q).all()
    assert np.isfinite(kept.u).all()
    assert kept.ending in str(caught.value)
    assert np.abs(kept.deviation[:-5]).max() < 1e-6


@pytest.mark.parametrize("step", [1e-4, 5e-4, 2e-3, 5e-3])
@pytest.mark.parametrize("direction", [0.0, 0.2, np.pi / 2, -2.5])
def test_the_stretched_position_is_predicted_at_every_step_and_in_every_direction(
    step: float, direction: float
) -> None:
    along = np.array([np.cos(direction), np.sin(direction)])
    program = outward_program(0.5 * along, 1.5 * along)
    guess = np.array([direction - 1.0, 1.9])
    q0, v0 = start_on(program, guess, at=[(program.robot.points["tip"], 0.5 * along)])
    with pytest.raises(SimulationError) as caught:
        simulate(program.robot, ProgramController(program), q0, v0, 10.0, step=step)
    assert caught.value.status is Status.SINGULAR
    reach = np.linalg.norm(caught.value.trajectory.evaluate(program.robot.points["tip"]), axis=1)
    assert reach[-1] == pytest.approx(1.1, abs=2e-3)


def test_a_single_row_that_vanishes_is_predicted() -> None:
    robot = two_link_arm()
    program = Program(robot, holonomic(robot.points["tip"][0] - 0.8 - 0.1 * robot.t, name="reach"))
    q0, v0 = start_on(program, [-0.4, 0.9])
    with pytest.raises(SimulationError, match=r"'reach' vanishes within the next step: .* to 0\.00") as caught:
        simulate(robot, ProgramController(program), q0, v0, 10.0, step=1e-3)
    kept = caught.value.trajectory
    # The reach of 1.1 m ends at 3 s; the row's pivot, which has a unit and so no tolerance, halves in each step before.
    assert 2.95 < kept.t[-1] < 3.0
    # The other degree of freedom is left free and swings, faster and faster.
    assert np.abs(kept.deviation[kept.t < 2.0]).max() < 1e-8


def test_a_called_controller_that_refuses_a_singular_state_stops_the_run() -> None:
    program = outward_program()
    q0, v0 = start_on(program, [-0.5, 1.4], at=[(program.robot.points["tip"], (0.5, 0.3))])
    called = Called(ProgramController(program, tolerance=1e-3))
    with pytest.raises(SimulationError) as caught:
        simulate(program.robot, called, q0, v0, 10.0, step=2e-3)
    assert caught.value.trajectory.t[-1] > 1.0
    assert caught.value.status is Status.DIVERGED


@pytest.mark.parametrize(
    ("integrator", "message", "status"),
    [
        (RK4(), r"the velocity of x = .* exceeds the bound of 1e\+12.*diverged", Status.DIVERGED),
        (DOP853(), r"not finite: x\b.*diverged", Status.NOT_FINITE),
    ],
)
def test_a_state_that_leaves_every_bound_is_reported(integrator: RK4 | DOP853, message: str, status: Status) -> None:
    with pytest.raises(SimulationError, match=message) as caught:
        simulate(runaway(), None, [2.0], [0.0], 5.0, step=1e-3, integrator=integrator)
    kept = caught.value.trajectory
    assert caught.value.status is status
    assert 0.5 < kept.t[-1] < 2.0
    assert np.isfinite(kept.q[:-1]).all()


def test_an_interrupt_keeps_what_was_computed() -> None:
    def interrupt(share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    robot = two_link_arm()
    with pytest.raises(SimulationInterrupted, match="interrupted at t = ") as caught:
        simulate(robot, None, [0.3, 0.8], [0.0, 0.0], 1.0, step=1e-3, progress=interrupt)
    kept = caught.value.trajectory
    whole = simulate(robot, None, [0.3, 0.8], [0.0, 0.0], 1.0, step=1e-3)
    assert 400 < len(kept) < 700
    np.testing.assert_array_equal(kept.q, whole.q[: len(kept)])
    assert isinstance(caught.value, KeyboardInterrupt)


def test_the_stop_condition_ends_a_run_at_its_first_sample() -> None:
    robot = two_link_arm()
    motion = simulate(robot, None, [0.3, 0.8], [0.0, 0.0], 5.0, step=1e-3, stop=-robot.q[0])
    assert motion.q[-1, 0] < 0.0 <= motion.q[-2, 0]
    assert motion.ending == f"the stop condition holds at t = {motion.t[-1]:g} s"
    assert motion.ok


def test_the_stop_condition_may_use_parameters_of_the_controller() -> None:
    program = disc_program()
    inner = ProgramController(program, realization="actuated")
    q0, v0 = start_on(program, ELBOW, at=[(program.robot.points["tip"], START)])
    stop = program.robot.points["tip"][1] - program.parameters["path.start_y"] - 0.1
    ends = [simulate(program.robot, c, q0, v0, 3.0, step=5e-3, stop=stop).t[-1] for c in (inner, Called(inner))]
    assert ends[0] == ends[1] < 2.0


class Table(Controller):
    """Torques from a list, one per call; raises the given exception after the last."""

    def __init__(self, robot: Robot, count: int, error: BaseException) -> None:
        self.robot, self.left, self.error = robot, count, error

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        if self.left == 0:
            raise self.error
        self.left -= 1
        return Tick(np.array([20.0, 5.0]))


def test_a_controller_is_not_called_beyond_the_end() -> None:
    # Five calls per step, one more for the last sample.
    controller = Table(two_link_arm(), 5 * 7 + 1, IndexError("table ended"))
    motion = simulate(controller.robot, controller, [0.3, 0.8], [0.0, 0.0], 0.07, step=0.01)
    assert len(motion) == 8
    assert controller.left == 0


def test_what_a_controller_raises_is_the_cause_and_nothing_is_lost() -> None:
    controller = Table(two_link_arm(), 5 * 130, IndexError("table ended"))
    with pytest.raises(SimulationError, match="IndexError: table ended") as caught:
        simulate(controller.robot, controller, [0.3, 0.8], [0.0, 0.0], 2.0, step=0.01)
    assert caught.value.status is Status.FAILED
    assert isinstance(caught.value.__cause__, IndexError)
    assert len(caught.value.trajectory) == 130


def test_an_interrupt_within_a_called_controller_keeps_the_steps_before() -> None:
    controller = Table(two_link_arm(), 5 * 90, KeyboardInterrupt())
    with pytest.raises(SimulationInterrupted) as caught:
        simulate(controller.robot, controller, [0.3, 0.8], [0.0, 0.0], 2.0, step=0.01)
    assert len(caught.value.trajectory) == 90


def test_a_singular_mass_matrix_is_not_blamed_on_the_program() -> None:
    robot = planar_manipulator([Link(0.5, 1.0, 0.5, 0.0), Link(0.5, 1.0, 0.0, 0.0)])
    solution = ProgramController(Program(robot, nonholonomic(robot.v))).solve(0.0, [0.1, 0.2], [0.0, 0.0])
    assert solution.status is Status.NOT_FINITE
    assert "mass matrix is singular" in solution.message


@pytest.mark.parametrize("calls", [1, 3, 4])
def test_the_sample_before_a_failing_step_stays(calls: int) -> None:
    """Observed with one call, at t = 0.2; the stages of the step after it fail."""
    controller = Table(two_link_arm(), 5 * 20 + calls, IndexError("table ended"))
    with pytest.raises(SimulationError, match=r"in the step after t = 0\.2 s") as caught:
        simulate(controller.robot, controller, [0.3, 0.8], [0.0, 0.0], 2.0, step=0.01)
    assert len(caught.value.trajectory) == 21
    assert caught.value.trajectory.u[-1].tolist() == [20.0, 5.0]
