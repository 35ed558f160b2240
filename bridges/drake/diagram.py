"""A controller as a system in a diagram of Drake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...symbolic.errors import BridgeError, require_name
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.validation import positive
from ..common.controller_memory import model_parameters
from ..common.model_comparison import TOLERANCE
from ..common.state_conversion import StateConversion
from .export import export
from .match import match
from .multibody_plant import JointActuators, ModelInstanceIndex, MultibodyPlant, match_states

if TYPE_CHECKING:
    from .controller_system import ControllerSystem


Values = Mapping[str, float] | ArrayLike | None


def drive(
    controller: Controller,
    model: MultibodyPlant | None = None,
    *,
    p: Values = None,
    names: Mapping[str, str] | None = None,
    model_instance: ModelInstanceIndex | None = None,
    period: float | None = None,
    hold: bool = False,
    name: str | None = None,
    tolerance: float | None = TOLERANCE,
) -> ControllerSystem:
    """Return the controller as a LeafSystem, to be connected to a plant; see its class for the ports.

    ::

        law = drive(controller, plant)
        builder.AddSystem(plant), builder.AddSystem(law)
        builder.Connect(plant.get_state_output_port(), law.GetInputPort("state"))
        builder.Connect(law.get_actuation_output_port(), plant.get_actuation_input_port())

    Two controllers for two robots in one plant are two systems, each connected to its own model instance::

        for controller, instance in ((one, left), (other, right)):
            law = builder.AddSystem(drive(controller, plant, model_instance=instance))
            builder.Connect(plant.get_state_output_port(), law.GetInputPort("state"))
            builder.Connect(law.get_actuation_output_port(instance), plant.get_actuation_input_port(instance))

    Several controllers that share the joints of one model instance need a ``name=`` each, and ``tolerance=None``,
    because the plant is not the robot of any of them; an ``Adder`` of ``pydrake.systems.primitives`` sums their
    actuations, which are zero for other joints.

    Args:
        controller: the controller.
        model: the plant to be driven, finalized; if not given, ``export`` of the controller's robot, which is then the
            attribute ``plant`` of the result.
        p: the controller's parameters, its robot's included: nominal, overridden by name, or the whole vector; the port
            ``parameters`` replaces them in the controller, not in B.
        names: joint of the robot → joint of the plant, for those that differ.
        model_instance: model instance of the joints; all if not given.
        period: sampling period of a controller with memory [s]; between samples its output still follows the state,
            unless ``hold`` is set.
        hold: True to hold the output constant from sample to sample, as in a digital controller.
        name: name of the system, unique in a diagram; if not given, "law of" the model instance or the robot.
        tolerance: relative tolerance of M and h of the plant; None for a plant that is meant to be another robot.

    Raises:
        BridgeError: if joints do not match, the plant is another robot, or one of its joints has several actuators;
            for a controller with memory, or ``hold``, without a period.
        MissingPackageError: if Drake is not installed.
    """
    import_optional("pydrake.systems.framework", "drake")
    if not isinstance(controller, Controller):
        raise BridgeError(f"expected a Controller, got {controller!r}; for a Program use ProgramController")
    if period is None and (hold or controller.has_memory):
        what = "holds its output" if hold else "has a memory"
        raise BridgeError(
            f"{type(controller).__name__} {what} from sample to sample, but a Drake system has no samples by itself: "
            "pass period=, the sampling period in seconds"
        )
    own = model_parameters(controller, p)
    plant: MultibodyPlant = export(controller.robot, p=own) if model is None else model
    if tolerance is not None:
        match(controller.robot, plant, p=own, names=names, model_instance=model_instance, tolerance=tolerance).check(
            tolerance
        )
    if name is not None:
        require_name("a system of Drake", name, BridgeError)
    states, found = match_states(controller.robot, plant, names=names, model_instance=model_instance)
    if name is None and model_instance is not None:
        name = f"law of {plant.GetModelInstanceName(model_instance)}"
    return build_controller_system(
        *(controller, controller.robot, plant, states),
        actuators=JointActuators.of(plant, set(found.values()), model_instance),
        p=own,
        controller_p=p,
        period=None if period is None else positive("period", period),
        hold=hold,
        name=name,
    )


def build_controller_system(
    controller: Controller,
    robot: Robot,
    plant: MultibodyPlant,
    states: StateConversion,
    *,
    p: Values,
    controller_p: Values,
    actuators: JointActuators | None = None,
    period: float | None = None,
    hold: bool = False,
    name: str | None = None,
) -> ControllerSystem:
    """Build the LeafSystem of a controller without comparing the plant with the robot.

    Args:
        controller: the controller.
        robot: the robot with the input matrix B.
        plant: the plant to be driven, finalized.
        states: conversion between states of the robot and of the plant.
        p: parameters of the robot.
        controller_p: parameters of the controller.
        actuators: actuators of the plant; all of them if not given.
        period: sampling period [s]; None for no sampling.
        hold: True to hold the output constant from sample to sample.
        name: name of the system; "law of" the robot if not given.
    """
    from .controller_system import ControllerSystem

    return ControllerSystem(
        *(controller, robot, plant, states, JointActuators.of(plant) if actuators is None else actuators),
        p=robot.parameters.values(p),
        controller_p=controller.parameters.values(controller_p),
        period=period,
        hold=hold,
        name=f"law of {robot.name}" if name is None else name,
    )
