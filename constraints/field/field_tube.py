"""Bounds for a point that follows a field only approximately: distance to the path, and margin used."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .guidance import CRUISE_SHARE, EXACT_SHARE, SOFTENING


@dataclass(frozen=True)
class FieldTube:
    """Bounds for a point that deviates from a field by ψ = ẋ − w(x, t), |ψ| ≤ ``deviation`` at all times.

    Attributes:
        deviation: bound of |ψ| [m/s].
        margin_used: h ≥ −margin_used for h = O − δ, for every barrier [m]; infinite if no margin can hold, 0 without
            barriers.
        distance: bound of the distance to the program curve where no barrier presses [m]; infinite for |ψ| ≥ c/1.05.
    """

    deviation: float
    margin_used: float
    distance: float

    @classmethod
    def of(
        cls,
        deviation: float,
        *,
        speed: float,
        attraction: float,
        approach: float | None,
        margin: float,
        limit: float,
    ) -> FieldTube:
        """Compute both bounds.

        Args:
            deviation: bound of |ψ| [m/s].
            speed: c [m/s].
            attraction: κ [1/s].
            approach: rate at which a margin that is used is given back [1/s]; None without barriers.
            margin: δ [m]; not used without barriers.
            limit: L [m/s]; not used without barriers.
        """
        if deviation == 0.0:
            return cls(0.0, 0.0, 0.0)
        distance, share = math.inf, deviation / speed
        if share * (1.0 + SOFTENING) < 1.0:
            # The speed of return is c sin ϑ / (1 + 0.05 sin² ϑ).
            sine = 2.0 * share / (1.0 + math.sqrt(1.0 - 4.0 * SOFTENING * share**2))
            distance = speed / attraction * sine / math.sqrt(1.0 - sine**2)
        if approach is None:
            return cls(deviation, 0.0, distance)
        if deviation >= EXACT_SHARE * limit:
            return cls(deviation, math.inf, distance)

        def returned(used: float) -> float:
            """Least speed at which the field leaves a barrier: normals are softened where a margin is used."""
            softened = SOFTENING * used**2 / (used**2 + margin**2)
            return approach * used / math.sqrt(1.0 + softened) - softened / (1.0 + softened) * CRUISE_SHARE * limit

        low, high = deviation / approach, 2.0 * deviation / approach
        if returned(high) < deviation:
            return cls(deviation, math.inf, distance)
        for _ in range(50):
            middle = (low + high) / 2.0
            low, high = (middle, high) if returned(middle) < deviation else (low, middle)
        return cls(deviation, high, distance)
