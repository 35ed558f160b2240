"""Seven-joint arm: its hand follows a path in space, past a ball that drifts across it."""

from __future__ import annotations

from functools import partial

import casadi as ca
import numpy as np

from erugin.constraints import (
    Baumgarte,
    EruginField,
    FirstOrder,
    circle,
    follow,
    orientation,
    spline,
    tracking,
)
from erugin.controllers import Controller, Program, ProgramController, Reference, start_on
from erugin.controllers.baselines import (
    BarrierFunction,
    CbfFilter,
    ComputedTorque,
    OperationalSpace,
    PDGravity,
    PotentialField,
)
from erugin.robots import with_scene
from erugin.robots.examples.arms import franka_panda
from erugin.robots.signals import BandNoise
from erugin.scenarios import Distribution, Normal, Shifted, Uniform
from erugin.scenarios.motion_tracking import MotionTracking, point_along
from erugin.scenarios.scenario import scenario
from erugin.scenarios.setup import MakeController, Setup

from .disturbances import Observed, spread, with_disturbances
from .laws import program_control, program_variants, regulator_along, sliding_mode, slotine_li

RATE, SPEED, MARGIN, SHARE = 8.0, 0.12, 0.05, 0.1
HAND = "panda_hand_tcp"
PATH = spline(
    [(0.52, -0.38, 0.38), (0.58, -0.18, 0.46), (0.55, 0.02, 0.36), (0.60, 0.20, 0.44), (0.50, 0.38, 0.36)], name="path"
)
BALL = circle((0.62, 0.32, 0.50), 0.06, velocity=(-0.01, -0.09, -0.03), name="ball")
AWAY, TOLERANCE = {"ball.x": 100.0}, 5e-4
NEAR, UPRIGHT = (-0.6, -0.2, 0.0, -2.2, 0.0, 2.0, 0.2), np.diag([1.0, -1.0, -1.0])
LINKS = (*(f"panda_link{i}" for i in range(1, 8)), "panda_hand")
RANDOMIZATION: dict[str, Distribution] = {
    **{f"ball.{axis}": Shifted(Uniform(-0.03, 0.03)) for axis in "xyz"},
    **{f"ball.v{axis}": Shifted(Uniform(-0.02, 0.02)) for axis in "xyz"},
    **{f"q0.panda_joint{i}": Shifted(Normal(0.0, 0.005)) for i in range(1, 8)},
    **spread([f"{link}.mass" for link in LINKS], SHARE),
}


@scenario("seven-joint-arm")
def seven_joint_arm(*, duration: float = 12.0, step: float = 2e-3) -> Setup:
    """The hand of Franka's Panda follows a path, and a ball drifts across it.

    The ball's position and velocity, the start and the masses vary; a random force of 0.5 N acts on the hand, and the
    angles are measured with errors of 1 mrad. Program control and the obstacle laws see the ball; the others follow
    the motion of program control around the nominal ball.

    Args:
        duration: longest time; a run ends when the hand passes the end of the path [s].
        step: of the integration and of the laws [s].
    """
    arm = with_scene(franka_panda(), BALL.parameters)
    frame = arm.frames[HAND]
    hand = frame.position
    field = EruginField(PATH, [BALL], speed=SPEED, margin=MARGIN, attraction=RATE, swirl=2.0, limit=3 * SPEED)
    rows = (
        follow(field, hand, perturbation=FirstOrder(RATE), clock=RATE / 4),
        orientation(frame.rotation, UPRIGHT, perturbation=Baumgarte(RATE)),
        tracking(arm.q[2], [0.0], perturbation=Baumgarte(RATE), name="elbow"),
    )
    program = Program(arm, rows)
    start = PATH.at(0.0)
    q0, v0 = start_on(program, NEAR, at=[(hand, start)])
    clean = Setup(
        *(arm, ProgramController(program, realization="actuated"), q0, 0.0 * v0, duration, step),
        stop=PATH.progress(hand) - PATH.length,
        error=ca.norm_2(PATH.functions(hand, arm.t)),
        clearance=BALL.functions(hand, arm.t),
        unit="m",
    )

    def potential_field(setup: Setup, reference: Reference) -> Controller:
        goal, gap = point_along(reference, HAND), {"reach": 3 * MARGIN, "clearance": MARGIN}
        return PotentialField(arm, hand, goal, BALL, around=q0, speed=SPEED, rate=RATE, **gap)

    def operational_space(setup: Setup, reference: Reference) -> Controller:
        return OperationalSpace(arm, hand, point_along(reference, HAND), rate=RATE, posture=q0, posture_rate=RATE)

    def filtered(setup: Setup, reference: Reference) -> Controller:
        ball = BarrierFunction.outside(arm, hand, BALL, margin=MARGIN)
        return CbfFilter(ComputedTorque(arm, reference, rate=RATE), ball, rate=RATE, bounded=False)

    uncertain = {f"{link}.mass": SHARE * arm.nominal[f"{link}.mass"] for link in LINKS}
    baselines: dict[str, MakeController | Observed] = {
        **program_variants(program),
        "computed torque": MotionTracking(
            lambda _, reference: ComputedTorque(arm, reference, rate=RATE), tolerance=TOLERANCE
        ),
        "operational space": MotionTracking(operational_space, tolerance=TOLERANCE),
        "PD and gravity": MotionTracking(
            lambda _, reference: PDGravity(arm, reference, rate=RATE), tolerance=TOLERANCE
        ),
        "potential field": MotionTracking(potential_field, AWAY),
        "Slotine-Li": MotionTracking(partial(slotine_li, rate=RATE), tolerance=TOLERANCE),
        "sliding mode": MotionTracking(partial(sliding_mode, rate=RATE, uncertain=uncertain), tolerance=TOLERANCE),
        "time-varying LQR": partial(regulator_along, rate=RATE),
        "barrier filter": MotionTracking(filtered, AWAY),
    }
    for name in ("computed torque", "barrier filter"):
        baselines[f"{name} with observer"] = Observed(baselines[name], RATE / 2.0)
    return with_disturbances(
        clean,
        partial(program_control, program=program),
        force=BandNoise(0.5, (0.2, 3.0)),
        on=HAND,
        errors={"q": 1e-3, "v": "derivative", "band": (1.0, 10.0)},
        randomization=RANDOMIZATION,
        baselines=baselines,
    )
