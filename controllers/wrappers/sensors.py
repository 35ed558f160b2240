"""Sensors: encoders and measurement dropouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ...symbolic.validation import finite, positive
from ..controller import Controller
from ..sample_clock import elapsed
from .noise import generator, require_seed
from .signal_wrapper import SensorWrapper
from .vector_arguments import finite_vector, nonnegative_vector, read_only_copy

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sampled:
    """What is remembered.

    Attributes:
        index: number of the last sample.
        failed: whether it was NaN.
    """

    index: int
    failed: bool


class Dropout(SensorWrapper[Sampled]):
    """u = law(t, NaN, NaN) from a failed sample to the next, law(t, q, v) else; samples fail with probability P.

    What the law inside does with NaN is its own affair: Erugin's refuse it, which ends a run, and
    :class:`~erugin.controllers.wrappers.Fallback` around them applies the last safe output.
    """

    is_random = True

    def __init__(self, controller: Controller, probability: float, *, seed: int = 0) -> None:
        """Put a law behind such a sensor.

        Args:
            controller: gets NaN in samples that fail.
            probability: P, in [0, 1].
            seed: not negative; the same seed gives the same failures in every run.

        Raises:
            ModelError: for a probability beyond these bounds, or a seed that is none.
        """
        super().__init__(controller)
        self.probability = finite("probability", probability)
        if not 0.0 <= self.probability <= 1.0:
            raise ModelError(f"probability must lie between 0 and 1, got {probability!r}")
        self.seed = require_seed(seed)
        self.reset()

    def read(self, own: Sampled | None, t: float, q: Array, v: Array) -> Sampled:
        """Draw whether this sample fails."""
        index = 0 if own is None else own.index + 1
        return Sampled(index, bool(generator(self.seed, self.depth, index).random() < self.probability))

    def measured(self, own: Sampled | None, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The state, or NaN."""
        if own is None:
            raise self.no_sample_yet()
        return (np.full(q.shape, np.nan), np.full(v.shape, np.nan)) if own.failed else (q, v)


VelocityEstimate = Literal["exact", "difference", "filtered", "observer"]


@dataclass(frozen=True, eq=False)
class EncoderReading:
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


class Encoders(SensorWrapper[EncoderReading]):
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
        velocity: VelocityEstimate = "exact",
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
        finite_vector("resolution", resolution, c.nq, "one for each coordinate")
        self.resolution = nonnegative_vector("resolution", resolution, c.nq, "one for each coordinate")
        if velocity not in get_args(VelocityEstimate):
            words = ", ".join(map(repr, get_args(VelocityEstimate)))
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
        self.velocity: VelocityEstimate = velocity
        self.cutoff = 0.0 if cutoff is None else positive("cutoff", cutoff)
        self.reset()

    def read(self, own: EncoderReading | None, t: float, q: Array, v: Array) -> EncoderReading:
        """Count, and estimate."""
        step = np.where(self.resolution > 0.0, self.resolution, 1.0)
        counted = read_only_copy(np.where(self.resolution > 0.0, step * np.round(q / step), q))
        if self.velocity == "exact":
            return EncoderReading(t, counted, read_only_copy(v), counted)
        if own is None:
            return EncoderReading(t, counted, read_only_copy(np.zeros(len(v))), counted)
        h = elapsed(type(self).__name__, own.t, t)
        if h == 0.0:
            return own
        rate = (counted - own.q) / h
        if self.velocity == "difference":
            return EncoderReading(t, counted, read_only_copy(rate), counted)
        decay = np.exp(-self.cutoff * h)
        if self.velocity == "filtered":
            return EncoderReading(t, counted, read_only_copy(rate + decay * (own.v - rate)), counted)
        # A ramp is followed without error; what misses it decays with the double eigenvalue −ω.
        w = self.cutoff
        e, f = own.estimate - own.q, own.v - rate
        estimate = counted + decay * (e + h * (f - w * e))
        return EncoderReading(
            t, counted, read_only_copy(rate + decay * (f + h * (w * f - w**2 * e))), read_only_copy(estimate)
        )

    def measured(self, own: EncoderReading | None, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The last reading."""
        if own is None:
            raise self.no_sample_yet()
        return own.q, own.v
