"""Events: which of them happens, when, and what becomes of one that holds already, returns within a step, or fails."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.controllers import Status
from erugin.controllers.wrappers import Noise, SampleAndHold
from erugin.robots import disturb, lagrangian_system
from erugin.robots.signals import Step
from erugin.scenarios import simulate
from erugin.simulation import (
    DOP853,
    Event,
    Mode,
    PhasedSimulationError,
    PhasedSimulationInterrupted,
    StateMap,
    simulate_hybrid,
)
from erugin.simulation.hybrid.event_detection import EventState, extreme, first_candidate, initial_state
from erugin.simulation.hybrid.modes import Direction
from erugin.simulation.hybrid.simulate_hybrid import ZenoDetector
from erugin.symbolic import ModelError

from .phased import clock
from .wrapped import Feedback, Values, rail

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


def test_the_limit_of_times_is_that_of_their_series_and_a_crowd_is_told() -> None:
    crowd, t = ZenoDetector(1e-3), 0.0
    told: list[float] = []
    for k in range(60):
        t += 0.8**k
        limit = crowd.take(t)
        if limit is not None:
            told.append(limit)
            break
    np.testing.assert_allclose(told, [5.0], rtol=1e-9)
    assert crowd.settle("rest", t)
    # Equal short times are no series; only a hundred of them are too many.
    assert [crowd.take(1.0 + 1e-7 * k) is None for k in range(100)] == [True] * 99 + [False]
    assert crowd.settle("rest", 2.0 * t)
    assert not crowd.settle("rest", 2.0 * t)
    assert crowd.settle("other", 2.0 * t)
    assert all(crowd.take(0.1 * k) is None for k in range(300))


def test_two_modes_that_lead_to_each_other_at_once_are_an_end_with_a_name() -> None:
    t = clock().t
    modes = {"a": Mode(events=(Event(t + 1.0, "b", name="up"),)), "b": Mode(events=(Event(t + 2.0, "a", name="up"),))}
    motion = simulate_hybrid(clock(), modes, [0.0], [0.0], 1.0, start="a", step=0.1)
    assert motion.accumulation == 0.0
    assert len(motion.segments) == 100
    assert "events come together at t = 0 s" in motion.ending


def test_a_relay_that_slides_along_its_surface_is_told_where_it_begins_to() -> None:
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
    assert "events come together" in motion.ending


def test_a_break_by_the_user_hands_back_the_segments() -> None:
    robot = rail()

    class Break(Feedback):
        def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
            if t > 0.8:
                raise KeyboardInterrupt
            return np.zeros(1)

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
    assert motion.ending.startswith("2 events have happened, and 'tick' at t = 2.159")
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
        def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
            return np.array([0.0 if np.asarray(q)[0] < 1.0 else np.nan])

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


def test_a_jump_without_an_answer_and_an_expression_that_is_no_number_are_told() -> None:
    robot = rail()
    x = robot.q[0]
    modes = {"on": Mode(events=(Event(x - 0.5, "on", jump=StateMap(v=ca.sqrt(-robot.v)), name="root"),))}
    with pytest.raises(
        PhasedSimulationError, match=r"event 'root' at t = 0\.5 s: .*the map gives v = \[nan\]"
    ) as caught:
        simulate_hybrid(robot, modes, [0.0], [1.0], 1.0, start="on", step=0.1)
    assert caught.value.trajectory.t[-1] == pytest.approx(0.5, abs=1e-9)
    modes = {"on": Mode(events=(Event(ca.sqrt(0.5 - x) - 2.0, None, name="root"),))}
    with pytest.raises(PhasedSimulationError, match="what event 'root' looks at is no number") as caught:
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
        ({}, "there is no stop"),
        ({"stop": -fall.q[0], "every": 2}, "take no tolerance"),
        ({"stop": -fall.q[0], "q0": [[1.0], [2.0]]}, "lanes of a batch end at samples"),
    ]
    for more, message in refused:
        given: dict[str, Any] = {"q0": [1.0], **more}
        with pytest.raises(ModelError, match=message):
            simulate(fall, None, v0=[0.0], duration=1.0, step=0.1, tolerance=1e-9, **given)
