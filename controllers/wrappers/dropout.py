"""A sensor that fails now and then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.arrays import finite
from ...symbolic.errors import ModelError
from ..controller import Controller
from .noise import generator, require_seed
from .sensor import Sensor

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


class Dropout(Sensor[Sampled]):
    """u = law(t, NaN, NaN) from a failed sample to the next, law(t, q, v) else; samples fail with probability P.

    What the law inside does with NaN is its own affair: Erugin's refuse it, which ends a run, and
    :class:`~erugin.controllers.wrappers.Supervised` around them applies the last safe output.
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
