"""A seven-joint arm draws on a sphere while a ball crosses its path."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints import Baumgarte, EruginField, FirstOrder, circle, follow, implicit, orientation, tracking
from ...constraints.curves import Circle, Curve
from ...controllers import Program, ProgramController, start_on
from ...robots.examples.arms import franka_panda
from ...robots.variants import with_scene
from ...simulation.trajectory import Trajectory
from ..sampling.distributions import Shifted, Uniform
from ..scenario import scenario
from ..setup import Draw, Setup
from .measures import deviation, largest, largest_share, least
from .pictures import robot_pictures

CENTER: NDArray[np.float64] = np.array([0.5, 0.0, 0.35])
RADIUS, HEIGHT, WAVE = 0.15, 0.1, 0.3
START: NDArray[np.float64] = CENTER + np.array([(RADIUS**2 - HEIGHT**2) ** 0.5, 0.0, HEIGHT])
"""A point of the line [m]."""


def wavy_line(x: ca.SX, t: ca.SX) -> ca.SX:
    """Evaluate the equations of a wavy circle of latitude: a sphere, intersected with a saddle.

    Args:
        x: position, shape (3,) [m].
        t: time [s].

    Returns:
        Two functions that vanish on the line, shape (2,) [m].
    """
    y = x - ca.DM(CENTER)
    return ca.vertcat(ca.norm_2(y) - RADIUS, y[2] - HEIGHT - WAVE * y[0] * y[1] / RADIUS)


BALL = circle((0.35, 0.35, 0.47), 0.04, velocity=(0.02, -0.1, 0.0), name="ball")
UPRIGHT, NEAR = np.diag([1.0, -1.0, -1.0]), (0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8)


def drawing_pictures(
    pen: ca.SX, path: Curve, ball: Circle, center: NDArray[np.float64], radius: float, name: str
) -> dict[str, Draw]:
    """Build the pictures: the drawing on the sphere with the ball, the robot at several instants, and an animation.

    Args:
        pen: position of the pen in the plant's symbols, shape (3,).
        path: line to draw.
        ball: the obstacle.
        center: centre of the sphere, shape (3,) [m].
        radius: radius of the sphere [m].
        name: name of the robot's point at the pen.
    """

    def drawing(motion: Trajectory, target: Path) -> None:
        from ...views.sphere_drawing import draw_on_sphere

        off = ca.norm_2(path.functions(pen, motion.robot.t))
        draw_on_sphere(motion, target, pen=pen, off=off, ball=ball, center=center, radius=radius)

    return {"drawing.png": drawing, **robot_pictures(name)}


@scenario("seven-joint-arm-on-a-sphere")
def seven_joint_arm_on_a_sphere(*, duration: float = 9.0, step: float = 1e-3, speed: float = 0.1) -> Setup:
    """A seven-joint arm draws on a sphere while a ball crosses its path: Erugin's field in space.

    Franka's Panda from its URDF file, hand upright, elbow fixed. The pen follows a wavy line on a sphere, given by two
    equations. Expect it to lift off for the ball, to keep 3 cm from it, and to return, with torques below the limits.

    Args:
        duration: duration of the motion [s].
        step: step of the integration and of the samples [s].
        speed: speed of the pen [m/s].
    """
    path = implicit(wavy_line, 3, length=RADIUS, name="line")
    arm = with_scene(with_scene(franka_panda(), BALL.parameters), path.parameters)
    hand = arm.frames["panda_hand_tcp"]
    lead = follow(
        EruginField(path, [BALL], speed=speed, margin=0.03, attraction=4.0), hand.position, perturbation=FirstOrder(8.0)
    )
    turned = orientation(hand.rotation, UPRIGHT, perturbation=Baumgarte(8.0))
    program = Program(arm, [lead, turned, tracking(arm.q[2], [0.0], perturbation=Baumgarte(8.0), name="elbow")])
    q0, v0 = start_on(program, NEAR, at=[(hand.position, START)])
    law = ProgramController(program, realization="actuated")
    off, gap = path.functions(hand.position, arm.t), BALL.functions(hand.position, arm.t)
    return Setup(
        *(arm, law, q0, 0.0 * v0, duration, step),
        measures={
            "distance of the pen from the line": largest(off, "mm", (25.0, 35.0), scale=1e3),
            "distance of the pen from the line after the ball": largest(off, "mm", (0.0, 0.1), after=6.0, scale=1e3),
            "least clearance to the ball": least(gap, "mm", (30.0, 34.0), scale=1e3),
            "deviation, second half": deviation("m/s or rad", (0.0, 1e-10), late=True),
            "largest torque": largest_share((0.0, 0.5)),
        },
        pictures=drawing_pictures(hand.position, path, BALL, CENTER, RADIUS, "panda_hand_tcp"),
        error=ca.norm_2(off),
        clearance=gap,
        unit="m",
        randomization={"ball.x": Shifted(Uniform(-0.02, 0.02)), "ball.vy": Shifted(Uniform(-0.02, 0.02))},
    )
