"""Lexicographic least squares under limits: one priority group of rows after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, unknown_name
from ..program.program import Program
from .optimal_face import OptimalFace
from .problem import BoundedProblemData
from .quadratic_program import ACCURACY, QpSolution, QpSolver, QuadraticProgram, optimality_residual

RowIndices = NDArray[np.intp]


def priority_groups(program: Program, priorities: Iterable[str | Iterable[str]] | None) -> tuple[RowIndices, ...]:
    """Places of the rows of each group, that of the highest priority first.

    Args:
        program: whose constraints are named.
        priorities: names of constraints, or groups of names of equal priority, the highest first; constraints that are
            not named come last, together. All are equal if not given.

    Raises:
        ModelError: for an unknown name, one given twice, or an empty group.
    """
    labels = [label for label, _ in program.linearizations]
    rows = {label: _rows_of(program, i) for i, label in enumerate(labels)}
    wanted = () if priorities is None else priorities
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        raise ModelError(f"priorities must be a sequence of names or groups of names, got {priorities!r}")
    groups: list[list[str]] = []
    for group in wanted:
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
    """Places of the rows of one constraint."""
    blocks = list(dict.fromkeys(program.blocks))
    return np.arange(blocks[index].start, blocks[index].stop)


Array = NDArray[np.float64]

PROXIMAL = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
"""ε of the steps x₊ = argmin f(x) + ε/2 |x − x₀|², as shares of |G|², which make a sum of squares definite where it
leaves inputs free. They tell which bounds push; with these the answer is found exactly, mostly after one step. Bounds
that hardly push need the last ones."""
SLACKENED = (1e-6, 1e-4, 1e-3, 1e-6, 1e-7, 1e-8, 1e-9)
"""The same for what limit rows are exceeded by: the larger ones where no room is left by others."""
CAUTIOUS = 1e-3
"""ε where the solver fails with a smaller one, which rounding may be the cause of."""
ROUGH = 1e-6
"""Share of the numbers that its conditions of optimality are made of by which such a step may miss them."""
GIVEN_UP = 1e-9
"""A limit row is given up that is exceeded by more than this, in its unit."""


@dataclass(frozen=True, eq=False)
class LexicographicSolution:
    """What was found.

    Attributes:
        x: scaled inputs, shape (nu,); None if the solver failed.
        answers: of the solver, by the name of the programme, from which the next tick may start.
        sides: on which bounds of inputs and limit rows the answer of a level lies, by its name, shape (nu + l,).
        pressing: whether each limit row keeps the program from being met better, shape (l,).
        given_up: 1 for a limit row that had to be exceeded above, −1 for one below, shape (l,).
        failed: what was not found, if the solver failed: if there is an x, it serves the groups before that.
        reached: whether the whole program was satisfied.
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
        """Whether limit rows had to be given up."""
        return bool(self.given_up.any())


class LexicographicSolver:
    """Lexicographic least squares under limits.

    1. If an input within all limits satisfies the whole program, the one of least effort ½ uᵀHu of them.
    2. Else, group by group, least |G_g u − r_g|² within the limits, while what the groups before have reached of
       G u stays as it is [Escande2014]_; in the end least effort with what is still free.
    3. If the limit rows of the joints contradict the inputs' bounds, their own least squares come before the program.

    Every level has one answer, up to what the levels after it are free to do, so that the input is unique. A
    programme's answer tells which bounds push; what is kept of it is the exact least squares on these bounds, if it
    satisfies the conditions of optimality, whatever the solver says. Bounds that pushed at the tick before are tried
    first: if they satisfy those conditions again, the level needs no programme.
    """

    def __init__(self, solver: QpSolver, groups: tuple[RowIndices, ...], hard: int) -> None:
        """Keep the solver.

        Args:
            solver: of the quadratic programmes.
            groups: places of the program's rows, the group of the highest priority first.
            hard: so many limit rows, the first ones, can always be kept and are never given up.
        """
        self._solver, self._groups, self._hard = solver, groups, hard

    def solve(self, tick: BoundedProblemData, start: LexicographicSolution | None = None) -> LexicographicSolution:
        """The inputs for one tick.

        Args:
            tick: the problem.
            start: what was found at a tick before, from which the solver may start.
        """
        return _LevelSequence(self._solver, tick, self._hard, start).solve(self._groups)


class _LevelSequence:
    """One tick."""

    def __init__(
        self, solver: QpSolver, tick: BoundedProblemData, hard: int, start: LexicographicSolution | None
    ) -> None:
        self._solver, self._tick, self._hard, self._start = solver, tick, hard, start
        self._answers: dict[str, QpSolution] = {}
        self._sides: dict[str, Array] = {}
        self._lower, self._upper = tick.low / tick.scale, tick.high / tick.scale
        self._given_up = np.zeros(len(tick.rows))
        self._pressing = np.zeros(len(tick.rows), dtype=np.bool_)

    def solve(self, groups: tuple[RowIndices, ...]) -> LexicographicSolution:
        """All levels."""
        start, tick = self._start, self._tick
        # Where the program was out of reach a moment ago it hardly is within; if it is, the other way finds it too.
        if start is None or start.reached:
            whole = self._whole()
            if whole is not None:
                return self._result(whole, reached=True)
        x = np.zeros(len(self._lower)) if start is None or start.x is None else start.x
        relaxed = None
        if start is not None and start.relaxed and "limits" in start.sides:
            relaxed = self._give_up(x, start.given_up, start.sides["limits"])
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
                # What has been reached before keeps the limits, and is more than an old input.
                return self._result(None if face.is_whole else face.x, f"{name} of the program's rows")
            if face.dimension == 0:
                return self._result(face.x)
        eased = self._ease(face)
        return self._result(face.x, "" if eased else "the least effort")

    def _face(self, x: Array) -> OptimalFace:
        tick, given_up = self._tick, self._given_up != 0.0
        least, most = np.where(given_up, -np.inf, tick.least), np.where(given_up, np.inf, tick.most)
        return OptimalFace(x, self._lower, self._upper, tick.rows, least, most)

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
        """The solver's answer, if it satisfies the conditions of optimality."""
        start = self._answers.get(name) or (None if self._start is None else self._start.answers.get(name))
        answer = self._solver.solve(program, start)
        if not optimality_residual(program, answer) <= accuracy:
            # A start may lead an active-set method round in circles.
            answer = answer if start is None else self._solver.solve(program)
            if start is None or not optimality_residual(program, answer) <= accuracy:
                return None
        self._answers[name] = answer
        return answer

    def _nearest(self, name: str, gain: Array, right: Array, face: OptimalFace) -> bool:
        """Move to least |gain · x − right|² within the limits, and let what has been reached stay; whether it was."""
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
        """Move to the least effort of what is left; whether it was found."""
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
        """The bounds that a level's answer was on at the tick before, and those that effort went to in the end."""
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
        """Exceed limit rows by the least squares that the inputs need to keep to the others, if that is found."""
        tick, n, count = self._tick, len(x), len(self._tick.rows)
        if count == self._hard:
            return None
        slack = np.eye(count)[:, self._hard :]
        rows, free = np.hstack((tick.rows, slack)), np.full(count - self._hard, np.inf)
        lower, upper = np.concatenate((self._lower, -free)), np.concatenate((self._upper, free))
        given_up, moved = np.zeros(count), False
        for share in SLACKENED:
            H = np.diag(np.concatenate((np.full(n, share), np.ones(len(free)))))
            g = np.concatenate((-share * x, np.zeros(len(free))))
            program = QuadraticProgram(H, g, rows, tick.least, tick.most, lower, upper)
            answer = self._answer("limits", program, ROUGH)
            if answer is None:
                continue
            x, moved = answer.x[:n], True
            beyond, pushes = answer.x[n:], np.delete(answer.multipliers, np.s_[n : n + len(free)])
            given_up[self._hard :] = np.where(np.abs(beyond) > GIVEN_UP, -np.sign(beyond), 0.0)
            sides = np.where(np.abs(pushes) > GIVEN_UP, np.sign(pushes), 0.0)
            sides[n:][given_up != 0.0] = 0.0
            face = self._give_up(x, given_up, sides)
            if face is not None:
                return face
        if not moved:
            return None
        self._given_up = given_up
        face = self._face(x)
        face.hold(tick.rows[given_up != 0.0])
        return face

    def _give_up(self, x: Array, given_up: Array, sides: Array) -> OptimalFace | None:
        """Exceed these limit rows by the least squares, if none of them need not be exceeded, and no other must."""
        tick, up = self._tick, given_up != 0.0
        self._given_up = given_up
        face = self._face(x)
        if not up.any():
            return face
        rows, right = tick.rows[up], np.where(given_up > 0.0, tick.most, tick.least)[up]
        settled = face.settle(sides, rows, right)
        # A row that pushes would be exceeded, too: it costs nothing as long as it is by little.
        if (
            settled is None
            or settled.pushing[len(x) + self._hard :].any()
            or not ((rows @ face.x - right) * given_up[up] > 0.0).all()
        ):
            self._given_up = np.zeros(len(given_up))
            return None
        self._sides["limits"] = settled.sides
        self._pressing |= settled.pushing[len(x) :] != 0.0
        return face
