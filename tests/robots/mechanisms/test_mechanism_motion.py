"""Motions of linkages: energy, drift, full turns, one-coordinate forms, and published end states."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.robots import Assembler, Link, Robot, assemble, assemble_velocities, with_inputs
from erugin.robots.examples import andrews_squeezer, flores_slider_crank, four_bar, iftomm_four_bars, klann_leg
from erugin.scenarios import simulate
from erugin.simulation import DOP853, Projected, Trajectory
from erugin.symbolic import Kernel

from ...support.mechanisms import crank_rocker, engine, parallel_robot, stephenson, turned
from ...support.references.four_bar_by_crank import FourBarByCrank

BARS = Link(1.0, 1.0, 0.5, 0.1), Link(2.0, 2.0, 1.0, 0.7), Link(2.0, 2.0, 1.0, 0.7)
GROUND = (2.0, 0.0)


def run(step: float) -> Trajectory:
    robot = four_bar(*BARS, ground=GROUND, inputs=())
    q = assemble(robot, [0.5, 0.3, 1.2]).q
    v = assemble_velocities(robot, q, [9.0, 0.0, 0.0])
    return simulate(robot, None, q, v, 10.0, step=step, integrator=Projected())


@pytest.mark.slow
def test_ten_seconds() -> None:
    """13 turns: the loop stays closed to rounding errors, and the rest is RK4's error in the phase, of order 4."""
    plain = FourBarByCrank(*BARS, GROUND, side=1.0)
    errors: list[float] = []
    for step in (1e-3, 5e-4):
        motion = run(step)
        robot, turning = motion.robot, np.abs(motion.v).max()
        phi = robot.natural[0].residual(robot.coordinates)
        assert np.abs(motion.evaluate(phi)).max() < 2e-14
        assert np.abs(motion.evaluate(robot.coordinates.rate(phi))).max() < 2e-15 * turning
        assert np.ptp(motion.energy) < 2e-7 * np.ptp(motion.evaluate(robot.kinetic_energy))

        np.testing.assert_allclose(plain.angles(float(motion.q[0, 0])), motion.q[0], atol=1e-14)
        every = round(0.1 / step)
        q, v, t = motion.q[::every], motion.v[::every], motion.t[::every]
        crank, rate = plain.motion(float(q[0, 0]), float(v[0, 0]), t)
        assert crank[-1] - crank[0] > 26.0 * np.pi
        phi_there = np.array([plain.angles(angle) for angle in crank])
        rates = np.array([x * plain.rates(angles) for x, angles in zip(rate, phi_there, strict=True)])
        assert np.abs(turned(q - phi_there)).max() < 3e-6
        assert np.abs(v - rates).max() < 3e-5
        errors.append(float(np.abs(q[:, 0] - crank).max()))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.4)


Array = NDArray[np.float64]

TURNING: dict[str, tuple[Robot, dict[str, float], list[float]]] = {
    "four-bar": (crank_rocker(), {"crank": 9.0}, [0.5, 0.5, 1.5]),
    "slider-crank": (engine(), {"crank": 9.0}, [0.5, 0.0, 1.5]),
    "five-bar": (parallel_robot(), {"left_crank": 1.0, "right_crank": -2.0}, [2.0, 1.0, 1.0, 2.0]),
    "six-bar": (stephenson(), {"crank": 9.0}, [0.5, 0.5, 1.5, 0.5, 2.5]),
}


@pytest.mark.parametrize("name", TURNING)
def test_energy_is_kept_and_loops_stay_closed(name: str) -> None:
    """10 s of free motion, many turns of the crank where it turns."""
    driven, rates, guess = TURNING[name]
    robot = with_inputs(driven, ())
    start = assemble(robot, guess, fixed=list(rates))
    v = assemble_velocities(robot, start.q, fixed=rates)
    motion = simulate(robot, None, start.q, v, 10.0, step=0.01, integrator=DOP853(1e-13, 1e-13))
    kinetic = motion.evaluate(robot.kinetic_energy)
    # The energy moves to and fro between T and V; only their sum stays.
    assert np.ptp(kinetic) > 1.0
    assert np.ptp(motion.energy) < 1e-10 * kinetic.max()
    for closure in robot.natural:
        assert np.abs(motion.evaluate(closure.residual(robot.coordinates))).max() < 1e-11
    if "crank" in rates:
        assert abs(motion.q[-1, 0] - motion.q[0, 0]) > 10 * np.pi


def test_flores_slider_crank_runs_at_its_speed() -> None:
    """The benchmark's start: both bars along x, 150 rad/s; the rod turns back at half the speed."""
    robot = with_inputs(flores_slider_crank(), ())
    q = assemble(robot, [0.0, 0.0, 0.5], fixed=["crank"]).q
    np.testing.assert_allclose(q, [0.0, 0.0, 0.459], atol=1e-14)
    v = assemble_velocities(robot, q, fixed={"crank": 150.0})
    np.testing.assert_allclose(v, [150.0, -75.0, 0.0], atol=1e-12)
    motion = simulate(robot, None, q, v, 0.2, step=1e-4, integrator=DOP853(1e-13, 1e-13))
    assert np.ptp(motion.energy) < 1e-11 * motion.energy[0]
    # Two and a half to three turns: the slider's inertia is felt, but the crank never stops.
    assert 2.5 < motion.q[-1, 0] / (2 * np.pi) < 3.5
    assert motion.v[:, 0].min() > 50.0


@pytest.mark.parametrize(("lengths", "turns"), [((0.4, 1.2, 0.9, 1.1), True), ((0.8, 1.3, 0.9, 1.1), False)])
def test_the_crank_turns_fully_by_grashofs_condition(lengths: tuple[float, ...], turns: bool) -> None:
    """Sum of the shortest and the longest against the sum of the others, and a crank that is spun hard."""
    shortest, *others, longest = sorted(lengths)
    assert (shortest + longest < sum(others)) == turns
    links = [Link(length, 1.0, length / 2, length**2 / 12) for length in lengths[:3]]
    robot = four_bar(links[0], links[1], links[2], ground=(lengths[3], 0.0), inputs=(), gravity=0.0)
    q = assemble(robot, [1.0, 0.5, 1.5], fixed=["crank"]).q
    v = assemble_velocities(robot, q, fixed={"crank": 10.0})
    motion = simulate(robot, None, q, v, 4.0, step=0.01, integrator=DOP853())
    assert (np.ptp(motion.q[:, 0]) > 4 * np.pi) == turns
    assert turns or np.ptp(motion.q[:, 0]) < 2 * np.pi


def test_andrews_squeezer_ends_as_published() -> None:
    """Test Set for IVP Solvers: y at 0.03 s, whose time is off by 1e-12 s (two computations with more digits agree)."""
    robot = andrews_squeezer()
    q = assemble(robot, [-0.06, 3.1, -1.1, 0.5, -0.9, -0.3, 1.0], fixed={"K1": -0.0617138900142764496}).q
    state = {"q": robot.q, "v": robot.v, "u": robot.u, "p": robot.p}
    kernel = Kernel("squeezer", state, {"a": robot.acceleration}, compiled=False)
    p, torque = robot.parameters.values(), np.array([0.033])

    def rate(_: float, x: Array) -> Array:
        return np.concatenate([x[7:], kernel(x[:7], x[7:], torque, p)[0]])

    x = solve_ivp(rate, (0.0, 0.03), np.concatenate([q, np.zeros(7)]), "DOP853", rtol=1e-12, atol=1e-14).y[:, -1]

    def book(k: Array, half: float) -> Array:
        beta, gamma, delta, epsilon = k[0], k[2] + half, k[3], k[5] + half
        return np.array([beta, k[1] - k[0] - 2 * half, gamma, k[4] - delta + half, delta, k[6] - epsilon, epsilon])

    published = np.array(
        [
            0.1581077119629904e2,
            -0.1575637105984298e2,
            0.4082224013073101e-1,
            -0.5347301163226948,
            0.5244099658805304,
            0.5347301163226948,
            0.1048080741042263e1,
        ]
    )
    found, speed = book(x[:7], np.pi / 2), book(x[7:], 0.0)
    np.testing.assert_allclose(found, published, rtol=1e-10, atol=2e-11)
    np.testing.assert_allclose(found + 1.005e-12 * speed, published, rtol=0.0, atol=3e-12)


@pytest.mark.parametrize("windows", [1, 2, 5])
def test_windows_in_parallel_fall_like_a_pendulum(windows: int) -> None:
    """(Σ I) θ'' = −g Σ m x: N + 1 cranks turn about their pivots, N couplers move with their ends."""
    robot, rng = iftomm_four_bars(windows), np.random.default_rng(5)
    for _ in range(5):
        angle, rate = rng.uniform(0.3, 2.8), rng.uniform(-3.0, 3.0)
        q, v = np.zeros(2 * windows + 1), np.zeros(2 * windows + 1)
        q[[0, *range(2, 2 * windows + 1, 2)]], v[[0, *range(2, 2 * windows + 1, 2)]] = angle, rate
        expected = -9.81 * np.cos(angle) * ((windows + 1) / 2 + windows) / ((windows + 1) / 3 + windows)
        assert assemble(robot, q).iterations == 0
        assert abs(robot.evaluate(robot.acceleration, q=q, v=v)[0] - expected) < 1e-11


def test_bodies_of_klann_are_thin_rods() -> None:
    """T = ½ ρ ∫ |v|² ds over each rod, along which v is linear: ρ l (v₁² + v₁·v₂ + v₂²)/6."""
    robot, density = klann_leg(scale=0.3, line_density=0.8), 0.8
    rods = [("crank.base", "crank.end"), ("crank.end", "coupler.end"), ("coupler.end", "coupler.point")]
    rods += [("rocker.base", "rocker.end"), ("output.base", "output.end")]
    rods += [("output.end", "connector.end"), ("connector.end", "connector.point")]
    q, v = np.random.default_rng(6).uniform(-3.0, 3.0, (2, 5))
    expected = np.zeros(())
    for start, end in rods:
        a, b = robot.points[start], robot.points[end]
        length = float(np.hypot(*robot.evaluate(b - a, q=q)))
        one, two = (robot.evaluate(ca.jtimes(x, robot.q, robot.v), q=q, v=v) for x in (a, b))
        expected += density * length * (one @ one + one @ two + two @ two) / 6
    assert abs(robot.evaluate(robot.kinetic_energy, q=q, v=v) - expected) < 1e-13


def test_the_foot_of_klanns_leg_moves_straight_for_half_a_turn() -> None:
    """As its designer states: half a turn of the crank is the straight part of the foot's path, the rest lifts it."""
    robot = klann_leg(scale=1.0, line_density=1.0)
    assembler, path = Assembler(robot), list[Array]()
    q = assembler.assemble([0.0, -3.1, 0.6, 2.4, -1.8], fixed=["crank"]).q
    for crank in np.linspace(0.0, 2 * np.pi, 121)[:-1]:
        step = assembler.assemble(q, fixed={"crank": float(crank)})
        assert step.starts == 1
        q = step.q
        path.append(robot.evaluate(robot.points["connector.point"], q=q))
    foot = np.array(path)
    lift = np.ptp(foot[:, 1])
    on_ground = foot[:, 1] < foot[:, 1].min() + 0.1 * lift
    assert 0.4 < on_ground.mean() < 0.55
    assert np.ptp(foot[on_ground, 0]) > 0.95 * np.ptp(foot[:, 0])
    assert lift > 0.4 * np.ptp(foot[:, 0])
