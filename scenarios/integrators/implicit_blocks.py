"""Blocks of steps of an implicit integrator, compiled with a fixed number of Newton's iterations where they suffice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.elimination import Elimination
from ...symbolic.kernel import Kernel
from ..closed_loop import SymbolicLoop
from .integrator import BLOCK, Advance, Block, step_by_step
from .newton_step import TOLERANCE, Equations

Array = NDArray[np.float64]
ITERATIONS = 3
"""From a guess that is off by h²: by h⁴, h⁸ and h¹⁶."""
NOISE = 1e-12
"""Changes of the coordinates that may grow from one iteration to the next."""
WORTH_COMPILING = 6_000
"""Operations of a step beyond which a compiler takes seconds, which only many runs would save again."""
FEW, RETRY = 10, 64
"""Compiled steps in a row below which some are taken from Python before others are tried, and at most how many."""

Step = Callable[[ca.SX, ca.SX, ca.SX, ca.SX], tuple[ca.SX, ca.SX, ca.SX]]
"""Time, h, x and what is carried along → x and what is carried along one step later, and what :func:`iterated` says."""


class Motion(Protocol):
    """Steps from Python, where compiled ones do not do."""

    def follow(self, t: float, x: Array) -> Array:
        """The state one step later."""
        ...

    def resume(self, t: float, x: Array, carried: Array) -> None:
        """Go on from a state with what compiled steps carry along."""
        ...

    def carried(self) -> Array:
        """What the last step carries along."""
        ...


def iterated(
    equations: Callable[[ca.SX], list[ca.SX]], guess: ca.SX, velocities: int, step: ca.SX, places: ca.SX
) -> tuple[ca.SX, ca.SX]:
    """The unknowns after some of Newton's iterations, and a share that is at most ``TOLERANCE`` if they suffice.

    No row is exchanged in the elimination: where that does harm, the iterations do not suffice.

    Args:
        equations: the unknowns → residual and slope.
        guess: of the unknowns, shape (n,).
        velocities: how many of them are velocities.
        step: h [s].
        places: coordinates that changes are compared with.
    """
    z, before, rate, grown = guess, ca.SX(0), ca.SX(1), ca.SX(0)
    size, moved = ca.fmax(1, largest(places)), ca.SX(0)
    for iteration in range(ITERATIONS):
        residual, slope = equations(z)
        change = Elimination.of(slope).solve(residual)
        z, moved = z - change, step * largest(change[:velocities, :])
        if iteration:
            grown = ca.logic_or(grown, ca.logic_and(moved > before, moved > NOISE * size))
            rate = ca.fmin(1, moved / ca.fmax(before, 1e-300))
        before = moved
    return z, ca.if_else(grown, np.inf, moved * rate / size)


def largest(column: ca.SX) -> ca.SX:
    """Largest absolute element."""
    return ca.mmax(ca.fabs(column))


def is_worth_fusing(equations: Equations) -> bool:
    """Whether a step may be small enough to be compiled, told by the equations of one iteration alone.

    Elimination makes the graph of a step grow with the cube of the unknowns: a large one is not even written down.

    Args:
        equations: residual and slope of an iteration.
    """
    return ITERATIONS * equations.function.n_instructions() <= WORTH_COMPILING


class ImplicitBlocks:
    """Compiled steps of one loop."""

    def __init__(self, loop: SymbolicLoop, step: Step, carried: int) -> None:
        """Derive the kernel of a step.

        Args:
            loop: plant and controller.
            step: as expressions.
            carried: how many numbers are carried along.
        """
        self._loop, self._carried = loop, carried
        s = loop.symbols
        index, h, t0, along = ca.SX.sym("k"), ca.SX.sym("h"), ca.SX.sym("t0"), ca.SX.sym("carried", carried)
        # The time comes from the index, so that it does not gather rounding errors.
        t = t0 + index * h
        after, carried_after, left = step(t, h, s.x, along)
        told = ca.Function("told", [s.t, s.x, s.p], [ca.densify(e) for e in loop.recorded.values()], {"cse": True})
        recorded = dict(zip(loop.recorded, told.call([t, s.x, s.p]), strict=True))
        self._inputs = {"k": index, "x": s.x, "carried": along, "h": h, "t0": t0, "p": s.p}
        self._outputs = {"next": index + 1, "after": after, "along": carried_after, **recorded, "left": left}
        whole = ca.Function("whole", list(self._inputs.values()), list(self._outputs.values()), {"cse": True})
        self.worth = whole.n_instructions() <= WORTH_COMPILING
        self._kernel: Kernel | None = None

    def start(
        self, p: Array, step: float, t0: float, motion: Callable[[], Motion], begin: Callable[[float, Array], Array]
    ) -> Advance:
        """An advance by compiled blocks, and from Python where their iterations do not suffice.

        Args:
            p: parameters of plant and controller.
            step: h [s].
            t0: time of the first sample [s].
            motion: makes the steps from Python.
            begin: what is carried along at the start, from its time and state.
        """
        if self._kernel is None:
            self._kernel = Kernel("implicit_step", self._inputs, self._outputs)
        kernel = self._kernel
        index, x, along = np.zeros(1), np.zeros(self._loop.nx), np.zeros(self._carried)
        steps, starts = np.full((1, BLOCK), step, order="F"), np.full((1, BLOCK), t0, order="F")
        numbers = np.asfortranarray(np.tile(p[:, None], (1, BLOCK)))
        room = {key: np.zeros((r * c, BLOCK), order="F") for key, (r, c) in kernel.outputs.items()}
        run = kernel.loop(BLOCK, 3, [index, x, along, steps, starts, numbers], list(room.values()))
        loop, known, waiting, pause = self._loop, False, 0, 1
        called: Motion | None = None
        single: Advance | None = None

        def compiled(block: Block, state: Array) -> int:
            """Samples that a loop adds to the block."""
            at, wanted = block.filled, len(block) - block.filled
            index[0], x[:] = block.first + at, state
            carried = along.copy()
            run()
            good = np.asarray(room["left"][0, :wanted] <= TOLERANCE, dtype=np.bool_)
            good &= np.isfinite(room["after"][:, :wanted]).all(axis=0)
            if block.last:
                # No step is taken after the last sample.
                good[-1] = True
            n = wanted if good.all() else int(np.argmin(good))
            if n == 0:
                along[:] = carried
                return 0
            block.states[at], block.states[at + 1 : at + n] = state, room["after"][:, : n - 1].T
            for key, place in block.recorded.items():
                place[at : at + n] = room[key][:, :n].T
            block.filled, block.after = at + n, room["after"][:, n - 1].copy()
            along[:] = room["along"][:, n - 1]
            return n

        def take(block: Block, state: Array) -> None:
            """One step from Python."""
            nonlocal called, single
            if called is None or single is None:
                called = motion()
                single = step_by_step(loop.observer(p), called.follow, step, None, t0)
            t = t0 + (block.first + block.filled) * step
            called.resume(t, state, along)
            new, last = slice(block.filled, block.filled + 1), block.last and block.filled + 1 == len(block)
            recorded = {key: place[new] for key, place in block.recorded.items()}
            one = Block(block.first + block.filled, last, block.states[new], recorded, state)
            single(one, state)
            block.after, block.error = one.after, one.error
            block.filled += one.filled
            along[:] = called.carried()

        def advance(block: Block, state: Array) -> None:
            nonlocal known, waiting, pause
            block.after = state
            if not known:
                known, along[:] = True, begin(t0 + block.first * step, state)
            while block.filled < len(block):
                at, now = block.filled, block.after
                if waiting:
                    waiting -= 1
                    take(block, now)
                    if block.error is not None:
                        return
                elif compiled(block, now) < min(FEW, len(block) - at):
                    waiting, pause = pause, min(2 * pause, RETRY)
                else:
                    pause = 1
                stopped = (block.recorded["stop"][at : block.filled] > 0.0).any()
                if stopped or not np.isfinite(block.after).all():
                    return

        return advance
