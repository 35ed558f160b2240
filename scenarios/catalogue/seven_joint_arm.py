"""A seven-joint arm draws on a sphere while a ball crosses its way."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ...constraints import Baumgarte, EruginField, FirstOrder, circle, follow, implicit, orientation, trajectory
from ...controllers import Program, ProgramController, start_on
from ...robots.examples.franka_panda import franka_panda
from ...robots.scene import with_scene
from ..sampling import Shifted, Uniform
from ..scenario import scenario
from ..setup import Setup
from .drawn import drawing_pictures
from .followed import deviation, largest, largest_share, least
from .globe import CENTER, RADIUS, START, wavy_line

BALL = circle((0.35, 0.35, 0.47), 0.04, velocity=(0.02, -0.1, 0.0), name="ball")
UPRIGHT, NEAR = np.diag([1.0, -1.0, -1.0]), (0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8)


@scenario("seven-joint-arm-on-a-sphere")
def seven_joint_arm_on_a_sphere(*, duration: float = 9.0, step: float = 1e-3, speed: float = 0.1) -> Setup:
    """A seven-joint arm draws on a sphere while a ball crosses its way: Erugin's field in space.

    Franka's Panda from its URDF file, hand upright, elbow held. The pen follows a wavy line on a globe, given by two
    equations. Expect it to lift off for the ball, to keep 3 cm from it, and to come back, with torques below limits.

    Args:
        duration: of the motion [s].
        step: of the integration and of the samples [s].
        speed: of the pen [m/s].
    """
    path = implicit(wavy_line, 3, length=RADIUS, name="line")
    arm = with_scene(with_scene(franka_panda(), BALL.parameters), path.parameters)
    hand = arm.frames["panda_hand_tcp"]
    lead = follow(EruginField(path, [BALL], speed=speed, margin=0.03), hand.position, perturbation=FirstOrder(8.0))
    turned = orientation(hand.rotation, UPRIGHT, perturbation=Baumgarte(8.0))
    program = Program(arm, [lead, turned, trajectory(arm.q[2], [0.0], perturbation=Baumgarte(8.0), name="elbow")])
    q0, v0 = start_on(program, NEAR, at=[(hand.position, START)])
    law = ProgramController(program, realization="actuated")
    off, gap = path.functions(hand.position, arm.t), BALL.functions(hand.position, arm.t)
    return Setup(
        *(arm, law, q0, 0.0 * v0, duration, step),
        measures={
            "pen off the line": largest(off, "mm", (30.0, 50.0), scale=1e3),
            "pen off the line after the ball": largest(off, "mm", (0.0, 0.1), after=6.0, scale=1e3),
            "least clearance to the ball": least(gap, "mm", (30.0, 34.0), scale=1e3),
            "deviation, second half": deviation("m/s or rad", (0.0, 1e-10), late=True),
            "largest torque": largest_share((0.0, 0.5)),
        },
        pictures=drawing_pictures(hand.position, path, BALL, CENTER, RADIUS, "panda_hand_tcp"),
        error=ca.norm_2(off),
        clearance=gap,
        unit="m",
        varied={"ball.x": Shifted(Uniform(-0.02, 0.02)), "ball.vy": Shifted(Uniform(-0.02, 0.02))},
    )
