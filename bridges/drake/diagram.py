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
from ..common.controller_memory import has_memory, model_parameters
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
    """The law as a LeafSystem, to be connected to a plant; see its class for the ports.

    ::

        law = drive(controller, plant)
        builder.AddSystem(plant), builder.AddSystem(law)
        builder.Connect(plant.get_state_output_port(), law.GetInputPort("state"))
        builder.Connect(law.get_actuation_output_port(), plant.get_actuation_input_port())

    Two laws for two robots in one plant are two systems, each at the actuation of its own model instance::

        for controller, instance in ((one, left), (other, right)):
            law = builder.AddSystem(drive(controller, plant, model_instance=instance))
            builder.Connect(plant.get_state_output_port(), law.GetInputPort("state"))
            builder.Connect(law.get_actuation_output_port(instance), plant.get_actuation_input_port(instance))

    Laws that have some joints each of one model instance need a ``name=`` each, and ``tolerance=None``, as each is for
    another robot than all of it; an ``Adder`` of ``pydrake.systems.primitives`` sums up their actuations, which are
    zero for other joints.

    Args:
        controller: the law.
        model: the plant that it drives, finalized; what ``export`` makes of the law's model if not given, which is
            then its attribute ``plant``.
        p: the law's parameters, its robot's among them: nominal, overridden by name, or the whole vector; the port
            ``parameters`` replaces them in the law, not in B.
        names: joint here → joint there, for those that differ.
        model_instance: in which the joints are looked for; all if not given.
        period: interval of the samples that a law with memory takes in [s]; between them it answers to the state all
            the same, unless ``hold`` is set.
        hold: whether the output stays as it is from sample to sample, as in a digital controller.
        name: of the system, of which a diagram has one each; if not given, "law of" the model instance or the robot.
        tolerance: by which M and h of the plant may differ from the model's, relative; None for a plant that is meant
            to be another robot.

    Raises:
        BridgeError: if joints do not match or the plant is another robot, or one of its joints has several actuators;
            for a law with memory, or ``hold``, without a period.
        MissingPackageError: if Drake is not installed.
    """
    import_optional("pydrake.systems.framework", "drake")
    if not isinstance(controller, Controller):
        raise BridgeError(f"a Controller drives a plant, got {controller!r}; for a program that is ProgramController")
    if period is None and (hold or has_memory(controller, p)):
        what = "holds its output" if hold else "remembers what it has seen"
        raise BridgeError(
            f"{type(controller).__name__} {what} from sample to sample, and a system of Drake has none by itself: pass "
            "period=, the interval of its samples in seconds"
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
    """The law as a LeafSystem, nothing compared.

    Args:
        controller: the law.
        robot: whose B turns inputs into forces.
        plant: that it drives, finalized.
        states: writes the robot's state as one of the plant.
        p: parameters of the robot.
        controller_p: parameters of the law.
        actuators: of the plant; all of them are looked at if not given.
        period: interval of samples [s]; none if not given.
        hold: whether the output stays as it is from sample to sample.
        name: of the system; the robot's if not given.
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
