"""A controller as a function from Pinocchio's coordinates, velocities and time to generalized forces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.controller import Controller
from ...symbolic.errors import BridgeError
from ...symbolic.optional_dependencies import import_optional
from ..common.controller_memory import ControllerMemory, Values, model_parameters
from ..common.generalized_force import generalized_force
from ..common.model_comparison import TOLERANCE
from .coordinate_conversion import PinocchioStateConversion
from .match import match
from .pinocchio_model import PinocchioModel

if TYPE_CHECKING:
    import pinocchio


Array = NDArray[np.float64]
TIME_TOLERANCE = 1e-9
"""Largest difference of two times of the same sample, relative to the interval between samples."""


def drive(
    controller: Controller,
    model: pinocchio.Model | PinocchioModel,
    *,
    p: Values = None,
    names: Mapping[str, str] | None = None,
    dissipation: bool = False,
    tolerance: float | None = TOLERANCE,
) -> TorqueFunction:
    """Build a function of Pinocchio's q', v' and t that returns τ' of a law; joints are matched by name.

    Each function has a separate memory: one controller can drive any number of models, and its own memory is not
    changed. The law's model is first compared with Pinocchio's, which must be the same robot. An angle that the model
    writes as cosine and sine is passed to the law in (−π, π], regardless of full turns.

    Args:
        controller: the law.
        model: a Pinocchio model, or the result of :func:`export`.
        p: the controller's parameters, its robot's among them: nominal, overridden by name, or the whole vector.
        names: name of a joint in the robot → name in the model, for those that differ.
        dissipation: True if the loop around the model adds its damping and friction, which Pinocchio's algorithms leave
            out.
        tolerance: relative tolerance of M and h of the model in the comparison; None for a model that is intentionally
            another robot.

    Raises:
        BridgeError: if joints do not match, or if M or h differ; the message says where and by how much.
    """
    if not isinstance(controller, Controller):
        raise BridgeError(
            f"controller must be a Controller, got {controller!r}; of a program pass ProgramController(program)"
        )
    pin: Any = import_optional("pinocchio", "pinocchio")
    inner = model.model if isinstance(model, PinocchioModel) else model
    if not isinstance(inner, pin.Model):
        raise BridgeError(f"model must be a pinocchio.Model, got {model!r}")
    robot, own = controller.robot, model_parameters(controller, p)
    if tolerance is not None:
        match(robot, model, p=own, names=names, dissipation=dissipation, tolerance=tolerance).check(tolerance)
    states = PinocchioStateConversion(robot, inner, names)
    return TorqueFunction(controller, states, controller.parameters.values(p), robot.parameters.values(own))


class TorqueFunction:
    """τ' of a law as a function of Pinocchio's q', v' and t.

    A law with a memory must be called in the order of time; each new time, up to rounding, is one sample. A law without
    memory may be called at any times.

    Attributes:
        controller: the law.
        memory: memory of the law for this model.
        states: conversion of states and forces between robot and model.
        p: the controller's parameters, shape (np,); may be changed between calls.
    """

    def __init__(self, controller: Controller, states: PinocchioStateConversion, p: Array, robot_p: Array) -> None:
        """Start without memory.

        Args:
            controller: the law.
            states: conversion of states between its robot and the model.
            p: the controller's parameters, shape (np,).
            robot_p: parameters of its robot, shape (np of the robot,).
        """
        self.controller, self.states, self.p = controller, states, controller.parameters.values(p)
        self._applied = generalized_force(controller.robot, controller, robot_p)
        self._remembers = controller.has_memory
        self.memory = ControllerMemory(controller)
        self._time, self._interval = -np.inf, 0.0

    def reset(self) -> None:
        """Forget all samples, before a new run."""
        self.memory.reset()
        self._time, self._interval = -np.inf, 0.0

    def __call__(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """Return generalized forces τ' in the order of Pinocchio's velocities, shape (nv',).

        Args:
            q: Pinocchio's coordinates, shape (nq',).
            v: Pinocchio's velocities, shape (nv',).
            t: time [s].

        Raises:
            BridgeError: for a wrong shape, or, if the law has a memory, a time before the last one.
            EruginError: if the law raises it.
        """
        state = self.states.from_model(q, v)
        with self.memory.in_use() as law:
            if self._remembers:
                self._advance(t, *state)
            output = np.asarray(law.control(t, *state, self.p), dtype=np.float64)
        return self.states.force_to_model(state[0], self._applied(t, *state, output))

    def _advance(self, t: float, q: Array, v: Array) -> None:
        """Advance the memory of the law, unless the sample is the last one again."""
        # k h + h and (k + 1) h are the same time.
        if abs(t - self._time) <= max(TIME_TOLERANCE * self._interval, 4.0 * np.spacing(abs(t))):
            return
        if t < self._time:
            raise BridgeError(
                f"t = {t:g} s comes before the last sample, t = {self._time:g} s: call the law in the order of time, "
                "or reset() it"
            )
        self.controller.advance(t, q, v, self.p)
        self._interval = t - self._time if np.isfinite(self._time) else 0.0
        self._time = t
