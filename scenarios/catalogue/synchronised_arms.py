"""Two arms carry an object: one follows a path, the other keeps a constant distance."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np

from ...constraints import Baumgarte, tracking
from ...controllers import Program, ProgramController, start_on
from ...robots import Link, combine, planar_manipulator
from ..scenario import scenario
from ..setup import Setup
from .measures import baumgarte_error, largest, largest_input
from .pictures import motion_pictures

CHAIN = ("left.joint1", "left.joint2", "left.tip", "right.tip", "right.joint2", "right.joint1")
BASE, LONG = ca.DM([1.2, 0.0]), ca.SX(ca.DM([0.3, 0.0]))


@scenario("two-arms-synchronised")
def two_arms_synchronised(*, duration: float = 4.0, step: float = 1e-3, rate: float = 6.0, off: float = 0.1) -> Setup:
    """Two arms, side by side, carry an object: the program ties their tips to each other, and one tip to an ellipse.

    The arms have different links. The constraint between the tips is part of the program and is realised by the drives;
    pictures show it as a line. Expect the error of the distance to decay like (1 + α t) e^(−α t), the closed form of
    the perturbation equation, and to stay zero however the leading tip moves.

    Args:
        duration: duration of the motion [s].
        step: step of the integration and of the samples [s].
        rate: α of the perturbation equation [1/s].
        off: initial error of the first joint angle of the second arm [rad].
    """
    left = planar_manipulator([Link(0.6, 2.5, 0.3, 0.075), Link(0.5, 1.8, 0.25, 0.0375)])
    right = planar_manipulator([Link(0.5, 2.0, 0.25, 0.042), Link(0.5, 1.2, 0.25, 0.025)])
    right = dataclasses.replace(right, points={name: point + BASE for name, point in right.points.items()})
    pair = dataclasses.replace(combine({"left": left, "right": right}, name="two arms"), chain=CHAIN)
    tip, other = pair.points["left.tip"], pair.points["right.tip"]
    path = ca.vertcat(0.45 + 0.1 * ca.cos(0.5 * ca.pi * pair.t), 0.35 + 0.2 * ca.sin(0.5 * ca.pi * pair.t))
    lead = tracking(tip, path, perturbation=Baumgarte(rate), name="lead")
    hold = tracking(other - tip, LONG, perturbation=Baumgarte(rate), name="hold")
    controller = ProgramController(Program(pair, [lead, hold]), realization="actuated")
    q0, v0 = start_on(controller.program, [-0.3, 1.8, 3.0, -1.8])
    error = other - tip - LONG

    return Setup(
        *(pair, controller, q0 + np.array([0.0, 0.0, off, 0.0]), v0, duration, step),
        measures={
            "distance between the tips, error": largest(error, "mm", (0.0, 1e-5), after=3.5, scale=1e3),
            "error, difference from the closed form": baumgarte_error(error, pair, rate, (0.0, 1e-6)),
            "distance of the leading tip from its path": largest(tip - path, "mm", (0.0, 1e-6), scale=1e3),
            "largest torque": largest_input("N m"),
        },
        pictures=motion_pictures(9, "left.tip"),
        error=ca.norm_2(error),
        settled=1e-4,
        unit="m",
    )
