"""A controller as a LeafSystem; importing this module imports Drake."""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydrake.systems.framework import BasicVector as Vector
from pydrake.systems.framework import LeafSystem

from ...controllers.controller import Controller, Observation
from ...controllers.status import Status, tick_status
from ...robots.robot import Robot
from ...symbolic.errors import BridgeError
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.validation import all_finite
from ..common.controller_memory import ControllerMemory
from ..common.generalized_force import generalized_force
from ..common.state_conversion import StateConversion
from .multibody_plant import BasicVector, Context, JointActuators, ModelInstanceIndex, MultibodyPlant, OutputPort, State

Array = NDArray[np.float64]


class ControllerSystem(LeafSystem):
    """u or R = law(t, q, v, p) as a system of a diagram.

    What the law remembers is abstract state of the Context, so that several Contexts do not disturb each other. A law
    is one object of Python all the same: two threads must not evaluate two Contexts of it at once.

    Input ports: ``state``, all of the plant's coordinates and velocities in its own order; ``parameters``, those of the
    law, which may stay unconnected.

    Output ports: ``actuation``, in the order of the plant's actuators; ``generalized_force``, in the order of its
    velocities, the same as a force on them; ``output``, u or R as the law says it; ``status``, a
    :class:`~erugin.controllers.Status` as one number; and ``NAME_actuation``, as the plant calls the port that it goes
    to, for each model instance in which the law drives joints: the part of ``actuation`` that belongs to it. All are
    zero for joints that the law does not have. The plant adds up what comes to its ports: connect ``actuation``, or
    ``generalized_force``, or those of model instances.

    Attributes:
        controller: the law.
        plant: that it is made for.
        states: writes a state here as one of the plant.
        actuators: name of each of the plant's actuators and the place of its joint's velocity.
    """

    def __init__(
        self,
        controller: Controller,
        robot: Robot,
        plant: MultibodyPlant,
        states: StateConversion,
        actuators: JointActuators,
        *,
        p: Array,
        controller_p: Array,
        period: float | None = None,
        hold: bool = False,
        name: str = "law",
    ) -> None:
        """Declare ports, parameters, state and events.

        Args:
            controller: the law.
            robot: the robot that is driven, or the law's model, whose B turns inputs into forces.
            plant: the same in Drake.
            states: writes its state as one of the MultibodyPlant.
            actuators: of the MultibodyPlant.
            p: parameters of ``robot``, shape (np,).
            controller_p: parameters of the law, shape (np of the law,).
            period: interval at which the law takes in a sample [s]; never by itself if None.
            hold: whether the output stays as it is from one sample to the next.
            name: of the system.
        """
        super().__init__()
        self.set_name(name)
        self.controller, self.plant, self.states, self.actuators = controller, plant, states, actuators.places
        self._free, self._applied = actuators.free, generalized_force(robot, controller, p)
        size = robot.coordinates.nv if controller.applies_force else robot.u.numel()
        self._state: Any = self.DeclareVectorInputPort("state", states.nq + states.nv)
        self._given: Any = self.DeclareVectorInputPort("parameters", len(controller_p))
        model: Any = Vector
        self._own = self.DeclareNumericParameter(model(controller_p))
        values: Any = import_optional("pydrake.common.value", "drake")
        self._lender = ControllerMemory(controller)
        self._memory = self.DeclareAbstractState(values.AbstractValue.Make(self._lender.value))
        self._held = self.DeclareDiscreteState(size) if hold else None
        if period is not None:
            self.DeclarePeriodicUnrestrictedUpdateEvent(period, 0.0, self._sample)
        places = tuple(actuators.places.values())
        self.DeclareVectorOutputPort("actuation", len(places), self._actuation(places))
        self.DeclareVectorOutputPort("generalized_force", states.nv, self._force)
        self.DeclareVectorOutputPort("output", size, self._output)
        self.DeclareVectorOutputPort("status", 1, self._status)
        self._instances = tuple(actuators.instances)
        for instance, places in actuators.instances.items():
            self.DeclareVectorOutputPort(f"{instance}_actuation", len(places), self._actuation(places))

    def get_actuation_output_port(self, model_instance: ModelInstanceIndex | None = None) -> OutputPort:
        """What goes to the plant's ``get_actuation_input_port(model_instance)``.

        Args:
            model_instance: one in which the law drives joints; all of the plant's actuators if not given.

        Raises:
            BridgeError: for a model instance in which it drives none.
        """
        if model_instance is None:
            return self.GetOutputPort("actuation")
        name = self.plant.GetModelInstanceName(model_instance)
        if name not in self._instances:
            there = ", ".join(map(repr, self._instances)) or "no model instance"
            raise BridgeError(
                f"{self.get_name()!r} drives no joint with an actuator in the model instance {name!r}, but in {there}"
            )
        return self.GetOutputPort(f"{name}_actuation")

    def remember(self, context: Context, memory: object | None) -> None:
        """Put a memory of the law into a Context of this system.

        Args:
            context: of this system.
            memory: such as ``controller.memory``.
        """
        context.SetAbstractState(int(self._memory), memory)

    @contextmanager
    def in_use(self, context: Context) -> Generator[Controller]:
        """The law with the memory of a Context, such as to look at what it has estimated, and then with its own again.

        Args:
            context: of this system; nothing is changed in it.
        """
        # One for each call: within one Context's memory that of another may be asked.
        lender = copy.copy(self._lender)
        lender.value = context.get_abstract_state(int(self._memory)).get_value()
        with lender.in_use() as law:
            yield law

    def _told(self, context: Context) -> tuple[float, Array, Array, Array]:
        """t, q, v here, and the law's parameters."""
        if not self._state.HasValue(context):
            raise BridgeError(
                f"input port 'state' of {self.get_name()!r} is not connected: connect the plant's "
                "get_state_output_port()"
            )
        x = self._state.Eval(context)
        q, v = self.states.from_model(x[: self.states.nq], x[self.states.nq :])
        if self._given.HasValue(context):
            p = self.controller.parameters.values(self._given.Eval(context))
        else:
            p = np.array(context.get_numeric_parameter(int(self._own)).value())
        return context.get_time(), q, v, p

    def _asked(self, context: Context) -> tuple[float, Array, Array, Array]:
        """t, q, v and u or R."""
        t, q, v, p = self._told(context)
        if self._held is not None:
            return t, q, v, np.array(context.get_discrete_state(int(self._held)).value())
        with self.in_use(context) as law:
            return t, q, v, law.control(t, q, v, p)

    def _sample(self, context: Context, state: State) -> None:
        t, q, v, p = self._told(context)
        with self.in_use(context) as law:
            law.advance(t, q, v, p)
            state.get_mutable_abstract_state(int(self._memory)).set_value(law.memory)
            if self._held is not None:
                state.get_mutable_discrete_state(int(self._held)).set_value(law.control(t, q, v, p))

    def _pushed(self, context: Context) -> Array:
        """Generalized force there."""
        t, q, v, output = self._asked(context)
        return self.states.force_to_model(q, self._applied(t, q, v, output))

    def _force(self, context: Context, force: BasicVector) -> None:
        force.SetFromVector(self._pushed(context))

    def _actuation(self, places: tuple[int, ...]) -> Callable[[Context, BasicVector], None]:
        """What writes the forces at these places of velocities."""
        return lambda context, actuation: actuation.SetFromVector(self._driven(context)[list(places)])

    def _driven(self, context: Context) -> Array:
        """Generalized force there, all of it at actuators."""
        pushed = self._pushed(context)
        lost = {joint: pushed[place] for place, joint in self._free.items() if pushed[place] != 0.0}
        if lost:
            said = ", ".join(f"{joint} ({value:.6g})" for joint, value in lost.items())
            raise BridgeError(
                f"the law pushes joints that no actuator of the plant drives: {said}. Connect 'generalized_force' to "
                "plant.get_applied_generalized_force_input_port(), or add a JointActuator to each before Finalize()"
            )
        return pushed

    def _output(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector(self._asked(context)[-1])

    def _status(self, context: Context, status: BasicVector) -> None:
        t, q, v, p = self._told(context)
        with self.in_use(context) as law:
            status.SetFromVector(np.array([float(_checked_output(law.observe(t, q, v, p), law))]))


def _checked_output(told: Observation, controller: Controller) -> Status:
    if told.status is not Status.OK:
        return told.status
    return tick_status(all_finite(told.output), told.relative_pivots, controller.tolerance)
