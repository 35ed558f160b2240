"""Sensors: encoders and measurement dropouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ...symbolic.validation import finite, positive, read_only_copy, vector_argument
from ..controller import Controller
from ..sample_clock import elapsed
from .noise import generator, require_seed
from .signal_wrapper import SensorWrapper

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sampled:
    """Memory of :class:`Dropout`.

    Attributes:
        index: index of the last sample, from 0.
        failed: True if that sample was NaN.
    """

    index: int
    failed: bool


class Dropout(SensorWrapper[Sampled]):
    """u = law(t, NaN, NaN) from a failed sample to the next, else law(t, q, v); samples fail with probability P.

    The law inside must deal with NaN: Erugin's laws raise, which ends a run, and a
    :class:`~erugin.controllers.wrappers.Fallback` around them applies the last safe output.
    """

    is_random = True

    def __init__(self, controller: Controller, probability: float, *, seed: int = 0) -> None:
        """Add dropouts to the measurements of a law.

        Args:
            controller: the controller inside, which gets NaN at samples that fail.
            probability: P, in [0, 1].
            seed: seed of the failures, an integer not below 0; the same seed gives the same failures in every run.

        Raises:
            ModelError: for a probability outside [0, 1], or a seed that is not an integer from 0.
        """
        super().__init__(controller)
        self.probability = finite("probability", probability)
        if not 0.0 <= self.probability <= 1.0:
            raise ModelError(f"probability must lie between 0 and 1, got {probability!r}")
        self.seed = require_seed(seed)
        self.reset()

    def record_sample(self, memory: Sampled | None, t: float, q: Array, v: Array) -> Sampled:
        """Decide at random if this sample fails."""
        index = 0 if memory is None else memory.index + 1
        return Sampled(index, bool(generator(self.seed, self.depth, index).random() < self.probability))

    def measured_state(self, memory: Sampled | None, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the state, or NaN after a failed sample."""
        if memory is None:
            raise self.no_sample_error()
        return (np.full(q.shape, np.nan), np.full(v.shape, np.nan)) if memory.failed else (q, v)


VelocityEstimate = Literal["exact", "difference", "filtered", "observer"]


@dataclass(frozen=True, eq=False)
class EncoderReading:
    """Memory of :class:`Encoders`.

    Attributes:
        t: time of the last sample [s].
        q: position in whole counts, shape (nq,).
        v: estimated velocity, shape (nv,).
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

    Filter and observer are solved exactly for a q̂ that is linear between samples. All estimates start with velocity
    zero. With a resolution of zero the position is exact.
    """

    def __init__(
        self,
        controller: Controller,
        resolution: ArrayLike,
        *,
        velocity: VelocityEstimate = "exact",
        cutoff: float | None = None,
    ) -> None:
        """Add encoders to a law.

        Args:
            controller: the controller inside, which reads the encoders.
            resolution: r, a number or shape (nq,), in the units of the coordinates.
            velocity: name of the velocity estimate.
            cutoff: ω of filter and observer [rad/s].

        Raises:
            ModelError: for a wrong shape, a negative resolution, an unknown estimate, a cutoff that is missing or not
                used, or an estimate for a robot whose velocities are not the rates of its coordinates.
        """
        super().__init__(controller)
        c = self.robot.coordinates
        self.resolution = vector_argument(
            "resolution", resolution, c.nq, "one for each coordinate", infinite=False, sign="nonnegative"
        )
        if velocity not in get_args(VelocityEstimate):
            words = ", ".join(map(repr, get_args(VelocityEstimate)))
            raise ModelError(f"velocity must be one of {words}, got {velocity!r}")
        if velocity != "exact" and not c.are_rates:
            raise ModelError(
                f"velocity={velocity!r} requires velocities that are the rates of the coordinates, which those of "
                f"{self.robot.name} are not: use velocity='exact'"
            )
        if (cutoff is None) is (velocity in ("filtered", "observer")):
            raise ModelError(
                f"cutoff= is required by velocity='filtered' and 'observer' and by no other, got cutoff={cutoff!r} "
                f"with velocity={velocity!r}"
            )
        self.velocity: VelocityEstimate = velocity
        self.cutoff = 0.0 if cutoff is None else positive("cutoff", cutoff)
        self.reset()

    def record_sample(self, memory: EncoderReading | None, t: float, q: Array, v: Array) -> EncoderReading:
        """Return the reading: counts and velocity estimate."""
        step = np.where(self.resolution > 0.0, self.resolution, 1.0)
        counted = read_only_copy(np.where(self.resolution > 0.0, step * np.round(q / step), q))
        if self.velocity == "exact":
            return EncoderReading(t, counted, read_only_copy(v), counted)
        if memory is None:
            return EncoderReading(t, counted, read_only_copy(np.zeros(len(v))), counted)
        h = elapsed(type(self).__name__, memory.t, t)
        if h == 0.0:
            return memory
        rate = (counted - memory.q) / h
        if self.velocity == "difference":
            return EncoderReading(t, counted, read_only_copy(rate), counted)
        decay = np.exp(-self.cutoff * h)
        if self.velocity == "filtered":
            return EncoderReading(t, counted, read_only_copy(rate + decay * (memory.v - rate)), counted)
        # A ramp is followed without error; a deviation from it decays with the double eigenvalue −ω.
        w = self.cutoff
        e, f = memory.estimate - memory.q, memory.v - rate
        estimate = counted + decay * (e + h * (f - w * e))
        return EncoderReading(
            t, counted, read_only_copy(rate + decay * (f + h * (w * f - w**2 * e))), read_only_copy(estimate)
        )

    def measured_state(self, memory: EncoderReading | None, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the last reading."""
        if memory is None:
            raise self.no_sample_error()
        return memory.q, memory.v
