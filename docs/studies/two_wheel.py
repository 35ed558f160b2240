"""Two-wheel robot: Bernoulli's lemniscate as a function of time, starting beside it."""

import math
from functools import partial

import casadi as ca

from erugin.constraints import Baumgarte, Perturbation, tracking
from erugin.controllers import Program, ProgramController
from erugin.controllers.baselines import (
    DynamicFeedbackLinearization,
    Kanayama,
    MpcObjective,
    OperationalSpace,
    PlanarMotion,
    PurePursuit,
)
from erugin.controllers.baselines.kanayama import INNER
from erugin.robots import Robot
from erugin.robots.examples import turtlebot3_burger
from erugin.robots.signals import BandNoise
from erugin.scenarios import Distribution, Shifted, Uniform
from erugin.scenarios.scenario import scenario
from erugin.scenarios.setup import MakeController, Setup

from .disturbances import spread, with_disturbances
from .laws import predictive, regulator_along

RATE, SPEED = 1.5, 0.25
NOSE = "program control of the nose"
EQUAL_EFFORT = "program control at Kanayama's effort"
STATES = ("x", "y", "theta", "phi_r", "speed", "turning_rate")
"""States of the regulator; rolling determines the other wheel's angle from these."""
ERRORS: dict[str, object] = {"q": (2e-3, 2e-3, 5e-3, 0.0, 0.0), "v": (5e-3, 2e-2), "band": (1.0, 5.0)}
"""Measurement noise, as arguments of ``MeasurementNoise``."""
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
    motion = lemniscate(robot)
    place, nose = motion.place, robot.points["nose"]
    target = place + robot.parameters["half_track"] * ca.vertcat(ca.cos(motion.heading), ca.sin(motion.heading))
    q0, v0 = motion.start()
    clean = Setup(
        *(robot, on_nose(motion, RATE), q0, v0, duration, step),
        error=ca.norm_2(robot.points["axle"] - place),
        settled=0.03,
    )
    baselines: dict[str, MakeController] = {
        NOSE: lambda _: on_nose(motion, RATE),
        "Kanayama": lambda _: Kanayama.critically_damped(motion, rate=RATE, speed=SPEED),
        "dynamic linearization": lambda _: DynamicFeedbackLinearization(motion, rate=RATE),
        "pure pursuit": lambda _: PurePursuit.of_rate(motion, rate=RATE, speed=SPEED),
        "operational space": lambda _: OperationalSpace(robot, nose, target, rate=RATE),
        "time-varying LQR": partial(regulator_along, rate=RATE, independent=STATES, free=["phi_r"]),
        "predictive": lambda _: predictive(MpcObjective.reach(robot, nose, target), RATE),
    }
    return with_disturbances(
        clean,
        lambda _: at_equal_effort(motion, RATE),
        force=BandNoise((0.05, 0.002), (0.2, 2.0)),
        on=None,
        errors=ERRORS,
        randomization=RANDOMIZATION,
        baselines=baselines,
    )


def lemniscate(robot: Robot) -> PlanarMotion:
    """Bernoulli's lemniscate as a function of time, 1 m from its middle to its ends, one revolution in 21 s.

    Args:
        robot: two-wheel robot.
    """
    tau = 0.3 * robot.t
    place = ca.vertcat(ca.cos(tau), ca.sin(tau) * ca.cos(tau)) / (1 + ca.sin(tau) ** 2)
    return PlanarMotion(robot, place)


def on_nose(motion: PlanarMotion, rate: float) -> ProgramController:
    """Program control of the robot's nose, half a track ahead of the axle, with both poles at −ω.

    Args:
        motion: motion to follow.
        rate: ω [1/s].
    """
    return of_point_ahead(motion, motion.robot.parameters["half_track"], Baumgarte(rate))


def at_equal_effort(motion: PlanarMotion, rate: float) -> ProgramController:
    """Program control of the point v/β ahead of the axle, ë + √2 β ė + β² e = 0, at the effort of Kanayama's law.

    To first order about a straight motion at the speed v, Kanayama's law *is* program control of the point v/ω ahead,
    with C = 6ω and K = 5ω² in ë + C ė + K e = 0; a point ℓ ahead adds the pole −v/ℓ across. From e(0) = 1, ė(0) = 0:

        ∫e² dt = (C² + K)/(2 C K),    ∫ë² dt = K²/(2 C).

    At Kanayama's ∫ë² = 25/12 ω³ the least ∫e², that of a linear-quadratic regulator, has C = √2 β and K = β² with
    β = 1.81 ω: 0.59/ω instead of 0.68/ω. The damping, which passes on the noise of speeds, is 2.6 ω instead of 6 ω.

    Args:
        motion: motion to follow.
        rate: ω [1/s].
    """
    effort = (INNER * rate**2) ** 2 / (2 * (INNER + 1) * rate)
    beta = (math.sqrt(8) * effort) ** (1 / 3)
    return of_point_ahead(motion, SPEED / beta, Baumgarte(beta / math.sqrt(2), beta))


def of_point_ahead(motion: PlanarMotion, ahead: float | ca.SX, equation: Perturbation) -> ProgramController:
    """Program control of a point ahead of the axle, whose target is as far ahead of the reference.

    Args:
        motion: motion to follow.
        ahead: distance from the axle [m].
        equation: perturbation equation of the point's two coordinates.
    """
    robot, heading = motion.robot, motion.robot.coordinates.q[2]
    point, target = (
        place + ahead * ca.vertcat(ca.cos(angle), ca.sin(angle))
        for place, angle in ((robot.points["axle"], heading), (motion.place, motion.heading))
    )
    program = Program(robot, tracking(point, target, perturbation=equation, name="nose"))
    return ProgramController(program, realization="actuated")
