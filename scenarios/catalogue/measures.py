"""Measures that several scenarios share: errors of energy and constraints, deviations, clearance, inputs, stops."""

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
    """Measure of the largest Euclidean norm of an expression along a motion.

    Args:
        expression: a scalar or column in the plant's symbols.
        unit: unit of the measure.
        expected: expected range of the measure.
        after: time from which samples count [s].
        scale: factor from the unit of the expression to that of the measure.
    """

    def largest_norm(motion: Trajectory) -> float:
        values = motion.evaluate(expression).reshape(len(motion), -1)[motion.t >= after]
        return scale * float(np.linalg.norm(values, axis=1).max(initial=0.0))

    return Measure(largest_norm, unit, expected)


def least(expression: ca.SX, unit: str, expected: Range = None, *, scale: float = 1.0) -> Measure:
    """Measure of the least value of a scalar expression along a motion.

    Args:
        expression: a scalar in the plant's symbols.
        unit: unit of the measure.
        expected: expected range of the measure.
        scale: factor from the unit of the expression to that of the measure.
    """
    return Measure(lambda motion: scale * float(motion.evaluate(expression).min()), unit, expected)


def root_mean_square(expression: ca.SX, unit: str, expected: Range = None, *, scale: float = 1.0) -> Measure:
    """Measure of the root mean square of the samples of a scalar expression.

    Args:
        expression: a scalar in the plant's symbols.
        unit: unit of the measure.
        expected: expected range of the measure.
        scale: factor from the unit of the expression to that of the measure.
    """

    def rms(motion: Trajectory) -> float:
        return scale * float(np.sqrt(np.mean(motion.evaluate(expression) ** 2)))

    return Measure(rms, unit, expected)


def deviation(unit: str, expected: Range = None, *, late: bool = False) -> Measure:
    """Measure of the largest Euclidean norm of the deviations of the program's rows.

    Args:
        unit: unit of the rows.
        expected: expected range of the measure.
        late: True to count the second half of the motion only.
    """

    def largest_deviation(motion: Trajectory) -> float:
        counted = motion.t >= (motion.t[0] + motion.t[-1]) / 2 if late else motion.t >= motion.t[0]
        return float(np.linalg.norm(motion.deviation[counted], axis=1).max(initial=0.0))

    return Measure(largest_deviation, unit, expected)


def largest_input(unit: str, expected: Range = None) -> Measure:
    """Measure of the largest absolute value of any input.

    Args:
        unit: unit of the inputs.
        expected: expected range of the measure.
    """
    return Measure(lambda motion: float(np.nanmax(np.abs(motion.u))), unit, expected)


def stopped_at(expected: Range = None) -> Measure:
    """Measure of the time at which the setup's ``stop`` ended the motion; NaN if it did not.

    Args:
        expected: expected range of the measure.
    """

    def stop_time(motion: Trajectory) -> float:
        stopped = motion.ending.startswith("the stop condition") and motion.status[-1] == Status.OK
        return float(motion.t[-1]) if stopped else float("nan")

    return Measure(stop_time, "s", expected)


def baumgarte_error(error: ca.SX, robot: Robot, rate: float, expected: Range = None) -> Measure:
    """Measure of the largest distance of an error from Baumgarte's solution (e₀ + (ė₀ + α e₀) t) e^(−α t).

    Args:
        error: e in the robot's symbols, a column [m].
        robot: the plant.
        rate: α [1/s].
        expected: expected range of the measure [mm].
    """
    speed = robot.coordinates.rate(error)

    def largest_distance(motion: Trajectory) -> float:
        values, t = motion.evaluate(error), motion.t[:, None]
        first, slope = values[0], motion.evaluate(speed)[0]
        return 1e3 * float(np.abs(values - (first + (slope + rate * first) * t) * np.exp(-rate * t)).max())

    return Measure(largest_distance, "mm", expected)


def clearance_measures(
    field: EruginField, point: ca.SX, t: ca.SX, off: ca.SX, gap: ca.SX, **expected: tuple[float, float]
) -> dict[str, Measure]:
    """Build the measures of a point that follows a path among obstacles.

    Args:
        field: field that the point follows.
        point: position of the point in the plant's symbols, shape (n,).
        t: the plant's time.
        off: distance to the path [m].
        gap: distance to the nearest obstacle [m].
        expected: expected ranges of ``end`` [s], ``missed`` [mm], ``detour`` [mm], ``deviation`` [m/s], ``settled``
            [m/s], ``clearance`` [mm] and ``torque`` [N m].
    """
    measures = {
        "end": ("time at the end of the path", stopped_at(expected.get("end"))),
        "missed": (
            "distance from the program curve, rms",
            root_mean_square(field.functions(point, t)[0], "mm", expected.get("missed"), scale=1e3),
        ),
        "detour": ("largest detour from the path", largest(off, "mm", expected.get("detour"), scale=1e3)),
        "deviation": ("largest deviation |ψ|", deviation("m/s", expected.get("deviation"))),
        "settled": ("deviation |ψ|, second half", deviation("m/s", expected.get("settled"), late=True)),
        "clearance": ("least clearance", least(gap, "mm", expected.get("clearance"), scale=1e3)),
        "torque": ("largest torque", largest_input("N m", expected.get("torque"))),
    }
    return dict(measures.values())


def largest_share(expected: Range = None) -> Measure:
    """Measure of the largest |u_i| divided by its limit, for a robot with limits of effort.

    Args:
        expected: expected range of the measure.
    """

    def share(motion: Trajectory) -> float:
        return float(np.nanmax(np.abs(motion.u) / motion.robot.limits.effort))

    return Measure(share, "of its limit", expected)


def energy_error(most: float) -> Measure:
    """Measure of the largest |E − E₀| along a motion without drives and losses.

    Args:
        most: largest expected value [J].
    """
    return Measure(lambda motion: np.abs(motion.energy - motion.energy[0]).max(), "J", (0.0, most))


def work_error(most: float) -> Measure:
    """Measure of the largest |E − E₀ − u (q₁ − q₁(0))| for a single constant input that drives the first coordinate.

    Args:
        most: largest expected value [J].
    """

    def worst(motion: Trajectory) -> float:
        work = motion.u[0, 0] * (motion.q[:, 0] - motion.q[0, 0])
        return float(np.abs(motion.energy - motion.energy[0] - work).max())

    return Measure(worst, "J", (0.0, most))


def loop_error(most: float, *, unit: str = "m") -> Measure:
    """Measure of the largest component of the natural constraints of order 0 along a motion.

    Args:
        most: largest expected value, in the unit of the constraints.
        unit: unit of the constraints.
    """

    def worst(motion: Trajectory) -> float:
        c = motion.robot.coordinates
        rows = [constraint.residual(c) for constraint in motion.robot.natural if constraint.order == 0]
        return float(np.abs(motion.evaluate(ca.vertcat(*rows))).max())

    return Measure(worst, unit, (0.0, most))


def parameter_value(motion: Trajectory, name: str) -> float:
    """Return the value of a parameter of the plant in a motion.

    Args:
        motion: the motion.
        name: name of the parameter.
    """
    return float(motion.p[motion.robot.parameters.names.index(name)])
