"""Actuators: saturation, rate limits and lags of the output."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.limits import DECLARE_EFFORT
from ...symbolic.errors import ModelError
from ...symbolic.validation import vector_argument
from ..controller import Controller
from ..law import select
from .signal_wrapper import ActuatorWrapper, Memory

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


class MotorLag(ActuatorWrapper):
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

    def layout(self, capacity: int) -> Mapping[str, int]:
        """Return the sizes of time and output of the drives at the last sample, and of the command just after it."""
        return {"time": 1, "output": self.size, "command": self.size}

    def first(self, t: ca.SX, q: ca.SX, v: ca.SX) -> Mapping[str, ca.SX]:
        """Return the initial output."""
        return {"time": t, "output": ca.SX(self.initial)}

    def record_command(self, m: Memory, t: ca.SX, before: ca.SX, after: ca.SX) -> Mapping[str, ca.SX]:
        """Return the output of the drives, and the command from this sample on."""
        return {"time": t, "output": self.applied_output(m, t, before), "command": after}

    def applied_output(self, m: Memory, t: ca.SX, command: ca.SX) -> ca.SX:
        """Return the output of the drives."""
        length = t - m["time"]
        share = length / ca.SX(self.time_constant)
        # s T (1 − exp(−(t − t_k)/T)), without the quotient of two small differences.
        behind = (command - m["command"]) * (-ca.expm1(-share) / share)
        return select(length > 0, command - behind + (m["output"] - m["command"]) * ca.exp(-share), m["output"])


class RateLimit(ActuatorWrapper):
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

    def layout(self, capacity: int) -> Mapping[str, int]:
        """Return the sizes of time, output and command at the last sample."""
        return {"time": 1, "output": self.size, "command": self.size}

    def first(self, t: ca.SX, q: ca.SX, v: ca.SX) -> Mapping[str, ca.SX]:
        """Return the initial output."""
        return {"time": t, "output": ca.SX(self.initial)}

    def record_command(self, m: Memory, t: ca.SX, before: ca.SX, after: ca.SX) -> Mapping[str, ca.SX]:
        """Return the output, and the command that it should have reached by this sample."""
        return {"time": t, "output": self.applied_output(m, t, before), "command": before}

    def applied_output(self, m: Memory, t: ca.SX, command: ca.SX) -> ca.SX:
        """Return the output within its rate limit."""
        reach, change = self._reach(t - m["time"]), command - m["output"]
        # An output that reaches the command equals it to the last digit.
        return select(ca.fabs(change) <= reach, command, m["output"] + ca.fmin(ca.fmax(change, -reach), reach))

    def limited(self, m: Memory, t: ca.SX, command: ca.SX) -> ca.SX:
        """Return the outputs that had not reached their command at the last sample."""
        return m["output"] != m["command"]

    def limit_message(self, m: Mapping[str, Array], command: Array, output: Array, limited: Flags) -> str:
        """Return what the outputs should be, and are."""
        messages = [
            f"{self.outputs[i]} would be {m['command'][i]:.6g}, but changes by {self.rate[i]:.6g} per second at most "
            f"and is at {m['output'][i]:.6g}"
            for i in np.flatnonzero(limited)
        ]
        return f"{'; '.join(messages)}."

    def _reach(self, length: ca.SX) -> ca.SX:
        """Greatest change in a time."""
        return ca.vertcat(*(length * rate if np.isfinite(rate) else ca.SX(ca.inf) for rate in self.rate.tolist()))


class Saturation(ActuatorWrapper):
    """u_i = min(max(c_i, lower_i), upper_i).

    While an output is saturated, the status is LIMITED and the message names it and the excess.

    Attributes:
        lower: least output, shape (n,).
        upper: greatest output, shape (n,).
    """

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

    def applied_output(self, m: Memory, t: ca.SX, command: ca.SX) -> ca.SX:
        """Return the output within the limits."""
        return ca.fmin(ca.fmax(command, ca.SX(self.lower)), ca.SX(self.upper))

    def limited(self, m: Memory, t: ca.SX, command: ca.SX) -> ca.SX:
        """Return the outputs beyond their limits."""
        return self.applied_output(m, t, command) != command

    def limit_message(self, m: Mapping[str, Array], command: Array, output: Array, limited: Flags) -> str:
        """Return by how much the outputs exceed their limits."""
        messages = [
            f"{self.outputs[i]} would be {command[i]:.6g}, beyond its limit {output[i]:.6g} by "
            f"{abs(command[i] - output[i]):.3g}"
            for i in np.flatnonzero(limited)
        ]
        return f"{'; '.join(messages)}."
