"""Plant and controller become a closed loop, as one expression where they can."""

from __future__ import annotations

import casadi as ca

from ..controllers.controller import Controller
from ..robots.augmentation import require_regular
from ..robots.robot import Robot
from ..symbolic.errors import ModelError
from .closed_loop import ClosedLoop, SymbolicLoop
from .numeric_loop import NumericLoop


def close_loop(robot: Robot, controller: Controller | None, stop: ca.SX | None, *, judged: bool = True) -> ClosedLoop:
    """Join plant and controller, as one expression if the controller has a symbolic law.

    Args:
        robot: the plant.
        controller: what drives it, or None.
        stop: scalar expression that is recorded; none if None.
        judged: whether the pivots of natural rows are recorded.

    Raises:
        ModelError: if the controller's model has other sizes than the plant, or the plant's mass matrix is singular in
            every position.
    """
    require_regular(robot)
    if controller is not None:
        if not isinstance(controller, Controller):
            raise ModelError(
                f"a Controller is needed, got {controller!r}; for a program that is ProgramController(program)"
            )
        c, model = robot.coordinates, controller.robot.coordinates
        plant, own = (c.nq, c.nv, robot.u.numel()), (model.nq, model.nv, controller.robot.u.numel())
        if plant != own:
            raise ModelError(
                f"{robot.name} has (nq, nv, nu) = {plant}, but the controller is made for {controller.robot.name} "
                f"with {own}"
            )
        if controller.law is None:
            return NumericLoop(robot, controller, stop, judged=judged)
    return SymbolicLoop(robot, controller, stop, judged=judged)
