"""Operations of expressions in JAX, on arrays of one shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import casadi as ca

if TYPE_CHECKING:
    from jax import Array

    Binary = Callable[[Array, Array], Array]


def operations() -> dict[int, Binary]:
    """By CasADi's numbers; those of one operand leave the second alone."""
    import jax.numpy as jnp  # late, for not everyone has it
    from jax import lax

    def one(function: Callable[[Array], Array]) -> Binary:
        return lambda a, b: function(a)

    def truth(function: Callable[[Array, Array], Array]) -> Binary:
        return lambda a, b: function(a, b).astype(float)

    def constant_power(a: Array, b: Array) -> Array:
        # The exponent is a number: its derivative, a logarithm of what may be negative, must not be taken.
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
