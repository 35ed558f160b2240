"""Floating-point constants as the exact numbers that were meant."""

from __future__ import annotations

import math
from fractions import Fraction

LARGEST_DENOMINATOR = 1000
LARGEST_EXACT = 2**53
LARGEST_TURN_DENOMINATOR = 36
"""Multiples of π/36, five degrees, are recognised."""


def exact(x: float) -> Fraction:
    """The number that was meant by ``x``: 1/3 for 0.333…, else its decimals as they are printed.

    Args:
        x: a finite number; what two roundings add to a simple fraction is taken away.
    """
    simple = Fraction(x).limit_denominator(LARGEST_DENOMINATOR)
    if 0 < abs(simple) < LARGEST_EXACT and abs(float(simple) - x) <= 2 * math.ulp(x):
        return simple
    return Fraction(repr(x))


def multiple_of_pi(x: float) -> Fraction | None:
    """The simple fraction r for which ``x`` is r π rounded, or None."""
    ratio = Fraction(x / math.pi).limit_denominator(LARGEST_TURN_DENOMINATOR)
    if ratio == 0 or abs(ratio) > LARGEST_TURN_DENOMINATOR:
        return None
    return ratio if abs(float(ratio) * math.pi - x) <= math.ulp(x) else None


# Rational values of cos(r π) for 0 ≤ r ≤ 1/2; there are no others (Niven's theorem).
COSINES = {Fraction(0): Fraction(1), Fraction(1, 3): Fraction(1, 2), Fraction(1, 2): Fraction(0)}


def cosine_of_turn(r: Fraction) -> Fraction | None:
    """cos(r π) if it is rational."""
    folded = abs(r) % 2
    if folded > 1:
        folded = 2 - folded
    sign = 1
    if folded > Fraction(1, 2):
        folded, sign = 1 - folded, -1
    value = COSINES.get(folded)
    return None if value is None else sign * value
