"""Expressions as a list of elementary operations, each using the results of earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

# fmt: off
NAMES = (
    "ASSIGN", "ADD", "SUB", "MUL", "DIV", "NEG", "EXP", "LOG", "POW", "CONSTPOW", "SQRT", "SQ", "TWICE",
    "SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "LT", "LE", "EQ", "NE", "NOT", "AND", "OR", "FLOOR", "CEIL",
    "FMOD", "FABS", "SIGN", "COPYSIGN", "IF_ELSE_ZERO", "ERF", "FMIN", "FMAX", "INV", "SINH", "COSH", "TANH",
    "ASINH", "ACOSH", "ATANH", "ATAN2", "CONST", "INPUT", "OUTPUT", "ERFINV", "LOG1P", "EXPM1", "HYPOT",
    "REMAINDER",
)
# fmt: on
# The codes differ between releases of CasADi, and older ones lack the last names.
OPERATIONS: dict[int, str] = {int(getattr(ca, f"OP_{name}")): name for name in NAMES if hasattr(ca, f"OP_{name}")}


@dataclass(frozen=True, slots=True)
class ElementaryOperation:
    """One elementary operation.

    Attributes:
        operation: CasADi's name of it, such as ``"MUL"``; ``"CONST"`` and ``"INPUT"`` have no operands.
        operands: numbers of the steps whose results are the operands.
        value: value of a constant; zero otherwise.
        index: index of a symbol; zero otherwise.
    """

    operation: str
    operands: tuple[int, ...]
    value: float = 0.0
    index: int = 0


@dataclass(frozen=True)
class OperationTape:
    """Steps in an order in which they can be executed.

    Attributes:
        steps: the steps.
        outputs: number of the step that computes each entry of the recorded expression, column by column.
    """

    steps: tuple[ElementaryOperation, ...]
    outputs: tuple[int, ...]

    def count_uses(self) -> list[int]:
        """Count the uses of each step's result, including outputs."""
        uses = [0] * len(self.steps)
        for step in self.steps:
            for operand in step.operands:
                uses[operand] += 1
        for output in self.outputs:
            uses[output] += 1
        return uses


def record_operations(expressions: Sequence[ca.SX], symbols: ca.SX) -> OperationTape:
    """Record the operations that compute all entries of ``expressions`` from ``symbols``.

    A list needs no recursion, however deep the expressions are, and contains shared subexpressions once.

    Args:
        expressions: expressions of any shapes.
        symbols: all symbols that they use, shape (n,), to which ``ElementaryOperation.index`` refers.
    """
    entries = ca.densify(ca.vertcat(ca.SX(0, 1), *(ca.vec(ca.densify(e)) for e in expressions)))
    function = ca.Function("tape", [symbols], [entries])
    steps: list[ElementaryOperation] = []
    outputs = [0] * entries.numel()
    step_of_cell: dict[int, int] = {}
    for k in range(function.n_instructions()):
        code = function.instruction_id(k)
        operation = OPERATIONS.get(code, f"operation {code}")
        sources, targets = function.instruction_input(k), function.instruction_output(k)
        if operation == "OUTPUT":
            outputs[targets[1]] = step_of_cell[sources[0]]
            continue
        if operation == "INPUT":
            step = ElementaryOperation(operation, (), index=sources[1])
        elif operation == "CONST":
            step = ElementaryOperation(operation, (), value=function.instruction_constant(k))
        else:
            step = ElementaryOperation(operation, tuple(step_of_cell[i] for i in sources))
        for cell in targets:
            step_of_cell[cell] = len(steps)
        steps.append(step)
    return OperationTape(tuple(steps), tuple(outputs))
