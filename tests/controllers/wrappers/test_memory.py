"""Wrappers forget, go back and recover as a whole: with crossings, shared laws and samples that were refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import Controller, ProgramController, Reference, Status
from erugin.controllers.baselines import NonlinearMPC
from erugin.controllers.wrappers import Delay, Fallback, MotorLag, Noise, RateLimit, SampleAndHold, Saturation
from erugin.scenarios import simulate
from erugin.simulation import DOP853, RK4, Integrator, Phase, simulate_phases
from erugin.symbolic import ParameterError, SingularProgramError

from ...support.arms import disc_program
from ...support.rail import Feedback, Signal, outputs, rail
from ...support.remembering_controllers import Recorder

Array = NDArray[np.float64]


@pytest.mark.parametrize("integrator", [RK4(), DOP853()])
def test_a_crossing_in_the_first_step_goes_back_to_before_the_first_sample(integrator: Integrator) -> None:
    """Under u = 0.5 from rest the mass is at 0.01 after 0.2 s, in the first step of 0.25 s."""
    robot = rail()
    law = Signal(robot, lambda t: 0.5 if t == 0.0 else -100.0)
    controller = Saturation(Delay(SampleAndHold(law, 0.25), 0.01, initial=0.5), 200.0)
    phase = Phase(controller, until=robot.q[0] - 0.01)
    run = simulate_phases(robot, [phase], [0.0], [0.0], 1.0, step=0.25, integrator=integrator).segments[0]
    np.testing.assert_allclose(run.t, [0.0, 0.2], atol=1e-9)
    np.testing.assert_array_equal(run.u[:, 0], [0.5, 0.5])
    assert isinstance(controller.inner, Delay)
    own = controller.inner.parts(controller.parts(controller.memory).inner).outer
    assert own is not None
    times = controller.inner.memory_layout(len(own)).numbers(own)["command_times"]
    np.testing.assert_array_equal(times, run.t)


def test_a_crossing_with_a_law_that_starts_without_a_memory() -> None:
    robot = rail()
    law = NonlinearMPC(Reference.at_rest(robot, [0.0]), rate=2.0)
    runs = [
        simulate_phases(robot, [Phase(controller, until=0.99 - robot.q[0])], [1.0], [0.0], 1.0, step=0.1).segments[0]
        for controller in (law, Saturation(law, 100.0), Fallback(Signal(robot, lambda t: np.nan), law))
    ]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.t, runs[0].t)
        np.testing.assert_array_equal(run.q, runs[0].q)
    push = runs[0].u[0, 0]
    assert runs[0].t[1] == pytest.approx(np.sqrt(2 * 0.01 / -push), abs=1e-9)


def test_one_law_serves_in_several_wrappers_at_a_time() -> None:
    robot = rail()
    law = NonlinearMPC(Reference.at_rest(robot, [0.0]), rate=5.0)
    one, other = Saturation(law, 100.0), Saturation(law, 0.5)
    other.advance(3.0, [1.0], [0.0])
    one.advance(0.0, [0.2], [0.0])
    assert other.control(3.0, [1.0], [0.0])[0] == -0.5
    alone = NonlinearMPC(Reference.at_rest(robot, [0.0]), rate=5.0)
    alone.advance(0.0, [0.2], [0.0])
    assert one.control(0.0, [0.2], [0.0])[0] == alone.control(0.0, [0.2], [0.0])[0]


def broken(t: float) -> float:
    """t, but NaN at 1.0 s ≤ t < 2.0 s."""
    return np.nan if 0.95 <= t < 1.95 else t


def moody(*, by_error: bool) -> Controller:
    """u = t, but refused at 1.0 s ≤ t < 2.0 s, by an error or by NaN."""

    def signal(t: float) -> float:
        if by_error and np.isnan(broken(t)):
            raise SingularProgramError("row 'a' vanishes")
        return broken(t)

    return Signal(rail(), signal)


@pytest.mark.parametrize("by_error", [False, True])
@pytest.mark.parametrize(
    ("drive", "late"),
    [
        (lambda c: RateLimit(c, 1e6), 1),
        (lambda c: MotorLag(c, 1e-4), 1),
        (lambda c: Delay(c, 1e-4), 1),
        (lambda c: Noise(c, u=1e-9), 0),
    ],
)
def test_a_drive_behind_a_sampled_law_that_refused_continues_when_it_no_longer_does(
    drive: Callable[[Controller], Controller], late: int, by_error: bool
) -> None:
    """At a tick a quick drive is where the law wanted it before."""
    controller = Fallback(drive(SampleAndHold(moody(by_error=by_error), 0.1)))
    motion = simulate(controller.robot, controller, [0.0], [0.0], 3.0, step=0.1)
    np.testing.assert_array_equal(np.flatnonzero(motion.status == Status.HELD), np.arange(10, 20))
    np.testing.assert_allclose(motion.u[21:, 0], motion.t[21 - late : 31 - late], atol=1e-7)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("drive", [lambda c: RateLimit(c, 1e6), lambda c: MotorLag(c, 1e-4)])
def test_nan_does_not_corrupt_the_state_of_a_drive(drive: Callable[[Controller], Controller], late: bool) -> None:
    """Its own output depends on what it was: NaN would stay for ever, also from a law that says it a sample late."""
    controller = drive(Recorder(rail(), broken) if late else moody(by_error=False))
    for t in np.arange(31) * 0.1:
        controller.advance(float(t), [0.0], [0.0])
    assert controller.control(3.0, [0.0], [0.0])[0] == pytest.approx(2.9 if late else 3.0, abs=1e-3)


def test_a_mistake_in_the_call_costs_no_tick() -> None:
    law = ProgramController(disc_program(), realization="actuated")
    controller = SampleAndHold(law, 0.1)
    q, v = [-0.9, 1.4], [0.0, 0.0]
    with pytest.raises(ParameterError, match="unknown parameter 'masss'"):
        controller.advance(0.0, q, v, {"masss": 1.0})
    controller.advance(0.0, q, v)
    np.testing.assert_array_equal(controller.control(0.0, q, v), law.control(0.0, q, v))
    for call in (controller.advance, controller.control, controller.observe):
        with pytest.raises(ParameterError, match="unknown parameter 'masss'"):
            call(0.05, q, v, {"masss": 1.0})


def test_a_command_that_jumps_in_a_moment_finds_a_lag_where_it_was() -> None:
    """Over 1e-13 s, as a search for a crossing takes: T u̇ = c − u is 20/s at most."""
    step = Signal(rail(), lambda t: 1.0 if t <= 1.0 else 2.0)
    times = np.append(np.linspace(0.0, 1.0, 101), 1.0 + 1e-13)
    found = outputs(MotorLag(step, 0.05), times, np.zeros(len(times)))
    assert found[101] == pytest.approx(found[100], abs=1e-11)


def test_two_runs_through_everything_are_the_same() -> None:
    robot = rail()
    law = Feedback(robot, [[4.0, 3.0]])
    stack = Noise(MotorLag(RateLimit(Delay(SampleAndHold(law, 0.03), 0.02), 50.0), 0.01), q=1e-3, u=1e-3, seed=2)
    first = simulate(robot, stack, [1.0], [0.0], 1.0, step=0.01)
    again = simulate(robot, stack, [1.0], [0.0], 1.0, step=0.01)
    np.testing.assert_array_equal(first.q, again.q)
    assert abs(first.q[-1, 0]) < 0.3
