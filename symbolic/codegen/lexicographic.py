"""The lexicographic programme of limits as C, for one size: ``lexicographic.h`` with its sizes before it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import ModelError
from .c_file import CBlock, packaged_text

LEVELS_OF_LIMITS = 2
"""Levels before those of the groups: limits that can always be satisfied, and the others."""
LEVELS_BESIDE_GROUPS = LEVELS_OF_LIMITS + 1
"""The effort is the last one."""


class LexicographicSizes(NamedTuple):
    """Sizes of a programme.

    Attributes:
        inputs: number of inputs, n.
        limits: number of rows of limits, l.
        hard: number of the first of these that can always be satisfied.
        groups: indices of the program's rows, the group of highest priority first.
    """

    inputs: int
    limits: int
    hard: int
    groups: Sequence[Sequence[int]]

    @property
    def steps(self) -> int:
        """Bound of the steps of one tick, all levels together."""
        return (len(self.groups) + LEVELS_BESIDE_GROUPS) * (20 + 10 * (self.inputs + self.limits))

    def level(self, number: int) -> str:
        """Return the name of a level.

        Args:
            number: its number, as in :class:`LexicographicInfo`.
        """
        group = number - LEVELS_OF_LIMITS + 1
        if group < 1:
            return "the limits"
        return f"group {group} of the program's rows" if group <= len(self.groups) else "the least effort"


def lexicographic_block(sizes: LexicographicSizes) -> CBlock:
    """Return the C function ``lexicographic`` of a programme.

    It reads, in the order of :class:`~erugin.controllers.bounded.lexicographic.BoundedProblemData`, the arrays of the
    problem, and after them the input to hold, shape (n,), NaN if there is none. It writes

    - ``u``: the input, shape (n,);
    - ``missed``: residual of the program, in the unit of each row, 0 for rounding, shape (m,);
    - ``beyond``: excess of each row of limits, in its unit, 0 for rounding, shape (l,);
    - ``relaxed``: 1 for a limit that had to be exceeded above, −1 for one below, shape (l,);
    - ``pressing``: 1 for a row of limits that prevents a better solution of the program, shape (l,);
    - ``info``: :class:`LexicographicInfo`.

    Args:
        sizes: sizes of the programme.

    Raises:
        ModelError: for sizes that are no programme.
    """
    n, limits, hard, groups = sizes
    order = [int(row) for group in groups for row in group]
    if n < 1 or not 0 <= hard <= limits or not order or sorted(order) != list(range(len(order))):
        raise ModelError(
            "a lexicographic programme needs an input, hard ≤ limits, and groups that contain each row once, got "
            f"{n} inputs, {hard} of {limits} limits hard and groups {[list(group) for group in groups]}"
        )
    ends = np.cumsum([len(group) for group in groups]).tolist()
    numbers = {"N": n, "L": limits, "HARD": hard, "M": len(order), "GROUPS": len(groups)}
    text = "\n".join(
        [
            *(f"#define LEX_{name} {number}" for name, number in numbers.items()),
            f"static const int LEX_ROW[] = {{{', '.join(map(str, order))}}};",
            f"static const int LEX_END[] = {{{', '.join(map(str, ends))}}};",
            packaged_text("lexicographic.h"),
        ]
    )
    outputs = {"u": n, "missed": len(order), "beyond": limits, "relaxed": limits, "pressing": limits, "info": 5}
    return CBlock(text, "lexicographic", outputs)


class LexicographicInfo(NamedTuple):
    """Report of the block on one tick, in numbers.

    Attributes:
        status: a :class:`~erugin.controllers.status.Status`: OK, LIMITED, HELD, NOT_FINITE, or NOT_CONVERGED where the
            programme fails and there is no input to hold.
        steps: steps of the active-set method, at most :attr:`LexicographicSizes.steps`.
        residual: greatest residual of the conditions of optimality of all levels, recomputed at the end, as a share of
            their terms; infinite if a level ran out of steps.
        failed: level that failed, −1 if none did: 0 and 1 those of limits, then the groups, then the effort.
        used: 1 if the programme was solved, 0 if the input without limits served.
    """

    status: float
    steps: float
    residual: float
    failed: float
    used: float

    @property
    def reason(self) -> str:
        """Why a level failed."""
        if self.residual == math.inf:
            return "the active set still changed after the last step"
        return "the solver's answer does not satisfy the conditions of optimality"
