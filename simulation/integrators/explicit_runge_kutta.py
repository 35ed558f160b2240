"""Explicit Runge–Kutta methods with a fixed step: everything but their tableau."""

from __future__ import annotations

from abc import abstractmethod

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers.law import NOTHING, Law
from ...symbolic.compiled_rollout import RolloutLoop
from ...symbolic.kernel import Kernel
from ...symbolic.runge_kutta import Tableau
from ..closed_loop import ClosedLoop, SymbolicLoop
from ..sample_window import BLOCK
from .integrator import Advance, Integrator, StartRun, StepBlock, step_by_step

Array = NDArray[np.float64]


class ExplicitRungeKutta(Integrator):
    """k_i = f(t + c_i h, x + h Σ_j a_ij k_j), x₊ = x + h Σ_i b_i k_i: the controller is evaluated in each stage.

    A symbolic loop runs in machine code from end to end, batches of them in lanes of vector instructions.
    """

    @property
    @abstractmethod
    def tableau(self) -> Tableau:
        """Coefficients a, b and c."""

    def prepare(self, loop: ClosedLoop) -> StartRun:
        """Build one kernel for the whole step, or a Python loop around a controller without a symbolic law.

        Args:
            loop: plant and controller.
        """
        symbolic = loop.symbolic()
        return self._fused(symbolic) if symbolic is not None else self._called(loop)

    def rollout_loop(self, loop: ClosedLoop) -> RolloutLoop | None:
        """Return the loop over steps, or None unless plant and controller are expressions.

        Args:
            loop: plant and controller.
        """
        symbolic = loop.symbolic()
        if symbolic is None:
            return None
        s, corrected = symbolic.symbols, None
        if symbolic.correction is not None:
            corrected = symbolic.correction.call([s.t, s.x, s.p[: symbolic.robot.p.numel()]])[0]
        law = Law(NOTHING) if symbolic.law is None else symbolic.law
        return RolloutLoop(
            s.t,
            s.x,
            s.p,
            symbolic.rate,
            symbolic.outputs,
            corrected,
            self.tableau,
            z=s.z,
            sampled=law.updated,
            w=law.random,
        )

    def amplification(self, z: complex) -> float:
        """|R(z)| = |1 + z bᵀ(E − z a)⁻¹(1, …, 1)ᵀ|.

        Args:
            z: λ h.
        """
        return self.tableau.amplification(z)

    def _fused(self, loop: SymbolicLoop) -> StartRun:
        s = loop.symbols
        k, h, t0 = ca.SX.sym("k"), ca.SX.sym("h"), ca.SX.sym("t0")
        f = ca.Function("f", [s.t, s.x, s.p], [ca.densify(loop.rate)], {"cse": True})
        recorded = ca.Function("g", [s.t, s.x, s.p], [ca.densify(e) for e in loop.outputs.values()])
        # The time is computed from the index, so that it does not accumulate rounding errors.
        t = t0 + k * h
        after = self.tableau.step(lambda time, x: f(time, x, s.p), t, s.x, h)
        if loop.correction is not None:
            after = loop.correction.call([t + h, after, s.p[: loop.robot.p.numel()]])[0]
        kernel = Kernel(
            "runge_kutta_step",
            {"k": k, "x": s.x, "h": h, "t0": t0, "p": s.p},
            {"next": k + 1, "after": after, **dict(zip(loop.outputs, recorded.call([t, s.x, s.p]), strict=True))},
        )

        def start(p: Array, step: float, t0: float) -> Advance:
            after = np.zeros((loop.nx, BLOCK), order="F")
            recorded = {key: np.zeros((size, BLOCK), order="F") for key, size in loop.sizes.items()}
            index, x = np.zeros(1), np.zeros(loop.nx)
            steps, starts = np.full((1, BLOCK), step, order="F"), np.full((1, BLOCK), t0, order="F")
            numbers = np.asfortranarray(np.tile(p[:, None], (1, BLOCK)))
            results = [np.zeros((1, BLOCK), order="F"), after, *recorded.values()]
            run = kernel.loop(BLOCK, 2, [index, x, steps, starts, numbers], results)

            def advance(block: StepBlock, state: Array) -> None:
                n = len(block)
                index[0], x[:] = block.first, state
                run()
                block.states[0], block.states[1:] = state, after[:, : n - 1].T
                for key, room in block.recorded.items():
                    room[:] = recorded[key][:, :n].T
                block.after, block.filled = after[:, n - 1].copy(), n

            return advance

        return start

    def _called(self, loop: ClosedLoop) -> StartRun:
        def start(p: Array, step: float, t0: float) -> Advance:
            f, one_step = loop.derivative(p), self.tableau.step
            return step_by_step(loop.observer(p), lambda t, x: one_step(f, t, x, step), step, loop.corrector(p), t0)

        return start
