"""Formulas as Unicode text, with products split into a sign, a numerator and a denominator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from .formula import Call, Formula, Number, Power, Product, Sum, Symbol, is_negative

FRACTIONS = (2, 3, 4, 6, 8, 12)
"""Denominators that are printed as fractions; 9.81 and 0.05 stay decimals."""

LARGEST_PRINTED = 1000
DIGITS = 12


@dataclass(frozen=True)
class Quotient:
    """A product as a printed fraction.

    Attributes:
        negative: True for a leading minus sign.
        number: number in the numerator, as mantissa and power of ten.
        above: factors of the numerator, without numbers.
        divisor: integer in the denominator.
        below: factors of the denominator, without numbers.
    """

    negative: bool
    number: tuple[str, int]
    above: tuple[Formula, ...]
    divisor: int
    below: tuple[Formula, ...]

    @classmethod
    def of(cls, node: Formula) -> Quotient:
        """Split any node; anything but a product counts as a single factor."""
        factors = node.factors if isinstance(node, Product) else (node,)
        value = Fraction(1)
        above: list[Formula] = []
        below: list[Formula] = []
        for factor in factors:
            if isinstance(factor, Number):
                value *= factor.value
            elif isinstance(factor, Power) and factor.exponent < 0:
                below.append(factor.base if factor.exponent == -1 else Power(factor.base, -factor.exponent))
            else:
                above.append(factor)
        number, divisor = _decimal(abs(value))
        return cls(value < 0, number, tuple(above), divisor, tuple(below))


def _decimal(value: Fraction) -> tuple[tuple[str, int], int]:
    """Return mantissa, power of ten and divisor of a nonnegative number."""
    p, q = value.as_integer_ratio()
    simple = q in FRACTIONS or not _terminates(q)
    if (q == 1 or simple) and p < 10**DIGITS and q < LARGEST_PRINTED:
        return (str(p), 0), q
    mantissa, _, power = f"{float(value):.{DIGITS}g}".partition("e")
    return (mantissa, int(power or 0)), 1


def _terminates(denominator: int) -> bool:
    """True if fractions with this denominator are finite decimals."""
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    return denominator == 1


SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")

NAMES: Mapping[str, str] = {
    "ASIN": "arcsin",
    "ACOS": "arccos",
    "ATAN": "arctan",
    "ASINH": "arsinh",
    "ACOSH": "arcosh",
    "ATANH": "artanh",
    "LOG": "ln",
    "FMIN": "min",
    "FMAX": "max",
    "FMOD": "mod",
}
"""Functions whose printed name differs from CasADi's name in lower case."""

RELATIONS: Mapping[str, str] = {"LT": "<", "LE": "≤", "EQ": "=", "NE": "≠", "AND": "∧", "OR": "∨"}
BRACKETS: Mapping[str, tuple[str, str]] = {"FABS": ("|", "|"), "FLOOR": ("⌊", "⌋"), "CEIL": ("⌈", "⌉")}
RAISED = frozenset({"SIN", "COS", "TAN", "SINH", "COSH", "TANH"})
"""Functions whose powers are printed as sin² x."""


def text(node: Formula) -> str:
    """Return ``node`` as text: l₁² (m₂ + m₁ n₁²)."""
    if isinstance(node, Call):
        return _call(node)
    signed = [(is_negative(term), unsigned_text(term)) for term in summands(node)]
    first = "−" if signed[0][0] else ""
    return first + signed[0][1] + "".join(f" {'−' if negative else '+'} {term}" for negative, term in signed[1:])


def summands(node: Formula) -> tuple[Formula, ...]:
    """Return the terms of a sum; anything else is a single term."""
    return node.terms if isinstance(node, Sum) else (node,)


def unsigned_text(term: Formula) -> str:
    """Return a summand without its sign."""
    if isinstance(term, Sum):
        return f"({text(term)})"
    quotient = Quotient.of(term)
    mantissa, power = quotient.number
    above = [_factor(x) for x in quotient.above]
    if power:
        mantissa = f"{mantissa}·10{str(power).translate(SUPERSCRIPTS)}"
    if mantissa != "1" or not above:
        above.insert(0, mantissa)
    below = [str(quotient.divisor)] * (quotient.divisor != 1) + [_factor(x) for x in quotient.below]
    if not below:
        return _joined(above)
    divisor = _joined(below)
    simple = len(below) == 1 and (quotient.divisor != 1 or isinstance(quotient.below[0], Symbol | Call | Sum | Power))
    return f"{_joined(above)}/{divisor if simple else f'({divisor})'}"


def _joined(factors: list[str]) -> str:
    result = factors[0]
    for factor in factors[1:]:
        result += f" · {factor}" if factor[0] in "0123456789" else f" {factor}"
    return result


def _factor(node: Formula) -> str:
    """Return a factor of a product, in parentheses if necessary."""
    match node:
        case Sum() | Product():
            return f"({text(node)})"
        case Number():
            return f"({text(node)})" if node.value < 0 else text(node)
        case Symbol():
            return node.text
        case Power():
            return _power(node)
        case Call():
            return f"({_call(node)})" if node.function in RELATIONS else _call(node)


def _power(node: Power) -> str:
    base, exponent = node.base, node.exponent
    if exponent == Fraction(1, 2):
        return f"√{base.text}" if isinstance(base, Symbol) else f"√({text(base)})"
    if exponent.denominator != 1 or exponent < 0:
        return f"{_base(base)}^({exponent})"
    raised = str(exponent.numerator).translate(SUPERSCRIPTS)
    if isinstance(base, Call) and base.function in RAISED:
        return f"{base.function.lower()}{raised}({text(base.arguments[0])})"
    return _base(base) + raised


def _base(node: Formula) -> str:
    atomic = isinstance(node, Symbol) or (isinstance(node, Call) and node.function in BRACKETS)
    return _factor(node) if atomic else f"({text(node)})"


def _call(node: Call) -> str:
    arguments = [text(x) for x in node.arguments]
    if node.function == "PI":
        return "π"
    if node.function in BRACKETS:
        left, right = BRACKETS[node.function]
        return f"{left}{arguments[0]}{right}"
    if node.function in RELATIONS:
        one, two = (_factor(x) if isinstance(x, Call) else text(x) for x in node.arguments)
        return f"{one} {RELATIONS[node.function]} {two}"
    if node.function == "NOT":
        return f"¬({arguments[0]})"
    if node.function == "IF_ELSE_ZERO":
        return f"[{arguments[0]}] ({arguments[1]})"
    if node.function == "POW":
        return f"{_base(node.arguments[0])}^({arguments[1]})"
    return f"{NAMES.get(node.function, node.function.lower())}({', '.join(arguments)})"
