"""Pure pursuit: its goal by another search, its poles about a line, and the circle on which it settles."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq

from erugin.controllers.baselines import PlanarMotion, PurePursuit
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.symbolic import ModelError, NotConvergedError, NotFiniteError, ParameterError

from ...support.path_following import along_eight
from ...support.two_wheel_tracking import FULL, REDUCED, circular, eight, slope, state_rate, straight

BOTH = pytest.mark.parametrize("robot", [FULL, REDUCED], ids=["full", "reduced"])


@BOTH
def test_the_arc_leads_to_the_goal(robot: Robot) -> None:
    """The plant's dω/dt is K (κ v − ω) with κ of the circle through axle and goal, the goal by SciPy."""
    ahead, K = 0.4, 8.0
    law = PurePursuit(eight(robot), look_ahead=ahead, torque=K)
    rate = state_rate(law)
    for t in (0.0, 1.7, 4.1):
        q, v = eight(robot).start(t=t, left=0.1, turned=-0.2)
        law.reset()
        speed = 0.9 * np.hypot(*along_eight(t)[1])
        turning = 0.3
        if robot is FULL:
            r, b = robot.nominal["wheel_radius"], robot.nominal["half_track"]
            v = np.array([speed * np.cos(q[2]), speed * np.sin(q[2]), turning, 0, 0])
            v[3:] = (speed + b * turning) / r, (speed - b * turning) / r
        else:
            v = np.array([speed, turning])
        s = brentq(lambda s, q=q: np.hypot(*(along_eight(s)[0] - q[:2])) - ahead, t, t + 1.5, xtol=1e-14)
        goal, pace = along_eight(s)[0], np.hypot(*along_eight(s)[1])
        # The centre of the arc lies beside the axle, as far from it as from the goal.
        across = np.array([-np.sin(q[2]), np.cos(q[2])])
        radius = brentq(lambda R, q=q, g=goal, n=across: np.sum((q[:2] + R * n - g) ** 2) - R**2, -1e3, 1e3)
        dx = rate(t, np.concatenate([q, v]))
        a = dx[5:]
        found = a if robot is REDUCED else [np.cos(q[2]) * a[0] + np.sin(q[2]) * a[1], a[2]]
        np.testing.assert_allclose(found, [K * (pace - speed), K * (speed / radius - turning)], rtol=1e-8)


def test_poles_about_a_straight_path() -> None:
    speed, ahead, K = 0.6, 0.5, 4.0
    motion = straight(REDUCED, speed, 0.0)
    rate = state_rate(PurePursuit(motion, look_ahead=ahead, torque=K))
    q0, v0 = motion.start()
    A = slope(lambda x: rate(0.0, np.concatenate([q0[:1], x[:2], q0[3:], v0[:1], x[2:]]))[[1, 2, 6]], np.zeros(3))
    np.testing.assert_allclose(np.poly(A), [1, K, 2 * K * speed / ahead, 2 * K * (speed / ahead) ** 2], rtol=1e-6)
    # By the rule, and with speeds that follow at once, (−1 ± i) ω.
    law = PurePursuit.of_rate(motion, rate=1.3, speed=speed, torque=1e4)
    rate = state_rate(law)
    A = slope(lambda x: rate(0.0, np.concatenate([q0[:1], x[:2], q0[3:], v0[:1], x[2:]]))[[1, 2, 6]], np.zeros(3))
    poles = np.sort_complex(np.linalg.eigvals(A))
    np.testing.assert_allclose(poles[1:], [-1.3 - 1.3j, -1.3 + 1.3j], rtol=1e-3)


def test_it_settles_on_a_circle_and_has_no_clock() -> None:
    """From 0.3 m beside: the circle itself and its pace, but later than the motion, by what the way there took."""
    motion = circular(REDUCED)
    q0, v0 = motion.start(left=-0.3, ahead=-0.4)
    run = simulate(REDUCED, PurePursuit.of_rate(motion, rate=2.0, speed=0.6), q0, v0, 14.0, step=1e-2)
    assert run.ok
    distance = np.hypot(run.q[:, 0], run.q[:, 1] - 1.5)
    assert abs(distance[0] - 1.5) > 0.25
    np.testing.assert_allclose(distance[-50:], 1.5, atol=1e-6)
    np.testing.assert_allclose(run.v[-1], [0.6, 0.4], atol=1e-6)
    late = np.hypot(*(run.evaluate(motion.place)[-1] - run.q[-1, :2]))
    assert late > 0.1
    assert run.rows == ("goal to the left",)


def test_the_goal_never_moves_back_and_waits() -> None:
    motion = straight(REDUCED, 0.5, 0.0)
    law = PurePursuit(motion, look_ahead=0.3, torque=5.0)
    law.advance(0.0, np.zeros(5), [0.5, 0.0])
    assert law.memory == pytest.approx(0.6)
    law.advance(0.1, [-1.0, 0.2, 0.0, 0.0, 0.0], [0.5, 0.0])
    assert law.memory == pytest.approx(0.6)
    # Farther away than the look-ahead distance it still steers to the goal: κ = 2 η/|g − x|².
    u = law.control(0.1, [0.0, -0.4, 0.0, 0.0, 0.0], [0.5, 0.0])
    assert u[0] > u[1]
    before = law.memory
    law.control(0.1, np.zeros(5), [0.5, 0.0])
    assert law.memory == before
    law.reset()
    law.advance(2.0, [1.0, 0.0, 0.0, 0.0, 0.0], [0.5, 0.0])
    assert law.memory == pytest.approx(2.6)


def test_the_end_of_a_path_is_reported() -> None:
    t = REDUCED.t
    law = PurePursuit(PlanarMotion(REDUCED, ca.vertcat(ca.tanh(t), 0.0)), look_ahead=0.5, torque=5.0)
    with pytest.raises(NotConvergedError, match=r"does not leave the circle of 0\.5 m"):
        law.control(1.0, [0.7, 0.0, 0.0, 0.0, 0.0], [0.5, 0.0])
    law = PurePursuit(PlanarMotion(REDUCED, ca.vertcat(t, ca.sqrt(0.2 - t))), look_ahead=0.5, torque=5.0)
    with pytest.raises(NotFiniteError, match="undefined at s = "):
        law.control(0.0, [0.0, np.sqrt(0.2), 0.0, 0.0, 0.0], [0.5, 0.0])


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan])
def test_bad_numbers_are_refused(bad: float) -> None:
    motion = straight(REDUCED)
    with pytest.raises(ParameterError, match="look_ahead"):
        PurePursuit(motion, look_ahead=bad, torque=1.0)
    with pytest.raises(ParameterError, match="torque"):
        PurePursuit(motion, look_ahead=1.0, torque=bad)
    with pytest.raises(ModelError, match="speed"):
        PurePursuit.of_rate(motion, rate=1.0, speed=bad)


def test_a_path_may_be_driven_in_reverse() -> None:
    motion = PlanarMotion(REDUCED, circular(REDUCED).place, backwards=True)
    q0, v0 = motion.start(left=0.1)
    run = simulate(REDUCED, PurePursuit.of_rate(motion, rate=2.0, speed=0.6), q0, v0, 12.0, step=1e-2)
    assert np.hypot(run.q[-1, 0], run.q[-1, 1] - 1.5) == pytest.approx(1.5, abs=1e-4)
    assert run.v[-1, 0] == pytest.approx(-0.6, abs=1e-4)


def test_a_path_that_starts_or_pauses_at_rest_is_searched_in_small_steps() -> None:
    """A closed path without pace at its start, of which another round must not be taken for the first."""
    t = REDUCED.t
    closed = PlanarMotion(REDUCED, ca.vertcat(1 - ca.cos(0.4 * t), ca.sin(0.4 * t) ** 2 / 2))
    law = PurePursuit(closed, look_ahead=0.3, torque=5.0)
    law.advance(0.0, np.zeros(5), [0.1, 0.0])
    first = brentq(lambda s: np.hypot(1 - np.cos(0.4 * s), np.sin(0.4 * s) ** 2 / 2) - 0.3, 0.0, 4.0, xtol=1e-14)
    assert law.memory == pytest.approx(first, abs=1e-9)
    # From rest to rest to rest: at 0 and at 10 s velocity and acceleration vanish.
    paused = PlanarMotion(REDUCED, ca.vertcat(t - 10 / (2 * np.pi) * ca.sin(2 * np.pi * t / 10), 0.0))
    law = PurePursuit(paused, look_ahead=0.3, torque=5.0)
    for place, least, most in ((0.0, 0.0, 5.0), (9.95, 10.0, 15.0)):
        law.reset()
        law.advance(least, [place, 0.0, 0.0, 0.0, 0.0], [0.1, 0.0])
        goal = brentq(lambda s, x=place: s - 10 / (2 * np.pi) * np.sin(2 * np.pi * s / 10) - x - 0.3, least, most)
        assert law.memory == pytest.approx(goal, abs=1e-9)
