"""Steps of an implicit integrator: Newton's method on the equations of a step, one by one or compiled in blocks.

Compiled blocks use a fixed number of iterations where these suffice. Natural rows that may depend on each other are
replaced by an independent basis.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.errors import NotConvergedError, NotFiniteError, SingularProgramError
from ...symbolic.kernel import Kernel
from ...symbolic.linear_algebra import Lu
from ..closed_loop import SymbolicLoop
from ..sample_window import BLOCK
from .integrator import Advance, StepBlock, step_by_step

Array = NDArray[np.float64]
NEWTON_ITERATIONS = 25
TOLERANCE = 1e-14
"""Largest remaining error of the coordinates in a step, relative to the largest of them or to one."""
ROUNDING = 1e-10
"""Relative change below which an iteration that no longer converges is considered converged to rounding."""
WORTH_COMPILING = 12_000
"""Operations of the equations and their slope above which they run in CasADi's virtual machine."""


@dataclass(frozen=True, eq=False)
class StepEquations:
    """Expressions that are evaluated as numbers, or inserted into larger expressions.

    Attributes:
        name: name of the kernel.
        inputs: symbols by name.
        outputs: expressions in them, by name.
    """

    name: str
    inputs: Mapping[str, ca.SX]
    outputs: Mapping[str, ca.SX]

    @classmethod
    def of_residual(cls, name: str, inputs: Mapping[str, ca.SX], residual: ca.SX) -> StepEquations:
        """Build the residual and its slope in the first of the inputs.

        Args:
            name: name of the kernel.
            inputs: the unknowns, shape (n,), then all other symbols of the equations, by name.
            residual: expression that must vanish, shape (n,).
        """
        unknowns = next(iter(inputs.values()))
        return cls(name, inputs, {"residual": residual, "slope": ca.jacobian(residual, unknowns)})

    @functools.cached_property
    def function(self) -> ca.Function:
        """Function for use in expressions."""
        outputs = [ca.densify(output) for output in self.outputs.values()]
        return ca.Function(self.name, list(self.inputs.values()), outputs, {"cse": True})

    @functools.cached_property
    def kernel(self) -> Kernel:
        """Kernel for numbers; machine code unless it is too large."""
        worth = self.function.n_instructions() <= WORTH_COMPILING
        outputs = {key: ca.densify(output) for key, output in self.outputs.items()}
        return Kernel(self.name, self.inputs, outputs, compiled=None if worth else False)


class NewtonStep:
    """Solver of the equations of a run's steps.

    Attributes:
        given: inputs of the equations besides the unknowns, by name; written in place before each step.
        z: the unknowns, shape (n,): the guess, then the solution. The first of them are velocities, which move the
            coordinates during the step.
    """

    def __init__(
        self, equations: StepEquations, velocities: int, who: str, force: tuple[str, float] | None = None
    ) -> None:
        """Bind the arrays.

        Args:
            equations: equations from :meth:`StepEquations.of_residual`.
            velocities: number of unknowns that are velocities.
            who: the plant's name, for messages.
            force: name of the input for a force computed in Python, if any, and the slope of the first equations (as
                many as velocities) in it: a multiple of the identity.
        """
        kernel = equations.kernel
        arrays = [np.zeros(r if c == 1 else (r, c), order="F") for r, c in kernel.inputs.values()]
        self.given = dict(zip(kernel.inputs, arrays, strict=True))
        self.z = arrays[0]
        n = len(self.z)
        self._residual, self._slope = np.zeros(n), np.zeros((n, n), order="F")
        self._run = kernel.bind(arrays, [self._residual, self._slope])
        self._k, self._who, self._force = velocities, who, force
        self._secant = np.zeros((velocities, velocities))
        self._asked: Array | None = None

    def solve(
        self,
        t: float,
        step: float,
        size: float,
        plain: Array,
        *,
        ask: Callable[[Array], Array] | None = None,
        basis: Array | None = None,
    ) -> None:
        """Solve for the unknowns from the guess in ``z``, or from a plain guess if that does not converge.

        A force computed in Python is evaluated in each iteration. Its derivative is unknown: a secant estimate, kept
        from step to step, replaces it, so that the iteration converges where the force is stiff; the second time it is
        estimated by differences.

        Args:
            t: time at the start of the step, for messages [s].
            step: h [s].
            size: largest magnitude of the coordinates, to which changes are compared.
            plain: the second guess, shape (n,).
            ask: function from the unknowns to the force computed in Python, if any.
            basis: orthonormal columns, shape (n, k): the unknowns move in their span only, and only the equations'
                combinations by them are solved. By default all are.

        Raises:
            NotConvergedError: if the iteration does not converge.
            SingularProgramError: if the slope is singular.
            NotFiniteError: if the equations have a value that is not finite.
        """
        try:
            self._iterate(t, step, size, ask, basis)
        except (NotConvergedError, NotFiniteError, SingularProgramError):
            # The extrapolated guess, or a secant, can fail where a motion has just turned.
            self.z[:] = plain
            if ask is not None:
                self._difference(ask)
            self._iterate(t, step, size, ask, basis)

    def _iterate(
        self, t: float, step: float, size: float, ask: Callable[[Array], Array] | None, basis: Array | None
    ) -> None:
        k, unit, before, moved, iteration = self._k, max(1.0, size), 0.0, np.inf, 0
        # Between steps a force also changes for other reasons than the unknowns.
        self._asked = None
        # A secant needs some iterations to become useful.
        patience = 1 if ask is None else 3
        for iteration in range(NEWTON_ITERATIONS):
            if ask is not None:
                self._take(ask(self.z))
            self._run()
            change = self._change(t, basis)
            self.z -= change
            moved = step * float(np.abs(change[:k]).max())
            if not moved < np.inf:
                raise NotFiniteError(
                    f"{self._who}: the equations of the step after t = {t:g} s have a value that is not finite"
                )
            rate = min(1.0, moved / before) if before > 0.0 else float(moved > 0.0)
            if moved * rate <= TOLERANCE * unit or (iteration >= patience and rate > 0.5 and moved <= ROUNDING * unit):
                return
            if ask is None and iteration and moved > before:
                # Beyond, the iteration may converge to another motion: the other configuration in which a linkage
                # closes.
                break
            before = moved
        raise NotConvergedError(
            f"{self._who}: after {iteration + 1} iterations of Newton's method in the step after t = {t:g} s the "
            f"coordinates still change by {moved:.2g}, and the residual of the equations is "
            f"{float(np.abs(self._residual).max()):.2g}. Use steps shorter than {step:g} s; or look for a force or a "
            "law that is discontinuous there, or grows without bound as at the end of a mechanism's reach"
        )

    def _change(self, t: float, basis: Array | None) -> Array:
        slope, residual = self._slope, self._residual
        if self._force is not None and self._secant.any():
            slope = slope.copy()
            slope[: self._k, : self._k] += self._force[1] * self._secant
        try:
            if basis is None:
                return np.asarray(np.linalg.solve(slope, residual), dtype=np.float64)
            return np.asarray(basis @ np.linalg.solve(basis.T @ slope @ basis, basis.T @ residual), dtype=np.float64)
        except np.linalg.LinAlgError as error:
            raise SingularProgramError(
                f"{self._who}: in the step after t = {t:g} s natural constraints depend on each other, or inertia is "
                "missing: the matrix of Newton's method is singular. Use integrator=Reduced(), which passes through "
                "singular positions; shorter steps; or another start"
            ) from error

    def _difference(self, ask: Callable[[Array], Array]) -> None:
        """Estimate the derivative of the force by differences, where the secant has failed."""
        here, there = ask(self.z), self.z.copy()
        for i in range(self._k):
            there[i] += 1e-6 * max(1.0, abs(self.z[i]))
            self._secant[:, i] = (ask(there) - here) / (there[i] - self.z[i])
            there[i] = self.z[i]
        self._secant[~np.isfinite(self._secant)] = 0.0

    def _take(self, force: Array) -> None:
        """Set the force, and update the estimate of its derivative from the last change (Broyden)."""
        assert self._force is not None
        held = self.given[self._force[0]]
        at = self.z[: self._k]
        if self._asked is not None:
            moved = at - self._asked
            square = float(moved @ moved)
            if square > 0.0:
                self._secant += np.outer((force - held - self._secant @ moved) / square, moved)
        self._asked = at.copy()
        held[:] = force


BLOCK_ITERATIONS = 3
"""Number of iterations: a guess with an error of h² becomes accurate to h⁴, h⁸ and h¹⁶."""
ITERATION_NOISE = 1e-12
"""Relative changes of the coordinates that may grow from one iteration to the next."""
WORTH_FUSING = 6_000
"""Operations of a step above which compilation takes seconds, which only many runs would save again."""
FEW, RETRY = 10, 64
"""Fewest compiled steps in a row that count as success, and most steps from Python before the next attempt."""

Step = Callable[[ca.SX, ca.SX, ca.SX, ca.SX], tuple[ca.SX, ca.SX, ca.SX]]
"""Time, h, x and carried quantities → x and carried quantities one step later, and the share of :func:`iterated`."""


class ImplicitMotion(Protocol):
    """Steps from Python, used where compiled ones fail."""

    def follow(self, t: float, x: Array) -> Array:
        """Return the state one step later."""
        ...

    def resume(self, t: float, x: Array, carried: Array) -> None:
        """Continue from a state with the carried quantities of compiled steps."""
        ...

    def carried(self) -> Array:
        """Return the carried quantities of the last step."""
        ...


def iterated(
    equations: Callable[[ca.SX], list[ca.SX]], guess: ca.SX, velocities: int, step: ca.SX, places: ca.SX
) -> tuple[ca.SX, ca.SX]:
    """Return the unknowns after a few Newton iterations, and a share that is at most ``TOLERANCE`` if they suffice.

    The elimination does not pivot: where pivoting is necessary, the iterations do not suffice.

    Args:
        equations: function from the unknowns to residual and slope.
        guess: initial guess of the unknowns, shape (n,).
        velocities: number of unknowns that are velocities.
        step: h [s].
        places: coordinates to which changes are compared.
    """
    z, before, rate, grown = guess, ca.SX(0), ca.SX(1), ca.SX(0)
    size, moved = ca.fmax(1, largest(places)), ca.SX(0)
    for iteration in range(BLOCK_ITERATIONS):
        residual, slope = equations(z)
        change = Lu.of(slope).solve(residual)
        z, moved = z - change, step * largest(change[:velocities, :])
        if iteration:
            grown = ca.logic_or(grown, ca.logic_and(moved > before, moved > ITERATION_NOISE * size))
            rate = ca.fmin(1, moved / ca.fmax(before, 1e-300))
        before = moved
    return z, ca.if_else(grown, np.inf, moved * rate / size)


def largest(column: ca.SX) -> ca.SX:
    """Return the largest absolute element."""
    return ca.mmax(ca.fabs(column))


def is_worth_fusing(equations: StepEquations) -> bool:
    """True if a step may be small enough to be compiled, judging by the equations of one iteration.

    Elimination makes the graph of a step grow with the cube of the number of unknowns: a large one is not even built.

    Args:
        equations: residual and slope of an iteration.
    """
    return BLOCK_ITERATIONS * equations.function.n_instructions() <= WORTH_FUSING


class ImplicitBlocks:
    """Compiled steps of one loop."""

    def __init__(self, loop: SymbolicLoop, step: Step, carried: int) -> None:
        """Derive the kernel of a step.

        Args:
            loop: plant and controller.
            step: the step as expressions.
            carried: number of carried quantities.
        """
        self._loop, self._carried = loop, carried
        s = loop.symbols
        index, h, t0, along = ca.SX.sym("k"), ca.SX.sym("h"), ca.SX.sym("t0"), ca.SX.sym("carried", carried)
        # The time is computed from the index, so that it does not accumulate rounding errors.
        t = t0 + index * h
        after, carried_after, left = step(t, h, s.x, along)
        recorded_at = ca.Function(
            "recorded", [s.t, s.x, s.p], [ca.densify(e) for e in loop.outputs.values()], {"cse": True}
        )
        recorded = dict(zip(loop.outputs, recorded_at.call([t, s.x, s.p]), strict=True))
        self._inputs = {"k": index, "x": s.x, "carried": along, "h": h, "t0": t0, "p": s.p}
        self._outputs = {"next": index + 1, "after": after, "along": carried_after, **recorded, "left": left}
        whole = ca.Function("whole", list(self._inputs.values()), list(self._outputs.values()), {"cse": True})
        self.worth = whole.n_instructions() <= WORTH_FUSING
        self._kernel: Kernel | None = None

    def start(
        self,
        p: Array,
        step: float,
        t0: float,
        motion: Callable[[], ImplicitMotion],
        begin: Callable[[float, Array], Array],
    ) -> Advance:
        """Return an advance by compiled blocks, and from Python where their iterations do not suffice.

        Args:
            p: parameters of plant and controller.
            step: h [s].
            t0: time of the first sample [s].
            motion: function that creates the steps from Python.
            begin: function from time and state of the start to the carried quantities.
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
        called: ImplicitMotion | None = None
        single: Advance | None = None

        def compiled(block: StepBlock, state: Array) -> int:
            """Advance by compiled steps; return the number of samples added to the block."""
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

        def take(block: StepBlock, state: Array) -> None:
            """Take one step from Python."""
            nonlocal called, single
            if called is None or single is None:
                called = motion()
                single = step_by_step(loop.observer(p), called.follow, step, None, t0)
            t = t0 + (block.first + block.filled) * step
            called.resume(t, state, along)
            new, last = slice(block.filled, block.filled + 1), block.last and block.filled + 1 == len(block)
            recorded = {key: place[new] for key, place in block.recorded.items()}
            one = StepBlock(block.first + block.filled, last, block.states[new], recorded, state)
            single(one, state)
            block.after, block.error = one.after, one.error
            block.filled += one.filled
            along[:] = called.carried()

        def advance(block: StepBlock, state: Array) -> None:
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


NOTHING = 1e-7
"""Share of the largest singular value below which a combination of rows counts as zero."""


class NaturalRowBasis:
    """Orthonormal combinations of the rows A in one run, as many as were independent at its start.

    Where the rank is r everywhere, r combinations that are independent at one position have the same zeros near it as
    all rows, and multipliers of these combinations are those of least norm.
    """

    def __init__(self, robot: Robot) -> None:
        """Start with no rows.

        Args:
            robot: robot with the rows; without ``redundant="least-norm"`` all of them are independent.
        """
        self._robot = robot
        self._rank: int | None = None

    def at(self, t: float, rows: Array, further: int = 0) -> Array | None:
        """Return a basis of (velocities, multipliers, further unknowns), shape (nv + m + k, nv + r + k).

        Args:
            t: time, for messages [s].
            rows: A, shape (m, nv).
            further: k, number of unknowns unrelated to the rows.

        Returns:
            The basis, or None where all rows are independent.

        Raises:
            SingularProgramError: if the rank differs from that at the start.
            NotFiniteError: if a row is not finite.
        """
        m, n = rows.shape
        if m == 0 or self._robot.redundant != "least-norm":
            return None
        if not np.isfinite(rows).all():
            raise NotFiniteError(f"{self._robot.name}: natural rows are not finite at t = {t:g} s")
        lengths = np.linalg.norm(rows, axis=1)
        lengths[lengths == 0.0] = 1.0
        left, values, _ = np.linalg.svd(rows / lengths[:, None])
        rank = int(np.count_nonzero(values > NOTHING * max(values[0], 1e-300)))
        if self._rank is None:
            self._rank = rank
        if rank != self._rank:
            raise SingularProgramError(
                f"{self._robot.name}: at t = {t:g} s {rank} natural rows are independent, but {self._rank} were at the "
                "start: a singular position, or loops that have opened. Use integrator=Reduced(), which passes through "
                "singular positions; shorter steps; or another start"
            )
        if rank == m:
            return None
        basis = np.zeros((n + m + further, n + rank + further))
        basis[:n, :n], basis[n + m :, n + rank :] = np.eye(n), np.eye(further)
        # The equations' rows are combined with the same weights, by the rows' lengths.
        basis[n : n + m, n : n + rank] = left[:, :rank] / lengths[:, None]
        return basis
