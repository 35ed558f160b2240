"""Total derivatives of expressions in which some parts have rates that are known better than by differentiating."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

RateOf = Callable[[ca.SX], ca.SX | None]
"""From a scalar expression to its total derivative with respect to time; None for one that is not known."""


@dataclass(frozen=True, eq=False)
class Cut:
    """An expression with symbols in the places of the parts whose rates are known.

    Attributes:
        expression: with the symbols.
        symbols: one for each part, shape (k,).
        parts: what they stand for, shape (k,).
        rates: total derivatives of the parts, shape (k,).
    """

    expression: ca.SX
    symbols: ca.SX
    parts: ca.SX
    rates: ca.SX

    @classmethod
    def of(cls, expression: ca.SX, rate_of: RateOf) -> Cut:
        """Look for the outermost parts whose rates are known.

        Args:
            expression: any shape.
            rate_of: tells the rates.
        """
        cutter = _Cutter(rate_of)
        entries = [cutter.cut(x) for x in expression.nonzeros()]
        result = ca.SX(expression)
        if cutter.found:
            result = ca.SX(expression.sparsity(), ca.vertcat(*entries))
        empty = ca.SX(0, 1)
        columns = zip(*cutter.found, strict=True) if cutter.found else ((), (), ())
        symbols, parts, rates = (ca.vertcat(empty, *column) for column in columns)
        return cls(result, symbols, parts, rates)


class _Cutter:
    """A walk over the graph of an expression from its end, which rebuilds what lies above the parts."""

    def __init__(self, rate_of: RateOf) -> None:
        self.found: list[tuple[ca.SX, ca.SX, ca.SX]] = []
        self._rate_of = rate_of
        self._made: dict[int, ca.SX] = {}
        # A hash is that of an element as long as it lives.
        self._alive: list[ca.SX] = []

    def cut(self, whole: ca.SX) -> ca.SX:
        """The scalar ``whole`` with symbols in it."""
        waiting = [whole]
        while waiting:
            element = waiting[-1]
            key = element.element_hash()
            if key in self._made or self._ends(element, key):
                waiting.pop()
                continue
            operands = [element.dep(i) for i in range(element.n_dep())]
            missing = [x for x in operands if x.element_hash() not in self._made]
            if missing:
                waiting += missing
                continue
            self._keep(element, key, self._rebuilt(element, operands))
            waiting.pop()
        return self._made[whole.element_hash()]

    def _ends(self, element: ca.SX, key: int) -> bool:
        """Whether nothing below an element is looked at."""
        if element.is_constant() or element.is_symbolic() or element.n_dep() not in (1, 2):
            self._keep(element, key, element)
            return True
        rate = self._rate_of(element)
        if rate is None:
            return False
        symbol = ca.SX.sym(f"part{len(self.found)}")
        self.found.append((symbol, element, rate))
        self._keep(element, key, symbol)
        return True

    def _rebuilt(self, element: ca.SX, operands: list[ca.SX]) -> ca.SX:
        made = [self._made[x.element_hash()] for x in operands]
        if all(new.element_hash() == old.element_hash() for new, old in zip(made, operands, strict=True)):
            return element
        return ca.SX.unary(element.op(), made[0]) if len(made) == 1 else ca.SX.binary(element.op(), *made)

    def _keep(self, element: ca.SX, key: int, made: ca.SX) -> None:
        self._alive.append(element)
        self._made[key] = made
