"""Two-link arm: along a path, around a disc that drifts across it."""

from functools import partial

import erugin.scenarios.catalogue.two_link_arm as task
from erugin.controllers import Controller, Reference
from erugin.controllers.baselines import BarrierFunction, CbfFilter, ComputedTorque
from erugin.robots.signals import BandNoise
from erugin.scenarios import Distribution, Normal, Shifted, Uniform
from erugin.scenarios.catalogue.two_link_arm import AWAY, MARGIN, RATE
from erugin.scenarios.motion_tracking import MotionTracking
from erugin.scenarios.scenario import scenario
from erugin.scenarios.setup import MakeController, Setup

from .disturbances import spread, with_disturbances
from .laws import predictive, regulator_along, sliding_mode, slotine_li

SHARE = 0.1
"""Largest relative difference between the mass of a link and its value in the model."""
RANDOMIZATION: dict[str, Distribution] = {
    "disc.x": Shifted(Uniform(-0.03, 0.03)),
    "disc.y": Shifted(Uniform(-0.03, 0.03)),
    "disc.vx": Shifted(Uniform(-0.02, 0.02)),
    "disc.vy": Shifted(Uniform(-0.02, 0.02)),
    "q0.q1": Shifted(Normal(0.0, 0.01)),
    "q0.q2": Shifted(Normal(0.0, 0.01)),
    **spread(["m1", "m2"], SHARE),
}


@scenario("two-link-arm")
def two_link_arm(*, duration: float = 12.0, step: float = 5e-3) -> Setup:
    """The tip follows a path, and a disc drifts across it.

    The disc's position and velocity, the start and the masses vary; a random force of 0.5 N acts on the tip, and the
    angles are measured with errors of 1 mrad. Program control and the obstacle laws see the disc; the others follow the
    motion of program control around the nominal disc.

    Args:
        duration: longest time; a run ends when the tip passes the end of the path [s].
        step: of the integration and of the laws [s].
    """
    clean = task.two_link_arm_moving_obstacle(duration=duration, step=step)
    side = int(clean.controller_p["field.side"])

    def filtered(setup: Setup, reference: Reference) -> Controller:
        law = ComputedTorque(setup.robot, reference, rate=RATE)
        # The disc of that module: its symbols are those of the setup in every process; a copy would have others.
        disc, tip = task.DISC, setup.robot.points["tip"]
        return CbfFilter(
            law, BarrierFunction.outside(setup.robot, tip, disc, margin=MARGIN, swirl=0.5, side=side), rate=RATE
        )

    baselines: dict[str, MakeController] = {
        **clean.baselines,
        "Slotine-Li": MotionTracking(partial(slotine_li, rate=RATE)),
        "sliding mode": MotionTracking(
            partial(sliding_mode, rate=RATE, uncertain={"m1": 2.5 * SHARE, "m2": 1.8 * SHARE})
        ),
        "time-varying LQR": partial(regulator_along, rate=RATE),
        "barrier filter": MotionTracking(filtered, AWAY),
        "predictive": MotionTracking(lambda _, reference: predictive(reference, RATE)),
    }
    return with_disturbances(
        clean,
        force=BandNoise(0.5, (0.2, 3.0)),
        on="tip",
        errors={"q": 1e-3, "v": "derivative", "band": (1.0, 10.0)},
        randomization=RANDOMIZATION,
        baselines=baselines,
    )
