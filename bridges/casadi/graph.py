"""Expressions as plain lists, and back: every operation the same, none run by CasADi's own reader.

CasADi writes functions down as text, too, but what it reads may name a library, which is then loaded and run: text from
elsewhere is no place for that. Here a file can say nothing but sums, products, sines and the like.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import casadi as ca

from ...symbolic.errors import BridgeError
from .operations import CODES, NAMES, apply

Step = tuple[str, int | float, int]
"""Name and operands: places of values; input and place in it for ``in``; the number for ``number``."""

INPUT, NUMBER = "in", "number"


@dataclass(frozen=True)
class Graph:
    """Values, each from those before it.

    Attributes:
        inputs: how many numbers each input has.
        steps: how each value is made.
        outputs: for each output, the values of its entries, column by column.
    """

    inputs: tuple[int, ...]
    steps: tuple[Step, ...]
    outputs: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, inputs: Sequence[ca.SX], outputs: Sequence[ca.SX]) -> Graph:
        """Write expressions down.

        Args:
            inputs: symbols.
            outputs: expressions in them.

        Raises:
            BridgeError: for an operation that has no name here, such as a call of another function.
        """
        function = ca.Function("graph", [ca.densify(e) for e in inputs], [ca.densify(e) for e in outputs])
        code, source, target = function.instruction_id, function.instruction_input, function.instruction_output
        steps: list[Step] = []
        slots: dict[int, int] = {}
        found = [[0] * function.numel_out(i) for i in range(function.n_out())]
        for k in range(function.n_instructions()):
            operation, (place, *rest) = code(k), target(k)
            if operation == ca.OP_OUTPUT:
                found[place][rest[0]] = slots[source(k)[0]]
            elif operation == ca.OP_ASSIGN:
                slots[place] = slots[source(k)[0]]
            else:
                steps.append(_step(function, k, operation, slots))
                slots[place] = len(steps) - 1
        return cls(tuple(e.numel() for e in inputs), tuple(steps), tuple(map(tuple, found)))

    def build(self, inputs: Sequence[ca.SX]) -> tuple[ca.SX, ...]:
        """The outputs as columns of expressions.

        Args:
            inputs: symbols, of as many numbers as the graph's.
        """
        values: list[ca.SX] = []
        for name, a, b in self.steps:
            if name == INPUT:
                values.append(inputs[int(a)][b])
            elif name == NUMBER:
                values.append(ca.SX(a))
            else:
                values.append(apply(name, values[int(a)], values[b]))
        return tuple(ca.vertcat(ca.SX(0, 1), *(values[k] for k in output)) for output in self.outputs)

    def written(self) -> dict[str, object]:
        """As JSON can hold it."""
        steps = [[name, _number(a)] if name == NUMBER else [name, a, b] for name, a, b in self.steps]
        return {"inputs": list(self.inputs), "steps": steps, "outputs": [list(output) for output in self.outputs]}

    @classmethod
    def read(cls, content: object) -> Graph:
        """What :meth:`written` gave, every part of it checked.

        Args:
            content: as JSON had it.

        Raises:
            BridgeError: for anything else.
        """
        parts = require_dict("the expressions", content)
        inputs = tuple(whole("a size", n, 10**6) for n in require_list("inputs", parts.get("inputs")))
        steps: list[Step] = []
        for entry in require_list("steps", parts.get("steps")):
            steps.append(_read_step(require_list("a step", entry), inputs, len(steps)))
        outputs = tuple(
            tuple(whole("a value", k, len(steps)) for k in require_list("an output", output))
            for output in require_list("outputs", parts.get("outputs"))
        )
        return cls(inputs, tuple(steps), outputs)


def require_dict(what: str, content: object) -> dict[str, object]:
    """What should be an object of JSON; raises BridgeError if it is none.

    Args:
        what: of the file, for the message.
        content: as JSON had it.
    """
    if not isinstance(content, dict):
        raise BridgeError(f"{what} should be an object, got {_short(content)}")
    return cast(dict[str, object], content)


def require_list(what: str, content: object) -> list[object]:
    """What should be a list; raises BridgeError if it is none.

    Args:
        what: of the file, for the message.
        content: as JSON had it.
    """
    if not isinstance(content, list):
        raise BridgeError(f"{what} should be a list, got {_short(content)}")
    return cast(list[object], content)


def whole(what: str, content: object, below: int) -> int:
    """A whole number from 0 on; raises BridgeError if it is none.

    Args:
        what: of the file, for the message.
        content: as JSON had it.
        below: it must be less than this.
    """
    if not isinstance(content, int) or isinstance(content, bool) or not 0 <= content < below:
        raise BridgeError(f"{what} should be a whole number from 0 to {below - 1}, got {_short(content)}")
    return content


def _step(function: ca.Function, k: int, operation: int, slots: dict[int, int]) -> Step:
    if operation == ca.OP_INPUT:
        where = function.instruction_input(k)
        return INPUT, where[0], where[1]
    if operation == ca.OP_CONST:
        return NUMBER, function.instruction_constant(k), 0
    if operation not in NAMES:
        raise BridgeError(
            f"the expressions hold an operation (number {operation} of CasADi) that has no place in a file: write them "
            "with CasADi's scalar operations, without calls of other functions"
        )
    operands = function.instruction_input(k)
    return NAMES[operation], slots[operands[0]], slots[operands[-1]]


def _read_step(entry: list[object], inputs: tuple[int, ...], known: int) -> Step:
    name = entry[0] if entry else None
    if name == NUMBER and len(entry) == 2:
        return NUMBER, _float(entry[1]), 0
    if name == INPUT and len(entry) == 3:
        number = whole("the number of an input", entry[1], len(inputs))
        return INPUT, number, whole("a place in an input", entry[2], inputs[number])
    if not isinstance(name, str) or name not in CODES or len(entry) != 3:
        raise BridgeError(f"step {known} is none that is known here: {_short(entry)}")
    return name, whole("an operand", entry[1], known), whole("an operand", entry[2], known)


def _number(value: int | float) -> float | str:
    """JSON has no infinity."""
    return value if math.isfinite(value) else repr(value)


def _float(content: object) -> float:
    if isinstance(content, str) and content in ("inf", "-inf", "nan"):
        return float(content)
    if not isinstance(content, int | float) or isinstance(content, bool):
        raise BridgeError(f"a constant should be a number, got {_short(content)}")
    return float(content)


def _short(content: object) -> str:
    text = repr(content)
    return text if len(text) <= 60 else f"{text[:60]}…"
