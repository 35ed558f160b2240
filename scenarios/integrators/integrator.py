"""The abstract integrator: how a closed loop goes from one sample to the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..closed_loop import ClosedLoop

Array = NDArray[np.float64]
BLOCK = 100
"""Steps per block: few enough for a progress bar and Ctrl-C, many enough that Python between them costs nothing."""


@dataclass(frozen=True, eq=False)
class Block:
    """Samples of consecutive steps; column i belongs to the start of step i.

    Attributes:
        states: x at each start, shape (nx, BLOCK).
        after: x at each end, shape (nx, BLOCK).
        recorded: what is recorded at each start, shape (n, BLOCK) each.
    """

    states: Array
    after: Array
    recorded: dict[str, Array]

    @classmethod
    def of(cls, loop: ClosedLoop) -> Block:
        """Room for a block of ``loop``."""
        room = {key: np.zeros((size, BLOCK), order="F") for key, size in loop.sizes.items()}
        return cls(np.zeros((loop.nx, BLOCK), order="F"), np.zeros((loop.nx, BLOCK), order="F"), room)


Advance = Callable[[int, Array], Block]
"""Index of the first step and x there → the samples of the next BLOCK steps, in room that the next call reuses."""


class Integrator(ABC):
    """A way to integrate ẋ = f(t, x). One file each; the driver knows only this base."""

    @abstractmethod
    def prepare(self, loop: ClosedLoop) -> Callable[[Array, float], Advance]:
        """Build, once, whatever serves every run of ``loop``.

        Returns:
            A function that starts a run from the parameters p of plant and controller and the step h [s], at t = 0.
        """
