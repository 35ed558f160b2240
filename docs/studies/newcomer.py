"""Three-joint arm by defaults: its tip follows an ellipse, past a disc that drifts and a box that turns."""

from __future__ import annotations

import math
from functools import partial

import casadi as ca

from erugin.constraints import EruginField, box, circle, follow, moving, parametric, tracking
from erugin.controllers import Controller, Program, ProgramController, Reference, start_on
from erugin.controllers.baselines import BarrierFunction, CbfFilter, ComputedTorque, OperationalSpace
from erugin.robots import Link, planar_manipulator, with_scene
from erugin.robots.signals import BandNoise
from erugin.scenarios import Distribution, Shifted, Uniform
from erugin.scenarios.motion_tracking import MotionTracking, point_along
from erugin.scenarios.scenario import scenario
from erugin.scenarios.setup import MakeController, Setup

from .disturbances import spread, with_disturbances
from .laws import program_control

SPEED, MARGIN = 0.2, 0.04


def ellipse(s: ca.SX, _: ca.SX) -> ca.SX:
    """Point of the path, shape (2,) [m].

    Args:
        s: angle [rad].
    """
    return ca.vertcat(0.75 + 0.2 * ca.cos(s), 0.1 + 0.3 * ca.sin(s))


PATH = parametric(ellipse, 0.0, 2.0 * math.pi, name="ellipse")
DISC = circle((0.35, 0.05), 0.06, velocity=(0.04, 0.01), name="disc")
BAR = moving(
    box((0.86, 0.56), (0.2, 0.08), rounding=0.02, name="bar"), velocity=(0.0, -0.03), angular_velocity=0.6, name="turn"
)
AWAY, TOLERANCE = {"disc.x": 100.0, "bar.x": 100.0}, 5e-4
RANDOMIZATION: dict[str, Distribution] = {
    **{f"{name}.{axis}": Shifted(Uniform(-0.02, 0.02)) for name in ("disc", "bar") for axis in "xy"},
    "bar.angle": Shifted(Uniform(-0.5, 0.5)),
    **{f"q0.q{i}": Shifted(Uniform(-0.01, 0.01)) for i in (1, 2, 3)},
    **spread(["m2"], 0.0, mean=1.15),
}


@scenario("three-joint-arm")
def three_joint_arm(*, duration: float = 9.0, step: float = 5e-3) -> Setup:
    """A first program: the tip follows an ellipse past two moving obstacles; no gain of any law is given.

    The second link is 15 % heavier than in the models. The obstacles and the start vary, a random force of 0.5 N acts
    on the tip, and the angles are measured with errors of 1 mrad. Program control and the barrier filter see the
    obstacles; the others follow the motion of program control around the expected obstacles.

    Args:
        duration: time of the motion, a little more than one revolution by default [s].
        step: of the integration and of the laws [s].
    """
    arm = planar_manipulator([Link.point_mass(0.5, 2.0), Link.point_mass(0.4, 1.5), Link.point_mass(0.25, 0.8)])
    arm = with_scene(with_scene(arm, DISC.parameters), BAR.parameters)
    tip = arm.points["tip"]
    field = EruginField(PATH, [DISC, BAR], speed=SPEED, margin=MARGIN)
    program = Program(arm, [follow(field, tip), tracking(arm.q[2], [0.9], name="wrist")])
    q0, v0 = start_on(program, (-0.6, 1.2, 0.9), at=[(tip, [0.95, 0.1])])
    gaps = [shape.functions(tip, arm.t) for shape in (DISC, BAR)]
    clean = Setup(
        *(arm, ProgramController(program, realization="actuated"), q0, 0.0 * v0, duration, step),
        error=ca.fabs(PATH.functions(tip, arm.t)),
        clearance=ca.fmin(*gaps),
        unit="m",
    )

    def operational_space(setup: Setup, reference: Reference) -> Controller:
        return OperationalSpace(arm, tip, point_along(reference, "tip"), posture=q0)

    def filtered(setup: Setup, reference: Reference) -> Controller:
        barriers = [BarrierFunction.outside(arm, tip, shape, margin=MARGIN) for shape in (DISC, BAR)]
        return CbfFilter(ComputedTorque(arm, reference), barriers)

    baselines: dict[str, MakeController] = {
        "computed torque": MotionTracking(lambda _, reference: ComputedTorque(arm, reference), tolerance=TOLERANCE),
        "operational space": MotionTracking(operational_space, tolerance=TOLERANCE),
        "barrier filter": MotionTracking(filtered, AWAY, tolerance=TOLERANCE),
    }
    return with_disturbances(
        clean,
        partial(program_control, program=program),
        force=BandNoise(0.5, (0.2, 3.0)),
        on="tip",
        errors={"q": 1e-3, "v": "derivative", "band": (1.0, 10.0)},
        randomization=RANDOMIZATION,
        baselines=baselines,
    )
