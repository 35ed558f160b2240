"""An event of a hybrid motion: a condition that comes to hold, what it does, and which mode follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import casadi as ca

from ..symbolic.errors import ModelError, require_name
from .hybrid_jumps import Jump

Direction = Literal["rising", "falling"]


@dataclass(frozen=True, eq=False)
class Event:
    """A scalar expression passes through zero.

    It happens where the expression, seen in its direction, becomes positive. One that is positive already where its
    mode begins happens at once, unless it is falling there: then it is on its way back, and happens only if it turns
    round before it has been at zero. So does a ball that has just bounced, an instant late and therefore a hair inside
    the floor. One that has just happened, and still rises after its jump, must come back to zero before it can happen
    again, even if others that lead back to the same mode happen meanwhile.

    Attributes:
        when: in the plant's t, q, v, p and the parameters of the mode's controller.
        to: name of the mode that follows, which may be the same; None to end the motion.
        direction: ``"rising"``, or ``"falling"`` for the negative expression.
        jump: what happens to coordinates and velocities; None if nothing does.
        name: told in the motion.
        settles: name of the mode that takes over where infinitely many of these events come together, as of a ball that
            comes to rest; None to end the motion there.

    Raises:
        ModelError: for no scalar expression, no name, another direction, a jump that is none, or that of an event that
            ends the motion.
    """

    when: ca.SX
    to: str | None
    direction: Direction = "rising"
    jump: Jump | None = None
    name: str = "event"
    settles: str | None = None

    def __post_init__(self) -> None:
        """Check the parts."""
        require_name("an event", self.name)
        if not isinstance(self.when, ca.SX) or self.when.shape != (1, 1):
            told = f"shape {self.when.shape}" if isinstance(self.when, ca.SX) else repr(self.when)
            raise ModelError(f"event {self.name!r} needs a scalar expression that passes through zero, got {told}")
        if self.direction not in get_args(Direction):
            words = ", ".join(map(repr, get_args(Direction)))
            raise ModelError(f"direction of event {self.name!r} must be one of {words}, got {self.direction!r}")
        if self.jump is not None and not isinstance(self.jump, Jump):
            raise ModelError(f"event {self.name!r} needs a Jump, such as Rebound(gap, 0.8), or None, got {self.jump!r}")
        for word, mode in (("to", self.to), ("settles", self.settles)):
            if mode is not None and not (isinstance(mode, str) and mode):
                raise ModelError(f"{word} of event {self.name!r} must be the name of a mode or None, got {mode!r}")
        if self.to is None and not (self.jump is None and self.settles is None):
            raise ModelError(f"event {self.name!r} ends the motion (to=None), so it can have neither jump nor settles")

    @property
    def rising(self) -> ca.SX:
        """The expression, or its negative: what becomes positive."""
        return self.when if self.direction == "rising" else -self.when
