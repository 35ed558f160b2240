"""Closed loops in one compiled loop of JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...symbolic.errors import BridgeError
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.runge_kutta import rk4_step
from .export import export

if TYPE_CHECKING:
    from ..common.cross_check_case import CrossCheckCase, Motion


def run_case(case: CrossCheckCase, step: float) -> Motion:
    """Run RK4 in one compiled loop of JAX, with controller and acceleration as JAX functions."""
    jax: Any = import_optional("jax", "jax")
    setup, law = case.setup, case.controller
    c = setup.robot.coordinates
    if not c.are_rates or law.applies_force:
        raise BridgeError(f"{case.name}: the velocities must be rates of the coordinates, and the outputs inputs u")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        control, acceleration = export(law), export(setup.robot)
        own, plant = law.parameters.values(setup.controller_p), setup.robot.parameters.values(setup.p)
        steps, h = case.steps(step)

        def rate(t: Any, x: Any) -> Any:  # noqa: ANN401 - arrays of JAX
            q, v = x[: c.nq], x[c.nq :]
            return jax.numpy.concatenate([v, acceleration(t, q, v, control(t, q, v, own), plant)])

        def follow(x: Any, k: Any) -> Any:  # noqa: ANN401 - likewise
            after = rk4_step(rate, k * h, x, h)
            return after, after

        def rollout(x: Any) -> Any:  # noqa: ANN401 - likewise
            return jax.lax.scan(follow, x, jax.numpy.arange(steps))[1]

        start = jax.numpy.asarray(np.concatenate([setup.q0, setup.v0]))
        states = jax.jit(rollout)(start)
        found = np.concatenate([np.asarray(start)[None], np.asarray(states)])
    finally:
        jax.config.update("jax_enable_x64", before)
    return np.asarray(h * np.arange(steps + 1), dtype=np.float64), np.asarray(found[:, : c.nq], dtype=np.float64)
