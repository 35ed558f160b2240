"""Andrews' squeezing mechanism, compared with the published position after 0.03 s."""

from __future__ import annotations

import math

import numpy as np

from ...controllers import OpenLoop
from ...robots import assemble
from ...robots.examples import andrews_squeezer as linkage
from ...robots.examples.linkages import hairer_wanner_angles
from ...simulation import DOP853
from ...simulation.trajectory import Trajectory
from ...symbolic import Parameters
from ..scenario import scenario
from ..setup import Measure, Setup
from .measures import loop_error, work_error

PUBLISHED = (
    *(15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948),
    *(0.5244099658805304, 0.5347301163226948, 1.048080741042263),
)
"""β, Θ, γ, Φ, δ, Ω, ε after 0.03 s in the Test Set for IVP Solvers [MazziaMagherini2008]_ [rad]."""
LATE = 1.005e-12
"""Time by which the published position is later than 0.03 s; two computations with more digits agree on it [s]."""


@scenario("andrews-squeezer")
def andrews_squeezer(*, duration: float = 0.03, step: float = 1e-4) -> Setup:
    """Andrews' squeezing mechanism: seven bars, three loops, a spring, and a constant torque on the crank.

    A standard benchmark of differential-algebraic solvers. Expect two and a half turns of the crank in 0.03 s, and the
    published position to ten digits: that position is late by 1e-12 s, in which the crank turns by 1.4e-9 rad; at its
    actual time the positions agree to 1e-11. The energy gained equals the work of the torque.

    Args:
        duration: duration of the motion [s].
        step: time between samples [s].
    """
    robot, torque = linkage(), Parameters.declare({"torque": 0.033})
    q0 = assemble(robot, [-0.06, 3.1, -1.1, 0.5, -0.9, -0.3, 1.0], fixed={"K1": -0.0617138900142764496}).q

    def relative_error(motion: Trajectory, late: float = 0.0) -> float:
        error = hairer_wanner_angles(motion.q[-1] + late * motion.v[-1]) - PUBLISHED
        return float((np.abs(error) / np.maximum(1.0, np.abs(PUBLISHED))).max())

    measures = {
        "relative error against the published digits": Measure(relative_error, "", (0.0, 1e-9)),
        "relative error at the time of the published digits": Measure(
            lambda m: relative_error(m, LATE), "", (0.0, 1e-11)
        ),
        "turns of the crank": Measure(lambda m: float(np.ptp(m.q[:, 0])) / (2.0 * math.pi), "", (2.5, 2.55)),
        "energy minus work, error": work_error(1e-10),
        "loop closure error": loop_error(1e-12),
    }
    law = OpenLoop(robot, torque.symbols, parameters=torque)
    return Setup(robot, law, q0, np.zeros(7), duration, step, integrator=DOP853(1e-13, 1e-15), measures=measures)
