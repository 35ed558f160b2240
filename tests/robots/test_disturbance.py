"""Forces on a plant that its controller does not know: their size and spectrum, what they give, and what they leave."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic
from erugin.controllers import Program, ProgramController
from erugin.controllers.multipliers import LdlMultipliers, SweepMultipliers
from erugin.robots import Link, Robot, assemble, disturb, planar_manipulator
from erugin.robots.examples import fukao_robot, pinocchio_four_bar
from erugin.robots.signals import BandNoise, Push, Signal, SignalExpressions, Step
from erugin.scenarios import Uniform, disturbance_distributions, simulate
from erugin.simulation import DOP853, Simulator
from erugin.symbolic import ModelError, ParameterError

from ..support.quadratic_rows import MASS, point_mass
from ..support.urdf import seven_joint_arm

Array = NDArray[np.float64]
TIGHT = DOP853(1e-11, 1e-11)
NOISE = BandNoise(0.8, (0.5, 4.0), seed=3)


@functools.cache
def four_bar_start() -> Array:
    robot = pinocchio_four_bar()
    return assemble(robot, [0.8] * robot.coordinates.nq).q


@functools.cache
def chain(n: int) -> Robot:
    return planar_manipulator([Link(0.4, 2.0, 0.2, 0.03)] * n, angles="absolute", gravity=3.0)


FAMILIES: dict[str, tuple[Callable[[], Robot], str | None, Callable[[], Array], Array]] = {
    "chain": (lambda: chain(3), "tip", lambda: np.array([0.3, 0.5, 0.2]), np.zeros(3)),
    "mechanism": (pinocchio_four_bar, None, four_bar_start, np.zeros(3)),
    "quasi-velocities": (lambda: fukao_robot(form="reduced"), None, lambda: np.zeros(5), np.array([0.3, 0.1])),
    "natural rows": (fukao_robot, None, lambda: np.zeros(5), np.array([0.3, 0.0, 0.0, 2.0, 2.0])),
    "URDF": (seven_joint_arm, None, lambda: np.array([0.1, -0.6, 0.2, -2.1, 0.1, 1.6, 0.7]), np.zeros(7)),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_energy_changes_by_the_power_of_the_force_alone(name: str) -> None:
    """Nothing else gives or takes power here; without the force the energy stays."""
    make, on, q0, v0 = FAMILIES[name]
    robot = make()
    one = disturb(robot, NOISE, on)
    rest = {key: 0.0 for key in robot.nominal if "damping" in key or "friction" in key}
    simulator = Simulator(one.robot, None)
    motion = simulator.run(q0(), v0, 0.2, step=2e-3, p=rest)
    power = motion.evaluate(one.power)
    # Simpson's rule, of the order of the integrator.
    given = 2e-3 / 3.0 * (power[0] + 4.0 * power[1::2].sum() + 2.0 * power[2:-1:2].sum() + power[-1])
    gained = float(motion.energy[-1] - motion.energy[0])
    assert abs(gained) > 1e-4
    assert gained == pytest.approx(given, rel=1e-5)
    still = simulator.run(q0(), v0, 0.2, step=2e-3, p={**rest, "disturbance.amplitude": 0.0})
    assert np.ptp(still.energy) < 1e-6 * max(abs(gained), np.abs(still.energy).max())
    plain = simulate(robot, None, q0(), v0, 0.2, step=2e-3, p=rest)
    np.testing.assert_allclose(still.q, plain.q, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(still.v, plain.v, rtol=0.0, atol=1e-11)


def test_a_push_gives_its_impulse_to_a_free_mass() -> None:
    """And a step gives F (T − t₀ − rise/2); neither does anything before its time."""
    robot = point_mass()
    push = disturb(robot, Push([1.2, -0.7], time=0.2, duration=0.15), ca.vertcat(robot.q), name="push")
    assert push.robot.parameters.names == ("push.1.impulse", "push.2.impulse", "push.time", "push.duration")
    both = disturb(push.robot, Step(3.0, time=0.5, rise=0.1), robot.q[0], name="step")
    assert not push.random_ranges
    motion = simulate(both.robot, None, [0.0, 0.0], [0.0, 0.0], 0.8, step=5e-3)
    before = motion.t <= 0.2
    np.testing.assert_array_equal(motion.v[before], 0.0)
    after = (motion.t >= 0.35 + 1e-9) & (motion.t <= 0.5)
    assert after.sum() > 20
    np.testing.assert_allclose(motion.v[after], np.tile([1.2, -0.7], (int(after.sum()), 1)) / MASS, atol=1e-9)
    np.testing.assert_allclose(motion.v[-1], np.array([1.2 + 3.0 * (0.3 - 0.05), -0.7]) / MASS, atol=1e-9)
    # Of given impulse it is twice as strong in half the time, and acts in the given direction.
    other = {"push.duration": 0.075, "push.1.impulse": -2.0, "push.time": 0.4, "step.force": 0.0}
    motion = simulate(both.robot, None, [0.0, 0.0], [0.0, 0.0], 0.8, step=5e-3, p=other)
    np.testing.assert_allclose(motion.v[-1], np.array([-2.0, -0.7]) / MASS, atol=1e-7)
    peak = np.abs(simulate(both.robot, None, [0, 0], [0, 0], 0.8, step=2.5e-3, p=other).evaluate(push.signal)[:, 0])
    assert peak.max() == pytest.approx(8.0 / 3.0 * 2.0 / 0.075, rel=1e-3)


@pytest.mark.parametrize("signal", [Push(1.0, 0.11, 0.3), Step(2.0, 0.11, 0.3)], ids=["push", "step"])
def test_a_runge_kutta_method_keeps_its_order_across_the_ends_of_a_pulse(signal: Signal) -> None:
    """Begin and end lie inside steps of every length."""
    robot = point_mass(stiffness=40.0)
    plant = disturb(robot, signal, robot.q[0]).robot

    def end(steps: int) -> Array:
        motion = simulate(plant, None, [0.1, 0.0], [0.0, 0.0], 0.6, step=0.6 / steps)
        return np.concatenate([motion.q[-1], motion.v[-1]])

    exact = end(4800)
    errors = [np.abs(end(steps) - exact).max() for steps in (100, 200, 400)]
    assert errors[2] > 1e-12
    assert np.log2(errors[0] / errors[2]) / 2 > 3.8


def test_noise_has_the_given_size_and_band_over_many_seeds() -> None:
    """At any instant over seeds, and over time in each: root mean square A; all power in the band, evenly."""
    robot, band, size = point_mass(), (0.7, 3.2), 2.5
    one = disturb(robot, BandNoise([size, 0.5], band, terms=6), robot.q)
    assert len(one.robot.parameters) - len(robot.parameters) == 2 + 2 * 2 * 6
    f = ca.Function("f", [robot.t, one.robot.p], [one.signal])
    rng, seeds = np.random.default_rng(0), 400
    names = one.robot.parameters.names
    values = np.tile(one.robot.parameters.values(), (seeds, 1))
    for name, (low, high) in one.random_ranges.items():
        values[:, names.index(name)] = rng.uniform(low, high, seeds)
    t = np.arange(0.0, 40.0, 0.05)
    signal = np.array([f.map(len(t)).call([t[None], np.tile(x[:, None], len(t))])[0].full() for x in values])
    for k, rms in enumerate((size, 0.5)):
        # 400 seeds tell a variance to about 2 · √(2/400) at two standard errors.
        np.testing.assert_allclose(np.mean(signal[:, k] ** 2, axis=0), rms**2, rtol=0.35)
        assert np.mean(signal[:, k] ** 2) == pytest.approx(rms**2, rel=0.02)
        assert abs(np.mean(signal[:, k])) < 0.05 * rms
        assert np.mean(signal[:, k] ** 4) / rms**4 == pytest.approx(3.0 - 3.0 / 12.0, rel=0.05)
    window = np.hanning(len(t))
    power = np.mean(np.abs(np.fft.rfft(signal[:, 0] * window)) ** 2, axis=0)
    at = np.fft.rfftfreq(len(t), 0.05)
    inside = (at > band[0] - 0.06) & (at < band[1] + 0.06)
    assert power[~inside].sum() < 1e-4 * power.sum()
    parts = np.array_split(power[(at > band[0] + 0.06) & (at < band[1] - 0.06)], 6)
    means = np.array([part.mean() for part in parts])
    assert np.ptp(means) < 0.3 * means.mean()
    # The two components know nothing of each other.
    assert abs(np.mean(signal[:, 0] * signal[:, 1])) < 0.02 * size * 0.5


def test_a_seed_sets_the_nominal_noise_and_a_study_draws_the_rest() -> None:
    robot = chain(2)
    first, same, other = (disturb(robot, BandNoise(1.0, (1.0, 2.0), seed=s), "tip") for s in (5, 5, 6))
    assert first.robot.nominal == same.robot.nominal != other.robot.nominal
    varied = disturbance_distributions(first)
    assert set(varied) == {f"plant.disturbance.{x}.{what}{j}" for x in "xy" for what in ("phase", "frequency")
                           for j in range(1, 9)}  # fmt: skip
    assert varied["plant.disturbance.x.phase3"] == Uniform(0.0, 2.0 * math.pi)
    assert varied["plant.disturbance.y.frequency8"] == Uniform(1.875, 2.0)
    for name, (low, high) in first.random_ranges.items():
        assert low <= first.robot.nominal[name] <= high
    with pytest.raises(ModelError, match=r"requires a Disturbance or a MeasurementNoise"):
        disturbance_distributions(robot)  # type: ignore[arg-type]


def test_each_lane_of_a_batch_has_a_separate_force() -> None:
    """One compiled function for all seeds, bit for bit what single runs give."""
    robot = chain(2)
    one = disturb(robot, BandNoise(2.0, (0.5, 3.0)), "tip")
    tip = robot.points["tip"]
    law = ProgramController(Program(robot, holonomic(tip - ca.DM([0.5, 0.3]), name="hold")), realization="actuated")
    rng = np.random.default_rng(1)
    p = {name: rng.uniform(low, high, 5) for name, (low, high) in one.random_ranges.items()}
    simulator = Simulator(one.robot, law)
    motions = simulator.run_batch([0.2, 1.2], [0.0, 0.0], 0.2, step=2e-3, p=p)
    assert np.ptp(motions.final_q, axis=0).min() > 1e-5
    for i in range(5):
        alone = simulator.run([0.2, 1.2], [0.0, 0.0], 0.2, step=2e-3, p={key: float(x[i]) for key, x in p.items()})
        np.testing.assert_array_equal(alone.q, motions[i].q)


def test_a_long_chain_keeps_its_recursion() -> None:
    """Operations of the acceleration grow in proportion to the links, with the force at the last of them."""
    counts: list[int] = []
    for n in (20, 40, 80):
        robot = disturb(chain(n), Push([1.0, 0.0], 0.0), "tip").robot
        a = robot.acceleration_under(robot.input_matrix @ robot.u)[0]
        counts.append(ca.Function("a", [robot.t, robot.q, robot.v, robot.u, robot.p], [a]).n_instructions())
    assert counts[2] - counts[1] == pytest.approx(2 * (counts[1] - counts[0]), rel=0.02)
    assert counts[2] < 1.3 * 4 * counts[0]


def test_a_law_that_knows_the_force_cancels_it() -> None:
    """As a model: whatever multiplier method, the force is in h."""
    one = disturb(chain(3), NOISE, "tip")
    tip = one.robot.points["tip"]
    state = (0.37, [0.3, 0.9, 1.4], [0.1, -0.2, 0.3])
    program = Program(one.robot, holonomic(tip - ca.DM([0.7, 0.6]), name="hold"))
    reported = [
        ProgramController(program, method=method).solve(*state) for method in (LdlMultipliers(), SweepMultipliers())
    ]
    np.testing.assert_allclose(reported[0].force, reported[1].force, rtol=1e-9)
    assert all(solution.program_residual < 1e-10 for solution in reported)
    plain = Program(chain(3), holonomic(chain(3).points["tip"] - ca.DM([0.7, 0.6]), name="hold"))
    assert np.abs(ProgramController(plain).solve(*state).force - reported[0].force).max() > 0.1


class _Wrong(Signal):
    def build(self, t: ca.SX, name: str, components: tuple[str, ...]) -> SignalExpressions:
        return SignalExpressions(ca.vertcat(t, t, t))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda r: disturb(3, NOISE), ModelError, "robot must be a Robot, got 3"),  # type: ignore[arg-type]
        (lambda r: disturb(r, 1.0), ModelError, "signal must be a Signal such as"),  # type: ignore[arg-type]
        (lambda r: disturb(r, NOISE, "tp"), ModelError, "Did you mean 'tip'"),
        (lambda r: disturb(r, NOISE, r.v[0]), ModelError, "in time, coordinates and parameters only"),
        (lambda r: disturb(r, NOISE, r.t), ModelError, "depends on coordinates, got"),
        (lambda r: disturb(r, NOISE, ca.SX.sym("strange")), ModelError, "uses strange"),
        (lambda r: disturb(r, NOISE, r.mass_matrix), ModelError, "name of a point or a column of SX"),
        (lambda r: disturb(r, _Wrong(), "tip"), ModelError, r"has shape \(3, 1\), expected 2 components"),
        (lambda r: disturb(r, Push([1, 2, 3], 0.0), "tip"), ModelError, r"impulse must be a number in N s, or 2 of"),
        (lambda r: disturb(disturb(r, NOISE).robot, NOISE), ParameterError, "'disturbance.amplitude'"),
        (lambda r: disturb(r, NOISE, name=""), ModelError, "name of a disturbance"),
        (lambda r: BandNoise(-1.0, (0, 1)), ModelError, "must not be negative, got -1.0"),
        (lambda r: BandNoise(1.0, (2, 1)), ModelError, r"0 <= lowest < highest in Hz, got \(2\.0, 1\.0\)"),
        (lambda r: BandNoise(1.0, 3.0), ModelError, r"band must be \(lowest"),  # type: ignore[arg-type]
        (lambda r: BandNoise(1.0, (0, 1), terms=0), ModelError, "terms must be an integer of at least 1, got 0"),
        (lambda r: BandNoise(np.nan, (0, 1)), ModelError, "amplitude must be a finite number"),
        (lambda r: Push(1.0, 0.0, 0.0), ModelError, "duration must be greater than zero"),
        (lambda r: Step(1.0, np.inf), ModelError, "time must be finite"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[Robot], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make(chain(2))
