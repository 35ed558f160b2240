"""Abstract integrator, which advances a closed loop from one sample to the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.compiled_rollout import RolloutLoop
from ...symbolic.errors import (
    ContradictoryProgramError,
    EruginError,
    NotConvergedError,
    NotFiniteError,
    SingularProgramError,
)
from ...symbolic.pickling import Picklable
from ...symbolic.validation import positive, whole
from ..closed_loop import ClosedLoop
from ..sample_window import SampleWindow

Array = NDArray[np.float64]
ENDS: tuple[type[BaseException], ...] = (
    SingularProgramError,
    ContradictoryProgramError,
    NotFiniteError,
    NotConvergedError,
    KeyboardInterrupt,
)
"""Errors of a controller called from Python that end a run; any other error of Erugin is a mistake of the user."""


@dataclass(eq=False)
class StepBlock:
    """Storage for samples of consecutive steps of one closed loop; row i belongs to the start of step first + i.

    Attributes:
        first: index of the first step.
        last: True if the last row is the last sample of the run, after which no step is taken.
        states: x at each start, shape (n, nx).
        recorded: recorded values at each start, by key, shape (n, size) each.
        after: x at the end of the last step, shape (nx,).
        filled: number of samples written.
        error: error raised by a controller called from Python in the step after the last sample, or None.
    """

    first: int
    last: bool
    states: Array
    recorded: dict[str, Array]
    after: Array
    filled: int = 0
    error: BaseException | None = None

    @classmethod
    def of(cls, window: SampleWindow) -> StepBlock:
        """Build the block for a window's first lane."""
        lane = int(window.lanes[0])
        recorded = {key: room[lane] for key, room in window.data.items()}
        return cls(window.first, window.last, window.states[lane], recorded, window.states[lane, 0])

    def __len__(self) -> int:
        """Largest number of samples."""
        return len(self.states)


Advance = Callable[[StepBlock, Array], None]
"""Function that fills a block, or a part of it, from the state at its first step and stores the state after it."""


StartRun = Callable[[Array, float, float], Advance]
"""Function of parameters of plant and controller, step h and time of the first sample that returns an advance."""


class Integrator(Picklable, ABC):
    """A method to integrate ẋ = f(t, x). Simulators depend on this base class only."""

    @abstractmethod
    def prepare(self, loop: ClosedLoop) -> StartRun:
        """Build, once, everything that all runs of ``loop`` share.

        Returns:
            A function that starts a run from the parameters p of plant and controller, the step h [s] and the time of
            the first sample [s].
        """

    def rollout_loop(self, loop: ClosedLoop) -> RolloutLoop | None:
        """Return the loop over steps for runs in machine code; None if the method or the loop does not support it.

        Args:
            loop: plant and controller.
        """
        return None

    @property
    def passes_dependent_rows(self) -> bool:
        """True if it integrates where natural constraints are dependent: redundant ones, and singular positions."""
        return False

    def amplification(self, z: complex) -> float:
        """Return |R(z)|, the factor of one step h on a solution of ẏ = λ y with z = λ h; more than 1 is unstable.

        A method that chooses its own steps has no such factor, and returns 0.
        """
        return 0.0


@dataclass(frozen=True)
class Adaptive(Integrator):
    """A method that chooses its own steps.

    Attributes:
        relative_tolerance: relative tolerance of the local error.
        absolute_tolerance: absolute tolerance of the local error.
        max_steps: largest number of internal steps between two samples.

    Raises:
        ModelError: for a number that is not positive.
    """

    relative_tolerance: float = 1e-8
    absolute_tolerance: float = 1e-10
    max_steps: int = 20_000

    def __post_init__(self) -> None:
        """Check the numbers."""
        positive("relative_tolerance", self.relative_tolerance)
        positive("absolute_tolerance", self.absolute_tolerance)
        whole("max_steps", self.max_steps)


TOO_MANY_STEPS = (
    "it exceeds max_steps internal steps between two samples: increase max_steps, use looser tolerances, or look for a "
    "motion that diverges"
)


def step_by_step(
    observe: Callable[[float, Array], dict[str, Array]],
    follow: Callable[[float, Array], Array],
    step: float,
    correct: Callable[[float, Array], Array] | None = None,
    t0: float = 0.0,
) -> Advance:
    """Return an advance that calls Python in every step, and stops when the run ends or the controller fails.

    Args:
        observe: function that returns what is recorded at t and x.
        follow: function that returns the state one step after t and x.
        step: h [s].
        correct: correction applied to the state after each step, if any.
        t0: time of the first sample [s].
    """

    def advance(block: StepBlock, state: Array) -> None:
        block.after = x = state
        for i in range(len(block)):
            t, wanted = t0 + (block.first + i) * step, not (block.last and i + 1 == len(block))
            try:
                recorded = observe(t, x)
                # Stored now, so that the sample is kept whatever happens in the step after it.
                block.states[i] = x
                for key, value in recorded.items():
                    block.recorded[key][i] = value
                block.filled = i + 1
                after = follow(t, x) if wanted else x
                if correct is not None and wanted and np.isfinite(after).all():
                    after = correct(t + step, after)
            except ENDS as error:
                block.error = error
                break
            except EruginError:
                raise
            except Exception as error:
                block.error = error
                break
            block.after = x = after
            if (recorded["stop"] > 0.0).any() or not np.isfinite(after).all():
                break

    return advance
