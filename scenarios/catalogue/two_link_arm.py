"""Two-link arm, moving obstacle: the tip goes along a path and round a disc that drifts across it."""

from collections.abc import Mapping
from typing import Literal

import casadi as ca

from ...constraints import EruginField, FirstOrder, circle, follow, spline
from ...controllers import Program, ProgramController
from ...robots import Link, planar_manipulator, with_scene
from ..scenario import scenario
from ..setup import Setup
from .drawn import obstacle_pictures
from .followed import among_obstacles
from .two_link_task import EXPECTED, MARGIN, RATE, SPEED, VARIED, at_rest, rivals, sided

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
    """Two-link arm, moving obstacle: the tip follows a path and goes round a disc that drifts across it.

    Matukhina's two-link manipulator in Erugin's field of a path and a disc. It starts at rest on the path, so that its
    deviation begins at the cruise speed and decays at ``follow.rate``. Expect the tip to leave the path for the disc,
    to keep ``field.margin`` from it, to come back, and to reach its end. Only the tip keeps clear: links pass over.

    Args:
        duration: longest simulated time [s]; the run ends when the tip passes the end of the path.
        step: step of the integration and of the samples [s].
        realization: where the force comes from.
        side: side of the path on which to pass the disc, seen along it.
        parameters: those that are set, by name.
    """
    arm = with_scene(planar_manipulator([Link.point_mass(0.6, 2.5), Link.point_mass(0.5, 1.8)]), DISC.parameters)
    tip, field = arm.points["tip"], EruginField(PATH, [DISC], speed=SPEED, margin=MARGIN, rounding=0.03)
    program = Program(arm, follow(field, tip, perturbation=FirstOrder(RATE)))
    law_p = sided(field, side, PATH.at(0.0), duration, parameters or {})
    controller = ProgramController(program, realization=realization)
    off, gap = PATH.functions(tip, arm.t), DISC.functions(tip, arm.t)
    return Setup(
        *(arm, controller, at_rest(controller, tip, PATH, DISC, law_p), (0.0, 0.0), duration, step),
        stop=PATH.progress(tip) - PATH.length,
        law_p=law_p,
        measures=among_obstacles(field, tip, arm.t, off, gap, **EXPECTED),
        pictures=obstacle_pictures(field, tip, PATH),
        error=ca.fabs(off),
        clearance=gap,
        unit="m",
        varied=VARIED,
        rivals=rivals(DISC),
    )
