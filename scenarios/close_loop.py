"""Plant and controller become a closed loop, as one expression where they can."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from ..controllers.controller import Controller
from ..robots.augmentation import require_regular
from ..robots.robot import Robot
from ..symbolic.errors import ModelError
from ..symbolic.parameters import NO_PARAMETERS
from .closed_loop import ClosedLoop, SymbolicLoop
from .integrators.integrator import Integrator
from .metrics import Metric, integrands
from .numeric_loop import NumericLoop


def close_loop(
    robot: Robot,
    controller: Controller | None,
    stop: ca.SX | None,
    *,
    judged: bool = True,
    metrics: Mapping[str, Metric] | None = None,
) -> ClosedLoop:
    """Join plant and controller, as one expression if the controller has a symbolic law.

    Args:
        robot: the plant.
        controller: what drives it, or None.
        stop: scalar expression that is recorded; none if None.
        judged: whether the pivots of natural rows are recorded.
        metrics: whose expressions are recorded, by name; none if None.

    Raises:
        ModelError: if the controller's model has other sizes than the plant, or the plant's mass matrix is singular in
            every position, or a metric is none.
    """
    require_regular(robot)
    if controller is not None:
        require_fit(robot, controller)
    told = integrands(robot, controller, metrics or {})
    if controller is not None and controller.law is None:
        return NumericLoop(robot, controller, stop, judged=judged, metrics=told)
    return SymbolicLoop(robot, controller, stop, judged=judged, metrics=told)


def require_parts(
    robot: Robot, controller: Controller | None, integrator: Integrator | None, stop: ca.SX | None
) -> None:
    """Raise ModelError for what no loop can be made of.

    Args:
        robot: the plant.
        controller: what drives it, or None.
        integrator: takes the steps; None for the usual one.
        stop: ends a run; must be a scalar expression in time, coordinates, velocities and parameters, or None.
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"the plant must be a Robot, got {robot!r}")
    if controller is not None:
        _require_controller(controller)
    if integrator is not None and not isinstance(integrator, Integrator):
        raise ModelError(f"integrator must be an Integrator, such as RK4() or Reduced(), got {integrator!r}")
    if stop is None:
        return
    if not isinstance(stop, ca.SX) or stop.shape != (1, 1):
        told = f"shape {stop.shape}" if isinstance(stop, ca.SX) else repr(stop)
        raise ModelError(f"stop must be a scalar expression, got {told}")
    robot.require_own_symbols("stop", stop, controller.parameters if controller else NO_PARAMETERS)
    if ca.depends_on(stop, ca.vertcat(robot.u, robot.coordinates.a)):
        raise ModelError("stop may use time, coordinates, velocities and parameters, not inputs or accelerations")


def require_fit(robot: Robot, controller: Controller) -> None:
    """Raise ModelError for a controller whose model has other sizes than the plant, or something that is none.

    Args:
        robot: the plant.
        controller: what drives it.
    """
    _require_controller(controller)
    c, model = robot.coordinates, controller.robot.coordinates
    plant, own = (c.nq, c.nv, robot.u.numel()), (model.nq, model.nv, controller.robot.u.numel())
    if plant != own:
        raise ModelError(
            f"{robot.name} has (nq, nv, nu) = {plant}, but the controller is made for {controller.robot.name} "
            f"with {own}"
        )


def _require_controller(controller: Controller) -> None:
    if not isinstance(controller, Controller):
        raise ModelError(
            f"a Controller is needed, got {controller!r}; for a program that is ProgramController(program)"
        )
