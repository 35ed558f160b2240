"""Overhead crane: the load follows a path, although no drive acts on it directly."""

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
"""F [N] and M [N m] at some times [s]: exact solution of the authors' code, github.com/highlando/holo-servo-opt."""


@scenario("crane-servo-constraint")
def crane_servo_constraint(*, duration: float = 6.0, step: float = 5e-3, rate: float = 3.0, off: float = 0.0) -> Setup:
    """Servo-constraint on a crane's load: two drives, three freedoms, and a path kept by the tension of the rope only.

    The manoeuvre of Altmann and Heiland, 1 m to the side and 1 m down in six seconds, from rest to rest. Trolley and
    winch act on the load through one rope, so that the program is differentiated until both inputs appear in it:
    degrees 4 and 4, flat. Expect the load on its path to rounding, and the authors' forces.

    Args:
        duration: duration of the motion [s].
        step: step of the integration and of the samples [s].
        rate: decay rate of the load's deviations [1/s].
        off: initial displacement of the trolley from the program [m].
    """
    crane = altmann_heiland_crane()
    load, s = crane.points["load"], transition(crane.t, 6.0, smoothness=6)
    program = Program(crane, holonomic(load - ca.vertcat(s, -4.0 - s), name="load"))
    controller = ServoController(program, near=[0.0, 4.0, 0.0], rates=rate)
    start = controller.feedforward(0.0)

    def input_error(column: int) -> Measure:
        def largest_error(motion: Trajectory) -> float:
            known = {t: exact[column] for t, exact in EXACT.items() if t <= motion.t[-1]}
            inputs = [np.interp(t, motion.t, motion.u[:, column]) for t in known]
            return float(np.abs(np.array(inputs) - list(known.values())).max(initial=0.0))

        return Measure(largest_error, ("N", "N m")[column], (0.0, 5e-7))

    return Setup(
        *(crane, controller, start.q + np.array([off, 0.0, 0.0]), start.v, duration, step),
        measures={
            "distance of the load from its path": deviation("m", (0.0, 1e-9)),
            "force on the trolley, error": input_error(0),
            "moment of the winch, error": input_error(1),
        },
        error=ca.norm_2(load - ca.vertcat(s, -4.0 - s)),
        unit="m",
    )
