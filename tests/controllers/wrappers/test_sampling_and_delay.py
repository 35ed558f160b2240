"""Sampling and dead time against exact discretisation, the method of steps and Lambert's function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.signal import cont2discrete
from scipy.special import lambertw

from erugin.controllers import Controller
from erugin.controllers.sample_clock import SampleClock
from erugin.controllers.wrappers import Delay, SampleAndHold
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.simulation import DOP853, RK4, Integrator
from erugin.symbolic import ModelError

from ...support.rail import Feedback, Seen, outputs, rail

Array = NDArray[np.float64]
GAINS = np.array([[6.0, 2.0]])
START = np.array([1.0, -0.5])


def matrices(stiffness: float, damping: float) -> tuple[Array, Array]:
    return np.array([[0.0, 1.0], [-stiffness, -damping]]), np.array([[0.0], [1.0]])


def held(A: Array, B: Array, x: Array, u: float, length: float) -> Array:
    """The state after a while under a constant input."""
    block = np.zeros((3, 3))
    block[:2, :2], block[:2, 2:] = A, B
    return np.asarray((expm(block * length) @ np.append(x, u))[:2], dtype=np.float64)


# RK4 is exact for a mass that a constant force pushes; with a spring it takes a method of small error.
PLANTS: list[tuple[float, float, Integrator]] = [(0.0, 0.0, RK4()), (9.0, 0.4, DOP853(1e-13, 1e-13))]


@pytest.mark.parametrize(("stiffness", "damping", "integrator"), PLANTS)
def test_a_sampled_law_is_the_exact_discretisation(stiffness: float, damping: float, integrator: Integrator) -> None:
    period, n = 0.05, 40
    A, B = matrices(stiffness, damping)
    Ad, Bd, *_ = cont2discrete((A, B, np.eye(2), np.zeros((2, 1))), period, method="zoh")
    robot = rail(stiffness, damping)
    controller = SampleAndHold(Feedback(robot, GAINS), period)
    motion = simulate(robot, controller, START[:1], START[1:], n * period, step=period / 5, integrator=integrator)
    x = START
    for k in range(n):
        np.testing.assert_allclose([motion.q[5 * k, 0], motion.v[5 * k, 0]], x, atol=1e-10)
        np.testing.assert_allclose(motion.u[5 * k : 5 * k + 5, 0], np.repeat(-GAINS @ x, 5), atol=1e-9)
        x = Ad @ x - Bd @ GAINS @ x
    # Not what the law does when it is not sampled.
    continuous = expm((A - B @ GAINS) * n * period) @ START
    assert np.abs(continuous - [motion.q[-1, 0], motion.v[-1, 0]]).max() > 1e-3


def test_a_step_that_does_not_divide_the_period_ticks_at_the_first_sample_after() -> None:
    robot = rail()
    controller = SampleAndHold(Feedback(robot, GAINS), 0.05)
    motion = simulate(robot, controller, START[:1], START[1:], 1.0, step=0.02)
    A, B = matrices(0.0, 0.0)
    ticks = [math.ceil(k * 0.05 / 0.02 - 1e-9) for k in range(21)]
    assert ticks[:5] == [0, 3, 5, 8, 10]
    x, u = START, 0.0
    for i in range(len(motion)):
        np.testing.assert_allclose([motion.q[i, 0], motion.v[i, 0]], x, atol=1e-10)
        u = float((-GAINS @ x)[0]) if i in ticks else u
        x = held(A, B, x, u, 0.02)


@pytest.mark.parametrize("step", [1e-3, 1.0 / 3.0e3, 0.1])
@pytest.mark.parametrize("start", [0.0, 17.3])
def test_ticks_do_not_drift(step: float, start: float) -> None:
    """A hundred thousand periods later the sample at a tick is still the one that ticks."""
    clock = SampleClock(start, start)
    for k in range(1, 400_000, 3):
        clock = clock.at(start + k * step, 4 * step, "clock")
        if k < 100 or k > 399_900:
            assert clock.index == k // 4
    assert clock.start == start


def test_samples_too_far_apart_are_refused_with_the_longest_step() -> None:
    robot = rail()
    with pytest.raises(ModelError, match=r"ticks every 0.01 s, but samples are 0.05 s apart: use a step of at most"):
        simulate(robot, SampleAndHold(Feedback(robot, GAINS), 0.01), [1.0], [0.0], 1.0, step=0.05)


def test_time_that_runs_backwards_is_refused() -> None:
    controller = SampleAndHold(Feedback(rail(), GAINS), 0.01)
    controller.advance(1.0, [0.0], [0.0])
    with pytest.raises(ModelError, match=r"call reset\(\)"):
        controller.advance(0.0, [0.0], [0.0])
    controller.reset()
    controller.advance(0.0, [0.0], [0.0])


@pytest.mark.sampled
@pytest.mark.parametrize("time", [0.1, 0.07, 0.02])
@pytest.mark.parametrize(("stiffness", "damping", "integrator"), PLANTS)
def test_a_delayed_sampled_law_is_exact_whether_or_not_periods_fit(
    time: float, stiffness: float, damping: float, integrator: Integrator
) -> None:
    """The output of a tick arrives later, inside a period, at a sample of the simulation."""
    period, step = 0.05, 0.01
    robot = rail(stiffness, damping)
    controller = Delay(SampleAndHold(Feedback(robot, GAINS), period), time, initial=0.3)
    motion = simulate(robot, controller, START[:1], START[1:], 1.5, step=step, integrator=integrator)
    A, B = matrices(stiffness, damping)
    x, late, commands = START, round(time / step), list[float]()
    for i in range(len(motion)):
        np.testing.assert_allclose([motion.q[i, 0], motion.v[i, 0]], x, atol=1e-10)
        commands.append(float((-GAINS @ x)[0]) if i % 5 == 0 else commands[-1])
        u = commands[i - late] if i >= late else 0.3
        assert motion.u[i, 0] == pytest.approx(u, abs=1e-9)
        x = held(A, B, x, u, step)


def steps(t: Array, time: float) -> Array:
    """v̇ = −v(t − τ) with v = 1 up to t = 0, by the method of steps: Σ (−1)^k (t − (k − 1) τ)^k/k!, k up to t/τ + 1."""
    total = np.zeros(t.shape)
    for k in range(60):
        total += np.where(t >= (k - 1) * time, (-1.0) ** k * (t - (k - 1) * time) ** k / math.factorial(k), 0.0)
    return total


@pytest.mark.parametrize("measured", [False, True])
@pytest.mark.parametrize("time", [0.5, 0.06])
def test_a_delayed_continuous_law_is_of_order_two_in_the_step(time: float, measured: bool) -> None:
    """Also where the delay is shorter than the step; what was before the start is the first output, or state."""
    robot = rail()
    law = Feedback(robot, [[0.0, 1.0]])
    delayed = Delay(law, measurement=time) if measured else Delay(law, time, initial=-1.0)

    def error(step: float) -> float:
        motion = simulate(robot, delayed, [0.0], [1.0], 2.0, step=step)
        return float(np.abs(motion.v[:, 0] - steps(motion.t, time)).max())

    coarse, fine = error(0.1), error(0.025)
    assert fine < 2e-4
    assert fine < coarse / 10
    if time == 0.5:
        # Up to 3 τ the law's output is a polynomial of degree one from sample to sample: nothing is lost.
        motion = simulate(robot, delayed, [0.0], [1.0], 1.0, step=0.05)
        np.testing.assert_allclose(motion.v[:, 0], steps(motion.t, time), atol=1e-12)


@pytest.mark.parametrize("side", [0.98, 1.02])
def test_the_critical_delay_of_a_loop_of_first_order(side: float) -> None:
    """v̇ = −k v(t − τ) swings undamped at τ = π/(2 k), and grows as Lambert's function says beside it."""
    k, robot = 2.0, rail()
    time = side * np.pi / (2 * k)
    controller = Delay(Feedback(robot, [[0.0, k]]), time)
    motion = simulate(robot, controller, [0.0], [1.0], 40.0, step=time / 40)
    root = lambertw(-k * time) / time
    assert bool(root.real > 0.0) is (side > 1.0)
    t, v = motion.t, motion.v[:, 0]
    # Amplitude and phase of a swing with this root, one period apart, late enough for the faster ones to be gone.
    lag = 2 * np.pi / abs(root.imag)
    late = (t > 10.0) & (t < 40.0 - lag)
    grown = np.interp(t[late] + lag, t, v) @ v[late] / (v[late] @ v[late])
    assert np.log(grown) / lag == pytest.approx(root.real, abs=0.04 * abs(root.real) + 1e-4)
    assert bool(grown > 1.0) is (side > 1.0)


def test_no_delay_is_the_law_itself() -> None:
    robot = rail(9.0)
    law = Feedback(robot, GAINS)
    plain = simulate(robot, law, START[:1], START[1:], 1.0, step=0.02)
    delayed = simulate(robot, Delay(law), START[:1], START[1:], 1.0, step=0.02)
    np.testing.assert_array_equal(plain.q, delayed.q)


def test_only_as_much_is_remembered_as_the_delay_needs() -> None:
    controller = Delay(Seen(rail()), 0.05, measurement=0.02)
    times = np.arange(400) * 1e-3
    found = outputs(controller, times, times)
    np.testing.assert_allclose(found[71:], times[71:] - 0.07, atol=1e-12)
    own = controller.parts(controller.memory).outer
    assert own is not None
    parts = controller.memory_layout(len(own)).numbers(own)
    # The length is doubled whenever it does not suffice.
    assert len(parts["command_times"]) == len(parts["state_times"]) <= 2 * 54


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda r: SampleAndHold(Feedback(r, GAINS), 0.0), "period must be greater than zero"),
        (
            lambda r: SampleAndHold(cast(Controller, r), 0.1),
            "wraps a Controller",
        ),
        (lambda r: Delay(Feedback(r, GAINS), -0.1), "time must not be negative"),
        (lambda r: Delay(Feedback(r, GAINS), 0.1, initial=[1.0, 2.0]), "initial must be a number or 1"),
        (lambda r: Delay(Feedback(r, GAINS), 0.1, initial=np.inf), "initial must be finite"),
    ],
)
def test_bad_settings_are_refused(build: Callable[[Robot], Controller], message: str) -> None:
    robot = rail()
    with pytest.raises(ModelError, match=message):
        build(robot)
