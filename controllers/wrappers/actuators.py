"""Actuators: saturation, rate limits and lags of the output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.limits import DECLARE_EFFORT
from ...symbolic.errors import ModelError
from ...symbolic.validation import read_only_copy, vector_argument
from ..controller import Controller
from ..sample_clock import elapsed
from .signal_wrapper import ActuatorWrapper

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MotorLagMemory:
    """Memory of :class:`MotorLag`.

    Attributes:
        t: time of the last sample [s].
        output: output of the drive at that time, shape (n,).
        command: command just after that time, shape (n,).
    """

    t: float
    output: Array
    command: Array


class MotorLag(ActuatorWrapper[MotorLagMemory]):
    """T du/dt + u = c(t).

    Since the last sample t_k the command is assumed to have changed linearly with slope s from c_k to c(t), for which
    the solution is exact: u(t) = c(t) − s T + (u_k − c_k + s T) exp(−(t − t_k)/T). The solution is exact for a command
    that is constant between samples, and of second order in the step for a continuous one.
    """

    needs_commands = True

    def __init__(self, controller: Controller, time_constant: ArrayLike, *, initial: ArrayLike = 0.0) -> None:
        """Add drives to a law.

        Args:
            controller: the controller inside, which computes the command.
            time_constant: T, a number or shape (n,) [s].
            initial: output of the drives at the first sample, a number or shape (n,).

        Raises:
            ModelError: for a wrong shape, or a time constant that is not positive and finite.
        """
        super().__init__(controller)
        what = "one for each output"
        self.time_constant = vector_argument(
            "time_constant", time_constant, self.size, what, infinite=False, sign="positive"
        )
        self.initial = vector_argument("initial", initial, self.size, what, infinite=False)
        self.reset()

    def record_command(self, memory: MotorLagMemory | None, t: float, before: Array, after: Array) -> MotorLagMemory:
        """Return the memory: the output of the drives and the command from this sample on."""
        output = self.initial if memory is None else read_only_copy(self.applied_output(memory, t, before)[0])
        return MotorLagMemory(t, output, read_only_copy(after))

    def applied_output(self, memory: MotorLagMemory | None, t: float, command: Array) -> tuple[Array, str]:
        """Return the output of the drives."""
        if memory is None:
            raise self.no_sample_error()
        length = elapsed(type(self).__name__, memory.t, t)
        if length == 0.0:
            return memory.output, ""
        share = length / self.time_constant
        # s T (1 − exp(−(t − t_k)/T)), without the quotient of two small differences.
        behind = (command - memory.command) * (-np.expm1(-share) / share)
        return command - behind + (memory.output - memory.command) * np.exp(-share), ""


@dataclass(frozen=True, eq=False)
class RateLimitMemory:
    """Memory of :class:`RateLimit`.

    Attributes:
        t: time of the last sample [s].
        output: output applied at that time, shape (n,).
        command: command that the output should have reached by that time, shape (n,).
    """

    t: float
    output: Array
    command: Array


class RateLimit(ActuatorWrapper[RateLimitMemory]):
    """u(t) = u_k + min(max(c(t) − u_k, −r (t − t_k)), r (t − t_k)), with u_k the output applied at the last sample t_k.

    So the average of |du/dt| from any sample on never exceeds r. If a whole interval was too short to reach the command
    at its end, the status is LIMITED and the message reports the difference.
    """

    needs_commands = True

    def __init__(self, controller: Controller, rate: ArrayLike, *, initial: ArrayLike = 0.0) -> None:
        """Limit the rate of the output of a law.

        Args:
            controller: the controller inside.
            rate: r, greatest change per second, a number or shape (n,).
            initial: output at the first sample, a number or shape (n,).

        Raises:
            ModelError: for a wrong shape, or a rate that is not positive.
        """
        super().__init__(controller)
        self.rate = vector_argument("rate", rate, self.size, "one for each output", sign="positive")
        self.initial = vector_argument("initial", initial, self.size, "one for each output", infinite=False)
        self.reset()

    def record_command(self, memory: RateLimitMemory | None, t: float, before: Array, after: Array) -> RateLimitMemory:
        """Return the memory: the output and the command at this sample."""
        output = self.initial if memory is None else read_only_copy(self.applied_output(memory, t, before)[0])
        return RateLimitMemory(t, output, read_only_copy(before))

    def applied_output(self, memory: RateLimitMemory | None, t: float, command: Array) -> tuple[Array, str]:
        """Return the output within its rate limit."""
        if memory is None:
            raise self.no_sample_error()
        length = elapsed(type(self).__name__, memory.t, t)
        reach = np.full(self.size, np.inf)
        np.multiply(self.rate, length, out=reach, where=np.isfinite(self.rate))
        output = memory.output + np.minimum(np.maximum(command - memory.output, -reach), reach)
        # An output that reaches the command equals it to the last digit.
        output = np.where(np.abs(command - memory.output) <= reach, command, output)
        messages = [
            f"{self.outputs[i]} would be {memory.command[i]:.6g}, but changes by {self.rate[i]:.6g} per second at most "
            f"and is at {memory.output[i]:.6g}"
            for i in np.flatnonzero(memory.output != memory.command)
        ]
        return output, f"{'; '.join(messages)}." if messages else ""


class Saturation(ActuatorWrapper[None]):
    """u_i = min(max(c_i, lower_i), upper_i).

    While an output is saturated, the status is LIMITED and the message names it and the excess.

    Attributes:
        lower: least output, shape (n,).
        upper: greatest output, shape (n,).
    """

    remembers = False

    def __init__(
        self, controller: Controller, limits: ArrayLike | None = None, *, lower: ArrayLike | None = None
    ) -> None:
        """Limit the output of a law.

        Args:
            controller: the controller inside.
            limits: greatest output, a number or shape (n,); infinity for no limit; ``robot.limits.effort`` if not
                given.
            lower: least output, a number or shape (n,); the negative of the greatest if not given.

        Raises:
            ModelError: for a wrong shape, a lower limit above the upper one, or if there are no limits.
        """
        super().__init__(controller)
        what = "one for each output"
        if limits is None and lower is None:
            if self.applies_force or np.isinf(self.robot.limits.effort).all():
                why = (
                    "the output of the law is a force, for which a robot declares no limits"
                    if self.applies_force
                    else f"{self.robot.name} declares no limits of effort; {DECLARE_EFFORT}"
                )
                raise ModelError(f"Saturation requires limits=: {why}")
            limits = self.robot.limits.effort
        if lower is None:
            self.upper = vector_argument(
                "limits", np.inf if limits is None else limits, self.size, what, sign="nonnegative"
            )
            self.lower = -self.upper
        else:
            self.upper = vector_argument("limits", np.inf if limits is None else limits, self.size, what)
            self.lower = vector_argument("lower", lower, self.size, what)
        if not ((self.lower <= self.upper) & (self.lower < np.inf) & (self.upper > -np.inf)).all():
            raise ModelError(
                "lower must not be above limits, nor +inf, and limits must not be −inf, got lower = "
                f"{self.lower} and limits = {self.upper}"
            )
        self.reset()

    def applied_output(self, memory: None, t: float, command: Array) -> tuple[Array, str]:
        """Return the output within the limits."""
        output = np.minimum(np.maximum(command, self.lower), self.upper)
        over = np.flatnonzero(output != command)
        messages = [
            f"{self.outputs[i]} would be {command[i]:.6g}, beyond its limit {output[i]:.6g} by "
            f"{abs(command[i] - output[i]):.3g}"
            for i in over
        ]
        return output, f"{'; '.join(messages)}." if messages else ""
