"""Two-wheel robot: Bernoulli's lemniscate as a function of time, starting beside it."""

from functools import partial

import casadi as ca

from erugin.constraints import Baumgarte, tracking
from erugin.controllers import Program, ProgramController
from erugin.controllers.baselines import (
    DynamicFeedbackLinearization,
    Kanayama,
    MpcObjective,
    OperationalSpace,
    PlanarMotion,
    PurePursuit,
)
from erugin.robots.examples import turtlebot3_burger
from erugin.robots.signals import BandNoise
from erugin.scenarios import Distribution, Shifted, Uniform
from erugin.scenarios.scenario import scenario
from erugin.scenarios.setup import MakeController, Setup

from .disturbances import spread, with_disturbances
from .laws import predictive, regulator_along

RATE, SPEED = 1.5, 0.25
STATES = ("x", "y", "theta", "phi_r", "speed", "turning_rate")
"""States of the regulator; rolling determines the other wheel's angle from these."""
RANDOMIZATION: dict[str, Distribution] = {
    "q0.x": Shifted(Uniform(-0.2, 0.2)),
    "q0.y": Shifted(Uniform(-0.2, 0.2)),
    "q0.theta": Shifted(Uniform(-0.3, 0.3)),
    **spread(["platform_mass", "platform_inertia", "wheel_mass"], 0.2),
    **spread(["wheel_radius", "half_track"], 0.02),
}


@scenario("two-wheel-robot")
def two_wheel_robot(*, duration: float = 21.0, step: float = 2e-2) -> Setup:
    """TurtleBot3 follows a lemniscate as a function of time by the torques of its wheels.

    The start is up to 20 cm and 0.3 rad off; masses are 20 % and wheels 2 % wrong; random forces act along and about
    the axle; positions are measured with errors of 2 mm, the heading of 5 mrad, speeds of 5 mm/s and 20 mrad/s.

    Args:
        duration: time of the motion, one revolution by default [s].
        step: of the integration and of the laws [s].
    """
    robot = turtlebot3_burger(form="reduced")
    tau = 0.3 * robot.t
    place = ca.vertcat(ca.cos(tau), ca.sin(tau) * ca.cos(tau)) / (1 + ca.sin(tau) ** 2)
    motion = PlanarMotion(robot, place)
    nose = robot.points["nose"]
    target = place + robot.parameters["half_track"] * ca.vertcat(ca.cos(motion.heading), ca.sin(motion.heading))
    program = Program(robot, tracking(nose, target, perturbation=Baumgarte(RATE), name="nose"))
    q0, v0 = motion.start()
    clean = Setup(
        *(robot, ProgramController(program, realization="actuated"), q0, v0, duration, step),
        error=ca.norm_2(robot.points["axle"] - place),
        settled=0.03,
    )
    baselines: dict[str, MakeController] = {
        "Kanayama": lambda _: Kanayama.critically_damped(motion, rate=RATE, speed=SPEED),
        "dynamic linearization": lambda _: DynamicFeedbackLinearization(motion, rate=RATE),
        "pure pursuit": lambda _: PurePursuit.of_rate(motion, rate=RATE, speed=SPEED),
        "operational space": lambda _: OperationalSpace(robot, nose, target, rate=RATE),
        "time-varying LQR": partial(regulator_along, rate=RATE, independent=STATES, free=["phi_r"]),
        "predictive": lambda _: predictive(MpcObjective.reach(robot, nose, target), RATE),
    }
    return with_disturbances(
        clean,
        force=BandNoise((0.05, 0.002), (0.2, 2.0)),
        on=None,
        errors={"q": (2e-3, 2e-3, 5e-3, 0.0, 0.0), "v": (5e-3, 2e-2), "band": (1.0, 5.0)},
        randomization=RANDOMIZATION,
        baselines=baselines,
    )
