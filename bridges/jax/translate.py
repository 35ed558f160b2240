"""A tape as a function of JAX arrays: one loop over a table of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from ...symbolic.code import Tape
from ...symbolic.errors import BridgeError
from .guards import guarded
from .operations import operations
from .schedule import WIDTH, Schedule

if TYPE_CHECKING:
    from jax import Array


def translate(tape: Tape) -> Callable[..., tuple[Array, ...]]:
    """A function of as many float64 arrays as the tape has inputs, each of shape (n,), that returns its outputs.

    It is pure, can be differentiated both ways and as often as is wanted, batched and compiled.

    Args:
        tape: any.

    Raises:
        BridgeError: for an operation that JAX has none for.
    """
    import jax.numpy as jnp  # late, for not everyone has it
    from jax import lax

    plan, known = Schedule.of(guarded(tape)), operations()
    strange = [operation for operation in plan.operations if operation not in known]
    if strange:
        raise BridgeError(f"JAX has no operation for number {strange[0]} of CasADi, which the expressions hold")
    branches = [known[operation] for operation in plan.operations]
    room = plan.size - plan.inputs - len(plan.constants)
    tables = plan.kinds, plan.operands, plan.targets

    def step(values: Array, row: tuple[Array, ...]) -> tuple[Array, None]:
        kind, operands, target = row
        given = values.at[operands].get(mode="promise_in_bounds")
        result = cast("Array", lax.switch(kind, branches, given[:WIDTH], given[WIDTH:]))
        return lax.dynamic_update_slice(values, result, (target,)), None

    def function(*inputs: Array) -> tuple[Array, ...]:
        values = jnp.concatenate([*inputs, jnp.asarray(plan.constants), jnp.zeros(room)])
        if branches:
            values, _ = lax.scan(step, values, tuple(jnp.asarray(table) for table in tables))
        return tuple(values[places] for places in plan.outputs)

    return function
