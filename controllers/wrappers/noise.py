"""Random errors of measurement and of the output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ..controller import Controller
from .entries import finite_entries, frozen, not_negative_entries
from .signal_wrapper import SignalWrapper

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Draw:
    """What is remembered.

    Attributes:
        index: number of the sample, from 0.
        q: error of the coordinates, shape (nq,).
        v: error of the velocities, shape (nv,).
        u: error of the output, shape (n,).
    """

    index: int
    q: Array
    v: Array
    u: Array


class Noise(SignalWrapper[Draw]):
    """u = law(t, q + σ_q ξ, v + σ_v ξ′) + σ_u ξ″, with ξ normal, drawn at every sample and constant until the next.

    It is white from sample to sample, so that its power in a band grows with the step: σ² h. The same seed gives the
    same noise in every run, and different noise in every wrapper that is nested in another.
    """

    is_random = True

    def __init__(
        self,
        controller: Controller,
        *,
        q: ArrayLike = 0.0,
        v: ArrayLike = 0.0,
        u: ArrayLike = 0.0,
        seed: int = 0,
    ) -> None:
        """Disturb a law.

        Args:
            controller: what is disturbed.
            q: standard deviations of the measured coordinates, a number or shape (nq,).
            v: of the measured velocities, a number or shape (nv,).
            u: of the output, a number or shape (n,).
            seed: not negative.

        Raises:
            ModelError: for a wrong shape, a negative or infinite deviation, or a seed that is none.
        """
        super().__init__(controller)
        c = self.robot.coordinates
        spreads: list[Array] = []
        for name, value, size in (("q", q, c.nq), ("v", v, c.nv), ("u", u, self.size)):
            finite_entries(name, value, size, "a standard deviation each")
            spreads.append(not_negative_entries(name, value, size, "a standard deviation each"))
        self.q, self.v, self.u = spreads
        self.seed = require_seed(seed)
        self.reset()

    def read(self, own: Draw | None, t: float, q: Array, v: Array) -> Draw:
        """Draw the errors of a sample, all of them in a fixed order, whichever are used."""
        index = 0 if own is None else own.index + 1
        drawn = generator(self.seed, self.depth, index).standard_normal(len(q) + len(v) + self.size)
        first, second, third = np.split(drawn, [len(q), len(q) + len(v)])
        return Draw(index, frozen(self.q * first), frozen(self.v * second), frozen(self.u * third))

    def measured(self, own: Draw | None, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The state with its errors."""
        if own is None:
            raise self.no_sample_yet()
        return q + own.q, v + own.v

    def shaped(self, own: Draw | None, t: float, command: Array) -> tuple[Array, str]:
        """The output with its error."""
        if own is None:
            raise self.no_sample_yet()
        return command + own.u, ""


def generator(seed: int, depth: int, index: int) -> np.random.Generator:
    """Random numbers of one sample: a function of its index, so that a run can go back to it.

    Args:
        seed: of the wrapper.
        depth: number of wrappers inside it that draw as well.
        index: of the sample.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(depth, index)))


def require_seed(seed: int) -> int:
    """The seed; raises ModelError unless it is a whole number that is not negative.

    Args:
        seed: what was given.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ModelError(f"seed must be a whole number, not negative, got {seed!r}")
    return int(seed)
