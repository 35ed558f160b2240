"""Dynamic feedback linearisation of a two-wheel robot: its error beside the closed form of the linear equation."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.controllers import Status
from erugin.controllers.baselines import DynamicFeedbackLinearization, PlanarMotion
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.simulation import SimulationError, Trajectory
from erugin.symbolic import ModelError, NotFiniteError, NotFiniteInputError, ParameterError, SingularProgramError

from ...support.two_wheel_tracking import FULL, REDUCED, Array, eight

RATE = 1.5
BOTH = pytest.mark.parametrize("robot", [FULL, REDUCED], ids=["full", "reduced"])
BESIDE = {"ahead": -0.2, "left": 0.25, "turned": 0.3}


def run(robot: Robot, step: float, *, law: dict[str, float] | None = None) -> Trajectory:
    motion = eight(robot)
    q0, v0 = motion.start(**BESIDE)
    return simulate(robot, DynamicFeedbackLinearization(motion, rate=RATE), q0, v0, 5.0, step=step, controller_p=law)


def closed_form(robot: Robot, t: Array, rate: float = RATE) -> Array:
    """e(t) = (c₀ + c₁ t + c₂ t²) exp(−ω t) from where the robot starts, e¨ = r¨ − ξ e − v ω n with ξ = e·r¨."""
    motion = eight(robot)
    q0, v0 = motion.start(**BESIDE)
    r, dr, ddr = (robot.evaluate(x, t=0.0) for x in (motion.place, motion.velocity, motion.acceleration))
    along = np.array([np.cos(q0[2]), np.sin(q0[2])])
    across = np.array([-along[1], along[0]])
    speed, turning = (v0[0], v0[1]) if v0.size == 2 else (along @ v0[:2], v0[2])
    e, de = r - q0[:2], dr - speed * along
    dde = ddr - (along @ ddr) * along - speed * turning * across
    c1, c2 = de + rate * e, (dde + 2 * rate * de + rate**2 * e) / 2
    decay: Array = np.exp(-rate * t)[:, None]
    return np.asarray((e + np.outer(t, c1) + np.outer(t**2, c2)) * decay, dtype=np.float64)


@BOTH
def test_the_error_obeys_the_linear_equation(robot: Robot) -> None:
    motion = run(robot, 2e-3)
    expected = closed_form(robot, motion.t)
    np.testing.assert_allclose(motion.deviation, expected, atol=1e-6)
    assert np.abs(expected[0]).min() > 0.03
    assert np.abs(expected[-1]).max() < 0.05 * np.abs(expected).max()
    assert motion.rows == ("x", "y")


def test_what_is_left_falls_with_the_square_of_the_sample() -> None:
    """The state that is added is integrated from sample to sample, by a rule of second order."""
    runs = [run(REDUCED, step) for step in (0.02, 0.01)]
    misses = [np.abs(motion.deviation - closed_form(REDUCED, motion.t)).max() for motion in runs]
    assert np.log2(misses[0] / misses[1]) == pytest.approx(2.0, abs=0.15)
    assert misses[1] > 1e-6


def test_the_rate_is_a_parameter() -> None:
    motion = run(REDUCED, 2e-3, law={"linearization.rate": 2.5})
    np.testing.assert_allclose(motion.deviation, closed_form(REDUCED, motion.t, 2.5), atol=1e-6)


def test_only_a_sample_changes_the_memory() -> None:
    motion = eight(REDUCED)
    law = DynamicFeedbackLinearization(motion)
    q0, v0 = motion.start(**BESIDE)
    unborn = law.control(0.0, q0, v0)
    law.advance(0.0, q0, v0)
    np.testing.assert_allclose(law.control(0.0, q0, v0), unborn, rtol=1e-14)
    memory, first = law.memory, law.control(0.01, q0 + 0.01, v0)
    law.control(0.7, q0, v0 + 0.1)
    assert law.memory is memory
    np.testing.assert_array_equal(law.control(0.01, q0 + 0.01, v0), first)
    law.advance(0.01, q0, v0)
    assert law.memory is not memory
    law.reset()
    np.testing.assert_array_equal(law.control(0.0, q0, v0), unborn)


def test_a_robot_that_hardly_moves_is_refused() -> None:
    motion = eight(REDUCED)
    law = DynamicFeedbackLinearization(motion, slowest=0.05)
    q0, v0 = motion.start()
    with pytest.raises(SingularProgramError, match=r"the axle moves at 0.04 m/s.*requires at least 0.05 m/s"):
        law.control(0.0, q0, [0.04, 0.1])
    assert np.isfinite(law.control(0.0, q0, [0.06, 0.1])).all()
    with pytest.raises(SimulationError, match="the axle moves at 0 m/s") as error:
        simulate(REDUCED, law, q0, 0 * v0, 1.0, step=1e-2)
    assert error.value.status is Status.SINGULAR


def test_bad_input_is_refused() -> None:
    motion = eight(REDUCED)
    for rate in (0.0, -1.0, np.inf):
        with pytest.raises(ParameterError, match=r"linearization\.rate"):
            DynamicFeedbackLinearization(motion, rate=rate)
    with pytest.raises(ModelError, match="slowest"):
        DynamicFeedbackLinearization(motion, slowest=0.0)
    law = DynamicFeedbackLinearization(motion)
    with pytest.raises(NotFiniteInputError):
        law.advance(0.0, [0.0, np.nan, 0.0, 0.0, 0.0], [0.5, 0.0])
    # Not three times differentiable at its start.
    rough = DynamicFeedbackLinearization(PlanarMotion(REDUCED, ca.vertcat(REDUCED.t, REDUCED.t**2.5)))
    with pytest.raises(NotFiniteError, match="not three times differentiable"):
        rough.advance(0.0, np.zeros(5), [1.0, 0.0])
