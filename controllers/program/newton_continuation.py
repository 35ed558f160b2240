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
from ..law import Fields, select
from ..realization import RealizedMotion
from .program import Program

Array = NDArray[np.float64]

ITERATIONS = 60
EXACT = 1e-13
"""Share of the size of x up to which the misfit counts as rounding."""
ACCEPTED = 1e-8
"""Share of the size of x below which a misfit that stops decreasing counts as a root."""
CONTRACTION = 0.25
"""Each full step on a branch must leave at most this share of the misfit; else its start was too far away."""


@dataclass(frozen=True, eq=False)
class NewtonValues:
    """Equations F(x) = 0 at one point.

    Attributes:
        misfit: F, in the units of x, shape (n,).
        slope: ∂F/∂x, shape (n, n).
        metric: metric of the lengths of x and F, positive semidefinite, shape (n, n).
        size: length in the metric that |F| is compared with.
    """

    misfit: Array
    slope: Array
    metric: Array
    size: float

    @property
    def length(self) -> float:
        """|F| in the metric; infinite if it is NaN."""
        square = float(self.misfit @ self.metric @ self.misfit)
        return float(np.sqrt(max(square, 0.0))) if np.isfinite(square) else np.inf

    @property
    def relative(self) -> float:
        """|F| as a share of the size."""
        length = self.length
        return length / self.size if self.size > 0.0 else (0.0 if length == 0.0 else np.inf)


@dataclass(frozen=True, eq=False)
class NewtonRoot:
    """Result of a Newton iteration.

    Attributes:
        x: last point, shape (n,).
        found: True if it is a root.
        relative: |F| at x as a share of the size.
        iterations: number of steps.
    """

    x: Array
    found: bool
    relative: float
    iterations: int


Evaluate = Callable[[Array], NewtonValues]


def damped_newton(evaluate: Evaluate, start: Array) -> NewtonRoot:
    """Find some root from a start that may be far away, halving each step until |F| decreases sufficiently.

    If the Newton direction does not reduce |F|, the direction of the fixed-point step, x + F, is used.

    Args:
        evaluate: function x → F, its slope, and the metric.
        start: initial x, shape (n,).
    """
    x, values = start, evaluate(start)
    for count in range(ITERATIONS):
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
    return NewtonRoot(x, values.relative <= ACCEPTED, values.relative, ITERATIONS)


def contracting_newton(evaluate: Evaluate, start: Array) -> NewtonRoot:
    """Find the root next to the start, if any, by full steps, each of which must reduce |F| to a quarter or less.

    This is the step control of continuation methods, [Deuflhard2011]_ chapter 5: the start lies in the region in which
    Newton's method contracts, and so belongs to that root and no other.

    Args:
        evaluate: function x → F, its slope, and the metric.
        start: initial x, shape (n,).
    """
    x, values = start, evaluate(start)
    for count in range(ITERATIONS):
        length = values.length
        if not np.isfinite(length) or values.relative <= EXACT:
            return NewtonRoot(x, bool(np.isfinite(length)), values.relative, count)
        place = x + _newton_step(values)
        tried = evaluate(place)
        if not tried.length <= CONTRACTION * length:
            return NewtonRoot(x, values.relative <= ACCEPTED, values.relative, count)
        x, values = place, tried
    return NewtonRoot(x, values.relative <= ACCEPTED, values.relative, ITERATIONS)


def newton_homotopy(
    at: Callable[[float], Evaluate],
    start: Array,
    accepts: Callable[[float, Array], bool],
    shortest: float,
) -> tuple[NewtonRoot, float]:
    """Follow a root from homotopy parameter 0 to 1 in pieces as long as Newton's method allows.

    Args:
        at: function from the homotopy parameter to the function x → F, its slope, and the metric.
        start: the root at 0, shape (n,).
        accepts: function that returns True if a root at a parameter belongs to the same branch as earlier ones.
        shortest: length of a piece below which the branch counts as ended.

    Returns:
        The root at 1, and 1; or the last point of the branch and its parameter.
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
"""Share of the distance between two states below which a branch that cannot be followed has ended."""


@dataclass(frozen=True, eq=False)
class ContinuationResult:
    """Accelerations of one state.

    Attributes:
        acceleration: a, shape (nv,); the last iterate if no root was found.
        failure: sentence on why no root was found; empty if one was.
        iterations: number of Newton steps.
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
    """Last solution of a thread: calls of one law in several threads follow separate motions."""

    last: _BranchPoint | None = None
    looked: tuple[Array, Array, dict[str, Array]] | None = None

    def __reduce__(self) -> tuple[type[_ThreadMemory], tuple[()], dict[str, object]]:
        """Copy with the last solution of this thread."""
        return _ThreadMemory, (), dict(self.__dict__)


class NewtonContinuation:
    """The root of F(a) = A(a) − a, where A(a) is the acceleration required by the rows linearized about a.

    At a root the nonlinear rows hold, and a is the motion under the realisation's force: for the ideal one a
    stationary point of Gauss's function ½ (a − a₀)ᵀ M (a − a₀) on χ = 0, M a + h = Aᵀμ + χ_aᵀ λ. Newton's method uses
    the full ∂F/∂a, with the second derivatives of χ; where the rows alone determine a it is −1, and the step is that of
    Newton's method on χ.

    The state (t, q, v, p) of the last solve and its a are stored. The next solve starts from that a; if it lies too far
    away for Newton's method to contract, the straight line in (t, q, v, p) between the two states is divided into
    shorter pieces. If even a very short piece fails, two branches meet, and the iteration fails instead of changing to
    another branch. When a nonlinear row is switched on, the search starts again from the first guess. Each thread
    stores its last solve separately.

    The first search looks for the root next to the guess, then for the one that continues the guess as the rows
    tighten, then for any. From a₀ that is the motion nearest to the free one, if there is one. The search may fail if a
    root lies beyond a fold, and reports that.
    """

    def __init__(
        self, program: Program, build: Callable[[Program], RealizedMotion], guess: ArrayLike | ca.SX | None
    ) -> None:
        """Build the one kernel.

        Args:
            program: program with rows nonlinear in the accelerations.
            build: function from a program to its motion, as expressions in the accelerations about which the rows are
                linearized.
            guess: start of the first search: numbers or an expression in t, q, v and p, shape (nv,); the
                acceleration without control, a₀, if not given.

        Raises:
            ModelError: for a guess of another shape or in other symbols.
        """
        robot, c = program.robot, program.robot.coordinates
        shift, centre = ca.SX.sym("shift", len(program.rows)), ca.SX.sym("centre", c.nv)
        equations = _equations(program, build(program.shifted(shift - program.theta @ centre)).acceleration + centre)
        free, curved = equations["free"], _curved_rows(program)
        theta = ca.vertcat(*(program.theta[i, :] for i in curved))
        outputs = {
            **equations,
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
        """Reset the branch: the next search starts from the first guess."""
        self._own.last = None

    def follow(self, t: float, q: Array, v: Array, p: Array) -> ContinuationResult:
        """Return the acceleration at a state, on the branch of the last one.

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
            # The rows that are on are unknown; the results are NaN and reported as such.
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
        """Find the root next to the guess; or the one that continues it; or any that Newton's method reaches from it.

        The continuation of the guess g is F(a) = 0 with the rows shifted by (1 − s) χ(g) and the motion without them by
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
        """Return the root at ``place`` and 1, or the last point of the branch and its share of the distance."""
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
        """True if the rows kept their direction: χ_a has not passed through zero in between."""
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
        # Every step satisfies rows affine in a: only the others have a residual.
        curved = np.isin(np.arange(len(self._names)), self._curved) & (found["active"] == 1)
        missed = found["missed"]
        size = np.where(np.isfinite(missed), np.abs(missed), np.inf)
        worst = int(np.argmax(np.where(curved, size, -1.0)))
        return f"row {self._names[worst]!r} is missed by {missed[worst]:.3g}"

    def _not_found(self, place: Array, root: NewtonRoot, start: Array) -> str:
        return (
            f"No acceleration was found from the guess {np.array2string(start, precision=4)} in {root.iterations} "
            f"steps: {self._missed(place, root.x)}. There may be none, or another acceleration_guess is needed."
        )

    def _ended(self, last: _BranchPoint, place: Array, root: NewtonRoot, share: float) -> str:
        t = last.place[0] + share * (place[0] - last.place[0])
        return (
            f"The branch of accelerations followed so far ends at t = {t:g} s, {100 * share:.3g} % of the way from the "
            f"state at t = {last.place[0]:g} s, or meets another one there: {self._missed(place, root.x)} beyond it. "
            "If this state belongs to another motion, call reset() first."
        )


class NewtonSteps:
    """The root of F(a) = 0, as of :class:`NewtonContinuation`, by at most K full Newton steps, as expressions.

    The steps start from the acceleration at the last sample; without one, and where a nonlinear row has been switched
    on since, from the guess. They end at a root, and where a step leaves more than a quarter of the misfit. Only
    this keeps them on the branch: where two branches meet between samples, or the first guess is far from a root, they
    fail, or take another branch, which :class:`NewtonContinuation` would notice.

    Attributes:
        steps: K.
        memory: symbols of the acceleration at the last sample, 1 if there is one, and the rows that were on then.
        acceleration: a, shape (nv,); the last iterate if there is no root.
        found: 1 if it is a root, shape (1,).
        updated: the memory after a sample; unchanged if there is no root.
    """

    def __init__(
        self,
        program: Program,
        build: Callable[[Program], RealizedMotion],
        guess: ArrayLike | ca.SX | None,
        steps: int,
    ) -> None:
        """Write the steps one after the other.

        Args:
            program: program with rows nonlinear in the accelerations.
            build: function from a program to its motion, as in :class:`NewtonContinuation`.
            guess: start of the first search, likewise.
            steps: K.

        Raises:
            ModelError: for a guess of another shape or in other symbols.
        """
        c, self.steps = program.robot.coordinates, steps
        equations = _equations(program, build(program).acceleration)
        metric, free = equations["metric"], equations["free"]
        at = ca.Function("at", [c.a], [equations["misfit"], equations["slope"]], {"allow_free": True})
        fields = Fields({"acceleration": c.nv, "known": 1, "active": len(program.rows)})
        self.memory = ca.SX.sym("Newton_z", len(fields))
        m, curved = fields.split(self.memory), _curved_rows(program)
        first = m["known"] == 0
        for i in curved:
            first = ca.logic_or(first, program.active[i] > m["active"][i])
        x = select(first, free if guess is None else _guess_expression(program, guess), m["acceleration"])

        def length(vector: ca.SX) -> ca.SX:
            # NaN stays NaN, which fmax would not keep.
            square = ca.dot(vector, metric @ vector)
            return ca.sqrt(ca.if_else(square < 0, 0, square))

        def size(x: ca.SX, misfit: ca.SX) -> ca.SX:
            return ca.fmax(ca.fmax(length(x), length(x + misfit)), length(free))

        misfit, slope = at.call([x])
        moves: ca.SX = ca.SX(1)
        for _ in range(steps):
            place = x - ca.solve(slope, misfit)
            tried, steeper = at.call([place])
            inexact = length(misfit) > EXACT * size(x, misfit)
            contracts = length(tried) <= CONTRACTION * length(misfit)
            moves = ca.logic_and(moves, ca.logic_and(inexact, contracts))
            x, misfit = select(moves, place, x), select(moves, tried, misfit)
            slope = ca.reshape(select(moves, ca.vec(steeper), ca.vec(slope)), c.nv, c.nv)
        left = length(misfit)
        self.acceleration, self.found = x, ca.logic_and(left < ca.inf, left <= ACCEPTED * size(x, misfit))
        after = {"acceleration": x, "known": ca.SX(1), "active": program.active}
        self.updated = select(self.found, fields.join(after), self.memory)

    def failure(self, missed: Array, program: Program) -> str:
        """Return the sentence on a state without a root.

        Args:
            missed: residual of each row at the last iterate, shape (m,).
            program: the program.
        """
        curved = _curved_rows(program)
        worst = max(curved, key=lambda i: abs(float(missed[i])) if np.isfinite(missed[i]) else np.inf)
        return (
            f"No acceleration was found within {self.steps} Newton steps from that of the last sample, or, at the "
            f"first one, from the guess: row {program.rows[worst]!r} is missed by {missed[worst]:.3g}. Sample more "
            "often, allow more newton_steps, or omit newton_steps: the branch is then followed in Python, however many "
            "steps it takes."
        )


def _equations(program: Program, required: ca.SX) -> dict[str, ca.SX]:
    """Return F, ∂F/∂a, the metric of their lengths, and the acceleration without control.

    Args:
        program: the program.
        required: A(a), acceleration required by the rows linearized about a, shape (nv,).
    """
    robot, c = program.robot, program.robot.coordinates
    misfit, (A, _) = required - c.a, robot.natural_form
    return {
        "misfit": misfit,
        "slope": ca.densify(ca.jacobian(misfit, c.a)),
        "metric": robot.mass_matrix + A.T @ ca.diag(robot.augmentation) @ A,
        "free": robot.unforced_acceleration[0],
    }


def _curved_rows(program: Program) -> list[int]:
    """Return the indices of the rows that are nonlinear in the accelerations."""
    return [i for i, affine in enumerate(program.affine) if not affine]


def _orientation(slope: Array) -> float:
    """Return the sign of det ∂F/∂a, which changes where two stationary points meet."""
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
