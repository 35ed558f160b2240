"""Two-link arm, moving obstacle: the tip follows a path and avoids a disc that drifts across it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints import EruginField, FirstOrder, circle, follow, spline
from ...constraints.curves import Circle, Spline
from ...controllers import Controller, Program, ProgramController, Reference, start_on
from ...controllers.baselines import ComputedTorque, OperationalSpace, PDGravity, PotentialField
from ...robots import Link, planar_manipulator, with_scene
from ...symbolic.errors import ModelError, ParameterError
from ..motion_tracking import MotionTracking, point_along
from ..sampling.distributions import Distribution, Normal, Scaled, Shifted, Uniform
from ..scenario import scenario
from ..setup import MakeController, Setup
from .measures import clearance_measures
from .pictures import obstacle_pictures

Array = NDArray[np.float64]
RATE, SPEED, MARGIN = 8.0, 0.18, 0.05
TOLERANCE = 1e-4
"""Largest distance of the plan from the motion, which changes fast where it meets the margin [rad]."""

AWAY = {"disc.x": 100.0}
"""Parameters that move the disc far away, so that the tip simply follows the path."""

ELBOW = (-1.3, 1.4)
SIDES = {"left": -1, "right": 1}
EXPECTED = {
    "end": (8.9, 9.0),
    "missed": (10.0, 18.0),
    "detour": (55.0, 75.0),
    "deviation": (0.1799, 0.1801),
    "settled": (0.0, 1e-9),
    "clearance": (50.0, 51.0),
    "torque": (25.0, 35.0),
}
"""Expected ranges: at rest the deviation is the cruise speed, and the least clearance is the margin. The clock makes
the tip arrive when it would have without the disc.
"""

RANDOMIZATION: Mapping[str, Distribution] = {
    "disc.x": Shifted(Uniform(-0.03, 0.03)),
    "disc.y": Shifted(Uniform(-0.03, 0.03)),
    "disc.vx": Shifted(Uniform(-0.02, 0.02)),
    "disc.vy": Shifted(Uniform(-0.02, 0.02)),
    "plant.m1": Scaled(Uniform(0.9, 1.1)),
    "plant.m2": Scaled(Uniform(0.9, 1.1)),
    "q0.q1": Shifted(Normal(0.0, 0.01)),
    "q0.q2": Shifted(Normal(0.0, 0.01)),
}


def with_side(side: str, values: Mapping[str, float]) -> dict[str, float]:
    """Return the parameter values with the side on which the disc is passed.

    Args:
        side: left, right, or auto to leave it to the field.
        values: given parameter values, by name.

    Raises:
        ParameterError: if the side is given twice.
    """
    if side in SIDES and "field.side" in values:
        raise ParameterError("side= and field.side= set the same parameter: give one of them")
    return {"field.side": float(SIDES[side]), **values} if side in SIDES else dict(values)


def start_at_rest(
    controller: ProgramController, tip: ca.SX, path: Spline, disc: Circle, values: Mapping[str, float]
) -> Array:
    """Return the coordinates with the tip on the first point of the path, shape (nq,).

    From rest the tip slips by |ψ(0)|/k before it moves with the field: the disc must be farther away than that.

    Args:
        controller: controller of the field.
        tip: position of the tip in the robot's symbols, shape (2,).
        path: path that starts at the returned position.
        disc: the obstacle.
        values: given parameter values, by name.

    Raises:
        ModelError: if the disc is nearer than that, or the start lies inside it.
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
    """Return computed torque in joint space, with the rate of the program."""
    return ComputedTorque(setup.robot, reference, rate=RATE)


def pd_gravity(setup: Setup, reference: Reference) -> Controller:
    """Return a PD law of the joints with gravity compensation."""
    return PDGravity(setup.robot, reference, rate=RATE)


def operational_space(setup: Setup, reference: Reference) -> Controller:
    """Return operational-space control of the tip, with the same error equation."""
    return OperationalSpace(setup.robot, setup.robot.points["tip"], point_along(reference, "tip"), rate=RATE)


def baselines(disc: Circle) -> dict[str, MakeController]:
    """Return baselines by name; the first three track the program's motion for the nominal disc, the last avoids it.

    Args:
        disc: the obstacle.
    """

    def potential_field(setup: Setup, reference: Reference) -> Controller:
        tip, goal = setup.robot.points["tip"], point_along(reference, "tip")
        q, reach = reference.start[0], 3 * MARGIN
        return PotentialField(
            setup.robot, tip, goal, disc, around=q, speed=SPEED, rate=RATE, reach=reach, clearance=MARGIN
        )

    return {
        "computed torque": MotionTracking(computed_torque, tolerance=TOLERANCE),
        "operational space": MotionTracking(operational_space, tolerance=TOLERANCE),
        "PD and gravity": MotionTracking(pd_gravity, tolerance=TOLERANCE),
        "potential field": MotionTracking(potential_field, AWAY),
    }


PATH = spline([(0.78, -0.55), (0.72, -0.15), (0.84, 0.20), (0.66, 0.55), (0.28, 0.78)], name="path")
DISC = circle((1.20, 0.08), 0.11, velocity=(-0.07, 0.015), name="disc")


@scenario("two-link-arm-moving-obstacle")
def two_link_arm_moving_obstacle(
    *,
    duration: float = 14.0,
    step: float = 1e-3,
    realization: Literal["actuated", "ideal"] = "actuated",
    side: Literal["auto", "left", "right"] = "auto",
    parameters: Mapping[str, float] | None = None,
) -> Setup:
    """Two-link arm, moving obstacle: the tip follows a path and avoids a disc that drifts across it.

    Matukhina's two-link manipulator in Erugin's field of a path and a disc. It starts at rest on the path, so that its
    deviation is initially the cruise speed and decays at the rate ``follow.rate``. Expect the tip to leave the path for
    the disc, to keep ``field.margin`` from it, to return, and to reach the end. Only the tip avoids the disc: the links
    pass over it.

    Args:
        duration: longest simulated time [s]; the run ends when the tip passes the end of the path.
        step: step of the integration and of the samples [s].
        realization: realization of the program.
        side: side of the path on which the disc is passed, looking along it; auto leaves it to the field.
        parameters: given parameter values, by name.
    """
    arm = with_scene(planar_manipulator([Link.point_mass(0.6, 2.5), Link.point_mass(0.5, 1.8)]), DISC.parameters)
    tip = arm.points["tip"]
    field = EruginField(PATH, [DISC], speed=SPEED, margin=MARGIN, attraction=RATE / 2, swirl=1.5, limit=3 * SPEED)
    program = Program(arm, follow(field, tip, perturbation=FirstOrder(RATE), clock=RATE / 4))
    controller_p = with_side(side, parameters or {})
    controller = ProgramController(program, realization=realization)
    off, gap = PATH.functions(tip, arm.t), DISC.functions(tip, arm.t)
    return Setup(
        *(arm, controller, start_at_rest(controller, tip, PATH, DISC, controller_p), (0.0, 0.0), duration, step),
        stop=PATH.progress(tip) - PATH.length,
        controller_p=controller_p,
        measures=clearance_measures(field, tip, arm.t, off, gap, **EXPECTED),
        pictures=obstacle_pictures(field, tip, PATH),
        error=ca.fabs(off),
        clearance=gap,
        unit="m",
        randomization=RANDOMIZATION,
        baselines=baselines(DISC),
    )
