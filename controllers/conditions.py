"""The conditions of Deressa's first chapter by name, and whether they hold."""

from __future__ import annotations

from collections.abc import Mapping

from ..constraints.solvability import Rank, Solvability
from .actuation import Actuation
from .analysis import Condition


def conditions(
    ranks: Mapping[str, Rank], known: Solvability, inputs: Actuation, met: bool, branch: str = "", lost: bool = False
) -> dict[str, Condition]:
    """A table of conditions.

    The rows are all there are, natural ones and the program's, Θ being both of them stacked. The thesis as it is in
    print ends within way II; the conditions for a singular mass matrix, which its contents announce, are those of
    [UdwadiaPhohomsiri2006]_.

    Args:
        ranks: as in :class:`~erugin.controllers.Analysis`.
        known: of all rows together.
        inputs: what the inputs can do.
        met: whether rows nonlinear in the accelerations hold where they were linearised.
        branch: what is to be said of a singular position of the mechanism; empty elsewhere.
        lost: whether the velocities do not tell the branch there.
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
            "Positive definite, c > 0, under the same condition; it may then take the place of M.",
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
        "actuators": (inputs.realizable and met, "Some u satisfies the program here, natural reactions helping."),
        "actuators, whatever β": (
            inputs.reach.value == inputs.reach.full,
            f"rank Θ M̂ B = m, here {inputs.reach.value} of {inputs.reach.full}. Sufficient for the line above.",
        ),
    }
    if branch:
        table["branch of the mechanism"] = (not lost, branch)
    return {name: Condition(holds, sentence) for name, (holds, sentence) in table.items()}
