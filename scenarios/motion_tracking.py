"""Baselines that track the motion of a setup's own controller, for :attr:`Setup.baselines`."""

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
"""Largest distance of a reference from the motion that it approximates, in the unit of a coordinate."""


@dataclass(frozen=True)
class MotionTracking(Picklable):
    """A law that tracks, as a function of time, the motion produced by the setup's own controller.

    The motion is simulated once, with the setup's parameters or other ones, such as an obstacle out of the way; after
    its end the reference rests. It is not planned again when a study moves an obstacle.

    Attributes:
        build: function that builds the law from a setup and the reference q_d(t).
        values: parameters set for the reference motion, by name.
        tolerance: largest distance of the reference from the motion, in the unit of a coordinate; each additional
            polynomial piece costs 12 operations per coordinate in every tick.
    """

    build: Callable[[Setup, Reference], Controller]
    values: Mapping[str, float] = field(default_factory=dict[str, float])
    tolerance: float = TOLERANCE

    def __call__(self, setup: Setup) -> Controller:
        """Build the law for a setup.

        Args:
            setup: a setup with a controller.

        Raises:
            ModelError: if the setup has phases or no controller; and whatever the law raises.
            SimulationError: if the reference motion has to stop.
        """
        if setup.phases or setup.controller is None:
            raise ModelError(
                "MotionTracking requires a setup with a controller, whose motion it tracks: the setup has none, or "
                "phases"
            )
        try:
            motion = setup.with_parameters(self.values).run()
        except SimulationError as error:
            prefix_message(
                error,
                "the motion that MotionTracking follows, which is that of the setup's own controller, had to stop; "
                "pass other parameters for it as MotionTracking(…, values={…}): ",
            )
            raise
        assert isinstance(motion, Trajectory)
        try:
            reference = Reference.sampled(setup.robot, motion.t, motion.q, tolerance=self.tolerance)
        except ModelError as error:
            prefix_message(
                error,
                "the motion of the setup's own controller is not smooth enough to be tracked within "
                f"{self.tolerance:g}: raise MotionTracking(…, tolerance=), or make the motion smoother: ",
            )
            raise
        return self.build(setup, reference)


def point_along(reference: Reference, point: str) -> ca.SX:
    """Return the position of a point along a reference motion, as an expression in time and the robot's parameters.

    Args:
        reference: the motion q_d(t).
        point: name of one of the robot's points.

    Raises:
        ModelError: for an unknown point.
    """
    if point not in reference.robot.points:
        raise ModelError(unknown_name("point", point, reference.robot.points))
    return ca.substitute(reference.robot.points[point], reference.robot.q, reference.q)
