"""Systems that compiled loops are tried on, and the plain loop in Python that they are compared with."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.symbolic.compiled_rollout import CompiledRollout, RolloutLoop
from erugin.symbolic.compiler import vector_width
from erugin.symbolic.runge_kutta import CLASSICAL, Tableau

Array = NDArray[np.float64]

EULER = Tableau(((0.0,),), (1.0,), (0.0,))
HEUN = Tableau(((0.0, 0.0), (1.0, 0.0)), (0.5, 0.5), (0.0, 1.0))
THREE_EIGHTHS = Tableau(
    ((0.0,) * 4, (1 / 3, 0.0, 0.0, 0.0), (-1 / 3, 1.0, 0.0, 0.0), (1.0, -1.0, 1.0, 0.0)),
    (1 / 8, 3 / 8, 3 / 8, 1 / 8),
    (0.0, 1 / 3, 2 / 3, 1.0),
)

LANES = sorted({1, vector_width()})


def pendulum(tableau: Tableau = CLASSICAL, *, corrected: bool = False) -> RolloutLoop:
    """A pendulum on a shaken pivot, with friction; the correction, if any, reflects its angle at 4 and -4."""
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("p", 3)
    gravity, friction, shaking = p[0], p[1], p[2]
    rate = ca.vertcat(x[1], -(gravity + shaking * ca.cos(3 * t)) * ca.sin(x[0]) - friction * x[1])
    energy = x[1] ** 2 / 2 - gravity * ca.cos(x[0])
    limited = ca.fmax(ca.fmin(x[0], 4), -4)
    correction = ca.vertcat(2 * limited - x[0], ca.if_else(ca.eq(limited, x[0]), x[1], -x[1] * (1 + 1e-3 * t)))
    reported = {"energy": energy, "nothing": ca.SX(0, 1), "place": ca.vertcat(ca.sin(x[0]), -ca.cos(x[0]), p[1], t)}
    return RolloutLoop(t, x, p, rate, reported, correction if corrected else None, tableau)


@functools.cache
def compiled(lanes: int, tableau: Tableau = CLASSICAL, *, corrected: bool = False) -> CompiledRollout:
    """The pendulum's loop."""
    return compile_march(pendulum(tableau, corrected=corrected), lanes)


def compile_march(march: RolloutLoop, lanes: int) -> CompiledRollout:
    """A loop, if there is a compiler."""
    found = march.compile(lanes)
    assert isinstance(found, CompiledRollout), found
    return found


@dataclass(frozen=True)
class Run:
    """Output of a loop.

    Attributes:
        x: states at the end, shape (K, nx).
        outputs: states and what is recorded before each step, shape (K, n, size) each.
    """

    x: Array
    outputs: list[Array]


def starts(count: int, seed: int = 0) -> tuple[Array, Array]:
    """States and parameters of some pendulums."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-3.0, 3.0, (count, 2)), rng.uniform(0.1, 9.0, (count, 3))


def run(loop: CompiledRollout, x: Array, p: Array, steps: int, *, t0: float = 0.3, h: float = 0.01) -> Run:
    """All systems from their starts."""
    after = x.copy()
    outputs = [np.full((len(x), steps, size), np.pi) for size in loop.sizes]
    loop.run(np.arange(len(x)), 0, t0, h, after, p, outputs)
    return Run(after, outputs)


def by_machine(march: RolloutLoop, x: Array, p: Array, steps: int, *, t0: float = 0.3, h: float = 0.01) -> Run:
    """The same by CasADi's virtual machine, system by system, with the sums of the method written in Python."""
    reported = [ca.densify(march.x), *march.recorded.values()]
    rate = ca.Function("rate", [march.t, march.x, march.p], [march.rate])
    record = ca.Function("record", [march.t, march.x, march.p], reported)
    correct = ca.Function(
        "correct", [march.t, march.x, march.p], [march.x if march.correction is None else march.correction]
    )
    outputs = [np.zeros((len(x), steps, expression.numel())) for expression in reported]
    after = x.copy()
    for row, (state, numbers) in enumerate(zip(after, p, strict=True)):
        for step in range(steps):
            t = t0 + step * h
            for output, value in zip(outputs, record.call([t, state, numbers]), strict=True):
                output[row, step] = np.array(value).ravel()
            k: list[Array] = []
            for a, c in zip(march.tableau.a, march.tableau.c, strict=True):
                stage = state + h * sum((w * s for w, s in zip(a, k, strict=False)), np.zeros(len(state)))
                k.append(np.array(rate(t + c * h, stage, numbers)).ravel())
            state = state + h * sum((w * s for w, s in zip(march.tableau.b, k, strict=True)), np.zeros(len(state)))
            state = np.array(correct(t0 + (step + 1) * h, state, numbers)).ravel()
        after[row] = state
    return Run(after, outputs)
