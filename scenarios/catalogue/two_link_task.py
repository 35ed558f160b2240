"""The two-link arm among moving obstacles: how it starts, what is expected, what seeds vary, and its rivals."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints import Circle, EruginField, Spline, choose_side
from ...controllers import Controller, ProgramController, Reference, start_on
from ...controllers.rivals import ComputedTorque, OperationalSpace, PDGravity, PotentialField
from ...symbolic.errors import ModelError, ParameterError
from ..rivals import AlongMotion, along
from ..sampling import Distribution, Normal, Scaled, Shifted, Uniform
from ..setup import MakeController, Setup

Array = NDArray[np.float64]
RATE, SPEED, MARGIN = 8.0, 0.18, 0.05
AWAY = {"disc.x": 100.0}
"""The disc out of the way: what is left to follow is the path."""

ELBOW = (-1.3, 1.4)
SIDES = {"left": -1, "right": 1}
EXPECTED = {
    "end": (9.0, 9.5),
    "missed": (0.0, 0.01),
    "detour": (95.0, 110.0),
    "deviation": (0.1799, 0.1801),
    "settled": (0.0, 1e-10),
    "clearance": (50.0, 52.0),
    "torque": (25.0, 35.0),
}
"""Ranges of the measures: at rest the deviation is the cruise speed, and the clearance that is kept is the margin."""

VARIED: Mapping[str, Distribution] = {
    "disc.x": Shifted(Uniform(-0.03, 0.03)),
    "disc.y": Shifted(Uniform(-0.03, 0.03)),
    "disc.vx": Shifted(Uniform(-0.02, 0.02)),
    "disc.vy": Shifted(Uniform(-0.02, 0.02)),
    "plant.m1": Scaled(Uniform(0.9, 1.1)),
    "plant.m2": Scaled(Uniform(0.9, 1.1)),
    "q0.q1": Shifted(Normal(0.0, 0.01)),
    "q0.q2": Shifted(Normal(0.0, 0.01)),
}


def sided(
    field: EruginField, side: str, start: Array, duration: float, values: Mapping[str, float]
) -> dict[str, float]:
    """Parameters with the side on which the disc is passed.

    Args:
        field: of the path and the disc.
        side: left, right, or auto for that of :func:`choose_side`.
        start: place of the tip, shape (2,) [m].
        duration: how far to look ahead, at most half a minute [s].
        values: parameters that are set by name.

    Raises:
        ParameterError: if the side is given twice.
        ModelError: if the start lies inside the disc.
    """
    if side in SIDES and "field.side" in values:
        raise ParameterError("side= and field.side= say the same thing: give one of them")
    own = {name: value for name, value in values.items() if name in field.parameters.names}
    chosen = SIDES.get(side) or choose_side(field, start, min(duration, 30.0), step=0.01, p=own)
    return {"field.side": float(chosen), **values}


def at_rest(
    controller: ProgramController, tip: ca.SX, path: Spline, disc: Circle, values: Mapping[str, float]
) -> Array:
    """Coordinates with the tip on the first point of the path, shape (nq,).

    From rest the tip slips by |ψ(0)|/k before it moves with the field: the disc must be farther than that.

    Args:
        controller: of the field.
        tip: in the robot's symbols, shape (2,).
        path: whose first point is the start.
        disc: the obstacle.
        values: parameters that are set by name.

    Raises:
        ModelError: if it is not, or the start lies inside the disc.
        NotConvergedError: if the start is out of reach.
    """
    start, numbers = path.at(0.0), {**controller.parameters.nominal, **values}
    q0, v0 = start_on(controller.program, ELBOW, at=[(tip, start)], p=values)
    deviation = controller.solve(0.0, q0, np.zeros_like(v0), values).deviation
    slip = float(np.linalg.norm(deviation)) / numbers["follow.rate"]
    x, y, radius = (numbers[f"{disc.name}.{key}"] for key in ("x", "y", "radius"))
    gap = float(np.hypot(*(start - [x, y]))) - radius
    if gap <= slip:
        raise ModelError(
            f"the disc is {gap:.3g} m from the start, but from rest the tip can slip {slip:.3g} m before it moves "
            "with the field: move the disc, or raise follow.rate"
        )
    return q0


def computed_torque(setup: Setup, reference: Reference) -> Controller:
    """Inverse dynamics of the joints' motion, with the rate of the program."""
    return ComputedTorque(setup.robot, reference, rate=RATE)


def pd_gravity(setup: Setup, reference: Reference) -> Controller:
    """Springs and dampers of the joints, and gravity made up for."""
    return PDGravity(setup.robot, reference, rate=RATE)


def operational_space(setup: Setup, reference: Reference) -> Controller:
    """The same error equation for the tip."""
    return OperationalSpace(setup.robot, setup.robot.points["tip"], along(reference, "tip"), rate=RATE)


def rivals(disc: Circle) -> dict[str, MakeController]:
    """Laws by name; the first three follow what the program makes of the nominal disc, the last one sees the disc.

    Args:
        disc: the obstacle.
    """

    def potential_field(setup: Setup, reference: Reference) -> Controller:
        tip, goal = setup.robot.points["tip"], along(reference, "tip")
        q, reach = reference.start[0], 3 * MARGIN
        return PotentialField(
            setup.robot, tip, goal, disc, around=q, speed=SPEED, rate=RATE, reach=reach, clearance=MARGIN
        )

    return {
        "computed torque": AlongMotion(computed_torque),
        "operational space": AlongMotion(operational_space),
        "PD and gravity": AlongMotion(pd_gravity),
        "potential field": AlongMotion(potential_field, AWAY),
    }
