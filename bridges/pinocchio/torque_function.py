"""A controller as a function from Pinocchio's coordinates, velocities and time to generalized forces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.controller import Controller
from ...symbolic.errors import BridgeError
from ...symbolic.optional_dependencies import import_optional
from ..common.controller_memory import ControllerMemory, Values, has_memory, model_parameters
from ..common.generalized_force import generalized_force
from ..common.model_comparison import TOLERANCE
from .coordinate_conversion import PinocchioStateConversion
from .match import match
from .pinocchio_model import PinocchioModel

if TYPE_CHECKING:
    import pinocchio


Array = NDArray[np.float64]
TIME_TOLERANCE = 1e-9
"""How far two times of one sample may be apart, as a share of the interval between samples."""


def drive(
    controller: Controller,
    model: pinocchio.Model | PinocchioModel,
    *,
    p: Values = None,
    names: Mapping[str, str] | None = None,
    dissipation: bool = False,
    tolerance: float | None = TOLERANCE,
) -> TorqueFunction:
    """A law as a function of Pinocchio's q', v' and t that gives τ'; joints are told by name.

    Each has a memory of its own: one controller drives as many models as one likes, and itself remembers nothing of it.
    The law's own model is compared with Pinocchio's at the start; two that are not the same robot are refused.
    An angle that the model writes as cosine and sine comes to the law in (−π, π], whatever turns it has made.

    Args:
        controller: any.
        model: there, or what :func:`export` made.
        p: the controller's parameters, its robot's among them: nominal, overridden by name, or the whole vector.
        names: name of a joint here → name there, for those that differ.
        dissipation: whether the loop around the model adds its damping and friction, which Pinocchio's algorithms leave
            out.
        tolerance: by which M and h of the model may differ from those of the law's, relative; None for a model that is
            meant to be another robot.

    Raises:
        BridgeError: if joints do not match, or M or h differ; lists both sides, and tells where and by how much.
    """
    if not isinstance(controller, Controller):
        raise BridgeError(f"a Controller drives a model, got {controller!r}; for a program that is ProgramController")
    pin: Any = import_optional("pinocchio", "pinocchio")
    inner = model.model if isinstance(model, PinocchioModel) else model
    if not isinstance(inner, pin.Model):
        raise BridgeError(f"a law drives a pinocchio.Model, got {model!r}")
    robot, own = controller.robot, model_parameters(controller, p)
    if tolerance is not None:
        match(robot, model, p=own, names=names, dissipation=dissipation, tolerance=tolerance).check(tolerance)
    states = PinocchioStateConversion(robot, inner, names)
    return TorqueFunction(controller, states, controller.parameters.values(p), robot.parameters.values(own))


class TorqueFunction:
    """τ' of a law for Pinocchio's q', v' and t.

    A law with a memory takes in one sample for each time at which it is called, in the order of time; called again at
    the same time, but for rounding, it changes nothing. One without may be called at any times.

    Attributes:
        controller: the law.
        memory: what it remembers here, apart from all else that it drives.
        states: turns states and forces from here to there and back.
        p: the controller's parameters, shape (np,); may be changed between calls.
    """

    def __init__(self, controller: Controller, states: PinocchioStateConversion, p: Array, robot_p: Array) -> None:
        """Start without memory.

        Args:
            controller: the law.
            states: relates its robot and the model.
            p: the controller's parameters, shape (np,).
            robot_p: those of its robot, shape (np of the robot,).
        """
        self.controller, self.states, self.p = controller, states, controller.parameters.values(p)
        self._applied = generalized_force(controller.robot, controller, robot_p)
        self._remembers = has_memory(controller, p)
        self.memory = ControllerMemory(controller)
        self._time, self._interval = -np.inf, 0.0

    def reset(self) -> None:
        """Forget all samples, before a new run."""
        self.memory.reset()
        self._time, self._interval = -np.inf, 0.0

    def __call__(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """Generalized forces τ' in the order of Pinocchio's velocities, shape (nv',).

        Args:
            q: Pinocchio's coordinates, shape (nq',).
            v: Pinocchio's velocities, shape (nv',).
            t: time [s].

        Raises:
            BridgeError: for a wrong shape, or, if the law has a memory, a time before the last one.
            EruginError: what the law raises.
        """
        here = self.states.from_model(q, v)
        with self.memory.in_use() as law:
            if self._remembers:
                self._take_in(t, *here)
            output = np.asarray(law.control(t, *here, self.p), dtype=np.float64)
        return self.states.force_to_model(here[0], self._applied(t, *here, output))

    def _take_in(self, t: float, q: Array, v: Array) -> None:
        """A sample, unless it is the last one again."""
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
