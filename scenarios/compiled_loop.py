"""Closed loops side by side, from sample to sample in machine code."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..symbolic.march import CompiledMarch, March
from ..symbolic.toolchain import vector_width
from .batch import AdvanceLanes
from .window import Window

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CompiledRunner:
    """Advances the closed loops of a window.

    Attributes:
        march: the loop over steps, compiled.
    """

    march: CompiledMarch

    @classmethod
    def of(cls, march: March, *, batch: bool) -> CompiledRunner | None:
        """Compile; None if there is no compiler, or it fails.

        Args:
            march: the loop over steps.
            batch: whether there are many loops, to be run as lanes of vector instructions.
        """
        compiled = march.with_lanes(vector_width() if batch else 1)
        return None if isinstance(compiled, str) else cls(compiled)

    @property
    def width(self) -> int:
        """Loops that go side by side."""
        return self.march.lanes

    def start(self, numbers: Array, step: float, t0: float) -> AdvanceLanes:
        """What advances some loops; while it computes it holds no lock of the interpreter.

        Args:
            numbers: parameters of plant and controller, shape (K, np).
            step: h [s].
            t0: time of the first sample [s].
        """

        def advance(window: Window, x: Array) -> None:
            self.march.run(window.lanes, window.first, t0, step, x, numbers, [window.states, *window.data.values()])

        return advance
