"""Numbers inside expressions."""

from __future__ import annotations

import math
from collections.abc import Mapping

import casadi as ca

from .errors import ModelError


def require_finite_constants(owner: str, expressions: Mapping[str, ca.SX]) -> None:
    """Raise ModelError for a NaN or an infinity written into an expression.

    Args:
        owner: whose expressions, for the message.
        expressions: by name.
    """
    for name, expression in expressions.items():
        function = ca.Function("constants", ca.symvar(expression), [ca.densify(expression)])
        for k in range(function.n_instructions()):
            if function.instruction_id(k) == ca.OP_CONST:
                number = float(function.instruction_constant(k))
                if not math.isfinite(number):
                    raise ModelError(f"{owner}: {name} contains {number}: only finite numbers can be computed with")
