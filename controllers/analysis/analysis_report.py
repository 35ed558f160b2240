"""The report of an analysis at one state of a program: uniqueness, solvability conditions by name, and actuation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...constraints.solvability import ConstrainedMotion, Dependence, Rank, Solvability, null_spaces
from ...constraints.solvers.constrained_solver import truncated_solution

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Actuation:
    """Solvability of M a + h = B u + Aᵀμ, A a = b and Θ a = β for the inputs u.

    Attributes:
        realizable: True if some u satisfies them.
        reach: rank of the effect of inputs on Θ a; if it equals the number of rows, the program is realisable for
            any β.
        unreached: rows of the program that no input changes.
        missing_rows: Θ a − β at the best inputs, in the unit of each row, shape (m,).
        best: u nearest to the ideal force R, in the metric M⁻¹, shape (nu,); NaN without such a force.
        missing_force: R − B u − Aᵀμ at that u, shape (nv,). It may be large although the program is realisable, by
            another motion than that of the ideal force.
    """

    realizable: bool
    reach: Rank
    unreached: tuple[str, ...]
    missing_rows: Array
    best: Array
    missing_force: Array


def actuation(
    natural: ConstrainedMotion,
    program: ConstrainedMotion,
    B: Array,
    ideal: Array | None,
    *,
    tolerance: float,
    consistency: float,
) -> Actuation:
    """Analyse the reach of the inputs.

    The accelerations that inputs can cause are a₀ + N z with N from the null space of [M −B −Aᵀ; A 0 0]; their effect
    on the rows is Θ N.

    Args:
        natural: equations with M, −h, A and b.
        program: equations with M, −h, Θ and β, in the same units of velocities.
        B: input matrix, shape (nv, nu).
        ideal: R = Θᵀλ, shape (nv,), if there is one.
        tolerance: share of the largest singular value below which a singular value counts as zero.
        consistency: the residual of a row counts from this share of its terms, or of one unit of the row.
    """
    S, theta, beta = natural.velocity_scale, program.rows * natural.velocity_scale, program.right
    M, A = natural.scaled_mass, natural.scaled_rows
    k, n = A.shape
    drives = S[:, None] * B
    strength = np.linalg.norm(drives, axis=0)
    drives = drives / np.where(strength > 0.0, strength, 1.0)
    free = np.block([[M, -drives, -A.T], [A, np.zeros((k, B.shape[1] + k))]])
    right = np.concatenate([S * natural.force, natural.row_scale * natural.right])
    rank, _, still = null_spaces(free, tolerance)
    start = truncated_solution(free, right, rank.value)
    rest = free @ start - right
    possible = bool(np.abs(rest).max(initial=0.0) <= consistency * max(1.0, float(np.abs(right).max(initial=0.0))))
    # Some directions change no acceleration and leave only rounding in the product with the rows.
    F = program.row_scale
    gain = (F[:, None] * theta) @ still[:n]
    silent = np.abs(gain).max(axis=1, initial=0.0) <= tolerance
    reach = replace(null_spaces(gain, tolerance)[0], full=len(gain))
    desired = F * beta - F[:, None] * theta @ start[:n]
    change = truncated_solution(gain, desired, reach.value) if reach.value else np.zeros(gain.shape[1])
    missed = (gain @ change - desired) / F
    size = np.abs(beta) + np.abs(theta) @ np.abs(start[:n] + still[:n] @ change)
    best, missing = np.full(B.shape[1], np.nan), np.full(n, np.nan)
    if ideal is not None:
        best, missing = _nearest(M, drives, A, S * ideal, tolerance)
        best, missing = best / np.where(strength > 0.0, strength, 1.0), missing / S
    return Actuation(
        realizable=possible and bool((np.abs(missed) <= consistency * np.maximum(1.0, size)).all()),
        reach=reach,
        unreached=tuple(name for name, none in zip(program.names, silent, strict=True) if none),
        missing_rows=missed,
        best=best,
        missing_force=missing,
    )


def _nearest(M: Array, drives: Array, A: Array, R: Array, tolerance: float) -> tuple[Array, Array]:
    """Return u and R − B u − Aᵀμ of least length in the metric (M + AᵀA)⁻¹, or the unit metric if that is singular."""
    metric = M + A.T @ A
    values, vectors = np.linalg.eigh(metric)
    definite = bool(values.size and values[0] > tolerance * values[-1])
    weigh = (vectors / np.sqrt(values)).T if definite else np.eye(len(R))
    pushes = np.hstack([drives, A.T])
    whole = weigh @ pushes
    rank = null_spaces(whole, tolerance)[0].value
    x = truncated_solution(whole, weigh @ R, rank) if rank else np.zeros(pushes.shape[1])
    return x[: drives.shape[1]], np.asarray(R - pushes @ x, dtype=np.float64)


NEARLY = 1e-5
"""A smallest singular value below this is near the limit of a ProgramController with its default tolerance."""


@dataclass(frozen=True)
class SolvabilityCondition:
    """Necessary or sufficient condition of solvability.

    Attributes:
        holds: True if the condition holds.
        sentence: statement of the condition and its consequence.
    """

    holds: bool
    sentence: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Analysis:
    """Analysis of a program at one state: M a + h = Aᵀμ + Θᵀλ with A a = b and Θ a = β.

    Attributes:
        robot: name of the model.
        rank: rank of Θ.
        ranks: ranks of ``"M"``, ``"A"``, ``"theta"`` and of them stacked, ``"M; A"``, ``"M; theta"``, ``"A; theta"``
            and ``"M; A; theta"``, each with the singular values on either side of the decision.
        dependences: each row that depends on natural rows or on earlier program rows, and how.
        dependent_rows: names of the dependent rows of the program.
        dependent_natural_rows: names of the dependent natural rows.
        contradictions: residual of each contradictory row, in its unit; empty if the rows are consistent.
        consistent: True if no row contradicts earlier ones.
        solvable: True if the equations determine the motion: consistent rows and full column rank of [M; A; Θ].
        acceleration_unique: True if there is at most one acceleration.
        loose: velocities that have neither inertia nor constraint; empty if the acceleration is unique.
        unique_multipliers: rows of the program whose λ is unique.
        unique_reactions: natural rows whose μ is unique.
        acceleration: a, shape (nv,); NaN unless there is exactly one.
        multipliers: λ, shape (m,); of all that belong to that motion, those of least norm together with μ.
        reactions: μ, shape (k,), of least norm together with λ.
        force: R = Θᵀλ, shape (nv,).
        actuation: reach of the inputs.
        realizable: True if the inputs can realise the program at this state.
        conditions: the conditions of [Deressa2015]_ chapter 1, evaluated at this state, by name.
        linearized_at: the accelerations about which rows nonlinear in them were linearised, shape (nv,).
        branch: at or next to a singular position of the mechanism, a sentence that accelerations are those of the
            branch that the velocities are on, or why the velocities do not determine it; empty elsewhere.
        nonlinear: residual of each such row at those accelerations, in its unit. All other results refer to the
            linearised rows, but nothing is solvable or realizable if a residual is larger than rounding.
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
    conditions: Mapping[str, SolvabilityCondition]
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
        """Return the whole report, one line per result."""
        nearly = "" if self.branch else "a row nearly depends on others, and its small remainder decides"
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
        kept = self.ranks["A; theta"].smallest_kept
        if kept < NEARLY:
            lines.append(f"  nearly dependent: the smallest singular value of the rows is {kept:.3g} of the largest")
        unreached = self.actuation.unreached
        lines += [
            f"  unique multipliers: {_listed(self.unique_multipliers)}",
            *([f"  unique reactions: {_listed(self.unique_reactions)}"] if self.ranks["A"].full else []),
            f"  no input reaches: {_listed(unreached)}",
        ]
        if not self.realizable:
            residuals = np.array2string(self.actuation.missing_rows, precision=4)
            lines.append(f"  residuals of the rows with the best inputs: {residuals}")
        if np.isfinite(self.actuation.missing_force).all():
            missing = float(np.abs(self.actuation.missing_force).max(initial=0.0))
            lines.append(f"  largest component of the ideal force that the inputs cannot produce: {missing:.3g}")
        width = max(map(len, self.conditions))
        for name, condition in self.conditions.items():
            lines.append(f"  {'yes' if condition.holds else 'no ':3} {name:{width}}  {condition.sentence}")
        return "\n".join(lines)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"


def solvability_conditions(
    ranks: Mapping[str, Rank], known: Solvability, inputs: Actuation, met: bool, branch: str = "", lost: bool = False
) -> dict[str, SolvabilityCondition]:
    """Build the table of conditions.

    The rows are all rows, natural ones and the program's, and Θ stacks both. The printed thesis ends within way II; the
    conditions for a singular mass matrix, which its table of contents announces, are those of
    [UdwadiaPhohomsiri2006]_.

    Args:
        ranks: ranks as in :class:`~erugin.controllers.Analysis`.
        known: solvability of all rows together.
        inputs: reach of the inputs.
        met: True if rows nonlinear in the accelerations hold where they were linearised.
        branch: sentence on a singular position of the mechanism; empty elsewhere.
        lost: True if the velocities do not determine the branch there.
    """
    rows = ranks["A; theta"]
    positive = ranks["M"].value == ranks["M"].full
    independent = not known.dependences
    table = {
        "positive definite inertia": (positive, "rank M = n."),
        "independent rows": (independent, f"rank Θ = m, here {rows.value} of {rows.value + len(known.dependences)}."),
        "regular case (1.16)-(1.19)": (
            positive and independent,
            "Both of these: a and λ exist and are unique, λ by the inverse of Θ M⁻¹ Θᵀ. Sufficient.",
        ),
        "consistent rows (1.14)": (
            known.consistent,
            "rank [Θ β] = rank Θ: β keeps every relation between the rows. Necessary for any a.",
        ),
        "way I (1.20)-(1.23)": (
            positive and known.consistent,
            "M > 0 and consistent rows: a is unique, λ = K⁺(β − Θ M⁻¹Q) of least norm plus anything in null Θᵀ.",
        ),
        "way II (1.19)": (
            positive and known.consistent,
            "The same with a pseudo-inverse in the formula for a: it gives the acceleration of way I.",
        ),
        "full column rank of [M; Θ]": (
            known.acceleration_unique,
            "Necessary and sufficient for a unique acceleration (Udwadia and Phohomsiri), M singular or not.",
        ),
        "augmented inertia M + cΘᵀΘ": (
            known.acceleration_unique,
            "Positive definite for c > 0 under the same condition; it may then replace M.",
        ),
        "balanced forces": (
            known.balanced,
            "No force acts along a velocity that has neither inertia nor constraint. Necessary for any a.",
        ),
        "solvable": (
            known.solvable and met,
            "Consistent rows and full column rank of [M; Θ]: necessary and sufficient for one a, and λ with it.",
        ),
        "unique multipliers": (
            all(known.unique),
            "null Θᵀ = {0}: every λ is unique if and only if the rows are independent; R = Θᵀλ is in any case.",
        ),
        "whole system (1.15) regular": (
            known.acceleration_unique and independent,
            "[M −Θᵀ; Θ 0] can be inverted: full column rank of [M; Θ] and independent rows.",
        ),
        "actuators": (inputs.realizable and met, "Some u, with natural reactions, satisfies the program here."),
        "actuators, whatever β": (
            inputs.reach.value == inputs.reach.full,
            f"rank Θ M̂ B = m, here {inputs.reach.value} of {inputs.reach.full}. Sufficient for the line above.",
        ),
    }
    if branch:
        table["branch of the mechanism"] = (not lost, branch)
    return {name: SolvabilityCondition(holds, sentence) for name, (holds, sentence) in table.items()}
