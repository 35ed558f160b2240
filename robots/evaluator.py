"""Numerical values of expressions in a robot's symbols, with cached kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.errors import ModelError, ShapeError
from ..symbolic.kernel import Kernel
from ..symbolic.parameters import NO_PARAMETERS, Parameters
from ..symbolic.validation import vector


class SymbolScope:
    """All symbols that expressions of a robot may use."""

    def __init__(self, owner: str, symbols: ca.SX) -> None:
        """Store the symbols.

        Args:
            owner: the robot's name, for messages.
            symbols: all of them, shape (n,).
        """
        self._owner = owner
        self._symbols = symbols

    def require(self, expressions: Mapping[str, ca.SX], parameters: Parameters = NO_PARAMETERS) -> None:
        """Raise ModelError if an expression uses symbols other than these and ``parameters``', or is NaN or infinite.

        Args:
            expressions: expressions to check, by their name in the message.
            parameters: additional symbols that are allowed.
        """
        allowed = ca.vertsplit(ca.vertcat(self._symbols, parameters.symbols))
        known = {symbol.element_hash() for symbol in allowed}

        def foreign(expression: ca.SX) -> list[str]:
            return sorted({s.name() for s in ca.symvar(expression) if s.element_hash() not in known})

        # All at once first, which usually succeeds; one by one only to name the faulty expression.
        whole = ca.vertcat(ca.SX(0, 1), *(ca.vec(ca.densify(e)) for e in expressions.values()))
        if not foreign(whole) and _is_finite(whole):
            return
        for what, expression in expressions.items():
            if not _is_finite(expression):
                raise ModelError(f"{what} of {self._owner} must be finite, got {expression}")
            unknown = foreign(expression)
            namesakes = sorted(set(unknown) & {symbol.name() for symbol in allowed})
            if namesakes:
                raise ModelError(
                    f"{what} uses {', '.join(namesakes)}, which {self._owner} does not have: its own symbols of that "
                    "name are different objects, so these belong to another robot, curve or field. Build each once, "
                    "and pass the same object wherever it is used"
                )
            if unknown:
                raise ModelError(
                    f"{what} uses {', '.join(unknown)}, which {self._owner} does not have (it has "
                    f"{', '.join(symbol.name() for symbol in allowed)}). Symbols of the same name from another robot "
                    "are different symbols; parameters must be declared with parameters="
                )


def _is_finite(expression: ca.SX) -> bool:
    """True if no entry is a constant that is NaN or infinite."""
    constants = (entry for entry in expression.nonzeros() if entry.is_constant())
    return all(math.isfinite(float(entry)) for entry in constants)


MAX_KERNELS = 32
"""Number of kernels that a robot caches between calls of ``evaluate``."""


class Evaluator:
    """Implementation of :meth:`Robot.evaluate` and :meth:`CanonicalForm.evaluate`."""

    def __init__(self, symbols: Mapping[str, ca.SX], parameters: Parameters, own: SymbolScope | None = None) -> None:
        """Start without kernels.

        Args:
            symbols: time, the arguments without nominal values, and the parameters, by name, in this order.
            parameters: the same parameters, with their nominal values.
            own: symbols that an expression may use; None if the caller checks them.
        """
        self._symbols = dict(symbols)
        self._parameters = parameters
        self._own = own
        self._kernels: dict[tuple[object, ...], tuple[ca.SX, Kernel, frozenset[str]]] = {}

    def __reduce__(self) -> tuple[type[Evaluator], tuple[object, ...]]:
        """Rebuild a copy without kernels."""
        return Evaluator, (self._symbols, self._parameters, self._own)

    def __call__(
        self,
        expression: ca.SX,
        t: float,
        given: Sequence[ArrayLike | None],
        p: Mapping[str, float] | ArrayLike | None,
    ) -> NDArray[np.float64]:
        """Evaluate an expression; arguments that it does not depend on may be None."""
        kernel, used = self._kernel(expression)
        values: list[NDArray[np.float64]] = []
        for (name, symbol), value in zip(list(self._symbols.items())[1:-1], given, strict=True):
            if value is None:
                if ca.depends_on(expression, symbol):
                    raise ShapeError(f"the expression depends on {name}: pass {name}=, shape ({symbol.numel()},)")
                values.append(np.zeros(symbol.numel()))
            else:
                values.append(vector(name, value, symbol.numel()))
        time = float(vector("t", [t], 1)[0])
        if p is None or isinstance(p, Mapping):
            # A parameter that the expression does not use needs no value.
            unused = set(self._parameters.names) - set(self._parameters.nominal) - used
            p = {**dict.fromkeys(unused, 1.0), **(p or {})}
        numbers = self._parameters.values(p)
        return kernel(time, *values, numbers)[0]

    def _kernel(self, expression: ca.SX) -> tuple[Kernel, frozenset[str]]:
        """Return the kernel of an expression, and the names of the symbols in it."""
        # An SX can be changed in place, so its elements are the key; the copy keeps their nodes, and hashes, alive.
        entries = ca.vec(ca.densify(expression))
        key = (expression.shape, *(entries[i].element_hash() for i in range(entries.numel())))
        cached = self._kernels.get(key)
        if cached is None:
            # Other threads may add and remove kernels meanwhile, so iterate over a copy.
            for oldest in list(self._kernels)[: max(0, len(self._kernels) - MAX_KERNELS + 1)]:
                self._kernels.pop(oldest, None)
            if self._own is not None:
                self._own.require({"the expression": expression})
            kernel = Kernel("evaluate", self._symbols, {"value": expression}, compiled=False)
            cached = ca.SX(expression), kernel, frozenset(symbol.name() for symbol in ca.symvar(expression))
            self._kernels[key] = cached
        return cached[1:]
