"""n-link arm under gravity: its tip follows an ellipse, the other freedoms swing freely."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np

from ...constraints import Baumgarte, tracking
from ...controllers import Program, ProgramController
from ...robots import Link, planar_manipulator
from ...simulation.metrics import Integral
from ...simulation.trajectory import Trajectory
from ...symbolic.errors import ParameterError
from ..scenario import scenario
from ..setup import Measure, Setup
from .measures import baumgarte_error, largest, largest_input

MASS, LENGTH = 3.0, 1.5


@scenario("n-link-arm")
def n_link_arm(*, links: int = 6, duration: float = 4.0, step: float = 1e-3, rate: float = 6.0) -> Setup:
    """n-link arm under gravity: its tip follows an ellipse, the other freedoms swing freely.

    An arm of 3 kg and 1.5 m divided into n links of equal length, initially bent to an arc. The program prescribes the
    tip only; the drives act like a single force at the tip, and nothing damps the other freedoms. Expect, for any n,
    the tip's error in the closed form of the perturbation equation, and the work of the drives equal to the energy
    gained.

    Args:
        links: number of links n, 2 to 30.
        duration: duration of the motion [s].
        step: step of the integration and of the samples [s].
        rate: α of the perturbation equation [1/s].
    """
    if not 2 <= links <= 30:
        raise ParameterError(f"links must be 2 to 30, got {links}")
    link = Link(LENGTH / links, MASS / links, LENGTH / links / 2.0, MASS / links * (LENGTH / links) ** 2 / 12.0)
    arm = planar_manipulator([link] * links, angles="absolute")
    turn = 0.5 * math.pi * arm.t
    tip, aim = arm.points["tip"], ca.vertcat(0.9 + 0.2 * ca.cos(turn), 0.15 * ca.sin(turn))
    constraint = tracking(tip, aim, perturbation=Baumgarte(rate), name="tip")
    law = ProgramController(Program(arm, constraint), realization="actuated")

    def unbalanced(motion: Trajectory) -> float:
        return motion.metrics["gain"] - float(motion.energy[-1] - motion.energy[0])

    return Setup(
        *(arm, law, np.linspace(-1.4, 1.0, links), np.zeros(links), duration, step),
        measures={
            "tip error, difference from the closed form": baumgarte_error(tip - aim, arm, rate, (0.0, 1e-6)),
            "work of the drives minus energy gained": Measure(unbalanced, "J", (-1e-4, 1e-4)),
            "distance of the tip from the ellipse after 3 s": largest(
                tip - aim, "mm", (0.0, 1e-3), after=3.0, scale=1e3
            ),
            "largest torque": largest_input("N m"),
        },
        error=ca.norm_2(tip - aim),
        unit="m",
        metrics={"gain": Integral(ca.dot(arm.v, arm.input_matrix @ arm.u))},
    )
