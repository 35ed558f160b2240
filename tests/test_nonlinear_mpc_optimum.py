"""Predictive control of a nonlinear plant against an optimum that is found without it."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from erugin.controllers import Reference
from erugin.controllers.baselines import NonlinearMPC
from erugin.robots import lagrangian_system

Array = NDArray[np.float64]


def test_a_plan_for_a_pendulum_is_the_optimum_of_scipy() -> None:
    """Single shooting written by hand: another start time, a moving reference, its own input, bounds that are hit."""
    q, v, u = ca.SX.sym("q"), ca.SX.sym("v"), ca.SX.sym("u")
    pendulum = lagrangian_system(q=q, v=v, T=v**2 / 2, V=-9.81 * ca.cos(q), D=0.05 * v**2, Q=u, u=u)
    rate, steps, error, effort, limit, t0, x0 = 4.0, 8, 0.2, 3.0, 6.0, 0.3, np.array([0.9, -1.0])
    controller = NonlinearMPC(
        Reference.of(pendulum, ca.sin(2 * pendulum.t)),
        rate=rate,
        steps=steps,
        error=error,
        effort=effort,
        limits=limit,
        substeps=2,
    )
    h = 4.0 / (rate * steps)

    def slope(x: Array, push: float) -> Array:
        return np.array([x[1], push - 9.81 * np.sin(x[0]) - 0.1 * x[1]])

    def moved(x: Array, push: float) -> Array:
        for _ in range(2):
            first = slope(x, push)
            second = slope(x + h / 4 * first, push)
            third = slope(x + h / 4 * second, push)
            x = x + h / 12 * (first + 2 * second + 2 * third + slope(x + h / 2 * third, push))
        return x

    def cost(pushes: Array) -> float:
        x, total = x0, 0.0
        for k in range(steps + 1):
            s, c = np.sin(2 * (t0 + k * h)), np.cos(2 * (t0 + k * h))
            missed = ((x[0] - s) / error) ** 2 + ((x[1] - 2 * c) / (rate * error)) ** 2
            if k == steps:
                total += float(missed) / (4 * rate)
                break
            own = -4 * s + 9.81 * np.sin(s) + 0.1 * 2 * c
            total += float(h / 2 * (missed + ((pushes[k] - own) / effort) ** 2))
            x = moved(x, float(pushes[k]))
        return total

    best = np.array(minimize(cost, np.zeros(steps), bounds=[(-limit, limit)] * steps, tol=1e-15).x)
    controller.advance(t0, x0[:1], x0[1:])
    plan = controller.plan
    assert plan is not None
    np.testing.assert_allclose(plan.inputs[0], best, atol=1e-5)
    assert 2 <= (best == limit).sum() <= steps - 2
