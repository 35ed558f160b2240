"""The abstract integrator: how a closed loop goes from one sample to the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import (
    ContradictoryProgramError,
    EruginError,
    NotConvergedError,
    NotFiniteError,
    SingularProgramError,
)
from ..closed_loop import ClosedLoop

Array = NDArray[np.float64]
ENDS: tuple[type[BaseException], ...] = (
    SingularProgramError,
    ContradictoryProgramError,
    NotFiniteError,
    NotConvergedError,
    KeyboardInterrupt,
)
"""What a controller called from Python raises to end a run; anything else of Erugin's is a mistake of the user's."""
BLOCK = 100
"""Steps per block: few enough for a progress bar and Ctrl-C, many enough that Python between them costs nothing."""


@dataclass(eq=False)
class Block:
    """Samples of consecutive steps; column i belongs to the start of step i. The next block reuses the room.

    Attributes:
        states: x at each start, shape (nx, BLOCK).
        after: x at each end, shape (nx, BLOCK).
        recorded: what is recorded at each start, shape (n, BLOCK) each.
        filled: number of samples that are there.
        error: what a controller called from Python raised in the step after the last sample, if anything.
    """

    states: Array
    after: Array
    recorded: dict[str, Array]
    filled: int = BLOCK
    error: BaseException | None = None

    @classmethod
    def of(cls, loop: ClosedLoop) -> Block:
        """Room for a block of ``loop``."""
        room = {key: np.zeros((size, BLOCK), order="F") for key, size in loop.sizes.items()}
        return cls(np.zeros((loop.nx, BLOCK), order="F"), np.zeros((loop.nx, BLOCK), order="F"), room)


Advance = Callable[[int, Array, int], Block]
"""Index of the first step, x there, and how many samples are wanted at most → the next samples."""


StartRun = Callable[[Array, float, float], Advance]
"""Parameters of plant and controller, step h and time of the first sample → what advances a run."""


class Integrator(ABC):
    """A way to integrate ẋ = f(t, x). One file each; the driver knows only this base."""

    @abstractmethod
    def prepare(self, loop: ClosedLoop) -> StartRun:
        """Build, once, whatever serves every run of ``loop``.

        Returns:
            A function that starts a run from the parameters p of plant and controller, the step h [s] and the time of
            the first sample [s].
        """

    @property
    def passes_dependent_rows(self) -> bool:
        """Whether it integrates where natural constraints are dependent: redundant ones, and singular positions."""
        return False

    def amplification(self, z: complex) -> float:
        """|R(z)|: by how much one step h multiplies a solution of ẏ = λ y with z = λ h; more than 1 is unstable.

        A method that chooses its own steps has none, and returns 0.
        """
        return 0.0


def step_by_step(
    block: Block,
    observe: Callable[[float, Array], dict[str, Array]],
    follow: Callable[[float, Array], Array],
    step: float,
    correct: Callable[[float, Array], Array] | None = None,
    t0: float = 0.0,
) -> Advance:
    """An advance that calls Python in every step, and ends its block early when the run ends or the controller fails.

    Args:
        block: room for the samples.
        observe: what is recorded at t and x.
        follow: the state one step after t and x.
        step: h [s].
        correct: applied to the state after each step; nothing if not given.
        t0: time of the first sample [s].
    """

    def advance(first: int, state: Array, wanted: int) -> Block:
        block.filled, block.error, x = 0, None, state
        for i in range(min(BLOCK, wanted)):
            t = t0 + (first + i) * step
            try:
                recorded = observe(t, x)
                # Kept now: what was observed stays, whatever happens in the step after it.
                block.states[:, i], block.after[:, i] = x, x
                for key, value in recorded.items():
                    block.recorded[key][:, i] = value
                block.filled = i + 1
                after = x if i + 1 == wanted else follow(t, x)
                if correct is not None and i + 1 < wanted and np.isfinite(after).all():
                    after = correct(t + step, after)
            except ENDS as error:
                block.error = error
                break
            except EruginError:
                raise
            except Exception as error:
                block.error = error
                break
            block.after[:, i] = x = after
            if (recorded["stop"] > 0.0).any() or not np.isfinite(after).all():
                break
        return block

    return advance
