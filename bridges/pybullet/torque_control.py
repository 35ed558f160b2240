"""Torque control of a body in a PyBullet world by a controller."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...symbolic.errors import BridgeError
from ...symbolic.validation import finite, format_value, reals, vector
from ..common.controller_memory import ControllerMemory, model_parameters
from ..common.generalized_force import generalized_force
from ..common.model_comparison import TOLERANCE
from .body import BulletBody
from .client import require_pybullet
from .match import match

Array = NDArray[np.float64]
MOST_STEPS = 10_000_000
Values = Mapping[str, float] | ArrayLike | None


class TorqueControl:
    """A law that drives a body: :meth:`tick` evaluates and applies it, :meth:`step` also steps the world.

    Attributes:
        controller: the law.
        memory: memory of the law for this body.
        body: the driven body.
        t: time [s]; PyBullet has no time, so it is counted by steps.
        p: parameters of the law, shape (np,).
    """

    def __init__(
        self,
        controller: Controller,
        robot: Robot,
        body: BulletBody,
        *,
        p: Values = None,
        controller_p: Values = None,
        t0: float = 0.0,
    ) -> None:
        """Connect law and body; nothing is compared, and nothing in the world is changed.

        Args:
            controller: the law.
            robot: robot whose B converts inputs to forces.
            body: body in a world.
            p: parameters of the robot.
            controller_p: parameters of the law.
            t0: time of the start [s].
        """
        self.controller, self.body, self.t = controller, body, finite("t0", t0)
        self.p, self.memory = controller.parameters.values(controller_p), ControllerMemory(controller)
        self._applied = generalized_force(robot, controller, robot.parameters.values(p))

    def observed(self, p: Values) -> None:
        """Set parameters of the law that are observed in the world, such as an obstacle's position.

        Args:
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        self.p = self.controller.parameters.values(p)

    @property
    def state(self) -> tuple[Array, Array]:
        """Coordinates, shape (nq,), and velocities, shape (nv,), of the robot."""
        try:
            return self.body.states.from_model(*self.body.read())
        except require_pybullet().error as error:
            raise BridgeError(f"PyBullet cannot read the state in world {self.body.client}: {error}") from error

    def tick(self) -> Array:
        """Sample the state, evaluate the law, and apply its output during the world's next step.

        Returns:
            u, shape (nu,), or R, shape (nv,).
        """
        q, v = self.state
        with self.memory.in_use() as law:
            law.advance(self.t, q, v, self.p)
            output = law.control(self.t, q, v, self.p)
        self._apply(q, v, output)
        return output

    def apply(self, q: Array, v: Array, output: Array) -> None:
        """Apply an output of the law during the world's next step.

        Args:
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            output: u, shape (nu,), or R, shape (nv,).
        """
        c = self.controller.robot.coordinates
        self._apply(vector("q", q, c.nq), vector("v", v, c.nv), reals("output", output))

    def _apply(self, q: Array, v: Array, output: Array) -> None:
        force = self.body.states.force_to_model(q, self._applied(self.t, q, v, output))
        try:
            self.body.apply_force(force)
        except require_pybullet().error as error:
            raise BridgeError(f"PyBullet cannot apply forces in world {self.body.client}: {error}") from error

    def step(self, count: int = 1) -> Array:
        """Tick and step the world several times; return the output of the last tick.

        Args:
            count: number of steps, from 1 to ten million.

        Raises:
            BridgeError: if count is out of range.
            NotFiniteError: if the motion has diverged.
        """
        if not 1 <= count <= MOST_STEPS:
            raise BridgeError(f"count must be from 1 to {MOST_STEPS:,} steps, got {format_value(count)}")
        output = np.zeros(0)
        pybullet = require_pybullet()
        for _ in range(count):
            output = self.tick()
            pybullet.stepSimulation(self.body.client)
            self.t += pybullet.getPhysicsEngineParameters(self.body.client)["fixedTimeStep"]
        return output


def drive(
    controller: Controller,
    model: int,
    *,
    client: int = 0,
    p: Values = None,
    names: Mapping[str, str] | None = None,
    t0: float = 0.0,
    damping: float | None = 0.0,
    tolerance: float | None = TOLERANCE,
) -> TorqueControl:
    """Prepare a body to be driven by a law, which ``step()`` then evaluates.

    Switches off the motors that PyBullet puts on every joint, its damping of links, and its speed limit. The law has a
    separate memory for this body: one controller can drive any number of bodies, and its own memory is not changed.

    Args:
        controller: the law.
        model: number of the body.
        client: number of the world.
        p: the law's parameters, its robot's among them: nominal, overridden by name, or the whole vector.
        names: joint of the robot → joint of the body, for those that differ.
        t0: time of the start [s].
        damping: linear and angular damping of links to set [1/s]; unchanged if None.
        tolerance: relative tolerance of M and h of the body in the comparison with the law's robot; None for a body
            that is intentionally another robot. PyBullet rounds inertias not in principal axes to about 1e-5.

    Raises:
        BridgeError: if joints do not match, or the body is another robot.
        MissingPackageError: if PyBullet is not installed.
    """
    if not isinstance(controller, Controller):
        raise BridgeError(
            f"controller must be a Controller, got {controller!r}; of a program pass ProgramController(program)"
        )
    own = model_parameters(controller, p)
    if tolerance is not None:
        match(controller.robot, model, client=client, p=own, names=names, tolerance=tolerance).check(tolerance)
    body = BulletBody.of(controller.robot, model, client=client, names=names)
    body.disable_defaults(None if damping is None else finite("damping", damping))
    return TorqueControl(controller, controller.robot, body, p=own, controller_p=p, t0=t0)
