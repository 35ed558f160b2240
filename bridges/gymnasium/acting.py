"""A law with an action added to its output, for loops that call it from Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.controller import Controller, Observation
from ...controllers.traits import Trait
from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters

Array = NDArray[np.float64]
Values = Mapping[str, float] | ArrayLike | None


@dataclass(frozen=True, eq=False)
class Kept:
    """The memory of a law with an action.

    Attributes:
        action: that is added.
        count: of the samples taken in.
        held: what the law said at the start of the period, if that is held.
        inner: memory of the law.
    """

    action: Array
    count: int
    held: Observation | None
    inner: object | None


class Acting(Controller):
    """u = law + action, or the action alone; the law's output may be held over a control period."""

    handles = frozenset(Trait)

    def __init__(
        self,
        robot: Robot,
        law: Controller | None,
        *,
        forces: bool,
        parameters: Parameters = NO_PARAMETERS,
        every: int = 0,
    ) -> None:
        """Take over what the law says of itself.

        Args:
            robot: the plant, which is the model of an action alone.
            law: to whose output the action is added, or None.
            forces: whether the output is a generalized force R, shape (nv,), as the law's must be; else u, shape (nu,).
            parameters: the law's own, or those that are kept where there is none.
            every: number of samples over which the law's output is held; 0 for not at all.
        """
        self._law, self._every = law, every
        self.robot = robot if law is None else law.robot
        self.parameters = parameters if law is None else law.parameters
        self.applies_force = forces
        self.action = np.zeros(robot.v.numel() if forces else robot.u.numel())
        self._count = -1
        self._held: Observation | None = None

    @property
    def memory(self) -> object | None:
        """The action, besides what the law remembers: no step may go across a sample."""
        inner = None if self._law is None else self._law.memory
        return Kept(self.action.copy(), self._count, self._held, inner)

    @memory.setter
    def memory(self, value: object | None) -> None:
        if not isinstance(value, Kept):
            raise ModelError(f"only what was remembered can be put back, got {value!r}")
        self.action, self._count, self._held = value.action.copy(), value.count, value.held
        if self._law is not None:
            self._law.memory = value.inner

    @property
    def rows(self) -> tuple[str, ...]:
        """Of the law."""
        return () if self._law is None else self._law.rows

    @property
    def switches(self) -> bool:
        """Of the law."""
        return self._law is not None and self._law.switches

    @property
    def tolerance(self) -> float:
        """Of the law."""
        return 0.0 if self._law is None else self._law.tolerance

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
        """The law's output, or what is held of it, and the action.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters of the law.
        """
        if self._law is None:
            return self.action.copy()
        if self._held is not None:
            return np.asarray(self._held.output + self.action, dtype=np.float64)
        return np.asarray(self._law.control(t, q, v, p) + self.action, dtype=np.float64)

    def observe(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Observation:
        """The same with the law's pivots."""
        if self._law is None:
            nothing = np.zeros(0)
            return Observation(self.action.copy(), nothing, nothing, nothing)
        if self._held is not None:
            # What is not asked for is looked at all the same: a broken state ends the run.
            self.arguments(t, q, v, p)
        told = self._held or self._law.observe(t, q, v, p)
        return replace(told, output=told.output + self.action)

    def deviation(self, t: float, q: ArrayLike, v: ArrayLike, a: ArrayLike, p: Values = None) -> Array:
        """Of the law."""
        return np.zeros(0) if self._law is None else self._law.deviation(t, q, v, a, p)

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        """Let the law take in the sample; at the start of a period its output is asked for, if it is held.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters of the law.
        """
        self._count += 1
        if self._law is None:
            return
        self._law.advance(t, q, v, p)
        if self._every and self._count % self._every == 0:
            self._held = self._law.observe(t, q, v, p)

    def begin_period(self) -> None:
        """The next sample is the first of a period, whatever came before."""
        self._count = -1

    def reset(self) -> None:
        """A new episode."""
        self._count, self._held = -1, None
        self.action[:] = 0.0
        if self._law is not None:
            self._law.reset()
