"""Five-bar linkage: its tip follows a circle as a function of time, driven at two of the four bars."""

from functools import partial

import casadi as ca
import numpy as np

from erugin.constraints import Baumgarte, tracking
from erugin.controllers import Controller, Program, ProgramController, Reference
from erugin.controllers.baselines import ComputedTorque, MpcObjective, OperationalSpace, PDGravity
from erugin.robots import Link, assemble
from erugin.robots.examples import five_bar
from erugin.robots.signals import BandNoise
from erugin.scenarios import Distribution
from erugin.scenarios.motion_tracking import MotionTracking
from erugin.scenarios.scenario import scenario
from erugin.scenarios.setup import MakeController, Setup

from .disturbances import Observed, spread, with_disturbances
from .laws import predictive, program_control, regulator_along

RATE = 10.0
CRANKS = ("left_crank", "right_crank")
RODS = Link(0.3, 0.5, 0.15, 0.004), Link(0.4, 0.4, 0.2, 0.006)
RANDOMIZATION: dict[str, Distribution] = dict(
    spread([f"{bar}.{quantity}" for bar in (*CRANKS, "left_rod", "right_rod") for quantity in ("mass", "inertia")], 0.1)
)


@scenario("five-bar")
def five_bar_linkage(*, duration: float = 4.2, step: float = 4e-3) -> Setup:
    """The tip of a parallel robot follows a circle, starting 1 cm beside it.

    Masses and inertias are 10 % wrong; a random force of 0.5 N acts on the tip; angles are measured with errors of
    1 mrad, so that the laws see loops that do not close.

    Args:
        duration: time of the motion, two revolutions by default [s].
        step: of the integration and of the laws [s].
    """
    robot = five_bar(*RODS, *RODS, ground=(0.2, 0.0))
    tip = robot.points["tip"]
    q0 = assemble(robot, [2.2, 0.9, 0.9, 2.2]).q
    at = robot.evaluate(tip, q=q0) + np.array([0.0, 0.01])
    target = ca.vertcat(ca.cos(3 * robot.t) - 1.0, ca.sin(3 * robot.t)) * 0.06 + ca.SX(ca.DM(at))
    program = Program(robot, tracking(tip, target, perturbation=Baumgarte(RATE), name="tip"))
    clean = Setup(
        *(robot, ProgramController(program, realization="actuated"), q0, np.zeros(4), duration, step),
        error=ca.norm_2(tip - target),
        settled=2e-3,
    )

    def computed_torque(setup: Setup, reference: Reference) -> Controller:
        return ComputedTorque(setup.robot, reference, rate=RATE, coordinates=list(CRANKS))

    baselines: dict[str, MakeController | Observed] = {
        "program control without observer": partial(program_control, program=program, robust=None),
        "computed torque": MotionTracking(computed_torque),
        "computed torque with observer": Observed(MotionTracking(computed_torque), RATE / 2.0),
        "PD and gravity": MotionTracking(lambda setup, reference: PDGravity(setup.robot, reference, rate=RATE)),
        "operational space": lambda _: OperationalSpace(robot, tip, target, rate=RATE),
        "time-varying LQR": partial(regulator_along, rate=RATE),
        "predictive": lambda _: predictive(MpcObjective.reach(robot, tip, target), RATE),
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
