"""Sums of terms, number × monomial × wave, and what can be done with them without knowing what they stand for."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

Rational: TypeAlias = int | Fraction
Key: TypeAlias = tuple[int, int]
"""A monomial and a wave. Wave 0 is the number 1, wave 2k is cos and 2k + 1 is sin of argument k."""
Frozen: TypeAlias = tuple[tuple[Key, Rational], ...]

# A monomial is one integer, Σ exponent × 2^(WIDTH × atom), so that monomials are multiplied by adding two integers.
WIDTH = 16
HIGHEST = 2 ** (WIDTH - 2)
"""No exponent may go beyond it, so that the fields of a monomial never overflow into one another."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A sum of terms.

    Attributes:
        items: the numbers, none of them zero, by monomial and wave.
        peak: no exponent is greater than it in absolute value.
    """

    items: Mapping[Key, Rational]
    peak: int

    @property
    def is_number(self) -> bool:
        """Whether there are neither monomials nor waves."""
        return not self.items or (len(self.items) == 1 and (0, 0) in self.items)

    @property
    def number(self) -> Rational:
        """The term without monomial and wave."""
        return self.items.get((0, 0), 0)

    def freeze(self) -> Frozen:
        """The terms in an order that depends on nothing but themselves."""
        return tuple(sorted(self.items.items()))


def constant(value: Rational) -> Terms:
    """A number as a sum of at most one term."""
    return Terms({(0, 0): value} if value else {}, 0)


def single(monomial: int, wave: int = 0, number: Rational = 1) -> Terms:
    """A sum of one term."""
    return Terms({(monomial, wave): number}, max((abs(e) for _, e in exponents(monomial)), default=0))


def pack(atom: int, exponent: int = 1) -> int:
    """The monomial atom^exponent."""
    return exponent << (WIDTH * atom)


@functools.lru_cache(maxsize=100_000)
def exponents(monomial: int) -> tuple[tuple[int, int], ...]:
    """Pairs of atom and exponent, by atom; exponents may be negative."""
    found: list[tuple[int, int]] = []
    while monomial:
        atom = ((monomial & -monomial).bit_length() - 1) // WIDTH
        exponent = (monomial >> (WIDTH * atom)) & (2**WIDTH - 1)
        if exponent >= 2 ** (WIDTH - 1):
            exponent -= 2**WIDTH
        found.append((atom, exponent))
        monomial -= exponent << (WIDTH * atom)
    return tuple(found)


def add(a: Terms, b: Terms, factor: Rational = 1) -> Terms:
    """a + factor b."""
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
    """Factor a."""
    if factor == 0:
        return constant(0)
    return Terms({key: factor * number for key, number in a.items.items()}, a.peak)


def lead(items: Iterable[Key]) -> Key:
    """The key that decides about signs: lowest atoms first, the pure number last."""
    return min(items, key=lambda key: (key == (0, 0), exponents(key[0]), key[1]))


def common_monomial(monomials: Iterable[int]) -> int:
    """Greatest common divisor: of each atom the lowest exponent, counting as 0 where it does not occur."""
    lists = [dict(exponents(m)) for m in monomials]
    atoms = sorted(set[int]().union(*lists))
    return sum(pack(atom, min(found.get(atom, 0) for found in lists)) for atom in atoms)


def common_number(numbers: Iterable[Rational]) -> Fraction:
    """Greatest rational number of which all are integer multiples; positive."""
    fractions = [Fraction(x) for x in numbers]
    return Fraction(math.gcd(*(x.numerator for x in fractions)), math.lcm(*(x.denominator for x in fractions)))
