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

from ...controllers.controller import Controller, Tick
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

    The controller's memory is abstract state of the Context, so that several Contexts do not disturb each other. The
    controller is still a single Python object: two threads must not evaluate two Contexts of it at once.

    Input ports: ``state``, all of the plant's coordinates and velocities in its own order; ``parameters``, those of the
    controller, which may stay unconnected.

    Output ports: ``actuation``, in the order of the plant's actuators; ``generalized_force``, in the order of its
    velocities, equivalent to ``actuation``; ``output``, the controller's own u or R; ``status``, a
    :class:`~erugin.controllers.Status` as one number; and ``NAME_actuation``, named like the plant's port to which it
    is connected, for each model instance in which the controller drives joints: the part of ``actuation`` that belongs
    to it. All are zero for joints that the controller does not have. The plant adds all its inputs: connect
    ``actuation``, or ``generalized_force``, or the ports of model instances.

    Attributes:
        controller: the controller.
        plant: the plant for which the system is made.
        states: conversion between states of the robot and of the plant.
        actuators: name of each actuator of the plant → index of its joint's velocity.
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
            controller: the controller.
            robot: the driven robot, or the controller's model, with the input matrix B.
            plant: the robot in Drake.
            states: conversion between states of the robot and of the plant.
            actuators: actuators of the plant.
            p: parameters of ``robot``, shape (np,).
            controller_p: parameters of the controller, shape (np of the controller,).
            period: sampling period of a controller with memory [s]; None for no sampling.
            hold: True to hold the output constant from one sample to the next.
            name: name of the system.
        """
        super().__init__()
        self.set_name(name)
        self.controller, self.plant, self.states, self.actuators = controller, plant, states, actuators.indices
        self._free, self._applied = actuators.free, generalized_force(robot, controller, p)
        size = robot.coordinates.nv if controller.applies_force else robot.u.numel()
        self._state: Any = self.DeclareVectorInputPort("state", states.nq + states.nv)
        self._parameters: Any = self.DeclareVectorInputPort("parameters", len(controller_p))
        model: Any = Vector
        self._own = self.DeclareNumericParameter(model(controller_p))
        values: Any = import_optional("pydrake.common.value", "drake")
        self._initial_memory = ControllerMemory(controller)
        self._memory = self.DeclareAbstractState(values.AbstractValue.Make(self._initial_memory.value))
        self._held = self.DeclareDiscreteState(size) if hold else None
        if period is not None:
            self.DeclarePeriodicUnrestrictedUpdateEvent(period, 0.0, self._sample)
        indices = tuple(actuators.indices.values())
        self.DeclareVectorOutputPort("actuation", len(indices), self._actuation(indices))
        self.DeclareVectorOutputPort("generalized_force", states.nv, self._force)
        self.DeclareVectorOutputPort("output", size, self._output)
        self.DeclareVectorOutputPort("status", 1, self._status)
        self._instances = tuple(actuators.instances)
        for instance, indices in actuators.instances.items():
            self.DeclareVectorOutputPort(f"{instance}_actuation", len(indices), self._actuation(indices))

    def get_actuation_output_port(self, model_instance: ModelInstanceIndex | None = None) -> OutputPort:
        """Return the output port for the plant's ``get_actuation_input_port(model_instance)``.

        Args:
            model_instance: a model instance in which the controller drives joints; all actuators of the plant if not
                given.

        Raises:
            BridgeError: for a model instance in which the controller drives no joint.
        """
        if model_instance is None:
            return self.GetOutputPort("actuation")
        name = self.plant.GetModelInstanceName(model_instance)
        if name not in self._instances:
            driven = ", ".join(map(repr, self._instances)) or "none"
            raise BridgeError(
                f"{self.get_name()!r} drives no joint with an actuator in the model instance {name!r}; model instances "
                f"with such joints: {driven}"
            )
        return self.GetOutputPort(f"{name}_actuation")

    def remember(self, context: Context, memory: object | None) -> None:
        """Store a memory of the controller in a Context of this system.

        Args:
            context: a Context of this system.
            memory: the memory, such as ``controller.memory``.
        """
        context.SetAbstractState(int(self._memory), memory)

    @contextmanager
    def in_use(self, context: Context) -> Generator[Controller]:
        """Return a context manager in which the controller has a Context's memory, for example to read its estimates.

        Args:
            context: a Context of this system; it is not changed.
        """
        # A copy per call, because the memories of several Contexts may be in use at once.
        memory = copy.copy(self._initial_memory)
        memory.value = context.get_abstract_state(int(self._memory)).get_value()
        with memory.in_use() as law:
            yield law

    def _inputs(self, context: Context) -> tuple[float, Array, Array, Array]:
        """t, q, v of the robot, and the controller's parameters."""
        if not self._state.HasValue(context):
            raise BridgeError(
                f"input port 'state' of {self.get_name()!r} is not connected: connect the plant's "
                "get_state_output_port()"
            )
        x = self._state.Eval(context)
        q, v = self.states.from_model(x[: self.states.nq], x[self.states.nq :])
        if self._parameters.HasValue(context):
            p = self.controller.parameters.values(self._parameters.Eval(context))
        else:
            p = np.array(context.get_numeric_parameter(int(self._own)).value())
        return context.get_time(), q, v, p

    def _evaluate(self, context: Context) -> tuple[float, Array, Array, Array]:
        """t, q, v and u or R."""
        t, q, v, p = self._inputs(context)
        if self._held is not None:
            return t, q, v, np.array(context.get_discrete_state(int(self._held)).value())
        with self.in_use(context) as law:
            return t, q, v, law.control(t, q, v, p)

    def _sample(self, context: Context, state: State) -> None:
        t, q, v, p = self._inputs(context)
        with self.in_use(context) as law:
            law.advance(t, q, v, p)
            state.get_mutable_abstract_state(int(self._memory)).set_value(law.memory)
            if self._held is not None:
                state.get_mutable_discrete_state(int(self._held)).set_value(law.control(t, q, v, p))

    def _plant_force(self, context: Context) -> Array:
        """Generalized force on the plant."""
        t, q, v, output = self._evaluate(context)
        return self.states.force_to_model(q, self._applied(t, q, v, output))

    def _force(self, context: Context, force: BasicVector) -> None:
        force.SetFromVector(self._plant_force(context))

    def _actuation(self, indices: tuple[int, ...]) -> Callable[[Context, BasicVector], None]:
        """Function that writes the forces on the velocities with these indices."""
        return lambda context, actuation: actuation.SetFromVector(self._actuator_force(context)[list(indices)])

    def _actuator_force(self, context: Context) -> Array:
        """Generalized force on the plant, zero on joints without actuators."""
        force = self._plant_force(context)
        without_actuator = {joint: force[index] for index, joint in self._free.items() if force[index] != 0.0}
        if without_actuator:
            joints = ", ".join(f"{joint} ({value:.6g})" for joint, value in without_actuator.items())
            raise BridgeError(
                f"the controller drives joints without an actuator in the plant: {joints}. Connect 'generalized_force' "
                "to plant.get_applied_generalized_force_input_port(), or add a JointActuator to each before Finalize()"
            )
        return force

    def _output(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector(self._evaluate(context)[-1])

    def _status(self, context: Context, status: BasicVector) -> None:
        t, q, v, p = self._inputs(context)
        with self.in_use(context) as law:
            status.SetFromVector(np.array([float(_checked_output(law.observe(t, q, v, p), law))]))


def _checked_output(observed: Tick, controller: Controller) -> Status:
    if observed.status is not Status.OK:
        return observed.status
    return tick_status(all_finite(observed.output), observed.relative_pivots, controller.tolerance)
