"""A step: a force that rises and stays constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, positive
from .signal import Signal, SignalExpressions, parameter_name, per_component, sizes


@dataclass(frozen=True, eq=False)
class Step(Signal):
    """f(t) = F (35 s⁴ − 84 s⁵ + 70 s⁶ − 20 s⁷), s = (t − t₀)/T from 0 to 1: zero before t₀, F from t₀ + T on.

    It is three times differentiable, like :class:`Push`.

    Attributes:
        force: F, a number for all components or one for each; ``name.force``, or ``name.x.force`` and so on.
        time: t₀, ``name.time`` [s].
        rise: T, duration of the rise, ``name.rise`` [s].

    Raises:
        ModelError: for numbers that are not finite, or a rise that is not positive.
    """

    force: float | Sequence[float]
    time: float
    rise: float = 0.05

    def __post_init__(self) -> None:
        """Check the numbers."""
        sizes("force", self.force)
        finite("time", self.time)
        positive("rise", self.rise)

    def build(self, t: ca.SX, name: str, components: tuple[str, ...]) -> SignalExpressions:
        """Build the step along all components."""
        sized, force = per_component("force", "", sizes("force", self.force), name, components)
        begin, rise = (parameter_name(name, "", what) for what in ("time", "rise"))
        when = Parameters.declare({begin: self.time, rise: self.rise}, ranges={rise: Range.POSITIVE})
        s = ca.fmin(ca.fmax((t - when[begin]) / when[rise], 0.0), 1.0)
        shape = s**4 * (35.0 + s * (-84.0 + s * (70.0 - 20.0 * s)))
        return SignalExpressions(force * shape, Parameters.collect([sized, when]))
