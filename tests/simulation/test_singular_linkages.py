"""Linkages through flat positions, and points on curves that cross, touch or end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from erugin.constraints import Constraint, holonomic, nonholonomic
from erugin.robots import (
    Bar,
    Closure,
    Link,
    Robot,
    assemble,
    assemble_velocities,
    branch_acceleration,
    lagrangian_system,
    mechanism,
    planar_linkage,
    with_inputs,
)
from erugin.robots.examples import iftomm_four_bars
from erugin.robots.manifold.branch import LostBranchError, MotionBranch
from erugin.robots.manifold.initial_chart import initial_chart
from erugin.robots.manifold.manifold import Manifold
from erugin.robots.manifold.singular_positions import branch_geometry, is_near_singularity
from erugin.scenarios import simulate
from erugin.simulation import Reduced, SimulationError
from erugin.symbolic import NotFiniteError, Parameters, SingularProgramError

from ..support.flat_linkages import Array, flat_four_bar, flat_state, windows_state
from ..support.mechanisms import turned

G = 9.81
Rows = Callable[[ca.SX, ca.SX, ca.SX], Sequence[Constraint]]


def point(rows: Rows, *, gravity: float = 0.0) -> Robot:
    """A point of mass one in space, the second axis up."""
    q, v, t = ca.SX.sym("q", 3), ca.SX.sym("v", 3), ca.SX.sym("t")
    constraints = (*rows(q, v, t), holonomic(q[2], name="plane"))
    return lagrangian_system(
        q=q,
        v=v,
        t=t,
        p=Parameters.declare({}),
        T=ca.sumsqr(v) / 2,
        V=gravity * q[1],
        natural=constraints,
        name="point",
    )


def on_curves(curve: Callable[[ca.SX, ca.SX], ca.SX], *, gravity: float = 0.0) -> Robot:
    return point(lambda q, v, t: [holonomic(curve(q[0], q[1]), name="curve")], gravity=gravity)


def waves(scale: float, *, plane: bool) -> Robot:
    """A sine and a straight line that crosses it, with a second row or without."""
    q, v = ca.SX.sym("q", 2 + plane), ca.SX.sym("v", 2 + plane)
    rows = [holonomic((q[1] - scale * ca.sin(q[0] / scale)) * (q[1] + q[0]), name="curve")]
    rows += [holonomic(q[2], name="plane")] if plane else []
    return lagrangian_system(q=q, v=v, p=Parameters.declare({}), T=ca.sumsqr(v) / 2, V=G * q[1], natural=rows)


def along_the_sine(x: Array, t: float, scale: float) -> Array:
    """x and x' a time later, by the equation of a bead on y = s sin(x/s)."""

    def rate(_: float, state: Array) -> list[float]:
        slope, bend = np.cos(state[0] / scale), -np.sin(state[0] / scale) / scale
        return [state[1], -slope * (G + bend * state[1] ** 2) / (1.0 + slope**2)]

    return np.asarray(solve_ivp(rate, (0.0, t), x, "DOP853", rtol=1e-13, atol=1e-14 * scale).y[:, -1])


@pytest.mark.parametrize("plane", [False, True])
@pytest.mark.parametrize(
    ("miss", "scale"), [(0.0, 1.0), (1e-12, 1.0), (1e-6, 1.0), (0.0, 100.0), (0.0, 1e4), (0.3, 1e4)]
)
def test_a_step_that_ends_where_curves_cross(plane: bool, miss: float, scale: float) -> None:
    """Rows that all vanish there, and lengths of other orders; the middle sample is at the crossing or beside it."""
    span = 0.05 * np.sqrt(scale)
    before = along_the_sine(np.array([miss, 6.0 * np.sqrt(scale)]), -span, scale)
    after = along_the_sine(before, 2 * span, scale)
    q, v = np.zeros(2 + plane), np.zeros(2 + plane)
    q[:2] = before[0], scale * np.sin(before[0] / scale)
    v[:2] = before[1], before[1] * np.cos(before[0] / scale)
    robot = waves(scale, plane=plane)
    motion = simulate(robot, None, q, v, 2 * span, step=span / 50, integrator=Reduced())
    assert abs(motion.q[50, 0] - miss) < 1e-11 * scale
    np.testing.assert_allclose(motion.q[:, 1], scale * np.sin(motion.q[:, 0] / scale), atol=1e-14 * scale)
    assert abs(motion.q[-1, 0] - after[0]) < 1e-10 * scale


@pytest.mark.parametrize(("scale", "place", "near"), [(1.0, 0.01, True), (1e4, 1.0, True), (1.0, 0.2, False)])
def test_where_a_crossing_is_near(scale: float, place: float, near: bool) -> None:
    """At large scales too, where the gradient hardly changes over the distance that is looked at."""
    robot = waves(scale, plane=False)
    states = [(np.array([x, scale * np.sin(x / scale)]), np.array([1.0, np.cos(x / scale)])) for x in (scale, place)]
    branch = MotionBranch(Manifold.of(robot), robot.parameters.values())
    chart = initial_chart(branch, 0.0, *states[0])
    assert is_near_singularity(branch, chart, 0.0, *states[1]) is near


@pytest.mark.parametrize(
    "curve",
    [
        pytest.param(lambda x, y: y**2 - x**4, id="common tangent"),
        pytest.param(lambda x, y: y**2 - x**3, id="cusp"),
    ],
)
def test_branches_that_touch_are_reported(curve: Callable[[ca.SX, ca.SX], ca.SX]) -> None:
    """The velocity at the point is along both, and no derivative that is looked at tells them apart."""
    robot = on_curves(curve)
    with pytest.raises(
        SingularProgramError, match="along several branches that touch: the velocities determine 0 of the 1"
    ):
        branch_acceleration(robot, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    slope = float(robot.evaluate(-ca.jacobian(robot.natural[0].residual(robot.coordinates), robot.q)[0], q=[1, 1, 0]))
    with pytest.raises(SimulationError, match="near a singular position") as error:
        simulate(robot, None, [1, 1, 0], [-1.0, -slope / 2.0, 0.0], 2.0, step=1e-3, integrator=Reduced())
    motion = error.value.trajectory
    # What was computed before is on the curve, on the side where it began.
    assert motion.q[:, 0].min() > 0.0
    assert np.abs(motion.evaluate(robot.natural[0].residual(robot.coordinates))).max() < 1e-14


def test_rows_that_vanish_to_second_order_are_reported() -> None:
    """Three lines through one point: on one of them the motion passes; a start at the point is not guessed."""
    robot = on_curves(lambda x, y: x * y * (x - y), gravity=G)
    with pytest.raises(SimulationError, match="'curve' misses by"):
        simulate(robot, None, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], 0.3, step=1e-3, integrator=Reduced())
    motion = simulate(robot, None, [-1.0, 0.0, 0.0], [3.0, 0.0, 0.0], 0.6, step=6e-3, integrator=Reduced())
    np.testing.assert_allclose(motion.q[:, 0], 3.0 * motion.t - 1.0, atol=1e-9)
    assert np.abs(motion.q[:, 1]).max() < 1e-12


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(lambda q, v, t: [holonomic(q[0], name="a"), holonomic(q[0] - t**3, name="b")], id="places"),
        pytest.param(lambda q, v, t: [nonholonomic(v[0], name="a"), nonholonomic(v[0] - t**3, name="b")], id="speeds"),
    ],
)
def test_redundant_rows_that_become_contradictory_are_reported(rows: Rows) -> None:
    """They agree at the start, down to the accelerations, and a compiled step would meet their mean."""
    with pytest.raises(SimulationError, match=r"'(a|b)' misses by .*unless the constraints contradict"):
        simulate(point(rows), None, np.zeros(3), [0.0, 1.0, 0.0], 0.5, step=1e-3, integrator=Reduced())


@pytest.mark.parametrize(("x", "speed"), [(0.1, -0.01), (0.1 + 1e-6, -0.01), (100.0, -100.0)])
def test_a_pole_beside_the_curve_is_no_usual_length(x: float, speed: float) -> None:
    """y = 1/x: with its gradient at the pole for a measure the row would be taken for nothing."""
    robot = on_curves(lambda x, y: 1.0 / x - y)
    motion = simulate(robot, None, [x, 1.0 / x, 0.0], [speed, -speed / x**2, 0.0], 0.9, step=1e-3, integrator=Reduced())
    np.testing.assert_allclose(motion.q[:, 1], 1.0 / motion.q[:, 0], rtol=1e-14)
    # No force: the speed along the curve stays.
    np.testing.assert_allclose(np.linalg.norm(motion.v, axis=1), np.linalg.norm(motion.v[0]), rtol=1e-6)


def test_a_row_that_is_short_since_it_was_longer_is_no_crossing() -> None:
    """x y = 1 from x = 100 to the middle, where the gradient is 70 times shorter."""
    robot = on_curves(lambda x, y: x * y - 1.0)
    motion = simulate(robot, None, [100.0, 0.01, 0.0], [-100.0, 0.01, 0.0], 1.5, step=1e-3, integrator=Reduced())
    assert motion.q[-1, 1] > 40.0
    np.testing.assert_allclose(motion.q[:, 0] * motion.q[:, 1], 1.0, rtol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(motion.v, axis=1), np.linalg.norm(motion.v[0]), rtol=1e-6)


def test_the_end_of_a_domain_beside_the_curve_does_no_harm() -> None:
    """y = √x near its end."""
    robot = on_curves(lambda x, y: ca.sqrt(x) - y)
    start = 0.05, np.sqrt(0.05)
    motion = simulate(robot, None, [*start, 0.0], [1.0, 0.5 / start[1], 0.0], 0.2, step=1e-3, integrator=Reduced())
    np.testing.assert_allclose(motion.q[:, 1] ** 2, motion.q[:, 0], atol=1e-15)
    with pytest.raises(NotFiniteError, match=r"point: the gradient of the natural constraint 'curve' is not finite"):
        branch_acceleration(robot, [0.0, 0.0, 0.0], [0.0, 1.0, 0.0])


UPRIGHT = np.pi / 2


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


@pytest.mark.sampled
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
def test_one_window_of_many_that_changes_its_branch_is_reported(windows: int) -> None:
    """The last coupler folded back on the crank before it, the last crank at rest: its share of all cranks is small."""
    robot, angle = iftomm_four_bars(windows), 0.5
    branch = MotionBranch(Manifold.of(robot), robot.parameters.values())
    q, v = windows_state(windows, angle, 1.0)
    chart = initial_chart(branch, 0.0, q, v)
    assert np.abs(branch.solve(chart, 0.0, q, v).bias_acceleration).max() < 1e-12
    q[-2:], v[-2:] = (angle + np.pi, np.pi), (1.0, 0.0)
    assert np.abs(robot.evaluate(Manifold.of(robot).position_residual, q=q)).max() < 1e-14
    with pytest.raises(LostBranchError, match="free directions rotate"):
        branch.solve(chart, 0.0, q, v)


def test_windows_may_start_flat_on_any_branch() -> None:
    """From the flat position the first window continues folded, its first crank at rest, the second as a parallelogram.

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


def test_a_linkage_that_can_lie_flat_passes_through_in_time() -> None:
    """Branches that curve: time by quadrature of dθ √(m(θ)/(2(E − V))) with Freudenstein's angles on either side."""
    robot = flat_four_bar()
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
