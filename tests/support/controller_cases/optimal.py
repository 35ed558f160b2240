"""LQR, time-varying LQR, energy shaping, MPC."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from erugin.controllers import Controller, NominalMotion, Reference, equilibrium, linearize
from erugin.controllers.baselines import BrysonWeights, EnergyShaping, Lqr, MpcObjective, NonlinearMPC, TimeVaryingLqr
from erugin.scenarios import simulate

from .programs import program_controller
from .robots import RobotCase


def weights(case: RobotCase) -> BrysonWeights:
    """Half a unit of place and five of speed, for forces that give the heaviest coordinate 10 units of acceleration."""
    c = case.robot.coordinates
    heaviest = float(np.diag(np.atleast_2d(case.robot.evaluate(case.robot.mass_matrix, q=case.q0))).max())
    speeds = linearize(case.robot, case.q0, case.v0).states
    rates = {name for name in speeds if name not in c.names}
    return BrysonWeights(dict.fromkeys(rates, 5.0), otherwise=0.5, effort=10.0 * heaviest)


def regulator(case: RobotCase) -> Lqr:
    """About the equilibrium next to the start."""
    Lqr.check_supported(case.robot)
    at = equilibrium(case.robot, case.q0)
    return Lqr(case.robot, at.q, at.u, weights=weights(case))


def along_a_program(case: RobotCase) -> TimeVaryingLqr:
    """Along a motion that brakes, from a start beside the case's."""
    TimeVaryingLqr.check_supported(case.robot)
    braked = simulate(case.robot, program_controller(case), case.q0, 0.9 * case.v0, 1.0, step=case.step)
    motion = NominalMotion(case.robot, *(values[::10] for values in (braked.t, braked.q, braked.v, braked.u)))
    rule = weights(case)
    n = len(linearize(case.robot, case.q0, 0.9 * case.v0).states)
    return TimeVaryingLqr(case.robot, motion, weights=rule, final=np.zeros((n, n)))


def energy_shaping(case: RobotCase) -> EnergyShaping:
    """Upright."""
    EnergyShaping.check_supported(case.robot)
    upright = Lqr(case.robot, [np.pi, 0.0], weights=BrysonWeights(), turns=case.robot.coordinates.names)
    return EnergyShaping(upright, level=0.5, push=6.0)


def predictive(case: RobotCase) -> NonlinearMPC:
    """Back to the start, in real-time iterations; on springs, with a horizon as short as their swings."""
    robot = case.robot
    start = ca.SX(ca.DM(case.q0))
    aim = (
        Reference.at_rest(robot, case.q0) if robot.coordinates.are_rates else MpcObjective.reach(robot, robot.q, start)
    )
    return NonlinearMPC(aim, rate=20.0 if case.name == "exoskeleton" else 4.0, steps=5, iterations=2)


BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {
    EnergyShaping: energy_shaping,
    Lqr: regulator,
    NonlinearMPC: predictive,
    TimeVaryingLqr: along_a_program,
}
