"""What ends a run before its time, and what is handed back then."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.constraints import EruginField, FirstOrder, follow, holonomic, line, nonholonomic
from erugin.controllers import Controller, Program, ProgramController, Status, start_on
from erugin.robots import Link, Robot, lagrangian_system, planar_manipulator
from erugin.scenarios import simulate
from erugin.simulation import DOP853, RK4, SimulationError, SimulationInterrupted

from .arms import ELBOW, START, disc_program, two_link_arm
from .called import Called

Array = NDArray[np.float64]


def outward_program(
    start: Array | tuple[float, float] = (0.5, 0.3), end: Array | tuple[float, float] = (1.5, 0.5)
) -> Program:
    """The tip is sent along a line that leaves the reach of the arm."""
    robot = two_link_arm()
    field = EruginField(line(tuple(start), tuple(end)), speed=0.2)
    return Program(robot, follow(field, robot.points["tip"], perturbation=FirstOrder(10.0)))


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
def test_the_stretch_is_seen_coming_at_every_step_and_in_every_direction(step: float, direction: float) -> None:
    along = np.array([np.cos(direction), np.sin(direction)])
    program = outward_program(0.5 * along, 1.5 * along)
    guess = np.array([direction - 1.0, 1.9])
    q0, v0 = start_on(program, guess, at=[(program.robot.points["tip"], 0.5 * along)])
    with pytest.raises(SimulationError) as caught:
        simulate(program.robot, ProgramController(program), q0, v0, 10.0, step=step)
    assert caught.value.status is Status.SINGULAR
    reach = np.linalg.norm(caught.value.trajectory.evaluate(program.robot.points["tip"]), axis=1)
    assert reach[-1] == pytest.approx(1.1, abs=2e-3)


def test_a_single_row_that_vanishes_is_seen_coming() -> None:
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
    ("integrator", "said", "status"),
    [
        (RK4(), r"the velocity of x = .* exceeds the bound of 1e\+12.*run away", Status.DIVERGED),
        (DOP853(), r"not finite: x\b.*diverged", Status.NOT_FINITE),
    ],
)
def test_a_state_that_leaves_every_bound_is_reported(integrator: RK4 | DOP853, said: str, status: Status) -> None:
    with pytest.raises(SimulationError, match=said) as caught:
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
    """Torques from a list, one per call, that raises what it is told to after the last."""

    def __init__(self, robot: Robot, count: int, error: BaseException) -> None:
        self.robot, self.left, self.error = robot, count, error

    def control(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> NDArray[np.float64]:
        if self.left == 0:
            raise self.error
        self.left -= 1
        return np.array([20.0, 5.0])


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
