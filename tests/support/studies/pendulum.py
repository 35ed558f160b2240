"""A pendulum that swings along a sine: a study of its length and of two controllers."""

from __future__ import annotations

import casadi as ca

from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Link, planar_manipulator
from erugin.scenarios import Normal, Scaled, Setup, Shifted, Study, Uniform, scenario

ROBOT = planar_manipulator([Link.point_mass(1.0, 1.0)])
WAY = 0.3 * ca.sin(2.0 * ROBOT.t)


def law(rate: float) -> ProgramController:
    """Torque that holds the angle to the sine."""
    row = holonomic(ROBOT.q[0] - WAY, perturbation=Baumgarte(2.0 * rate, rate**2))
    return ProgramController(Program(ROBOT, row), realization="actuated")


def soft(setup: Setup) -> ProgramController:
    """The same with slower gains."""
    return law(3.0)


@scenario("pendulum")
def pendulum(*, duration: float = 0.05, step: float = 1e-3) -> Setup:
    """A pendulum swings along a sine.

    Its mass and its start are not those that the controller knows. Expect errors that decay at the rate of the gains.

    Args:
        duration: of the motion [s].
        step: of the integration [s].
    """
    return Setup(
        *(ROBOT, law(10.0), [0.0], [0.6], duration, step),
        error=ca.fabs(ROBOT.q[0] - WAY),
        randomization={"plant.m1": Scaled(Uniform(0.9, 1.1)), "q0.q1": Shifted(Normal(0.0, 0.02))},
        baselines={"soft": soft},
    )


study = Study(
    pendulum,
    {"duration": [0.04, 0.05], "plant.l1": [0.9, 1.0, 1.1]},
    ["own", "soft"],
    seeds=20,
    runs_per_task=3,
)
