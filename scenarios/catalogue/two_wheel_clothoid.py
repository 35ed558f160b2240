"""Two-wheel robot on a path prescribed by its curvature and its tangential acceleration."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np

from ...constraints import path_curvature, tangential_acceleration
from ...controllers import Program, ProgramController
from ...robots.examples import turtlebot3_burger
from ...simulation.trajectory import Trajectory
from ...symbolic.validation import positive
from ..scenario import scenario
from ..setup import Measure, Setup
from .measures import largest, largest_input
from .pictures import motion_pictures


@scenario("two-wheel-clothoid")
def two_wheel_clothoid(
    *, duration: float = 6.0, step: float = 2e-3, speed: float = 0.2, acceleration: float = 0.02, bend: float = 2.0
) -> Setup:
    """Two-wheel robot on a clothoid, by a program of second order: curvature and tangential acceleration of its path.

    TurtleBot3. Both rows prescribe accelerations and no position: the nose has the curvature c s at the arc length s,
    and a constant tangential acceleration. Expect Euler's spiral, by Fresnel's integrals: a program of this order does
    not correct positions, but from the right start the nose is on the path to the accuracy of the integrator.

    Args:
        duration: duration of the motion [s].
        step: step of the integration and of the samples [s].
        speed: initial speed [m/s].
        acceleration: tangential acceleration [m/s²].
        bend: c, growth of the curvature along the path [1/m²], greater than zero.
    """
    robot = turtlebot3_burger(form="reduced")
    nose, ahead = robot.points["nose"], robot.nominal["half_track"]
    arc = speed * robot.t + 0.5 * acceleration * robot.t**2
    rows = [path_curvature(nose, positive("bend", bend) * arc), tangential_acceleration(nose, acceleration)]
    controller = ProgramController(Program(robot, rows), realization="actuated")

    def spiral_error(motion: Trajectory) -> float:
        from scipy.special import fresnel

        size = math.sqrt(math.pi / bend)
        y, x = fresnel((speed * motion.t + 0.5 * acceleration * motion.t**2) / size)
        return 1e3 * float(np.abs(motion.evaluate(nose) - size * np.column_stack([x, y])).max())

    speed_error = ca.norm_2(robot.coordinates.rate(nose)) - speed - acceleration * robot.t
    return Setup(
        *(robot, controller, [-ahead, 0.0, 0.0, 0.0, 0.0], [speed, 0.0], duration, step),
        measures={
            "distance of the nose from Euler's spiral": Measure(spiral_error, "mm", (0.0, 1e-6)),
            "speed, error": largest(speed_error, "m/s", (0.0, 1e-12)),
            "largest torque": largest_input("N m", (0.0, 0.1)),
        },
        pictures=motion_pictures(9, "nose"),
    )
