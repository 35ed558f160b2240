"""Simulation of a controller with memory: one sample at a time, in order, and reset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.constraints import holonomic
from erugin.controllers import Status
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import (
    DOP853,
    RK4,
    Integrator,
    Phase,
    PhasedSimulationError,
    PhasedSimulationInterrupted,
    Projected,
    Reduced,
    SimulationError,
    SimulationInterrupted,
    Simulator,
    simulate_phases,
)
from erugin.symbolic import NotConvergedError

from ..support.integrators import METHODS
from ..support.remembering_controllers import Recorder, Troubled

Array = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]


def mass(*, on_a_line: bool = False) -> Robot:
    """A unit mass in the plane, pushed along x."""
    q, v, u = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("u")
    natural = [holonomic(q[1], name="line")] if on_a_line else []
    return lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, Q=ca.vertcat(u, 0), u=u, natural=natural, name="mass")


def pushed(times: Floats, schedule: Floats) -> tuple[Array, Array]:
    """Place and speed at samples under an input that is constant from one to the next, from rest."""
    h = np.diff(times)
    speed = np.concatenate([[0.0], np.cumsum(schedule[:-1] * h)])
    place = np.concatenate([[0.0], np.cumsum(speed[:-1] * h + schedule[:-1] * h**2 / 2)])
    return place, speed


@pytest.mark.sampled
@pytest.mark.parametrize(("integrator", "misses"), METHODS.items(), ids=repr)
def test_a_controller_records_every_sample_once_and_is_called_in_between_with_the_last(
    integrator: Integrator, misses: tuple[float, float]
) -> None:
    """250 steps are three blocks of an integrator; what is tried within a step belongs to the sample before it."""
    # Reduced is another method only where there are natural constraints.
    robot = mass(on_a_line=isinstance(integrator, Reduced | Projected))
    controller = Recorder(robot, lambda t: np.cos(3 * t))
    motion = simulate(robot, controller, [0.0, 0.0], [0.0, 0.0], 2.5, step=1e-2, integrator=integrator)
    assert controller.times == tuple(motion.t)
    for t, samples in controller.asked:
        last = controller.times[samples - 1]
        assert last - 1e-12 <= t <= last + 1e-2 + 1e-12
    place, speed = pushed(motion.t, np.cos(3 * motion.t))
    np.testing.assert_allclose(motion.q[:, 0], place, atol=misses[0])
    np.testing.assert_allclose(motion.v[:, 0], speed, atol=misses[1])
    np.testing.assert_allclose(motion.u[:, 0], np.cos(3 * motion.t), atol=1e-15)


def test_a_run_starts_without_the_memory_of_the_one_before_and_repeats_it() -> None:
    robot = mass()
    controller = Recorder(robot, lambda t: 1.0 - t)
    simulator = Simulator(robot, controller)
    first = simulator.run([0.0, 0.0], [0.0, 0.0], 0.5, step=0.1)
    second = simulator.run([0.0, 0.0], [0.0, 0.0], 0.5, step=0.1)
    assert controller.times == tuple(second.t)
    np.testing.assert_array_equal(first.q, second.q)


@pytest.mark.parametrize("integrator", [RK4(), DOP853()])
def test_a_crossing_is_sought_with_the_memory_of_the_sample_before_it(integrator: Integrator) -> None:
    """With u = t_k the mass is at 0.5 at an instant that the sums of a step give exactly."""
    robot = mass()
    controller = Recorder(robot)
    until = Phase(controller, until=robot.q[0] - 0.5)
    h = 0.13
    motion = simulate_phases(robot, [until], [0.0, 0.0], [0.0, 0.0], 3.0, step=h, integrator=integrator)
    run = motion.segments[0]
    # The grid that the run has: 3 s divided by the steps that fit.
    samples = np.arange(24) * (3.0 / 24)
    place, speed = pushed(samples, samples)
    k = int(np.argmax(place > 0.5)) - 1
    rest = (-speed[k] + np.sqrt(speed[k] ** 2 + 2 * samples[k] * (0.5 - place[k]))) / samples[k]
    assert run.t[-1] == pytest.approx(samples[k] + rest, abs=1e-9)
    assert controller.times == tuple(run.t)
    np.testing.assert_allclose(run.u[:, 0], run.t, atol=1e-12)


def test_a_condition_met_at_a_sample_leaves_the_memory_of_that_sample() -> None:
    robot = mass()
    controller = Recorder(robot, lambda t: 0.0)
    phase = Phase(controller, until=robot.q[0] - 0.5)
    motion = simulate_phases(robot, [phase], [0.0, 0.0], [1.0, 0.0], 1.0, step=0.25, tolerance=0.2)
    assert controller.times == tuple(motion.segments[0].t)


@pytest.mark.parametrize("integrator", METHODS, ids=repr)
def test_a_trajectory_keeps_each_status_and_the_note_at_its_change(integrator: Integrator) -> None:
    robot = mass(on_a_line=isinstance(integrator, Reduced | Projected))
    controller = Troubled(robot, limited=0.295, held=0.695)
    motion = simulate(robot, controller, [0.0, 0.0], [1.0, 0.0], 1.0, step=0.1, integrator=integrator)
    expected = [Status.OK] * 3 + [Status.LIMITED] * 4 + [Status.HELD] * 4
    assert list(motion.status) == expected
    assert not motion.ok
    times, message = zip(*motion.notes, strict=True)
    np.testing.assert_allclose(times, [0.3, 0.7])
    assert message == ("too weak", Status.HELD.sentence)
    assert motion.ending == "the duration is over"


def test_a_note_on_a_sample_that_a_crossing_cuts_off_goes_with_it() -> None:
    """The condition holds from 0.45 s on: the note of 0.5 s does not appear, unless it is true at 0.45 s."""
    robot = mass()
    start = ([0.0, 0.0], [1.0, 0.0], 1.0)
    until = robot.q[0] - 0.45
    late = Troubled(robot, limited=0.48, held=2.0)
    run = simulate_phases(robot, [Phase(late, until=until)], *start, step=0.1).segments[0]
    assert run.t[-1] == pytest.approx(0.45)
    assert run.notes == ()
    assert run.ok
    early = Troubled(robot, limited=0.42, held=2.0)
    run = simulate_phases(robot, [Phase(early, until=until)], *start, step=0.1).segments[0]
    assert [message for _, message in run.notes] == ["too weak"]
    assert run.notes[0][0] == run.t[-1]
    assert list(run.status) == [Status.OK] * 5 + [Status.LIMITED]
    before = Troubled(robot, limited=0.25, held=2.0)
    run = simulate_phases(robot, [Phase(before, until=until)], *start, step=0.1).segments[0]
    assert [round(t, 9) for t, _ in run.notes] == [0.3]


@pytest.mark.parametrize("integrator", [RK4(), DOP853()])
def test_an_interrupt_in_a_sample_keeps_what_came_before_it(integrator: Integrator) -> None:
    robot = mass()
    controller = Troubled(robot, limited=0.1, held=0.2, stop=0.55)
    with pytest.raises(SimulationInterrupted) as caught:
        simulate(robot, controller, [0.0, 0.0], [1.0, 0.0], 1.0, step=0.1, integrator=integrator)
    kept = caught.value.trajectory
    np.testing.assert_allclose(kept.t, np.arange(6) * 0.1)
    np.testing.assert_allclose(kept.q[:, 0], kept.t, atol=1e-12)
    assert controller.memory == 6
    assert [round(t, 9) for t, _ in kept.notes] == [0.1, 0.2]


def test_a_controller_that_has_no_safe_output_ends_the_run_with_its_reason() -> None:
    robot = mass()
    controller = Troubled(robot, limited=0.1, held=2.0, lost=0.55)
    with pytest.raises(SimulationError, match="no way out") as caught:
        simulate(robot, controller, [0.0, 0.0], [1.0, 0.0], 1.0, step=0.1)
    assert caught.value.status is Status.NOT_CONVERGED
    assert list(caught.value.trajectory.status) == [0, *[Status.LIMITED] * 4, Status.NOT_CONVERGED]
    assert len(caught.value.trajectory.notes) == 1


class Beyond(Recorder):
    """Fails at samples that no run on a grid of 0.1 s has."""

    def __init__(self, robot: Robot, error: BaseException) -> None:
        super().__init__(robot, lambda t: 0.0)
        self.error = error

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> None:
        super().advance(t, q, v, p)
        if abs(t - round(t, 1)) > 1e-6:
            raise self.error


def test_what_came_before_is_kept_when_a_search_for_a_crossing_fails_or_is_interrupted() -> None:
    robot = mass()

    def run(error: BaseException) -> None:
        phase = Phase(Beyond(robot, error), until=robot.q[0] - 0.55)
        simulate_phases(robot, [phase], [0.0, 0.0], [1.0, 0.0], 1.0, step=0.1)

    with pytest.raises(PhasedSimulationError, match="no way out") as failed:
        run(NotConvergedError("no way out"))
    assert failed.value.status is Status.NOT_CONVERGED
    np.testing.assert_allclose(failed.value.trajectory.t, np.arange(6) * 0.1)
    assert list(failed.value.trajectory.segments[0].status) == [*[Status.OK] * 5, Status.NOT_CONVERGED]
    with pytest.raises(PhasedSimulationInterrupted) as stopped:
        run(KeyboardInterrupt())
    np.testing.assert_allclose(stopped.value.trajectory.t, np.arange(6) * 0.1)
    assert stopped.value.trajectory.segments[0].ok
