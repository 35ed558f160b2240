"""Sums of terms, number × monomial × (1, cos A or sin A), with exact numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

LARGEST_DENOMINATOR = 1000
LARGEST_EXACT = 2**53
LARGEST_TURN_DENOMINATOR = 36
"""Largest denominator of recognised multiples of π: π/36 is five degrees."""


def exact_number(x: float) -> Fraction:
    """Return the number meant by ``x``: 1/3 for 0.333…, else its printed decimals.

    Args:
        x: a finite number; a simple fraction is recognised within two rounding errors.
    """
    simple = Fraction(x).limit_denominator(LARGEST_DENOMINATOR)
    if 0 < abs(simple) < LARGEST_EXACT and abs(float(simple) - x) <= 2 * math.ulp(x):
        return simple
    return Fraction(repr(x))


def multiple_of_pi(x: float) -> Fraction | None:
    """Return the simple fraction r for which ``x`` is r π rounded, or None."""
    ratio = Fraction(x / math.pi).limit_denominator(LARGEST_TURN_DENOMINATOR)
    if ratio == 0 or abs(ratio) > LARGEST_TURN_DENOMINATOR:
        return None
    return ratio if abs(float(ratio) * math.pi - x) <= math.ulp(x) else None


# Rational values of cos(r π) for 0 ≤ r ≤ 1/2; there are no others (Niven's theorem).
COSINES = {Fraction(0): Fraction(1), Fraction(1, 3): Fraction(1, 2), Fraction(1, 2): Fraction(0)}


def cosine_of_turn(r: Fraction) -> Fraction | None:
    """Return cos(r π) if it is rational, else None."""
    folded = abs(r) % 2
    if folded > 1:
        folded = 2 - folded
    sign = 1
    if folded > Fraction(1, 2):
        folded, sign = 1 - folded, -1
    value = COSINES.get(folded)
    return None if value is None else sign * value


Rational: TypeAlias = int | Fraction
Key: TypeAlias = tuple[int, int]
"""A monomial and a wave. Wave 0 is the number 1, wave 2k is cos and 2k + 1 is sin of argument k."""
Frozen: TypeAlias = tuple[tuple[Key, Rational], ...]

# A monomial is one integer, Σ exponent × 2^(WIDTH × atom), so that monomials are multiplied by adding two integers.
EXPONENT_BITS = 16
MAX_EXPONENT = 2 ** (EXPONENT_BITS - 2)
"""Largest exponent, so that the bit fields of a monomial never overflow into each other."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A sum of terms.

    Attributes:
        items: nonzero numbers by monomial and wave.
        peak: upper bound of the absolute values of all exponents.
    """

    items: Mapping[Key, Rational]
    peak: int

    @property
    def is_number(self) -> bool:
        """True if there are neither monomials nor waves."""
        return not self.items or (len(self.items) == 1 and (0, 0) in self.items)

    @property
    def number(self) -> Rational:
        """The term without monomial and wave."""
        return self.items.get((0, 0), 0)

    def freeze(self) -> Frozen:
        """Return the terms in an order that depends only on the terms."""
        return tuple(sorted(self.items.items()))


def constant(value: Rational) -> Terms:
    """Return a number as a sum of at most one term."""
    return Terms({(0, 0): value} if value else {}, 0)


def single(monomial: int, wave: int = 0, number: Rational = 1) -> Terms:
    """Return a sum of one term."""
    return Terms({(monomial, wave): number}, max((abs(e) for _, e in exponents(monomial)), default=0))


def pack(atom: int, exponent: int = 1) -> int:
    """Return the monomial atom^exponent."""
    return exponent << (EXPONENT_BITS * atom)


@functools.lru_cache(maxsize=100_000)
def exponents(monomial: int) -> tuple[tuple[int, int], ...]:
    """Return pairs of atom and exponent, by atom; exponents may be negative."""
    pairs: list[tuple[int, int]] = []
    while monomial:
        atom = ((monomial & -monomial).bit_length() - 1) // EXPONENT_BITS
        exponent = (monomial >> (EXPONENT_BITS * atom)) & (2**EXPONENT_BITS - 1)
        if exponent >= 2 ** (EXPONENT_BITS - 1):
            exponent -= 2**EXPONENT_BITS
        pairs.append((atom, exponent))
        monomial -= exponent << (EXPONENT_BITS * atom)
    return tuple(pairs)


def add(a: Terms, b: Terms, factor: Rational = 1) -> Terms:
    """Return a + factor b."""
    if factor == 1 and len(a.items) < len(b.items):
        a, b = b, a
    items = dict(a.items)
    for key, number in b.items.items():
        value = items.get(key, 0) + factor * number
        if value:
            items[key] = value
        else:
            items.pop(key, None)
    return Terms(items, max(a.peak, b.peak))


def scale(a: Terms, factor: Rational) -> Terms:
    """Return factor · a."""
    if factor == 0:
        return constant(0)
    return Terms({key: factor * number for key, number in a.items.items()}, a.peak)


def leading_key(items: Iterable[Key]) -> Key:
    """Return the key that determines the sign: lowest atoms first, the pure number last."""
    return min(items, key=lambda key: (key == (0, 0), exponents(key[0]), key[1]))


def common_monomial(monomials: Iterable[int]) -> int:
    """Return the greatest common divisor: the lowest exponent of each atom, 0 if it does not occur."""
    lists = [dict(exponents(m)) for m in monomials]
    atoms = sorted(set[int]().union(*lists))
    return sum(pack(atom, min(powers.get(atom, 0) for powers in lists)) for atom in atoms)


def common_number(numbers: Iterable[Rational]) -> Fraction:
    """Return the greatest positive rational number of which all are integer multiples."""
    fractions = [Fraction(x) for x in numbers]
    return Fraction(math.gcd(*(x.numerator for x in fractions)), math.lcm(*(x.denominator for x in fractions)))


PI_ATOM = 0
PI_KEY: Key = (pack(PI_ATOM), 0)


class Waves:
    """Numbered cosines and sines.

    The sign of an argument is such that its leading term is positive, and quarter turns are removed from it, so that
    cos(−x), sin(x + π/2) and cos x are the same wave.
    """

    def __init__(self) -> None:
        self._arguments: list[Terms] = [Terms({}, 0)]
        self._numbers: dict[Frozen, int] = {}
        self._products: dict[Key, tuple[tuple[Rational, int], ...]] = {}

    def argument(self, wave: int) -> Terms:
        """Return A of the wave cos A or sin A."""
        return self._arguments[wave // 2]

    def make(self, argument: Terms, *, sine: bool) -> tuple[Rational, int]:
        """Return cos or sin of ``argument`` as number × wave.

        Args:
            argument: sum of terms.
            sine: True for the sine, False for the cosine.
        """
        items = dict(argument.items)
        turn = Fraction(items.pop(PI_KEY, 0))
        if not items:
            return self._of_turn(turn - Fraction(1, 2) if sine else turn)
        sign = 1
        if items[leading_key(items)] < 0:
            items = {key: -number for key, number in items.items()}
            turn, sign = -turn, -1 if sine else 1
        quarters, rest = divmod(turn, Fraction(1, 2))
        # cos(x + k π/2) for k = 0 … 3 is cos, −sin, −cos, sin; sin x is cos(x − π/2).
        k = (int(quarters) - sine) % 4
        if rest:
            items[PI_KEY] = rest
        return sign * (1, -1, -1, 1)[k], 2 * self._number(Terms(items, argument.peak)) + k % 2

    def multiply(self, a: int, b: int) -> tuple[tuple[Rational, int], ...]:
        """Return pairs (number, wave) whose sum is *twice* the product of two waves, neither of which is 0."""
        known = self._products.get((a, b))
        if known is not None:
            return known
        A, B = self.argument(a), self.argument(b)
        difference, both = add(A, B, -1), add(A, B)
        match a % 2, b % 2:
            case 0, 0:
                parts = ((1, difference, False), (1, both, False))
            case 1, 1:
                parts = ((1, difference, False), (-1, both, False))
            case 1, _:
                parts = ((1, both, True), (1, difference, True))
            case _:
                parts = ((1, both, True), (-1, difference, True))
        made = [(sign, *self.make(argument, sine=sine)) for sign, argument, sine in parts]
        result = tuple((sign * number, wave) for sign, number, wave in made if number)
        self._products[a, b] = result
        return result

    def halves(self, a: int, b: int) -> tuple[Terms, Terms] | None:
        """Return (A + B)/2 and (A − B)/2, or None if they have fractions or are pure numbers; b = 0 means cos 0."""
        A, B = self.argument(a), self.argument(b)
        both, difference = scale(add(A, B), Fraction(1, 2)), scale(add(A, B, -1), Fraction(1, 2))
        for half in (both, difference):
            if any(Fraction(x).denominator != 1 for x in half.items.values()) or set(half.items) == {(0, 0)}:
                return None
        return both, difference

    def _of_turn(self, turn: Fraction) -> tuple[Rational, int]:
        """Return cos(turn × π)."""
        value = cosine_of_turn(turn)
        if value is not None:
            return value, 0
        folded, sign = abs(turn) % 2, 1
        if folded > 1:
            folded = 2 - folded
        if folded > Fraction(1, 2):
            folded, sign = 1 - folded, -1
        return sign, 2 * self._number(Terms({PI_KEY: folded}, 1))

    def _number(self, argument: Terms) -> int:
        frozen = argument.freeze()
        number = self._numbers.get(frozen)
        if number is None:
            number = self._numbers[frozen] = len(self._arguments)
            self._arguments.append(argument)
        return number
