"""Formulas of recorded expressions without simplification, with names for common subexpressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from .formula import (
    MINUS_ONE,
    ONE,
    PI,
    Call,
    Formula,
    Number,
    Power,
    Product,
    Symbol,
    collect_powers,
    product_of,
    sum_of,
)
from .operation_tape import ElementaryOperation, OperationTape
from .trigonometric_sums import exact_number, multiple_of_pi

DEEPEST = 20


class CommonSubexpressions:
    """Nodes for outputs of one tape.

    Attributes:
        definitions: intermediate quantities and their formulas, each in terms of earlier ones.
    """

    def __init__(self, tape: OperationTape, symbols: Sequence[Symbol], name: Callable[[int], Symbol]) -> None:
        """Start without definitions.

        Args:
            tape: recorded expressions.
            symbols: symbols of the tape, in its order.
            name: function that returns the symbol of the k-th intermediate quantity, k from 1.
        """
        self.definitions: list[tuple[Symbol, Formula]] = []
        self._tape = tape
        self._symbols = symbols
        self._name = name
        self._uses = tape.count_uses()
        self._nodes: dict[int, Formula] = {}
        self._depths: dict[int, int] = {}

    def output(self, number: int) -> Formula:
        """Return the output of this number, in terms of the symbols and of :attr:`definitions`."""
        last = self._tape.outputs[number]
        for i in self._needed(last):
            self._write(i, top=i == last)
        return self._nodes[last]

    def _needed(self, last: int) -> list[int]:
        needed: set[int] = set()
        waiting = [last]
        while waiting:
            i = waiting.pop()
            if i not in needed and i not in self._nodes:
                needed.add(i)
                waiting.extend(self._tape.steps[i].operands)
        return sorted(needed)

    def _write(self, i: int, *, top: bool) -> None:
        step = self._tape.steps[i]
        node = self._node(step)
        depth = 1 + max((self._depths[k] for k in step.operands), default=0)
        shared = self._uses[i] > 1 and not (top and self._uses[i] == 2)
        if not _is_short(node) and (shared or depth > DEEPEST):
            symbol = self._name(len(self.definitions) + 1)
            self.definitions.append((symbol, node))
            node, depth = symbol, 1
        self._nodes[i], self._depths[i] = node, depth

    def _node(self, step: ElementaryOperation) -> Formula:
        x = [self._nodes[i] for i in step.operands]
        match step.operation:
            case "CONST":
                return _number(step.value)
            case "INPUT":
                return self._symbols[step.index]
            case "ASSIGN":
                return x[0]
            case "ADD":
                return sum_of(x[0], x[1])
            case "SUB":
                return sum_of(x[0], product_of(MINUS_ONE, x[1]))
            case "NEG":
                return product_of(MINUS_ONE, x[0])
            case "TWICE":
                return product_of(Number(Fraction(2)), x[0])
            case "MUL":
                return _times(x[0], x[1])
            case "DIV":
                return _times(x[0], _power(x[1], Fraction(-1)))
            case "INV":
                return _power(x[0], Fraction(-1))
            case "SQ":
                return _power(x[0], Fraction(2))
            case "SQRT":
                return _power(x[0], Fraction(1, 2))
            case "POW" | "CONSTPOW":
                return _power(x[0], x[1].value) if isinstance(x[1], Number) else Call("POW", (x[0], x[1]))
            case other:
                return Call(other, tuple(x))


def _times(a: Formula, b: Formula) -> Formula:
    factors = [factor for x in (a, b) for factor in (x.factors if isinstance(x, Product) else (x,))]
    return product_of(*collect_powers(factors))


def _is_short(node: Formula) -> bool:
    """True for a number, a symbol, or a number times a symbol, which need no name."""
    match node:
        case Number() | Symbol() | Product((Number(), Symbol())):
            return True
        case _:
            return False


def _number(value: float) -> Formula:
    if not math.isfinite(value):
        mark, latex = ("NaN", r"\mathrm{NaN}") if math.isnan(value) else ("∞", r"\infty")
        sign = "−" if value < 0 else ""
        return Symbol(repr(value), 0, sign + mark, sign.replace("−", "-") + latex)
    turn = multiple_of_pi(value)
    return Number(exact_number(value)) if turn is None else product_of(Number(turn), PI)


def _power(base: Formula, exponent: Fraction) -> Formula:
    if exponent == 0:
        return ONE
    if exponent == 1:
        return base
    if isinstance(base, Number) and exponent.denominator == 1 and abs(exponent) <= DEEPEST and base.value:
        return Number(base.value ** int(exponent))
    if exponent.denominator == 1:
        if isinstance(base, Power) and base.exponent.denominator == 1:
            return _power(base.base, base.exponent * exponent)
        if isinstance(base, Product):
            return product_of(*(_power(factor, exponent) for factor in base.factors))
    return Power(base, exponent)
