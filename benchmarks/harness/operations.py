"""Scalar operations of a function, by kind."""

from __future__ import annotations

import casadi as ca

KINDS = {
    "±": (ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_TWICE),
    "×": (ca.OP_MUL, ca.OP_SQ),
    "÷": (ca.OP_DIV, ca.OP_INV),
    "√": (ca.OP_SQRT,),
    "sin, cos": (ca.OP_SIN, ca.OP_COS),
}
MOVED = (ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST, ca.OP_PARAMETER)
"""What computes nothing."""


def operations(function: ca.Function) -> dict[str, int]:
    """Number of operations of each kind, the rest as ``other``.

    Args:
        function: of SX expressions.
    """
    names = {code: kind for kind, codes in KINDS.items() for code in codes}
    found = dict.fromkeys((*KINDS, "other"), 0)
    for k in range(function.n_instructions()):
        code = function.instruction_id(k)
        if code not in MOVED:
            found[names.get(code, "other")] += 1
    return found
