"""A limit of how fast the output changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..controller import Controller
from .clock import elapsed
from .drive import Drive
from .entries import finite_entries, frozen, positive_entries

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Applied:
    """What is remembered.

    Attributes:
        t: time of the last sample [s].
        output: that was applied then, shape (n,).
        command: that it should have reached by then, shape (n,).
    """

    t: float
    output: Array
    command: Array


class RateLimit(Drive[Applied]):
    """u(t) = u_k + min(max(c(t) − u_k, −r (t − t_k)), r (t − t_k)), with u_k what was applied at the last sample t_k.

    So |du/dt| never exceeds r on average from any sample on. Where a whole interval was not enough to reach what the
    law said at its end, the status is LIMITED and the message says by how much.
    """

    takes_commands = True

    def __init__(self, controller: Controller, rate: ArrayLike, *, initial: ArrayLike = 0.0) -> None:
        """Limit a law.

        Args:
            controller: what is limited.
            rate: r, greatest change in a second, a number or shape (n,).
            initial: output at the first sample, a number or shape (n,).

        Raises:
            ModelError: for a wrong shape, or a rate that is not positive.
        """
        super().__init__(controller)
        self.rate = positive_entries("rate", rate, self.size, "one for each output")
        self.initial = finite_entries("initial", initial, self.size, "one for each output")
        self.reset()

    def take(self, own: Applied | None, t: float, before: Array, after: Array) -> Applied:
        """Keep what is applied now."""
        output = self.initial if own is None else frozen(self.shaped(own, t, before)[0])
        return Applied(t, output, frozen(before))

    def shaped(self, own: Applied | None, t: float, command: Array) -> tuple[Array, str]:
        """The output as far as it gets."""
        if own is None:
            raise self.no_sample_yet()
        length = elapsed(type(self).__name__, own.t, t)
        reach = np.full(self.size, np.inf)
        np.multiply(self.rate, length, out=reach, where=np.isfinite(self.rate))
        output = own.output + np.minimum(np.maximum(command - own.output, -reach), reach)
        # What gets there is there, to the last digit.
        output = np.where(np.abs(command - own.output) <= reach, command, output)
        said = [
            f"{self.outputs[i]} would be {own.command[i]:.6g}, but changes by {self.rate[i]:.6g} per second at most "
            f"and is at {own.output[i]:.6g}"
            for i in np.flatnonzero(own.output != own.command)
        ]
        return output, f"{'; '.join(said)}." if said else ""
