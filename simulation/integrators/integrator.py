"""The abstract integrator: how a closed loop goes from one sample to the next."""

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
"""What a controller called from Python raises to end a run; anything else of Erugin's is a mistake of the user's."""
BLOCK = 100
"""Steps per block: few enough for a progress bar and Ctrl-C, many enough that Python between them costs nothing."""


@dataclass(eq=False)
class StepBlock:
    """Room for samples of consecutive steps of one closed loop; row i belongs to the start of step first + i.

    Attributes:
        first: index of the first step.
        last: whether the last row is the last sample of the run: no step is taken after it.
        states: x at each start, shape (n, nx).
        recorded: what is recorded at each start, shape (n, size) each.
        after: x at the end of the last step that was taken, shape (nx,).
        filled: number of samples that are there.
        error: what a controller called from Python raised in the step after the last sample, if anything.
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
        """The room of a window's first lane."""
        lane = int(window.lanes[0])
        recorded = {key: room[lane] for key, room in window.data.items()}
        return cls(window.first, window.last, window.states[lane], recorded, window.states[lane, 0])

    def __len__(self) -> int:
        """Number of samples that are wanted at most."""
        return len(self.states)


Advance = Callable[[StepBlock, Array], None]
"""Fills a block from the state at its first step, or a part of it, and leaves the state after that."""


StartRun = Callable[[Array, float, float], Advance]
"""Parameters of plant and controller, step h and time of the first sample → what advances a run."""


class Integrator(Picklable, ABC):
    """A way to integrate ẋ = f(t, x). One file each; the driver knows only this base."""

    @abstractmethod
    def prepare(self, loop: ClosedLoop) -> StartRun:
        """Build, once, whatever serves every run of ``loop``.

        Returns:
            A function that starts a run from the parameters p of plant and controller, the step h [s] and the time of
            the first sample [s].
        """

    def march(self, loop: ClosedLoop) -> RolloutLoop | None:
        """The loop over steps for whole runs in machine code; None for a method or a loop that has no such.

        Args:
            loop: plant and controller.
        """
        return None

    @property
    def passes_dependent_rows(self) -> bool:
        """Whether it integrates where natural constraints are dependent: redundant ones, and singular positions."""
        return False

    def amplification(self, z: complex) -> float:
        """|R(z)|: by how much one step h multiplies a solution of ẏ = λ y with z = λ h; more than 1 is unstable.

        A method that chooses its own steps has none, and returns 0.
        """
        return 0.0


@dataclass(frozen=True)
class Adaptive(Integrator):
    """A method that chooses its own steps.

    Attributes:
        relative_tolerance: of the local error.
        absolute_tolerance: of the local error.
        max_steps: of its own between two samples.

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
    "it takes more steps from one sample to the next than it may: allow more with max_steps, take a looser tolerance, "
    "or look for a motion that leaves every bound"
)


def step_by_step(
    observe: Callable[[float, Array], dict[str, Array]],
    follow: Callable[[float, Array], Array],
    step: float,
    correct: Callable[[float, Array], Array] | None = None,
    t0: float = 0.0,
) -> Advance:
    """An advance that calls Python in every step, and ends its block early when the run ends or the controller fails.

    Args:
        observe: what is recorded at t and x.
        follow: the state one step after t and x.
        step: h [s].
        correct: applied to the state after each step; nothing if not given.
        t0: time of the first sample [s].
    """

    def advance(block: StepBlock, state: Array) -> None:
        block.after = x = state
        for i in range(len(block)):
            t, wanted = t0 + (block.first + i) * step, not (block.last and i + 1 == len(block))
            try:
                recorded = observe(t, x)
                # Kept now: what was observed stays, whatever happens in the step after it.
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
