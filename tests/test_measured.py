"""Laws that see smooth errors of measurement: what they see, what is told, and that a symbolic law stays one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic
from erugin.controllers import Controller, Program, ProgramController
from erugin.controllers.wrappers import Fallback, MeasurementNoise, SampleAndHold
from erugin.robots import Link, Robot, planar_manipulator
from erugin.robots.examples import fukao_robot
from erugin.robots.signals import BandNoise, Push, Step
from erugin.scenarios import Uniform, disturbance_distributions, simulate
from erugin.simulation import Simulator
from erugin.symbolic import ModelError, ParameterError, ShapeError

from .wrapped import Feedback, rail

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
    _, q, v, _ = controller.seen(t, np.zeros(c.nq), np.zeros(c.nv), p)
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
    # What is told is the true deviation, not what the law believes.
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
            np.concatenate(errors_of(law, 1.3, {name: rng.uniform(a, b) for name, (a, b) in law.drawn.items()}))
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


def test_lanes_of_a_batch_see_errors_of_their_own() -> None:
    law = MeasurementNoise(hold(), q=1e-3)
    rng = np.random.default_rng(2)
    controller_p = {name: rng.uniform(low, high, 4) for name, (low, high) in law.drawn.items()}
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
    with pytest.raises(ModelError, match="are not the rates of its coordinates"):
        MeasurementNoise(law, q=1e-3, v="derivative")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: MeasurementNoise(3), ModelError, "goes around a Controller, got 3"),  # type: ignore[arg-type]
        (lambda: MeasurementNoise(hold()), ModelError, "needs an error to measure with"),
        (lambda: MeasurementNoise(hold(), v="derivative"), ModelError, "needs an error to measure with"),
        (lambda: MeasurementNoise(hold(), v="rate"), ModelError, "or 'derivative', got 'rate'"),  # type: ignore[arg-type]
        (lambda: MeasurementNoise(hold(), q=-1.0), ModelError, "q= of Measured: .* must not be negative"),
        (lambda: MeasurementNoise(hold(), v=None), ModelError, "v= of Measured: .*, got None"),  # type: ignore[arg-type]
        (
            lambda: MeasurementNoise(hold(), q=1.0, seed=-1),
            ModelError,
            "seed must be a whole number of at least 0, got -1",
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
