"""The lexicographic programme of limits as C, for one size: ``lexicographic.h`` with its sizes before it."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from .block import CBlock
from .packaged_files import packaged_text

Array = NDArray[np.float64]


class LexicographicSizes(NamedTuple):
    """Sizes of a programme.

    Attributes:
        inputs: number of inputs, n.
        levels: number of rows of limits of each level, l together, the level of highest priority first; the rows of the
            first one, which may have none, can always be satisfied.
        groups: indices of the program's rows, the group of highest priority first.
    """

    inputs: int
    levels: Sequence[int]
    groups: Sequence[Sequence[int]]

    @property
    def limits(self) -> int:
        """Number of rows of limits, l."""
        return sum(self.levels)

    @property
    def steps(self) -> int:
        """Bound of the steps of one tick, all levels together; the effort is the last one."""
        return (len(self.levels) + len(self.groups) + 1) * (20 + 10 * (self.inputs + self.limits))

    def level(self, number: int) -> str:
        """Return the name of a level.

        Args:
            number: its number, as in :class:`LexicographicInfo`.
        """
        group = number - len(self.levels) + 1
        if group < 1:
            return "the limits" if number < 2 else f"the limits of priority {number}"
        return f"group {group} of the program's rows" if group <= len(self.groups) else "the least effort"


class Sphere(NamedTuple):
    """A bound |x| ≤ r of a vector whose products n · x with normals are rows of limits.

    Attributes:
        row: index of the first of these rows.
        normals: n, shape (k, 2) or (k, 3).
        radius: r, in the unit of the rows.
    """

    row: int
    normals: Array
    radius: float


def lexicographic_block(sizes: LexicographicSizes, spheres: Sequence[Sphere] = ()) -> CBlock:
    """Return the programme as an operation.

    Its arguments are, in the order of :class:`~erugin.controllers.bounded.lexicographic.BoundedProblemData`, the arrays
    of the problem, and after them the input to hold, ``hold``, shape (n,), NaN without an earlier one. Its results are

    - ``u``: the input, shape (n,);
    - ``missed``: residual of the program, in the unit of each row, 0 for rounding, shape (m,);
    - ``beyond``: excess of each row of limits, in its unit, 0 for rounding, shape (l,); that over a sphere, in place of
      those of its rows, at the row of the largest one;
    - ``relaxed``: 1 for a limit that had to be exceeded above, −1 for one below, shape (l,);
    - ``pressing``: 1 for a row of limits that prevents a better solution of the program, shape (l,);
    - ``info``: :class:`LexicographicInfo`.

    Args:
        sizes: sizes of the programme.
        spheres: spheres whose excess is reported in place of those of their rows.

    Raises:
        ModelError: for sizes that are no programme.
    """
    n, levels, groups = sizes
    order = [int(row) for group in groups for row in group]
    if n < 1 or not levels or min(levels) < 0 or not order or sorted(order) != list(range(len(order))):
        raise ModelError(
            "a lexicographic programme needs an input, the number of rows of each level of limits, and groups that "
            f"contain each row once, got {n} inputs, levels {list(levels)} and groups {[list(g) for g in groups]}"
        )
    limits = sizes.limits
    numbers = {"N": n, "L": limits, "LIMITS": len(levels), "M": len(order), "GROUPS": len(groups)}
    integers = {
        "LIMIT_END": np.cumsum(levels).tolist(),
        "ROW": order,
        "END": np.cumsum([len(group) for group in groups]).tolist(),
        "SPHERE_ROW": [sphere.row for sphere in spheres],
        "SPHERE_ROWS": [len(sphere.normals) for sphere in spheres],
        "SPHERE_AXES": [sphere.normals.shape[1] for sphere in spheres],
    }
    reals = {
        "SPHERE_RADIUS": [sphere.radius for sphere in spheres],
        "SPHERE_INVERSE": [x for sphere in spheres for x in np.linalg.pinv(sphere.normals).ravel().tolist()],
    }
    text = "\n".join(
        [
            *(f"#define LEX_{name} {number}" for name, number in (numbers | {"SPHERES": len(spheres)}).items()),
            *(f"static const int LEX_{name}[] = {{{_listed(array)}}};" for name, array in integers.items()),
            *(f"static const double LEX_{name}[] = {{{_listed(array)}}};" for name, array in reals.items()),
            packaged_text("lexicographic.h"),
        ]
    )
    m, sized = len(order), {"effort": n * n, "rows": limits * n}
    inputs = {"input": n, "fit": 4, "low": n, "high": n, "scale": n} | sized
    inputs |= {"least": limits, "most": limits, "row_scale": limits, "gain": m * n, "right": m, "gain_scale": m}
    inputs |= {"short": n + 1, "total": 1, "hold": n}
    outputs = {"u": n, "missed": m, "beyond": limits, "relaxed": limits, "pressing": limits, "info": 5}
    # A file can contain the programmes of several laws, whose names must differ.
    tag = hashlib.sha256(text.encode()).hexdigest()[:8]
    own = re.sub(r"\b(LEX|lex)_", rf"\g<1>{tag}_", text)
    own = re.sub(r"\bLex(?=[A-Z])", f"Lex{tag}", re.sub(r"\blexicographic\(", f"lexicographic_{tag}(", own))
    c, most, each = n + limits, max(n, limits, m), len(levels) + len(groups) + 1
    # The arrays of lex_programme and of what it calls; GCC takes a third more, and saves registers.
    stack = 3 * n * n + limits * n + m * n + 9 * c + each * (n * n + n + c) + 4 * (m + limits) + 3 * most * (n + 1)
    return CBlock(f"lexicographic_{tag}", own, inputs, outputs, sizes.steps, 11 * stack + 1200)


def _listed(numbers: Sequence[float]) -> str:
    """Return the numbers of an array in C, of one that is not empty."""
    return ", ".join(map(repr, numbers)) or "0"


class LexicographicInfo(NamedTuple):
    """Report of the block on one tick, in numbers.

    Attributes:
        status: a :class:`~erugin.controllers.status.Status`: OK, LIMITED, HELD, NOT_FINITE, or NOT_CONVERGED where the
            programme fails and there is no input to hold.
        steps: steps of the active-set method, at most :attr:`LexicographicSizes.steps`.
        residual: greatest residual of the conditions of optimality of all levels, recomputed at the end, as a share of
            their terms; infinite if a level ran out of steps.
        failed: level that failed, −1 if none did: first those of limits, then the groups, then the effort.
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
