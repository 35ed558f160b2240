"""Parameters of the surroundings that a robot carries along."""

from __future__ import annotations

import dataclasses

from ..symbolic.errors import ModelError
from ..symbolic.parameters import Parameters
from .robot import Robot


def with_scene(robot: Robot, parameters: Parameters) -> Robot:
    """The robot with parameters of its surroundings besides its own: a disc's place, its speed, the end of a path.

    They do not change how it moves. What is told of a motion, such as the distance to the disc, can then be written in
    the plant's symbols whatever drives it, and a value that is set by name holds for plant and controller alike.

    Args:
        robot: as it is without surroundings.
        parameters: of the surroundings, such as ``circle(...).parameters``; those that the robot has already are kept
            once.

    Raises:
        ModelError: for something that is no robot, or no set of parameters.
        ParameterError: if a name of them is that of another parameter of the robot.
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"a scene is added to a Robot, got {robot!r}")
    if not isinstance(parameters, Parameters):
        raise ModelError(f"the parameters of a scene must be Parameters, such as those of a curve, got {parameters!r}")
    return dataclasses.replace(robot, parameters=Parameters.collect([robot.parameters, parameters]))
