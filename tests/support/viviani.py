"""A seven-joint arm that draws Viviani's curve with its hand upright and its elbow held."""

from __future__ import annotations

import functools
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, orientation, tracking
from erugin.controllers import Program, ProgramController
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.simulation import Trajectory

from .urdf import seven_joint_arm

RADIUS, RATE, DURATION = 0.06, 6.0, 4.0
OFF = np.array([0.0, 0.02, 0.0])
"""From the hand's place at the start to where it should be [m]."""


class Drawing(NamedTuple):
    """The robot, positions of the hand and its target, and the motion."""

    robot: Robot
    hand: ca.SX
    target: ca.SX
    motion: Trajectory


@functools.cache
def drawing() -> Drawing:
    """The whole curve from rest to rest, from a start 2 cm off."""
    robot = seven_joint_arm()
    hand = robot.frames["panda_hand_tcp"]
    q0: NDArray[np.float64] = np.array([0.1, -0.6, 0.2, -2.1, 0.1, 1.6, 0.7])
    place, turned = robot.evaluate(hand.position, q=q0), robot.evaluate(hand.rotation, q=q0)
    share = robot.t / DURATION
    s = 2.0 * np.pi * share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    target = ca.vertcat(ca.cos(2 * s) - 1.0, ca.sin(2 * s), 2 * ca.sin(s)) * RADIUS + ca.SX(ca.DM(place + OFF))
    program = Program(
        robot,
        [
            tracking(hand.position, target, perturbation=Baumgarte(RATE), name="tool"),
            orientation(hand.rotation, turned, perturbation=Baumgarte(RATE)),
            # The elbow would swing about the line from shoulder to wrist under gravity.
            tracking(robot.q[2], [q0[2]], perturbation=Baumgarte(RATE), name="elbow"),
        ],
    )
    controller = ProgramController(program, realization="actuated")
    return Drawing(robot, hand.position, target, simulate(robot, controller, q0, np.zeros(7), DURATION, step=1e-3))
