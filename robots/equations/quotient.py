"""How a product is written: a sign, what stands above the line, what below."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .tree import Node, Number, Power, Product

FRACTIONS = (2, 3, 4, 6, 8, 12)
"""Denominators that are printed; 9.81 and 0.05 stay decimals."""

LARGEST_PRINTED = 1000
DIGITS = 12


@dataclass(frozen=True)
class Quotient:
    """A product as it is written.

    Attributes:
        negative: whether a minus sign stands in front.
        number: what is above the line, as mantissa and power of ten.
        above: factors above the line, without numbers.
        divisor: an integer below the line.
        below: factors below the line, without numbers.
    """

    negative: bool
    number: tuple[str, int]
    above: tuple[Node, ...]
    divisor: int
    below: tuple[Node, ...]

    @classmethod
    def of(cls, node: Node) -> Quotient:
        """Split any node; what is not a product is one with a single factor."""
        factors = node.factors if isinstance(node, Product) else (node,)
        value = Fraction(1)
        above: list[Node] = []
        below: list[Node] = []
        for factor in factors:
            if isinstance(factor, Number):
                value *= factor.value
            elif isinstance(factor, Power) and factor.exponent < 0:
                below.append(factor.base if factor.exponent == -1 else Power(factor.base, -factor.exponent))
            else:
                above.append(factor)
        number, divisor = _printed(abs(value))
        return cls(value < 0, number, tuple(above), divisor, tuple(below))


def _printed(value: Fraction) -> tuple[tuple[str, int], int]:
    """Mantissa, power of ten and divisor of a number that is not negative."""
    p, q = value.as_integer_ratio()
    simple = q in FRACTIONS or not _terminates(q)
    if (q == 1 or simple) and p < 10**DIGITS and q < LARGEST_PRINTED:
        return (str(p), 0), q
    mantissa, _, power = f"{float(value):.{DIGITS}g}".partition("e")
    return (mantissa, int(power or 0)), 1


def _terminates(denominator: int) -> bool:
    """Whether fractions with this denominator are decimals that come to an end."""
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    return denominator == 1
