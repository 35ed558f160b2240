"""The report of an analysis: what is determined at one state of a program, and what is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..constraints.solvability import Dependence, Rank
from .actuation import Actuation

Array = NDArray[np.float64]

NEARLY = 1e-5
"""A smallest singular value below this is near one that a ProgramController with its usual tolerance refuses."""


@dataclass(frozen=True)
class Condition:
    """One necessary or sufficient condition.

    Attributes:
        holds: whether it does.
        sentence: what it is, and what follows from it.
    """

    holds: bool
    sentence: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Analysis:
    """What can be said of a program at one state: M a + h = Aᵀμ + Θᵀλ with A a = b and Θ a = β.

    Attributes:
        robot: name of the model.
        rank: of Θ.
        ranks: of ``"M"``, ``"A"``, ``"theta"`` and of them stacked, ``"M; A"``, ``"M; theta"``, ``"A; theta"`` and
            ``"M; A; theta"``, each with the singular values on either side of the decision.
        dependences: each row that depends on natural rows or on program rows before it, and how.
        dependent_rows: those among the rows of the program, by name.
        dependent_natural_rows: those among the natural rows.
        contradictions: what each contradictory row misses by, in its unit; empty if the rows are consistent.
        consistent: whether no row contradicts those before it.
        solvable: whether the equations determine the motion: consistent rows and full column rank of [M; A; Θ].
        acceleration_unique: whether there is one acceleration only, if there is any.
        loose: velocities that have neither inertia nor constraint; empty if the acceleration is unique.
        unique_multipliers: rows of the program whose λ is unique.
        unique_reactions: natural rows whose μ is unique.
        acceleration: a, shape (nv,); NaN unless there is exactly one.
        multipliers: λ, shape (m,), of all that belong to that motion those of least norm together with μ.
        reactions: μ, shape (k,), likewise.
        force: R = Θᵀλ, shape (nv,).
        actuation: what the inputs can do.
        realizable: whether the inputs can realise the program here.
        conditions: the conditions of [Deressa2015]_ chapter 1 and what they are worth here, by name.
        linearized_at: the accelerations about which rows nonlinear in them were linearised, shape (nv,).
        branch: at or next to a singular position of the mechanism, that accelerations are those of the branch which the
            velocities are on, or why these do not tell it; empty elsewhere.
        nonlinear: by how much each such row is missed there, in its unit. All else is said of the linearised rows, but
            that nothing is solvable or realizable where one is missed by more than rounding.
    """

    robot: str
    rank: int
    ranks: Mapping[str, Rank]
    dependences: tuple[Dependence, ...]
    dependent_rows: tuple[str, ...]
    dependent_natural_rows: tuple[str, ...]
    contradictions: Mapping[str, float]
    consistent: bool
    solvable: bool
    acceleration_unique: bool
    loose: tuple[str, ...]
    unique_multipliers: tuple[str, ...]
    unique_reactions: tuple[str, ...]
    acceleration: Array
    multipliers: Array
    reactions: Array
    force: Array
    actuation: Actuation
    realizable: bool
    conditions: Mapping[str, Condition]
    branch: str
    linearized_at: Array
    nonlinear: Mapping[str, float]

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        given = self.actuation
        arrays = (self.acceleration, self.multipliers, self.reactions, self.force, self.linearized_at)
        for array in (*arrays, given.missing_rows, given.best, given.missing_force):
            array.setflags(write=False)

    def __str__(self) -> str:
        """The whole report, a line for each finding."""
        nearly = "" if self.branch else "a row nearly depends on others, and what is left of it decides"
        why = ", ".join(self.loose) or nearly
        lines = [
            f"{self.robot}: {'solvable' if self.solvable else 'not solvable'}, "
            f"{'consistent' if self.consistent else 'contradictory'}, acceleration "
            f"{'unique' if self.acceleration_unique else ': '.join(filter(None, ['not unique', why]))}, "
            f"{'realizable' if self.realizable else 'not realizable'} by the inputs",
            *(f"  rank of {f'[{key}]' if ';' in key else key}: {rank}" for key, rank in self.ranks.items()),
            *(f"  dependent: {dependence}" for dependence in self.dependences),
        ]
        if self.branch:
            lines.append(f"  {self.branch}")
        if self.nonlinear:
            missed = ", ".join(f"{name!r} is missed by {miss:.3g}" for name, miss in self.nonlinear.items())
            lines.append(f"  linearised at a = {np.array2string(self.linearized_at, precision=4)}, where {missed}")
        kept = self.ranks["A; theta"].kept
        if kept < NEARLY:
            lines.append(f"  nearly dependent: the smallest singular value of the rows is {kept:.3g} of the largest")
        unreached = self.actuation.unreached
        lines += [
            f"  unique multipliers: {_listed(self.unique_multipliers)}",
            *([f"  unique reactions: {_listed(self.unique_reactions)}"] if self.ranks["A"].full else []),
            f"  no input reaches: {_listed(unreached)}",
        ]
        if not self.realizable:
            lines.append(f"  the rows miss by {np.array2string(self.actuation.missing_rows, precision=4)} at best")
        if np.isfinite(self.actuation.missing_force).all():
            missing = float(np.abs(self.actuation.missing_force).max(initial=0.0))
            lines.append(f"  of the ideal force the inputs cannot give {missing:.3g} at most, in one component")
        width = max(map(len, self.conditions))
        for name, condition in self.conditions.items():
            lines.append(f"  {'yes' if condition.holds else 'no ':3} {name:{width}}  {condition.sentence}")
        return "\n".join(lines)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"
