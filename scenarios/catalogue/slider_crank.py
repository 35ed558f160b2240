"""A slider-crank with equal arms through the position in which it may go on in two ways."""

from __future__ import annotations

import math

import numpy as np

from ...controllers import OpenLoop
from ...robots import Link
from ...robots.examples import slider_crank as linkage
from ...symbolic import Parameters
from ..integrators import Reduced
from ..scenario import scenario
from ..setup import Measure, Setup
from ..trajectory import Trajectory
from .closed_forms import equal_arms
from .kept import known, loops_closed, work_found

SLIDER = 0.7
"""Its mass [kg]."""


@scenario("slider-crank")
def slider_crank(*, angle: float = 0.6, rate: float = 3.0, duration: float = 5.0, step: float = 5e-4) -> Setup:
    """A slider-crank with equal arms goes straight on through its singular position, with a torque on the crank.

    Where both arms stand upright the slider may go on to the other side, or stay while the arms turn as one. There the
    least-norm multipliers give an acceleration that leaves either way; in Larin's coordinates the mechanism goes on as
    it came. Expect eight passages, equal angles of both arms to rounding, and the motion of one coordinate.

    Args:
        angle: of the crank over the guide at the start [rad].
        rate: of the crank at the start [rad/s].
        duration: of the motion [s].
        step: of the integration and of the samples [s].
    """
    arm, drive = Link(1.0, 1.0, 0.5, 1.0 / 12.0), Parameters.declare({"torque": 2.0})
    robot = linkage(arm, arm, SLIDER, offset=0.0)
    q0, along = [angle, -angle, 2.0 * math.cos(angle)], np.array([1.0, -1.0, -2.0 * math.sin(angle)])

    def passages(motion: Trajectory) -> float:
        return float(np.count_nonzero(np.diff(np.sign(np.cos(motion.q[:, 0])))))

    def miss(motion: Trajectory) -> float:
        exact = equal_arms(SLIDER, known(motion, "g"), motion.u[0, 0], angle, rate, motion.t)
        return float(np.abs(motion.q[:, 0] - exact).max())

    measures = {
        "singular positions passed": Measure(passages, "", (8, 8)),
        "difference of the arms' angles": Measure(lambda m: np.abs(m.q[:, 0] + m.q[:, 1]).max(), "rad", (0.0, 1e-12)),
        "energy less work, error": work_found(1e-6),
        "off the motion in one coordinate": Measure(miss, "rad", (0.0, 1e-8)),
        "loop open by": loops_closed(1e-12),
    }
    law = OpenLoop(robot, drive.symbols, parameters=drive)
    return Setup(robot, law, q0, rate * along, duration, step, integrator=Reduced(), measures=measures)
