"""Two-wheel robot among moving obstacles: its nose follows a path and avoids two people who cross it."""

from __future__ import annotations

import casadi as ca

from ...constraints import EruginField, FirstOrder, choose_sides, circle, follow, spline
from ...controllers import Program, ProgramController
from ...robots.examples import turtlebot3_burger
from ...robots.variants import with_scene
from ...symbolic.parameters import Parameters
from ..sampling.distributions import Scaled, Shifted, Uniform
from ..scenario import scenario
from ..setup import Setup
from .measures import clearance_measures
from .pictures import obstacle_pictures

PATH = spline([(0.0, 0.0), (0.8, 0.25), (1.6, -0.1), (2.4, 0.2), (3.2, 0.0)], name="path")
PEOPLE = (
    circle((1.1, 1.0), 0.2, velocity=(0.0, -0.14), name="first"),
    circle((2.3, -1.3), 0.2, velocity=(-0.02, 0.13), name="second"),
)
EXPECTED = {"end": (18.0, 19.5), "missed": (0.0, 0.01), "detour": (200.0, 280.0), "deviation": (0.19999, 0.20001)}
EXPECTED |= {"settled": (0.0, 1e-9), "clearance": (100.0, 102.0), "torque": (0.0, 0.1)}


@scenario("two-wheel-moving-obstacles")
def two_wheel_moving_obstacles(*, duration: float = 30.0, step: float = 5e-3, speed: float = 0.2) -> Setup:
    """Two-wheel robot among moving obstacles: its nose follows a path and avoids two people who cross it.

    TurtleBot3. The axle moves along the heading only, so that a point ahead of it follows the field: two rows of first
    order, two wheels. Expect the nose to leave the path for each person, to keep 10 cm distance, to return without
    oscillation, and to reach the end; the torques are small, as the robot is. The wheels pass nearer than the nose.

    Args:
        duration: longest simulated time [s]; the run ends when the nose passes the end of the path.
        step: step of the integration and of the samples [s].
        speed: cruise speed [m/s].
    """
    scene = Parameters.collect([each.parameters for each in PEOPLE])
    robot = with_scene(turtlebot3_burger(form="reduced"), scene)
    nose, ahead = robot.points["nose"], robot.nominal["half_track"]
    field = EruginField(PATH, PEOPLE, speed=speed, margin=0.1, rounding=0.05, attraction=1.5)
    controller = ProgramController(
        Program(robot, follow(field, nose, perturbation=FirstOrder(4.0))), realization="actuated"
    )
    off, gap = PATH.functions(nose, robot.t), [each.functions(nose, robot.t) for each in PEOPLE]
    return Setup(
        *(robot, controller, [-ahead, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0], duration, step),
        controller_p=choose_sides(field, PATH.at(0.0), 30.0, step=0.02),
        stop=PATH.progress(nose) - PATH.length,
        measures=clearance_measures(field, nose, robot.t, off, ca.fmin(*gap), **EXPECTED),
        pictures=obstacle_pictures(field, nose, PATH, ("nose", "robot", "person")),
        error=ca.fabs(off),
        clearance=ca.fmin(*gap),
        unit="m",
        randomization={"plant.platform_mass": Scaled(Uniform(0.9, 1.1)), "first.y": Shifted(Uniform(-0.1, 0.1))},
    )
