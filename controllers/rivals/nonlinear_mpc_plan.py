"""What a predictive controller remembers from one sample to the next."""

from __future__ import annotations

from dataclasses import dataclass

from ..wrappers.clock import Clock
from .nonlinear_mpc_problem import Guess


@dataclass(frozen=True, eq=False)
class Plan:
    """The last plan that a solver found, and how it was made.

    Attributes:
        clock: when the controller ticked.
        guess: states, inputs and multipliers of the plan; None before the first.
        made: tick at which it was made.
        asked: tick at which the solver was last asked for one.
        word: the solver's then.
    """

    clock: Clock
    guess: Guess | None
    made: int = -1
    asked: int = -1
    word: str = ""

    @property
    def age(self) -> int:
        """Ticks since the plan was made."""
        return self.clock.index - self.made

    @property
    def excuse(self) -> str:
        """A sentence on why there is no newer one."""
        failed = self.asked == self.clock.index
        why = f"the solver found no other ({self.word})" if failed else "the sample of this tick could not be used"
        return f"The plan made {self.age} {'tick' if self.age == 1 else 'ticks'} ago goes on: {why}."
