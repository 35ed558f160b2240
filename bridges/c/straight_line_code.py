"""Expressions as plain C99: straight-line code of doubles that a compiler for any machine takes.

What is written for this machine (:mod:`erugin.symbolic.codegen`) uses vectors and words of GCC. Here is the text for
others: no extension of the language, no library but ``math.h``, no memory but what the caller gives, no loop, no
branch but in comparisons, so that the work is the same at every call.

:func:`c_source` makes ``static void name(const double *const *in, double *const *out, double *w)``:

- ``in[i]`` points to the numbers of the i-th input, column by column, and ``out[k]`` to room for those of the k-th
  output; an empty one may be NULL. No output may overlap an input or another output.
- ``w`` points to room for ``CSource.work`` doubles, which need no initial values; it holds what waits between pieces.
- The file needs ``#include <math.h>`` before it. Several such functions can stand in one file.

Each operation is rounded as CasADi's own evaluation rounds it: with the same ``math.h`` the numbers are the same to
the last bit, as long as the compiler contracts no a*b + c into one operation (:data:`PREAMBLE`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import casadi as ca

from ...symbolic.codegen import Tape
from ...symbolic.codegen.tape import CONSTANT, INPUT
from ...symbolic.errors import BridgeError, ModelError
from .syntax import FUNCTIONS, OPERATORS, number, operation_name

CHUNK_SIZE = 400
"""Operations in one C function: the time of compilation grows with the length of all, not with its square; and C99
promises 511 names in a block."""

PREAMBLE = """\
#include <math.h>

/* a*b + c is rounded twice, as it is written. GCC does so with -std=c99 and does not know the line. */
#if defined(__clang__) || !defined(__GNUC__)
#pragma STDC FP_CONTRACT OFF
#endif
"""
"""What a file of such functions begins with."""


@dataclass(frozen=True)
class CSource:
    """C99 text of one function.

    Attributes:
        name: of the C function.
        text: its definition, and before it the pieces that it calls, ``name_0``, ``name_1``, ….
        work: doubles that its last argument must have room for; at least 1.
        operations: how many operations a call takes, always the same.
        counts: how often a call takes each function of ``math.h``, and a division (``"/"``).
        inputs: how many numbers each input has, in order.
        outputs: the same of each output.
    """

    name: str
    text: str
    work: int
    operations: int
    counts: Mapping[str, int]
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]

    @property
    def calls(self) -> frozenset[str]:
        """Names of the functions of ``math.h`` that it calls."""
        return frozenset(self.counts) - {"/"}


def c_source(name: str, inputs: Mapping[str, ca.SX], outputs: Mapping[str, ca.SX]) -> CSource:
    """Write expressions as C99.

    Args:
        name: of the C function, a C identifier.
        inputs: symbols by name, of any shape; read column by column.
        outputs: expressions in these symbols by name, of any shape; written column by column.

    Raises:
        BridgeError: for an input that is no symbol, an expression with a symbol that is not among the inputs, or with
            an operation that C99's library does not have.
    """
    for key, symbol in inputs.items():
        if not symbol.is_valid_input():
            raise BridgeError(f"input {key!r} of {name} must consist of symbols, got {symbol}")
    function = ca.Function(
        "f",
        [ca.densify(symbol) for symbol in inputs.values()],
        [ca.densify(expression) for expression in outputs.values()],
        {"allow_free": True},
    )
    try:
        tape = Tape.of(function)
    except ModelError as error:
        raise BridgeError(f"{name} cannot be written as C: {error}") from error
    sizes_in = {key: symbol.numel() for key, symbol in inputs.items()}
    sizes_out = {key: expression.numel() for key, expression in outputs.items()}
    return _ExpressionWriter(name, tape).write(sizes_in, sizes_out)


class _ExpressionWriter:
    """One tape on its way to C."""

    def __init__(self, name: str, tape: Tape) -> None:
        """Cut the tape into pieces, and find room for what outlives its piece.

        Args:
            name: of the C function.
            tape: what it computes.
        """
        self.name, self.tape = name, tape
        self.results: dict[int, list[str]] = {}
        for i, output in enumerate(tape.outputs):
            for k, value in enumerate(output):
                self.results.setdefault(value, []).append(f"out[{i}][{k}]")
        done = [k for k, entry in enumerate(tape.entries) if entry[0] not in (INPUT, CONSTANT)]
        self.pieces = [done[first : first + CHUNK_SIZE] for first in range(0, len(done), CHUNK_SIZE)]
        self.places: dict[int, int] = {}
        self.room = 0
        self._place()

    def _place(self) -> None:
        entries = self.tape.entries
        last: dict[int, int] = {}
        for i, piece in enumerate(self.pieces):
            for k in piece:
                _, a, b = entries[k]
                last[int(a)] = last[b] = i
        free: list[int] = []
        leaving: dict[int, list[int]] = {}
        for i, piece in enumerate(self.pieces):
            for k in piece:
                if last.get(k, i) > i:
                    if not free:
                        free.append(self.room)
                        self.room += 1
                    self.places[k] = free.pop()
                    leaving.setdefault(last[k], []).append(self.places[k])
            # Not before: what the piece still reads must not be overwritten in it.
            free += leaving.pop(i, [])

    def write(self, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> CSource:
        """The text and what is to be said of it.

        Args:
            inputs: how many numbers each has.
            outputs: likewise.
        """
        entries = self.tape.entries
        arguments = "(const double *const *in, double *const *out, double *w)"
        unused = "    (void)in;\n    (void)out;\n    (void)w;\n"
        texts: list[str] = []
        for i, piece in enumerate(self.pieces):
            body = "".join(f"    {line}\n" for line in self._statements(piece))
            texts.append(f"static void {self.name}_{i}{arguments}\n{{\n{unused}{body}}}\n\n")
        given = [(k, targets) for k, targets in self.results.items() if entries[k][0] in (INPUT, CONSTANT)]
        copied = "".join(f"    {target} = {self._operand(k, set())};\n" for k, targets in given for target in targets)
        called = "".join(f"    {self.name}_{i}(in, out, w);\n" for i in range(len(self.pieces)))
        texts.append(f"static void {self.name}{arguments}\n{{\n{unused}{copied}{called}}}\n")
        counts: Counter[str] = Counter()
        for operation, _, _ in entries:
            if operation in FUNCTIONS:
                counts[FUNCTIONS[operation][0]] += 1
            elif operation in (ca.OP_DIV, ca.OP_INV):
                counts["/"] += 1
        return CSource(
            name=self.name,
            text="".join(texts),
            work=max(1, self.room),
            operations=self.tape.operations,
            counts=MappingProxyType(dict(sorted(counts.items()))),
            inputs=MappingProxyType(dict(inputs)),
            outputs=MappingProxyType(dict(outputs)),
        )

    def _statements(self, piece: list[int]) -> Iterator[str]:
        here: set[int] = set()
        for k in piece:
            operation, a, b = self.tape.entries[k]
            text = self._written(operation, self._operand(int(a), here), self._operand(b, here))
            targets = [*self.results.get(k, ()), *([f"w[{self.places[k]}]"] if k in self.places else [])]
            here.add(k)
            yield f"const double x{k} = {text};"
            for target in targets:
                yield f"{target} = x{k};"

    def _operand(self, value: int, here: set[int]) -> str:
        """Where a value is read."""
        operation, a, b = self.tape.entries[value]
        if value in here:
            return f"x{value}"
        if operation == INPUT:
            return f"in[{a}][{b}]"
        return number(float(a)) if operation == CONSTANT else f"w[{self.places[value]}]"

    def _written(self, operation: int, first: str, second: str) -> str:
        if operation in OPERATORS:
            return OPERATORS[operation].format(first, second)
        if operation not in FUNCTIONS:
            raise BridgeError(
                f"{self.name} cannot be written as C: C99's math.h has no counterpart of CasADi's operation "
                f"{operation_name(operation)}; write the expression without it"
            )
        called, operands = FUNCTIONS[operation]
        return f"{called}({first}, {second})" if operands == 2 else f"{called}({first})"
