"""How far from its equilibrium a regulator brings a robot back within the limits of its inputs."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.arrays import positive, room_for, step_count
from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.runge_kutta import rk4_step
from .lqr import Lqr

Array = NDArray[np.float64]

BACK = 1e-2
"""Share of the level below which V must have fallen for a state to count as brought back."""


def region_level(
    lqr: Lqr, *, duration: float = 3.0, step: float = 2e-3, samples: int = 100, seed: int = 0, largest: float = 1e3
) -> float:
    """The level ρ such that every sampled state with V = ξᵀPξ = ρ comes back, u cut off at ``robot.limits.effort``.

    States are drawn at random on the level and simulated with the nonlinear closed loop; the level is found by
    bisection to a twentieth. What lies between the samples is not looked at, so that this is an estimate of the region
    of attraction and no proof: take a share of it.

    Args:
        lqr: of a robot without natural constraints and in velocities v = q̇.
        duration: time in which V must fall to a hundredth [s].
        step: of the Runge–Kutta method [s].
        samples: number of states on each level.
        seed: of their directions.
        largest: level up to which it is looked.

    Raises:
        ModelError: for a robot with natural constraints, numbers out of range, or a regulator that brings nothing back.
    """
    robot = lqr.robot
    if robot.natural:
        raise ModelError(f"{robot.name}: states are drawn freely, which its natural constraints do not allow")
    span, h, top = positive("duration", duration), positive("step", step), positive("largest", largest)
    if samples < 1:
        raise ModelError(f"at least one sample is needed, got {samples}")
    line, fall = lqr.linearization, _fall(lqr, h, step_count(span, h))
    with room_for(3.0 * samples * len(line.states), f"{samples:,} states on a level", "take fewer samples"):
        directions = np.random.default_rng(seed).normal(size=(samples, len(line.states)))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    # On V = ρ: ξ = √ρ L⁻ᵀ w with P = L Lᵀ and |w| = 1.
    lower = np.asarray(np.linalg.cholesky(lqr.cost), dtype=np.float64)
    outwards = np.asarray(np.linalg.solve(lower.T, directions.T).T, dtype=np.float64)
    center = np.concatenate([line.q, line.v])

    def holds(level: float) -> bool:
        return all(fall(center + np.sqrt(level) * w) < BACK * level for w in outwards)

    if holds(top):
        return top
    low = 1e-6 * top
    if not holds(low):
        raise ModelError(f"the regulator of {robot.name} does not even bring back states with V = {low:.3g}")
    high = top
    while high / low > 1.05:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _fall(lqr: Lqr, step: float, steps: int) -> Callable[[Array], float]:
    """V after some steps from a state; infinite where the motion diverges."""
    robot, c = lqr.robot, lqr.robot.coordinates
    x, p = ca.vertcat(c.q, c.v), lqr.parameters.symbols
    effort = ca.SX(ca.DM(robot.limits.effort))
    u = ca.fmax(ca.fmin(lqr.law.output, effort), -effort)
    a = robot.drift[0] + robot.mobility(robot.input_matrix @ u)[0]
    f = ca.Function("f", [c.t, x, p], [ca.vertcat(c.N @ c.v, a)], {"cse": True})
    after = rk4_step(lambda t, y: f.call([t, y, p])[0], ca.SX(0), x, step)
    V = ca.substitute(lqr.cost_to_go, x, after)
    kernel = Kernel("regulated_step", {"x": x, "p": p}, {"after": after, "V": V})
    numbers = np.asfortranarray(np.tile(lqr.parameters.values()[:, None], steps))
    start, states, values = (
        np.zeros(x.numel()),
        np.zeros((x.numel(), steps), order="F"),
        np.zeros((1, steps), order="F"),
    )
    run = kernel.loop(steps, 1, [start, numbers], [states, values])

    def fall(state: Array) -> float:
        start[:] = state
        run()
        last = float(values[0, -1])
        return last if np.isfinite(last) else np.inf

    return fall
