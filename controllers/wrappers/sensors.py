"""Sensors: encoders and measurement dropouts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ...symbolic.validation import finite, positive, vector_argument
from ..controller import Controller
from ..law import select
from .noise import generator, require_seed
from .signal_wrapper import Memory, SensorWrapper

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Dropout(SensorWrapper):
    """u = law(t, NaN, NaN) from a failed sample to the next, else law(t, q, v); samples fail with probability P.

    The law inside must deal with NaN: Erugin's laws raise, which ends a run, and a
    :class:`~erugin.controllers.wrappers.Fallback` around them applies the last safe output.
    """

    random_numbers = 1

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

    def layout(self, capacity: int) -> Mapping[str, int]:
        """Return the size of a flag that is not zero after a failed sample."""
        return {"failed": 1}

    def draw(self, index: int) -> Array:
        """Return a number that is drawn uniformly from [0, 1)."""
        return np.array([generator(self.seed, self.depth, index).random()])

    def record_sample(self, m: Memory, t: ca.SX, q: ca.SX, v: ca.SX, w: ca.SX) -> Mapping[str, ca.SX]:
        """Return whether this sample fails."""
        return {"failed": w < self.probability}

    def passes_on(self, drawn: Array) -> Flags:
        """True for samples that do not fail, shape (n,)."""
        return np.asarray(drawn[:, 0] >= self.probability, dtype=np.bool_)

    def measured_state(self, m: Memory, t: ca.SX, q: ca.SX, v: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the state, or NaN after a failed sample."""
        failed = m["failed"] > 0
        return (
            select(failed, ca.SX.nan(q.numel(), 1), q),
            select(failed, ca.SX.nan(v.numel(), 1), v),
        )


VelocityEstimate = Literal["exact", "difference", "filtered", "observer"]


class Encoders(SensorWrapper):
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

    def layout(self, capacity: int) -> Mapping[str, int]:
        """Return the sizes of the reading at the last sample, and of its time and the observer's position if needed."""
        c = self.robot.coordinates
        reading = {"q": c.nq, "v": c.nv}
        return reading if self.velocity == "exact" else {"time": 1, **reading, "estimate": c.nq}

    def first(self, t: ca.SX, q: ca.SX, v: ca.SX) -> Mapping[str, ca.SX]:
        """Return the first position."""
        counted = self._counted(q)
        return {"time": t, "q": counted, "estimate": counted}

    def record_sample(self, m: Memory, t: ca.SX, q: ca.SX, v: ca.SX, w: ca.SX) -> Mapping[str, ca.SX]:
        """Return the reading: counts and velocity estimate."""
        counted = self._counted(q)
        if self.velocity == "exact":
            return {"q": counted, "v": v}
        h = t - m["time"]
        rate, decay = (counted - m["q"]) / h, ca.exp(-self.cutoff * h)
        estimate = counted
        if self.velocity == "difference":
            velocity = rate
        elif self.velocity == "filtered":
            velocity = rate + decay * (m["v"] - rate)
        else:
            # A ramp is followed without error; a deviation from it decays with the double eigenvalue −ω.
            cutoff = self.cutoff
            e, f = m["estimate"] - m["q"], m["v"] - rate
            estimate = counted + decay * (e + h * (f - cutoff * e))
            velocity = rate + decay * (f + h * (cutoff * f - cutoff**2 * e))
        reading = {"time": t, "q": counted, "v": velocity, "estimate": estimate}
        return {name: select(h > 0, part, m[name]) for name, part in reading.items()}

    def measured_state(self, m: Memory, t: ca.SX, q: ca.SX, v: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the last reading."""
        return m["q"], m["v"]

    def _counted(self, q: ca.SX) -> ca.SX:
        """Positions in whole counts; halves are rounded to even numbers."""
        parts = ca.vertsplit(q)
        for i, r in enumerate(self.resolution.tolist()):
            if r > 0.0:
                parts[i] = r * (parts[i] / r - ca.remainder(parts[i] / r, 1.0))
        return ca.vertcat(*parts)
