"""Sums of cosines and sines back to products, where that is shorter: ½ − ½ cos 2θ → sin² θ."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from .terms import Key, Rational
from .waves import Waves

WaveProduct: TypeAlias = tuple[int, ...]
"""Waves that are multiplied, sorted; one that is squared is there twice."""

MOST = 24
"""Pairs are sought among so many waves with equal numbers: the search is of third order in them."""


def recombine(items: Mapping[Key, Rational], waves: Waves) -> dict[WaveProduct, dict[int, Rational]]:
    """Terms by what waves they hold, then by monomial.

    Two terms of equal monomial and equal absolute value, with waves P and Q whose half sum and half difference have
    integer coefficients, are replaced by one: cos P + cos Q = 2 cos ½(P+Q) cos ½(P−Q), and so on. The condition keeps
    apart what does not belong together, such as cos q₁ + cos(q₁ + q₂).

    Args:
        items: terms in normal form.
        waves: theirs; it gets new ones.
    """
    by_monomial: dict[int, dict[WaveProduct, Rational]] = {}
    for (monomial, wave), number in items.items():
        by_monomial.setdefault(monomial, {})[(wave,) if wave else ()] = number
    result: dict[WaveProduct, dict[int, Rational]] = {}
    for monomial, parts in by_monomial.items():
        while _join_two(parts, waves):
            pass
        for product, number in parts.items():
            factor, opened = _halve(product, waves)
            group = result.setdefault(opened, {})
            group[monomial] = group.get(monomial, 0) + number * factor
    return result


def _halve(product: WaveProduct, waves: Waves) -> tuple[Rational, WaveProduct]:
    """sin 2A as 2 sin A cos A, beside another wave of A."""
    for wave in product:
        halves = waves.halves(wave, 0) if wave % 2 else None
        if halves is None:
            continue
        (x, sine), (y, cosine) = waves.make(halves[0], sine=True), waves.make(halves[0], sine=False)
        others = list(product)
        others.remove(wave)
        if sine in others or cosine in others:
            return 2 * Fraction(x) * y, tuple(sorted([*others, sine, cosine]))
    return 1, product


def _join_two(parts: dict[WaveProduct, Rational], waves: Waves) -> bool:
    alike: dict[Rational, list[WaveProduct]] = {}
    for product in sorted(parts, key=lambda product: (len(product), product)):
        alike.setdefault(max(parts[product], -parts[product]), []).append(product)
    for products in alike.values():
        for first, second in itertools.combinations(products[:MOST], 2):
            a = parts[first]
            joined = _join(first, second, a == parts[second], waves)
            if joined is not None and joined[1] not in parts:
                del parts[first], parts[second]
                parts[joined[1]] = 2 * a * joined[0]
                return True
    return False


def _join(first: WaveProduct, second: WaveProduct, equal: bool, waves: Waves) -> tuple[Rational, WaveProduct] | None:
    """½(first ± second) as number × product of waves; ``first`` is the shorter, ± is the sign of ``equal``."""
    shared: list[int] = []
    rest = list(second)
    for wave in first:
        if wave in rest:
            rest.remove(wave)
            shared.append(wave)
    left = list(first)
    for wave in shared:
        left.remove(wave)
    if len(rest) != 1 or len(left) > 1:
        return None
    # cos 0 stands in for a wave that is missing.
    p, q = left[0] if left else 0, rest[0]
    if p % 2 != q % 2:
        return None
    halves = waves.halves(p, q)
    if halves is None:
        return None
    both, difference = halves
    if p % 2 == 0:
        kinds = (False, False) if equal else (True, True)
        sign = 1 if equal else -1
    else:
        kinds = (True, False) if equal else (False, True)
        sign = 1
    number, one = waves.make(both, sine=kinds[0])
    factor, two = waves.make(difference, sine=kinds[1])
    product = tuple(sorted([*shared, *(wave for wave in (one, two) if wave)]))
    return Fraction(number) * factor * sign, product
