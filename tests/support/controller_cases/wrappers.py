"""Wrappers around a law."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from erugin.controllers import Controller
from erugin.controllers.wrappers import (
    Delay,
    Dropout,
    Encoders,
    Fallback,
    MeasurementNoise,
    MotorLag,
    Noise,
    RateLimit,
    SampleAndHold,
    Saturation,
)

from .programs import program_controller
from .robots import RobotCase, robot_case

Array = NDArray[np.float64]


@functools.cache
def law_of(name: str) -> Controller:
    """One law for all wrappers of a robot: it has no memory."""
    return program_controller(robot_case(name))


def law(case: RobotCase) -> Controller:
    """The law inside."""
    return law_of(case.name)


def first(case: RobotCase) -> Array:
    """Command at the start."""
    return law(case).control(0.0, case.q0, case.v0)


def largest(case: RobotCase) -> float:
    """The largest input of those, and one at least."""
    return max(float(np.abs(first(case)).max()), 1.0)


BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {
    Delay: lambda case: Delay(law(case), 2.5 * case.step, measurement=1.5 * case.step, initial=first(case)),
    Dropout: lambda case: Dropout(Fallback(law(case)), 0.05, seed=3),
    Encoders: lambda case: Encoders(law(case), 1e-5),
    MeasurementNoise: lambda case: MeasurementNoise(law(case), q=1e-5, v=1e-4),
    MotorLag: lambda case: MotorLag(law(case), 5e-3),
    Noise: lambda case: Noise(law(case), q=1e-5, v=1e-4, u=1e-3, seed=1),
    RateLimit: lambda case: RateLimit(law(case), 50.0 * largest(case)),
    SampleAndHold: lambda case: SampleAndHold(law(case), 5 * case.step),
    Saturation: lambda case: Saturation(law(case), largest(case)),
    Fallback: lambda case: Fallback(law(case)),
}
