"""The verb of this bridge."""

from __future__ import annotations

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...symbolic.errors import BridgeError
from ...symbolic.extras import require
from ..casadi.functions import require_law
from .function import JaxFunction


def export(what: Controller | Robot) -> JaxFunction:
    """A law as (t, q, v, p) → u, or R where it gives forces; a robot as (t, q, v, u, p) → a.

    What is returned is made of JAX's own operations: it can be differentiated with respect to any argument, batched by
    ``jax.vmap`` and be part of something larger under ``jax.jit``. Values are those of ``control`` up to rounding.
    Branches that are not taken bring no NaN into derivatives. Where rows of a law depend on each other, which
    ``control`` refuses, it is NaN.

    Args:
        what: a Controller with a symbolic law, or a Robot.

    Raises:
        MissingPackageError: if JAX is not installed.
        BridgeError: for anything else, a controller without a symbolic law, or an operation that JAX has none for.
    """
    if isinstance(what, Controller):
        law, c = require_law(what), what.robot.coordinates
        require("jax", "jax")
        return JaxFunction(
            {"t": c.t, "q": c.q, "v": c.v}, what.parameters, law.output, law.relative_pivots, law.tolerance
        )
    if isinstance(what, Robot):
        require("jax", "jax")
        symbols = {"t": what.t, "q": what.q, "v": what.v, "u": what.u}
        return JaxFunction(symbols, what.parameters, what.acceleration)
    raise BridgeError(f"JAX takes a Controller or a Robot from here, got {type(what).__name__}")
