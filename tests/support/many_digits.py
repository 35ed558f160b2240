"""Expressions evaluated with as many digits as wanted: an identity that holds to fifty of them is no luck."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca

from erugin.robots.equations.operation_tape import OperationTape, record_operations

mp: Any = importlib.import_module("mpmath")
"""Without types, and so imported by name."""
DIGITS = 60
Number = Any
"""An mpmath number, whose package has no types."""

OPERATIONS: Mapping[str, Callable[..., Number]] = {
    "ADD": lambda a, b: a + b,
    "SUB": lambda a, b: a - b,
    "MUL": lambda a, b: a * b,
    "DIV": lambda a, b: a / b,
    "NEG": lambda a: -a,
    "EXP": mp.exp,
    "LOG": mp.log,
    "POW": lambda a, b: a**b,
    "CONSTPOW": lambda a, b: a**b,
    "SQRT": mp.sqrt,
    "SQ": lambda a: a * a,
    "TWICE": lambda a: 2 * a,
    "SIN": mp.sin,
    "COS": mp.cos,
    "ATAN": mp.atan,
    "ATAN2": mp.atan2,
    "TANH": mp.tanh,
    "LT": lambda a, b: mp.mpf(a < b),
    "LE": lambda a, b: mp.mpf(a <= b),
    "EQ": lambda a, b: mp.mpf(a == b),
    "NE": lambda a, b: mp.mpf(a != b),
    "NOT": lambda a: mp.mpf(a == 0),
    "AND": lambda a, b: mp.mpf(a != 0 and b != 0),
    "OR": lambda a, b: mp.mpf(a != 0 or b != 0),
    "FLOOR": mp.floor,
    "FABS": abs,
    "SIGN": mp.sign,
    "IF_ELSE_ZERO": lambda a, b: b if a != 0 else mp.mpf(0),
    "FMIN": min,
    "FMAX": max,
    "INV": lambda a: 1 / a,
    "HYPOT": mp.hypot,
    "LOG1P": mp.log1p,
    "EXPM1": mp.expm1,
}


TINY = 1e-9
"""Constants up to this only keep 0/0 out; no length, speed or rate is that small."""


class ManyDigits:
    """Expressions of some symbols, to be evaluated with 60 digits; without tiny constants unless they are kept."""

    def __init__(self, symbols: ca.SX, outputs: Mapping[str, ca.SX], *, keep_tiny: bool = False) -> None:
        self.least = 0.0 if keep_tiny else TINY
        self.shapes = {key: expression.shape for key, expression in outputs.items()}
        self.tape: OperationTape = record_operations(
            [ca.densify(expression) for expression in outputs.values()], symbols
        )

    def __call__(self, values: Sequence[Number]) -> dict[str, Number]:
        """An mpmath matrix per output."""
        numbers: list[Number] = []
        with mp.workdps(DIGITS):
            for step in self.tape.steps:
                if step.operation == "CONST":
                    numbers.append(mp.mpf(step.value if abs(step.value) > self.least else 0.0))
                elif step.operation == "INPUT":
                    numbers.append(mp.mpf(values[step.index]))
                else:
                    numbers.append(OPERATIONS[step.operation](*(numbers[k] for k in step.operands)))
        entries = iter([numbers[k] for k in self.tape.outputs])
        found: dict[str, Number] = {}
        for key, (rows, columns) in self.shapes.items():
            matrix = mp.matrix(rows, columns)
            for j in range(columns):
                for i in range(rows):
                    matrix[i, j] = next(entries)
            found[key] = matrix
        return found
