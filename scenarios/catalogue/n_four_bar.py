"""N four-bar windows through the positions in which all bars lie flat."""

from __future__ import annotations

import numpy as np

from ...robots.examples import iftomm_four_bars
from ...symbolic.errors import ParameterError
from ..integrators import Reduced
from ..scenario import scenario
from ..setup import Measure, Setup
from ..trajectory import Trajectory
from .closed_forms import turning_pendulum
from .kept import energy_kept, known, loops_closed


@scenario("n-four-bar")
def n_four_bar(*, cells: int = 2, speed: float = 1.0, duration: float = 10.0, step: float = 1e-3) -> Setup:
    """N four-bar windows side by side turn through every position in which all bars lie flat.

    The IFToMM benchmark A02: there the linkage has N + 1 freedoms for an instant, each window could cross over, and
    solvers with multipliers stop or jump. In Larin's coordinates it goes on as it came. Expect ten such positions in
    10 s, parallelograms to rounding, the pendulum's motion in elliptic functions, and the energy within 1e-8 J of its
    35.8 J.

    Args:
        cells: number of windows N, at least one.
        speed: of the ends of the upright cranks at the start [m/s], greater than zero.
        duration: of the motion [s].
        step: of the integration and of the samples [s].
    """
    if cells < 1:
        raise ParameterError(f"cells must be at least 1, got {cells}")
    robot = iftomm_four_bars(cells)
    q0, v0 = np.zeros(2 * cells + 1), np.zeros(2 * cells + 1)
    q0[::2], v0[::2] = np.pi / 2.0, -speed

    def positions(motion: Trajectory) -> float:
        return float(np.count_nonzero(np.diff(np.sign(np.sin(motion.q[:, 0])))))

    def miss(motion: Trajectory) -> float:
        # As a parallelogram: (Σ I) θ'' = −g Σ m x, N + 1 cranks about their pivots and N couplers with their ends.
        k = known(motion, "g") * ((cells + 1) / 2 + cells) / ((cells + 1) / 3 + cells)
        exact = 1.5 * np.pi - turning_pendulum(k, speed, motion.t)
        return float(np.abs(motion.q[:, 0] - exact).max())

    measures = {
        "energy error": energy_kept(1e-8),
        "singular positions passed": Measure(positions, "", (10, 10)),
        "off the parallelograms": Measure(lambda motion: np.abs(motion.q[:, 1::2]).max(), "rad", (0.0, 1e-12)),
        "off the pendulum in elliptic functions": Measure(miss, "rad", (0.0, 1e-8)),
        "loops open by": loops_closed(1e-12),
    }
    return Setup(robot, None, q0, v0, duration, step, integrator=Reduced(), measures=measures)
