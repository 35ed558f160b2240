"""Which symbols an expression may use."""

from __future__ import annotations

import math
from collections.abc import Mapping

import casadi as ca

from ..symbolic.errors import ModelError
from ..symbolic.parameters import NO_PARAMETERS, Parameters


class OwnSymbols:
    """The symbols of a robot, to which nothing else belongs."""

    def __init__(self, owner: str, symbols: ca.SX) -> None:
        """Keep the symbols.

        Args:
            owner: the robot's name, for messages.
            symbols: all of them, shape (n,).
        """
        self._owner = owner
        self._symbols = symbols

    def require(self, expressions: Mapping[str, ca.SX], parameters: Parameters = NO_PARAMETERS) -> None:
        """Raise ModelError if an expression uses other symbols than these and ``parameters``', or is NaN or infinite.

        Args:
            expressions: by what each is called in the message.
            parameters: further symbols that are allowed.
        """
        allowed = ca.vertsplit(ca.vertcat(self._symbols, parameters.symbols))
        known = {symbol.element_hash() for symbol in allowed}

        def foreign(expression: ca.SX) -> list[str]:
            return sorted({s.name() for s in ca.symvar(expression) if s.element_hash() not in known})

        # All at once is the common case; only where something is wrong, each by itself, to name it.
        whole = ca.vertcat(ca.SX(0, 1), *(ca.vec(ca.densify(e)) for e in expressions.values()))
        if not foreign(whole) and _is_finite(whole):
            return
        for what, expression in expressions.items():
            if not _is_finite(expression):
                raise ModelError(f"{what} of {self._owner} must be finite, got {expression}")
            found = foreign(expression)
            twice = sorted(set(found) & {symbol.name() for symbol in allowed})
            if twice:
                raise ModelError(
                    f"{what} uses {', '.join(twice)}, which {self._owner} does not have: what it has by the same name "
                    "belongs to another robot, curve or field. Build each once, and pass the same object wherever it "
                    "is used"
                )
            if found:
                raise ModelError(
                    f"{what} uses {', '.join(found)}, which {self._owner} does not have (it has "
                    f"{', '.join(symbol.name() for symbol in allowed)}). Symbols of equal name from another robot are "
                    "other symbols; parameters must be declared with parameters="
                )


def _is_finite(expression: ca.SX) -> bool:
    """Whether no entry is a constant that is NaN or infinite."""
    constants = (entry for entry in expression.nonzeros() if entry.is_constant())
    return all(math.isfinite(float(entry)) for entry in constants)
