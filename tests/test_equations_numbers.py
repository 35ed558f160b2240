"""Numbers in printed equations: what was meant by a floating-point constant, and how it is written."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erugin.robots.equations.formula import Number
from erugin.robots.equations.latex import latex
from erugin.robots.equations.text import text
from erugin.robots.equations.trigonometric_sums import cosine_of_turn, exact_number, multiple_of_pi


@pytest.mark.parametrize(
    ("given", "meant", "printed"),
    [
        (9.81, Fraction(981, 100), "9.81"),
        (0.1, Fraction(1, 10), "0.1"),
        (0.1 + 0.2, Fraction(3, 10), "0.3"),
        (1 / 3, Fraction(1, 3), "1/3"),
        (-2 / 3, Fraction(-2, 3), "−2/3"),
        (0.5, Fraction(1, 2), "1/2"),
        (2.5 / 12, Fraction(5, 24), "5/24"),
        (1 / 997, Fraction(1, 997), "1/997"),
        (1000.0, Fraction(1000), "1000"),
        (0.0, Fraction(0), "0"),
        (5e-324, Fraction(repr(5e-324)), "4.94065645841·10⁻³²⁴"),
        (6.02214076e23, Fraction(602214076 * 10**15), "6.02214076·10²³"),
        (2.7182818284590455, Fraction("2.7182818284590455"), "2.71828182846"),
        (0.00325, Fraction(325, 100000), "0.00325"),
    ],
)
def test_constants_are_what_was_typed(given: float, meant: Fraction, printed: str) -> None:
    assert exact_number(given) == meant
    assert text(Number(meant)) == printed


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_constants_keep_their_value(x: float) -> None:
    assert abs(float(exact_number(x)) - x) <= 2 * math.ulp(x)


@given(st.integers(-(10**6), 10**6), st.integers(0, 9))
def test_decimals_are_exact(digits: int, places: int) -> None:
    assert exact_number(float(f"{digits}e-{places}")) == Fraction(digits, 10**places)


def test_multiples_of_pi_are_recognised() -> None:
    for ratio in (Fraction(1), Fraction(-1, 2), Fraction(2), Fraction(1, 36), Fraction(5, 6), Fraction(7, 4)):
        assert multiple_of_pi(float(ratio) * math.pi) == ratio
    for x in (0.0, 3.14, 3.1415926, 1.0, 1e300, 1e-300, 100 * math.pi):
        assert multiple_of_pi(x) is None


def test_rational_cosines() -> None:
    """Of the multiples of 15 degrees, those and only those whose cosine is 0, ±½ or ±1."""
    for numerator in range(-24, 25):
        cosine = math.cos(numerator * math.pi / 12)
        rational = any(abs(abs(cosine) - value) < 1e-12 for value in (0.0, 0.5, 1.0))
        value = cosine_of_turn(Fraction(numerator, 12))
        assert (value is not None) == rational
        assert value is None or float(value) == pytest.approx(cosine, abs=1e-15)


def test_powers_of_ten_in_latex() -> None:
    assert latex(Number(exact_number(2.5e-8))) == r"2.5 \cdot 10^{-8}"
    assert latex(Number(Fraction(-1, 3))) == r"-\frac{1}{3}"
