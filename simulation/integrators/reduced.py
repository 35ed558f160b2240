"""Integration in generalized coordinates chosen along the motion; compiled while one chart is valid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...robots.manifold.branch import MISFIT, BranchKernels, MotionBranch
from ...robots.manifold.chart import Chart
from ...robots.manifold.manifold import Manifold
from ...robots.manifold.singular_positions import ZONE, is_near_singularity
from ...symbolic.kernel import evaluation_loop
from ..closed_loop import ClosedLoop, SymbolicLoop
from ..sample_window import BLOCK
from .integrator import ENDS, Advance, Integrator, StartRun, StepBlock, step_by_step
from .reduced_step import (
    LARGEST,
    ChartStage,
    ReducedStages,
    ReducedSteps,
    StepFunction,
    chart_shapes,
    factored_operations,
)
from .rk4 import RK4

Array = NDArray[np.float64]

TURNED = 0.3
"""Largest distance of a tangent coordinate from U, relative to the largest one coupled to it."""
FALLEN = 1.0 / 3.0
"""Share of a pivot at the chart down to which the chart is valid, unless a singular position is near."""
MISSED = 1e-13
"""Largest error of positions relative to the largest coordinate."""
LOOPS = (BLOCK, 10, 1)
"""Numbers of steps per attempt."""


@dataclass(frozen=True, eq=False)
class _Loop:
    """Consecutive steps inside CasADi, with storage for inputs and outputs."""

    count: int
    run: Callable[[], None]
    index: Array
    x: Array
    matrices: dict[str, Array]
    after: Array
    recorded: dict[str, Array]
    strain: Array
    missed: Array
    left: Array

    def load(self, first: int, x: Array, matrices: dict[str, Array]) -> None:
        """Set the state at the start, and the chart."""
        self.index[0], self.x[:] = first, x
        for key, room in self.matrices.items():
            room[...] = matrices[key].reshape(-1, 1, order="F")


class ReducedBlocks:
    """Compiled steps of one loop; the kernel is built for the sizes of the charts that occur."""

    def __init__(self, loop: SymbolicLoop, manifold: Manifold) -> None:
        """Store the expressions.

        Args:
            loop: plant and controller.
            manifold: constraint manifold of the plant.
        """
        self._loop, self._manifold = loop, manifold
        self._steps: dict[tuple[tuple[str, tuple[int, int]], ...], tuple[ChartStage, StepFunction] | None] = {}

    def start(self, branch: MotionBranch, steps: ReducedSteps, p: Array, step: float, t0: float) -> Advance:
        """Return an advance by compiled blocks, and step by step where no chart is valid for a whole step.

        Args:
            branch: branch of the motion.
            steps: single steps.
            p: parameters of plant and controller.
            step: h [s].
            t0: time of the first sample [s].
        """
        loop = self._loop
        nq, places = loop.robot.coordinates.nq, self._manifold.position_residual.numel()
        single = step_by_step(steps.observer(p), lambda t, x: steps.follow(t, x, step), step, None, t0)
        loops: dict[int, _Loop] = {}
        matrices: dict[str, Array] | None = None
        level = 0

        def serve(t: float, x: Array) -> bool:
            """Choose the chart of a state; return False near a singular position."""
            nonlocal matrices
            chart = steps.chart_at(t, x)
            q, v = x[:nq], x[nq:]
            near = is_near_singularity(branch, chart, t, q, v, 1.3 * ZONE)
            if not near:
                branch.solve(chart, t, q, v)
            served = None if near or 0 in (*chart.free.shape, chart.rank) else self._step(chart)
            matrices = None if served is None else self._matrices(branch, chart, served[0], t, x, p)
            if served is not None and not loops:
                loops.update({n: self._looped(*served, n, p, step, t0) for n in LOOPS})
            return matrices is not None

        def compiled(block: StepBlock, x: Array) -> int:
            """Advance by compiled steps; return the number of samples added, 0 if the chart is not valid for a step."""
            nonlocal level, matrices
            if matrices is None:
                return 0
            one, at = loops[LOOPS[level]], block.filled
            one.load(block.first + at, x, matrices)
            one.run()
            scale = 1.0 + np.abs(one.after[:nq]).max(axis=0)
            good = (one.strain[0] <= 1.0) & (one.missed[0] <= MISSED * scale)
            # A compiled step solves as many combinations of rows as are independent; redundant ones must be satisfied
            # too.
            usual = np.concatenate([branch.lengths[:places], branch.lengths])[: len(one.left), None]
            allowed = MISFIT * (1.0 + np.abs(one.after).max(axis=0)) * usual
            good &= (np.abs(one.left) <= allowed).all(axis=0)
            served = int(np.argmin(good)) if not good.all() else one.count
            n = min(served, len(block) - at)
            block.states[at : at + n] = np.column_stack([x, one.after[:, : max(n - 1, 0)]])[:, :n].T
            for key, room in block.recorded.items():
                room[at : at + n] = one.recorded[key][:, :n].T
            block.filled += n
            if n:
                block.after = one.after[:, n - 1].copy()
            if served == one.count:
                level = max(level - 1, 0)
                return n
            if served < one.count // 10:
                level = min(level + 1, len(LOOPS) - 1)
            if n == served:
                matrices = None
            return n

        def advance(block: StepBlock, state: Array) -> None:
            nonlocal matrices
            block.after = x = state
            while block.filled < len(block):
                at, t = block.filled, t0 + (block.first + block.filled) * step
                n = compiled(block, x)
                try:
                    if n == 0 and np.isfinite(x).all() and serve(t, x):
                        n = compiled(block, x)
                except ENDS as error:
                    block.error = error
                    return
                if n == 0:
                    take(block, x)
                    if block.error is not None:
                        return
                    matrices = None
                x = block.after
                if (block.recorded["stop"][at : block.filled] > 0.0).any() or not np.isfinite(x).all():
                    return

        def take(block: StepBlock, x: Array) -> None:
            """Take one step from Python."""
            at = block.filled
            new, last = slice(at, at + 1), block.last and at + 1 == len(block)
            recorded = {key: room[new] for key, room in block.recorded.items()}
            one = StepBlock(block.first + at, last, block.states[new], recorded, x)
            single(one, x)
            block.after, block.error = one.after, one.error
            block.filled += one.filled

        return advance

    def _step(self, chart: Chart) -> tuple[ChartStage, StepFunction] | None:
        """Return the step for charts of this size; None if its graph would be too large."""
        shapes = chart_shapes(chart, self._manifold)
        key = tuple(shapes.items())
        if key not in self._steps:
            self._steps[key] = None
            if factored_operations(self._manifold, shapes) <= LARGEST:
                stage = ChartStage(self._loop, self._manifold, shapes)
                self._steps[key] = stage, StepFunction.of(self._loop, stage)
        return self._steps[key]

    def _matrices(
        self, branch: MotionBranch, chart: Chart, stage: ChartStage, t: float, x: Array, p: Array
    ) -> dict[str, Array]:
        q, v = np.split(x, [self._loop.robot.coordinates.nq])
        A, slope = branch.rows(t, q, v)
        N = branch.kinematic_matrix(t, q)
        r, r0 = chart.rank, chart.position_rank
        room, share = np.ones(len(v)), FALLEN
        for i, part in enumerate(branch.manifold.parts):
            room[part.v] = TURNED * np.abs(chart.free[part.v]).sum(axis=1).max(initial=1e-3)
            share = max(share, ZONE * float(branch.typical[i]) / branch.smallest_singular_value(t, q, v, chart, i))
        found = {
            "U": chart.free,
            "room": room,
            "floor": np.zeros(r),
            "floor0": np.zeros(r0),
            "U0": chart.free_positions,
            "W": chart.constrained if "W" in stage.shapes else chart.free,
            "W0": chart.constrained_positions if "W0" in stage.shapes else chart.free,
            "N0": N,
        }
        # Combinations of redundant rows that are independent here.
        for key, rows, rank in (("L", A, r), ("L0", slope @ N, r0)):
            if key in stage.shapes:
                found[key] = np.linalg.svd(rows)[0][:, :rank].T
        given = {key: found[key] for key in stage.shapes}
        pivots = [np.asarray(one).reshape(-1) for one in stage.pivots.call([t, x, p, *given.values()])]
        for key, values in zip(("floor", "floor0"), pivots, strict=True):
            if key in given:
                given[key] = min(share, 1.0 - TURNED) * values
        return given

    def _looped(self, stage: ChartStage, one: StepFunction, count: int, p: Array, step: float, t0: float) -> _Loop:
        index, x = np.zeros(1), np.zeros(self._loop.nx)
        steps, starts = np.full((1, count), step, order="F"), np.full((1, count), t0, order="F")
        numbers = np.asfortranarray(np.tile(p[:, None], (1, count)))
        matrices = {key: np.zeros((r * c, count), order="F") for key, (r, c) in stage.shapes.items()}
        room = {key: np.zeros((r * c, count), order="F") for key, (r, c) in one.outputs.items()}
        given = [index, x, steps, starts, numbers, *matrices.values()]
        run = evaluation_loop(one.function, count, 2, given, list(room.values()))
        recorded = {key: room[key] for key in self._loop.outputs}
        return _Loop(
            count, run, index, x, matrices, room["after"], recorded, room["strain"], room["missed"], room["left"]
        )


@dataclass(frozen=True)
class Reduced(Integrator):
    """The classical Runge–Kutta method in Larin's coordinates, v = V₂ w with A V₂ = 0 [Larin1993]_.

    V₂ᵀM V₂ ẇ + V₂ᵀM (V̇₂ w + v̇_p) = V₂ᵀ(Q − h), where v_p accounts for constraints that move in time. Around a state,
    v = U w + W σ and q = q₀ + N₀U₀ ξ + N₀W₀ η with fixed orthogonal [U W]; σ and η follow from the natural constraints,
    by plane rotations of their rows and by Newton's method, without forming W. Positions and velocities satisfy them to
    rounding, for any number of steps, without gains; the order is 4 in q and v. U is turned towards V₂, with w₊ = U₊ᵀ
    v, when a coordinate of V₂ differs from U by more than 0.3 of the largest in its mechanism, or when the part of a
    row that is independent of those before has fallen to a third.

    The time of a step grows linearly with the number of loops, not with its cube, if each row couples few coordinates.
    Steps of up to twelve thousand operations are compiled; larger ones run in CasADi's virtual machine.

    Redundant rows are harmless as long as they follow from the others; where they do not, the run ends with an error.
    The mass matrix may be singular if V₂ᵀM V₂ is not. The motion passes singular positions, where A loses rank, on the
    branch on which it arrived; see :mod:`erugin.robots.manifold.singular_positions`. Mechanisms that no row couples
    pass theirs independently. It may start in one if its velocities determine the branch. Steps near them are taken
    from Python. Such
    positions are resolved for lengths of a tenth of a metre and more: curves that turn within a centimetre need other
    units, otherwise the branch is lost. Energy is not conserved by construction: its error is that of a method of order
    4.

    Without natural constraints it is :class:`RK4`.

    Attributes:
        halvings: number of times that a step may be halved where the tangent turns too fast for it.
    """

    halvings: int = 6

    @property
    def passes_dependent_rows(self) -> bool:
        """True: independent rows are not required."""
        return True

    def prepare(self, loop: ClosedLoop) -> StartRun:
        """Build the equations of the constraints; the first run builds the kernel of a step, which depends on the rank.

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
            branch = MotionBranch(manifold, p[: len(robot.parameters)], kernels)
            steps = stages.start(branch, p)
            if blocks is not None:
                return blocks.start(branch, steps, p, step, t0)
            return step_by_step(steps.observer(p), lambda t, x: steps.follow(t, x, step), step, loop.corrector(p), t0)

        return start

    def amplification(self, z: complex) -> float:
        """Return that of :class:`RK4`."""
        return RK4().amplification(z)
