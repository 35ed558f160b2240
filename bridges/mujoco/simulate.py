"""Simulation of a closed loop by MuJoCo, on the model exported from the robot."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Literal

from numpy.typing import ArrayLike

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...simulation.integrators.rk4 import RK4
from ...simulation.start_checks import StepLimit, require_parts
from ...simulation.trajectory import Trajectory
from ...symbolic.errors import BridgeWarning, caller_stacklevel
from ...symbolic.validation import finite, positive, step_count, vector
from .control_callback import ControlCallback
from .export import export
from .joint_map import JointMap
from .versions import FLOATING_RK4, has_newton_bug, require_mujoco, use_dense_solver
from .warning_monitor import installed_callback

Values = Mapping[str, float] | ArrayLike | None


def simulate(
    robot: Robot,
    controller: Controller | None,
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    *,
    step: float,
    integrator: Literal["RK4", "Euler", "implicit", "implicitfast"] = "RK4",
    p: Values = None,
    controller_p: Values = None,
    t0: float = 0.0,
    limits: bool = False,
    solref: tuple[float, float] = (0.005, 1.0),
    solimp: tuple[float, float, float, float, float] = (0.9999, 0.9999, 0.001, 0.5, 2.0),
) -> Trajectory:
    """Simulate a plant under a controller in MuJoCo, on the model of :func:`export`.

    Arguments and record are those of :func:`erugin.scenarios.simulate`. The law acts at all stages of MuJoCo's step.

    Args:
        robot: the plant, with a tree of bodies.
        controller: controller of the plant, or None.
        q0: initial coordinates, shape (nq,).
        v0: initial velocities, shape (nv,).
        duration: duration [s].
        step: MuJoCo's timestep and interval of samples [s]; made a little smaller if it does not divide the duration.
        integrator: integrator of MuJoCo. Before MuJoCo 4.0 RK4 has an error of second order for floating bodies, which
            a BridgeWarning reports.
        p: the plant's parameters: nominal, overridden by name, or the whole vector.
        controller_p: the controller's parameters, likewise.
        t0: time of the start [s].
        limits: True to enforce the limits of joints and of motors, through which the law then acts; False to apply the
            law's forces directly, as in a simulation of Erugin.
        solref: time constant [s] and damping ratio of closed loops; their gaps are proportional to the square of the
            time constant, which in MuJoCo is at least two timesteps.
        solimp: impedance of closed loops, at most 0.9999.

    Returns:
        The trajectory at the samples.

    Raises:
        BridgeError: if MuJoCo cannot represent the robot.
        ShapeError, ModelError, ParameterError: for invalid input, such as a step too long for the law's gains.
        SimulationError: if the law or MuJoCo's motion fails; the trajectory so far is attached.
        SimulationInterrupted: on Ctrl-C, likewise.
    """
    mujoco = require_mujoco()
    require_parts(robot, controller, None, None)
    c = robot.coordinates
    q, v = vector("q0", q0, c.nq), vector("v0", v0, c.nv)
    span, interval, start = positive("duration", duration), positive("step", step), finite("t0", t0)
    h = span / step_count(span, interval)
    if controller is not None and controller.linearizations and integrator == "RK4":
        limit = StepLimit(controller.linearizations, controller.parameters, RK4())
        limit.check(controller.parameters.values(controller_p)[None], h)
    text = export(robot, p=p, q0=q, timestep=h, integrator=integrator, limits=limits, solref=solref, solimp=solimp)
    with installed_callback(mujoco, None):
        model = mujoco.MjModel.from_xml_string(text)
    # The text has fewer digits than the step.
    model.opt.timestep = h
    if has_newton_bug(model):
        use_dense_solver(model)
    joints = JointMap.of(robot, model)
    if integrator == "RK4" and joints.floats and FLOATING_RK4.missing:
        warnings.warn(
            f"{robot.name}: {FLOATING_RK4.missing}; the motion has an error of second order",
            BridgeWarning,
            stacklevel=caller_stacklevel(),
        )
    driver = ControlCallback(
        robot, controller, joints, p=p, controller_p=controller_p, apply="auto" if limits else "qfrc_applied"
    )
    data = mujoco.MjData(model)
    data.time = start
    driver.place(data, q, v)
    try:
        return driver.run(data, span)
    finally:
        # As after a simulation of Erugin, the law keeps the memory of the run.
        if controller is not None and driver.memory is not None:
            controller.memory = driver.memory.value
