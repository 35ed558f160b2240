"""Limits of the output, of its rate, and a motor's lag, against closed forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import Controller, ProgramController, Status
from erugin.controllers.wrappers import Delay, MotorLag, RateLimit, SampleAndHold, Saturation
from erugin.robots import Limits, Robot
from erugin.scenarios import simulate
from erugin.symbolic import ModelError

from ...support.arms import disc_program, two_link_arm
from ...support.rail import Feedback, Signal, observations, outputs, rail

Array = NDArray[np.float64]
TIMES = np.arange(201) * 0.01
REST = np.zeros(201)


def strong(effort: float) -> Robot:
    """The rail with a drive of limited force."""
    robot = rail()
    limits = Limits(robot.limits.lower, robot.limits.upper, robot.limits.speed, np.array([effort]))
    return replace(robot, limits=limits)


def test_a_saturated_drive_pushes_as_hard_as_it_can_until_it_need_not() -> None:
    """From rest at distance 2 under u = −x − 2 v, but 0.5 at most: at first x = 2 − t²/4."""
    robot = strong(0.5)
    motion = simulate(robot, Saturation(Feedback(robot, [[1.0, 2.0]])), [2.0], [0.0], 8.0, step=1e-2)
    limited = motion.status == Status.LIMITED
    first = int(np.argmin(limited))
    np.testing.assert_allclose(motion.q[:first, 0], 2 - motion.t[:first] ** 2 / 4, atol=1e-12)
    # x + 2 v = 2 − t²/4 − t comes down to 0.5.
    assert motion.t[first] == pytest.approx(np.sqrt(10.0) - 2.0, abs=1e-2)
    assert not limited[first : first + 50].any()
    assert np.abs(motion.u).max() == 0.5
    wanted = -motion.q[:, 0] - 2 * motion.v[:, 0]
    np.testing.assert_allclose(motion.u[:, 0], np.clip(wanted, -0.5, 0.5), atol=1e-15)
    np.testing.assert_array_equal(limited, np.abs(wanted) > 0.5)
    assert motion.notes[0] == (0.0, "input 'u' would be -2, beyond its limit -0.5 by 1.5.")
    assert abs(motion.q[-1, 0]) < 0.02


def test_limits_may_differ_from_side_to_side_and_be_absent() -> None:
    robot = rail()
    swing = Signal(robot, lambda t: 3 * np.sin(5 * t))
    expected = 3 * np.sin(5 * TIMES)
    one_sided = outputs(Saturation(swing, 2.0, lower=-1.0), TIMES, REST)
    np.testing.assert_allclose(one_sided, np.clip(expected, -1.0, 2.0), atol=1e-15)
    only_below = outputs(Saturation(swing, lower=0.0), TIMES, REST)
    np.testing.assert_allclose(only_below, np.maximum(expected, 0.0), atol=1e-15)
    np.testing.assert_allclose(outputs(Saturation(swing, np.inf), TIMES, REST), expected, atol=1e-15)


def test_forces_are_limited_by_the_given_bounds_only() -> None:
    ideal = ProgramController(disc_program(two_link_arm()))
    with pytest.raises(ModelError, match="the output of the law is a force"):
        Saturation(ideal)
    limited = Saturation(ideal, [5.0, 3.0])
    expected_message = limited.observe(0.0, [-0.9, 1.4], [0.0, 0.0])
    full = ideal.control(0.0, [-0.9, 1.4], [0.0, 0.0])
    np.testing.assert_allclose(expected_message.output, np.clip(full, [-5.0, -3.0], [5.0, 3.0]))
    assert expected_message.status is Status.LIMITED
    assert "force along" in expected_message.message
    assert limited.memory is None


def test_an_output_goes_no_faster_than_its_rate() -> None:
    """A step to 5 at a rate of 4: a ramp, then the step; and down again."""
    robot = rail()
    controller = RateLimit(Signal(robot, lambda t: 5.0 if t < 1.495 else 0.0), 4.0)
    found = observations(controller, TIMES, REST)
    u = np.array([f.output[0] for f in found])
    up, down = np.minimum(4.0 * TIMES, 5.0), np.maximum(5.0 - 4.0 * (TIMES - 1.49), 0.0)
    np.testing.assert_allclose(u, np.where(TIMES < 1.495, up, down), atol=1e-12)
    limited = np.array([f.status is Status.LIMITED for f in found])
    np.testing.assert_array_equal(limited, ((TIMES < 1.2499) | (TIMES > 1.495)))
    assert found[0].message == "input 'u' would be 5, but changes by 4 per second at most and is at 0."
    # Between two samples too.
    controller.reset()
    controller.advance(0.0, [0.0], [0.0])
    assert controller.control(0.004, [0.0], [0.0])[0] == pytest.approx(0.016)


def test_a_jump_that_one_interval_compensates_is_not_reported() -> None:
    """A staircase of steps of 0.05, in samples of 0.01 s: at a rate of 10 late within samples only, at 3 for longer."""
    robot = rail()
    stairs = SampleAndHold(Signal(robot, lambda t: t), 0.05)
    quick = observations(RateLimit(stairs, 10.0), TIMES, REST)
    assert all(f.status is Status.OK for f in quick)
    slow = observations(RateLimit(stairs, 3.0), TIMES, REST)
    # A sample after each tick but the first, 0.03 of 0.05 is reached.
    limited = np.flatnonzero([f.status is Status.LIMITED for f in slow])
    np.testing.assert_array_equal(limited, np.arange(6, 201, 5))
    assert slow[6].message.startswith("input 'u' would be 0.05, but changes by 3 per second at most and is at 0.03")


def test_a_rate_that_is_never_reached_changes_nothing() -> None:
    robot = rail()
    law = Feedback(robot, [[4.0, 3.0]])
    free = simulate(robot, law, [1.0], [0.0], 1.0, step=0.01)
    for rate in (1e4, np.inf):
        limited = simulate(robot, RateLimit(law, rate, initial=-4.0), [1.0], [0.0], 1.0, step=0.01)
        np.testing.assert_array_equal(limited.u, free.u)
        assert limited.ok


def test_a_held_command_is_followed_exactly_by_a_lag() -> None:
    """Staircase of period P through T u̇ + u = c, solved step by step."""
    T, robot = 0.03, rail()
    controller = MotorLag(SampleAndHold(Signal(robot, lambda t: np.cos(9 * t)), 0.05), T, initial=0.2)
    u = outputs(controller, TIMES, REST)
    expected = 0.2
    for i, t in enumerate(TIMES):
        assert u[i] == pytest.approx(expected, abs=1e-13)
        # Between samples as well.
        assert controller.memory is not None
        c = np.cos(9 * 0.05 * np.floor(t / 0.05 + 1e-9))
        expected = c + (expected - c) * np.exp(-0.01 / T)


def test_a_ramp_is_followed_exactly_and_a_swing_of_order_two() -> None:
    T, robot = 0.2, rail()
    ramp = outputs(MotorLag(Signal(robot, lambda t: 3 * t), T), TIMES, REST)
    np.testing.assert_allclose(ramp, 3 * (TIMES - T + T * np.exp(-TIMES / T)), atol=1e-13)
    w = 7.0

    def error(step: float) -> float:
        t = np.arange(round(2.0 / step) + 1) * step
        swing = outputs(MotorLag(Signal(robot, lambda time: np.sin(w * time)), T), t, np.zeros(len(t)))
        answer = (np.sin(w * t) - w * T * np.cos(w * t) + w * T * np.exp(-t / T)) / (1 + (w * T) ** 2)
        return float(np.abs(swing - answer).max())

    assert np.log2(error(0.04) / error(0.02)) == pytest.approx(2.0, abs=0.1)
    assert error(0.01) < (w * 0.01) ** 2 / 12


def test_a_lag_in_a_loop_is_one_more_state() -> None:
    """ẍ = u, T u̇ + u = −k x − d v: the eigenvalues of three first-order equations."""
    T, k, d, robot = 0.1, 4.0, 3.0, rail()
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-k / T, -d / T, -1 / T]])
    values, vectors = np.linalg.eig(A)
    modes = np.linalg.solve(vectors, np.array([1.0, 0.0, 0.0]))

    def error(step: float) -> float:
        lagging = MotorLag(Feedback(robot, [[k, d]]), T)
        motion = simulate(robot, lagging, [1.0], [0.0], 2.0, step=step)
        exact = (vectors[0] * modes * np.exp(np.outer(motion.t, values))).sum(axis=1).real
        return float(np.abs(motion.q[:, 0] - exact).max())

    assert error(0.01) < 1e-4
    assert error(0.02) / error(0.01) > 3.5


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda law: Saturation(law), "declares no limits"),
        (lambda law: Saturation(law, -1.0), "limits must not be negative"),
        (lambda law: Saturation(law, [1.0, 2.0]), "limits must be a number or 1 of them, one for each output"),
        (lambda law: Saturation(law, 1.0, lower=2.0), "lower must not be above limits"),
        (lambda law: Saturation(law, lower=np.inf), "lower must not be above limits, nor"),
        (lambda law: Saturation(law, np.nan), "limits must be a number or 1"),
        (lambda law: Saturation(law, "much"), "limits must be a number or 1"),
        (lambda law: RateLimit(law, 0.0), "rate must be greater than zero"),
        (lambda law: RateLimit(law, [1.0, 2.0]), "rate must be a number or 1"),
        (lambda law: MotorLag(law, 0.0), "time_constant must be greater than zero"),
        (lambda law: MotorLag(law, np.inf), "time_constant must be finite"),
        (lambda law: MotorLag(law, 1.0, initial=np.nan), "initial must be a number or 1"),
    ],
)
def test_bad_settings_are_refused(build: Callable[[Controller], Controller], message: str) -> None:
    law = Feedback(rail(), [[1.0, 1.0]])
    with pytest.raises(ModelError, match=message):
        build(law)


@pytest.mark.parametrize("wrap", [lambda c: Delay(c, 0.1), lambda c: RateLimit(c, 1.0), lambda c: MotorLag(c, 0.1)])
def test_an_output_before_the_first_sample_is_refused(wrap: Callable[[Controller], Controller]) -> None:
    controller = wrap(Feedback(rail(), [[1.0, 1.0]]))
    with pytest.raises(ModelError, match=r"no sample yet: call advance\(t, q, v\) before control"):
        controller.control(0.0, [0.0], [0.0])
