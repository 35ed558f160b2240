"""What seeds vary of the figure that stands up, and laws that are given its motion in all coordinates."""

from __future__ import annotations

from collections.abc import Mapping

from ...controllers import Controller, Reference
from ...controllers.rivals import ComputedTorque, PDGravity
from ..rivals import AlongMotion
from ..sampling import Distribution, Scaled, Uniform
from ..setup import MakeController, Setup

RATE = 10.0
"""At which errors decay, as those of the program [1/s]."""
INDEPENDENT = (*(f"phi{i}" for i in range(1, 9)), *(f"l{i}" for i in range(1, 11)))
"""As many coordinates as degrees of freedom: all but the place of the first ankle, the second leg and its foot."""
VARIED: Mapping[str, Distribution] = {f"plant.m{i}": Scaled(Uniform(0.9, 1.1)) for i in (1, 2, 3, 4, 9, 10)}
"""Masses of legs, trunk and head; the start is left alone, for both feet hold it."""


def computed_torque(setup: Setup, reference: Reference) -> Controller:
    """Inverse dynamics of the independent coordinates."""
    return ComputedTorque(setup.robot, reference, coordinates=INDEPENDENT, rate=RATE)


def pd_gravity(setup: Setup, reference: Reference) -> Controller:
    """Springs and dampers of all coordinates, and gravity made up for; with the full rate steps would be too long."""
    return PDGravity(setup.robot, reference, rate=RATE / 2)


# Every piece of the motion costs operations in each of the 24 coordinates: a millimetre is near enough.
RIVALS: Mapping[str, MakeController] = {
    "computed torque": AlongMotion(computed_torque, tolerance=1e-3),
    "PD and gravity": AlongMotion(pd_gravity, tolerance=1e-3),
}
