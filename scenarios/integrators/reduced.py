"""Integration in generalized coordinates that are chosen anew along the motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...robots.branch import Branch
from ...robots.branch_kernels import BranchKernels
from ...robots.manifold import Manifold
from ..closed_loop import ClosedLoop
from .integrator import Advance, Integrator, StartRun, step_by_step
from .reduced_blocks import ReducedBlocks
from .reduced_stages import ReducedStages
from .rk4 import RK4

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Reduced(Integrator):
    """The classical Runge–Kutta method in Larin's coordinates, v = V₂ w with A V₂ = 0 [Larin1993]_.

    V₂ᵀM V₂ ẇ + V₂ᵀM (V̇₂ w + v̇_p) = V₂ᵀ(Q − h), where v_p answers for constraints that move in time. Around a state,
    v = U w + W σ and q = q₀ + N₀U₀ ξ + N₀W₀ η with fixed orthogonal [U W]; σ and η follow from the natural constraints,
    by plane rotations of their rows and by Newton's method, without W being formed. Places and velocities keep them to
    rounding, for any number of steps, without gains; the order is 4 in q and v. U is turned towards V₂ and w₊ = U₊ᵀ v
    carried over when a coordinate of V₂ has gone away from U by more than 0.3 of the greatest in its mechanism, or when
    what is left of a row outside those before it has fallen to a third.

    The time of a step grows with the number of loops, not with its cube, as long as each row ties few coordinates
    together. Steps of up to twelve thousand operations are compiled; larger ones run in the virtual machine.

    Redundant rows are harmless as long as they follow from the others; where they do not, the run ends by name. The
    mass matrix may be singular as long as V₂ᵀM V₂ is not. The motion passes singular positions, where A loses rank, on
    the branch that it came on; see :mod:`erugin.robots.crossing`. Mechanisms that no row ties together pass theirs each
    by itself. It may start in one if its velocities tell the branch. Steps near them are taken from Python. Lengths of
    a tenth of a metre and more are looked at there: curves that turn within a centimetre want other units, and are told
    as lost in metres. Energy is not kept by construction: its error is that of a method of order 4.

    Without natural constraints it is :class:`RK4`.

    Attributes:
        halvings: how often a step may be halved where the tangent turns too fast for it.
    """

    halvings: int = 6

    @property
    def passes_dependent_rows(self) -> bool:
        """True: it needs no independent rows."""
        return True

    def prepare(self, loop: ClosedLoop) -> StartRun:
        """The equations of the constraints; the kernel of a step follows with the first run, which tells the rank.

        Raises:
            ModelError: for natural constraints of order 2.
        """
        robot = loop.robot
        if not robot.natural:
            return RK4().prepare(loop)
        manifold = Manifold.of(robot)
        kernels, symbolic = BranchKernels(manifold), loop.symbolic()
        stages = ReducedStages(loop, self.halvings)
        blocks = None if symbolic is None or loop.correction is not None else ReducedBlocks(symbolic, manifold)

        def start(p: Array, step: float, t0: float) -> Advance:
            branch = Branch(manifold, p[: len(robot.parameters)], kernels)
            steps = stages.start(branch, p)
            if blocks is not None:
                return blocks.start(branch, steps, p, step, t0)
            return step_by_step(steps.observer(p), lambda t, x: steps.follow(t, x, step), step, loop.corrector(p), t0)

        return start

    def amplification(self, z: complex) -> float:
        """That of :class:`RK4`."""
        return RK4().amplification(z)
