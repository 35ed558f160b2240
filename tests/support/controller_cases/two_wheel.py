"""Laws for the two-wheel robot, and the reference model that any robot may track."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from erugin.constraints import FirstOrder
from erugin.controllers import Controller, ModelTracking, ReferenceModel
from erugin.controllers.baselines import DynamicFeedbackLinearization, Kanayama, PlanarMotion, PurePursuit

from .programs import braking_program
from .robots import RobotCase


def motion(case: RobotCase) -> PlanarMotion:
    """From the case's start, ever faster to the left."""
    t = case.robot.t
    return PlanarMotion(case.robot, ca.vertcat(0.3 * t + 0.05 * t**2, 0.02 * t**3))


def model_tracking(case: RobotCase) -> ModelTracking:
    """The reference model brakes at one rate, the control model follows its velocities."""
    reference = ReferenceModel(braking_program(case), case.q0, case.v0)
    outputs = ca.densify(case.robot.input_matrix.T @ case.robot.v)
    return ModelTracking(reference, outputs, perturbation=FirstOrder(10.0))


BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {
    DynamicFeedbackLinearization: lambda case: DynamicFeedbackLinearization(motion(case), rate=2.0),
    Kanayama: lambda case: Kanayama.critically_damped(motion(case), rate=2.0, speed=0.3),
    ModelTracking: model_tracking,
    PurePursuit: lambda case: PurePursuit.of_rate(motion(case), rate=2.0, speed=0.3),
}
