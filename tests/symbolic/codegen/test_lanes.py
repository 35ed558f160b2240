"""Every operation as C text in lanes of any width, and the errors of sines in units of the last place."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from erugin.symbolic import CompilerWarning, Kernel
from erugin.symbolic.codegen import Tape
from erugin.symbolic.codegen.c_function import INLINE_OPERATIONS, LIBRARY_OPERATIONS

from ...support.c_text import SHAPES, by_machine, emitted
from ...support.many_digits import mp

pytestmark = pytest.mark.compiled
shapes = pytest.mark.parametrize(("lanes", "width"), SHAPES)

Array = NDArray[np.float64]

SPECIAL = [0.0, 5e-324, 1e-310, 1e-8, 0.1, 0.5, 1.0, 2.0, 2.5, 3.0, 709.0, 745.5, 1e16, 1.7e300, 1e308, np.inf, np.nan]
NUMBERS = [sign * number for number in SPECIAL for sign in (1.0, -1.0)]

Expression = Callable[[ca.SX, ca.SX], ca.SX]
Values = Callable[[Array, Array], NDArray[np.floating]]

OPERATIONS: dict[str, tuple[Expression, Values]] = {
    "add": (lambda a, b: a + b, np.add),
    "subtract": (lambda a, b: a - b, np.subtract),
    "multiply": (lambda a, b: a * b, np.multiply),
    "divide": (lambda a, b: a / b, np.divide),
    "negate": (lambda a, b: -a, lambda a, b: -a),
    "square": (lambda a, b: a**2, lambda a, b: a * a),
    "twice": (lambda a, b: 2 * a, lambda a, b: a + a),
    "invert": (lambda a, b: 1 / a, lambda a, b: 1.0 / a),
    "sqrt": (lambda a, b: ca.sqrt(a), lambda a, b: np.sqrt(a)),
    "fabs": (lambda a, b: ca.fabs(a), lambda a, b: np.fabs(a)),
    "sign": (lambda a, b: ca.sign(a), lambda a, b: np.where(a == 0.0, a, np.sign(a))),
    "copysign": (ca.copysign, np.copysign),
    "fmin": (ca.fmin, np.fmin),
    "fmax": (ca.fmax, np.fmax),
    "less": (lambda a, b: a < b, lambda a, b: 1.0 * (a < b)),
    "less or equal": (lambda a, b: a <= b, lambda a, b: 1.0 * (a <= b)),
    "equal": (ca.eq, lambda a, b: 1.0 * (a == b)),
    "other": (ca.ne, lambda a, b: 1.0 * (a != b)),
    "not": (lambda a, b: ca.logic_not(a), lambda a, b: 1.0 * np.logical_not(a)),
    "and": (ca.logic_and, lambda a, b: 1.0 * np.logical_and(a, b)),
    "or": (ca.logic_or, lambda a, b: 1.0 * np.logical_or(a, b)),
    "if": (lambda a, b: ca.if_else(a, b, 0), lambda a, b: np.where(a != 0.0, b, 0.0)),
    "if else": (lambda a, b: ca.if_else(a < b, a, b), lambda a, b: np.where(a < b, a, 0.0) + np.where(a < b, 0.0, b)),
    "conditional": (
        lambda a, b: ca.conditional(a, [b, 2 * b], -b),
        lambda a, b: (
            np.where(a == 0.0, b, 0.0) + np.where(a == 1.0, 2 * b, 0.0) - np.where((a == 0) | (a == 1), 0.0, b)
        ),
    ),
    "exp": (lambda a, b: ca.exp(a), lambda a, b: np.exp(a)),
    "log": (lambda a, b: ca.log(a), lambda a, b: np.log(a)),
    "power": (lambda a, b: a**b, np.power),
    "constant power": (lambda a, b: a**2.3, lambda a, b: np.power(a, 2.3)),
    "sin": (lambda a, b: ca.sin(a), lambda a, b: np.sin(a)),
    "cos": (lambda a, b: ca.cos(a), lambda a, b: np.cos(a)),
    "tan": (lambda a, b: ca.tan(a), lambda a, b: np.tan(a)),
    "asin": (lambda a, b: ca.asin(a), lambda a, b: np.arcsin(a)),
    "acos": (lambda a, b: ca.acos(a), lambda a, b: np.arccos(a)),
    "atan": (lambda a, b: ca.atan(a), lambda a, b: np.arctan(a)),
    "atan2": (ca.atan2, np.arctan2),
    "sinh": (lambda a, b: ca.sinh(a), lambda a, b: np.sinh(a)),
    "cosh": (lambda a, b: ca.cosh(a), lambda a, b: np.cosh(a)),
    "tanh": (lambda a, b: ca.tanh(a), lambda a, b: np.tanh(a)),
    "asinh": (lambda a, b: ca.asinh(a), lambda a, b: np.arcsinh(a)),
    "acosh": (lambda a, b: ca.acosh(a), lambda a, b: np.arccosh(a)),
    "atanh": (lambda a, b: ca.atanh(a), lambda a, b: np.arctanh(a)),
    "floor": (lambda a, b: ca.floor(a), lambda a, b: np.floor(a)),
    "ceil": (lambda a, b: ca.ceil(a), lambda a, b: np.ceil(a)),
    "fmod": (ca.fmod, np.fmod),
    "remainder": (ca.remainder, lambda a, b: np.vectorize(ieee_remainder)(a, b)),
    "erf": (lambda a, b: ca.erf(a), lambda a, b: special.erf(a)),
    "log1p": (lambda a, b: ca.log1p(a), lambda a, b: np.log1p(a)),
    "expm1": (lambda a, b: ca.expm1(a), lambda a, b: np.expm1(a)),
    "hypot": (ca.hypot, np.hypot),
    "with nan": (lambda a, b: ca.fmax(a, ca.SX(np.nan)), lambda a, b: a),
    "with infinity": (lambda a, b: a - ca.SX(np.inf), lambda a, b: a - np.inf),
}


def ieee_remainder(a: float, b: float) -> float:
    """Remainder of a after subtraction of the nearest multiple of b."""
    if np.isnan(a) or np.isnan(b) or np.isinf(a) or b == 0.0:
        return np.nan
    return a if np.isinf(b) else math.remainder(a, b)


@functools.cache
def table() -> ca.Function:
    """All operations at once."""
    x = ca.SX.sym("x", 2)
    return ca.Function("table", [x], [ca.vertcat(*(build(x[0], x[1]) for build, _ in OPERATIONS.values()))])


def operands() -> Array:
    """All pairs of special numbers, and ordinary ones of every size."""
    rng = np.random.default_rng(7)
    ordinary = rng.normal(size=(200, 2)) * 10.0 ** rng.integers(-6, 7, (200, 2))
    return np.vstack([np.array(list(itertools.product(NUMBERS, NUMBERS))), ordinary])


def same_bits(first: Array, second: Array) -> NDArray[np.bool_]:
    """Equal to the sign of zero; one NaN is as good as another."""
    return np.array(
        ((first == second) & (np.signbit(first) == np.signbit(second))) | (np.isnan(first) & np.isnan(second))
    )


def test_table_holds_every_operation() -> None:
    here = {entry[0] for entry in Tape.of(table()).entries} | {ca.OP_TWICE}  # which some releases write as a sum
    assert {*INLINE_OPERATIONS, *LIBRARY_OPERATIONS, ca.OP_SIN, ca.OP_COS} <= here


@shapes
def test_operations_are_those_of_the_virtual_machine(lanes: int, width: int) -> None:
    rows = operands()
    expected, found = by_machine(table(), rows), emitted(Tape.of(table()), lanes, width)(rows)
    for k, name in enumerate(OPERATIONS):
        wrong = ~same_bits(found[:, k], expected[:, k])
        if name in ("fmin", "fmax"):
            # Which zero is the smaller is left open by C.
            wrong &= (rows[:, 0] != 0.0) | (rows[:, 1] != 0.0)
        if name in ("sin", "cos"):
            wrong &= ~(np.abs(found[:, k] - expected[:, k]) <= np.spacing(np.abs(expected[:, k])))
        assert not wrong.any(), (name, rows[wrong][:5], found[wrong, k][:5], expected[wrong, k][:5])


@pytest.mark.parametrize(("lanes", "width"), [(1, 2), (8, 8)])
def test_operations_are_those_of_numpy(lanes: int, width: int) -> None:
    rows = operands()
    found = emitted(Tape.of(table()), lanes, width)(rows)
    with np.errstate(all="ignore"):
        for k, (name, (_, values)) in enumerate(OPERATIONS.items()):
            np.testing.assert_allclose(found[:, k], values(rows[:, 0], rows[:, 1]), 4e-15, 5e-324, err_msg=name)


@shapes
def test_lanes_do_not_disturb_each_other(lanes: int, width: int) -> None:
    rows = operands()
    run = emitted(Tape.of(table()), lanes, width)
    order = np.random.default_rng(3).permutation(len(rows))
    assert same_bits(run(rows[order]), run(rows)[order]).all()


def test_lanes_have_the_bits_of_numbers() -> None:
    rows = operands()
    single = emitted(Tape.of(table()), 1, 1)(rows)
    for lanes, width in SHAPES[1:]:
        assert same_bits(emitted(Tape.of(table()), lanes, width)(rows), single).all(), (lanes, width)


def test_what_has_no_text_runs_in_the_virtual_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    x = ca.SX.sym("x")
    monkeypatch.setattr(Kernel, "_warned", False)
    with pytest.warns(CompilerWarning, match="OP_ERFINV"):
        kernel = Kernel("inverse", {"x": x}, {"y": ca.erfinv(x)})
    assert not kernel.compiled
    np.testing.assert_allclose(kernel(0.3)[0], special.erfinv(0.3), rtol=1e-14)


SWITCH = 823549.0  # beyond it the C library is called
DIGITS = 300  # bits behind the point


@functools.cache
def sines(lanes: int = 8, width: int = 8) -> Callable[[Array], Array]:
    """Angles → rows of sine and cosine."""
    x = ca.SX.sym("x")
    run = emitted(Tape.of(ca.Function("sines", [x], [ca.vertcat(ca.sin(x), ca.cos(x))])), lanes, width)
    return lambda angles: run(angles[:, None])


@functools.cache
def nearest_to_multiples() -> Array:
    """Of each multiple of π/2 below the switch the nearest double; those that are nearest of all come first."""
    with mp.workprec(DIGITS + 10):
        quarter = int(mp.floor(mp.ldexp(mp.pi, DIGITS - 1)))
    found = []
    for k in range(1, 2**19):
        multiple = k * quarter
        shift = multiple.bit_length() - 53
        mantissa = (multiple + (1 << shift - 1)) >> shift
        found.append((abs((mantissa << shift) - multiple), math.ldexp(mantissa, shift - DIGITS)))
    return np.array([angle for _, angle in sorted(found)])


def worst_error(angles: Array) -> float:
    """The largest error of sines and cosines, in units of the last place of the exact value."""
    worst = 0.0
    with mp.workprec(200):
        for angle, row in zip(angles, sines()(angles), strict=True):
            for function, value in zip((mp.sin, mp.cos), row, strict=True):
                exact = function(mp.mpf(float(angle)))
                worst = max(worst, abs(float((float(value) - exact) / math.ulp(float(exact)))))
    return worst


def angles_of(kind: str) -> Array:
    """Angles inside the range of the polynomials."""
    rng = np.random.default_rng(5)
    if kind == "first":
        return np.asarray(rng.uniform(-np.pi / 4, np.pi / 4, 10000))
    if kind == "few turns":
        return rng.uniform(-20.0, 20.0, 10000)
    if kind == "all":
        return rng.uniform(-SWITCH, SWITCH, 10000)
    if kind == "every size":
        sizes = np.exp(rng.uniform(np.log(1e-300), np.log(SWITCH), 10000))
        return np.asarray(sizes * rng.choice([-1.0, 1.0], 10000))
    octants = 2 * rng.integers(-(2**18), 2**18, 10000) + 1
    return np.asarray(octants * (np.pi / 4) * (1.0 + rng.uniform(-1e-9, 1e-9, 10000)))


@pytest.mark.parametrize("kind", ["first", "few turns", "all", "every size", "ends of octants"])
def test_error_is_below_eight_tenths_of_the_last_place(kind: str) -> None:
    assert 0.5 < worst_error(angles_of(kind)) < 0.8


def test_nearest_multiples_of_a_quarter_turn_are_rounded_right() -> None:
    angles = nearest_to_multiples()[:5000]
    assert angles[0] == 45.553093477052  # 6.2e-19 from 29 π/2
    assert worst_error(np.concatenate([angles, -angles[:1000]])) < 0.5001


def test_neighbours_of_multiples_of_a_quarter_turn() -> None:
    angles = nearest_to_multiples()[np.random.default_rng(1).integers(0, 2**19 - 1, 3000)]
    for steps in (-2, -1, 1, 2):
        assert worst_error(angles + steps * np.spacing(angles)) < 0.55


def test_a_million_angles_beside_the_c_library() -> None:
    angles = np.random.default_rng(9).uniform(-2 * SWITCH, 2 * SWITCH, 2**20)
    found = sines()(angles)
    for k, function in enumerate((math.sin, math.cos)):
        expected = np.array([function(angle) for angle in angles.tolist()])
        units = np.abs(found[:, k] - expected) / np.spacing(np.abs(expected))
        assert units.max() <= 1.0
        assert units[np.abs(angles) > SWITCH].max() == 0.0
        assert 0.0 < np.mean(units > 0.0) < 0.05


@pytest.mark.parametrize(("lanes", "width"), SHAPES)
def test_edges(lanes: int, width: int) -> None:
    edges = [
        0.0,
        5e-324,
        1e-310,
        2.2e-308,
        1e-9,
        np.nextafter(SWITCH, 0),
        SWITCH,
        np.nextafter(SWITCH, 1e9),
        1e22,
        1e300,
    ]
    angles = np.array([*edges, *(-edge for edge in edges)])
    found = sines(lanes, width)(angles)
    for angle, (sine, cosine) in zip(angles.tolist(), found.tolist(), strict=True):
        assert sine == math.sin(angle)
        assert math.copysign(1.0, sine) == math.copysign(1.0, math.sin(angle))
        assert cosine == math.cos(angle)
    assert np.isnan(sines(lanes, width)(np.array([np.inf, -np.inf, np.nan]))).all()


@pytest.mark.parametrize(("lanes", "width"), [(1, 1), (4, 4), (8, 8)])
def test_an_angle_has_the_same_bits_in_any_company(lanes: int, width: int) -> None:
    rng = np.random.default_rng(2)
    angles = rng.uniform(-1e6, 1e6, 4096)
    angles[rng.integers(0, 4096, 200)] = rng.choice([np.nan, np.inf, 1e300, -1e300, 0.0, 5e-324], 200)
    expected, order = sines()(angles), rng.permutation(4096)
    np.testing.assert_array_equal(sines(lanes, width)(angles[order]), expected[order])
    np.testing.assert_array_equal(sines(lanes, width)(-angles), expected * [-1.0, 1.0])
