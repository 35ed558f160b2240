"""A point on curves that cross, touch or end: it goes on along its own curve, or is told that it cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.constraints import Constraint, holonomic, nonholonomic
from erugin.robots import Robot, branch_acceleration, lagrangian_system
from erugin.robots.manifold.branch import MotionBranch
from erugin.robots.manifold.initial_chart import initial_chart
from erugin.robots.manifold.manifold import Manifold
from erugin.robots.manifold.singular_positions import is_near_singularity
from erugin.scenarios import simulate
from erugin.simulation import Reduced, SimulationError
from erugin.symbolic import NotFiniteError, Parameters, SingularProgramError

Array = NDArray[np.float64]
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
def test_branches_that_touch_are_told(curve: Callable[[ca.SX, ca.SX], ca.SX]) -> None:
    """The velocity at the point is along both, and no derivative that is looked at tells them apart."""
    robot = on_curves(curve)
    with pytest.raises(SingularProgramError, match="along more than one of them, which touch: they tell 0 of the 1"):
        branch_acceleration(robot, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    slope = float(robot.evaluate(-ca.jacobian(robot.natural[0].residual(robot.coordinates), robot.q)[0], q=[1, 1, 0]))
    with pytest.raises(SimulationError, match="near a singular position") as error:
        simulate(robot, None, [1, 1, 0], [-1.0, -slope / 2.0, 0.0], 2.0, step=1e-3, integrator=Reduced())
    motion = error.value.trajectory
    # What was computed before is on the curve, on the side where it began.
    assert motion.q[:, 0].min() > 0.0
    assert np.abs(motion.evaluate(robot.natural[0].residual(robot.coordinates))).max() < 1e-14


def test_rows_that_vanish_to_second_order_are_told() -> None:
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
def test_redundant_rows_that_come_to_contradict_are_told(rows: Rows) -> None:
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
    with pytest.raises(
        NotFiniteError, match=r"point: the natural constraint 'curve' has a gradient that is not finite"
    ):
        branch_acceleration(robot, [0.0, 0.0, 0.0], [0.0, 1.0, 0.0])
