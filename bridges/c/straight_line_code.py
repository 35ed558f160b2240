"""Expressions as plain C99: straight-line code of doubles for any compiler.

Code for the machine that runs Erugin (:mod:`erugin.symbolic.codegen`) uses vectors and extensions of GCC. This module
writes portable code: no extension of the language, no library except ``math.h``, no memory except the caller's, no
loop, and branches in comparisons only, so that the work is the same at every call, but for the algorithms named below.

:func:`c_source` writes ``static void name(const double *const *in, double *const *out, double *w)``:

- ``in[i]`` points to the numbers of the i-th input, column by column, and ``out[k]`` to memory for those of the k-th
  output; an empty one may be NULL. No output may overlap an input or another output.
- ``w`` points to workspace for ``CSource.work`` doubles without initial values, for values that several pieces use.
- The file needs ``#include <math.h>`` before the function. A file can contain several such functions.
- Where an expression contains an algorithm with loops (:class:`~erugin.symbolic.codegen.CBlock`), such as the programme
  of limits, the function calls it: :func:`definitions` has its text, which comes before.

Each operation is rounded as in CasADi's own evaluation: with the same ``math.h`` the numbers are the same to the last
bit, provided that the compiler does not contract a*b + c into one operation (:data:`PREAMBLE`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import casadi as ca

from ...symbolic.codegen import CBlock, Tape
from ...symbolic.codegen.tape import CALL, CONSTANT, INPUT, PASS, RESULT
from ...symbolic.errors import BridgeError, ModelError
from .syntax import FUNCTIONS, OPERATORS, number, operation_name

CHUNK_SIZE = 400
"""Operations per C function, so that compile time grows linearly; C99 guarantees 511 identifiers in a block."""

PREAMBLE = """\
#include <math.h>

/* a*b + c is rounded twice, as written. GCC does so with -std=c99 and does not know this pragma. */
#if defined(__clang__) || !defined(__GNUC__)
#pragma STDC FP_CONTRACT OFF
#endif
"""
"""First lines of a file of such functions."""


@dataclass(frozen=True)
class CSource:
    """C99 source of one function.

    Attributes:
        name: name of the C function.
        text: its definition, preceded by the functions that it calls, ``name_0``, ``name_1``, ….
        work: number of doubles in its last argument, at least 1.
        operations: number of operations of a call, always the same.
        counts: number of calls of each function of ``math.h``, and of divisions (``"/"``).
        inputs: number of elements of each input, in order.
        outputs: number of elements of each output, in order.
        blocks: functions that it calls, one for each call.
    """

    name: str
    text: str
    work: int
    operations: int
    counts: Mapping[str, int]
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    blocks: tuple[CBlock, ...] = ()

    @property
    def calls(self) -> frozenset[str]:
        """Names of the functions of ``math.h`` that it calls."""
        return frozenset(self.counts) - {"/"}


def definitions(*sources: CSource) -> str:
    """Return the algorithms that functions of one file call, each once; empty without calls.

    Args:
        sources: the functions.
    """
    blocks = dict.fromkeys(block for source in sources for block in source.blocks)
    return "".join(f"{block.text}\n" for block in blocks)


def c_source(name: str, inputs: Mapping[str, ca.SX], outputs: Mapping[str, ca.SX]) -> CSource:
    """Write expressions as C99.

    Args:
        name: name of the C function, a C identifier.
        inputs: symbols by name, of any shape; read column by column.
        outputs: expressions in these symbols by name, of any shape; written column by column.

    Raises:
        BridgeError: for an input that is not a symbol, or an expression with other symbols than the inputs or with an
            operation that C99's library lacks.
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
    """Writer of the C code of a tape."""

    def __init__(self, name: str, tape: Tape) -> None:
        """Cut the tape into pieces, and allocate workspace for values that later pieces read.

        Args:
            name: name of the C function.
            tape: its operations.
        """
        self.name, self.tape = name, tape
        self.results: dict[int, list[str]] = {}
        for i, output in enumerate(tape.outputs):
            for k, value in enumerate(output):
                self.results.setdefault(value, []).append(f"out[{i}][{k}]")
        computed = [k for k, entry in enumerate(tape.entries) if entry[0] not in (INPUT, CONSTANT)]
        self.pieces = [computed[first : first + CHUNK_SIZE] for first in range(0, len(computed), CHUNK_SIZE)]
        self.slots: dict[int, int] = {}
        self.passed, self.found, self.work = tape.call_places(0)
        self._allocate()

    def _allocate(self) -> None:
        entries = self.tape.entries
        last: dict[int, int] = {}
        for i, piece in enumerate(self.pieces):
            for k in piece:
                _, a, b = entries[k]
                last[int(a)] = last[b] = i
        free: list[int] = []
        expiring: dict[int, list[int]] = {}
        for i, piece in enumerate(self.pieces):
            for k in piece:
                if last.get(k, i) > i and entries[k][0] < PASS:
                    if not free:
                        free.append(self.work)
                        self.work += 1
                    self.slots[k] = free.pop()
                    expiring.setdefault(last[k], []).append(self.slots[k])
            # After the piece, which still reads these values.
            free += expiring.pop(i, [])

    def write(self, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> CSource:
        """Write the function.

        Args:
            inputs: number of elements of each input.
            outputs: number of elements of each output.
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
            work=max(1, self.work),
            operations=self.tape.operations,
            counts=MappingProxyType(dict(sorted(counts.items()))),
            inputs=MappingProxyType(dict(inputs)),
            outputs=MappingProxyType(dict(outputs)),
            blocks=tuple(self.tape.blocks[entries[k][0] - CALL] for k in self.found),
        )

    def _statements(self, piece: list[int]) -> Iterator[str]:
        local: set[int] = set()
        for k in piece:
            operation, a, b = self.tape.entries[k]
            if operation >= PASS:
                yield from self._call(k, local)
                continue
            text = self._written(operation, self._operand(int(a), local), self._operand(b, local))
            targets = [*self.results.get(k, ()), *([f"w[{self.slots[k]}]"] if k in self.slots else [])]
            local.add(k)
            yield f"const double x{k} = {text};"
            for target in targets:
                yield f"{target} = x{k};"

    def _call(self, k: int, local: set[int]) -> Iterator[str]:
        """C statements that hand a value to a block, call it, or copy a result."""
        operation, a, _ = self.tape.entries[k]
        if operation < CALL:
            yield f"w[{self.passed[k]}] = {self._operand(int(a), local)};"
        elif operation < RESULT:
            block, last = self.tape.blocks[operation - CALL], self.passed[int(a)]
            yield f"{{ const double *const a = w + {last + 1 - block.sizes[0]};"
            yield f"double *const b = w + {self.found[k]}; {block.called} }}"
        else:
            for target in self.results.get(k, ()):
                yield f"{target} = {self._operand(k, local)};"

    def _operand(self, value: int, local: set[int]) -> str:
        """C expression of a value; values of the same piece are local variables."""
        operation, a, b = self.tape.entries[value]
        if value in local:
            return f"x{value}"
        if operation == INPUT:
            return f"in[{a}][{b}]"
        if operation >= RESULT:
            return f"w[{self.found[int(a)] + operation - RESULT}]"
        return number(float(a)) if operation == CONSTANT else f"w[{self.slots[value]}]"

    def _written(self, operation: int, first: str, second: str) -> str:
        if operation in OPERATORS:
            return OPERATORS[operation].format(first, second)
        if operation not in FUNCTIONS:
            raise BridgeError(
                f"{self.name} cannot be written as C: C99's math.h has no function for CasADi's operation "
                f"{operation_name(operation)}; write the expression without it"
            )
        called, operands = FUNCTIONS[operation]
        return f"{called}({first}, {second})" if operands == 2 else f"{called}({first})"
