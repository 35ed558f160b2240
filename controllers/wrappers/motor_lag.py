"""A drive that follows its command with a lag."""

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
class Lagging:
    """What is remembered.

    Attributes:
        t: time of the last sample [s].
        output: of the drive then, shape (n,).
        command: that it got from then on, shape (n,).
    """

    t: float
    output: Array
    command: Array


class MotorLag(Drive[Lagging]):
    """T du/dt + u = c(t).

    Since the last sample t_k the command is taken to have gone on a straight line of slope s from c_k to c(t), for
    which the answer is exact: u(t) = c(t) − s T + (u_k − c_k + s T) exp(−(t − t_k)/T). A command that is held between
    samples is followed exactly; one that is continuous up to the second order in the step.
    """

    takes_commands = True

    def __init__(self, controller: Controller, time_constant: ArrayLike, *, initial: ArrayLike = 0.0) -> None:
        """Put drives behind a law.

        Args:
            controller: gives the command.
            time_constant: T, a number or shape (n,) [s].
            initial: output of the drives at the first sample, a number or shape (n,).

        Raises:
            ModelError: for a wrong shape, or a time that is not positive and finite.
        """
        super().__init__(controller)
        finite_entries("time_constant", time_constant, self.size, "one for each output")
        self.time_constant = positive_entries("time_constant", time_constant, self.size, "one for each output")
        self.initial = finite_entries("initial", initial, self.size, "one for each output")
        self.reset()

    def take(self, own: Lagging | None, t: float, before: Array, after: Array) -> Lagging:
        """Keep where the drives are, and what they are told from now on."""
        output = self.initial if own is None else frozen(self.shaped(own, t, before)[0])
        return Lagging(t, output, frozen(after))

    def shaped(self, own: Lagging | None, t: float, command: Array) -> tuple[Array, str]:
        """What the drives give."""
        if own is None:
            raise self.no_sample_yet()
        length = elapsed(type(self).__name__, own.t, t)
        if length == 0.0:
            return own.output, ""
        share = length / self.time_constant
        # s T (1 − exp(−(t − t_k)/T)), without the quotient of two small differences.
        behind = (command - own.command) * (-np.expm1(-share) / share)
        return command - behind + (own.output - own.command) * np.exp(-share), ""
