"""R-functions: signs, zero sets, slopes on the boundary, bounds and orders of smoothness."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import cast

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from erugin.constraints.shapes import RAlpha, RFunction, RNorm, RPower
from erugin.symbolic import ModelError

Array = NDArray[np.float64]

KINDS: tuple[RFunction, ...] = (
    RAlpha(),
    RAlpha(0.7),
    RAlpha(-0.6),
    *(RPower(p) for p in (2, 4, 6, 8)),
    *(RNorm(p) for p in (2, 4, 6, 8)),
)
KIND = pytest.mark.parametrize("kind", KINDS, ids=repr)
NORM = pytest.mark.parametrize("power", [2, 4, 6, 8])
numbers = st.floats(-1e3, 1e3).filter(lambda x: x == 0 or abs(x) > 1e-6)


@functools.cache
def function(kind: RFunction) -> ca.Function:
    """a ∧ b and a ∨ b with their gradients."""
    a, b = ca.SX.sym("a"), ca.SX.sym("b")
    both = kind.conjunction(a, b), kind.disjunction(a, b)
    slopes = [ca.gradient(value, ca.vertcat(a, b)) for value in both]
    return ca.Function("r", [a, b], [*both, *slopes])


def at(kind: RFunction, a: float, b: float) -> tuple[float, float, Array, Array]:
    """Result of :func:`function`, as numbers."""
    conjunction, disjunction, down, up = (o.full()[:, 0] for o in function(kind).call([a, b]))
    return float(conjunction[0]), float(disjunction[0]), down, up


def test_every_r_function_is_in_the_table() -> None:
    assert set(RFunction.__subclasses__()) == {type(kind) for kind in KINDS}


@KIND
@pytest.mark.parametrize("a", [-2.0, -1e-3, 0.0, 1e-3, 3.0])
@pytest.mark.parametrize("b", [-5.0, -1e-3, 0.0, 1e-3, 3.0])
def test_the_table_of_signs(kind: RFunction, a: float, b: float) -> None:
    """A logic of three values: the conjunction has the least sign, the disjunction the largest."""
    rounding = 1e-15 * (abs(a) + abs(b)) + 1e-30
    conjunction, disjunction = (0.0 if abs(value) <= rounding else value for value in at(kind, a, b)[:2])
    assert np.sign(conjunction) == min(np.sign(a), np.sign(b))
    assert np.sign(disjunction) == max(np.sign(a), np.sign(b))


@KIND
@given(a=numbers, b=numbers)
def test_signs_of_any_numbers(kind: RFunction, a: float, b: float) -> None:
    conjunction, disjunction, *_ = at(kind, a, b)
    # Where the two differ by orders of magnitude, a + b − √(a² + b²) is no better than its largest term.
    blur = 1e-14 * max(abs(a), abs(b))
    if min(a, b) > 0:
        assert conjunction > -blur
        assert disjunction > blur
    elif max(a, b) < 0:
        assert conjunction < -blur
        assert disjunction < blur
    assert conjunction <= min(a, b) + blur or min(a, b) < 0
    assert disjunction >= max(a, b) - blur or max(a, b) > 0


FORMULAS: tuple[tuple[RFunction, Callable[[float, float], float]], ...] = (
    (RAlpha(), lambda a, b: a + b - math.hypot(a, b)),
    (RAlpha(0.7), lambda a, b: (a + b - math.sqrt(a * a + b * b - 1.4 * a * b)) / 1.7),
    (RPower(4), lambda a, b: a + b - (a**4 + b**4) ** 0.25),
    (
        RNorm(2),
        lambda a, b: 1 / math.sqrt(1 / a**2 + 1 / b**2) if min(a, b) > 0 else -math.hypot(min(a, 0), min(b, 0)),
    ),
)


@pytest.mark.parametrize(("kind", "formula"), FORMULAS, ids=lambda x: repr(x) if isinstance(x, RFunction) else "")
def test_the_formulas(kind: RFunction, formula: Callable[[float, float], float]) -> None:
    rng = np.random.default_rng(1)
    for a, b in rng.normal(size=(200, 2)):
        conjunction, disjunction, *_ = at(kind, a, b)
        assert conjunction == pytest.approx(formula(a, b), abs=1e-14)
        assert disjunction == pytest.approx(-formula(-a, -b), abs=1e-14)


def test_known_values() -> None:
    assert at(RAlpha(), 3, 4)[:2] == pytest.approx((2.0, 12.0))
    assert at(RPower(2), 3, 4)[:2] == pytest.approx((2.0, 12.0))
    assert at(RPower(4), 1, 1)[:2] == pytest.approx((2 - 2**0.25, 2 + 2**0.25))
    assert at(RNorm(2), 3, 4)[:2] == pytest.approx((2.4, 5.0))
    assert at(RNorm(4), -1, -1)[:2] == pytest.approx((-(2**0.25), -(2**-0.25)))


@KIND
@given(a=numbers, b=numbers, factor=st.floats(0.01, 100))
def test_the_order_and_the_scale_do_not_matter(kind: RFunction, a: float, b: float, factor: float) -> None:
    blur = 1e-13 * max(abs(a), abs(b)) + 1e-30
    ahead, swapped, scaled = at(kind, a, b), at(kind, b, a), at(kind, factor * a, factor * b)
    for i in (0, 1):
        assert ahead[i] == pytest.approx(swapped[i], abs=blur)
        assert scaled[i] == pytest.approx(factor * cast(float, ahead[i]), abs=factor * blur)


@KIND
@pytest.mark.parametrize("other", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("off", [0.0, 1e-14, -1e-14])
def test_on_the_boundary_the_slope_is_that_of_the_vanishing_argument(kind: RFunction, other: float, off: float) -> None:
    blur = 10 * (abs(off) / other)
    for down in (at(kind, off, other)[2], at(kind, other, off)[2][::-1]):
        np.testing.assert_allclose(down, (1.0, 0.0), atol=1e-14 + blur)
    for up in (at(kind, off, -other)[3], at(kind, -other, off)[3][::-1]):
        np.testing.assert_allclose(up, (1.0, 0.0), atol=1e-14 + blur)


@KIND
def test_at_a_corner_values_and_slopes_are_finite(kind: RFunction) -> None:
    for a, b in ((0.0, 0.0), (1e-200, -1e-200), (1e-40, 1e-40), (-1e-300, 0.0)):
        conjunction, disjunction, down, up = at(kind, a, b)
        assert abs(conjunction) + abs(disjunction) < 1e-30
        assert np.isfinite([*down, *up]).all()
        assert np.abs([*down, *up]).max() < 10


@NORM
def test_norms_are_bounded_and_associative(power: int) -> None:
    rng = np.random.default_rng(power)
    kind = RNorm(power)
    slots = ca.SX.sym("e", 5)
    parts = ca.vertsplit(slots)
    swapped = [parts[i] for i in (3, 0, 4, 2, 1)]
    grouped = kind.conjunction(kind.conjunction(*parts[:2]), kind.conjunction(kind.conjunction(*parts[2:4]), parts[4]))
    folded = kind.all_of(parts)
    slope = ca.sum1(ca.gradient(folded, slots))
    f = ca.Function("f", [slots], [folded, kind.all_of(swapped), grouped, slope, kind.any_of(parts)])
    for values in rng.uniform(0.1, 5.0, (50, 5)):
        one, two, three, steepness, largest = (float(o) for o in f.call([values]))
        assert one == pytest.approx(two, rel=1e-13)
        assert one == pytest.approx(three, rel=1e-13)
        assert one == pytest.approx((values ** (-float(power))).sum() ** (-1 / power), rel=1e-13)
        assert largest == pytest.approx(np.linalg.norm(values, power), rel=1e-13)
        assert 5 ** (-1 / power) * values.min() <= one <= values.min()
        assert values.max() <= largest <= 5 ** (1 / power) * values.max()
        assert 0 < steepness <= 1, "the sum of the slopes, which bounds the gradient"
    mixed = np.array([-1.0, 2.0, -0.5, 3.0, 0.1])
    assert float(f.call([mixed])[0]) == pytest.approx(-np.linalg.norm([1.0, 0.5], power))
    assert float(f.call([mixed])[4]) == pytest.approx(np.linalg.norm([2.0, 3.0, 0.1], power))


@NORM
@pytest.mark.parametrize("kind", [RPower, RNorm])
def test_near_the_boundary_the_order_is_as_stated(kind: Callable[[int], RFunction], power: int) -> None:
    """Difference of a ∧ 1 and a for small a: like a^p for R_p, a^(p + 1) for norms, measured by halving a."""
    size = 0.2
    misses = [abs(at(kind(power), a, 1.0)[0] - a) for a in (size, size / 2)]
    order = power if kind is RPower else power + 1
    assert math.log2(misses[0] / misses[1]) == pytest.approx(order, abs=0.2)


BAD: tuple[tuple[Callable[[], object], str], ...] = (
    (lambda: RAlpha(1.0), r"between -1 and 1, got 1\.0"),
    (lambda: RAlpha(-1.0), r"between -1 and 1, got -1\.0"),
    (lambda: RAlpha(math.nan), r"alpha must be finite, got nan"),
    (lambda: RPower(3), r"one of 2, 4, 6, 8, got 3"),
    (lambda: RPower(0), r"one of 2, 4, 6, 8, got 0"),
    (lambda: RNorm(-2), r"one of 2, 4, 6, 8, got -2"),
    (lambda: RNorm(cast(int, 2.5)), r"got 2\.5"),
    (lambda: RNorm(cast(int, True)), r"got True"),
)


@pytest.mark.parametrize(("make", "message"), BAD)
def test_powers_out_of_range_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def test_an_r_function_is_abstract() -> None:
    with pytest.raises(TypeError, match="conjunction"):
        RFunction()  # type: ignore[abstract]  # pyright: ignore[reportAbstractUsage]
