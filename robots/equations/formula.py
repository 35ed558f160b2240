"""Printable formulas: sums, products, powers and functions of named symbols, with numerical evaluation."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
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
        text: form in text, such as ``φ̈₁``.
        latex: form in LaTeX, such as ``\ddot{\varphi}_{1}``.
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

    terms: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """A product.

    Attributes:
        factors: at least two; a number is the first.
    """

    factors: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Power:
    """A power with a constant exponent.

    Attributes:
        base: base of the power.
        exponent: exponent, other than 0 and 1.
    """

    base: Formula
    exponent: Fraction


@dataclass(frozen=True, slots=True)
class Call:
    """A function of arguments.

    Attributes:
        function: CasADi's name, such as ``"SIN"``; ``"PI"`` has no arguments.
        arguments: arguments of the function.
    """

    function: str
    arguments: tuple[Formula, ...]


Formula: TypeAlias = Number | Symbol | Sum | Product | Power | Call

ZERO = Number(Fraction(0))
ONE = Number(Fraction(1))
MINUS_ONE = Number(Fraction(-1))
PI = Call("PI", ())


def product_of(*factors: Formula) -> Formula:
    """Return the product of ``factors``, with nested products flattened and numbers multiplied at the front."""
    number = Fraction(1)
    rest: list[Formula] = []
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


def sum_of(*terms: Formula) -> Formula:
    """Return the sum of ``terms``, with nested sums flattened and zeros left out."""
    flat = [part for term in terms for part in (term.terms if isinstance(term, Sum) else (term,)) if part != ZERO]
    if not flat:
        return ZERO
    return flat[0] if len(flat) == 1 else Sum(tuple(flat))


def collect_powers(factors: Sequence[Formula]) -> list[Formula]:
    """Combine adjacent factors with the same base, other than numbers, to one power."""
    result: list[Formula] = []
    for base, group in itertools.groupby(map(_base_and_exponent, factors), key=operator.itemgetter(0)):
        exponents = [exponent for _, exponent in group]
        if isinstance(base, Number):
            result += [base] * len(exponents)
        elif sum(exponents) == 1:
            result.append(base)
        elif sum(exponents) != 0:
            result.append(Power(base, Fraction(sum(exponents))))
    return result


def _base_and_exponent(node: Formula) -> tuple[Formula, Fraction]:
    return (node.base, node.exponent) if isinstance(node, Power) else (node, Fraction(1))


def is_negative(node: Formula) -> bool:
    """True if it is printed with a leading minus sign."""
    if isinstance(node, Product):
        return is_negative(node.factors[0])
    return isinstance(node, Number) and node.value < 0


def symbols_in(node: Formula) -> set[Symbol]:
    """Return all symbols in ``node``."""
    match node:
        case Symbol():
            return {node}
        case Number():
            return set()
        case Power():
            return symbols_in(node.base)
        case Sum():
            parts = node.terms
        case Product():
            parts = node.factors
        case Call():
            parts = node.arguments
    return set[Symbol]().union(*(symbols_in(part) for part in parts))


def _sign(x: float) -> float:
    return (x > 0.0) - (x < 0.0)


def _erfinv(x: float) -> float:
    from scipy.special import erfinv

    return float(erfinv(x))


def _negation(x: float) -> float:
    return x == 0.0


def _conjunction(x: float, y: float) -> float:
    return x != 0.0 and y != 0.0


def _disjunction(x: float, y: float) -> float:
    return x != 0.0 or y != 0.0


def _where(condition: float, x: float) -> float:
    return x if condition != 0.0 else 0.0


def _pi() -> float:
    return math.pi


FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "PI": _pi,
    "SIN": math.sin,
    "COS": math.cos,
    "TAN": math.tan,
    "ASIN": math.asin,
    "ACOS": math.acos,
    "ATAN": math.atan,
    "ATAN2": math.atan2,
    "SINH": math.sinh,
    "COSH": math.cosh,
    "TANH": math.tanh,
    "ASINH": math.asinh,
    "ACOSH": math.acosh,
    "ATANH": math.atanh,
    "EXP": math.exp,
    "EXPM1": math.expm1,
    "LOG": math.log,
    "LOG1P": math.log1p,
    "ERF": math.erf,
    "ERFINV": _erfinv,
    "FABS": math.fabs,
    "SIGN": _sign,
    "FLOOR": math.floor,
    "CEIL": math.ceil,
    "FMIN": min,
    "FMAX": max,
    "FMOD": math.fmod,
    "REMAINDER": math.remainder,
    "COPYSIGN": math.copysign,
    "HYPOT": math.hypot,
    "POW": math.pow,
    "LT": operator.lt,
    "LE": operator.le,
    "EQ": operator.eq,
    "NE": operator.ne,
    "NOT": _negation,
    "AND": _conjunction,
    "OR": _disjunction,
    "IF_ELSE_ZERO": _where,
}
"""Numerical versions of CasADi's functions, by their names."""


def evaluate(node: Formula, values: Mapping[tuple[str, int], float]) -> float:
    """Evaluate ``node``; NaN if a function is undefined or overflows.

    Args:
        node: formula to evaluate.
        values: value of each symbol by (name, order).

    Raises:
        KeyError: for a symbol without a value, or an unknown function.
    """
    try:
        match node:
            case Number():
                return float(node.value)
            case Symbol():
                return values[node.name, node.order]
            case Sum():
                return math.fsum(evaluate(term, values) for term in node.terms)
            case Product():
                return math.prod(evaluate(factor, values) for factor in node.factors)
            case Power():
                exponent = int(node.exponent) if node.exponent.denominator == 1 else float(node.exponent)
                return math.pow(evaluate(node.base, values), exponent)
            case Call():
                return float(FUNCTIONS[node.function](*(evaluate(x, values) for x in node.arguments)))
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan
