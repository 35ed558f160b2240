"""Measures that several scenarios share: energy and constraints kept, deviations, clearance, inputs, stops."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ...constraints import EruginField
from ...controllers.status import Status
from ...robots.robot import Robot
from ...simulation.trajectory import Trajectory
from ..setup import Measure

Range = tuple[float, float] | None


def largest(expression: ca.SX, unit: str, expected: Range = None, *, after: float = 0.0, scale: float = 1.0) -> Measure:
    """Largest Euclidean norm of an expression along a motion.

    Args:
        expression: a scalar or column in the plant's symbols.
        unit: in which it is told.
        expected: range of the measure.
        after: time from which on it is looked at [s].
        scale: by which the expression is multiplied, for the unit.
    """

    def of(motion: Trajectory) -> float:
        values = motion.evaluate(expression).reshape(len(motion), -1)[motion.t >= after]
        return scale * float(np.linalg.norm(values, axis=1).max(initial=0.0))

    return Measure(of, unit, expected)


def least(expression: ca.SX, unit: str, expected: Range = None, *, scale: float = 1.0) -> Measure:
    """Least value of a scalar expression along a motion.

    Args:
        expression: in the plant's symbols.
        unit: in which it is told.
        expected: range of the measure.
        scale: by which the expression is multiplied, for the unit.
    """
    return Measure(lambda motion: scale * float(motion.evaluate(expression).min()), unit, expected)


def root_mean_square(expression: ca.SX, unit: str, expected: Range = None, *, scale: float = 1.0) -> Measure:
    """Root of the mean square of the samples of a scalar expression.

    Args:
        expression: in the plant's symbols.
        unit: in which it is told.
        expected: range of the measure.
        scale: by which the expression is multiplied, for the unit.
    """

    def of(motion: Trajectory) -> float:
        return scale * float(np.sqrt(np.mean(motion.evaluate(expression) ** 2)))

    return Measure(of, unit, expected)


def deviation(unit: str, expected: Range = None, *, late: bool = False) -> Measure:
    """Largest Euclidean norm of the deviations of the program's rows.

    Args:
        unit: of the rows.
        expected: range of the measure.
        late: whether only the second half of the motion is looked at.
    """

    def of(motion: Trajectory) -> float:
        seen = motion.t >= (motion.t[0] + motion.t[-1]) / 2 if late else motion.t >= motion.t[0]
        return float(np.linalg.norm(motion.deviation[seen], axis=1).max(initial=0.0))

    return Measure(of, unit, expected)


def largest_input(unit: str, expected: Range = None) -> Measure:
    """Largest absolute value of any input.

    Args:
        unit: of the inputs.
        expected: range of the measure.
    """
    return Measure(lambda motion: float(np.nanmax(np.abs(motion.u))), unit, expected)


def stopped_at(expected: Range = None) -> Measure:
    """When the setup's ``stop`` ended the motion; NaN if it did not.

    Args:
        expected: range of the measure.
    """

    def of(motion: Trajectory) -> float:
        stopped = motion.ending.startswith("the stop condition") and motion.status[-1] == Status.OK
        return float(motion.t[-1]) if stopped else float("nan")

    return Measure(of, "s", expected)


def baumgarte_error(error: ca.SX, robot: Robot, rate: float, expected: Range = None) -> Measure:
    """Largest distance of an error in millimetres from (e₀ + (ė₀ + α e₀) t) e^(−α t), what Baumgarte's equation says.

    Args:
        error: e in the robot's symbols, a column [m].
        robot: the plant.
        rate: α [1/s].
        expected: range of the measure [mm].
    """
    speed = robot.coordinates.rate(error)

    def of(motion: Trajectory) -> float:
        values, t = motion.evaluate(error), motion.t[:, None]
        first, slope = values[0], motion.evaluate(speed)[0]
        return 1e3 * float(np.abs(values - (first + (slope + rate * first) * t) * np.exp(-rate * t)).max())

    return Measure(of, "mm", expected)


def clearance_measures(
    field: EruginField, point: ca.SX, t: ca.SX, off: ca.SX, gap: ca.SX, **expected: tuple[float, float]
) -> dict[str, Measure]:
    """What is told of a point that follows a path among obstacles.

    Args:
        field: what it follows.
        point: in the plant's symbols, shape (n,).
        t: the plant's time.
        off: distance to the path [m].
        gap: distance to the nearest obstacle [m].
        expected: ranges of ``end`` [s], ``missed`` [mm], ``detour`` [mm], ``deviation`` [m/s], ``settled`` [m/s],
            ``clearance`` [mm] and ``torque`` [N m].
    """
    measures = {
        "end": ("end of the path reached", stopped_at(expected.get("end"))),
        "missed": (
            "off the program curve, rms",
            root_mean_square(field.functions(point, t)[0], "mm", expected.get("missed"), scale=1e3),
        ),
        "detour": ("detour from the path", largest(off, "mm", expected.get("detour"), scale=1e3)),
        "deviation": ("largest deviation |ψ|", deviation("m/s", expected.get("deviation"))),
        "settled": ("deviation |ψ|, second half", deviation("m/s", expected.get("settled"), late=True)),
        "clearance": ("least clearance", least(gap, "mm", expected.get("clearance"), scale=1e3)),
        "torque": ("largest torque", largest_input("N m", expected.get("torque"))),
    }
    return dict(measures.values())


def largest_share(expected: Range = None) -> Measure:
    """Largest share of an input of its limit, of a robot that has such.

    Args:
        expected: range of the measure.
    """

    def of(motion: Trajectory) -> float:
        return float(np.nanmax(np.abs(motion.u) / motion.robot.limits.effort))

    return Measure(of, "of its limit", expected)


def energy_error(most: float) -> Measure:
    """Largest |E − E₀| along a motion without drives and losses.

    Args:
        most: that is expected [J].
    """
    return Measure(lambda motion: np.abs(motion.energy - motion.energy[0]).max(), "J", (0.0, most))


def work_error(most: float) -> Measure:
    """Largest |E − E₀ − u (q₁ − q₁(0))| along a motion whose only input drives the first coordinate, and never changes.

    Args:
        most: that is expected [J].
    """

    def worst(motion: Trajectory) -> float:
        work = motion.u[0, 0] * (motion.q[:, 0] - motion.q[0, 0])
        return float(np.abs(motion.energy - motion.energy[0] - work).max())

    return Measure(worst, "J", (0.0, most))


def loop_error(most: float, *, unit: str = "m") -> Measure:
    """Largest component of the natural constraints of order 0 along a motion.

    Args:
        most: that is expected, in the unit of the constraints.
        unit: of the constraints.
    """

    def worst(motion: Trajectory) -> float:
        c = motion.robot.coordinates
        rows = [constraint.residual(c) for constraint in motion.robot.natural if constraint.order == 0]
        return float(np.abs(motion.evaluate(ca.vertcat(*rows))).max())

    return Measure(worst, unit, (0.0, most))


def parameter_value(motion: Trajectory, name: str) -> float:
    """Value of a parameter of the plant along a motion.

    Args:
        motion: that was run with it.
        name: of the parameter.
    """
    return float(motion.p[motion.robot.parameters.names.index(name)])
