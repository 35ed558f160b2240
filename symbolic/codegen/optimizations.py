"""Optimizations of a tape: shared reciprocals, and an order of operations that keeps the processor busy.

A recursion along a chain is one long sequence of operations that wait for each other, and much else can be computed
meanwhile. A processor looks a few hundred operations ahead; in the order in which expressions were written the sequence
is further away than that, and it waits.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from .tape import CONSTANT, INPUT, Tape

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
    return Tape(tape.inputs, tuple(entries), tuple(tuple(index[v] for v in output) for output in tape.outputs))


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


LATENCY: Mapping[int, int] = {
    ca.OP_DIV: 14,
    ca.OP_INV: 14,
    ca.OP_SQRT: 18,
    ca.OP_SIN: 60,
    ca.OP_COS: 60,
}
"""Cycles until a result is available, on common processors; 4 for all others."""
EARLIEST_TIME_WEIGHT = 0.2
"""Weight of the earliest time beside the latest time in the order of operations: by measurement 0 and 0.2 are best,
because early results wait in memory, and 0.2 is better for long chains."""


def schedule_operations(tape: Tape) -> Tape:
    """Return the same operations on the same values, in the order of the times at which they must be done.

    The latest time of an operation is the length of the longest chain of operations less the part that follows it; its
    earliest time is the length of the longest chain before it.

    Args:
        tape: the operations.
    """
    entries = tape.entries
    after, before = [0] * len(entries), [0] * len(entries)
    for k in range(len(entries) - 1, -1, -1):
        operation, a, b = entries[k]
        if operation not in (INPUT, CONSTANT):
            length = after[k] + LATENCY.get(operation, 4)
            for operand in (int(a), b):
                after[operand] = max(after[operand], length)
    for k, (operation, a, b) in enumerate(entries):
        if operation not in (INPUT, CONSTANT):
            before[k] = max(before[int(a)], before[b]) + LATENCY.get(operation, 4)
    # Both times of an operation are later than those of its operands, so that the order can be run.
    order = sorted(
        range(len(entries)),
        key=lambda k: (EARLIEST_TIME_WEIGHT * before[k] - (1.0 - EARLIEST_TIME_WEIGHT) * after[k], k),
    )
    index = {k: i for i, k in enumerate(order)}
    moved = [
        (operation, a, b) if operation in (INPUT, CONSTANT) else (operation, index[int(a)], index[b])
        for operation, a, b in (entries[k] for k in order)
    ]
    return Tape(tape.inputs, tuple(moved), tuple(tuple(index[v] for v in output) for output in tape.outputs))
