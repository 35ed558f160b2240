"""The scalar operations of a function, as one straight list in which every value has a separate number.

Quotients by one number share its reciprocal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import casadi as ca

from ..errors import ModelError
from .block import CBlock, block_of

INPUT, CONSTANT, OUTPUT, ASSIGN, PARAMETER = ca.OP_INPUT, ca.OP_CONST, ca.OP_OUTPUT, ca.OP_ASSIGN, ca.OP_PARAMETER

PASS, CALL, RESULT = 1 << 20, 1 << 21, 1 << 22
"""Codes of calls, so that they have two operands as any operation: PASS + i hands a value to block i, after the PASS
that is its second operand (the first one repeats the value); CALL + i follows the last PASS; RESULT + j is entry j of
the results of a call."""

COMMUTATIVE = frozenset((ca.OP_ADD, ca.OP_MUL, ca.OP_EQ, ca.OP_NE, ca.OP_AND, ca.OP_OR))

Entry = tuple[int, int | float, int]
"""Operation code and operands: numbers of values; (input, index) for an input; the number itself for a constant."""


@dataclass(frozen=True, eq=False)
class Tape:
    """x_k = f_k(x_i, x_j) with i, j < k, in an order in which it can be run.

    Attributes:
        inputs: number of entries of each input, column by column.
        entries: operation and operands of each value.
        outputs: for each output, the value of each of its entries.
        blocks: functions that are called, one for each call.
    """

    inputs: tuple[int, ...]
    entries: tuple[Entry, ...]
    outputs: tuple[tuple[int, ...], ...]
    blocks: tuple[CBlock, ...] = ()

    @classmethod
    def of(cls, function: ca.Function) -> Tape:
        """Build the tape of a function of SX expressions with full inputs and outputs.

        Equal operations on equal values are stored once.

        Args:
            function: function of SX expressions.

        Raises:
            ModelError: if it is not a function of SX expressions, has a free symbol, or calls a function other than a
                block.
        """
        if not function.is_a("SXFunction"):
            raise ModelError(f"{function.name()} is not a function of SX expressions")
        entries: list[Entry] = []
        known: dict[Entry, int] = {}
        slots: dict[int, int] = {}
        outputs = [[-1] * function.numel_out(i) for i in range(function.n_out())]
        code, source, target = function.instruction_id, function.instruction_input, function.instruction_output
        blocks: list[CBlock] = []
        calls: dict[tuple[str, tuple[int, ...]], int] = {}
        nodes = function.instructions_sx() if function.find_functions() else ()
        for k in range(function.n_instructions()):
            operation, targets = code(k), target(k)
            if operation == OUTPUT:
                outputs[targets[0]][targets[1]] = slots[source(k)[0]]
                continue
            entry: Entry
            if operation == CONSTANT:
                number = function.instruction_constant(k)
                # The sign of zero distinguishes 0.0 and -0.0, which are equal as keys.
                entry = (CONSTANT, number, 0) if number != 0.0 or str(number)[0] != "-" else (CONSTANT, number, 1)
            elif operation == INPUT:
                where = source(k)
                entry = (INPUT, where[0], where[1])
            elif operation == ca.OP_CALL:
                block = block_of(nodes[k].which_function())
                key = block.name, tuple(slots[slot] for slot in source(k))
                if key not in calls:
                    number = len(blocks)
                    blocks.append(block)
                    for i, given in enumerate(key[1]):
                        entries.append((PASS + number, given, len(entries) - 1 if i else given))
                    last = len(entries) - 1
                    entries.append((CALL + number, last, last))
                    calls[key] = len(entries) - 1
                for j, slot in enumerate(targets):
                    entry = (RESULT + j, calls[key], calls[key])
                    slots[slot] = known.setdefault(entry, len(entries))
                    if slots[slot] == len(entries):
                        entries.append(entry)
                continue
            elif operation == PARAMETER:
                raise ModelError(f"{function.name()} has free symbols: {function.get_free()}")
            elif operation == ASSIGN:
                slots[targets[0]] = slots[source(k)[0]]
                continue
            else:
                operands = source(k)
                first = slots[operands[0]]
                second = slots[operands[1]] if len(operands) > 1 else first
                swapped = operation in COMMUTATIVE and second < first
                entry = (operation, second, first) if swapped else (operation, first, second)
            value = known.get(entry)
            if value is None:
                value = known[entry] = len(entries)
                entries.append(entry)
            slots[targets[0]] = value
        inputs = tuple(function.numel_in(i) for i in range(function.n_in()))
        return cls(inputs, tuple(entries), tuple(map(tuple, outputs)), tuple(blocks))

    @property
    def operations(self) -> int:
        """Number of operations, without inputs, constants, outputs and calls."""
        return sum(entry[0] not in (INPUT, CONSTANT) and entry[0] < PASS for entry in self.entries)

    def call_places(self, first: int) -> tuple[dict[int, int], dict[int, int], int]:
        """Allocate arrays for calls, each with its arguments side by side, and its results.

        Args:
            first: first free place.

        Returns:
            The place of each argument by its PASS, that of the first result by its CALL, and the next free place.
        """
        passed: dict[int, int] = {}
        found: dict[int, int] = {}
        for k, (operation, _, before) in enumerate(self.entries):
            if PASS <= operation < CALL:
                begins = before not in passed
                passed[k] = first if begins else passed[before] + 1
                first += self.blocks[operation - PASS].sizes[0] if begins else 0
            elif CALL <= operation < RESULT:
                found[k] = first
                first += self.blocks[operation - CALL].sizes[1]
        return passed, found, first

    def split(self, fixed: Iterable[int]) -> tuple[Tape, Tape]:
        """Split off the operations that depend on some inputs alone; the rest reads their results as a further input.

        Args:
            fixed: indices of the inputs that change rarely.

        Returns:
            A tape with the same inputs and one output, the values to be stored, and one with a further last input for
            these, and the same outputs.
        """
        rare = set(fixed)
        constant: list[bool] = []
        for operation, a, b in self.entries:
            if operation == INPUT:
                constant.append(a in rare)
            else:
                # A call is not divided between two functions.
                alone = operation == CONSTANT or (constant[int(a)] and constant[b])
                constant.append(alone and operation < PASS)
        stored: dict[int, int] = {}

        def store(value: int) -> None:
            if constant[value] and self.entries[value][0] not in (INPUT, CONSTANT):
                stored.setdefault(value, len(stored))

        for (operation, a, b), is_constant in zip(self.entries, constant, strict=True):
            if operation not in (INPUT, CONSTANT) and not is_constant:
                store(int(a))
                store(b)
        for output in self.outputs:
            for value in output:
                store(value)
        setup = self._only([tuple(stored)], {}, self.inputs)
        known: dict[int, Entry] = {value: (INPUT, len(self.inputs), index) for value, index in stored.items()}
        return setup, self._only(self.outputs, known, (*self.inputs, len(stored)))

    def merge_inputs(self, equal: Mapping[tuple[int, int], tuple[int, int]]) -> Tape:
        """Return the same operations with some entries of the inputs read in place of others that are equal to them.

        Operations that become the same are stored once. Nothing else is simplified, so that every value keeps its last
        bit.

        Args:
            equal: (input, index) of an entry → that of the entry read in its place.
        """
        entries: list[Entry] = []
        known: dict[Entry, int] = {}
        numbers: list[int] = []
        for operation, a, b in self.entries:
            entry: Entry = operation, a, b
            if operation == INPUT:
                source, at = equal.get((int(a), b), (int(a), b))
                entry = (INPUT, source, at)
            elif operation != CONSTANT:
                first, second = numbers[int(a)], numbers[b]
                swapped = operation in COMMUTATIVE and second < first
                entry = (operation, second, first) if swapped else (operation, first, second)
            if entry not in known:
                known[entry] = len(entries)
                entries.append(entry)
            numbers.append(known[entry])
        outputs = tuple(tuple(numbers[v] for v in output) for output in self.outputs)
        return Tape(self.inputs, tuple(entries), outputs, self.blocks)

    def _only(self, outputs: Iterable[tuple[int, ...]], known: dict[int, Entry], inputs: tuple[int, ...]) -> Tape:
        """The operations that the outputs need; some values are known."""
        outputs = list(outputs)
        needed = [False] * len(self.entries)
        for output in outputs:
            for value in output:
                needed[value] = True
        for k in reversed(range(len(self.entries))):
            operation, a, b = self.entries[k]
            if needed[k] and k not in known and operation not in (INPUT, CONSTANT):
                needed[int(a)] = needed[b] = True
        number: dict[int, int] = {}
        entries: list[Entry] = []
        for k, entry in enumerate(self.entries):
            if not needed[k]:
                continue
            operation, a, b = known.get(k, entry)
            if operation not in (INPUT, CONSTANT):
                a, b = number[int(a)], number[b]
            number[k] = len(entries)
            entries.append((operation, a, b))
        return Tape(inputs, tuple(entries), tuple(tuple(number[v] for v in output) for output in outputs), self.blocks)


DISCONTINUOUS = frozenset(
    (ca.OP_FLOOR, ca.OP_CEIL, ca.OP_FMOD, ca.OP_REMAINDER, ca.OP_SIGN, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE)
)
"""Operations whose results may change completely with one bit of an operand."""
SHIFTING = frozenset((ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_NEG, ca.OP_TWICE, ca.OP_FABS))


def share_reciprocals(tape: Tape) -> Tape:
    """Replace a / b by a · (1 / b), with each reciprocal computed once.

    A pivot divides a dozen numbers, and vectors are divided at a sixteenth of the rate at which they are multiplied.
    A quotient is rounded twice, its error at most 1.5 units in the last place instead of 0.5; quotients of equal
    numbers by one denominator stay equal, and a quotient that is inf or NaN is so as a product, unless 1 / b overflows,
    which it does below 5.6e-309. It is done for every denominator except constants, however many quotients it has, so
    that the rounding of a value does not depend on what else is computed.

    Quotients that are compared or rounded to integers, also when shifted or scaled by an input or a constant, are not
    changed: 49 · (1 / 49) is less than 1, so that ⌊t / T⌋ would be late by a period, and t / T ≥ 1 by a step.

    Args:
        tape: the operations.
    """
    exact = _compared_values(tape)
    index: list[int] = []
    entries: list[tuple[int, int | float, int]] = []
    inverse: dict[int, int] = {}
    for k, (operation, a, b) in enumerate(tape.entries):
        if operation in (INPUT, CONSTANT):
            entries.append((operation, a, b))
        elif operation == ca.OP_DIV and tape.entries[b][0] != CONSTANT and not exact[k]:
            denominator = index[b]
            if denominator not in inverse:
                inverse[denominator] = len(entries)
                entries.append((ca.OP_INV, denominator, denominator))
            entries.append((ca.OP_MUL, index[int(a)], inverse[denominator]))
        elif operation == ca.OP_INV:
            if index[b] not in inverse:
                inverse[index[b]] = len(entries)
                entries.append((operation, index[b], index[b]))
            index.append(inverse[index[b]])
            continue
        else:
            entries.append((operation, index[int(a)], index[b]))
        index.append(len(entries) - 1)
    outputs = tuple(tuple(index[v] for v in output) for output in tape.outputs)
    return Tape(tape.inputs, tuple(entries), outputs, tape.blocks)


def _compared_values(tape: Tape) -> list[bool]:
    """True for each value that is compared or rounded, itself or shifted or scaled by an input or a constant."""
    entries = tape.entries
    found = [False] * len(entries)
    for k in reversed(range(len(entries))):
        operation, a, b = entries[k]
        if operation in DISCONTINUOUS:
            found[int(a)] = found[b] = True
        elif found[k] and operation in SHIFTING:
            operands = (int(a), b)
            if int(a) == b or any(entries[operand][0] in (INPUT, CONSTANT) for operand in operands):
                found[int(a)] = found[b] = True
    return found
