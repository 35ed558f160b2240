"""Overhead crane: the load goes where it shall, although no drive holds it."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ...constraints import holonomic
from ...controllers import Program, transition
from ...controllers.servo import ServoController
from ...robots.examples import altmann_heiland_crane
from ...simulation.trajectory import Trajectory
from ..scenario import scenario
from ..setup import Measure, Setup
from .measures import deviation

EXACT = {1.5: (25.2645592, -95.5710597), 3.3: (-17.8602834, -100.1533751), 4.5: (-24.7225147, -100.6741575)}
"""F [N] and M [N m] at some times [s]: the exact solution by the authors' code, github.com/highlando/holo-servo-opt."""


@scenario("crane-servo-constraint")
def crane_servo_constraint(*, duration: float = 6.0, step: float = 5e-3, rate: float = 3.0, off: float = 0.0) -> Setup:
    """Servo-constraint on a crane's load: two drives, three freedoms, and a path that only the rope's pull can keep.

    The manoeuvre of Altmann and Heiland, 1 m to the side and 1 m down in six seconds, from rest to rest. Trolley and
    winch reach the load's acceleration through one rope, so that the program is differentiated until both inputs stand
    in it: degrees 4 and 4, flat. Expect the load on its path to rounding, and the authors' forces.

    Args:
        duration: of the motion [s].
        step: of the integration and of the samples [s].
        rate: at which deviations of the load die out [1/s].
        off: by how much the trolley is off at the start [m].
    """
    crane = altmann_heiland_crane()
    load, s = crane.points["load"], transition(crane.t, 6.0, smoothness=6)
    program = Program(crane, holonomic(load - ca.vertcat(s, -4.0 - s), name="load"))
    controller = ServoController(program, near=[0.0, 4.0, 0.0], rates=rate)
    start = controller.feedforward(0.0)

    def miss(column: int) -> Measure:
        def of(motion: Trajectory) -> float:
            seen = {t: exact[column] for t, exact in EXACT.items() if t <= motion.t[-1]}
            inputs = [np.interp(t, motion.t, motion.u[:, column]) for t in seen]
            return float(np.abs(np.array(inputs) - list(seen.values())).max(initial=0.0))

        return Measure(of, ("N", "N m")[column], (0.0, 5e-7))

    return Setup(
        *(crane, controller, start.q + np.array([off, 0.0, 0.0]), start.v, duration, step),
        measures={
            "load off its path": deviation("m", (0.0, 1e-9)),
            "force on the trolley, off the authors'": miss(0),
            "moment of the winch, off the authors'": miss(1),
        },
        error=ca.norm_2(load - ca.vertcat(s, -4.0 - s)),
        unit="m",
    )
