"""Numerical values of nodes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

from .tree import Call, Node, Number, Power, Product, Sum, Symbol


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
"""What CasADi's functions do to numbers, by its names for them."""


def evaluate(node: Node, values: Mapping[tuple[str, int], float]) -> float:
    """Value of ``node``; NaN where a function is not defined or overflows.

    Args:
        node: what to evaluate.
        values: number of each symbol by (name, order).

    Raises:
        KeyError: for a symbol without a value, or a function that is not known.
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
