"""Events: which happens, when, repeatedly or not, and what cannot be one."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic
from erugin.controllers import Program, ProgramController, Status, Tick
from erugin.controllers.wrappers import Noise, SampleAndHold
from erugin.robots import Contact, Robot, disturb, lagrangian_system, with_contacts
from erugin.robots.signals import Step
from erugin.scenarios import simulate
from erugin.simulation import (
    DOP853,
    Event,
    Jump,
    Mode,
    PhasedSimulationError,
    PhasedSimulationInterrupted,
    PhasedTrajectory,
    Rebound,
    StateMap,
    Strike,
    simulate_hybrid,
)
from erugin.simulation.hybrid.event_detection import EventState, extreme, first_candidate, initial_state
from erugin.simulation.hybrid.modes import Direction
from erugin.simulation.hybrid.simulate_hybrid import ZenoDetector
from erugin.symbolic import ModelError, ParameterError, Parameters

from ...support.hybrid_cases import clock
from ...support.rail import Feedback, rail

Array = NDArray[np.float64]


def times_of(when: ca.SX, direction: Direction = "rising", *, step: float = 0.1, start: float = 0.0) -> list[float]:
    """When an event happens that changes nothing, in two seconds."""
    modes = {"on": Mode(events=(Event(when, "on", direction),))}
    motion = simulate_hybrid(clock(), modes, [0.0], [0.0], 2.0, start="on", step=step, t0=start)
    return [float(x) for x in motion.switches]


def test_an_event_happens_where_its_expression_passes_zero_in_its_direction() -> None:
    t = clock().t
    wave = ca.sin(2.0 * np.pi * (t - 0.3))
    np.testing.assert_allclose(times_of(wave), [0.3, 1.3], atol=1e-9)
    # It is below zero already at the start, and on its way down.
    np.testing.assert_allclose(times_of(wave, "falling"), [0.0, 0.8, 1.8], atol=1e-9)
    np.testing.assert_allclose(times_of(wave, "falling", start=0.35), [0.8, 1.8], atol=1e-9)
    assert times_of(wave - 1.001) == []


@pytest.mark.parametrize("step", [0.1, 0.4])
def test_what_rises_above_zero_and_falls_again_within_a_step_is_seen(step: float) -> None:
    """A parabola of height 10⁻⁴ within one step is no more for a cubic than any other; a quartic is sought closer."""
    t, at, height = clock().t, 0.637, 1e-4
    width = np.sqrt(height)
    np.testing.assert_allclose(times_of(height - (t - at) ** 2, step=step), [at - width], atol=1e-9)
    quartic = 0.02 - (t - at) ** 2 - 5.0 * (t - at) ** 3 - 20.0 * (t - at) ** 4
    root = max(float(x.real) for x in np.roots([-20.0, -5.0, -1.0, 0.0, 0.02]) if abs(x.imag) < 1e-12 and x.real < 0)
    np.testing.assert_allclose(times_of(quartic, step=step), [at + root], atol=1e-9)
    # Promised is no more than that: a needle between two samples is not seen.
    assert times_of(ca.exp(-(((t - at) / 1e-3) ** 2)) - 0.5, step=step) == []


def test_of_several_events_in_a_step_the_first_in_time_happens_and_of_two_at_once_the_first_in_order() -> None:
    t = clock().t
    events = (Event(t - 0.58, "late", name="b"), Event(t - 0.52, "early", name="a"), Event(t - 0.52, "late", name="c"))
    modes = {"on": Mode(events=events), "early": Mode(), "late": Mode()}
    motion = simulate_hybrid(clock(), modes, [0.0], [0.0], 1.0, start="on", step=0.25)
    assert motion.events == ("a", None)
    assert motion.names == ("on", "early")
    assert motion.switches[0] == pytest.approx(0.52, abs=1e-9)
    assert motion.ending == "the duration is over"
    assert motion.t[-1] == pytest.approx(1.0)


def test_an_event_that_holds_at_the_start_happens_at_once_unless_it_is_on_its_way_back() -> None:
    t = clock().t
    # It rises, or stays: one sample. Afterwards it has happened, and must come back first.
    for when in (t + 1.0, ca.SX(1.0) + 0.0 * t):
        modes = {"on": Mode(events=(Event(when, "off"),)), "off": Mode()}
        motion = simulate_hybrid(clock(), modes, [0.0], [0.0], 1.0, start="on", step=0.1)
        assert [len(segment) for segment in motion.segments] == [1, 11]
    assert times_of(t + 1.0) == [0.0]
    # It falls, comes to zero at 0.5 and is positive again at 1.5.
    np.testing.assert_allclose(times_of((t - 0.5) * (t - 1.5)), [1.5], atol=1e-9)
    # It turns round at 0.7 before it has been at zero.
    np.testing.assert_allclose(times_of((t - 0.7) ** 2 + 0.2), [0.7], atol=1e-9)
    np.testing.assert_allclose(times_of((t - 0.7) ** 4 + (t - 0.7) ** 2 + 0.2, step=0.5), [0.7], atol=1e-9)


def test_the_states_of_an_event_where_its_mode_begins() -> None:
    assert initial_state(0.0, 5.0, None) is EventState.ARMED
    assert initial_state(1e-9, -1.0, None) is EventState.RETURNING
    assert initial_state(1e-9, 1.0, None) is None
    assert initial_state(1e-9, 1.0, 2.0) is EventState.PASSED
    assert initial_state(1e-9, -1e-16, 2.0) is None
    assert initial_state(1e-9, 0.0, 0.0) is EventState.PASSED
    assert initial_state(1e-9, 0.0, 0.0, jumped=True) is None
    assert initial_state(1e-9, np.nan, None) is None


def test_the_cubic_through_values_and_rates_has_its_peak_where_the_cubic_has() -> None:
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(200):
        p = np.polynomial.Polynomial(rng.normal(size=4))
        h, d = float(rng.uniform(0.1, 3.0)), p.deriv()
        flat = [float(x.real) for x in d.roots() if abs(x.imag) < 1e-12]
        roots = [x for x in flat if 0.0 < x < h and float(d.deriv()(x)) < 0.0]
        share, height = extreme(p(0.0), d(0.0), p(h), d(h), h, highest=True)
        if not roots:
            assert np.isnan(height)
            continue
        found += 1
        assert share * h == pytest.approx(roots[0], rel=1e-6)
        assert height == pytest.approx(p(roots[0]), rel=1e-6, abs=1e-9)
    assert found > 20
    assert np.isnan(extreme(np.inf, 0.0, 1.0, 1.0, 1.0, highest=True)[1])
    assert first_candidate(np.arange(3.0), np.full(3, -1.0), np.zeros(3), EventState.ARMED) is None


def test_converging_event_times_end_at_the_limit_of_their_series_and_crowds_are_reported() -> None:
    crowd, t = ZenoDetector(1e-3), 0.0
    recorded: list[float] = []
    for k in range(60):
        t += 0.8**k
        limit = crowd.add(t)
        if limit is not None:
            recorded.append(limit)
            break
    np.testing.assert_allclose(recorded, [5.0], rtol=1e-9)
    assert crowd.settle("rest", t)
    # Equal short times are no series; only a hundred of them are too many.
    assert [crowd.add(1.0 + 1e-7 * k) is None for k in range(100)] == [True] * 99 + [False]
    assert crowd.settle("rest", 2.0 * t)
    assert not crowd.settle("rest", 2.0 * t)
    assert crowd.settle("other", 2.0 * t)
    assert all(crowd.add(0.1 * k) is None for k in range(300))


def test_two_modes_that_lead_to_each_other_at_once_are_an_end_with_a_name() -> None:
    t = clock().t
    modes = {"a": Mode(events=(Event(t + 1.0, "b", name="up"),)), "b": Mode(events=(Event(t + 2.0, "a", name="up"),))}
    motion = simulate_hybrid(clock(), modes, [0.0], [0.0], 1.0, start="a", step=0.1)
    assert motion.accumulation == 0.0
    assert len(motion.segments) == 100
    assert "events accumulate at t = 0 s" in motion.ending


def test_a_relay_that_slides_along_its_surface_is_reported_where_sliding_starts() -> None:
    """ẍ = ∓1 as x + ẋ is above or below zero: from x = 2 at rest it is crossed at |ẋ| > 1, and next met at |ẋ| < 1."""
    robot = rail()
    s = robot.q[0] + robot.v[0]
    push, pull = (Feedback(robot, [0.0, 0.0]), Feedback(robot, [0.0, 0.0]))
    plants = [disturb(robot, Step(force, time=-9.0)).robot for force in (-1.0, 1.0)]
    modes = {
        "above": Mode(push, (Event(s, "below", "falling", name="line"),), robot=plants[0]),
        "below": Mode(pull, (Event(s, "above", "rising", name="line"),), robot=plants[1]),
    }
    motion = simulate_hybrid(robot, modes, [2.0], [0.0], 5.0, start="above", step=0.02)
    # 2 − t²/2 = t; then (2 − √5) s + s²/2 = 0 for the time s since.
    assert motion.switches[0] == pytest.approx(np.sqrt(5.0) - 1.0, abs=1e-9)
    assert motion.switches[1] == pytest.approx(3.0 * np.sqrt(5.0) - 5.0, abs=1e-9)
    assert motion.accumulation == pytest.approx(3.0 * np.sqrt(5.0) - 5.0, abs=1e-6)
    assert len(motion.segments) == 101
    assert "events accumulate" in motion.ending


def test_a_break_by_the_user_hands_back_the_segments() -> None:
    robot = rail()

    class Break(Feedback):
        def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
            if t > 0.8:
                raise KeyboardInterrupt
            return Tick(np.zeros(1))

    modes = {
        "first": Mode(events=(Event(robot.q[0] - 0.5, "second", name="half"),)),
        "second": Mode(Break(robot, [0.0, 0.0]), (Event(robot.q[0] - 9.0, None),)),
    }
    with pytest.raises(PhasedSimulationInterrupted, match="mode 'second'") as caught:
        simulate_hybrid(robot, modes, [0.0], [1.0], 3.0, start="first", step=0.1)
    kept = caught.value.trajectory
    assert (kept.names, kept.events, kept.ending) == (("first", "second"), ("half", None), "interrupted")
    assert 0.6 < kept.t[-1] <= 0.8 + 1e-9


def test_a_motion_ends_by_an_event_by_the_number_of_events_or_by_its_duration() -> None:
    t = clock().t
    wave = ca.sin(2.0 * np.pi * t - 1.0)
    modes = {"on": Mode(events=(Event(wave, "on", name="tick"), Event(t - 2.5, None, name="enough")))}
    motion = simulate_hybrid(clock(), modes, [0.0], [0.0], 9.0, start="on", step=0.1)
    assert motion.events == ("tick", "tick", "tick", "enough")
    assert motion.ending == "event 'enough' ended the motion at t = 2.5 s"
    motion = simulate_hybrid(clock(), modes, [0.0], [0.0], 9.0, start="on", step=0.1, switches=2)
    assert len(motion.segments) == 3
    assert motion.ending.startswith("more than switches=2 events: 'tick' at t = 2.159")
    motion = simulate_hybrid(clock(), {"on": Mode()}, [0.0], [1.0], 1.0, start="on", step=0.1)
    assert (motion.events, motion.ending, motion.accumulation) == ((None,), "the duration is over", None)


def test_a_controller_with_a_memory_remembers_at_an_event_what_it_remembered_there() -> None:
    """The samples up to the event are those of a run without events, although the step was taken many times."""
    robot = rail()
    law = Noise(SampleAndHold(Feedback(robot, [4.0, 1.0]), 0.02), q=1e-3, u=1e-2, seed=2)
    x = robot.q[0]
    place, back = Event(x - 0.6, "after", "falling", name="place"), Event(x - 0.95, "after", name="back")
    plain = simulate(robot, law, [1.0], [-0.2], 1.0, step=0.01)
    firsts = []
    # With an event that is on its way back from the start, they are looked for in samples that go on behind the place.
    for events in ((place,), (place, back)):
        modes = {"on": Mode(law, events), "after": Mode(law)}
        motion = simulate_hybrid(robot, modes, [1.0], [-0.2], 1.0, start="on", step=0.01)
        first = motion.segments[0]
        assert motion.events == ("place", None)
        assert first.q[-1, 0] == pytest.approx(0.6, abs=1e-9)
        np.testing.assert_allclose(first.q[:-1], plain.q[: len(first) - 1], rtol=0.0, atol=1e-13)
        np.testing.assert_allclose(first.u[:-1], plain.u[: len(first) - 1], rtol=0.0, atol=1e-11)
        assert plain.t[len(first) - 2] < first.t[-1] < plain.t[len(first) - 1]
        firsts.append(first)
    # The last sample draws a noise of its own, that of its number.
    assert abs(firsts[0].u[-1, 0] - firsts[0].u[-2, 0]) > 1e-3
    np.testing.assert_allclose(firsts[1].u[-1], firsts[0].u[-1], rtol=0.0, atol=1e-8)


def test_a_failure_keeps_the_segments_unless_an_event_comes_before_it() -> None:
    """The law is not finite from x = 1 on, which the motion reaches at t = 1."""
    robot = rail()
    x = robot.q[0]

    class Wall(Feedback):
        def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
            return Tick(np.array([0.0 if np.asarray(q)[0] < 1.0 else np.nan]))

    law = Wall(robot, [0.0, 0.0])
    first = Event(x - 0.5, "second", name="half")
    # The last event makes the runner look ahead, past the wall.
    modes = {"first": Mode(law, (first,)), "second": Mode(law, (Event(1.2 - x, None, name="ahead"),))}
    with pytest.raises(PhasedSimulationError, match=r"mode 'second': .*not finite") as caught:
        simulate_hybrid(robot, modes, [0.0], [1.0], 3.0, start="first", step=0.07)
    kept = caught.value.trajectory
    assert caught.value.status is Status.NOT_FINITE
    assert kept.names == ("first", "second")
    assert kept.events == ("half", None)
    assert kept.switches[0] == pytest.approx(0.5, abs=1e-9)
    modes["second"] = Mode(law, (Event(0.9 - x, None, "falling", name="before"), Event(1.2 - x, None, name="ahead")))
    motion = simulate_hybrid(robot, modes, [0.0], [1.0], 3.0, start="first", step=0.07)
    assert motion.events == ("half", "before")
    assert motion.t[-1] == pytest.approx(0.9, abs=1e-9)


def test_a_jump_without_a_solution_and_a_nan_expression_are_reported() -> None:
    robot = rail()
    x = robot.q[0]
    modes = {"on": Mode(events=(Event(x - 0.5, "on", jump=StateMap(v=ca.sqrt(-robot.v)), name="root"),))}
    with pytest.raises(
        PhasedSimulationError, match=r"event 'root' at t = 0\.5 s: .*the StateMap returns v = \[nan\]"
    ) as caught:
        simulate_hybrid(robot, modes, [0.0], [1.0], 1.0, start="on", step=0.1)
    assert caught.value.trajectory.t[-1] == pytest.approx(0.5, abs=1e-9)
    modes = {"on": Mode(events=(Event(ca.sqrt(0.5 - x) - 2.0, None, name="root"),))}
    with pytest.raises(PhasedSimulationError, match="the expression of event 'root' is NaN") as caught:
        simulate_hybrid(robot, modes, [0.0], [1.0], 1.0, start="on", step=0.1)
    assert caught.value.trajectory.t[-1] == pytest.approx(0.6)


def test_a_stop_with_a_tolerance_ends_at_its_instant() -> None:
    """A mass in free fall is 1 m lower after √(2/g); the samples before are those of a run without."""
    y, v, g = ca.SX.sym("y"), ca.SX.sym("v"), 9.81
    fall = lagrangian_system(q=y, v=v, T=v**2 / 2, V=g * y)
    for integrator in (None, DOP853()):
        rough = simulate(fall, None, [1.0], [0.0], 1.0, step=0.06, stop=-fall.q[0], integrator=integrator)
        exact = simulate(
            fall, None, [1.0], [0.0], 1.0, step=0.06, stop=-fall.q[0], tolerance=1e-11, integrator=integrator
        )
        assert exact.t[-1] == pytest.approx(np.sqrt(2.0 / g), abs=2e-11)
        assert rough.t[-1] - exact.t[-1] > 0.01
        np.testing.assert_array_equal(exact.q[:-1], rough.q[:-1])
        assert "the condition holds from t = 0.4515" in exact.ending
    assert simulate(fall, None, [1.0], [0.0], 0.2, step=0.1, stop=-fall.q[0], tolerance=1e-9).t[-1] == 0.2
    refused: list[tuple[dict[str, Any], str]] = [
        ({}, "requires stop="),
        ({"stop": -fall.q[0], "every": 2}, "cannot be used with metrics= or every="),
        ({"stop": -fall.q[0], "q0": [[1.0], [2.0]]}, "cannot be used with a batch"),
    ]
    for more, message in refused:
        given: dict[str, Any] = {"q0": [1.0], **more}
        with pytest.raises(ModelError, match=message):
            simulate(fall, None, v0=[0.0], duration=1.0, step=0.1, tolerance=1e-9, **given)


def looped(*expressions: ca.SX, step: float = 0.1) -> PhasedTrajectory:
    """One mode that all events lead back to, for two seconds."""
    events = tuple(Event(when, "on", name="abc"[i]) for i, when in enumerate(expressions))
    return simulate_hybrid(clock(), {"on": Mode(events=events)}, [0.0], [0.0], 2.0, start="on", step=step)


def test_events_that_lead_back_to_their_mode_happen_once_each_as_they_come() -> None:
    """Each stays positive while the others happen."""
    t = clock().t
    motion = looped(t - 1.0, t - 0.5, t - 1.55)
    assert motion.events == ("b", "a", "c", None)
    np.testing.assert_allclose(motion.switches, [0.5, 1.0, 1.55], atol=1e-9)
    # All hold at the start: one after the other, at once.
    motion = looped(t + 1.0, t + 2.0, t + 3.0)
    assert motion.events == ("a", "b", "c", None)
    assert [len(segment) for segment in motion.segments] == [1, 1, 1, 21]
    # What has been back at zero meanwhile happens again.
    motion = looped(ca.sin(2.0 * np.pi * (t - 0.2)), t - 0.4, t - 0.9)
    assert motion.events == ("a", "b", "c", "a", None)
    np.testing.assert_allclose(motion.switches, [0.2, 0.4, 0.9, 1.2], atol=1e-9)


def test_an_event_that_another_ones_jump_turns_towards_zero_and_back_happens_only_from_zero() -> None:
    """A mass passes x = 0.5 to the right, is thrown back at t = 0.7, passes to the left and comes again."""
    robot = rail()
    x, v, t = robot.q[0], robot.v[0], robot.t
    back = StateMap(v=-robot.v)
    events = (
        Event(x - 0.5, "on", name="passes"),
        Event(t - 0.7, "on", jump=back, name="back"),
        Event(t - 0.8, "on", jump=back, name="forth"),
        Event(t - 1.0, "on", jump=back, name="back"),
        Event(t - 1.5, "on", jump=back, name="forth"),
    )
    motion = simulate_hybrid(robot, {"on": Mode(events=events)}, [0.0], [1.0], 2.0, start="on", step=0.07)
    assert motion.events == ("passes", "back", "forth", "back", "forth", "passes", None)
    np.testing.assert_allclose(motion.switches, [0.5, 0.7, 0.8, 1.0, 1.5, 1.7], atol=1e-8)
    np.testing.assert_allclose(motion.evaluate(ca.fabs(v)), 1.0, rtol=1e-12)


def test_what_turns_round_at_a_sample_happens_there_and_not_again() -> None:
    """Its rate is zero at the sample of t = 0.5, exactly."""
    t = clock().t
    motion = looped((t - 0.5) ** 2 + 0.1, step=0.125)
    assert motion.events == ("a", None)
    assert motion.switches[0] == 0.5


def test_events_that_meet_after_others_that_came_ever_faster_are_no_series() -> None:
    """The last time between them is zero, or the rounding of two at one instant."""
    for last in (1.9, 1.9 + 1e-11, 1.9 + 1e-9):
        t = clock().t
        times = (1.0, 1.5, 1.8, 1.9, last)
        modes = {str(i): Mode(events=(Event(t - at, str(i + 1), name=str(i)),)) for i, at in enumerate(times)}
        motion = simulate_hybrid(clock(), {**modes, "5": Mode()}, [0.0], [0.0], 2.5, start="0", step=0.1)
        assert motion.names == tuple("012345")
        assert motion.ending == "the duration is over"
    crowd = ZenoDetector(1e-3)
    assert [crowd.add(x) for x in (0.0, 0.5, 0.8, 0.9, 0.9001)] == [None] * 5


@pytest.mark.slow
def test_two_feet_that_bounce_at_the_same_instants_come_to_rest_together() -> None:
    """Two masses fall from one height: each time between bounces is followed by none at all."""
    q, v, e = ca.SX.sym("q", 2), ca.SX.sym("v", 2), 0.5
    pair = lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, V=9.81 * ca.sum1(q))
    feet = tuple(Event(y, "on", "falling", Rebound(y, e), name) for y, name in zip(ca.vertsplit(q), "ab", strict=True))
    motion = simulate_hybrid(pair, {"on": Mode(events=feet)}, [1.0, 1.0], [0.0, 0.0], 3.0, start="on", step=0.01)
    assert motion.accumulation == pytest.approx(np.sqrt(2.0 / 9.81) * (1.0 + e) / (1.0 - e), abs=1e-6)
    assert motion.events[:6] == ("a", "b", "a", "b", "a", "b")
    assert motion.q.min() > -1e-8


def test_the_reported_mode_is_that_of_the_event() -> None:
    t = clock().t
    modes = {"a": Mode(events=(Event(t + 1.0, "b", name="up"),)), "b": Mode(events=(Event(t + 2.0, "a", name="down"),))}
    motion = simulate_hybrid(clock(), modes, [0.0], [0.0], 1.0, start="a", step=0.1)
    assert motion.names[-1] == "b"
    assert "the last of them 'down' in mode 'b'" in motion.ending


def test_a_mode_that_takes_over_and_leads_back_at_once_does_not_go_on_for_ever() -> None:
    """Three modes in each of which an event holds from the start on."""
    t = clock().t
    modes = {
        "a": Mode(events=(Event(t + 1.0, "b", name="there", zeno="rest"),)),
        "b": Mode(events=(Event(t + 1.0, "a", name="back", zeno="rest"),)),
        "rest": Mode(events=(Event(t + 1.0, "a", name="up", zeno="rest"),)),
    }
    motion = simulate_hybrid(clock(), modes, [0.0], [0.0], 1.0, start="a", step=0.1)
    assert motion.accumulation == 0.0
    assert motion.names.count("rest") == 1
    assert motion.ending.endswith("in mode 'a', and again after mode 'rest' followed")


X = clock().q[0]
FOOT = Contact("tip", (0.0, 1.0))


@functools.cache
def tipped() -> Robot:
    """A rail whose mass is a point of the plane."""
    return dataclasses.replace(rail(), points={"tip": ca.vertcat(rail().q, rail().q)})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Event(clock().q[0] * ca.SX.ones(2), None), "'event' must be a scalar expression"),
        (lambda: Event(3.0, None), r"must be a scalar expression, got 3\.0"),  # type: ignore[arg-type]
        (lambda: Event(X, None, "up"), "must be one of 'rising', 'falling', got 'up'"),  # type: ignore[arg-type]
        (lambda: Event(X, "on", jump=0.8), "must be a Jump, such as Rebound"),  # type: ignore[arg-type]
        (lambda: Event(X, None, jump=StateMap(q=X)), "so it must have neither jump nor zeno"),
        (lambda: Event(X, "", name="end"), "to of event 'end' must be the name of a mode"),
        (lambda: Mode(events=(3,)), "events of a mode must be Event objects, got 3"),  # type: ignore[arg-type]
        (lambda: Mode(events=None), "an Event or a list of them, got None"),  # type: ignore[arg-type]
        (lambda: Mode(contacts=3), "contacts must be a list of Contact, got 3"),  # type: ignore[arg-type]
        (lambda: Mode(velocities="consistent"), "requires a ProgramController"),
        (lambda: Rebound(X, 1.5), "between 0 and 1, got 1.5"),
        (lambda: Rebound(X, "a"), "restitution of 'rebound' must be a number"),  # type: ignore[arg-type]
        (lambda: Rebound(X, ca.vertcat(X, X)), "restitution of 'rebound' must be a number or a scalar"),
        (lambda: Rebound(3.0), r"gap of 'rebound' must be a scalar expression, got 3\.0"),  # type: ignore[arg-type]
        (lambda: Rebound(X, name=""), "name of a Rebound must be text"),
        (lambda: StateMap(), "requires q=, v= or both"),
        (lambda: Strike(3, []), "must be a Robot with its contacts on"),  # type: ignore[arg-type]
        (lambda: Strike(tipped(), []), "must have at least one contact"),
        (lambda: Strike(tipped(), [FOOT]), "'tip' is not active"),
        (
            lambda: Strike(with_contacts(tipped(), [FOOT]), [FOOT], 2.0),
            "restitution of a Strike must be a number between",
        ),
        (lambda: run({}), "must be a mapping from names to modes"),
        (lambda: run({"on": 3}), "must be a mapping from names to modes, got 'on': 3"),
        (lambda: run({"on": Mode(events=(Event(X, "of"),))}), "leads to a mode that does not exist: unknown mode 'of'"),
        (lambda: run({"on": Mode(events=(Event(X, "on", zeno="of"),))}), "settles in a mode that does not exist"),
        (lambda: run({"off": Mode()}), "unknown start mode 'on'"),
        (lambda: run({"on": Mode(events=(Event(ca.SX.sym("w"), None, name="e"),))}), "mode 'on': event 'e' uses w"),
        (lambda: run({"on": Mode(events=(Event(rail().q[0], None),))}), "mode 'on': event 'event' uses x"),
        (lambda: run(of_another_model()), "mode 'on': event 'heavy' uses m"),
        (
            lambda: run({"on": Mode(events=(Event(clock().coordinates.a, None),))}),
            "not inputs or accelerations",
        ),
        (lambda: run({"on": Mode(robot=rail())}), "must have the coordinates of clock"),
    ],
)
def test_bad_modes_and_events_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def of_another_model() -> dict[str, Mode]:
    """The plant has a mass as well; that of the law's model is not the one to look at."""
    mass, x, v = Parameters.declare({"m": 2.0}), ca.SX.sym("x"), ca.SX.sym("v")
    model = lagrangian_system(q=x, v=v, p=mass, T=mass["m"] * v**2 / 2, name="model")
    law = ProgramController(Program(model, holonomic(x, name="hold")))
    plant = dataclasses.replace(clock(), parameters=Parameters.declare({"m": 2.0}))
    return {"on": Mode(law, (Event(model.p[0] - X, None, name="heavy"),), robot=plant)}


def run(modes: Any) -> object:  # noqa: ANN401 - some are not modes
    return simulate_hybrid(clock(), modes, [0.0], [0.0], 1.0, start="on", step=0.1)


@pytest.mark.parametrize(
    ("jump", "message"),
    [
        (lambda: Rebound(clock().t, 0.5), "the gap of 'rebound' must be an expression in coordinates"),
        (lambda: Rebound(X, X), "restitution of 'rebound' must be a number or an expression in parameters"),
        (lambda: Rebound(X, ca.SX.sym("w")), "restitution of 'rebound' uses w"),
        (lambda: Strike(with_contacts(tipped(), [FOOT]), [FOOT]), "robot of a Strike must be clock with contacts on"),
        (lambda: StateMap(q=ca.vertcat(X, X)), r"q of a StateMap of clock must be SX of shape \(1,\)"),
        (lambda: StateMap(v=[2.0]), r"v of a StateMap of clock must be SX of shape \(1,\), got \[2\.0\]"),  # type: ignore[arg-type]
        (lambda: StateMap(v=ca.SX.sym("w")), "v of a StateMap uses w"),
        (lambda: StateMap(v=clock().coordinates.a), "may use time, coordinates, velocities and parameters"),
    ],
)
def test_a_jump_that_does_not_fit_is_refused_before_anything_moves(jump: Callable[[], Jump], message: str) -> None:
    with pytest.raises(ModelError, match="mode 'on': event 'e': .*" + message):
        run({"on": Mode(events=(Event(clock().t - 9.0, "on", jump=jump(), name="e"),))})


def test_numbers_and_names_are_looked_at_before_anything_moves() -> None:
    given: dict[str, Any] = {"start": "on", "step": 0.1}
    wrongs: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"p": {"m": 1.0}}, ParameterError, "^unknown parameter 'm'"),
        ({"step": "a"}, ModelError, "step must be a number, got 'a'"),
        ({"start": None}, ModelError, "start must be the name of a mode, got None"),
        ({"switches": 0}, ModelError, "switches must be a whole number of at least 1"),
        ({"shortest": -1.0}, ModelError, "shortest must be greater than zero"),
    ]
    for wrong, error, message in wrongs:
        with pytest.raises(error, match=message):
            simulate_hybrid(clock(), {"on": Mode()}, [0.0], [0.0], 1.0, **(given | wrong))
