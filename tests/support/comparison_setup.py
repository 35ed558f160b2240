"""A small motion on which controllers are compared in tests: two links swing to and fro past a disc."""

from __future__ import annotations

import casadi as ca

from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Program, ProgramController, Reference
from erugin.controllers.baselines import ComputedTorque, PDGravity
from erugin.robots import Link, Robot, planar_manipulator
from erugin.scenarios import Distribution, Scaled, Setup, Shifted, Uniform
from erugin.scenarios.setup import MakeController

DISC = (0.2, 0.9)
VARIED: dict[str, Distribution] = {
    "plant.m1": Scaled(Uniform(0.8, 1.2)),
    "plant.m2": Scaled(Uniform(0.8, 1.2)),
    "q0.q1": Shifted(Uniform(-0.1, 0.1)),
}


def swinging_arm() -> Robot:
    return planar_manipulator([Link(0.6, 2.5, 0.3, 0.1), Link(0.5, 1.8, 0.25, 0.05)])


def wanted(robot: Robot) -> ca.SX:
    return ca.vertcat(0.3 + 0.4 * ca.sin(2 * robot.t), 0.8 + 0.3 * ca.cos(2 * robot.t))


def program_control(robot: Robot, realization: str = "actuated") -> ProgramController:
    rows = holonomic(robot.q - wanted(robot), perturbation=Baumgarte(8.0), name="swing")
    return ProgramController(Program(robot, [rows]), realization="ideal" if realization == "ideal" else "actuated")


def computed_torque(setup: Setup) -> ComputedTorque:
    return ComputedTorque(setup.robot, Reference.of(setup.robot, wanted(setup.robot)), rate=8.0)


def pd_gravity(setup: Setup) -> PDGravity:
    return PDGravity(setup.robot, Reference.of(setup.robot, wanted(setup.robot)), rate=8.0)


BASELINES: dict[str, MakeController] = {"computed torque": computed_torque, "pd": pd_gravity}


def swing(duration: float = 1.0) -> Setup:
    robot = swinging_arm()
    tip, reference = robot.points["tip"], wanted(robot)
    return Setup(
        robot,
        program_control(robot),
        [0.3, 1.1],
        [0.8, 0.0],
        duration,
        2e-3,
        error=ca.norm_2(robot.q - reference),
        clearance=ca.norm_2(tip - ca.DM(DISC)) - 0.1,
        settled=0.02,
        randomization=VARIED,
        baselines=BASELINES,
    )
