"""An electric circuit: the Butterworth filter as a ladder of coils and capacitors, switched on."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers import OpenLoop
from ...robots.examples import butterworth_ladder as ladder
from ...simulation.trajectory import Trajectory
from ...symbolic import Parameters
from ..scenario import scenario
from ..setup import Measure, Setup
from .pictures import response_pictures

RESISTANCE, CUTOFF = 50.0, 2.0e3 * math.pi


Array = NDArray[np.float64]


def butterworth_step(order: int, cutoff: float, t: Array) -> Array:
    """Return the step response of Butterworth's filter, 1 + Σ c_k e^{p_k t}, poles p_k on the left half of a circle.

    Args:
        order: order n of the filter.
        cutoff: radius of the circle [rad/s].
        t: times, shape (N,) [s].
    """
    poles = cutoff * np.exp(0.5j * np.pi * (2.0 * np.arange(1, order + 1) + order - 1.0) / order)
    apart = poles[:, None] - poles + np.eye(order)
    residues = cutoff**order / (poles * apart.prod(axis=1))
    return np.asarray(1.0 + (np.exp(np.outer(t, poles)) @ residues).real, dtype=np.float64)


@scenario("butterworth-ladder")
def butterworth_ladder(*, order: int = 5, duration: float = 3e-3, step: float = 1e-6) -> Setup:
    """A battery is connected to a ladder of coils and capacitors, and the load shows Butterworth's step response.

    Charges are the coordinates, inductances the masses, resistances the friction; capacitors have no inertia, which
    Kirchhoff's current law at the nodes replaces as a natural constraint. Expect half the battery's 2 V at the load
    after 0.7 ms with 12.8 % of overshoot, as the poles on a circle of 1 kHz predict, no current lost at a node, and at
    the end as much charge from the battery as without the ladder, 2 V/100 Ω for 3 ms: nothing is reflected.

    Args:
        order: order of the filter, odd, at least 3.
        duration: duration of the motion [s].
        step: step of the integration and of the samples [s].
    """
    robot = ladder(order, resistance=RESISTANCE, cutoff=CUTOFF)
    battery = Parameters.declare({"battery": 2.0})
    law = OpenLoop(robot, battery.symbols, parameters=battery)
    lost = ca.vertcat(*(constraint.residual(robot.coordinates) for constraint in robot.natural))

    def load(motion: Trajectory) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return RESISTANCE * motion.v[:, -1]

    def exact(motion: Trajectory) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return float(motion.u[0, 0]) / 2.0 * butterworth_step(order, CUTOFF, motion.t)

    def error(motion: Trajectory) -> float:
        return float(np.abs(load(motion) - exact(motion)).max())

    measures = {
        "load, error against the step response": Measure(error, "V", (0.0, 1e-9)),
        "overshoot": Measure(lambda motion: 100.0 * (load(motion).max() - 1.0), "%", (12.7, 12.9)),
        "load at the end": Measure(lambda motion: load(motion)[-1], "V", (0.99, 1.01)),
        "current lost at a node": Measure(lambda motion: np.abs(motion.evaluate(lost)).max(), "A", (0.0, 1e-12)),
        "charge through the battery": Measure(lambda motion: 1e6 * motion.q[-1, 0], "µC", (59.9, 60.1)),
    }
    pictures = response_pictures("voltage at the load [V]", "Butterworth's", load, exact)
    return Setup(*(robot, law, [0.0] * order, [0.0] * order, duration, step), measures=measures, pictures=pictures)
