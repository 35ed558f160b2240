"""Actuators: saturation, rate limits and lags of the output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ..controller import Controller
from ..sample_clock import elapsed
from .signal_wrapper import ActuatorWrapper
from .vector_arguments import finite_vector, nonnegative_vector, positive_vector, read_only_copy, vector_argument

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MotorLagMemory:
    """What is remembered.

    Attributes:
        t: time of the last sample [s].
        output: of the drive then, shape (n,).
        command: that it got from then on, shape (n,).
    """

    t: float
    output: Array
    command: Array


class MotorLag(ActuatorWrapper[MotorLagMemory]):
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
        finite_vector("time_constant", time_constant, self.size, "one for each output")
        self.time_constant = positive_vector("time_constant", time_constant, self.size, "one for each output")
        self.initial = finite_vector("initial", initial, self.size, "one for each output")
        self.reset()

    def take(self, own: MotorLagMemory | None, t: float, before: Array, after: Array) -> MotorLagMemory:
        """Keep where the drives are, and what they are told from now on."""
        output = self.initial if own is None else read_only_copy(self.shaped(own, t, before)[0])
        return MotorLagMemory(t, output, read_only_copy(after))

    def shaped(self, own: MotorLagMemory | None, t: float, command: Array) -> tuple[Array, str]:
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


@dataclass(frozen=True, eq=False)
class RateLimitMemory:
    """What is remembered.

    Attributes:
        t: time of the last sample [s].
        output: that was applied then, shape (n,).
        command: that it should have reached by then, shape (n,).
    """

    t: float
    output: Array
    command: Array


class RateLimit(ActuatorWrapper[RateLimitMemory]):
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
        self.rate = positive_vector("rate", rate, self.size, "one for each output")
        self.initial = finite_vector("initial", initial, self.size, "one for each output")
        self.reset()

    def take(self, own: RateLimitMemory | None, t: float, before: Array, after: Array) -> RateLimitMemory:
        """Keep what is applied now."""
        output = self.initial if own is None else read_only_copy(self.shaped(own, t, before)[0])
        return RateLimitMemory(t, output, read_only_copy(before))

    def shaped(self, own: RateLimitMemory | None, t: float, command: Array) -> tuple[Array, str]:
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


class Saturation(ActuatorWrapper[None]):
    """u_i = min(max(c_i, lower_i), upper_i).

    While it cuts an output off, the status is LIMITED and the message says which one and by how much.

    Attributes:
        lower: least output, shape (n,).
        upper: greatest output, shape (n,).
    """

    def __init__(
        self, controller: Controller, limits: ArrayLike | None = None, *, lower: ArrayLike | None = None
    ) -> None:
        """Limit a law.

        Args:
            controller: what is limited.
            limits: greatest output, a number or shape (n,); infinity for none; ``robot.limits.effort`` if not given.
            lower: least output, likewise; the negative of the greatest if not given.

        Raises:
            ModelError: for a wrong shape, limits that leave no room, or none at all.
        """
        super().__init__(controller)
        what = "one for each output"
        if limits is None and lower is None:
            if self.applies_force or np.isinf(self.robot.limits.effort).all():
                told = "the law gives forces" if self.applies_force else f"{self.robot.name} declares no limits"
                raise ModelError(f"Saturation needs limits=: {told}, so that there are none to take from the robot")
            limits = self.robot.limits.effort
        if lower is None:
            self.upper = nonnegative_vector("limits", np.inf if limits is None else limits, self.size, what)
            self.lower = -self.upper
        else:
            self.upper = vector_argument("limits", np.inf if limits is None else limits, self.size, what)
            self.lower = vector_argument("lower", lower, self.size, what)
        if not ((self.lower <= self.upper) & (self.lower < np.inf) & (self.upper > -np.inf)).all():
            raise ModelError(f"lower must not be above limits, nor infinite there, got {self.lower} and {self.upper}")
        self.reset()

    def shaped(self, own: None, t: float, command: Array) -> tuple[Array, str]:
        """The output within the limits."""
        output = np.minimum(np.maximum(command, self.lower), self.upper)
        over = np.flatnonzero(output != command)
        said = [
            f"{self.outputs[i]} would be {command[i]:.6g}, beyond its limit {output[i]:.6g} by "
            f"{abs(command[i] - output[i]):.3g}"
            for i in over
        ]
        return output, f"{'; '.join(said)}." if said else ""
