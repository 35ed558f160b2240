"""A law here in a MuJoCo model of its robot."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from ...controllers.controller import Controller
from ...symbolic.errors import BridgeError, BridgeWarning, ModelError
from ..law_model import model_values
from .driver import Drive
from .joints import Joints
from .match import match
from .obstacles import Obstacle
from .outlet import Apply
from .versions import WRONG_HESSIAN, loaded, wrong_newton

if TYPE_CHECKING:
    from mujoco import MjModel

TOLERANCE = 1e-6
"""Relative difference of M and h that files with six digits may have."""


def drive(
    controller: Controller,
    model: MjModel,
    *,
    names: Mapping[str, str] | None = None,
    p: Mapping[str, float] | ArrayLike | None = None,
    obstacles: Mapping[str, str | Obstacle] | None = None,
    apply: Apply = "auto",
    tolerance: float | None = TOLERANCE,
) -> Drive:
    """A law in a MuJoCo model of its robot, joints matched by name.

    Args:
        controller: the law.
        model: MuJoCo's.
        names: name here → name there, for joints whose names differ.
        p: the law's parameters, its robot's among them: nominal, overridden by name, or the whole vector.
        obstacles: name of an obstacle in the law, such as ``"disc"`` for ``disc.x`` → name of a body, or an
            :class:`Obstacle`: its place and velocity become the law's parameters whenever the law is asked.
        apply: ``"ctrl"``: through the model's motors, gears taken into account; ``"qfrc_applied"``: as generalized
            forces; ``"auto"``: inputs through motors, ideal forces R as they are.
        tolerance: relative difference of M and h that is let pass; None to drive a model that is not the law's on
            purpose.

    Returns:
        What MuJoCo can call, and what takes steps.

    Raises:
        BridgeError: if joints do not match by name and kind, the model is not the same robot, motors are missing or
            are no motors, or an obstacle is not there.
        MissingPackageError: without MuJoCo.

    Warns:
        BridgeWarning: of a model whose constraints MuJoCo 4.0.0 solves wrongly.
    """
    mujoco = loaded()
    if not isinstance(controller, Controller):
        raise ModelError(
            f"a Controller is needed, got {type(controller).__name__}; for a program that is ProgramController(program)"
        )
    if not isinstance(model, mujoco.MjModel):
        raise BridgeError(
            f"a mujoco.MjModel is needed, got {type(model).__name__}; MjModel.from_xml_path(…) makes one, or the "
            "compile() of an MjSpec"
        )
    robot, law_p = controller.robot, controller.parameters.values(p)
    own = model_values(controller, law_p)
    if tolerance is not None:
        match(robot, model, names=names, p=own, tolerance=tolerance).require(tolerance)
    joints = Joints.of(robot, model, names)
    if wrong_newton(model):
        warnings.warn(
            f"MuJoCo {WRONG_HESSIAN} solves the constraints of this model wrongly: its sparse Newton solver has wrong "
            "factors, which 4.0.1 mends. Set model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE, or upgrade MuJoCo",
            BridgeWarning,
            stacklevel=2,
        )
    return Drive(robot, controller, joints, p=own, law_p=law_p, obstacles=obstacles, apply=apply)
