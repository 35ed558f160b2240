"""N four-bar linkages side by side, moving through the positions in which all bars lie flat."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...robots.examples import iftomm_four_bars
from ...simulation import Reduced
from ...simulation.trajectory import Trajectory
from ...symbolic.errors import ParameterError
from ..scenario import scenario
from ..setup import Measure, Setup
from .measures import energy_error, loop_error, parameter_value

Array = NDArray[np.float64]


def turning_pendulum(k: float, rate: float, t: Array) -> Array:
    """Return the angle ψ of ψ'' = −k sin ψ, upright at the start, from hanging [rad]: ψ/2 = am(½ ω t + K | 4k/ω²).

    Args:
        k: square of the angular frequency of small swings [1/s²].
        rate: initial ψ', greater than zero [rad/s].
        t: times, shape (N,) [s].
    """
    from scipy.special import ellipj, ellipk

    fastest = math.sqrt(rate**2 + 4.0 * k)
    m = 4.0 * k / fastest**2
    return np.asarray(2.0 * ellipj(fastest / 2.0 * t + ellipk(m), m)[3], dtype=np.float64)


@scenario("n-four-bar")
def n_four_bar(*, cells: int = 2, speed: float = 1.0, duration: float = 10.0, step: float = 1e-3) -> Setup:
    """N four-bar linkages side by side turn through every position in which all bars lie flat.

    The IFToMM benchmark A02: in these positions the linkage has N + 1 freedoms for an instant, each loop could change
    its branch, and solvers with multipliers stop or jump. In Larin's coordinates the motion continues on its branch.
    Expect ten such positions in 10 s, parallelograms to rounding, the pendulum's motion in elliptic functions, and the
    energy within 1e-8 J of its 35.8 J.

    Args:
        cells: number of loops N, at least one.
        speed: initial speed of the ends of the upright cranks, greater than zero [m/s].
        duration: duration of the motion [s].
        step: step of the integration and of the samples [s].
    """
    if cells < 1:
        raise ParameterError(f"cells must be at least 1, got {cells}")
    robot = iftomm_four_bars(cells)
    q0, v0 = np.zeros(2 * cells + 1), np.zeros(2 * cells + 1)
    q0[::2], v0[::2] = np.pi / 2.0, -speed

    def positions(motion: Trajectory) -> float:
        return float(np.count_nonzero(np.diff(np.sign(np.sin(motion.q[:, 0])))))

    def angle_error(motion: Trajectory) -> float:
        # As a parallelogram: (Σ I) θ'' = −g Σ m x, N + 1 cranks about their pivots and N couplers with their ends.
        k = parameter_value(motion, "g") * ((cells + 1) / 2 + cells) / ((cells + 1) / 3 + cells)
        exact = 1.5 * np.pi - turning_pendulum(k, speed, motion.t)
        return float(np.abs(motion.q[:, 0] - exact).max())

    measures = {
        "energy error": energy_error(1e-8),
        "singular positions passed": Measure(positions, "", (10, 10)),
        "deviation from parallelograms": Measure(lambda motion: np.abs(motion.q[:, 1::2]).max(), "rad", (0.0, 1e-12)),
        "angle, error against elliptic functions": Measure(angle_error, "rad", (0.0, 1e-8)),
        "loop closure error": loop_error(1e-12),
    }
    return Setup(robot, None, q0, v0, duration, step, integrator=Reduced(), measures=measures)
