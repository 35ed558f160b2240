"""Positions in whole counts, and velocities estimated from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.arrays import positive
from ...symbolic.errors import ModelError
from ..controller import Controller
from .clock import elapsed
from .entries import finite_entries, frozen, not_negative_entries
from .sensor import Sensor

Array = NDArray[np.float64]
Velocity = Literal["exact", "difference", "filtered", "observer"]


@dataclass(frozen=True, eq=False)
class Reading:
    """What is remembered.

    Attributes:
        t: time of the last sample [s].
        q: position in whole counts, shape (nq,).
        v: velocity as it is known, shape (nv,).
        estimate: position of the observer, shape (nq,).
    """

    t: float
    q: Array
    v: Array
    estimate: Array


class Encoders(Sensor[Reading]):
    """u(t) = law(t, q̂_k, v̂_k) from sample k to the next.

    Positions are counted, q̂ = r round(q/r), and velocities are one of

    - ``"exact"``: v̂ = v, as from a tachometer;
    - ``"difference"``: v̂_k = (q̂_k − q̂_{k−1})/h, with an error of up to r/h;
    - ``"filtered"``: v̂ = ω s/(s + ω) q̂;
    - ``"observer"``: v̂ = ω² s/(s + ω)² q̂, from the observer dx/dt = w + 2ω (q̂ − x), dw/dt = ω² (q̂ − x), v̂ = w.

    Filter and observer are solved exactly for a q̂ that goes on straight lines from sample to sample. All begin at
    velocity zero. A resolution of zero counts nothing.
    """

    def __init__(
        self,
        controller: Controller,
        resolution: ArrayLike,
        *,
        velocity: Velocity = "exact",
        cutoff: float | None = None,
    ) -> None:
        """Let a law read encoders.

        Args:
            controller: reads them.
            resolution: r, a number or shape (nq,), in the units of the coordinates.
            velocity: which estimate.
            cutoff: ω of filter and observer [rad/s].

        Raises:
            ModelError: for a wrong shape, a negative resolution, an unknown word, a cutoff that is missing or of no
                use, or an estimate for a robot whose velocities are not the rates of its coordinates.
        """
        super().__init__(controller)
        c = self.robot.coordinates
        finite_entries("resolution", resolution, c.nq, "one for each coordinate")
        self.resolution = not_negative_entries("resolution", resolution, c.nq, "one for each coordinate")
        if velocity not in get_args(Velocity):
            words = ", ".join(map(repr, get_args(Velocity)))
            raise ModelError(f"velocity must be one of {words}, got {velocity!r}")
        if velocity != "exact" and not c.are_rates:
            raise ModelError(
                f"velocities of {self.robot.name} are not the rates of its coordinates, so that encoders do not tell "
                "them: take velocity='exact'"
            )
        if (cutoff is None) is (velocity in ("filtered", "observer")):
            raise ModelError(
                f"cutoff is for 'filtered' and 'observer', which need it; got {cutoff!r} with {velocity!r}"
            )
        self.velocity: Velocity = velocity
        self.cutoff = 0.0 if cutoff is None else positive("cutoff", cutoff)
        self.reset()

    def read(self, own: Reading | None, t: float, q: Array, v: Array) -> Reading:
        """Count, and estimate."""
        step = np.where(self.resolution > 0.0, self.resolution, 1.0)
        counted = frozen(np.where(self.resolution > 0.0, step * np.round(q / step), q))
        if self.velocity == "exact":
            return Reading(t, counted, frozen(v), counted)
        if own is None:
            return Reading(t, counted, frozen(np.zeros(len(v))), counted)
        h = elapsed(type(self).__name__, own.t, t)
        if h == 0.0:
            return own
        rate = (counted - own.q) / h
        if self.velocity == "difference":
            return Reading(t, counted, frozen(rate), counted)
        decay = np.exp(-self.cutoff * h)
        if self.velocity == "filtered":
            return Reading(t, counted, frozen(rate + decay * (own.v - rate)), counted)
        # A ramp is followed without error; what misses it decays with the double eigenvalue −ω.
        w = self.cutoff
        e, f = own.estimate - own.q, own.v - rate
        estimate = counted + decay * (e + h * (f - w * e))
        return Reading(t, counted, frozen(rate + decay * (f + h * (w * f - w**2 * e))), frozen(estimate))

    def measured(self, own: Reading | None, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The last reading."""
        if own is None:
            raise self.no_sample_yet()
        return own.q, own.v
