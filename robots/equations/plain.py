"""Recorded expressions as they stand, with names for what occurs more than once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from .constants import exact, multiple_of_pi
from .tape import Step, Tape
from .tree import MINUS_ONE, ONE, PI, Call, Node, Number, Power, Product, Symbol, powers, product, total

DEEPEST = 20


class Plain:
    """Nodes for outputs of one tape.

    Attributes:
        definitions: intermediate quantities and what they stand for, each in terms of earlier ones.
    """

    def __init__(self, tape: Tape, symbols: Sequence[Symbol], name: Callable[[int], Symbol]) -> None:
        """Begin without any definition.

        Args:
            tape: recorded expressions.
            symbols: those of the tape, in its order.
            name: gives the k-th intermediate quantity its symbol, k from 1.
        """
        self.definitions: list[tuple[Symbol, Node]] = []
        self._tape = tape
        self._symbols = symbols
        self._name = name
        self._uses = tape.count_uses()
        self._nodes: dict[int, Node] = {}
        self._depths: dict[int, int] = {}

    def output(self, number: int) -> Node:
        """The output of this number, in terms of the symbols and of :attr:`definitions`."""
        last = self._tape.outputs[number]
        for i in self._needed(last):
            self._write(i, top=i == last)
        return self._nodes[last]

    def _needed(self, last: int) -> list[int]:
        found: set[int] = set()
        waiting = [last]
        while waiting:
            i = waiting.pop()
            if i not in found and i not in self._nodes:
                found.add(i)
                waiting.extend(self._tape.steps[i].operands)
        return sorted(found)

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

    def _node(self, step: Step) -> Node:
        x = [self._nodes[i] for i in step.operands]
        match step.operation:
            case "CONST":
                return _number(step.value)
            case "INPUT":
                return self._symbols[step.index]
            case "ASSIGN":
                return x[0]
            case "ADD":
                return total(x[0], x[1])
            case "SUB":
                return total(x[0], product(MINUS_ONE, x[1]))
            case "NEG":
                return product(MINUS_ONE, x[0])
            case "TWICE":
                return product(Number(Fraction(2)), x[0])
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


def _times(a: Node, b: Node) -> Node:
    factors = [factor for x in (a, b) for factor in (x.factors if isinstance(x, Product) else (x,))]
    return product(*powers(factors))


def _is_short(node: Node) -> bool:
    """A number, a symbol, or a number times a symbol: not worth a name."""
    match node:
        case Number() | Symbol() | Product((Number(), Symbol())):
            return True
        case _:
            return False


def _number(value: float) -> Node:
    if not math.isfinite(value):
        mark, latex = ("NaN", r"\mathrm{NaN}") if math.isnan(value) else ("∞", r"\infty")
        sign = "−" if value < 0 else ""
        return Symbol(repr(value), 0, sign + mark, sign.replace("−", "-") + latex)
    turn = multiple_of_pi(value)
    return Number(exact(value)) if turn is None else product(Number(turn), PI)


def _power(base: Node, exponent: Fraction) -> Node:
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
            return product(*(_power(factor, exponent) for factor in base.factors))
    return Power(base, exponent)
