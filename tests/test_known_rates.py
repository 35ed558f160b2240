"""Total derivatives by way of the velocities and accelerations of points, against differences and plain derivatives."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Frame, Robot
from erugin.symbolic.coordinates import KnownRateSubstitution

from .trees import TREES

Array = NDArray[np.float64]

STEP = 1e-5


def relation(robot: Robot) -> ca.SX:
    """Two expressions, neither linear, of a point of the last body, of the first joint's place and of a coordinate."""
    assert robot.tree is not None
    last = len(robot.tree.nodes) - 1
    far = robot.tree.points.attach(last, Frame.at(0.3, -0.2, 0.1)).position
    near = robot.tree.motion.nodes[0].frame.position
    return ca.vertcat(ca.sumsqr(far - near) * ca.sin(robot.q[0]), far[0] * far[1] - robot.t * far[2] ** 2 + near[0])


def values(robot: Robot, expression: ca.SX, state: tuple[float, Array, Array], a: Array) -> Array:
    c = robot.coordinates
    function = ca.Function("f", [c.t, c.q, c.v, c.a, robot.p], [ca.densify(expression)])
    return np.array(function.call([*(ca.DM(x) for x in state), ca.DM(a), ca.DM([*robot.nominal.values()])])[0])[:, 0]


def rounding(expected: Array) -> float:
    return 1e-12 * max(1.0, float(np.abs(expected).max()))


@pytest.mark.parametrize("name", TREES)
def test_rates_of_points_are_total_derivatives(name: str) -> None:
    robot = TREES[name].robot()
    c, phi = robot.coordinates, relation(robot)
    assert KnownRateSubstitution.of(phi, c.rate_of or (lambda _: None)).symbols.numel() >= 2
    first = c.compact_rate(phi)
    second = c.compact_rate(first)
    rng = np.random.default_rng(6)
    q, v, a = rng.uniform(0.3, 1.0, c.nq), rng.uniform(-1.0, 1.0, c.nv), rng.uniform(-1.0, 1.0, c.nv)
    state = (0.4, q, v)
    N = np.array(ca.Function("N", [c.q], [ca.densify(c.N)])(q))

    def later(h: float) -> tuple[float, Array, Array]:
        return 0.4 + h, q + h * (N @ v), v + h * a

    for before, after in ((phi, first), (first, second)):
        found = values(robot, after, state, a)
        ahead, behind = (values(robot, before, later(h), a) for h in (STEP, -STEP))
        differences = (ahead - behind) / (2.0 * STEP)
        assert np.abs(found).min() > 1e-3
        np.testing.assert_allclose(found, differences, rtol=0, atol=3e-9 * max(1.0, np.abs(found).max()))
    for short, plain in ((first, c.rate(phi)), (second, c.rate(c.rate(phi)))):
        expected = values(robot, plain, state, a)
        np.testing.assert_allclose(values(robot, short, state, a), expected, rtol=0, atol=rounding(expected))


def test_nothing_is_cut_where_nothing_is_known() -> None:
    x = ca.SX.sym("x")
    cut = KnownRateSubstitution.of(ca.vertcat(ca.sin(x), x * x), lambda _: None)
    assert cut.symbols.numel() == 0
    assert ca.is_equal(cut.expression, ca.vertcat(ca.sin(x), x * x), 3)


def test_the_outermost_known_parts_are_cut_and_what_lies_above_is_kept() -> None:
    x, y, rate = ca.SX.sym("x"), ca.SX.sym("y"), ca.SX.sym("rate")
    inner = ca.sin(x)
    outer = inner * y
    known = {inner.element_hash(): ca.SX(7.0), outer.element_hash(): rate}
    cut = KnownRateSubstitution.of(
        ca.vertcat(ca.atan2(outer, y) + ca.fmax(outer, 2.0), ca.if_else(x > 1, -outer, x)),
        lambda e: known.get(e.element_hash()),
    )
    assert ca.is_equal(cut.rates, rate)
    assert ca.is_equal(cut.parts, outer)
    z = cut.symbols
    f = ca.Function("f", [x, y, z], [cut.expression])
    np.testing.assert_allclose(np.array(f(2.0, 3.0, 4.0))[:, 0], [np.arctan2(4.0, 3.0) + 4.0, -4.0], rtol=1e-15)
    np.testing.assert_allclose(np.array(f(0.5, 3.0, 1.0))[:, 0], [np.arctan2(1.0, 3.0) + 2.0, 0.5], rtol=1e-15)
