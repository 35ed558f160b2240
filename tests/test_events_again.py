"""Events that happen again, or must not: where modes lead to themselves, at the turn of a returning one, in series."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.robots import lagrangian_system
from erugin.simulation import Event, Mode, PhasedTrajectory, Rebound, StateMap, simulate_hybrid
from erugin.simulation.hybrid.simulate_hybrid import ZenoDetector

from .phased import clock
from .wrapped import rail


def looped(*expressions: ca.SX, step: float = 0.1) -> PhasedTrajectory:
    """One mode that all events lead back to, for two seconds."""
    events = tuple(Event(when, "on", name="abc"[i]) for i, when in enumerate(expressions))
    return simulate_hybrid(clock(), {"on": Mode(events=events)}, [0.0], [0.0], 2.0, start="on", step=step)


def test_events_that_lead_back_to_their_mode_happen_once_each_as_they_come() -> None:
    """Each goes on being positive while the others happen."""
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
    """The last time between them is none, or the rounding of two that are at one instant."""
    for last in (1.9, 1.9 + 1e-11, 1.9 + 1e-9):
        t = clock().t
        times = (1.0, 1.5, 1.8, 1.9, last)
        modes = {str(i): Mode(events=(Event(t - at, str(i + 1), name=str(i)),)) for i, at in enumerate(times)}
        motion = simulate_hybrid(clock(), {**modes, "5": Mode()}, [0.0], [0.0], 2.5, start="0", step=0.1)
        assert motion.names == tuple("012345")
        assert motion.ending == "the duration is over"
    crowd = ZenoDetector(1e-3)
    assert [crowd.take(x) for x in (0.0, 0.5, 0.8, 0.9, 0.9001)] == [None] * 5


def test_two_feet_that_bounce_at_the_same_instants_come_to_rest_at_one_time() -> None:
    """Two masses fall from one height: each time between bounces is followed by none at all."""
    q, v, e = ca.SX.sym("q", 2), ca.SX.sym("v", 2), 0.5
    pair = lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, V=9.81 * ca.sum1(q))
    feet = tuple(Event(y, "on", "falling", Rebound(y, e), name) for y, name in zip(ca.vertsplit(q), "ab", strict=True))
    motion = simulate_hybrid(pair, {"on": Mode(events=feet)}, [1.0, 1.0], [0.0, 0.0], 3.0, start="on", step=0.01)
    assert motion.accumulation == pytest.approx(np.sqrt(2.0 / 9.81) * (1.0 + e) / (1.0 - e), abs=1e-6)
    assert motion.events[:6] == ("a", "b", "a", "b", "a", "b")
    assert motion.q.min() > -1e-8


def test_the_mode_that_is_told_is_the_one_whose_event_it_was() -> None:
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
    assert motion.ending.endswith("in mode 'a', and again after mode 'rest' has taken over there")
