"""Bricard's mechanism: six hinges in one loop, movable although the count of freedoms says otherwise."""

from __future__ import annotations

import numpy as np

from ...robots.examples import bricard_mechanism
from ...simulation import Reduced
from ...simulation.trajectory import Trajectory
from ..scenario import scenario
from ..setup import Measure, Setup
from .measures import energy_error, loop_error
from .pictures import motion_pictures


def bricard_error(motion: Trajectory) -> float:
    """Return the largest error of (1 + sin α)(1 − sin β) = 1, α = hinge 1 = 3 = 5, β = −hinge 2 = −4 [Chen2005]_."""
    a, b = motion.q[:, 0], -motion.q[:, 1]
    closed = (1.0 + np.sin(a)) * (1.0 - np.sin(b)) - 1.0
    return float(np.abs([closed, motion.q[:, 2] - a, motion.q[:, 3] + b, motion.q[:, 4] - a]).max())


def rank(motion: Trajectory) -> float:
    """Return the rank of the natural constraints at the middle sample."""
    robot, k = motion.robot, len(motion) // 2
    rows = robot.evaluate(robot.natural_form[0], t=motion.t[k], q=motion.q[k], v=motion.v[k])
    return float(np.linalg.matrix_rank(rows, tol=1e-9))


@scenario("bricard")
def bricard(*, duration: float = 10.0, step: float = 2e-3) -> Setup:
    """Bricard's overconstrained mechanism falls from the edges of a cube: five hinges, five rows, and still a freedom.

    The IFToMM benchmark A04. By Grübler's count nothing moves; but one row depends on the others wherever the loop is
    closed, so that the reactions are not unique while the motion is. Expect four independent rows, hinges in two groups
    of three with (1 + sin α)(1 − sin β) = 1, a swing of half a turn and back in 5 s without loss of energy, and a loop
    closed to rounding.

    Args:
        duration: duration of the motion [s].
        step: step of the integration and of the samples [s].
    """
    measures = {
        "loop closure error": loop_error(1e-10),
        "energy error": energy_error(1e-8),
        "independent rows of five": Measure(rank, "", (4, 4)),
        "error of Bricard's relation": Measure(bricard_error, "", (0.0, 1e-12)),
        "travel of hinge 1, half a turn": Measure(lambda m: float(np.ptp(m.q[:, 0])), "rad", (3.1414, 3.1416)),
        "travel of hinge 2, a twelfth of a turn": Measure(
            lambda m: float(np.ptp(m.q[:, 1])), "rad", (0.523590, 0.523600)
        ),
    }
    start = (bricard_mechanism(), None, np.zeros(5), np.zeros(5), duration, step)
    return Setup(*start, integrator=Reduced(), measures=measures, pictures=motion_pictures(12))
