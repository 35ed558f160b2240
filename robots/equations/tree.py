"""What is printed: sums, products, powers and functions of named symbols."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Number:
    """An exact number.

    Attributes:
        value: its value.
    """

    value: Fraction


@dataclass(frozen=True, slots=True)
class Symbol:
    r"""A named quantity or a derivative of it with respect to time.

    Attributes:
        name: as in the code, such as ``"phi1"``.
        order: number of derivatives, 0 to 2.
        text: how it looks in text, such as ``φ̈₁``.
        latex: how it looks in LaTeX, such as ``\ddot{\varphi}_{1}``.
    """

    name: str
    order: int
    text: str
    latex: str


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum.

    Attributes:
        terms: at least two.
    """

    terms: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """A product.

    Attributes:
        factors: at least two; a number, if there is one, is the first.
    """

    factors: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Power:
    """A power with a constant exponent.

    Attributes:
        base: what is raised.
        exponent: other than 0 and 1.
    """

    base: Node
    exponent: Fraction


@dataclass(frozen=True, slots=True)
class Call:
    """A function of arguments.

    Attributes:
        function: CasADi's name, such as ``"SIN"``; ``"PI"`` has no arguments.
        arguments: what it is a function of.
    """

    function: str
    arguments: tuple[Node, ...]


Node: TypeAlias = Number | Symbol | Sum | Product | Power | Call

ZERO = Number(Fraction(0))
ONE = Number(Fraction(1))
MINUS_ONE = Number(Fraction(-1))
PI = Call("PI", ())


def product(*factors: Node) -> Node:
    """Product of ``factors``, with products inside it opened and numbers multiplied together at the front."""
    number = Fraction(1)
    rest: list[Node] = []
    for factor in factors:
        for part in factor.factors if isinstance(factor, Product) else (factor,):
            if isinstance(part, Number):
                number *= part.value
            else:
                rest.append(part)
    if number == 0 or not rest:
        return Number(number)
    if number != 1:
        rest.insert(0, Number(number))
    return rest[0] if len(rest) == 1 else Product(tuple(rest))


def total(*terms: Node) -> Node:
    """Sum of ``terms``, with sums inside it opened and zeros left out."""
    flat = [part for term in terms for part in (term.terms if isinstance(term, Sum) else (term,)) if part != ZERO]
    if not flat:
        return ZERO
    return flat[0] if len(flat) == 1 else Sum(tuple(flat))


def powers(factors: Sequence[Node]) -> list[Node]:
    """Neighbours with the same base, other than numbers, as one power."""
    result: list[Node] = []
    for base, group in itertools.groupby(map(_base_and_exponent, factors), key=operator.itemgetter(0)):
        exponents = [exponent for _, exponent in group]
        if isinstance(base, Number):
            result += [base] * len(exponents)
        elif sum(exponents) == 1:
            result.append(base)
        elif sum(exponents) != 0:
            result.append(Power(base, Fraction(sum(exponents))))
    return result


def _base_and_exponent(node: Node) -> tuple[Node, Fraction]:
    return (node.base, node.exponent) if isinstance(node, Power) else (node, Fraction(1))


def is_negative(node: Node) -> bool:
    """Whether a minus sign stands in front of it."""
    if isinstance(node, Product):
        return is_negative(node.factors[0])
    return isinstance(node, Number) and node.value < 0


def symbols_of(node: Node) -> set[Symbol]:
    """Every symbol in ``node``."""
    match node:
        case Symbol():
            return {node}
        case Number():
            return set()
        case Power():
            return symbols_of(node.base)
        case Sum():
            parts = node.terms
        case Product():
            parts = node.factors
        case Call():
            parts = node.arguments
    return set[Symbol]().union(*(symbols_of(part) for part in parts))
