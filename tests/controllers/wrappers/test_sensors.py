"""Encoders, noise, failing sensors and smooth measurement errors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import cont2discrete, freqz, lfilter, ss2tf, tf2ss

from erugin.constraints import holonomic
from erugin.controllers import Controller, Program, ProgramController
from erugin.controllers.wrappers import Dropout, Encoders, Fallback, MeasurementNoise, Noise, SampleAndHold, Saturation
from erugin.robots import Link, Robot, planar_manipulator
from erugin.robots.examples import fukao_robot
from erugin.robots.signals import BandNoise, Push, Step
from erugin.scenarios import Uniform, disturbance_distributions, simulate
from erugin.simulation import Simulator
from erugin.symbolic import ModelError, NotFiniteError, ParameterError, ShapeError

from ...support.controller_cases.programs import program_controller
from ...support.controller_cases.robots import robot_case
from ...support.rail import Feedback, Seen, Signal, outputs, rail

Array = NDArray[np.float64]
START = ([0.1, 1.0], [0.0, 0.0])


@functools.cache
def arm() -> Robot:
    return planar_manipulator([Link(0.5, 1.0, 0.25, 0.02)] * 2)


@functools.cache
def hold() -> ProgramController:
    away = arm().points["tip"] - ca.DM([0.6, 0.3])
    return ProgramController(Program(arm(), holonomic(away, name="hold")), realization="actuated")


def errors_of(controller: MeasurementNoise, t: float, p: Mapping[str, float] | None = None) -> tuple[Array, Array]:
    """n(t) and w(t)."""
    c = controller.robot.coordinates
    _, q, v, _ = controller.measured_arguments(t, np.zeros(c.nq), np.zeros(c.nv), controller.parameters.values(p))
    return q, v


WAYS: dict[str, Callable[[Controller], MeasurementNoise]] = {
    "coordinates": lambda law: MeasurementNoise(law, q=1e-3),
    "both": lambda law: MeasurementNoise(law, q=1e-3, v=[0.0, 1e-2]),
    "derivative": lambda law: MeasurementNoise(law, q=1e-3, v="derivative"),
    "velocities": lambda law: MeasurementNoise(law, v=1e-2),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_symbolic_law_stays_one_and_moves_as_the_law_that_is_called(way: str) -> None:
    compiled, called = WAYS[way](hold()), WAYS[way](Fallback(hold()))
    assert compiled.law is not None
    assert called.law is None
    assert compiled.parameters.names == called.parameters.names
    one, other = (simulate(arm(), law, *START, 0.5, step=2e-3) for law in (compiled, called))
    np.testing.assert_allclose(one.q, other.q, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(one.u, other.u, rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(one.deviation, other.deviation, rtol=0.0, atol=1e-13)
    plain = simulate(arm(), hold(), *START, 0.5, step=2e-3)
    assert np.abs(plain.u - one.u).max() > 1e-2
    # The reported deviation is the true one, not that of the measured state.
    np.testing.assert_allclose(one.deviation, one.evaluate(arm().points["tip"] - ca.DM([0.6, 0.3])), atol=1e-12)


def test_the_law_sees_the_state_with_its_errors() -> None:
    law = MeasurementNoise(hold(), q=2e-3, v=3e-2)
    n, w = errors_of(law, 0.4)
    assert np.abs(n).min() > 1e-5
    assert np.abs(w).min() > 1e-4
    q, v = np.array([0.3, 0.8]), np.array([0.2, -0.1])
    np.testing.assert_allclose(law.control(0.4, q, v), hold().control(0.4, q + n, v + w), rtol=1e-13)
    # Without any it is the law itself.
    names = [name for name in law.parameters.names if name.endswith("amplitude")]
    assert names == ["noise.amplitude", "noise.rate.amplitude"]
    np.testing.assert_array_equal(law.control(0.4, q, v, dict.fromkeys(names, 0.0)), hold().control(0.4, q, v))


def test_the_velocity_of_a_sensor_of_positions_has_the_derivative_of_their_errors() -> None:
    law = MeasurementNoise(hold(), q=1e-3, v="derivative", band=(2.0, 5.0))
    for t in (0.0, 0.37, 2.1):
        h = 1e-5
        slope = (errors_of(law, t + h)[0] - errors_of(law, t - h)[0]) / (2 * h)
        np.testing.assert_allclose(errors_of(law, t)[1], slope, atol=1e-9)
    assert not any(".rate." in name for name in law.parameters.names)


def test_errors_have_their_size_over_the_seeds_of_a_study() -> None:
    law = MeasurementNoise(hold(), q=[1e-3, 0.0], v=2e-2, terms=5)
    varied = disturbance_distributions(law)
    assert len(varied) == 2 * 5 * 4
    assert varied["law.noise.q1.phase5"] == Uniform(0.0, 2.0 * np.pi)
    rng = np.random.default_rng(0)
    found = np.array(
        [
            np.concatenate(errors_of(law, 1.3, {name: rng.uniform(a, b) for name, (a, b) in law.random_ranges.items()}))
            for _ in range(600)
        ]
    )
    # 600 draws tell a root mean square to about 3 %.
    np.testing.assert_allclose(np.sqrt(np.mean(found**2, axis=0)), [1e-3, 0.0, 2e-2, 2e-2], rtol=0.1)


def test_equal_parameters_give_different_laws_the_same_errors() -> None:
    other = ProgramController(Program(arm(), holonomic(arm().q - ca.DM([0.3, 0.9]), name="place")))
    p = {"noise.q2.phase1": 0.5, "noise.q1.frequency3": 6.0}
    for t in (0.0, 1.7):
        one, two = (errors_of(MeasurementNoise(law, q=1e-3), t, p) for law in (hold(), other))
        np.testing.assert_array_equal(one, two)
    first, second = (errors_of(MeasurementNoise(hold(), q=1e-3, seed=seed), 0.3)[0] for seed in (0, 1))
    assert np.abs(first - second).max() > 1e-5


def test_each_lane_of_a_batch_has_separate_errors() -> None:
    law = MeasurementNoise(hold(), q=1e-3)
    rng = np.random.default_rng(2)
    controller_p = {name: rng.uniform(low, high, 4) for name, (low, high) in law.random_ranges.items()}
    simulator = Simulator(arm(), law)
    motions = simulator.run_batch(*START, 0.2, step=2e-3, controller_p=controller_p)
    assert np.ptp(motions.final_q, axis=0).min() > 1e-6
    alone = simulator.run(*START, 0.2, step=2e-3, controller_p={name: float(x[2]) for name, x in controller_p.items()})
    np.testing.assert_array_equal(alone.q, motions[2].q)


def test_a_law_with_a_memory_takes_in_what_it_sees() -> None:
    """Held over ten steps, as a sampled law that sees them is; and a second run is the first."""
    law = MeasurementNoise(SampleAndHold(Feedback(rail(), [4.0, 1.0]), 0.1), q=Step(0.5, time=0.45, rise=0.01))
    first, again = (simulate(rail(), law, [1.0], [0.0], 0.8, step=0.01) for _ in range(2))
    np.testing.assert_array_equal(first.u, again.u)
    held = first.u[:80, 0].reshape(8, 10)
    np.testing.assert_array_equal(held, np.repeat(held[:, :1], 10, axis=1))
    sampled = first.q[::10, 0] + np.where(first.t[::10] > 0.46, 0.5, 0.0)
    np.testing.assert_allclose(held[:, 0], -4.0 * sampled[:8] - first.v[::10, 0][:8], rtol=1e-12)


def test_any_signal_may_be_the_error_and_quasi_velocities_have_their_own() -> None:
    wheels = fukao_robot(form="reduced")
    rows = holonomic(wheels.points["tip"] if "tip" in wheels.points else wheels.q[:2], name="place")
    law = ProgramController(Program(wheels, rows))
    noisy = MeasurementNoise(law, q=Push([0.0, 0.01, 0.0, 0.0, 0.0], 0.2), v=BandNoise([0.1, 0.2], (1.0, 2.0)))
    names = [wheels.v[i].name() for i in range(2)]
    assert {f"noise.rate.{name}.amplitude" for name in names} <= set(noisy.parameters.names)
    n, w = errors_of(noisy, 0.25)
    np.testing.assert_allclose(n, [0.0, 8.0 / 3.0 * 0.01 / 0.1, 0.0, 0.0, 0.0], atol=1e-12)
    assert np.abs(w).min() > 0.0
    with pytest.raises(ModelError, match="requires velocities that are the rates"):
        MeasurementNoise(law, q=1e-3, v="derivative")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: MeasurementNoise(3), ModelError, "wraps a Controller, got 3"),  # type: ignore[arg-type]
        (lambda: MeasurementNoise(hold()), ModelError, "MeasurementNoise requires an error"),
        (lambda: MeasurementNoise(hold(), v="derivative"), ModelError, "MeasurementNoise requires an error"),
        (lambda: MeasurementNoise(hold(), v="rate"), ModelError, "or 'derivative', got 'rate'"),  # type: ignore[arg-type]
        (lambda: MeasurementNoise(hold(), q=-1.0), ModelError, "q= of MeasurementNoise: .* must not be negative"),
        (lambda: MeasurementNoise(hold(), v=None), ModelError, "v= of MeasurementNoise: .*, got None"),  # type: ignore[arg-type]
        (
            lambda: MeasurementNoise(hold(), q=1.0, seed=-1),
            ModelError,
            "seed must be an integer of at least 0, got -1",
        ),
        (
            lambda: MeasurementNoise(hold(), q=1.0, seed=True),
            ModelError,
            "seed of MeasurementNoise must be a whole number, got True",
        ),
        (lambda: MeasurementNoise(hold(), q=Step(1.0, 0.0), band=(3, 1)), ModelError, "band must be"),
        (
            lambda: MeasurementNoise(hold(), q=[1.0, 2.0, 3.0]),
            ModelError,
            r"or 2 of them for 'q1', 'q2'; got \[1\.0, 2\.0, 3",
        ),
        (lambda: MeasurementNoise(hold(), q=1.0, name=""), ModelError, "name of measurement noise"),
        (lambda: MeasurementNoise(MeasurementNoise(hold(), q=1.0), q=1.0), ParameterError, "'noise.amplitude'"),
        (
            lambda: MeasurementNoise(hold(), q=1.0).control(0.0, [1.0], [0.0, 0.0]),
            ShapeError,
            r"q must have shape \(2,\)",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


N = 2500
TIMES = np.arange(N) * 1e-3


def test_a_count_is_off_by_half_a_resolution_at_most_and_evenly() -> None:
    """Uniform in ±r/2: mean zero, variance r²/12."""
    r = 0.004
    q = np.cumsum(np.random.default_rng(2).uniform(0.0, 5 * r, N))
    seen = outputs(Encoders(Seen(rail()), r), TIMES, q)
    np.testing.assert_allclose(seen / r, np.round(seen / r), atol=1e-9)
    error = seen - q
    assert np.abs(error).max() <= r / 2 * (1 + 1e-9)
    assert error.mean() == pytest.approx(0.0, abs=5 * r / np.sqrt(12 * N))
    assert error.var() == pytest.approx(r**2 / 12, rel=0.1)


def test_a_resolution_of_zero_and_an_exact_velocity_show_what_is_there() -> None:
    rng = np.random.default_rng(3)
    q, v = rng.normal(size=(2, 50))
    np.testing.assert_array_equal(outputs(Encoders(Seen(rail()), 0.0), TIMES[:50], q, v), q)
    np.testing.assert_array_equal(outputs(Encoders(Seen(rail(), 1), 0.5), TIMES[:50], q, v), v)


def test_a_law_sees_the_last_reading_until_the_next() -> None:
    controller = Encoders(Seen(rail()), 0.1)
    controller.advance(0.0, [0.33], [0.0])
    assert controller.control(0.0, [0.33], [0.0])[0] == pytest.approx(0.3)
    assert controller.control(0.01, [5.0], [0.0])[0] == pytest.approx(0.3)


def discrete(velocity: str, w: float, h: float) -> tuple[Array, Array]:
    """Numerator and denominator in z of what makes a velocity of a position that goes straight between samples."""
    transfer = ([w, 0.0], [1.0, w]) if velocity == "filtered" else ([w**2, 0.0], [1.0, 2 * w, w**2])
    A, B, C, D, _ = cont2discrete(tf2ss(*transfer), h, method="foh")
    numerator, denominator = ss2tf(A, B, C, D)
    return np.asarray(numerator, dtype=np.float64).ravel(), np.asarray(denominator, dtype=np.float64)


@pytest.mark.parametrize("velocity", ["filtered", "observer"])
def test_estimates_are_the_filters_for_a_position_that_goes_straight_between_samples(velocity: str) -> None:
    """Against SciPy's first-order-hold discretisation of the transfer function, on a random walk in whole counts."""
    h, w, r = 1e-3, 60.0, 1e-3
    q = np.concatenate([[0.0], np.cumsum(np.random.default_rng(4).normal(size=N - 1) * 3e-3)])
    controller = Encoders(Seen(rail(), 1), r, velocity=velocity, cutoff=w)  # type: ignore[arg-type]
    seen = outputs(controller, TIMES, q)
    expected = lfilter(*discrete(velocity, w, h), r * np.round(q / r))
    np.testing.assert_allclose(seen, expected, atol=1e-9)


@pytest.mark.parametrize("frequency", [5.0, 60.0, 400.0])
@pytest.mark.parametrize("velocity", ["difference", "filtered", "observer"])
def test_frequency_response_of_the_estimates(velocity: str, frequency: float) -> None:
    """Gain and phase of the velocity seen in a position A sin Ωt, once the start has died away."""
    h, w = 1e-3, 60.0
    controller = Encoders(
        Seen(rail(), 1),
        0.0,
        velocity=velocity,  # type: ignore[arg-type]
        cutoff=None if velocity == "difference" else w,
    )
    seen = outputs(controller, TIMES, np.sin(frequency * TIMES))[1000:]
    waves = np.column_stack([np.sin(frequency * TIMES[1000:]), np.cos(frequency * TIMES[1000:])])
    (real, imaginary), *_ = np.linalg.lstsq(waves, seen, rcond=None)
    if velocity == "difference":
        _, sampled = freqz([1 / h, -1 / h], [1.0], worN=[frequency * h])
        ideal = 1j * frequency
    else:
        _, sampled = freqz(*discrete(velocity, w, h), worN=[frequency * h])
        s = 1j * frequency
        ideal = w * s / (s + w) if velocity == "filtered" else w**2 * s / (s + w) ** 2
    assert real + 1j * imaginary == pytest.approx(complex(sampled[0]), rel=1e-6)
    # The continuous filter, but for what lies between samples, of order two; a difference lags by half a step.
    lag = 0.5 * frequency * h if velocity == "difference" else (max(frequency, w) * h) ** 2 / 12
    assert abs(complex(sampled[0]) - ideal) <= 1.1 * lag * abs(ideal)


def test_a_difference_of_counts_errs_by_a_resolution_per_step() -> None:
    r, h = 1e-3, 1e-3
    v = 0.37
    seen = outputs(Encoders(Seen(rail(), 1), r, velocity="difference"), TIMES, v * TIMES)[1:]
    assert np.abs(seen - v).max() <= r / h
    assert np.abs(seen - v).max() > 0.3 * r / h
    smooth = outputs(Encoders(Seen(rail(), 1), r, velocity="observer", cutoff=20.0), TIMES, v * TIMES)[1000:]
    assert np.abs(smooth - v).max() < 0.05 * r / h


def test_velocities_that_are_no_rates_cannot_be_estimated() -> None:
    case = robot_case("reduced two-wheel robot")
    with pytest.raises(ModelError, match="requires velocities that are the rates"):
        Encoders(program_controller(case), 1e-3, velocity="difference")
    assert fukao_robot(form="reduced").coordinates.nv == 2


@pytest.mark.slow
def test_noise_has_the_spread_that_it_is_given() -> None:
    """Mean, deviation and no memory from sample to sample, each within five standard errors."""
    robot = rail()
    for spread, controller in [
        (0.3, Noise(Seen(robot), q=0.3, seed=5)),
        (2.0, Noise(Seen(robot, 1), v=2.0, seed=5)),
        (0.7, Noise(Signal(robot, lambda t: 0.0), u=0.7, seed=5)),
    ]:
        x = outputs(controller, TIMES, np.zeros(N)) / spread
        assert abs(x.mean()) < 5 / np.sqrt(N)
        assert abs(x.std() - 1) < 5 / np.sqrt(2 * N)
        assert abs(np.mean(x[1:] * x[:-1])) < 5 / np.sqrt(N)
        # A normal distribution leaves 0.27 % beyond three deviations.
        assert 0.0005 < np.mean(np.abs(x) > 3) < 0.006


def test_noise_is_the_same_in_every_run_and_different_in_every_wrapper() -> None:
    robot, zero = rail(), np.zeros(20)
    controller = Noise(Seen(robot), q=1.0, seed=7)
    first = outputs(controller, TIMES[:20], zero)
    np.testing.assert_array_equal(outputs(controller, TIMES[:20], zero), first)
    np.testing.assert_array_equal(outputs(Noise(Seen(robot), q=1.0, v=3.0, seed=7), TIMES[:20], zero), first)
    assert np.abs(outputs(Noise(Seen(robot), q=1.0, seed=8), TIMES[:20], zero) - first).min() > 0.0
    nested = outputs(Noise(controller, q=1.0, seed=7), TIMES[:20], zero)
    # Two independent parts, not the same one twice.
    assert np.abs(nested - 2 * first).min() > 0.0
    np.testing.assert_array_equal(
        nested, outputs(Noise(Noise(Seen(robot), q=1.0, seed=7), q=1.0, seed=7), TIMES[:20], zero)
    )


def test_noise_is_constant_between_samples_and_comes_back_with_the_memory() -> None:
    controller = Noise(Seen(rail()), q=1.0, seed=9)
    controller.advance(0.0, [0.0], [0.0])
    drawn = controller.control(0.0, [0.0], [0.0])[0]
    assert controller.control(0.01, [0.25], [0.0])[0] == pytest.approx(drawn + 0.25)
    before = controller.memory
    controller.advance(0.02, [0.0], [0.0])
    second = controller.control(0.02, [0.0], [0.0])[0]
    assert second != drawn
    controller.memory = before
    controller.advance(0.02, [0.0], [0.0])
    assert controller.control(0.02, [0.0], [0.0])[0] == second


def test_what_is_outside_acts_last() -> None:
    """A limit outside the noise holds, a limit inside does not."""
    robot = rail()
    push = Signal(robot, lambda t: 1.0)
    inside = outputs(Noise(Saturation(push, 1.0), u=0.2, seed=1), TIMES[:200], np.zeros(200))
    outside = outputs(Saturation(Noise(push, u=0.2, seed=1), 1.0), TIMES[:200], np.zeros(200))
    assert inside.max() > 1.2
    assert outside.max() == 1.0
    np.testing.assert_allclose(outside, np.minimum(inside, 1.0))


def test_a_sensor_fails_at_the_given_rate_and_the_law_refuses() -> None:
    controller = Dropout(Seen(rail()), 0.2, seed=3)
    failed = np.zeros(2000)
    for i in range(2000):
        controller.advance(i * 1e-3, [1.0], [0.0])
        try:
            assert controller.control(i * 1e-3, [1.0], [0.0])[0] == 1.0
        except NotFiniteError:
            failed[i] = 1
    assert failed.mean() == pytest.approx(0.2, abs=5 * np.sqrt(0.2 * 0.8 / 2000))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda law: Encoders(law, -1.0), "resolution must not be negative"),
        (lambda law: Encoders(law, [1.0, 2.0]), "resolution must be a number or 1 of them, one for each coordinate"),
        (
            lambda law: Encoders(law, 0.1, velocity="guessed"),  # type: ignore[arg-type]
            "velocity must be one of 'exact', 'difference'",
        ),
        (
            lambda law: Encoders(law, 0.1, velocity="filtered"),
            "cutoff= is required by velocity='filtered' and 'observer'",
        ),
        (lambda law: Encoders(law, 0.1, cutoff=3.0), "cutoff= is required by"),
        (lambda law: Encoders(law, 0.1, velocity="observer", cutoff=0.0), "cutoff must be greater than zero"),
        (lambda law: Noise(law, q=-1.0), "q must not be negative"),
        (lambda law: Noise(law, v=np.inf), "v must be finite"),
        (lambda law: Noise(law, u=[1.0, 2.0]), "u must be a number or 1"),
        (lambda law: Noise(law, seed=-1), "seed must be a whole number"),
        (
            lambda law: Noise(law, seed=0.5),  # type: ignore[arg-type]
            "seed must be a whole number",
        ),
        (lambda law: Dropout(law, 1.5), "probability must lie between 0 and 1"),
    ],
)
def test_bad_settings_are_refused(build: Callable[[Controller], Controller], message: str) -> None:
    law = Feedback(rail(), [[1.0, 1.0]])
    with pytest.raises(ModelError, match=message):
        build(law)
