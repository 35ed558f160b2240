"""Sums in denominators, where they divide what stands above them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TypeAlias

from .ring import Ring
from .terms import Key, Rational, Terms, add, exponents, pack

Items: TypeAlias = dict[Key, Rational]

MOST = 200
"""Terms that a quotient may have."""


def cancel(ring: Ring, terms: Terms) -> Terms:
    """``terms`` with (x² − y²)/(x − y) replaced by x + y, for every sum in a denominator.

    Of each power of the denominator, the terms over it are divided as polynomials; what does not divide is left. No
    exponent of the quotient is lower than the lowest above the line, nor higher than the difference of the highest.

    Args:
        ring: theirs.
        terms: in normal form.
    """
    groups = {a for m, _ in terms.items for a, e in exponents(m) if e < 0 and ring.atoms[a].function == "GROUP"}
    for atom in sorted(groups):
        divisor = ring.thaw(ring.atoms[atom].arguments[0])
        power = min(dict(exponents(m)).get(atom, 0) for m, _ in terms.items) if terms.items else 0
        while power < 0:
            over = {(m, w): x for (m, w), x in terms.items.items() if dict(exponents(m)).get(atom, 0) == power}
            quotient = _divide({(m - pack(atom, power), w): x for (m, w), x in over.items()}, divisor)
            if quotient is None:
                break
            rest = {key: x for key, x in terms.items.items() if key not in over}
            power += 1
            above = {(m + pack(atom, power), w): x for (m, w), x in quotient.items()}
            terms = add(Terms(rest, terms.peak), Terms(above, terms.peak))
    return terms


def _divide(items: Items, divisor: Terms) -> Items | None:
    """The exact quotient, or None; with cosines and sines in the divisor only a quotient of one term is found."""
    pure = all(wave == 0 for _, wave in divisor.items)
    last_wave, last = max((wave, m) for m, wave in divisor.items)
    top = _degrees(m for m, _ in divisor.items)
    box = {atom: (low, high - top.get(atom, (0, 0))[1]) for atom, (low, high) in _degrees(m for m, _ in items).items()}
    quotient: Items = {}
    rest = dict(items)
    # In the order of the packed integers, which adding a monomial keeps, each step removes the last term for good.
    for _ in range(MOST if pure else 1):
        if not rest:
            break
        wave, m = max((wave, m) for m, wave in rest)
        shift, number = m - last, Fraction(rest[m, wave]) / divisor.items[last, last_wave]
        powers = dict(exponents(shift))
        inside = all(low <= powers.get(atom, 0) <= high for atom, (low, high) in box.items())
        if not inside or not powers.keys() <= box.keys() or (not pure and wave != last_wave):
            return None
        quotient[shift, wave if pure else 0] = number
        for (n, t), x in divisor.items.items():
            key = (n + shift, wave if pure else t)
            value = rest.get(key, 0) - number * x
            if value:
                rest[key] = value
            else:
                rest.pop(key, None)
    return None if rest else quotient


def _degrees(monomials: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Lowest and highest exponent of each atom; where an atom does not occur it counts as 0."""
    lists = [dict(exponents(m)) for m in monomials]
    atoms = set[int]().union(*lists)
    return {a: (min(found.get(a, 0) for found in lists), max(found.get(a, 0) for found in lists)) for a in atoms}
