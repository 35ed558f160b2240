"""Two-link arm: along a path, around a disc that drifts across it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

import erugin.scenarios.catalogue.two_link_arm as task
from erugin.constraints import EruginField, FirstOrder, follow
from erugin.controllers import Controller, Program, ProgramController, Reference
from erugin.controllers.baselines import BarrierFunction, CbfFilter, ComputedTorque
from erugin.robots.signals import BandNoise
from erugin.scenarios import Distribution, Normal, Shifted, Uniform
from erugin.scenarios.catalogue.two_link_arm import AWAY, MARGIN, RATE, SPEED
from erugin.scenarios.motion_tracking import MotionTracking
from erugin.scenarios.scenario import scenario
from erugin.scenarios.setup import MakeController, Setup

from .disturbances import Hardware, Observed, spread, with_disturbances
from .laws import predictive, program_control, program_variants, regulator_along, sliding_mode, slotine_li

SHARE = 0.1
"""Largest relative difference between the mass of a link and its mean."""
FILTER_SIDE = -1
"""Side on which the barrier filter passes the disc: the one with the smaller median error."""
RANDOMIZATION: dict[str, Distribution] = {
    "disc.x": Shifted(Uniform(-0.03, 0.03)),
    "disc.y": Shifted(Uniform(-0.03, 0.03)),
    "disc.vx": Shifted(Uniform(-0.02, 0.02)),
    "disc.vy": Shifted(Uniform(-0.02, 0.02)),
    "q0.q1": Shifted(Normal(0.0, 0.01)),
    "q0.q2": Shifted(Normal(0.0, 0.01)),
    **spread(["m1"], SHARE),
}


@scenario("two-link-arm")
def two_link_arm(
    *,
    duration: float = 12.0,
    step: float = 5e-3,
    payload: float = 0.0,
    period: float = 0.0,
    delay: float = 0.0,
    limits: Literal["none", "45, 14", "31, 9"] = "none",
) -> Setup:
    """The tip follows a path, and a disc drifts across it.

    The disc's position and velocity, the start and the masses vary; a random force of 0.5 N acts on the tip, and the
    angles are measured with errors of 1 mrad. Program control and the obstacle laws see the disc; the others follow a
    motion of program control around the nominal disc: that of a detour, as published before there was a hug, or, where
    their names say so, that of the hug.

    Args:
        duration: longest time; a run ends when the tip passes the end of the path [s].
        step: of the integration and of the laws, at most the period [s].
        payload: share by which the outer mass is larger than in the models, in the mean.
        period: time between samples of the laws; 0 for laws that are evaluated at all times [s].
        delay: time from a sample to its torques [s].
        limits: largest torques of the two drives [N m].
    """
    step = min(step, period or step)
    clean = task.two_link_arm_moving_obstacle(duration=duration, step=step)
    assert isinstance(clean.controller, ProgramController)
    program = clean.controller.program
    torques = () if limits == "none" else tuple(map(float, limits.split(",")))
    hardware = Hardware(period, delay, torques)
    own = partial(program_control, program=program)
    # Without hardware in between both are the same law.
    observed = Observed(partial(own, robust=None), RATE / 2.0)

    published = detour(clean)

    def filtered(setup: Setup, reference: Reference) -> Controller:
        # The disc of that module: its symbols are those of the setup in every process; a copy would have others.
        disc, tip = task.DISC, setup.robot.points["tip"]
        barrier = BarrierFunction.outside(setup.robot, tip, disc, margin=MARGIN, swirl=0.5, side=FILTER_SIDE)
        return CbfFilter(ComputedTorque(setup.robot, reference, rate=RATE), barrier, rate=RATE)

    tracking: dict[str, MakeController] = {
        **clean.baselines,
        "Slotine-Li": MotionTracking(partial(slotine_li, rate=RATE)),
        "sliding mode": MotionTracking(
            partial(sliding_mode, rate=RATE, uncertain={"m1": 2.5 * SHARE, "m2": 1.8 * SHARE})
        ),
        "time-varying LQR": partial(regulator_along, rate=RATE),
        "barrier filter": MotionTracking(filtered, AWAY),
        "predictive": MotionTracking(lambda _, reference: predictive(reference, RATE)),
    }
    baselines: dict[str, MakeController | Observed] = {
        **program_variants(program),
        **{name: partial(along, plan=published, make=make) for name, make in tracking.items()},
        "computed torque along the hug": clean.baselines["computed torque"],
        "computed torque along the hug with observer": Observed(clean.baselines["computed torque"], RATE / 2.0),
        "barrier filter with observer": Observed(tracking["barrier filter"], RATE / 2.0),
    }
    return with_disturbances(
        clean,
        own if hardware == Hardware() else observed,
        force=BandNoise(0.5, (0.2, 3.0)),
        on="tip",
        errors={"q": 1e-3, "v": "derivative", "band": (1.0, 10.0)},
        randomization={**RANDOMIZATION, **spread(["m2"], SHARE, mean=1.0 + payload)},
        baselines=baselines,
        hardware=hardware,
    )


def detour(setup: Setup) -> Setup:
    """Return the setup whose own motion leads the path round the disc: the plan of the laws that follow a motion.

    Args:
        setup: the undisturbed setup.
    """
    field = EruginField(task.PATH, [task.DISC], speed=SPEED, margin=MARGIN, avoidance="detour", rounding=0.03)
    program = Program(setup.robot, follow(field, setup.robot.points["tip"], perturbation=FirstOrder(RATE)))
    return replace(setup, controller=ProgramController(program, realization="actuated"))


def along(_: Setup, plan: Setup, make: MakeController) -> Controller:
    """Build a law along the motion of another setup with the same robot.

    Args:
        plan: that setup.
        make: function that builds the law.
    """
    return make(plan)
