"""Coordinates, and total derivatives against SymPy, finite differences and plain derivatives."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Frame, Robot
from erugin.symbolic import Coordinates, Kernel, ModelError
from erugin.symbolic.coordinates import KnownRateSubstitution

from ..support.random_formulas import (
    Expression,
    Formula,
    elements,
    evaluator,
    plain,
    random_formula,
    unicycle,
    unicycle_rate,
)
from ..support.trees import TREES

# Affine in the accelerations -----------------------------------------------------------------------------------------


def test_affine_expressions_are_split() -> None:
    c = unicycle()
    expression = ca.vertcat(c.t * c.a[0] + c.q[2] * c.a[1] + c.v[0], c.q[1] ** 2, 3 * c.a[1] - c.a[0] * ca.sin(c.v[1]))
    theta, rest = c.affine_in_acceleration(expression)
    assert (theta.shape, rest.shape) == ((3, 2), (3, 1))
    t, q, v = 0.7, [0.1, 0.2, 0.3], [0.4, 0.5]
    zero = [0.0, 0.0]
    expected = [[t, q[2]], [0.0, 0.0], [-np.sin(v[1]), 3.0]]
    np.testing.assert_allclose(evaluator(c, theta)(t, q, v, zero)[0], expected, rtol=1e-15)
    np.testing.assert_allclose(evaluator(c, rest)(t, q, v, zero)[0], [v[0], q[1] ** 2, 0.0], rtol=1e-15)
    for part in (theta, rest):
        assert not ca.depends_on(part, c.a)


@pytest.mark.parametrize("seed", range(10))
def test_second_rates_are_affine(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c = unicycle()
    formula = random_formula(rng, 4)
    # Order 0: the velocities are left out.
    place = ca.SX(formula(ca, c.t, elements(c.q), elements(c.q)[:2]))
    second = c.rate(c.rate(place))
    theta, rest = c.affine_in_acceleration(second)
    kernel = evaluator(c, second - theta @ c.a - rest)
    for _ in range(5):
        value = float(kernel(rng.normal(), rng.normal(size=3), rng.normal(size=2), rng.normal(size=2))[0])
        assert abs(value) < 1e-10


NOT_AFFINE: list[Expression] = [
    lambda c: c.a[0] ** 2,
    lambda c: c.a[0] * c.a[1],
    lambda c: ca.sin(c.a[1]) * c.q[0],
    lambda c: ca.fabs(c.a[0]),
    lambda c: ca.vertcat(c.a[0], c.q[0], ca.sqrt(1 + c.a[1])),
    lambda c: ca.fmin(c.a[0], 0),
]


@pytest.mark.parametrize("make", NOT_AFFINE)
def test_other_expressions_are_refused(make: Expression) -> None:
    c = plain(2)
    with pytest.raises(ModelError, match="not affine in the accelerations"):
        c.affine_in_acceleration(make(c))


# Building ------------------------------------------------------------------------------------------------------------


def test_names_come_from_the_symbols() -> None:
    c = Coordinates.of(ca.vertcat(ca.SX.sym("x"), ca.SX.sym("phi")), ca.SX.sym("v", 2), units=("m", "rad"))
    assert (c.names, c.units) == (("x", "phi"), ("m", "rad"))
    assert [e.name() for e in elements(c.a)] == ["a_x", "a_phi"]
    assert (c.nq, c.nv) == (2, 2)
    assert plain(2).units == ("", "")


def test_no_coordinates_at_all() -> None:
    c = Coordinates.of(ca.SX(0, 1), ca.SX(0, 1))
    assert (c.nq, c.nv, c.names, c.a.shape, c.N.shape) == (0, 0, (), (0, 1), (0, 0))


@pytest.mark.parametrize(
    ("sizes", "N", "names", "message"),
    [
        ((3, 2, 3), (3, 2), 3, r"a must have shape \(2,\) and N \(3, 2\); got \(3, 1\)"),
        ((3, 2, 2), (2, 3), 3, r"N \(3, 2\); got \(2, 1\) and \(2, 3\)"),
        ((3, 2, 2), (3, 2), 2, "3 coordinates need 3 names and units"),
    ],
)
def test_sizes_that_do_not_fit(sizes: tuple[int, int, int], N: tuple[int, int], names: int, message: str) -> None:
    q, v, a = (ca.SX.sym(name, size) for name, size in zip("qva", sizes, strict=True))
    with pytest.raises(ModelError, match=message):
        Coordinates(ca.SX.sym("t"), q, v, a, ca.SX.ones(*N), ("x",) * names, ("",) * names)


@pytest.mark.parametrize(("names", "units"), [(1, 2), (2, 1), (2, 3)])
def test_each_coordinate_has_a_name_and_a_unit(names: int, units: int) -> None:
    c = plain(2)
    with pytest.raises(ModelError, match="2 coordinates need 2 names and units"):
        Coordinates(c.t, c.q, c.v, c.a, c.N, ("x",) * names, ("m",) * units)


@pytest.mark.parametrize(("nq", "nv"), [(2, 3), (3, 2), (1, 0)])
def test_plain_velocities_are_as_many_as_coordinates(nq: int, nv: int) -> None:
    with pytest.raises(ModelError):
        Coordinates.of(ca.SX.sym("q", nq), ca.SX.sym("v", nv))


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
    for short, whole in ((first, c.rate(phi)), (second, c.rate(c.rate(phi)))):
        expected = values(robot, whole, state, a)
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


sympy: Any = importlib.import_module("sympy")  # without types


def sympy_rate(formula: Formula, c: Coordinates, quasi: bool) -> Callable[..., float]:
    """d/dt by SymPy, of functions of time whose derivatives are put in afterwards."""
    t = sympy.Symbol("t")
    q = [sympy.Function(f"q{i}")(t) for i in range(c.nq)]
    v = [sympy.Function(f"v{i}")(t) for i in range(c.nv)]
    a, Q, V = (sympy.symbols(f"{name}:{n}") for name, n in (("a", c.nv), ("Q", c.nq), ("V", c.nv)))
    rate = sympy.diff(sympy.sympify(formula(sympy, t, q, v)), t)
    motion = unicycle_rate(sympy, q, v) if quasi else v
    rate = rate.subs({x.diff(t): y for x, y in zip([*q, *v], [*motion, *a], strict=True)})
    rate = rate.subs(dict(zip([*q, *v], [*Q, *V], strict=True)))
    return sympy.lambdify([t, Q, V, a], rate, "numpy")  # type: ignore[no-any-return]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("quasi", [False, True], ids=["N=I", "unicycle"])
def test_rate_is_that_of_sympy(seed: int, quasi: bool) -> None:
    rng = np.random.default_rng(seed)
    c = unicycle() if quasi else plain(3)
    formula = random_formula(rng, 4)
    expression = ca.SX(formula(ca, c.t, elements(c.q), elements(c.v)))
    kernel, expected = evaluator(c, c.rate(expression)), sympy_rate(formula, c, quasi)
    for _ in range(5):
        t, q, v, a = float(rng.normal()), rng.normal(size=3), rng.normal(size=c.nv), rng.normal(size=c.nv)
        value = float(expected(t, q, v, a))
        assert float(kernel(t, q, v, a)[0]) == pytest.approx(value, rel=1e-11, abs=1e-11)


def test_random_formulas_are_not_trivial() -> None:
    t, q, v = sympy.Symbol("t"), sympy.symbols("q:3"), sympy.symbols("v:3")
    free = [sympy.sympify(random_formula(np.random.default_rng(i), 4)(sympy, t, q, v)).free_symbols for i in range(40)]
    assert sum(t in symbols for symbols in free) > 10
    assert sum(bool(symbols & set(q)) and bool(symbols & set(v)) for symbols in free) > 15


BY_HAND: list[tuple[Expression, Expression]] = [
    (lambda c: c.q[0], lambda c: c.v[0]),
    (lambda c: c.t**3, lambda c: 3 * c.t**2),
    (lambda c: c.v[1] ** 2, lambda c: 2 * c.v[1] * c.a[1]),
    (lambda c: c.q[0] * c.v[1] * c.t, lambda c: (c.v[0] * c.v[1] + c.q[0] * c.a[1]) * c.t + c.q[0] * c.v[1]),
    (lambda c: ca.SX(7.0), lambda c: ca.SX(0.0)),
]


@pytest.mark.parametrize(("formula", "rate"), BY_HAND)
def test_rate_by_hand(formula: Expression, rate: Expression) -> None:
    c = plain(2)
    kernel = evaluator(c, c.rate(formula(c)) - rate(c))
    rng = np.random.default_rng(0)
    for _ in range(10):
        assert abs(float(kernel(rng.normal(), *rng.normal(size=(3, 2)))[0])) < 1e-14


def test_rate_keeps_the_shape() -> None:
    c = plain(2)
    column = ca.vertcat(c.q, c.t, ca.SX(1))
    assert c.rate(column).shape == (4, 1)
    values = evaluator(c, c.rate(column))(0.5, [1.0, 2.0], [3.0, 4.0], [5.0, 6.0])[0]
    np.testing.assert_array_equal(values, [3.0, 4.0, 1.0, 0.0])


def test_time_may_be_given() -> None:
    t = ca.SX.sym("clock")
    c = Coordinates.of(ca.SX.sym("q"), ca.SX.sym("v"), t=t)
    assert float(evaluator(c, c.rate(t**2))(3.0, 0.0, 0.0, 0.0)[0]) == 6.0


# Along a curve -------------------------------------------------------------------------------------------------------


class Motion(NamedTuple):
    """A motion as functions of time."""

    q: Callable[[float], Array]
    v: Callable[[float], Array]
    a: Callable[[float], Array]

    def along(self, kernel: Kernel, t: float) -> Array:
        """The value of an expression at t."""
        return np.atleast_1d(kernel(t, self.q(t), self.v(t), self.a(t))[0])


def as_function(t: Any, entries: Sequence[Any]) -> Callable[[float], Array]:  # noqa: ANN401
    """A column of SymPy expressions in t as a function."""
    compiled = sympy.lambdify([t], list(entries), "numpy")
    return lambda time: np.array(compiled(time), dtype=np.float64)


@functools.cache
def drive() -> Motion:
    """A unicycle along a curve: the speed is that of the point, the heading that of its velocity."""
    t = sympy.Symbol("t", real=True)
    x, y = 2 * t + sympy.sin(t), sympy.cos(sympy.Rational(3, 2) * t) + t / 2
    dx, dy = x.diff(t), y.diff(t)
    heading, speed = sympy.atan2(dy, dx), sympy.sqrt(dx**2 + dy**2)
    turn = (dx * dy.diff(t) - dy * dx.diff(t)) / speed**2
    return Motion(
        as_function(t, [x, y, heading]), as_function(t, [speed, turn]), as_function(t, [speed.diff(t), turn.diff(t)])
    )


@functools.cache
def swing() -> Motion:
    """Two angles that go their own ways."""
    t = sympy.Symbol("t")
    q = [sympy.sin(t) + t / 3, sympy.cos(2 * t) - sympy.Rational(1, 2)]
    v = [e.diff(t) for e in q]
    return Motion(as_function(t, q), as_function(t, v), as_function(t, [e.diff(t) for e in v]))


def difference(f: Callable[[float], Array], t: float, h: float = 1e-3) -> Array:
    """Derivative by central differences of order 4."""
    return (8 * (f(t + h) - f(t - h)) - (f(t + 2 * h) - f(t - 2 * h))) / (12 * h)


def second_difference(f: Callable[[float], Array], t: float, h: float = 3e-3) -> Array:
    """Second derivative by central differences of order 4."""
    return (16 * (f(t + h) + f(t - h)) - (f(t + 2 * h) + f(t - 2 * h)) - 30 * f(t)) / (12 * h * h)


TIMES = (-1.3, -0.2, 0.4, 1.1, 2.7)


def tip(c: Coordinates) -> ca.SX:
    """The end of two links, relative angles."""
    first, second = c.q[0], c.q[0] + c.q[1]
    return ca.vertcat(0.6 * ca.cos(first) + 0.5 * ca.cos(second), 0.6 * ca.sin(first) + 0.5 * ca.sin(second))


def wheel_place(c: Coordinates) -> ca.SX:
    """A place fixed to the unicycle, in a frame that drifts away."""
    return ca.vertcat(c.q[0] + 0.3 * ca.cos(c.q[2]) - 0.1 * c.t**2, c.q[1] + 0.3 * ca.sin(c.q[2]) + ca.sin(c.t))


@pytest.mark.parametrize("t", TIMES)
def test_rate_along_the_drive(t: float) -> None:
    c, motion = unicycle(), drive()
    # The motion is one of a unicycle.
    np.testing.assert_allclose(
        difference(motion.q, t), unicycle_rate(np, list(motion.q(t)), list(motion.v(t))), atol=1e-9
    )
    np.testing.assert_allclose(difference(motion.v, t), motion.a(t), atol=1e-8)
    expression = ca.vertcat(wheel_place(c), c.v[0] * ca.sin(c.q[2]) * c.t, ca.exp(-(c.v[1] ** 2)) * c.q[0])
    value, rate = evaluator(c, expression), evaluator(c, c.rate(expression))
    np.testing.assert_allclose(
        motion.along(rate, t), difference(lambda time: motion.along(value, time), t), rtol=1e-8, atol=1e-8
    )
    # Had the velocities been taken for the rates of coordinates, it would show.
    moved = Coordinates(c.t, c.q, c.v, c.a, ca.vertcat(ca.SX.eye(2), ca.SX(1, 2)), c.names, c.units)
    assert np.abs(motion.along(evaluator(c, moved.rate(expression)), t) - motion.along(rate, t)).max() > 1e-2


class Place(NamedTuple):
    """A place that moves with some coordinates."""

    c: Coordinates
    motion: Motion
    expression: ca.SX


def arm_place() -> Place:
    """The tip of two links."""
    c = plain(2)
    return Place(c, swing(), tip(c))


def driven_place() -> Place:
    """A place on a unicycle, seen from a moving frame."""
    c = unicycle()
    return Place(c, drive(), wheel_place(c))


@pytest.mark.parametrize("make", [arm_place, driven_place])
@pytest.mark.parametrize("t", TIMES)
def test_second_rate_along_a_curve(make: Callable[[], Place], t: float) -> None:
    c, motion, place = make()
    second = evaluator(c, c.rate(c.rate(place)))
    true = second_difference(lambda time: motion.along(evaluator(c, place), time), t)
    np.testing.assert_allclose(motion.along(second, t), true, rtol=1e-7, atol=1e-7)
    # Θ a alone, without the terms quadratic in the velocities, is something else.
    theta, rest = c.affine_in_acceleration(c.rate(c.rate(place)))
    linear, quadratic = motion.along(evaluator(c, theta @ c.a), t), motion.along(evaluator(c, rest), t)
    np.testing.assert_allclose(linear + quadratic, true, rtol=1e-7, atol=1e-7)
    assert np.abs(linear - true).max() > 1e-2


@pytest.mark.parametrize("t", TIMES)
def test_the_term_quadratic_in_velocities_is_not_the_jacobian_at_the_velocities(t: float) -> None:
    c, motion = plain(2), swing()
    place = tip(c)
    J = ca.jacobian(place, c.q)
    rate_of_J = ca.jtimes(ca.vec(J), c.q, c.v)
    right = J @ c.a + ca.reshape(rate_of_J, 2, 2) @ c.v
    wrong = J @ c.a + ca.substitute(J, c.q, c.v) @ c.v
    true = second_difference(lambda time: motion.along(evaluator(c, place), time), t)
    np.testing.assert_allclose(motion.along(evaluator(c, right), t), true, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(motion.along(evaluator(c, c.rate(c.rate(place)) - right), t), 0.0, atol=1e-13)
    assert np.abs(motion.along(evaluator(c, wrong), t) - true).max() > 0.1


def test_second_rate_of_a_circle_by_hand() -> None:
    c = plain(2)
    x, y = elements(c.q)
    by_hand = 2 * (ca.sumsqr(c.v) + x * c.a[0] + y * c.a[1])
    kernel = evaluator(c, c.rate(c.rate(x**2 + y**2 - 1)) - by_hand)
    rng = np.random.default_rng(3)
    for _ in range(10):
        assert abs(float(kernel(0.0, *rng.normal(size=(3, 2)))[0])) < 1e-13
