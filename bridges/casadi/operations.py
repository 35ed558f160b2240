"""Operations of expressions by names that stay the same when CasADi numbers them anew."""

from __future__ import annotations

import casadi as ca

UNARY = (
    *("neg", "exp", "log", "sqrt", "sq", "twice", "sin", "cos", "tan", "asin", "acos", "atan", "not", "floor", "ceil"),
    *("fabs", "sign", "erf", "inv", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erfinv", "log1p", "expm1"),
)
BINARY = (
    *("add", "sub", "mul", "div", "pow", "constpow", "lt", "le", "eq", "ne", "and", "or", "fmod", "copysign"),
    *("if_else_zero", "fmin", "fmax", "atan2", "hypot", "remainder"),
)

CODES: dict[str, int] = {name: int(getattr(ca, f"OP_{name.upper()}")) for name in (*UNARY, *BINARY)}
"""CasADi's number of each operation."""

NAMES = {code: name for name, code in CODES.items()}


def apply(name: str, first: ca.SX, second: ca.SX) -> ca.SX:
    """One operation.

    Args:
        name: one of ``CODES``.
        first: operand.
        second: operand; of no meaning to an operation of one.
    """
    return ca.SX.unary(CODES[name], first) if name in UNARY else ca.SX.binary(CODES[name], first, second)
