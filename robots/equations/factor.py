"""Normal form → what is printed: common factors taken out, in an order that a reader expects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from .quotient import FRACTIONS
from .recombine import WaveProduct, recombine
from .ring import Ring
from .terms import Rational, Terms, common_number, exponents, pack
from .text import text
from .tree import (
    MINUS_ONE,
    ONE,
    PI,
    Call,
    Node,
    Number,
    Power,
    Product,
    Sum,
    Symbol,
    is_negative,
    powers,
    product,
    symbols_of,
    total,
)

Polynomial: TypeAlias = Mapping[int, Rational]
AtomRank: TypeAlias = tuple[int, str, int, str, int]
WaveRank: TypeAlias = tuple[int, list["MonomialRank"], list[float], int]
MonomialRank: TypeAlias = tuple[int, list[tuple[AtomRank, int]]]


class Factoring:
    """Turns normal forms of one ring into nodes."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._ranks: dict[int, AtomRank] = {}
        self._nodes: dict[int, Node] = {}
        self._waves: dict[int, Node] = {}

    def expression(self, terms: Terms) -> Node:
        """Everything as one node, with what is common to all terms in front: l₁ l₂ (m₂ cos … + m₃ cos …)."""
        groups = recombine(terms.items, self._ring.waves)
        if len(groups) > 1:
            entries = [(m, x) for polynomial in groups.values() for m, x in polynomial.items()]
            number, monomial = _content(x for _, x in entries), _common_factor([m for m, _ in entries])
            inside = {w: {m - monomial: Fraction(x) / number for m, x in p.items()} for w, p in groups.items()}
            return product(Number(number), self._monomial(monomial), total(*_positive_first(self._parts(inside))))
        return total(*self._parts(groups))

    def parts(self, terms: Terms) -> list[Node]:
        """Summands, one for each cosine or sine (or product of them) and some for all that has none."""
        return self._parts(recombine(terms.items, self._ring.waves))

    def _parts(self, groups: Mapping[WaveProduct, Polynomial]) -> list[Node]:
        ranked = {tuple(sorted(waves, key=self._wave_rank)): polynomial for waves, polynomial in groups.items()}
        found: list[Node] = []
        for waves in sorted(ranked, key=lambda waves: (len(waves), [self._wave_rank(w) for w in waves])):
            node = product(self._factored(ranked[waves]), *powers([self._wave(w) for w in waves]))
            found.extend(_opened(node))
        return found

    def _factored(self, polynomial: Polynomial) -> Node:
        """Content, then step by step the monomial whose extraction saves most symbols."""
        monomials = list(polynomial)
        number, monomial = _content(polynomial.values()), _common_factor(monomials)
        rest = {m - monomial: Fraction(x) / number for m, x in polynomial.items()}
        outside = product(Number(number), self._monomial(monomial))
        if len(rest) == 1:
            ((_, one),) = rest.items()
            return product(Number(one), outside)
        summands: list[tuple[MonomialRank, Node]] = []
        while rest:
            chosen = _best_group(rest)
            inner = {m: rest.pop(m) for m in chosen}
            node = self._factored(inner)
            summands.append((min(self._monomial_rank(m) for m in inner), node))
        summands.sort(key=lambda pair: pair[0])
        return product(outside, total(*_positive_first([node for _, node in summands])))

    def _monomial(self, monomial: int) -> Node:
        factors = sorted(exponents(monomial), key=lambda pair: self._atom_rank(pair[0]))
        grown: list[Node] = []
        nodes: list[Node] = []
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
            nodes.append(Call("EXP", (total(*_positive_first(grown)),)))
        return product(ONE, *nodes)

    def _atom(self, number: int) -> Node:
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

    def _wave(self, wave: int) -> Node:
        node = self._waves.get(wave)
        if node is None:
            argument = self.expression(self._ring.waves.argument(wave))
            if isinstance(argument, Sum):
                # A phase stands behind what it is added to: x + π/3.
                argument = Sum(tuple(sorted(argument.terms, key=lambda term: not symbols_of(term))))
            node = self._waves[wave] = Call("SIN" if wave % 2 else "COS", (argument,))
        return node

    def _wave_rank(self, wave: int) -> WaveRank:
        """Short arguments first, then by name, then by number, the cosine before the sine."""
        argument = self._ring.waves.argument(wave).items
        terms = sorted(((self._monomial_rank(m), float(x)) for (m, _), x in argument.items()))
        return (len(terms), [rank for rank, _ in terms], [x for _, x in terms], wave % 2)

    def _monomial_rank(self, monomial: int) -> MonomialRank:
        """Short monomials first, then by name."""
        pairs = exponents(monomial)
        return (sum(abs(e) for _, e in pairs), sorted((self._atom_rank(atom), -e) for atom, e in pairs))

    def _atom_rank(self, atom: int) -> AtomRank:
        """π, then symbols by letter and number, then derivatives, then functions."""
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
    """Letters regardless of case, then the number, then the rest: l1, l2, l10, M1, m2."""
    match = re.match(r"(\D*)(\d*)(.*)", symbol.name, re.DOTALL)
    letters, digits, rest = match.groups() if match else (symbol.name, "", "")
    return letters.lower(), int(digits or 0), f"{rest}{letters}"


def _content(numbers: Iterable[Rational]) -> Fraction:
    """A number worth taking out of a sum; it is negative if all are.

    The greatest common divisor of integers, and of fractions with the same small denominator. Typed decimals are
    left as they are, unless all are small multiples of one of them, such as 9.81 and 19.62.
    """
    values = [Fraction(x) for x in numbers]
    sizes = [abs(x) for x in values]
    common, denominators = common_number(sizes), {x.denominator for x in sizes}
    multiples = common == min(sizes) and max(sizes) <= 4 * common and 1 not in denominators
    alike = len(denominators) == 1 and denominators < {1, *FRACTIONS}
    content = common if multiples or alike else Fraction(1)
    return -content if all(x < 0 for x in values) else content


def _common_factor(monomials: Sequence[int]) -> int:
    """What to take out of a sum: of each atom the power in all terms, if it is above or below the line in all."""
    lists = [dict(exponents(m)) for m in monomials]
    result = 0
    for atom in set(lists[0]).intersection(*lists[1:]):
        powers = [found[atom] for found in lists]
        if min(powers) > 0:
            result += pack(atom, min(powers))
        elif max(powers) < 0:
            result += pack(atom, max(powers))
    return result


def _best_group(polynomial: Polynomial) -> list[int]:
    """Monomials with a common factor whose extraction saves most symbols; the first alone if there are none."""
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


def _opened(node: Node) -> tuple[Node, ...]:
    """The summands of a + b and of −(a + b)."""
    if isinstance(node, Sum):
        return node.terms
    if isinstance(node, Product) and len(node.factors) == 2:
        number, rest = node.factors
        if number == MINUS_ONE and isinstance(rest, Sum):
            return tuple(product(MINUS_ONE, term) for term in rest.terms)
    return (node,)


def _positive_first(nodes: Sequence[Node]) -> list[Node]:
    """The same order, unless a minus sign is at its front: then the negative ones come last."""
    return sorted(nodes, key=is_negative) if is_negative(nodes[0]) else list(nodes)
