"""Bodies, circuits and an economy of the catalogue: closed forms, laws of physics, and published figures."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy import signal
from scipy.integrate import solve_ivp

from erugin.robots import contact_force
from erugin.scenarios import Scenario, Setup
from erugin.scenarios.catalogue import (
    butterworth_ladder,
    economic_growth,
    exoskeleton_steps,
    larin_pendulum,
    standing_up,
    tumbling_body,
)
from erugin.scenarios.catalogue.butterworth_ladder import butterworth_step
from erugin.scenarios.catalogue.larin_pendulum import bob_height
from erugin.scenarios.catalogue.standing_up import CONTACTS
from erugin.scenarios.catalogue.tumbling_body import free_spin
from erugin.simulation import PhasedTrajectory, Trajectory

from ...support.kernels import use_no_compiler

Array = NDArray[np.float64]
ALL = (butterworth_ladder, economic_growth, exoskeleton_steps, larin_pendulum, standing_up, tumbling_body)


def ran(setup: Setup) -> tuple[Trajectory, dict[str, float]]:
    """A motion, and its measures by name."""
    motion = setup.run()
    assert isinstance(motion, Trajectory)
    return motion, {measured.name: measured.value for measured in setup.measure(motion)}


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
def test_in_full_every_measure_is_as_expected(scenario: Scenario) -> None:
    setup = scenario()
    motion = setup.run()
    assert motion.ok
    for measured in setup.measure(motion):
        assert measured.expected is not None
        assert measured.as_expected, measured


@pytest.mark.parametrize("speed", [0.0, 1.5])
def test_the_pendulum_keeps_what_it_must(speed: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Larin's own, in a plane, and one thrown sideways."""
    use_no_compiler(monkeypatch)
    motion, measured = ran(larin_pendulum(speed=speed, duration=1.5))
    assert measured["distance from the sphere"] <= 1e-14
    assert measured["energy error"] < 1e-9
    assert measured["angular momentum, error"] < 1e-9
    assert measured["height, error against elliptic functions"] < 1e-8
    assert (np.abs(motion.q[:, 1]).max() > 0.1) == (speed > 0.0)


@pytest.mark.parametrize(("height", "speed"), [(-0.3, 0.0), (-0.3, 1.5), (-0.9, 4.0)])
def test_heights_are_those_of_angles(height: float, speed: float) -> None:
    """θ from the bottom: θ'' = Ω² sin θ cos θ − g sin θ/l with Ω = J/(l sin θ)²; without Ω it passes the bottom."""
    length, gravity = 1.3, 9.81
    t, start = np.linspace(0.0, 4.0, 60), np.arccos(-height / length)
    momentum = length * np.sin(start) * speed

    def slope(_: float, x: Array) -> list[float]:
        turn = momentum / (length * np.sin(x[0])) ** 2 if speed else 0.0
        return [x[1], (turn**2 * np.cos(x[0]) - gravity / length) * np.sin(x[0])]

    angle = solve_ivp(slope, (0.0, 4.0), [start, 0.0], "DOP853", t_eval=t, rtol=1e-13, atol=1e-13).y[0]
    assert_allclose(bob_height(height, speed, length, gravity, t), -length * np.cos(angle), atol=1e-9)
    assert np.ptp(angle) > 0.1


def test_the_body_turns_over_by_eulers_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)
    _, measured = ran(tumbling_body(duration=2.0, step=2e-3))
    assert measured["number of flips"] == 1.0
    assert measured["ω, error against elliptic functions"] < 1e-6
    assert measured["angular momentum, error"] < 1e-8
    assert measured["length of the quaternion, error"] < 1e-13
    moments, start, t = np.array([1.0, 2.0, 3.0]), np.array([0.0, 5.0, 0.1]), np.linspace(0.0, 3.0, 40)
    euler = solve_ivp(
        lambda _, w: np.cross(moments * w, w) / moments, (0.0, 3.0), start, "DOP853", t_eval=t, rtol=1e-13, atol=1e-13
    )
    assert_allclose(free_spin(moments, start, t), euler.y.T, atol=1e-9)


@pytest.mark.parametrize("order", [3, 5])
def test_the_ladder_is_scipys_filter(order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)
    cutoff = 2e3 * np.pi
    motion, measured = ran(butterworth_ladder(order=order, duration=1e-3, step=2e-6))
    numerator, denominator = signal.butter(order, cutoff, analog=True)
    _, exact = signal.step((numerator, denominator), T=motion.t)
    assert_allclose(50.0 * motion.v[:, -1], exact, atol=1e-9)
    assert_allclose(butterworth_step(order, cutoff, motion.t), exact, atol=1e-9)
    assert measured["current lost at a node"] < 1e-12
    assert measured["load, error against the step response"] < 1e-9
    assert motion.u[0, 0] == 2.0


def test_the_economy_grows_as_cobb_and_douglas_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """In full: the index of product that their formula gives for 1922 is 208."""
    use_no_compiler(monkeypatch)
    setup = economic_growth(step=0.1)
    motion, measured = ran(setup)
    assert_allclose(motion.q[-1], [431.0, 161.0], rtol=1e-9)
    assert round(measured["product in 1922"]) == 208
    assert all(measure.as_expected for measure in setup.measure(motion))
    # Dearer capital takes as much more of a subsidy.
    dearer, _ = ran(economic_growth(step=0.1, parameters={"r": 0.3}))
    assert_allclose(dearer.u - motion.u, np.tile([0.1, 0.0], (len(motion), 1)), atol=1e-9)


@pytest.mark.slow
def test_the_foot_passes_over_the_rock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first stance up to its middle: the rock is passed then, and nothing is struck yet."""
    use_no_compiler(monkeypatch)
    setup = exoskeleton_steps(duration=0.25, step=5e-3)
    motion = setup.run()
    assert isinstance(motion, PhasedTrajectory)
    assert 0.02 <= setup.measures["least clearance to a rock"].function(motion) < 0.022
    assert setup.measures["least upward force of the ground"].function(motion) > 500.0
    assert setup.measures["energy lost in the impact"].function(motion) == 0.0
    assert_allclose(motion.q[:, :2], 0.0, atol=1e-9)


@pytest.mark.slow
def test_whoever_stands_up_pushes_the_ground_by_what_the_momenta_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Σ F = m (g + c̈) and, about the ankles, x ΣF_y = m g c_x + L̇, by differences of fourth order, in a quick rise."""
    use_no_compiler(monkeypatch)
    setup = standing_up(rise=0.4, duration=0.12, step=2e-3)
    motion = setup.run()
    assert isinstance(motion, Trajectory)
    assert np.abs(motion.deviation).max() < 1e-8
    robot, p = motion.robot, motion.robot.parameters
    center, linear, angular = ca.SX.zeros(2), ca.SX.zeros(2), ca.SX(0)
    for i in range(1, 12):
        m, place = p[f"m{i}"], robot.points[f"center{i}"]
        speed = ca.jtimes(place, robot.q, robot.v)
        center, linear = center + m * place, linear + m * speed
        angular += m * (place[0] * speed[1] - place[1] * speed[0]) + p[f"I{i}"] * robot.v[i + 1]
    momenta, leaning = motion.evaluate(ca.vertcat(linear, angular)), motion.evaluate(center[0])
    rates = (momenta[:-4] - 8.0 * momenta[1:-3] + 8.0 * momenta[3:-1] - momenta[4:]) / (12.0 * motion.t[1])
    assert motion.controller is not None
    law = motion.controller.law
    assert law is not None
    forces = motion.evaluate(ca.vertcat(*(contact_force(robot, foot, u=law.output) for foot in CONTACTS)))[2:-2]
    sideways, upwards = forces[:, ::2].sum(axis=1), forces[:, 1::2].sum(axis=1)
    assert_allclose(sideways, rates[:, 0], atol=1e-3)
    assert_allclose(upwards, rates[:, 1] + 73.0 * 9.81, atol=1e-3)
    assert np.ptp(upwards) > 100.0
    pressure = (rates[:, 2] + 9.81 * leaning[2:-2]) / upwards
    # The measure looks at all samples, the differences leave out two at each end.
    reported = setup.measures["centre of pressure, distance from the balance"].function(motion)
    assert np.abs(pressure - 0.05).max() == pytest.approx(reported, rel=0.1)
