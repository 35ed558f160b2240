"""The side on which to pass each barrier, chosen by a fixed rule before the motion starts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from .erugin_field import EruginField
from .preview import Preview, PreviewSetup

Array = NDArray[np.float64]
Sides = tuple[int, ...]
NEAR_MARGINS = 2.0
"""Margins within which a barrier counts as near, so that its other side is worth a try."""

SUFFICIENT_SHARE = 0.9
"""Share of the margin that is good enough not to try every combination."""

MOST_COMBINED = 6
"""Number of near barriers up to which every combination of sides is tried, 64 of them."""


def choose_side(
    field: EruginField,
    start: ArrayLike,
    duration: float,
    *,
    step: float,
    p: Mapping[str, float] | ArrayLike | None = None,
) -> int:
    """Choose the one side, +1 or −1, on which a point that moves with the field advances best.

    The rule: a point is sent along the field from ``start``, once with either value of σ, and the side of the lower
    :attr:`Preview.rank` is chosen: no barrier crossed before one crossed, progress before a standstill, then less of
    departure − progress + 10 (δ − clearance)⁺, all in metres; +1 if they are equal. Set the result as the parameter
    ``field.side``.

    Args:
        field: field with barriers.
        start: position at t = 0, shape (n,) [m].
        duration: length of the preview [s].
        step: step of the preview, by RK4 [s].
        p: parameters of the field: nominal if not given, changes by name, or the whole vector.

    Raises:
        ModelError: if the field has no obstacles, the start is not valid (:func:`require_start`), or neither side
            gives finite numbers.
    """
    _require_barriers(field)
    stage = PreviewSetup.set_up(field, start, duration, step, p)
    index = field.parameters.names.index(f"{field.name}.side")
    found: dict[int, Preview] = {}
    for side in (1, -1):
        values = field.parameters.values(p)
        values[index] = side
        found[side] = stage.preview(values)
    _require_finite(field, found.values())
    return min((1, -1), key=lambda side: found[side].rank)


def choose_sides(
    field: EruginField,
    start: ArrayLike,
    duration: float,
    *,
    step: float,
    p: Mapping[str, float] | ArrayLike | None = None,
) -> dict[str, float]:
    """Choose the side of every barrier on which a point that moves with the field advances best.

    The rule: 1. A point goes along the path as if there were no barriers. Each barrier is to be passed on the side to
    which it would be left where the point comes nearest to it, by the sign of ∇O_j·∇φ₁. 2. That is previewed; then,
    repeatedly, of the barriers nearer than 2δ the one whose flipped side lowers :attr:`Preview.rank` most is flipped.
    3. If the clearance is still less than 0.9 δ, or the point comes to a standstill, all +1, all −1 and, with up to six
    barriers near, every combination of their sides are previewed too. The lowest rank wins, the first one found if
    equal.

    Args:
        field: field with barriers.
        start: position at t = 0, shape (n,) [m].
        duration: length of the preview [s].
        step: step of the preview, by RK4 [s].
        p: parameters of the field: nominal if not given, changes by name, or the whole vector.

    Returns:
        Values of the parameters ``field.side``, +1, and ``field.side_<barrier>``, to be set before the motion.

    Raises:
        ModelError: as for :func:`choose_side`.
    """
    _require_barriers(field)
    stage, base = PreviewSetup.set_up(field, start, duration, step, p), field.parameters.values(p)
    names = [f"{field.name}.side", *(f"{field.name}.side_{barrier.name}" for barrier in field.barriers)]
    indices = [field.parameters.names.index(name) for name in names]
    found: dict[Sides, Preview] = {}

    def best_of(candidates: Iterable[Sides]) -> Sides:
        for sides in candidates:
            if sides not in found:
                values = base.copy()
                values[indices] = (1, *sides)
                found[sides] = stage.preview(values)
        return min(found, key=lambda sides: found[sides].rank)

    def near(sides: Sides) -> list[int]:
        reach = NEAR_MARGINS * found[sides].margin
        return [j for j, gap in enumerate(found[sides].nearest.values()) if not gap > reach]

    def descend(sides: Sides) -> Sides:
        best = best_of([sides])
        while True:
            better = best_of(_flip_sides(best, [j]) for j in near(best))
            if better == best:
                return best
            best = better

    outward = stage.outward(base)
    best = descend(tuple(1 if outward[barrier.name] >= 0.0 else -1 for barrier in field.barriers))
    if not found[best].clearance >= SUFFICIENT_SHARE * found[best].margin or found[best].standstill is not None:
        best = descend((1,) * len(field.barriers))
        best = descend((-1,) * len(field.barriers))
        close = near(best)
        if len(close) <= MOST_COMBINED:
            subsets = itertools.chain.from_iterable(
                itertools.combinations(close, size) for size in range(len(close) + 1)
            )
            best = best_of(_flip_sides(best, subset) for subset in subsets)
    _require_finite(field, found.values())
    return dict(zip(names, map(float, (1, *best)), strict=True))


def _flip_sides(sides: Sides, which: Iterable[int]) -> Sides:
    turned = list(sides)
    for j in which:
        turned[j] = -turned[j]
    return tuple(turned)


def _require_barriers(field: EruginField) -> None:
    if not field.barriers:
        raise ModelError(f"{field.name!r} has no obstacles, so there is no side to choose")


def _require_finite(field: EruginField, found: Iterable[Preview]) -> None:
    if not any(np.isfinite(preview.cost) for preview in found):
        raise ModelError(f"the field {field.name!r} is not finite on either side of the path")
