"""The inputs that keep their limits and come nearest to a program, one group of rows after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bounded_face import Face
from .bounded_priorities import Rows
from .bounded_problem import BoundedTick
from .quadratic_program import QpAnswer, QpSolver, QuadraticProgram, is_optimal

Array = NDArray[np.float64]

PROXIMAL = (1e-6, 1e-6, 1e-6, 1e-8, 1e-8)
"""ε of the steps x₊ = argmin f(x) + ε/2 |x − x₀|² that make a sum of squares definite where it leaves inputs free; they
become longer where rows are so nearly out of reach that they take more than three."""
SETTLED = 1e-10
"""Steps end when ε |x₊ − x|, by which the gradient is missed, has fallen to this share of it."""
PUSHING = 1e-10
"""A multiplier counts as zero below this share of the largest, or of one,"""
STEP_PUSHES = 1e3
"""or below this many times the ε |x₊ − x| of the last step, which pushes too."""
REACHED = 1e-8
"""Rows are reached that miss their right side by less than this share of the largest, or of one."""


@dataclass(frozen=True, eq=False)
class LevelAnswer:
    """What was found.

    Attributes:
        x: scaled inputs, shape (nu,); None if the solver failed.
        answers: of the solver, by the name of the programme, from which the next tick may start.
        pressing: whether each limit row keeps the program from being met better, shape (l,).
        sides: for the groups that no limit row presses on, which inputs are held at which bound, by name.
        failed: what was not found, if the solver failed: if there is an x, it serves the groups before that.
        reached: whether the whole program was satisfied.
        relaxed: whether limit rows had to be given up.
    """

    x: Array | None
    answers: Mapping[str, QpAnswer]
    pressing: NDArray[np.bool_]
    sides: Mapping[str, Array]
    failed: str = ""
    reached: bool = False
    relaxed: bool = False


class BoundedLevels:
    """Lexicographic least squares under limits.

    1. If an input within all limits satisfies the whole program, the one of least effort ½ uᵀHu of them.
    2. Else, group by group, least |G_g u − r_g|² within the limits, while what the groups before have reached of
       G u stays as it is [Escande2014]_; in the end least effort with what is still free.
    3. If the limit rows of the joints contradict the inputs' bounds, their own least squares come before the program.

    Every programme is strictly convex, so that the input is unique. An answer counts only if it satisfies the
    conditions of optimality, whatever the solver says of it. Bounds that pushed at the tick before are tried first: if
    they satisfy those conditions again, the first group needs no programme.
    """

    def __init__(self, solver: QpSolver, groups: tuple[Rows, ...], hard: int) -> None:
        """Keep the solver.

        Args:
            solver: of the quadratic programmes.
            groups: places of the program's rows, the group of the highest priority first.
            hard: so many limit rows, the first ones, can always be kept and are never given up.
        """
        self._solver, self._groups, self._hard = solver, groups, hard

    def solve(self, tick: BoundedTick, start: LevelAnswer | None = None) -> LevelAnswer:
        """The inputs for one tick.

        Args:
            tick: the problem.
            start: what was found at a tick before, from which the solver may start.
        """
        return _Levels(self._solver, tick, self._hard, start).solve(self._groups)


class _Levels:
    """One tick."""

    def __init__(self, solver: QpSolver, tick: BoundedTick, hard: int, start: LevelAnswer | None) -> None:
        self._solver, self._tick, self._hard, self._start = solver, tick, hard, start
        self._answers: dict[str, QpAnswer] = {}
        self._sides: dict[str, Array] = {}
        self._lower, self._upper = tick.low / tick.scale, tick.high / tick.scale
        self._least, self._most = tick.least, tick.most
        self._relaxed = False
        self._pressing = np.zeros(len(tick.rows), dtype=np.bool_)

    def solve(self, groups: tuple[Rows, ...]) -> LevelAnswer:
        """All levels."""
        # Where the program was out of reach a moment ago it hardly is within; if it is, the other way finds it too.
        if self._start is None or self._start.reached:
            whole = self._whole()
            if whole is not None:
                return LevelAnswer(whole, self._answers, self._pressing, self._sides, reached=True)
        x = np.zeros(len(self._lower)) if self._start is None or self._start.x is None else self._start.x
        face = self._face(x)
        for number, group in enumerate(groups):
            name, gain, right = f"group {number + 1}", self._tick.gain[group], self._tick.right[group]
            found = self._nearest(name, gain, right, face)
            if not found and number == 0 and self._relax(face.x):
                face = self._face(face.x)
                found = self._nearest(name, gain, right, face)
            if not found:
                # What the groups before have reached keeps the limits, and is more than an old input.
                return self._result(face.x if number else None, f"{name} of the program's rows")
            if not face.is_free:
                return self._result(face.x)
        H = self._tick.effort
        eased = self._optimal("effort", face.program(H, H @ face.x))
        if eased is None:
            return self._result(face.x, "the least effort")
        face.move(eased.x)
        return self._result(face.x)

    def _face(self, x: Array) -> Face:
        return Face(x, self._lower, self._upper, self._tick.rows, self._least, self._most)

    def _result(self, x: Array | None, failed: str = "") -> LevelAnswer:
        return LevelAnswer(x, self._answers, self._pressing, self._sides, failed, relaxed=self._relaxed)

    def _whole(self) -> Array | None:
        tick = self._tick
        rows = np.vstack((tick.rows, tick.gain))
        least, most = np.concatenate((tick.least, tick.right)), np.concatenate((tick.most, tick.right))
        zero = np.zeros(len(self._lower))
        answer = self._optimal(
            "whole", QuadraticProgram(tick.effort, zero, rows, least, most, self._lower, self._upper)
        )
        return None if answer is None else answer.x

    def _optimal(self, name: str, program: QuadraticProgram) -> QpAnswer | None:
        start = self._answers.get(name) or (None if self._start is None else self._start.answers.get(name))
        answer = self._solver.solve(program, start)
        if not is_optimal(program, answer):
            # A start may lead an active-set method round in circles.
            answer = answer if start is None else self._solver.solve(program)
            if start is None or not is_optimal(program, answer):
                return None
        self._answers[name] = answer
        return answer

    def _nearest(self, name: str, gain: Array, right: Array, face: Face) -> bool:
        """Move to least |gain · x − right|² within the limits, and let what has been reached stay; whether it was."""
        sides = None if self._start is None else self._start.sides.get(name)
        if sides is not None and face.keeps(sides, gain, right):
            self._sides[name] = sides
            return True
        square, near, last, step = gain.T @ gain, face.x, None, 0.0
        pull, z = square @ near - right @ gain, np.zeros(len(near))
        for eps in PROXIMAL:
            answer = self._optimal(name, face.program(square, pull - eps * z, eps))
            if answer is None:
                break
            after = face.along(answer.x)
            step = eps * float(np.abs(after - z).max(initial=0.0))
            z, last = after, answer
            if step <= SETTLED * (1.0 + np.abs(pull).max(initial=0.0)):
                break
        if last is None:
            return False
        pushes = np.abs(last.multipliers)
        # As long as x moves, the step itself pushes against bounds.
        pushing = pushes > PUSHING * (1.0 + pushes.max(initial=0.0)) + STEP_PUSHES * step
        missed = np.abs(gain @ (near + z) - right).max(initial=0.0)
        if missed <= REACHED * (1.0 + np.abs(right).max(initial=0.0)):
            # No bound keeps from what has been reached.
            pushing[:] = False
        pressing = face.narrow(last, pushing, gain, right)
        self._pressing |= pressing
        if not pressing.any():
            self._sides[name] = face.sides
        return True

    def _relax(self, x: Array) -> bool:
        """Widen the limit rows by the least that lets the inputs keep to them; whether that was found."""
        tick, n, count = self._tick, len(x), len(self._tick.rows)
        if not count:
            return False
        rows, slack = np.hstack((tick.rows, np.eye(count))), np.full(count, np.inf)
        slack[: self._hard] = 0.0
        lower, upper = np.concatenate((self._lower, -slack)), np.concatenate((self._upper, slack))
        for eps in PROXIMAL:
            H = np.diag(np.concatenate((np.full(n, eps), np.ones(count))))
            g = np.concatenate((-eps * x, np.zeros(count)))
            answer = self._optimal("limits", QuadraticProgram(H, g, rows, tick.least, tick.most, lower, upper))
            if answer is None:
                break
            step = eps * float(np.abs(answer.x[:n] - x).max(initial=0.0))
            x, self._relaxed = answer.x[:n], True
            if step <= SETTLED:
                break
        if self._relaxed:
            x = np.minimum(np.maximum(x, self._lower), self._upper)
            reached, rounding = tick.rows @ x, REACHED * (1.0 + np.abs(tick.rows) @ np.abs(x))
            # Were there no room at all, rounding would leave none to the solver.
            self._least = np.where(reached < tick.least, reached - rounding, tick.least)
            self._most = np.where(reached > tick.most, reached + rounding, tick.most)
        return self._relaxed
