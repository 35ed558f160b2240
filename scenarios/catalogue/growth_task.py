"""The programme of growth: its rates, what seeds vary, and its rivals."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from ...controllers import Controller, Reference
from ...controllers.rivals import ComputedTorque, PDGravity
from ..sampling import Distribution, Scaled, Uniform
from ..setup import Setup

YEARS = 23.0
RATES = np.log([4.31, 1.61]) / YEARS
"""At which capital and labour grew in American manufacturing from 1899 to 1922 [CobbDouglas1928]_ [1/year]."""
RATE = 5.0
"""At which deviations from the programme decay [1/year]."""
VARIED: Mapping[str, Distribution] = {
    name: Scaled(Uniform(0.95, 1.05)) for name in ("plant.A", "plant.c", "plant.d", "q0.K", "q0.N", "v0.K", "v0.N")
}


def along(setup: Setup) -> Reference:
    """The programme's motion from 100 and 100."""
    return Reference.of(setup.robot, 100.0 * ca.exp(ca.DM(RATES) * setup.robot.t))


def computed_torque(setup: Setup) -> Controller:
    """Subsidies by the model's own accelerations."""
    return ComputedTorque(setup.robot, along(setup), rate=RATE)


def pd_gravity(setup: Setup) -> Controller:
    """Subsidies that make up for marginal profits and pull towards the programme's motion."""
    return PDGravity(setup.robot, along(setup), rate=RATE)
