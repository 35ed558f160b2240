"""Simulation of a closed loop by PyBullet."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...simulation.trajectory import SimulationInterrupted, Trajectory
from ...symbolic.validation import not_negative, step_count, vector, whole
from ..common.recorder import Recorder
from .body import BulletBody
from .client import require_pybullet, world
from .export import spawn
from .match import match
from .torque_control import TorqueControl

Values = Mapping[str, float] | ArrayLike | None

MOST_SUBSTEPS = 10_000


def simulate(
    robot: Robot,
    controller: Controller | None,
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    *,
    step: float,
    p: Values = None,
    controller_p: Values = None,
    t0: float = 0.0,
    substeps: int = 1,
    damping: float = 0.0,
) -> Trajectory:
    """Simulate an exported robot in a separate world, without limits, motors and contacts.

    PyBullet integrates by v ← v + h a(q, v), q ← q ⊕ h v: the method is of first order, so the difference from a
    simulation of Erugin halves with the step. The law is evaluated at every step of PyBullet.

    Args:
        robot: the plant.
        controller: controller of the plant, or None.
        q0: initial coordinates, shape (nq,).
        v0: initial velocities, shape (nv,).
        duration: duration [s].
        step: interval of samples [s].
        p: the plant's parameters: nominal, overridden by name, or the whole vector.
        controller_p: the controller's parameters, likewise.
        t0: time of the start [s].
        substeps: number of PyBullet's steps in one interval.
        damping: damping of links [1/s]; PyBullet's default is 0.04, which the robot does not have.

    Returns:
        The trajectory at the samples, with the controller's output.

    Raises:
        BridgeError: if URDF or PyBullet cannot represent the robot.
        ShapeError, ModelError, ParameterError: for invalid input.
        SimulationError: if the law fails or the motion diverges; the trajectory so far is attached.
        SimulationInterrupted: on Ctrl-C, likewise.
        MissingPackageError: if PyBullet is not installed.
    """
    pybullet = require_pybullet()
    parts = whole("substeps", substeps, most=MOST_SUBSTEPS, advice="use a smaller step=")
    damping = not_negative("damping", damping)
    steps = step_count(duration, step)
    h, c = duration / steps, robot.coordinates
    recorder = Recorder(robot, controller, step=h, samples=steps + 1, p=p, controller_p=controller_p, t0=t0)
    start = vector("q0", q0, c.nq), vector("v0", v0, c.nv)
    with world() as client:
        number = spawn(robot, client=client, p=recorder.p)
        match(robot, number, client=client, p=recorder.p).check()
        body = BulletBody.of(robot, number, client=client)
        body.disable_defaults(damping)
        body.write(*body.states.to_model(*start))
        pybullet.setTimeStep(h / parts, client)
        law = None
        if controller is not None:
            law = TorqueControl(controller, robot, body, p=recorder.p, controller_p=recorder.controller_p, t0=t0)
        try:
            state, output = start, np.zeros(0)
            for k in range(steps + 1):
                try:
                    for i in range(parts if k else 0):
                        if law is not None:
                            law.t = recorder.time(k - 1) + i * h / parts
                            if i:
                                state = law.state
                                output = law.controller.control(law.t, *state, law.p)
                            law.apply(*state, output)
                        pybullet.stepSimulation(client)
                    state = body.states.from_model(*body.read())
                except Exception as error:
                    raise recorder.fail(error) from error
                output = recorder.tick(*state)
        except KeyboardInterrupt as interrupt:
            raise SimulationInterrupted(recorder.trajectory("interrupted")) from interrupt
    return recorder.trajectory()
