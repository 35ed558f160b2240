"""Branches that are not taken, kept finite: a derivative of inf times zero would be NaN.

x if c else 0 drops the value of x where c does not hold, but not its derivative: reverse differentiation multiplies the
zero that comes back with 1 / (2 √0) and the like. So what a branch computes must be harmless where it is not taken:
operands of roots, quotients and the like are replaced there. Where the branch is taken nothing changes, and a
derivative that is infinite there stays so.
"""

from __future__ import annotations

import casadi as ca

from ...symbolic.code import Tape
from ...symbolic.code.tape import CONSTANT, INPUT, Entry

SINGULAR = frozenset(
    {
        *(ca.OP_DIV, ca.OP_INV, ca.OP_SQRT, ca.OP_LOG, ca.OP_POW, ca.OP_CONSTPOW, ca.OP_ASIN, ca.OP_ACOS, ca.OP_ATAN2),
        *(ca.OP_HYPOT, ca.OP_ACOSH, ca.OP_ATANH, ca.OP_TAN, ca.OP_LOG1P, ca.OP_EXP, ca.OP_SINH, ca.OP_COSH),
        *(ca.OP_EXPM1, ca.OP_ERFINV, ca.OP_FMOD, ca.OP_REMAINDER),
    }
)
"""Operations that can be infinite, or have an infinite derivative, at finite operands."""

HARMLESS = 0.5
"""Where all of these are smooth, but one."""
HARMLESS_ACOSH = 2.0

MOST = 8
"""Ways in which a value may be needed that are told apart; with more it counts as always needed."""

Ways = frozenset[frozenset[int]]
"""A value is needed if all conditions of one of the sets hold."""

ALWAYS: Ways = frozenset({frozenset()})
NEVER: Ways = frozenset()


def guarded(tape: Tape) -> Tape:
    """The same numbers, with harmless operands in branches that are not taken.

    Args:
        tape: any.
    """
    tape = _conditions_first(tape)
    ways = _needed(tape)
    entries: list[Entry] = []
    place: list[int] = []
    masks: dict[Ways, tuple[int, int]] = {}
    safe: dict[tuple[int, Ways, float], int] = {}

    def add(operation: int, a: int | float, b: int = 0) -> int:
        entries.append((operation, a, b))
        return len(entries) - 1

    def mask(when: Ways) -> tuple[int, int]:
        """Whether it is needed, and whether it is not."""
        if when not in masks:
            found: int | None = None
            for conditions in sorted(when, key=sorted):
                first, *rest = (place[c] for c in sorted(conditions))
                for condition in rest:
                    first = add(ca.OP_AND, first, condition)
                found = first if found is None else add(ca.OP_OR, found, first)
            assert found is not None
            masks[when] = found, add(ca.OP_NOT, found, found)
        return masks[when]

    def harmless(value: int, when: Ways, number: float) -> int:
        """The value where it is needed, and the number where it is not."""
        key = value, when, number
        if key not in safe:
            needed, spare = mask(when)
            kept = add(ca.OP_IF_ELSE_ZERO, needed, value)
            # Not a sum: 0 taken from -0 leaves it what it is.
            safe[key] = add(ca.OP_SUB, kept, add(ca.OP_IF_ELSE_ZERO, spare, add(CONSTANT, -number)))
        return safe[key]

    for k, (operation, a, b) in enumerate(tape.entries):
        if operation in (INPUT, CONSTANT):
            place.append(add(operation, a, b))
            continue
        first, second = place[int(a)], place[b]
        if operation in SINGULAR and ways[k] not in (ALWAYS, NEVER):
            number = HARMLESS_ACOSH if operation == ca.OP_ACOSH else HARMLESS
            first, second = (harmless(value, ways[k], number) for value in (first, second))
        place.append(add(operation, first, second))
    return Tape(tape.inputs, tuple(entries), tuple(tuple(place[k] for k in output) for output in tape.outputs))


def _conditions_first(tape: Tape) -> Tape:
    """What conditions are made of before all else, so that they are known where branches are computed."""
    early = [False] * len(tape.entries)
    for k in reversed(range(len(tape.entries))):
        operation, a, b = tape.entries[k]
        if operation == ca.OP_IF_ELSE_ZERO:
            early[int(a)] = True
        if early[k] and operation not in (INPUT, CONSTANT):
            early[int(a)] = early[b] = True
    order = sorted(range(len(tape.entries)), key=lambda k: not early[k])
    number = {k: i for i, k in enumerate(order)}
    entries = [
        entry if entry[0] in (INPUT, CONSTANT) else (entry[0], number[int(entry[1])], number[entry[2]])
        for entry in (tape.entries[k] for k in order)
    ]
    return Tape(tape.inputs, tuple(entries), tuple(tuple(number[k] for k in output) for output in tape.outputs))


def _needed(tape: Tape) -> list[Ways]:
    """When each value is needed, as far as conditions tell that are computed before it."""
    ways = [NEVER] * len(tape.entries)
    for output in tape.outputs:
        for k in output:
            ways[k] = ALWAYS
    for k in reversed(range(len(tape.entries))):
        operation, a, b = tape.entries[k]
        if operation in (INPUT, CONSTANT):
            continue
        # A condition that comes later may depend on this value: without it the value counts as needed more often.
        ways[k] = _shortest(frozenset(frozenset(c for c in conditions if c < k) for conditions in ways[k]))
        first = int(a)
        ways[first] = _either(ways[first], ways[k])
        under = ways[k]
        if operation == ca.OP_IF_ELSE_ZERO:
            under = frozenset(conditions | {first} for conditions in under)
        ways[b] = _either(ways[b], under)
    return ways


def _either(one: Ways, other: Ways) -> Ways:
    found = _shortest(one | other)
    return found if len(found) <= MOST else ALWAYS


def _shortest(ways: Ways) -> Ways:
    """Without sets that hold another: where they hold, that one does."""
    return frozenset(one for one in ways if not any(other < one for other in ways))
