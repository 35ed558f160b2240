"""Linkages that can lie flat pass their flat positions: parallelograms side by side, and a four-bar that is none."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.robots import (
    Bar,
    Closure,
    Link,
    Robot,
    assemble,
    assemble_velocities,
    mechanism,
    planar_linkage,
    with_inputs,
)
from erugin.robots.examples import four_bar, iftomm_four_bars
from erugin.robots.manifold.branch import LostBranchError, MotionBranch
from erugin.robots.manifold.initial_chart import initial_chart
from erugin.robots.manifold.manifold import Manifold
from erugin.robots.manifold.singular_positions import branch_geometry
from erugin.scenarios import simulate
from erugin.simulation import Reduced

from .mechanisms import turned
from .references.linkage_positions import four_bar as closed_form

Array = NDArray[np.float64]
UPRIGHT = np.pi / 2
A, B, C, D = 1.0, 1.5, 1.3, 1.2
"""Crank, coupler, rocker and ground of a linkage that can lie flat, since A + B = C + D."""


def windows_state(windows: int, angle: float, rate: float) -> tuple[Array, Array]:
    q, v = np.zeros(2 * windows + 1), np.zeros(2 * windows + 1)
    cranks = [0, *range(2, 2 * windows + 1, 2)]
    q[cranks], v[cranks] = angle, rate
    return q, v


@pytest.mark.parametrize(
    ("windows", "span", "crossings"),
    [
        (1, 1.0, 1),
        (5, 1.0, 1),
        pytest.param(2, 10.0, 10, marks=pytest.mark.slow),
        pytest.param(4, 3.0, 3, marks=pytest.mark.slow),
        pytest.param(10, 3.0, 3, marks=pytest.mark.slow),
        pytest.param(20, 3.0, 3, marks=pytest.mark.slow),
        pytest.param(40, 3.0, 3, marks=pytest.mark.slow),
    ],
)
def test_windows_of_iftomm_pass_flat_positions(windows: int, span: float, crossings: int) -> None:
    """A02: from upright cranks at 1 m/s, through flat positions of N + 1 degrees of freedom; N = 2 for 10 s.

    All cranks stay parallel and move like one pendulum, (Σ I) θ'' = −g Σ m x.
    """
    robot = iftomm_four_bars(windows)
    motion = simulate(robot, None, *windows_state(windows, UPRIGHT, -1.0), span, step=2e-3, integrator=Reduced())
    stiffness = 9.81 * ((windows + 1) / 2 + windows) / ((windows + 1) / 3 + windows)
    truth = solve_ivp(
        lambda _, x: [x[1], -stiffness * np.cos(x[0])],
        (0.0, span),
        [UPRIGHT, -1.0],
        "DOP853",
        rtol=1e-13,
        atol=1e-13,
        t_eval=motion.t,
    ).y[0]
    assert (np.diff(np.sign(np.sin(truth))) != 0).sum() == crossings
    cranks, couplers = motion.q[:, ::2], motion.q[:, 1::2]
    np.testing.assert_allclose(cranks, np.tile(truth[:, None], (1, windows + 1)), atol=1e-8)
    assert np.ptp(cranks, axis=1).max() < 1e-12
    assert np.abs(couplers).max() < 1e-12
    assert np.ptp(motion.energy) < 1e-9 * np.ptp(motion.evaluate(robot.kinetic_energy))


def ladder(windows: int, crank: float, ground: float, further: bool = False) -> Robot:
    """Parallelograms side by side, of other lengths than the benchmark's; the last crank may drive a crank-rocker."""

    def bar(length: float) -> Link:
        return Link(length, 1.0, length / 2, length**2 / 12)

    members = {"crank0": Bar(bar(crank), (0.0, 0.0))}
    for k in range(1, windows + 1):
        members |= {
            f"coupler{k}": Bar(bar(ground), f"crank{k - 1}.end"),
            f"crank{k}": Bar(bar(crank), (k * ground, 0.0)),
        }
    pins = [Closure(f"coupler{k}.end", f"crank{k}.end", f"pin {k}") for k in range(1, windows + 1)]
    if further:
        members |= {
            "rod": Bar(bar(4 * crank), f"crank{windows}.end"),
            "rocker": Bar(bar(3 * crank), (windows * ground + 4 * crank, 0.0)),
        }
        pins.append(Closure("rod.end", "rocker.end", "further pin"))
    return with_inputs(mechanism(planar_linkage(members, name="ladder"), pins), ())


@pytest.mark.parametrize("windows", [3, 8, pytest.param(30, marks=pytest.mark.slow)])
def test_ladders_of_other_lengths_pass_flat_positions(windows: int) -> None:
    crank, rate, span = 0.4, -4.0, 0.8
    robot = ladder(windows, crank, 0.9)
    motion = simulate(robot, None, *windows_state(windows, 1.3, rate), span, step=1e-3, integrator=Reduced())
    stiffness = 9.81 / crank * ((windows + 1) / 2 + windows) / ((windows + 1) / 3 + windows)
    truth = solve_ivp(
        lambda _, x: [x[1], -stiffness * np.cos(x[0])],
        (0.0, span),
        [1.3, rate],
        "DOP853",
        rtol=1e-13,
        atol=1e-13,
        t_eval=motion.t,
    ).y[0]
    assert (np.diff(np.sign(np.sin(truth))) != 0).sum() >= 2
    np.testing.assert_allclose(motion.q[:, ::2], np.tile(truth[:, None], (1, windows + 1)), atol=1e-7)
    assert np.abs(motion.q[:, 1::2]).max() < 1e-12
    assert np.ptp(motion.energy) < 1e-8 * np.ptp(motion.evaluate(robot.kinetic_energy))


def test_a_window_lies_flat_while_another_loop_of_the_linkage_does_not() -> None:
    """Energy and parallelograms kept, twice through the flat position; the rocker swings as its loop alone says."""
    robot = ladder(2, 0.4, 0.9, further=True)
    q = assemble(robot, [1.3, 0.0, 1.3, 0.0, 1.3, 0.4, 1.5], fixed=["crank0"]).q
    v = assemble_velocities(robot, q, fixed={"crank0": -9.0})
    motion = simulate(robot, None, q, v, 0.8, step=1e-3, integrator=Reduced())
    crank, rod, rocker = motion.q[:, 4], motion.q[:, 5], motion.q[:, 6]
    assert (np.diff(np.sign(np.sin(crank))) != 0).sum() >= 2
    assert np.abs(motion.q[:, [1, 3]] - q[[1, 3]]).max() < 1e-12
    assert np.ptp(motion.q[:, [0, 2, 4]], axis=1).max() < 1e-12
    assert np.abs(0.4 * np.exp(1j * crank) + 1.6 * np.exp(1j * rod) - 1.6 - 1.2 * np.exp(1j * rocker)).max() < 1e-12
    assert np.abs(np.diff(rocker)).max() < 0.05
    assert np.ptp(motion.energy) < 1e-7 * np.ptp(motion.evaluate(robot.kinetic_energy))


@pytest.mark.parametrize("windows", [1, 40])
@pytest.mark.parametrize("angle", [0.0, 1e-6, 0.01, 0.02])
def test_parallelograms_are_continued_however_many_there_are(windows: int, angle: float) -> None:
    robot = iftomm_four_bars(windows)
    branch = MotionBranch(Manifold.of(robot), robot.parameters.values())
    chart = initial_chart(branch, 0.0, *windows_state(windows, 0.1, -1.0))
    here = branch_geometry(branch, chart, 0.0, *windows_state(windows, angle, -1.0))
    _, rates = windows_state(windows, angle, 1.0)
    # Places as far off as the windows are round at 1e-16 of that; across the crossing this counts by its distance.
    np.testing.assert_allclose(here.tangent[:, 0] / here.tangent[0, 0], rates, atol=5e-11 * windows)
    np.testing.assert_allclose(here.q, rates * angle, atol=5e-14 * windows)


@pytest.mark.parametrize("windows", [1, 6, 25])
def test_one_window_of_many_that_crosses_over_is_told(windows: int) -> None:
    """The last coupler folded back on the crank before it, the last crank at rest: its share of all cranks is small."""
    robot, angle = iftomm_four_bars(windows), 0.5
    branch = MotionBranch(Manifold.of(robot), robot.parameters.values())
    q, v = windows_state(windows, angle, 1.0)
    chart = initial_chart(branch, 0.0, q, v)
    assert np.abs(branch.solve(chart, 0.0, q, v).bias_acceleration).max() < 1e-12
    q[-2:], v[-2:] = (angle + np.pi, np.pi), (1.0, 0.0)
    assert np.abs(robot.evaluate(Manifold.of(robot).place, q=q)).max() < 1e-14
    with pytest.raises(LostBranchError, match="free directions turn"):
        branch.solve(chart, 0.0, q, v)


def test_windows_may_start_flat_on_any_branch() -> None:
    """From the flat position the first window goes on folded, its first crank at rest, the second as a parallelogram.

    Two cranks and a coupler then turn about the second pivot, and the last coupler moves with them: one pendulum.
    """
    robot = iftomm_four_bars(2)
    rates = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    motion = simulate(robot, None, np.zeros(5), rates, 1.0, step=1e-3, integrator=Reduced())
    stiffness = 9.81 * 2.5 / 2.0
    truth = solve_ivp(
        lambda _, x: [x[1], -stiffness * np.cos(x[0])],
        (0.0, 1.0),
        [0.0, 1.0],
        "DOP853",
        rtol=1e-13,
        atol=1e-13,
        t_eval=motion.t,
    ).y[0]
    # It falls through the flat position at once, and almost to the other one.
    assert truth.min() < -3.0
    np.testing.assert_allclose(motion.q, truth[:, None] * rates, atol=1e-8)


@functools.cache
def flat() -> Robot:
    def bar(length: float, mass: float) -> Link:
        return Link(length, mass, 0.4 * length, 0.1 * mass * length**2)

    return four_bar(bar(A, 1.0), bar(B, 0.8), bar(C, 1.2), ground=(D, 0.0), inputs=())


def flat_state(angle: float, rate: float) -> tuple[Array, Array]:
    """A state of that linkage on the branch whose open form turns into the crossed one at the flat position."""
    coupler, rocker = closed_form(A, B, C, D, angle)[0 if angle < 0.0 else 1]
    q = np.array([angle, coupler, rocker])
    v = np.array(
        [
            1.0,
            A / B * np.sin(rocker - angle) / np.sin(coupler - rocker),
            A / C * np.sin(angle - coupler) / np.sin(rocker - coupler),
        ]
    )
    return q, rate * v


def test_a_linkage_that_can_lie_flat_goes_through_in_time() -> None:
    """Branches that curve: time by quadrature of dθ √(m(θ)/(2(E − V))) with Freudenstein's angles on either side."""
    robot = flat()
    start, end, rate = -0.8, 0.8, 9.0
    q, v = flat_state(start, rate)
    assert np.abs(robot.evaluate(robot.natural[0].residual(robot.coordinates), q=q)).max() < 1e-14
    total = robot.evaluate(robot.kinetic_energy + robot.potential_energy, q=q, v=v)
    nodes, shares = np.polynomial.legendre.leggauss(60)
    time = 0.0
    for node, share in zip(0.8 * nodes, 0.8 * shares, strict=True):
        there, unit_rate = flat_state(float(node), 1.0)
        twice = 2.0 * robot.evaluate(robot.kinetic_energy, q=there, v=unit_rate)
        left = total - robot.evaluate(robot.potential_energy, q=there)
        time += share * np.sqrt(twice / (2.0 * left))
    motion = simulate(robot, None, q, v, float(time), step=5e-4, integrator=Reduced())
    expected, _ = flat_state(end, 1.0)
    np.testing.assert_allclose(turned(motion.q[-1] - expected), 0.0, atol=1e-8)
    assert np.ptp(motion.energy) < 1e-8
    # Neither stops nor jumps.
    assert motion.v[:, 0].min() > 0.5
    assert np.abs(np.diff(motion.q, axis=0)).max() < 2.0 * np.abs(motion.v).max() * 5e-4
