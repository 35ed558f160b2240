"""Sampled check that a function of the deviations falls along the solutions of a perturbation equation."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.sampling import SEED
from ...symbolic.validation import positive
from .perturbation import Flow, LyapunovFunction

Array = NDArray[np.float64]

SAMPLES = 2000
ROUNDING = 1e-12
"""Share of the sum of |∂V/∂xᵢ ẋᵢ| up to which dV/dt may be rounding."""


def states_in_ball(size: int, radius: float, until: float = 0.0) -> tuple[Array, Array]:
    """Random states, shape (size, SAMPLES), and times, shape (1, SAMPLES) [s], the same at every call.

    Directions are uniform, radii log-uniform over three decades up to ``radius``, times uniform.

    Args:
        size: number of components of a state.
        radius: the largest ‖x‖.
        until: the latest time [s].
    """
    rng = np.random.default_rng(SEED)
    directions = rng.normal(size=(size, SAMPLES))
    directions /= np.linalg.norm(directions, axis=0)
    states = np.asfortranarray(directions * radius * 10.0 ** rng.uniform(-3.0, 0.0, SAMPLES))
    return states, np.asfortranarray(rng.uniform(0.0, until, (1, SAMPLES)))


def sampled_lyapunov_function(
    name: str,
    flow: Flow,
    value: ca.SX,
    *,
    radius: float,
    statement: str,
    strictly: bool = False,
    until: float = 0.0,
) -> LyapunovFunction:
    """Return V as a Lyapunov function after checking V = 0 at zero, V > 0 and dV/dt ≤ 0 at :func:`states_in_ball`.

    Args:
        name: name of the equation, for messages.
        flow: the equation with numbers for gains.
        value: V, an expression in the flow's state and time.
        radius: largest ‖x‖ of the sampled states, in the unit of the deviations.
        statement: sentence on the sign of dV/dt beyond the samples.
        strictly: True to require dV/dt < 0.
        until: latest sampled time [s].

    Raises:
        ModelError: if V is not positive or rises at a sample; the message states the state and the numbers.
    """
    reach = positive("radius", radius)
    gradient = ca.gradient(value, flow.state)
    derivative = ca.dot(gradient, flow.derivative) + ca.jacobian(value, flow.time)
    scale = ca.sum1(ca.fabs(gradient * flow.derivative)) + ca.fabs(ca.jacobian(value, flow.time))
    outputs = {"V": value, "rate": derivative, "scale": scale}
    kernel = Kernel("lyapunov", {"x": flow.state, "t": flow.time}, outputs, compiled=False)
    size = flow.state.numel()
    states, times = states_in_ball(size, reach, until)
    V, rate, size_of_rate = (np.zeros((1, SAMPLES), order="F") for _ in outputs)
    kernel.loop(SAMPLES, 0, [states, times], [V, rate, size_of_rate])()

    def refuse(i: int, reason: str) -> ModelError:
        state = np.array2string(states[:, i], precision=4)
        return ModelError(
            f"{name} has no Lyapunov function: {reason} at x = {state}, t = {times[0, i]:.4g} s, found among {SAMPLES} "
            f"states with ‖x‖ ≤ {reach:g}; choose another function, other gains or a smaller radius"
        )

    origin = float(kernel(np.zeros(size) if size > 1 else 0.0, 0.0)[0])
    if not abs(origin) <= ROUNDING * float(np.abs(V).max()):
        raise ModelError(f"{name} has no Lyapunov function: V is {origin:.4g} at zero, not 0")
    bad = ~(V[0] > 0.0)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise refuse(i, f"V = {V[0, i]:.4g} is not positive")
    # If V is constant, dV/dt is rounding of either sign: among so many samples it is not always below zero.
    bad = ~(rate[0] < 0.0) if strictly else ~(rate[0] <= ROUNDING * size_of_rate[0])
    if bad.any():
        i = int(np.flatnonzero(bad)[np.argmax(rate[0, bad])])
        raise refuse(i, f"dV/dt = {rate[0, i]:.4g} is not {'negative' if strictly else 'at most zero'}")
    largest = float((rate[0] / np.maximum(size_of_rate[0], np.finfo(np.float64).tiny)).max())
    return LyapunovFunction(value, derivative, flow.state, flow.time, statement, reach, SAMPLES, largest)
