"""The order of operations: those that most others wait for come first.

A recursion along a chain is one long line of operations that wait for each other, and much else that can be done
meanwhile. A processor looks a few hundred operations ahead; in the order in which expressions were written the line is
further away than that, and it waits.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from .tape import CONSTANT, INPUT, Tape

LATENCY: Mapping[int, int] = {
    ca.OP_DIV: 14,
    ca.OP_INV: 14,
    ca.OP_SQRT: 18,
    ca.OP_SIN: 60,
    ca.OP_COS: 60,
}
"""Cycles until a result is there, of common processors; 4 for all others."""
EARLY = 0.2
"""Share of its earliest time in the place of an operation, beside its latest time: measured, 0 and 0.2 are best, with
what is computed early waiting in memory, and 0.2 is better for long chains."""


def scheduled(tape: Tape) -> Tape:
    """The same operations on the same values, in the order of the times at which they have to be done.

    The latest time of an operation is the length of the longest line of operations less what of it follows; its
    earliest time is the length of the longest line before it.

    Args:
        tape: any.
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
    order = sorted(range(len(entries)), key=lambda k: (EARLY * before[k] - (1.0 - EARLY) * after[k], k))
    place = {k: i for i, k in enumerate(order)}
    moved = [
        (operation, a, b) if operation in (INPUT, CONSTANT) else (operation, place[int(a)], place[b])
        for operation, a, b in (entries[k] for k in order)
    ]
    return Tape(tape.inputs, tuple(moved), tuple(tuple(place[v] for v in output) for output in tape.outputs))
