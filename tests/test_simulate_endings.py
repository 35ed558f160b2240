"""What ends a run before its time, and what is handed back then."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import EruginField, FirstOrder, follow, holonomic, line
from erugin.controllers import Program, ProgramController, Status, start_on
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import DOP853, RK4, SimulationError, SimulationInterrupted, simulate

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
    with pytest.raises(SimulationError, match=r"Row 'follow\[1\]' depends on 'follow\[0\]'") as caught:
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
    with pytest.raises(SimulationError, match="Row 'reach' vanishes") as caught:
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
    assert caught.value.status is Status.NOT_FINITE


@pytest.mark.parametrize("integrator", [RK4(), DOP853()])
def test_a_state_that_leaves_every_bound_is_reported(integrator: RK4 | DOP853) -> None:
    with pytest.raises(SimulationError, match=r"not finite: x\b.*diverged") as caught:
        simulate(runaway(), None, [2.0], [0.0], 5.0, step=1e-3, integrator=integrator)
    kept = caught.value.trajectory
    assert caught.value.status is Status.NOT_FINITE
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
