"""A push: a short force of given impulse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, positive
from .signal import Signal, SignalExpressions, parameter_name, per_component, sizes


@dataclass(frozen=True, eq=False)
class Push(Signal):
    """f(t) = (8/3) (J/T) sin⁴(π s), s = (t − t₀)/T, from t₀ to t₀ + T, else zero.

    Its impulse ∫ f dt is J for any T; its largest value is (8/3) J/T, in the middle. It is three times differentiable,
    so that an integrator keeps its order 4 over a step across the start or end. Steps must not be longer than a tenth
    of T, otherwise the push is missed.

    Attributes:
        impulse: J, a number for all components or one for each, so that its direction is a parameter as well [N s];
            ``name.impulse``, or ``name.x.impulse`` and so on.
        time: t₀, ``name.time`` [s].
        duration: T, ``name.duration`` [s].

    Raises:
        ModelError: for numbers that are not finite, or a duration that is not positive.
    """

    impulse: float | Sequence[float]
    time: float
    duration: float = 0.1

    def __post_init__(self) -> None:
        """Check the numbers."""
        sizes("impulse", self.impulse)
        finite("time", self.time)
        positive("duration", self.duration)

    def build(self, t: ca.SX, name: str, components: tuple[str, ...]) -> SignalExpressions:
        """Build the push along all components."""
        sized, impulse = per_component("impulse", " in N s", sizes("impulse", self.impulse), name, components)
        begin, span = (parameter_name(name, "", what) for what in ("time", "duration"))
        when = Parameters.declare({begin: self.time, span: self.duration}, ranges={span: Range.POSITIVE})
        share = ca.fmin(ca.fmax((t - when[begin]) / when[span], 0.0), 1.0)
        # sin(π · 1) is not exactly zero, so the second half is computed by symmetry.
        shape = ca.sin(math.pi * ca.fmin(share, 1.0 - share)) ** 4
        return SignalExpressions(8.0 / 3.0 * impulse / when[span] * shape, Parameters.collect([sized, when]))
