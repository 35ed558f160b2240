"""A slider-crank with equal arms moving through its singular position, where two branches meet."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...controllers import OpenLoop
from ...robots import Link
from ...robots.examples import slider_crank as linkage
from ...simulation import Reduced
from ...simulation.trajectory import Trajectory
from ...symbolic import Parameters
from ..scenario import scenario
from ..setup import Measure, Setup
from .measures import loop_error, parameter_value, work_error

SLIDER = 0.7
"""Mass of the slider [kg]."""


Array = NDArray[np.float64]


def equal_arms(slider: float, gravity: float, torque: float, angle: float, rate: float, t: Array) -> Array:
    """Return the crank angle of a slider-crank with equal bars of 1 m and 1 kg [rad], on the branch x = 2 cos φ.

    I(φ) φ'' + ½ I'(φ) φ'² = τ − g cos φ, I = 1/3 + 1/12 + (9/4 + 4 m) sin² φ + ¼ cos² φ, integrated by SciPy.

    Args:
        slider: mass m of the slider [kg].
        gravity: g [m/s²].
        torque: τ on the crank [N m].
        angle: initial angle [rad].
        rate: initial angular velocity [rad/s].
        t: times, shape (N,) [s].
    """
    from scipy.integrate import solve_ivp

    def slope(_: float, x: Array) -> list[float]:
        s, c = math.sin(x[0]), math.cos(x[0])
        inertia = 5.0 / 12.0 + (2.25 + 4.0 * slider) * s**2 + 0.25 * c**2
        return [x[1], (torque - (2.0 + 4.0 * slider) * s * c * x[1] ** 2 - gravity * c) / inertia]

    solution = solve_ivp(slope, (0.0, t[-1]), [angle, rate], "DOP853", t_eval=t, rtol=1e-13, atol=1e-13)
    return np.asarray(solution.y[0], dtype=np.float64)


@scenario("slider-crank")
def slider_crank(*, angle: float = 0.6, rate: float = 3.0, duration: float = 5.0, step: float = 5e-4) -> Setup:
    """A slider-crank with equal arms passes straight through its singular position, with a torque on the crank.

    Where both arms are upright the slider may continue to the other side, or rest while the arms turn as one. There the
    acceleration of the least-norm multipliers belongs to neither branch; in Larin's coordinates the mechanism stays on
    its branch. Expect eight passages, equal angles of both arms to rounding, and the motion of one coordinate.

    Args:
        angle: initial angle of the crank over the guide [rad].
        rate: initial angular velocity of the crank [rad/s].
        duration: duration of the motion [s].
        step: step of the integration and of the samples [s].
    """
    arm, drive = Link(1.0, 1.0, 0.5, 1.0 / 12.0), Parameters.declare({"torque": 2.0})
    robot = linkage(arm, arm, SLIDER, offset=0.0)
    q0, along = [angle, -angle, 2.0 * math.cos(angle)], np.array([1.0, -1.0, -2.0 * math.sin(angle)])

    def passages(motion: Trajectory) -> float:
        return float(np.count_nonzero(np.diff(np.sign(np.cos(motion.q[:, 0])))))

    def angle_error(motion: Trajectory) -> float:
        exact = equal_arms(SLIDER, parameter_value(motion, "g"), motion.u[0, 0], angle, rate, motion.t)
        return float(np.abs(motion.q[:, 0] - exact).max())

    measures = {
        "singular positions passed": Measure(passages, "", (8, 8)),
        "difference of the arms' angles": Measure(lambda m: np.abs(m.q[:, 0] + m.q[:, 1]).max(), "rad", (0.0, 1e-12)),
        "energy minus work, error": work_error(1e-6),
        "error against the motion in one coordinate": Measure(angle_error, "rad", (0.0, 1e-8)),
        "loop closure error": loop_error(1e-12),
    }
    law = OpenLoop(robot, drive.symbols, parameters=drive)
    return Setup(robot, law, q0, rate * along, duration, step, integrator=Reduced(), measures=measures)
