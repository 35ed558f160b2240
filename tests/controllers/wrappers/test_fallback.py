"""Supervision of a law that fails, and the fallback law that takes over."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.constraints import EruginField, FirstOrder, follow, holonomic, line, second_order
from erugin.controllers import Controller, Program, ProgramController, Reference, Status, Tick, start_on
from erugin.controllers.baselines import PDGravity
from erugin.controllers.multipliers import LeastNormMultipliers
from erugin.controllers.wrappers import (
    Delay,
    Dropout,
    Encoders,
    Fallback,
    MotorLag,
    Noise,
    RateLimit,
    SampleAndHold,
    Saturation,
)
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.simulation import DOP853, SimulationError
from erugin.symbolic import (
    ModelError,
    NotFiniteError,
    NotFiniteInputError,
    ParameterError,
    ShapeError,
    SingularProgramError,
)

from ...support.arms import ELBOW, START, disc_program, two_link_arm
from ...support.rail import Feedback, Signal, rail
from ...support.remembering_controllers import Recorder

Array = NDArray[np.float64]


def refusing(t: float) -> float:
    raise SingularProgramError(f"row 'a' vanishes at {t:g}")


def test_each_law_gets_its_own_parameters() -> None:
    """A program's law, beside a PD with gains of its own, in a run that varies both."""
    program = disc_program()
    robot = program.robot
    law = ProgramController(program, realization="actuated")
    pd = PDGravity(robot, Reference.at_rest(robot, [-0.9, 1.4]))
    both = Fallback(law, pd)
    assert both.parameters.names[: len(law.parameters)] == law.parameters.names
    assert both.parameters.names[len(law.parameters) :] == ("pd.rate", "pd.inertia_q1", "pd.inertia_q2")
    p = {"disc.radius": 0.2, "pd.rate": 5.0, "m1": 1.3}
    q, v = np.array([-0.8, 1.3]), np.array([0.1, -0.2])
    both.advance(0.0, q, v, p)
    mine = {name: p[name] for name in ("disc.radius", "m1")}
    np.testing.assert_array_equal(both.control(0.0, q, v, p), law.control(0.0, q, v, mine))
    a = np.array([0.3, 0.4])
    np.testing.assert_array_equal(both.deviation(0.0, q, v, a, p), law.deviation(0.0, q, v, a, mine))
    motion = simulate(robot, both, q, v, 0.05, step=0.01, controller_p=p)
    assert motion.ok
    assert np.isfinite(motion.deviation).all()
    # The other way round, what the program does not do is done by the PD with its gains.
    stretched = np.array([-0.8, 0.0])
    both = Fallback(ProgramController(program, realization="actuated", tolerance=1e-2), pd)
    both.advance(0.0, stretched, v, p)
    assert both.observe(0.0, stretched, v, p).status is Status.HELD
    theirs = {name: p[name] for name in ("pd.rate", "m1")}
    np.testing.assert_array_equal(both.control(0.0, stretched, v, p), pd.control(0.0, stretched, v, theirs))


def test_a_law_that_takes_over_reports_its_own_errors() -> None:
    robot = rail()
    weak = Saturation(Signal(robot, lambda t: 3.0), 2.0)
    controller = Fallback(Signal(robot, refusing), weak)
    controller.advance(0.0, [0.0], [0.0])
    reported = controller.observe(0.0, [0.0], [0.0])
    assert reported.status is Status.HELD
    assert reported.output[0] == 2.0
    assert reported.message.startswith("Another law has taken over: row 'a' vanishes at 0 input 'u' would be 3")


@pytest.mark.parametrize("lost", [refusing, lambda t: np.nan])
def test_where_both_refuse_nothing_that_is_no_number_comes_out(lost: object) -> None:
    robot = rail()
    other = Signal(robot, lost)  # type: ignore[arg-type]
    controller = Fallback(Signal(robot, refusing), other)
    controller.advance(0.0, [0.0], [0.0])
    kind = SingularProgramError if lost is refusing else NotFiniteError
    for call in (controller.control, controller.observe):
        with pytest.raises(kind, match=r"row 'a' vanishes at 0\. The law that takes over fails as well: "):
            call(0.0, [0.0], [0.0])


def test_a_sample_that_both_refuse_ends_a_run_unless_another_holds_and_both_go_on_after_it() -> None:
    """A broken sensor is nothing that another law can see through; its clock must go on all the same."""
    robot = rail()
    law, slow = Feedback(robot, [[1.0, 1.0]]), SampleAndHold(Feedback(robot, [[2.0, 2.0]]), 0.1)
    watched = Fallback(law, slow)
    with pytest.raises(SimulationError, match="The law that takes over fails as well") as caught:
        simulate(robot, Dropout(watched, 0.2, seed=1), [1.0], [0.0], 2.0, step=0.1)
    assert caught.value.status is Status.NOT_FINITE
    motion = simulate(robot, Dropout(Fallback(watched), 0.2, seed=1), [1.0], [0.0], 2.0, step=0.1)
    held = np.flatnonzero(motion.status == Status.HELD)
    assert len(held) >= 2
    np.testing.assert_array_equal(motion.u[held], motion.u[held - 1])


def test_a_nan_output_is_the_reason_where_there_is_nothing_to_hold() -> None:
    controller = Fallback(Signal(rail(), lambda t: np.nan))
    with pytest.raises(NotFiniteError, match=r"^at t = 1: A number is not finite.* There is no"):
        controller.control(1.0, [0.0], [0.0])


def test_a_mistake_in_the_call_raises_while_an_output_is_held() -> None:
    law = ProgramController(disc_program(), realization="actuated")
    controller = Fallback(law)
    q, v = [-0.9, 1.4], [0.0, 0.0]
    controller.advance(0.0, q, v)
    safe = law.control(0.0, q, v)
    controller.advance(0.1, [np.nan, 1.4], v)
    with pytest.raises(ShapeError) as caught:
        controller.control(0.1, [0.0], v)
    assert not isinstance(caught.value, NotFiniteInputError)
    with pytest.raises(ParameterError, match="unknown parameter 'masss'"):
        controller.control(0.1, q, v, {"masss": 1.0})
    np.testing.assert_array_equal(controller.control(0.1, [np.nan, 1.4], v), safe)


def test_a_law_cannot_take_over_from_itself() -> None:
    law: Controller = Feedback(rail(), [[1.0, 1.0]])
    with pytest.raises(ModelError, match="must be another law than the one that it replaces"):
        Fallback(law, law)


Values = Mapping[str, float] | ArrayLike | None


class Moody(Controller):
    """u = t, but refuses from 1 s to 2 s, by an error or by NaN."""

    def __init__(self, *, by_error: bool) -> None:
        self.robot, self.by_error = rail(), by_error

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        self.arguments(t, q, v, p)
        if 0.95 <= t < 1.95:
            if self.by_error:
                raise SingularProgramError("row 'a' vanishes")
            return Tick(np.array([np.nan]))
        return Tick(np.array([t]))


@pytest.mark.parametrize("by_error", [False, True])
@pytest.mark.parametrize("on_failure", ["hold", "zero", "other"])
def test_a_refused_output_is_replaced_and_reported(on_failure: str, by_error: bool) -> None:
    law = Moody(by_error=by_error)
    other = Signal(law.robot, lambda t: -t)
    controller = Fallback(law, other if on_failure == "other" else on_failure)  # type: ignore[arg-type]
    motion = simulate(law.robot, controller, [0.0], [0.0], 3.0, step=0.1)
    bad = (motion.t >= 0.95) & (motion.t < 1.95)
    np.testing.assert_array_equal(motion.status == Status.HELD, bad)
    np.testing.assert_array_equal(motion.status == Status.OK, ~bad)
    np.testing.assert_allclose(motion.u[~bad, 0], motion.t[~bad])
    instead = {"hold": np.full(10, 0.9), "zero": np.zeros(10), "other": -motion.t[bad]}[on_failure]
    np.testing.assert_allclose(motion.u[bad, 0], instead, atol=1e-12)
    (since, message), (again, fine) = motion.notes
    assert (round(since, 9), round(again, 9)) == (1.0, 2.0)
    assert message.startswith(
        {"hold": "The last safe", "zero": "The output is zero", "other": "Another law"}[on_failure]
    )
    assert ("row 'a' vanishes" in message) is by_error
    assert fine == Status.OK.sentence
    # What an integrator tries at the end of the last good step is bridged as well.
    assert np.isfinite(motion.q).all()


def test_it_gives_up_when_patience_ends() -> None:
    controller = Fallback(Moody(by_error=True), patience=3)
    with pytest.raises(
        SimulationError, match="failed at 4 consecutive samples, at the last because: row 'a'"
    ) as caught:
        simulate(controller.robot, controller, [0.0], [0.0], 3.0, step=0.1)
    assert caught.value.status is Status.SINGULAR
    np.testing.assert_array_equal(caught.value.trajectory.status[-4:], [0, 7, 7, Status.SINGULAR])


def test_nothing_safe_to_hold_is_refused() -> None:
    law = Moody(by_error=True)
    controller = Fallback(law)
    controller.advance(1.0, [0.0], [0.0])
    with pytest.raises(SingularProgramError, match="There is no safe output to hold yet"):
        controller.control(1.0, [0.0], [0.0])
    with pytest.raises(SimulationError, match="no safe output") as caught:
        simulate(law.robot, controller, [0.0], [0.0], 1.0, step=0.1, t0=1.0)
    assert caught.value.status is Status.SINGULAR
    # Zero is always at hand.
    fresh = Fallback(law, "zero")
    fresh.advance(1.0, [0.0], [0.0])
    assert fresh.control(1.0, [0.0], [0.0])[0] == 0.0


def test_mistakes_in_the_call_are_not_bridged() -> None:
    controller = Fallback(ProgramController(disc_program(), realization="actuated"), "zero")
    with pytest.raises(ParameterError):
        controller.advance(0.0, [0.0, 1.0], [0.0, 0.0], {"masss": 1.0})
    with pytest.raises(ShapeError):
        controller.advance(0.0, [0.0, 1.0, 2.0], [0.0, 0.0])
    controller.advance(0.0, [np.nan, 1.0], [0.0, 0.0])
    assert controller.observe(0.0, [np.nan, 1.0], [0.0, 0.0]).status is Status.HELD


def test_a_stretched_arm_continues_with_another_law() -> None:
    """Past the end of its reach the program's rows depend on each other: damping takes over, and it comes to rest."""
    robot = two_link_arm()
    field = EruginField(line((0.5, 0.3), (1.5, 0.5)), speed=0.2)
    program = Program(robot, follow(field, robot.points["tip"], perturbation=FirstOrder(10.0)))
    law = ProgramController(program, realization="actuated", tolerance=1e-2)
    q0, v0 = start_on(program, [-0.5, 1.4], at=[(robot.points["tip"], (0.5, 0.3))])
    with pytest.raises(SimulationError):
        simulate(robot, law, q0, v0, 4.0, step=2e-3)
    motion = simulate(robot, Fallback(law, Braking(robot)), q0, v0, 4.0, step=2e-3)
    assert motion.t[-1] == pytest.approx(4.0)
    held = motion.status == Status.HELD
    assert held.any()
    assert not held[: int(2.0 / 2e-3)].any()
    assert "'follow[1]' depends on 'follow[0]'" in motion.notes[0][1]
    assert np.isfinite(motion.q).all()
    assert np.isfinite(motion.u).all()


def test_rows_that_are_off_at_times_and_rows_that_contradict_each_other() -> None:
    """Wrappers report which rows are active; where these contradict each other, that is the reason for holding."""
    robot = two_link_arm()
    rows = [
        holonomic(robot.q[0] + 0.9, name="one"),
        holonomic(2 * robot.q[0] + 1.8, name="joins", when=robot.t - 0.205),
        second_order(robot.coordinates.a[0] - 4.0, name="against", when=robot.t - 0.405),
    ]
    law = ProgramController(Program(robot, rows), method=LeastNormMultipliers())
    controller = Fallback(SampleAndHold(law, 0.02), "zero")
    motion = simulate(robot, controller, [-0.9, 1.4], [0.0, 0.0], 0.6, step=0.01)
    # Ticks are at every second sample.
    np.testing.assert_array_equal(motion.active[:42, 1], motion.t[:42] > 0.215)
    np.testing.assert_array_equal(motion.status == Status.HELD, motion.t > 0.415)
    assert "Rows contradict each other: 'against' by" in motion.notes[0][1]
    with pytest.raises(SimulationError) as caught:
        simulate(robot, SampleAndHold(law, 0.02), [-0.9, 1.4], [0.0, 0.0], 0.6, step=0.01)
    assert caught.value.status is Status.CONTRADICTORY


class Braking(Controller):
    """u = −20 v."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        return Tick(np.asarray(-20.0 * self.arguments(t, q, v, p)[2], dtype=np.float64))


def test_a_tick_that_fails_is_held_until_the_next() -> None:
    """Between two ticks a sampled law that could not be computed has nothing new to say."""
    law = Moody(by_error=True)
    motion = simulate(law.robot, Fallback(SampleAndHold(law, 0.4)), [0.0], [0.0], 3.0, step=0.1)
    held = np.flatnonzero(motion.status == Status.HELD)
    # Ticks at 1.2 s and 1.6 s fail, the one at 2.0 s does not.
    np.testing.assert_array_equal(held, np.arange(12, 20))
    np.testing.assert_allclose(motion.u[12:20, 0], 0.8)
    np.testing.assert_allclose(motion.u[20:24, 0], 2.0)


def test_failing_sensors_cost_samples_and_not_the_run() -> None:
    robot = rail()
    law = Feedback(robot, [[4.0, 4.0]])
    broken = Dropout(law, 0.1, seed=3)
    with pytest.raises(SimulationError, match="must be finite") as caught:
        simulate(robot, broken, [1.0], [0.0], 4.0, step=0.01)
    assert caught.value.status is Status.NOT_FINITE
    for inside in (Fallback(law), Fallback(SampleAndHold(law, 0.01)), Fallback(Noise(law, q=1e-9))):
        motion = simulate(robot, Dropout(inside, 0.1, seed=3), [1.0], [0.0], 4.0, step=0.01)
        held = motion.status == Status.HELD
        assert 20 < held.sum() < 60
        np.testing.assert_array_equal(motion.u[held][0], motion.u[np.flatnonzero(held)[0] - 1])
        # A tenth of the samples less is still a loop that comes to rest.
        assert abs(motion.q[-1, 0]) < 2e-2


def test_the_law_that_takes_over_keeps_its_own_memory_and_parameters() -> None:
    law = Moody(by_error=True)
    other = Recorder(law.robot, lambda t: 100 + t)
    controller = Fallback(law, other)
    motion = simulate(law.robot, controller, [0.0], [0.0], 1.5, step=0.1)
    assert other.times == tuple(motion.t)
    np.testing.assert_allclose(motion.u[10:, 0], 100 + motion.t[10:])
    # Back to the start with the memory.
    controller.reset()
    start = controller.memory
    controller.advance(0.0, [0.0], [0.0])
    controller.advance(0.1, [0.0], [0.0])
    controller.memory = start
    controller.advance(1.0, [0.0], [0.0])
    assert controller.control(1.0, [0.0], [0.0])[0] == pytest.approx(101.0)
    assert other.times == (1.0,)
    program = ProgramController(disc_program(), realization="actuated")
    both = Fallback(program, ProgramController(program.program, realization="actuated", tolerance=1e-14))
    assert both.parameters.names == program.parameters.names
    q, v = [-0.9, 1.4], [0.0, 0.0]
    both.advance(0.0, q, v, {"disc.radius": 0.2})
    np.testing.assert_array_equal(
        both.control(0.0, q, v, {"disc.radius": 0.2}), program.control(0.0, q, v, {"disc.radius": 0.2})
    )
    both.advance(0.1, [np.nan, 0.0], v)
    with pytest.raises(NotFiniteError):
        both.control(0.1, [np.nan, 0.0], v)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"on_failure": "wait"}, "on_failure must be 'hold', 'zero' or a Controller"),
        ({"patience": -1}, "patience must be a whole number"),
        ({"patience": 1.5}, "patience must be a whole number"),
        ({"on_failure": ProgramController(disc_program())}, "must be built for the same robot rail and return inputs"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Fallback(Feedback(rail(), [[1.0, 1.0]]), **settings)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("integrator", [None, DOP853(1e-8, 1e-9)])
def test_an_arm_with_everything_at_once_follows_its_path(integrator: DOP853 | None) -> None:
    """Sampled at 500 Hz, late by 3 ms, coarse, noisy, weak, slow and failing: it stays near, and tells."""
    program = disc_program()
    robot = program.robot
    law = ProgramController(program, realization="actuated")
    q0, v0 = start_on(program, list(ELBOW), at=[(robot.points["tip"], START)])
    limits = np.array([30.0, 12.0])
    computer = SampleAndHold(Fallback(law), 2e-3)
    drives = MotorLag(Saturation(RateLimit(Delay(computer, 3e-3, initial=law.control(0.0, q0, v0)), 4e3), limits), 2e-3)
    sensors = Noise(Encoders(Dropout(drives, 0.02, seed=4), 1e-5, velocity="observer", cutoff=300.0), q=1e-5, seed=5)
    duration = 0.4 if integrator else 1.0
    motion = simulate(robot, Fallback(sensors), q0, v0, duration, step=1e-3, integrator=integrator)
    ideal = simulate(robot, law, q0, v0, duration, step=1e-3)
    assert np.isfinite(motion.q).all()
    assert (np.abs(motion.u) <= limits).all()
    late = motion.t > 0.3
    # The path's speed is 0.15 m/s and the disc's 0.063 m/s.
    assert np.abs(motion.deviation[late]).max() < 0.08
    assert np.abs(motion.deviation[late]).max() > 10 * np.abs(ideal.deviation[late]).max()
    tip = np.abs(motion.evaluate(robot.points["tip"]) - ideal.evaluate(robot.points["tip"])).max()
    assert 1e-5 < tip < 0.03
    reported = set(motion.status.tolist())
    assert Status.HELD in reported
    assert Status.OK in reported
    assert reported <= {Status.OK, Status.LIMITED, Status.HELD}
    again = simulate(robot, Fallback(sensors), q0, v0, 0.1, step=1e-3, integrator=integrator)
    np.testing.assert_array_equal(again.q, motion.q[:101])
