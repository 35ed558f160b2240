"""Acrobot: an arm with a motor at the elbow only swings itself up, compared with a published run."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ...controllers.baselines import BrysonWeights, EnergyShaping, Lqr
from ...controllers.wrappers import SampleAndHold, Saturation
from ...robots.examples import realaigym_acrobot
from ...simulation.trajectory import Trajectory
from ..scenario import scenario
from ..setup import Measure, Setup
from .pictures import robot_pictures

STEP, UPRIGHT = 2e-3, (math.pi, 0.0)
WEIGHTS = {"q1": 0.97, "q2": 0.93, "v_q1": 0.39, "v_q2": 0.26}, {"M2": 0.11}
"""Diagonals of Q and R of the benchmark's regulator."""


def swing_up_picture(motion: Trajectory, target: Path) -> None:
    """Draw the arm at several instants, and angles, torques and energy over time.

    Args:
        motion: a motion of a planar chain.
        target: path of the picture.
    """
    from ...views.style import save_figure
    from ...views.swing_up import draw_swing_ups

    save_figure(draw_swing_ups({motion.robot.name: motion}, until=6.0), target)


@scenario("acrobot")
def acrobot(*, duration: float = 10.0, effort: float = 5.0, level: float = 15.0) -> Setup:
    """Acrobot: two links, one motor at the elbow; energy is pumped into the shoulder until a regulator can catch it.

    RealAIGym's benchmark, design C.0: RK4 with a step of 2 ms and the torque held constant in each step, starting from
    the hanging position at rest. Expect the published run of energy shaping, whose log records 4.118 s to swing up,
    ∫u² dt = 18.79 and ∫|v|² dt = 280.8, each to within one unit of the last digit. No program is realised here: the
    shoulder has no drive.

    Args:
        duration: duration of the motion [s].
        effort: limit of the torque [N m].
        level: cost-to-go below which the regulator takes over.
    """
    robot = realaigym_acrobot("C.0", effort=effort)
    states, inputs = ({name: x**-0.5 for name, x in part.items()} for part in WEIGHTS)
    upright = Lqr(robot, UPRIGHT, weights=BrysonWeights(states, inputs), turns=["q1", "q2"])
    law = SampleAndHold(Saturation(EnergyShaping(upright, level=level)), STEP)

    def swing_up_time(motion: Trajectory) -> float:
        low = np.flatnonzero(motion.evaluate(robot.points["tip"])[:, 1] <= 0.45)
        return float(motion.t[low[-1] + 1]) if low[-1] + 1 < len(motion) else math.inf

    def squared_integral(motion: Trajectory, signal: str) -> float:
        return STEP * float((getattr(motion, signal)[:-1] ** 2).sum())

    return Setup(
        *(robot, law, (0.0, 0.0), (0.0, 0.0), duration, STEP),
        measures={
            "time to swing up": Measure(swing_up_time, "s", (4.117, 4.119)),
            "∫u² dt": Measure(lambda motion: squared_integral(motion, "u"), "N² m² s", (18.78, 18.80)),
            "∫|v|² dt": Measure(lambda motion: squared_integral(motion, "v"), "rad²/s", (280.7, 280.9)),
            "largest torque": Measure(lambda motion: np.abs(motion.u).max(), "N m", (effort, effort)),
        },
        pictures={"swing_up.png": swing_up_picture, **robot_pictures()},
    )
