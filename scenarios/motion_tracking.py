"""Rivals of a setup's controller that are given the same task: what to put into :attr:`Setup.rivals`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import casadi as ca

from ..controllers.controller import Controller
from ..controllers.reference import Reference
from ..simulation.trajectory import SimulationError, Trajectory
from ..symbolic.errors import ModelError, prefix_message, unknown_name
from ..symbolic.pickling import Picklable
from .setup import Setup

TOLERANCE = 2e-5
"""By how much a reference may miss the motion that it is made of, in the unit of a coordinate."""


@dataclass(frozen=True)
class MotionTracking(Picklable):
    """A law that follows a motion in time: the one that the setup's own controller makes.

    It is made once, with the setup's parameters or some others, such as an obstacle out of the way, and rests where it
    ends. Where a study moves an obstacle it is not planned anew.

    Attributes:
        build: the law for a setup and q_d(t).
        values: parameters that are set for that motion, by name.
        tolerance: by which the reference may miss it, in the unit of a coordinate; each piece that it needs more costs
            12 operations per coordinate in every tick.
    """

    build: Callable[[Setup, Reference], Controller]
    values: Mapping[str, float] = field(default_factory=dict[str, float])
    tolerance: float = TOLERANCE

    def __call__(self, setup: Setup) -> Controller:
        """The law for a setup.

        Args:
            setup: with a controller.

        Raises:
            ModelError: if it has phases, or no controller; and whatever the law refuses.
            SimulationError: if the motion has to stop.
        """
        if setup.phases or setup.controller is None:
            raise ModelError("what a rival is to follow is the motion of a controller: the setup has none, or phases")
        try:
            motion = setup.with_parameters(self.values).run()
        except SimulationError as error:
            prefix_message(
                error,
                "the motion that AlongMotion follows, which is that of the setup's own controller, had to stop; other "
                "parameters for it can be given as AlongMotion(…, values={…}): ",
            )
            raise
        assert isinstance(motion, Trajectory)
        try:
            reference = Reference.sampled(setup.robot, motion.t, motion.q, tolerance=self.tolerance)
        except ModelError as error:
            prefix_message(
                error,
                "the motion of the setup's own controller is not smooth enough to be followed within "
                f"{self.tolerance:g}: give AlongMotion(…, tolerance=) a larger value, or the setup a smoother motion: ",
            )
            raise
        return self.build(setup, reference)


def point_along(reference: Reference, point: str) -> ca.SX:
    """Where a point of the robot is along a motion: an expression in time and the robot's parameters.

    Args:
        reference: q_d(t).
        point: one of the robot's points.

    Raises:
        ModelError: for a point that the robot does not have.
    """
    if point not in reference.robot.points:
        raise ModelError(unknown_name("point", point, reference.robot.points))
    return ca.substitute(reference.robot.points[point], reference.robot.q, reference.q)
