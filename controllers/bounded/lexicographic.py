"""Lexicographic least squares under limits: one priority group of rows after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, unknown_name
from ..program.program import Program
from .optimal_face import OptimalFace
from .quadratic_program import ACCURACY, QpSolution, QpSolver, QuadraticProgram, optimality_residual

RowIndices = NDArray[np.intp]


def priority_groups(program: Program, priorities: Iterable[str | Iterable[str]] | None) -> tuple[RowIndices, ...]:
    """Return the indices of the rows of each group, the group of highest priority first.

    Args:
        program: the program with the constraints that are named.
        priorities: names of constraints, or groups of names of equal priority, the highest first; constraints that are
            not named come last, together. All are equal if not given.

    Raises:
        ModelError: for an unknown name, one given twice, or an empty group.
    """
    labels = [label for label, _ in program.linearizations]
    rows = {label: _rows_of(program, i) for i, label in enumerate(labels)}
    desired = () if priorities is None else priorities
    if isinstance(desired, str) or not isinstance(desired, Iterable):
        raise ModelError(f"priorities must be a sequence of names or groups of names, got {priorities!r}")
    groups: list[list[str]] = []
    for group in desired:
        if not isinstance(group, Iterable):
            raise ModelError(f"priorities: a group must be a name of a constraint or several, got {group!r}")
        names = [group] if isinstance(group, str) else list(group)
        if not all(isinstance(name, str) for name in names):
            raise ModelError(f"priorities: a group must be a name of a constraint or several, got {group!r}")
        groups.append(names)
    named: list[str] = []
    for group in groups:
        if not group:
            raise ModelError("priorities: a group must name at least one constraint, got an empty one")
        for name in group:
            if name not in rows:
                raise ModelError(unknown_name("constraint of the program in priorities", str(name), labels))
            if name in named:
                raise ModelError(f"priorities: {name!r} is named twice")
            named.append(name)
    rest = [label for label in labels if label not in named]
    return tuple(np.concatenate([rows[name] for name in group]) for group in [*groups, *([rest] if rest else [])])


def _rows_of(program: Program, index: int) -> RowIndices:
    """Return the indices of the rows of one constraint."""
    blocks = list(dict.fromkeys(program.blocks))
    return np.arange(blocks[index].start, blocks[index].stop)


Array = NDArray[np.float64]

PROXIMAL = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
"""ε of the steps x₊ = argmin f(x) + ε/2 |x − x₀|², as shares of |G|², which make a sum of squares definite where it
leaves inputs free. They find the active bounds, with which the answer is exact, mostly after one step. Bounds with
small multipliers need the last ones."""
SLACKENED = (1e-6, 1e-4, 1e-3, 1e-6, 1e-7, 1e-8, 1e-9)
"""ε for the excess of limit rows: the larger ones if the others leave no feasible point."""
CAUTIOUS = 1e-3
"""ε where the solver fails with a smaller one, possibly by rounding."""
CORRECTIONS = 5
"""Number of trials of a set of limit rows to exceed."""
ROUGH = 1e-6
"""Residual of the conditions of optimality that such a step may have, as a share of their terms."""
GIVEN_UP = 1e-9
"""A limit row counts as given up if it is exceeded by more than this, in its unit."""


@dataclass(frozen=True, eq=False)
class BoundedProblemData:
    """A problem at one state, in inputs x with u = scale · x.

    Attributes:
        input: input of the program without limits, shape (nu,); may be infinite or NaN where its rows are singular.
        fit: greatest excess of that input over its bounds and over the limit rows, greatest residual of the program,
            the last two as a share of their terms; and the greatest of ``short``; shape (4,).
        low: least input that torque, rate and power limits allow, shape (nu,).
        high: greatest input that they allow, shape (nu,).
        scale: scale of the inputs, shape (nu,).
        effort: matrix of the effort ½ xᵀHx, with a diagonal of ones, shape (nu, nu).
        rows: limit rows, shape (l, nu).
        least: lower bounds of the limit rows, shape (l,).
        most: upper bounds of the limit rows, shape (l,).
        row_scale: one over the unit of each limit row, shape (l,).
        gain: program rows, shape (m, nu).
        right: right side of the program rows, shape (m,).
        gain_scale: one over the unit of each program row, shape (m,).
        short: excess of power that rate and bounds cause, of each input, then of their sum [W], shape (nu + 1,).
        total: sum of effort, rows, gain and right: not finite if one of their numbers is not, shape (1,).
    """

    input: Array
    fit: Array
    low: Array
    high: Array
    scale: Array
    effort: Array
    rows: Array
    least: Array
    most: Array
    row_scale: Array
    gain: Array
    right: Array
    gain_scale: Array
    short: Array
    total: Array


@dataclass(frozen=True, eq=False)
class LexicographicSolution:
    """Solution of one tick.

    Attributes:
        x: scaled inputs, shape (nu,); None if the solver failed.
        answers: answers of the solver by name of the programme, from which the next tick may start.
        sides: active bounds of inputs and limit rows at the answer of a level, by its name, shape (nu + l,).
        pressing: True for each limit row that prevents a better solution of the program, shape (l,).
        given_up: 1 for a limit row that had to be exceeded above, −1 for one below, shape (l,).
        failed: level at which the solver failed, if it did: x, if any, then serves the earlier groups.
        reached: True if the whole program is satisfied.
    """

    x: Array | None
    answers: Mapping[str, QpSolution]
    sides: Mapping[str, Array]
    pressing: NDArray[np.bool_]
    given_up: Array
    failed: str = ""
    reached: bool = False

    @property
    def relaxed(self) -> bool:
        """True if limit rows had to be given up."""
        return bool(self.given_up.any())


class LimitLevel(NamedTuple):
    """Limit rows that may be exceeded together.

    Attributes:
        name: name of the level.
        rows: indices of the limit rows.
    """

    name: str
    rows: RowIndices


class LexicographicSolver:
    """Lexicographic least squares under limits.

    1. If inputs within all limits satisfy the whole program, the one of least effort ½ uᵀHu.
    2. Else, group by group, least |G_g u − r_g|² within the limits, with the results G u of earlier groups fixed
       [Escande2014]_; finally least effort in the remaining freedom.
    3. If limit rows contradict the inputs' bounds or each other, their least squares precede the program, level by
       level: positions and speeds of joints, then accelerations.

    Every level has one answer, up to the freedom of later levels, so that the input is unique. A programme's answer
    determines the active bounds; the result is the exact least squares on these bounds, if it satisfies the conditions
    of optimality, whatever the solver reports. The active bounds of the previous tick are tried first: if they satisfy
    those conditions again, the level needs no programme.
    """

    def __init__(self, solver: QpSolver, groups: tuple[RowIndices, ...], levels: tuple[LimitLevel, ...]) -> None:
        """Store the solver.

        Args:
            solver: solver of the quadratic programmes.
            groups: indices of the program's rows, the group of highest priority first.
            levels: limit rows that may be exceeded, those of the highest priority first; the others can always be
                satisfied.
        """
        self._solver, self._groups, self._levels = solver, groups, levels

    def solve(self, tick: BoundedProblemData, start: LexicographicSolution | None = None) -> LexicographicSolution:
        """Solve for the inputs of one tick.

        Args:
            tick: the problem.
            start: solution of an earlier tick, from which the solver may start.
        """
        return _LevelSequence(self._solver, tick, self._levels, start).solve(self._groups)


class _LevelSequence:
    """Solution of the levels of one tick."""

    def __init__(
        self,
        solver: QpSolver,
        tick: BoundedProblemData,
        levels: tuple[LimitLevel, ...],
        start: LexicographicSolution | None,
    ) -> None:
        self._solver, self._tick, self._levels, self._start = solver, tick, levels, start
        self._answers: dict[str, QpSolution] = {}
        self._sides: dict[str, Array] = {}
        self._lower, self._upper = tick.low / tick.scale, tick.high / tick.scale
        self._given_up = np.zeros(len(tick.rows))
        self._pressing = np.zeros(len(tick.rows), dtype=np.bool_)

    def solve(self, groups: tuple[RowIndices, ...]) -> LexicographicSolution:
        """Solve all levels."""
        start, tick = self._start, self._tick
        # If the program was infeasible at the last tick, it probably still is; if not, the levels find it as well.
        if start is None or start.reached:
            whole = self._whole()
            if whole is not None:
                return self._result(whole, reached=True)
        x = np.zeros(len(self._lower)) if start is None or start.x is None else start.x
        relaxed = self._give_up_again(x)
        face = relaxed or self._face(x)
        for number, group in enumerate(groups):
            name, gain, right = f"group {number + 1}", tick.gain[group], tick.right[group]
            found = self._nearest(name, gain, right, face)
            if not found and number == 0 and relaxed is None:
                relaxed = self._relax(face.x)
                if relaxed is not None:
                    face = relaxed
                    found = self._nearest(name, gain, right, face)
            if not found:
                # The result of earlier levels satisfies the limits, and is better than an old input.
                return self._result(None if face.is_whole else face.x, f"{name} of the program's rows")
            if face.dimension == 0:
                return self._result(face.x)
        eased = self._ease(face)
        return self._result(face.x, "" if eased else "the least effort")

    def _face(self, x: Array) -> OptimalFace:
        tick = self._tick
        return OptimalFace(x, self._lower, self._upper, tick.rows, tick.least, tick.most)

    def _open_face(self, x: Array) -> OptimalFace:
        """Return all inputs within the limits that can always be satisfied."""
        face = self._face(x)
        for level in self._levels:
            face.bound(level.rows, -np.inf, np.inf)
        return face

    def _result(self, x: Array | None, failed: str = "", *, reached: bool = False) -> LexicographicSolution:
        return LexicographicSolution(x, self._answers, self._sides, self._pressing, self._given_up, failed, reached)

    def _whole(self) -> Array | None:
        tick = self._tick
        rows = np.vstack((tick.rows, tick.gain))
        least, most = np.concatenate((tick.least, tick.right)), np.concatenate((tick.most, tick.right))
        zero = np.zeros(len(self._lower))
        program = QuadraticProgram(tick.effort, zero, rows, least, most, self._lower, self._upper)
        answer = self._answer("whole", program, ACCURACY)
        return None if answer is None else answer.x

    def _answer(self, name: str, program: QuadraticProgram, accuracy: float) -> QpSolution | None:
        """Return the solver's answer if it satisfies the conditions of optimality, else None."""
        start = self._answers.get(name) or (None if self._start is None else self._start.answers.get(name))
        answer = self._solver.solve(program, start)
        if not optimality_residual(program, answer) <= accuracy:
            # A start may cause an active-set method to cycle.
            answer = answer if start is None else self._solver.solve(program)
            if start is None or not optimality_residual(program, answer) <= accuracy:
                return None
        self._answers[name] = answer
        return answer

    def _nearest(self, name: str, gain: Array, right: Array, face: OptimalFace) -> bool:
        """Move to least |gain · x − right|² within the limits and fix the result; return True if that succeeded."""
        size = float(np.vdot(gain, gain))
        if size == 0.0 or face.dimension == 0:
            return True
        sides = self._tried(name)
        if sides is not None and self._settled(name, face, sides, gain, right):
            return True
        square, moved = gain.T @ gain, False
        for share in PROXIMAL:
            slope = (gain @ face.x - right) @ gain
            answer = self._answer(name, face.program(square, slope, share * size), ROUGH)
            if answer is None:
                answer = self._answer(name, face.program(square, slope, CAUTIOUS * size), ROUGH)
            if answer is None:
                break
            sides, moved = face.sides(answer), True
            face.move(answer.x)
            if self._settled(name, face, sides, gain, right):
                return True
        if moved:
            face.hold(gain)
        return moved

    def _ease(self, face: OptimalFace) -> bool:
        """Move to the least effort in the remaining freedom; return True if that succeeded."""
        H = self._tick.effort
        sides = None if self._start is None else self._start.sides.get("effort")
        if sides is not None and not sides.any() and face.ease(H):
            self._sides["effort"] = sides
            return True
        answer = self._answer("effort", face.program(H, H @ face.x), ACCURACY)
        if answer is None:
            return False
        self._sides["effort"] = face.sides(answer)
        face.move(answer.x)
        return True

    def _tried(self, name: str) -> Array | None:
        """Return the active bounds of a level at the previous tick, with those of the final effort level."""
        if self._start is None:
            return None
        sides, last = self._start.sides.get(name), self._start.sides.get("effort")
        return sides if sides is None or last is None else np.where(sides != 0.0, sides, last)

    def _settled(self, name: str, face: OptimalFace, sides: Array, gain: Array, right: Array) -> bool:
        settled = face.settle(sides, gain, right)
        if settled is None:
            return False
        self._sides[name] = settled.sides
        self._pressing |= settled.pushing[len(self._lower) :] != 0.0
        return True

    def _relax(self, x: Array) -> OptimalFace | None:
        """Exceed limit rows by the least squares that the levels before allow; None if that fails."""
        face: OptimalFace | None = self._open_face(x) if self._levels else None
        for level in self._levels:
            face = None if face is None else self._relax_level(level, face)
        return face

    def _relax_level(self, level: LimitLevel, face: OptimalFace) -> OptimalFace | None:
        tick, rows = self._tick, level.rows
        if face.dimension == 0:
            value = tick.rows[rows] @ face.x
            self._given_up[rows] = np.where(value > tick.most[rows], 1.0, np.where(value < tick.least[rows], -1.0, 0.0))
            return face
        n, given_up, moved = len(face.x), np.zeros(len(rows)), False
        for share in SLACKENED:
            program = face.relaxation(rows, tick.least[rows], tick.most[rows], share)
            answer = self._answer(level.name, program, ROUGH)
            if answer is None:
                continue
            d, moved = face.dimension, True
            face.move(answer.x[:d])
            beyond, pushes = answer.x[d:], np.delete(answer.multipliers, np.s_[d : d + len(rows)])
            given_up = np.where(np.abs(beyond) > GIVEN_UP, -np.sign(beyond), 0.0)
            pushes = pushes[-n - len(tick.rows) :]
            sides = np.where(np.abs(pushes) > GIVEN_UP, np.sign(pushes), 0.0)
            sides[n + rows[given_up != 0.0]] = 0.0
            settled = self._give_up(level, face, given_up, sides)
            if settled is not None:
                return settled
        if not moved:
            return None
        self._given_up[rows] = given_up
        self._bound(level, face, given_up)
        face.hold(tick.rows[rows[given_up != 0.0]])
        return face

    def _give_up_again(self, x: Array) -> OptimalFace | None:
        """Exceed the limit rows that the start exceeded, if that is right again."""
        start = self._start
        if start is None or not start.relaxed:
            return None
        face: OptimalFace | None = self._open_face(x)
        for level in self._levels:
            given_up = start.given_up[level.rows]
            sides = start.sides.get(level.name)
            if sides is None and not given_up.any():
                sides = np.zeros(len(x) + len(self._tick.rows))
            face = None if face is None or sides is None else self._give_up(level, face, given_up, sides)
        if face is None:
            self._given_up[:], self._pressing[:] = 0.0, False
        return face

    def _bound(self, level: LimitLevel, face: OptimalFace, given_up: Array) -> None:
        """Bound the rows of a level, except for those to exceed."""
        least, most, up = self._tick.least[level.rows], self._tick.most[level.rows], given_up != 0.0
        face.bound(level.rows, np.where(up, -np.inf, least), np.where(up, np.inf, most))

    def _give_up(self, level: LimitLevel, face: OptimalFace, given_up: Array, sides: Array) -> OptimalFace | None:
        """Exceed these rows of a level by least squares, up to a few corrections of the guess; None if that fails."""
        tick, n, given_up, sides = self._tick, len(face.x), given_up.copy(), sides.copy()
        for _ in range(CORRECTIONS):
            found, up = face.copy(), given_up != 0.0
            self._bound(level, found, given_up)
            if found.is_whole and not up.any():
                return found
            exceeded = level.rows[up]
            rows, right = tick.rows[exceeded], np.where(given_up[up] > 0.0, tick.most[exceeded], tick.least[exceeded])
            settled = found.settle(sides, rows, right)
            if settled is None:
                return None
            kept = (rows @ found.x - right) * given_up[up] <= GIVEN_UP * (1.0 + np.linalg.norm(found.x))
            # An active row of the level would be exceeded too, since a small excess costs almost nothing.
            pushing = settled.pushing[n + level.rows]
            if not kept.any() and not pushing.any():
                self._given_up[level.rows], self._sides[level.name] = given_up, settled.sides
                self._pressing |= settled.pushing[n:] != 0.0
                return found
            given_up[np.flatnonzero(up)[kept]] = 0.0
            given_up = np.where(pushing != 0.0, pushing, given_up)
            sides[n + level.rows[pushing != 0.0]] = 0.0
        return None
