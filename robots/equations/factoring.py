"""Factored formulas from normal forms: common factors, and products of cosines and sines if they are shorter."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from .formula import (
    MINUS_ONE,
    ONE,
    PI,
    Call,
    Formula,
    Number,
    Power,
    Product,
    Sum,
    Symbol,
    collect_powers,
    is_negative,
    product_of,
    sum_of,
    symbols_in,
)
from .ring import Ring
from .text import FRACTIONS, text
from .trigonometric_sums import Key, Rational, Terms, Waves, common_number, exponents, pack

WaveProduct: TypeAlias = tuple[int, ...]
"""Factors of a product of waves, sorted; a squared wave occurs twice."""

MAX_WAVES = 24
"""Largest number of waves with equal numbers among which pairs are searched: the search is cubic in it."""


def recombine(items: Mapping[Key, Rational], waves: Waves) -> dict[WaveProduct, dict[int, Rational]]:
    """Group terms by their waves, then by monomial.

    Two terms of equal monomial and equal absolute value, with waves P and Q whose half sum and half difference have
    integer coefficients, are replaced by one: cos P + cos Q = 2 cos ½(P+Q) cos ½(P−Q), and so on. The condition avoids
    unnatural products, as for cos q₁ + cos(q₁ + q₂).

    Args:
        items: terms in normal form.
        waves: waves of the terms; new ones are added.
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
    """Replace sin 2A by 2 sin A cos A if another wave of A is a factor."""
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
        for first, second in itertools.combinations(products[:MAX_WAVES], 2):
            a = parts[first]
            joined = _join(first, second, a == parts[second], waves)
            if joined is not None and joined[1] not in parts:
                del parts[first], parts[second]
                parts[joined[1]] = 2 * a * joined[0]
                return True
    return False


def _join(first: WaveProduct, second: WaveProduct, equal: bool, waves: Waves) -> tuple[Rational, WaveProduct] | None:
    """Return ½(first ± second) as number × product of waves; ``first`` is the shorter, ± is the sign of ``equal``."""
    shared: list[int] = []
    rest = list(second)
    for wave in first:
        if wave in rest:
            rest.remove(wave)
            shared.append(wave)
    own = list(first)
    for wave in shared:
        own.remove(wave)
    if len(rest) != 1 or len(own) > 1:
        return None
    # A missing wave is cos 0.
    p, q = own[0] if own else 0, rest[0]
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


Polynomial: TypeAlias = Mapping[int, Rational]
AtomRank: TypeAlias = tuple[int, str, int, str, int]
WaveRank: TypeAlias = tuple[int, list["MonomialRank"], list[float], int]
MonomialRank: TypeAlias = tuple[int, list[tuple[AtomRank, int]]]


class Factoring:
    """Conversion of normal forms of one ring to formulas."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._ranks: dict[int, AtomRank] = {}
        self._nodes: dict[int, Formula] = {}
        self._waves: dict[int, Formula] = {}

    def expression(self, terms: Terms) -> Formula:
        """Return one formula, with common factors of all terms in front: l₁ l₂ (m₂ cos … + m₃ cos …)."""
        groups = recombine(terms.items, self._ring.waves)
        if len(groups) > 1:
            entries = [(m, x) for polynomial in groups.values() for m, x in polynomial.items()]
            number, monomial = _content(x for _, x in entries), _common_factor([m for m, _ in entries])
            inside = {w: {m - monomial: Fraction(x) / number for m, x in p.items()} for w, p in groups.items()}
            return product_of(Number(number), self._monomial(monomial), sum_of(*_positive_first(self._parts(inside))))
        return sum_of(*self._parts(groups))

    def parts(self, terms: Terms) -> list[Formula]:
        """Return the summands: one for each cosine, sine or product of them, and those without."""
        return self._parts(recombine(terms.items, self._ring.waves))

    def _parts(self, groups: Mapping[WaveProduct, Polynomial]) -> list[Formula]:
        ranked = {tuple(sorted(waves, key=self._wave_rank)): polynomial for waves, polynomial in groups.items()}
        parts: list[Formula] = []
        for waves in sorted(ranked, key=lambda waves: (len(waves), [self._wave_rank(w) for w in waves])):
            node = product_of(self._factored(ranked[waves]), *collect_powers([self._wave(w) for w in waves]))
            parts.extend(_summands_of(node))
        return parts

    def _factored(self, polynomial: Polynomial) -> Formula:
        """Extract the content, then repeatedly the monomial whose extraction saves most symbols."""
        monomials = list(polynomial)
        number, monomial = _content(polynomial.values()), _common_factor(monomials)
        rest = {m - monomial: Fraction(x) / number for m, x in polynomial.items()}
        outside = product_of(Number(number), self._monomial(monomial))
        if len(rest) == 1:
            ((_, one),) = rest.items()
            return product_of(Number(one), outside)
        summands: list[tuple[MonomialRank, Formula]] = []
        while rest:
            chosen = _best_group(rest)
            inner = {m: rest.pop(m) for m in chosen}
            node = self._factored(inner)
            summands.append((min(self._monomial_rank(m) for m in inner), node))
        summands.sort(key=lambda pair: pair[0])
        return product_of(outside, sum_of(*_positive_first([node for _, node in summands])))

    def _monomial(self, monomial: int) -> Formula:
        factors = sorted(exponents(monomial), key=lambda pair: self._atom_rank(pair[0]))
        grown: list[Formula] = []
        nodes: list[Formula] = []
        for atom, exponent in factors:
            kind = self._ring.atoms[atom]
            if kind.function == "EXP":
                # e^x e^y is printed as e^(x + y).
                (((key, part),),) = kind.arguments
                grown.append(self.expression(Terms({key: part * exponent}, 1)))
                continue
            power = Fraction(exponent, kind.degree)
            base = self._atom(atom)
            nodes.append(base if power == 1 else Power(base, power))
        if grown:
            nodes.append(Call("EXP", (sum_of(*_positive_first(grown)),)))
        return product_of(ONE, *nodes)

    def _atom(self, number: int) -> Formula:
        node = self._nodes.get(number)
        if node is None:
            kind = self._ring.atoms[number]
            if kind.symbol is not None:
                node = kind.symbol
            elif kind.function == "PI":
                node = PI
            else:
                arguments = tuple(self.expression(self._ring.thaw(a)) for a in kind.arguments)
                node = arguments[0] if kind.function in ("GROUP", "ROOT") else Call(kind.function, arguments)
            self._nodes[number] = node
        return node

    def _wave(self, wave: int) -> Formula:
        node = self._waves.get(wave)
        if node is None:
            argument = self.expression(self._ring.waves.argument(wave))
            if isinstance(argument, Sum):
                # A phase is printed last: x + π/3.
                argument = Sum(tuple(sorted(argument.terms, key=lambda term: not symbols_in(term))))
            node = self._waves[wave] = Call("SIN" if wave % 2 else "COS", (argument,))
        return node

    def _wave_rank(self, wave: int) -> WaveRank:
        """Return a sort key: short arguments first, then by name, then by number, the cosine before the sine."""
        argument = self._ring.waves.argument(wave).items
        terms = sorted(((self._monomial_rank(m), float(x)) for (m, _), x in argument.items()))
        return (len(terms), [rank for rank, _ in terms], [x for _, x in terms], wave % 2)

    def _monomial_rank(self, monomial: int) -> MonomialRank:
        """Return a sort key: short monomials first, then by name."""
        pairs = exponents(monomial)
        return (sum(abs(e) for _, e in pairs), sorted((self._atom_rank(atom), -e) for atom, e in pairs))

    def _atom_rank(self, atom: int) -> AtomRank:
        """Return a sort key: π, then symbols by letter and number, then derivatives, then functions."""
        rank = self._ranks.get(atom)
        if rank is None:
            kind = self._ring.atoms[atom]
            if kind.symbol is not None:
                rank = (1 + kind.symbol.order, *name_rank(kind.symbol), atom)
            else:
                rank = (0, "", 0, "", atom) if kind.function == "PI" else (4, text(self._atom(atom)), 0, "", atom)
            self._ranks[atom] = rank
        return rank


def name_rank(symbol: Symbol) -> tuple[str, int, str]:
    """Return a sort key: letters regardless of case, then the number, then the rest: l1, l2, l10, M1, m2."""
    match = re.match(r"(\D*)(\d*)(.*)", symbol.name, re.DOTALL)
    letters, digits, rest = match.groups() if match else (symbol.name, "", "")
    return letters.lower(), int(digits or 0), f"{rest}{letters}"


def _content(numbers: Iterable[Rational]) -> Fraction:
    """Return the number to extract from a sum; negative if all numbers are.

    It is the greatest common divisor of integers, and of fractions with the same small denominator. Decimals are not
    changed, unless all are small multiples of one of them, such as 9.81 and 19.62.
    """
    values = [Fraction(x) for x in numbers]
    sizes = [abs(x) for x in values]
    common, denominators = common_number(sizes), {x.denominator for x in sizes}
    multiples = common == min(sizes) and max(sizes) <= 4 * common and 1 not in denominators
    alike = len(denominators) == 1 and denominators < {1, *FRACTIONS}
    content = common if multiples or alike else Fraction(1)
    return -content if all(x < 0 for x in values) else content


def _common_factor(monomials: Sequence[int]) -> int:
    """Return the common monomial of a sum: of each atom the common power, if its sign is the same in all terms."""
    lists = [dict(exponents(m)) for m in monomials]
    result = 0
    for atom in set(lists[0]).intersection(*lists[1:]):
        degrees = [powers[atom] for powers in lists]
        if min(degrees) > 0:
            result += pack(atom, min(degrees))
        elif max(degrees) < 0:
            result += pack(atom, max(degrees))
    return result


def _best_group(polynomial: Polynomial) -> list[int]:
    """Return monomials with a common factor whose extraction saves most symbols; by default only the first."""
    holders: dict[int, list[int]] = {}
    for m in polynomial:
        for atom, exponent in exponents(m):
            if exponent > 0:
                holders.setdefault(atom, []).append(m)
    best, saved = [next(iter(polynomial))], 0
    for monomials in holders.values():
        if len(monomials) < 2:
            continue
        degree = sum(abs(e) for _, e in exponents(_common_factor(monomials)))
        if (len(monomials) - 1) * degree > saved:
            best, saved = monomials, (len(monomials) - 1) * degree
    return best


def _summands_of(node: Formula) -> tuple[Formula, ...]:
    """Return the summands of a + b and of −(a + b)."""
    if isinstance(node, Sum):
        return node.terms
    if isinstance(node, Product) and len(node.factors) == 2:
        number, rest = node.factors
        if number == MINUS_ONE and isinstance(rest, Sum):
            return tuple(product_of(MINUS_ONE, term) for term in rest.terms)
    return (node,)


def _positive_first(nodes: Sequence[Formula]) -> list[Formula]:
    """Keep the order, unless the first is negative: then move negative ones to the end."""
    return sorted(nodes, key=is_negative) if is_negative(nodes[0]) else list(nodes)
