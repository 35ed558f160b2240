"""Sines and cosines of several angles at once: errors in units of the last place, and the edges of their range."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.symbolic.codegen import Tape

from .emitted import SHAPES, emitted
from .many_digits import mp

pytestmark = pytest.mark.compiled

Array = NDArray[np.float64]

SWITCH = 823549.0  # beyond it the C library is asked
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
