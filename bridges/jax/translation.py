"""Translation of expressions to functions of JAX arrays: one loop over a table of operations.

XLA needs some milliseconds to compile each operation on a single number, a minute for a law of some thousand operations
with its derivative. With steps that are rows of a table, a law is one loop over one list of numbers, compiled in a
second.

Branches that are not taken are kept finite. x if c else 0 drops the value of x where c is false, but not its
derivative: reverse differentiation multiplies the incoming zero by 1 / (2 √0) and the like, and inf times zero is NaN.
So operands of roots, quotients and the like are replaced where the branch is not taken. Where it is taken nothing
changes, and an infinite derivative stays infinite.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.codegen import Tape
from ...symbolic.codegen.tape import CONSTANT, INPUT, Entry
from ...symbolic.errors import BridgeError

if TYPE_CHECKING:
    from jax import Array


SINGULAR_OPERATIONS = frozenset(
    {
        *(ca.OP_DIV, ca.OP_INV, ca.OP_SQRT, ca.OP_LOG, ca.OP_POW, ca.OP_CONSTPOW, ca.OP_ASIN, ca.OP_ACOS, ca.OP_ATAN2),
        *(ca.OP_HYPOT, ca.OP_ACOSH, ca.OP_ATANH, ca.OP_TAN, ca.OP_LOG1P, ca.OP_EXP, ca.OP_SINH, ca.OP_COSH),
        *(ca.OP_EXPM1, ca.OP_ERFINV, ca.OP_FMOD, ca.OP_REMAINDER),
    }
)
"""Operations that can be infinite, or have an infinite derivative, at finite operands."""

SAFE_OPERAND = 0.5
"""Operand at which all of these are smooth, except the inverse hyperbolic cosine."""
SAFE_ACOSH_OPERAND = 2.0

MAX_ALTERNATIVES = 8
"""Largest number of alternatives in the conditions of a value; with more it counts as always needed."""

Conditions = frozenset[frozenset[int]]
"""A value is needed if all conditions of one of the sets hold."""

ALWAYS: Conditions = frozenset({frozenset()})
NEVER: Conditions = frozenset()


def guard_branches(tape: Tape) -> Tape:
    """Return a tape with the same outputs and harmless operands in branches that are not taken.

    Args:
        tape: operations of a function.
    """
    tape = _conditions_first(tape)
    conditions_of = _conditions_of_use(tape)
    entries: list[Entry] = []
    index_of: list[int] = []
    masks: dict[Conditions, tuple[int, int]] = {}
    safe: dict[tuple[int, Conditions, float], int] = {}

    def add(operation: int, a: int | float, b: int = 0) -> int:
        entries.append((operation, a, b))
        return len(entries) - 1

    def mask(when: Conditions) -> tuple[int, int]:
        """Return the entries that are 1 where the conditions hold, and 1 where they do not."""
        if when not in masks:
            found: int | None = None
            for conditions in sorted(when, key=sorted):
                first, *rest = (index_of[c] for c in sorted(conditions))
                for condition in rest:
                    first = add(ca.OP_AND, first, condition)
                found = first if found is None else add(ca.OP_OR, found, first)
            assert found is not None
            masks[when] = found, add(ca.OP_NOT, found, found)
        return masks[when]

    def guarded(value: int, when: Conditions, number: float) -> int:
        """Return the entry that is the value where it is needed, and the number elsewhere."""
        key = value, when, number
        if key not in safe:
            needed, spare = mask(when)
            kept = add(ca.OP_IF_ELSE_ZERO, needed, value)
            # A difference, not a sum: -0 - 0 is -0, but -0 + 0 is 0.
            safe[key] = add(ca.OP_SUB, kept, add(ca.OP_IF_ELSE_ZERO, spare, add(CONSTANT, -number)))
        return safe[key]

    for k, (operation, a, b) in enumerate(tape.entries):
        if operation in (INPUT, CONSTANT):
            index_of.append(add(operation, a, b))
            continue
        first, second = index_of[int(a)], index_of[b]
        if operation in SINGULAR_OPERATIONS and conditions_of[k] not in (ALWAYS, NEVER):
            number = SAFE_ACOSH_OPERAND if operation == ca.OP_ACOSH else SAFE_OPERAND
            first, second = (guarded(value, conditions_of[k], number) for value in (first, second))
        index_of.append(add(operation, first, second))
    return Tape(tape.inputs, tuple(entries), tuple(tuple(index_of[k] for k in output) for output in tape.outputs))


def _conditions_first(tape: Tape) -> Tape:
    """Move the operations that conditions depend on to the front, so that branches come after their conditions."""
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


def _conditions_of_use(tape: Tape) -> list[Conditions]:
    """Return the conditions under which each value is needed, as far as they are computed before it."""
    conditions_of = [NEVER] * len(tape.entries)
    for output in tape.outputs:
        for k in output:
            conditions_of[k] = ALWAYS
    for k in reversed(range(len(tape.entries))):
        operation, a, b = tape.entries[k]
        if operation in (INPUT, CONSTANT):
            continue
        # A later condition may depend on this value: it is dropped, so that the value counts as needed more often.
        conditions_of[k] = _shortest(
            frozenset(frozenset(c for c in conditions if c < k) for conditions in conditions_of[k])
        )
        first = int(a)
        conditions_of[first] = _either(conditions_of[first], conditions_of[k])
        through_branch = conditions_of[k]
        if operation == ca.OP_IF_ELSE_ZERO:
            through_branch = frozenset(conditions | {first} for conditions in through_branch)
        conditions_of[b] = _either(conditions_of[b], through_branch)
    return conditions_of


def _either(one: Conditions, other: Conditions) -> Conditions:
    found = _shortest(one | other)
    return found if len(found) <= MAX_ALTERNATIVES else ALWAYS


def _shortest(alternatives: Conditions) -> Conditions:
    """Drop sets that contain another one, which they imply."""
    return frozenset(one for one in alternatives if not any(other < one for other in alternatives))


if TYPE_CHECKING:
    from jax import Array

    Binary = Callable[[Array, Array], Array]


def jax_operations() -> dict[int, Binary]:
    """Return JAX's operations by CasADi's operation numbers; unary ones ignore the second operand."""
    import jax.numpy as jnp  # late: JAX is optional
    from jax import lax

    def one(function: Callable[[Array], Array]) -> Binary:
        return lambda a, b: function(a)

    def truth(function: Callable[[Array, Array], Array]) -> Binary:
        return lambda a, b: function(a, b).astype(float)

    def constant_power(a: Array, b: Array) -> Array:
        # The exponent is constant: its derivative, the logarithm of a possibly negative base, must not be computed.
        return lax.pow(a, lax.stop_gradient(b))

    def remainder(a: Array, b: Array) -> Array:
        return a - b * lax.stop_gradient(lax.round(a / b, lax.RoundingMethod.TO_NEAREST_EVEN))

    def copysign(a: Array, b: Array) -> Array:
        return jnp.where(jnp.signbit(b) == jnp.signbit(a), a, -a)

    return {
        ca.OP_ADD: lax.add,
        ca.OP_SUB: lax.sub,
        ca.OP_MUL: lax.mul,
        ca.OP_DIV: lax.div,
        ca.OP_NEG: one(lax.neg),
        ca.OP_SQ: one(lambda a: a * a),
        ca.OP_TWICE: one(lambda a: a + a),
        ca.OP_INV: one(lambda a: 1.0 / a),
        ca.OP_SQRT: one(lax.sqrt),
        ca.OP_FABS: one(lax.abs),
        ca.OP_SIGN: one(lax.sign),
        ca.OP_COPYSIGN: copysign,
        ca.OP_FMIN: jnp.fmin,
        ca.OP_FMAX: jnp.fmax,
        ca.OP_LT: truth(lax.lt),
        ca.OP_LE: truth(lax.le),
        ca.OP_EQ: truth(lax.eq),
        ca.OP_NE: truth(lax.ne),
        ca.OP_NOT: truth(lambda a, b: a == 0.0),
        ca.OP_AND: truth(lambda a, b: (a != 0.0) & (b != 0.0)),
        ca.OP_OR: truth(lambda a, b: (a != 0.0) | (b != 0.0)),
        ca.OP_IF_ELSE_ZERO: lambda a, b: jnp.where(a != 0.0, b, 0.0),
        ca.OP_EXP: one(lax.exp),
        ca.OP_LOG: one(lax.log),
        ca.OP_POW: lax.pow,
        ca.OP_CONSTPOW: constant_power,
        ca.OP_SIN: one(lax.sin),
        ca.OP_COS: one(lax.cos),
        ca.OP_TAN: one(lax.tan),
        ca.OP_ASIN: one(lax.asin),
        ca.OP_ACOS: one(lax.acos),
        ca.OP_ATAN: one(lax.atan),
        ca.OP_FLOOR: one(lax.floor),
        ca.OP_CEIL: one(lax.ceil),
        ca.OP_FMOD: lax.rem,
        ca.OP_REMAINDER: remainder,
        ca.OP_ERF: one(lax.erf),
        ca.OP_ERFINV: one(lax.erf_inv),
        ca.OP_SINH: one(lax.sinh),
        ca.OP_COSH: one(lax.cosh),
        ca.OP_TANH: one(lax.tanh),
        ca.OP_ASINH: one(lax.asinh),
        ca.OP_ACOSH: one(lax.acosh),
        ca.OP_ATANH: one(lax.atanh),
        ca.OP_ATAN2: lax.atan2,
        ca.OP_LOG1P: one(lax.log1p),
        ca.OP_EXPM1: one(lax.expm1),
        ca.OP_HYPOT: jnp.hypot,
    }


STEP_WIDTH = 16
"""Operations per step: 8 would need a fifth more steps, with 32 most steps would not be full."""

OperationTable = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class OperationSchedule:
    """Steps on a list that starts with the inputs and the constants; each step appends its results.

    Attributes:
        inputs: total size of the inputs.
        constants: constants that follow the inputs.
        operations: CasADi's numbers of the operations that occur.
        kinds: index of each step's operation among these, shape (n,).
        operands: indices of its first operands, then of its second ones, shape (n, 2 STEP_WIDTH).
        targets: index of its first result, shape (n,).
        size: size of the list, with room for a last step that is not full.
        outputs: indices of each output's numbers.
    """

    inputs: int
    constants: NDArray[np.float64]
    operations: tuple[int, ...]
    kinds: OperationTable
    operands: OperationTable
    targets: OperationTable
    size: int
    outputs: tuple[OperationTable, ...]

    @classmethod
    def of(cls, tape: Tape) -> OperationSchedule:
        """Group operations of one kind that are ready at the same time, those with the longest path to the end first.

        Args:
            tape: operations of a function.
        """
        entries = tape.entries
        users: list[list[int]] = [[] for _ in entries]
        missing = [0] * len(entries)
        for k, (operation, a, b) in enumerate(entries):
            if operation not in (INPUT, CONSTANT):
                operands = {int(a), b}
                missing[k] = len(operands)
                for value in operands:
                    users[value].append(k)
        ahead = [0] * len(entries)
        for k in reversed(range(len(entries))):
            ahead[k] = 1 + max((ahead[user] for user in users[k]), default=0)
        ready: dict[int, list[tuple[int, int]]] = {}

        def known(k: int) -> None:
            for user in users[k]:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(ready.setdefault(entries[user][0], []), (-ahead[user], user))

        starts = np.cumsum([0, *tape.inputs]).tolist()
        index_of = [-1] * len(entries)
        constants: list[float] = []
        for k, (operation, a, b) in enumerate(entries):
            if operation == INPUT:
                index_of[k] = starts[int(a)] + b
            elif operation == CONSTANT:
                index_of[k] = starts[-1] + len(constants)
                constants.append(float(a))
        padding = starts[-1] + len(constants)
        constants += [SAFE_OPERAND, SAFE_ACOSH_OPERAND]
        for k, (operation, _, _) in enumerate(entries):
            if operation in (INPUT, CONSTANT):
                known(k)
        end = starts[-1] + len(constants)
        steps: list[tuple[int, list[int], int]] = []
        while any(ready.values()):
            kind = max((o for o in ready if ready[o]), key=lambda o: (min(len(ready[o]), STEP_WIDTH), -ready[o][0][0]))
            chosen = [heapq.heappop(ready[kind])[1] for _ in range(min(STEP_WIDTH, len(ready[kind])))]
            # The results of unused slots are overwritten by the next step.
            spare = [padding + (kind == ca.OP_ACOSH)] * (STEP_WIDTH - len(chosen))
            first, second = ([index_of[int(entries[k][side])] for k in chosen] for side in (1, 2))
            steps.append((kind, [*first, *spare, *second, *spare], end))
            for k in chosen:
                index_of[k] = end
                end += 1
            for k in chosen:
                known(k)
        kinds = tuple(sorted({kind for kind, _, _ in steps}))
        return cls(
            *(starts[-1], np.array(constants, dtype=np.float64), kinds),
            np.array([kinds.index(kind) for kind, _, _ in steps], dtype=np.int32),
            np.array([operands for _, operands, _ in steps], dtype=np.int32).reshape(-1, 2 * STEP_WIDTH),
            np.array([target for _, _, target in steps], dtype=np.int32),
            end + STEP_WIDTH,
            tuple(np.array([index_of[k] for k in output], dtype=np.int32) for output in tape.outputs),
        )


def translate(tape: Tape) -> Callable[..., tuple[Array, ...]]:
    """Return a function of as many float64 arrays as the tape has inputs, shape (n,) each, that returns its outputs.

    It is pure, and can be differentiated in both modes and repeatedly, batched and compiled.

    Args:
        tape: operations of a function.

    Raises:
        BridgeError: for an operation that JAX does not have, or a call of compiled code.
    """
    if tape.blocks:
        raise BridgeError(
            "JAX cannot represent the programme of limits, whose active set is found by branches and loops of compiled "
            "code: use realization='actuated', with saturate=True or the wrapper Saturation, or export it as C"
        )
    import jax.numpy as jnp  # late: JAX is optional
    from jax import lax

    plan, known = OperationSchedule.of(guard_branches(tape)), jax_operations()
    unsupported = [operation for operation in plan.operations if operation not in known]
    if unsupported:
        raise BridgeError(
            f"JAX cannot represent: operation number {unsupported[0]} of CasADi, which the expressions use"
        )
    branches = [known[operation] for operation in plan.operations]
    room = plan.size - plan.inputs - len(plan.constants)
    tables = plan.kinds, plan.operands, plan.targets

    def step(values: Array, row: tuple[Array, ...]) -> tuple[Array, None]:
        kind, operands, target = row
        given = values.at[operands].get(mode="promise_in_bounds")
        result = cast("Array", lax.switch(kind, branches, given[:STEP_WIDTH], given[STEP_WIDTH:]))
        return lax.dynamic_update_slice(values, result, (target,)), None

    def function(*inputs: Array) -> tuple[Array, ...]:
        values = jnp.concatenate([*inputs, jnp.asarray(plan.constants), jnp.zeros(room)])
        if branches:
            values, _ = lax.scan(step, values, tuple(jnp.asarray(table) for table in tables))
        return tuple(values[indices] for indices in plan.outputs)

    return function
