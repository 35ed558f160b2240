"""Operations of expressions as C99 text."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from ...symbolic.code.operations import CALLED as LIBRARY

WRITTEN: Mapping[int, str] = {
    ca.OP_ADD: "{0} + {1}",
    ca.OP_SUB: "{0} - {1}",
    ca.OP_MUL: "{0}*{1}",
    ca.OP_DIV: "{0}/{1}",
    ca.OP_NEG: "-{0}",
    ca.OP_SQ: "{0}*{0}",
    ca.OP_TWICE: "{0} + {0}",
    ca.OP_INV: "1.0/{0}",
    ca.OP_SIGN: "{0} < 0.0 ? -1.0 : ({0} > 0.0 ? 1.0 : {0})",
    ca.OP_LT: "(double)({0} < {1})",
    ca.OP_LE: "(double)({0} <= {1})",
    ca.OP_EQ: "(double)({0} == {1})",
    ca.OP_NE: "(double)({0} != {1})",
    ca.OP_NOT: "(double)({0} == 0.0)",
    ca.OP_AND: "(double)({0} != 0.0 && {1} != 0.0)",
    ca.OP_OR: "(double)({0} != 0.0 || {1} != 0.0)",
    ca.OP_IF_ELSE_ZERO: "{0} != 0.0 ? {1} : 0.0",
}
"""Operations that are written out, each rounded as CasADi's own evaluation rounds it."""

CALLED: Mapping[int, tuple[str, int]] = {
    **LIBRARY,
    ca.OP_SIN: ("sin", 1),
    ca.OP_COS: ("cos", 1),
    ca.OP_SQRT: ("sqrt", 1),
    ca.OP_FABS: ("fabs", 1),
    ca.OP_COPYSIGN: ("copysign", 2),
    ca.OP_FMIN: ("fmin", 2),
    ca.OP_FMAX: ("fmax", 2),
}
"""Operations that are functions of C99's ``math.h``, and how many operands each has."""


def operation_name(operation: int) -> str:
    """What CasADi calls an operation.

    Args:
        operation: its code.
    """
    return next((word for word in dir(ca) if word.startswith("OP_") and getattr(ca, word) == operation), str(operation))


def number(value: float) -> str:
    """A C99 constant with every bit of a double, in parentheses where it has a sign.

    Args:
        value: any.
    """
    if value != value:
        return "(double)NAN"
    if value in (float("inf"), float("-inf")):
        return "(double)INFINITY" if value > 0 else "(-(double)INFINITY)"
    # Whole numbers of few digits are exact in decimal too, and can be read.
    text = repr(value) if value == round(value) and abs(value) < 1e6 else value.hex()
    return f"({text})" if text.startswith("-") else text
