"""Newton continuation: accelerations of rows nonlinear in them, along one branch from state to state."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.validation import vector
from ..realization import RealizedMotion
from .program import Program

Array = NDArray[np.float64]

ITERATIONS = 60
EXACT = 1e-13
"""Share of the size of x at which the misfit counts as rounding."""
ACCEPTED = 1e-8
"""Share of the size of x below which a misfit that falls no further is a root."""
CONTRACTION = 0.25
"""Each full step on a branch must leave at most this share of the misfit; else its start was too far away."""


@dataclass(frozen=True, eq=False)
class NewtonValues:
    """Equations F(x) = 0 at one place.

    Attributes:
        misfit: F, in the units of x, shape (n,).
        slope: ∂F/∂x, shape (n, n).
        metric: positive semidefinite, shape (n, n): lengths of x and F are taken in it.
        size: the length in the metric that F is small or large beside.
    """

    misfit: Array
    slope: Array
    metric: Array
    size: float

    @property
    def length(self) -> float:
        """|F| in the metric; infinite if it is no number."""
        square = float(self.misfit @ self.metric @ self.misfit)
        return float(np.sqrt(max(square, 0.0))) if np.isfinite(square) else np.inf

    @property
    def relative(self) -> float:
        """|F| as a share of the size."""
        length = self.length
        return length / self.size if self.size > 0.0 else (0.0 if length == 0.0 else np.inf)


@dataclass(frozen=True, eq=False)
class NewtonRoot:
    """Where an iteration ended.

    Attributes:
        x: the place, shape (n,).
        found: whether it is a root.
        relative: |F| there as a share of the size.
        iterations: steps taken.
    """

    x: Array
    found: bool
    relative: float
    iterations: int


Evaluate = Callable[[Array], NewtonValues]


def damped_newton(evaluate: Evaluate, start: Array, iterations: int = ITERATIONS) -> NewtonRoot:
    """Some root, from a start that may be far away: each step is halved until |F| falls by a share of it.

    Where Newton's own direction does not help, that of the fixed-point step, x + F, is taken.

    Args:
        evaluate: x → F, its slope, and the metric.
        start: where to begin, shape (n,).
        iterations: at most so many steps.
    """
    x, values = start, evaluate(start)
    for count in range(iterations):
        length = values.length
        if not np.isfinite(length) or values.relative <= EXACT:
            return NewtonRoot(x, bool(np.isfinite(length)), values.relative, count)
        for direction in (_newton_step(values), values.misfit):
            scale = 1.0
            while scale > 1e-4:
                place = x + scale * direction
                tried = evaluate(place)
                if tried.length <= (1.0 - 0.1 * scale) * length:
                    break
                scale /= 2
            else:
                continue
            break
        else:
            return NewtonRoot(x, values.relative <= ACCEPTED, values.relative, count)
        x, values = place, tried
    return NewtonRoot(x, values.relative <= ACCEPTED, values.relative, iterations)


def contracting_newton(evaluate: Evaluate, start: Array, iterations: int = ITERATIONS) -> NewtonRoot:
    """The root next to the start, or none: full steps only, each of which must leave at most a quarter of |F|.

    This is the step control of continuation methods, [Deuflhard2011]_ chapter 5: the start lies in the region in which
    Newton's method contracts, and so belongs to that root and no other.

    Args:
        evaluate: x → F, its slope, and the metric.
        start: where to begin, shape (n,).
        iterations: at most so many steps.
    """
    x, values = start, evaluate(start)
    for count in range(iterations):
        length = values.length
        if not np.isfinite(length) or values.relative <= EXACT:
            return NewtonRoot(x, bool(np.isfinite(length)), values.relative, count)
        place = x + _newton_step(values)
        tried = evaluate(place)
        if not tried.length <= CONTRACTION * length:
            return NewtonRoot(x, values.relative <= ACCEPTED, values.relative, count)
        x, values = place, tried
    return NewtonRoot(x, values.relative <= ACCEPTED, values.relative, iterations)


def newton_homotopy(
    at: Callable[[float], Evaluate],
    start: Array,
    accepts: Callable[[float, Array], bool],
    shortest: float,
) -> tuple[NewtonRoot, float]:
    """The root at share 1 of a way, followed from the one at share 0 in pieces as long as Newton's method allows.

    Args:
        at: share of the way → x → F, its slope, and the metric.
        start: the root at share 0, shape (n,).
        accepts: whether a root at a share belongs to the same branch as those before it.
        shortest: a piece below which the branch has ended.

    Returns:
        The root at share 1, and 1; or the last place from which there was none, and its share.
    """
    x, done, piece, count = start, 0.0, 1.0, 0
    while True:
        goal = min(1.0, done + piece)
        root = contracting_newton(at(goal), x)
        count += root.iterations
        if root.found and accepts(goal, root.x):
            if goal == 1.0:
                return NewtonRoot(root.x, True, root.relative, count), 1.0
            x, done, piece = root.x, goal, 2 * piece
        else:
            piece /= 2
            if piece < shortest:
                return NewtonRoot(x, False, root.relative, count), done


def _newton_step(values: NewtonValues) -> Array:
    if not np.isfinite(values.slope).all():
        return np.full(values.misfit.shape, np.nan)
    try:
        return np.asarray(np.linalg.solve(values.slope, -values.misfit), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(values.misfit.shape, np.nan)


SHORTEST = 1e-5
"""Share of the way between two states below which a branch that cannot be followed has ended."""


@dataclass(frozen=True, eq=False)
class ContinuationResult:
    """Where the accelerations of one state were found.

    Attributes:
        acceleration: a, shape (nv,); where the iteration ended if it was not found.
        failure: a sentence on why it was not found; empty if it was.
        iterations: Newton steps taken.
    """

    acceleration: Array
    failure: str
    iterations: int


@dataclass(frozen=True, eq=False)
class _BranchPoint:
    place: Array
    acceleration: Array
    rows: Array
    orientation: float
    active: Array


class _ThreadMemory(threading.local):
    """What a thread has solved last: calls of one law in several threads each follow a motion of their own."""

    last: _BranchPoint | None = None
    looked: tuple[Array, Array, dict[str, Array]] | None = None

    def __reduce__(self) -> tuple[type[_ThreadMemory], tuple[()], dict[str, object]]:
        """What this thread has solved goes with a copy."""
        return _ThreadMemory, (), dict(self.__dict__)


class NewtonContinuation:
    """The root of F(a) = A(a) − a, where A(a) is the acceleration that the rows linearized about a ask for.

    At a root the rows hold themselves, and a is the motion under the realisation's own force: for the ideal one a
    stationary point of Gauss's function ½ (a − a₀)ᵀ M (a − a₀) on χ = 0, M a + h = Aᵀμ + χ_aᵀ λ. Newton's method takes
    ∂F/∂a whole, with the second derivatives of χ; where the rows determine a alone it is −1, and the step is that of
    Newton's method on χ.

    The state (t, q, v, p) of the last solve and its a are remembered. The next solve starts from that a; if it lies
    too far away for Newton's method to contract, the way between the two states is gone in shorter pieces, straight in
    (t, q, v, p). Where even a very short piece fails, two branches meet, and the iteration says so instead of going
    over to another. Where a nonlinear row goes on, the search starts anew from the first guess. Each thread remembers
    its own last solve.

    The first search looks for the root next to the guess, then for the one that grows out of it as the rows tighten,
    then for any. From a₀ that is, where there is one, the motion nearest to the free one. It may fail where a root is
    far away behind a fold, and says so.
    """

    def __init__(
        self, program: Program, build: Callable[[Program], RealizedMotion], guess: ArrayLike | ca.SX | None
    ) -> None:
        """Build the one kernel.

        Args:
            program: with rows nonlinear in the accelerations.
            build: program → its motion, as expressions in the accelerations about which the rows are linearized.
            guess: where the first search starts: numbers or an expression in t, q, v and p, shape (nv,); the
                acceleration without control, a₀, if not given.

        Raises:
            ModelError: for a guess of another shape or in other symbols.
        """
        robot, c = program.robot, program.robot.coordinates
        free = robot.unforced_acceleration[0]
        shift, centre = ca.SX.sym("shift", len(program.rows)), ca.SX.sym("centre", c.nv)
        realized = build(program.shifted(shift - program.theta @ centre))
        misfit = realized.acceleration + centre - c.a
        curved = [i for i, affine in enumerate(program.affine) if not affine]
        theta = ca.vertcat(*(program.theta[i, :] for i in curved))
        A, _ = robot.natural_form
        outputs = {
            "misfit": misfit,
            "slope": ca.jacobian(misfit, c.a),
            "metric": robot.mass_matrix + A.T @ ca.diag(robot.augmentation) @ A,
            "free": free,
            "missed": program.theta @ c.a - program.beta,
            "rows": theta,
            "reach": robot.mobility(theta.T)[0],
            "active": program.active,
            "guess": free if guess is None else _guess_expression(program, guess),
        }
        self._names, self._curved = program.rows, curved
        state = {"t": c.t, "q": c.q, "v": c.v, "p": program.parameters.symbols}
        inputs = {"a": c.a, **state, "shift": shift, "centre": centre}
        self._kernel = Kernel("newton_branch", inputs, {key: ca.vec(e) for key, e in outputs.items()})
        self._ends = np.cumsum([symbol.numel() for symbol in state.values()])[:-1]
        self._rows = len(program.rows)
        self._own = _ThreadMemory()

    def reset(self) -> None:
        """Forget the branch: the next search starts from the first guess."""
        self._own.last = None

    def follow(self, t: float, q: Array, v: Array, p: Array) -> ContinuationResult:
        """The acceleration at a state, on the branch of the last one.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters of the program.
        """
        place, last = np.concatenate([[t], q, v, p]), self._own.last
        there = self._look(place, np.zeros(v.size) if last is None else last.acceleration)
        active = there["active"]
        if np.isnan(active).any():
            # Which rows are on is not known: the numbers say so themselves.
            return ContinuationResult(np.full(v.size, np.nan), "", 0)
        if last is None or not np.array_equal(active, last.active):
            new = last is None or bool((active[self._curved] > last.active[self._curved]).any())
            start = there["guess"] if new or last is None else last.acceleration
            root = self._first(place, start)
            failure = "" if root.found else self._not_found(place, root, start)
        else:
            root, share = self._along(last, place)
            failure = "" if root.found else self._ended(last, place, root, share)
        if not failure:
            found = self._look(place, root.x)
            self._own.last = _BranchPoint(place, root.x, found["rows"], _orientation(found["slope"]), active)
        return ContinuationResult(root.x, failure, root.iterations)

    def _first(self, place: Array, guess: Array) -> NewtonRoot:
        """The root next to the guess; or the one that grows out of it; or any that Newton's method reaches from it.

        It grows out of the guess g by F(a) = 0 with the rows shifted by (1 − s) χ(g) and the motion without them by
        (1 − s) (g − a₀): at s = 0 the root is g, at s = 1 it is one of F.
        """
        root = contracting_newton(lambda a: self._values(place, a), guess)
        if root.found:
            return root
        there = self._look(place, guess)
        shift = np.where(there["active"] == 1, there["missed"], 0.0)
        centre = guess - there["free"]
        if np.isfinite(shift).all():

            def at(share: float) -> Evaluate:
                return lambda a: self._values(place, a, (1 - share) * shift, (1 - share) * centre)

            root, _ = newton_homotopy(at, guess, lambda _, __: True, SHORTEST)
            if root.found:
                return root
        return damped_newton(lambda a: self._values(place, a), guess)

    def _along(self, last: _BranchPoint, place: Array) -> tuple[NewtonRoot, float]:
        """The root at ``place`` and 1, or the last start from which there was none and how far along that was."""
        rows = last.rows

        def between(share: float) -> Array:
            return last.place + share * (place - last.place) if share < 1.0 else place

        def at(share: float) -> Evaluate:
            there = between(share)
            return lambda a: self._values(there, a)

        def accepts(share: float, a: Array) -> bool:
            nonlocal rows
            found = self._look(between(share), a)
            same = self._same_side(rows, found) and _orientation(found["slope"]) == last.orientation
            rows = found["rows"] if same else rows
            return same

        return newton_homotopy(at, last.acceleration, accepts, SHORTEST)

    def _same_side(self, before: Array, after: dict[str, Array]) -> bool:
        """Whether the rows point the same way as before: χ_a has not gone through zero in between."""
        on = after["active"][self._curved] == 1
        if not on.any():
            return True
        count = len(self._curved)
        old, reach = before.reshape(count, -1, order="F"), after["reach"].reshape(-1, count, order="F")
        return bool(np.linalg.det((old @ reach)[np.ix_(on, on)]) > 0.0)

    def _values(self, place: Array, a: Array, shift: Array | None = None, centre: Array | None = None) -> NewtonValues:
        found = self._look(place, a, shift, centre)
        n = a.size
        metric, misfit = found["metric"].reshape(n, n), found["misfit"]

        def length(x: Array) -> float:
            square = float(x @ metric @ x)
            return float(np.sqrt(max(square, 0.0))) if np.isfinite(square) else 0.0

        size = max(length(a), length(a + misfit), length(found["free"]))
        return NewtonValues(misfit, found["slope"].reshape(n, n, order="F"), metric, size)

    def _look(
        self, place: Array, a: Array, shift: Array | None = None, centre: Array | None = None
    ) -> dict[str, Array]:
        looked, plain = self._own.looked, shift is None and centre is None
        if plain and looked is not None and np.array_equal(looked[0], place) and np.array_equal(looked[1], a):
            return looked[2]
        shifts = np.zeros(self._rows) if shift is None else shift
        found = self._kernel(a, *np.split(place, self._ends), shifts, np.zeros(a.size) if centre is None else centre)
        values = {key: array.reshape(-1) for key, array in zip(self._kernel.outputs, found, strict=True)}
        if plain:
            self._own.looked = place, a, values
        return values

    def _missed(self, place: Array, a: Array) -> str:
        found = self._look(place, a)
        # Rows affine in a are met by every step: what is left is left by the others.
        curved = np.isin(np.arange(len(self._names)), self._curved) & (found["active"] == 1)
        missed = found["missed"]
        size = np.where(np.isfinite(missed), np.abs(missed), np.inf)
        worst = int(np.argmax(np.where(curved, size, -1.0)))
        return f"row {self._names[worst]!r} is missed by {missed[worst]:.3g}"

    def _not_found(self, place: Array, root: NewtonRoot, start: Array) -> str:
        return (
            f"From the guess {np.array2string(start, precision=4)} no acceleration was found in {root.iterations} "
            f"steps: {self._missed(place, root.x)}. There may be none, or another acceleration_guess is needed."
        )

    def _ended(self, last: _BranchPoint, place: Array, root: NewtonRoot, share: float) -> str:
        t = last.place[0] + share * (place[0] - last.place[0])
        return (
            f"The branch of accelerations followed so far ends at t = {t:g} s, {100 * share:.3g} % of the way from the "
            f"state at t = {last.place[0]:g} s, or meets another one there: {self._missed(place, root.x)} beyond it. "
            "If this state does not follow that one, reset() the controller first."
        )


def _orientation(slope: Array) -> float:
    """Sign of det ∂F/∂a, which changes where two stationary points meet."""
    n = round(slope.size**0.5)
    return float(np.linalg.slogdet(slope.reshape(n, n)).sign)


def _guess_expression(program: Program, guess: ArrayLike | ca.SX) -> ca.SX:
    robot = program.robot
    if not isinstance(guess, ca.SX):
        return ca.SX(ca.DM(vector("acceleration_guess", guess, robot.coordinates.nv)))
    if guess.shape != (robot.coordinates.nv, 1):
        raise ModelError(f"acceleration_guess must have shape ({robot.coordinates.nv},), got {guess.shape}")
    robot.require_own_symbols("acceleration_guess", guess, program.parameters)
    if ca.depends_on(guess, ca.vertcat(robot.u, robot.coordinates.a)):
        raise ModelError("acceleration_guess may use time, coordinates, velocities and parameters only")
    return guess
