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
    """A law on a body: :meth:`tick` asks it and applies what it says, :meth:`step` lets the world go on as well.

    Attributes:
        controller: the law.
        memory: what it remembers here, apart from all else that it drives.
        body: that it drives.
        t: time [s]; PyBullet has none, so that steps are counted here.
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
        """Join law and body; nothing is compared, and nothing in the world is changed.

        Args:
            controller: the law.
            robot: whose B turns inputs into forces.
            body: in a world.
            p: parameters of the robot.
            controller_p: parameters of the law.
            t0: time of the start [s].
        """
        self.controller, self.body, self.t = controller, body, finite("t0", t0)
        self.p, self.memory = controller.parameters.values(controller_p), ControllerMemory(controller)
        self._applied = generalized_force(robot, controller, robot.parameters.values(p))

    def observed(self, p: Values) -> None:
        """Set parameters of the law that the world tells, such as an obstacle's place.

        Args:
            p: nominal, overridden by name, or the whole vector.
        """
        self.p = self.controller.parameters.values(p)

    @property
    def state(self) -> tuple[Array, Array]:
        """Coordinates, shape (nq,), and velocities, shape (nv,), of the robot."""
        try:
            return self.body.states.from_model(*self.body.read())
        except require_pybullet().error as error:
            raise BridgeError(f"PyBullet's world {self.body.client} tells no state: {error}") from error

    def tick(self) -> Array:
        """Take in one sample, ask the law, and apply what it says during the world's next step.

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
            self.body.push(force)
        except require_pybullet().error as error:
            raise BridgeError(f"PyBullet's world {self.body.client} takes no forces: {error}") from error

    def step(self, count: int = 1) -> Array:
        """Tick and step the world, so many times; its output at the last tick.

        Args:
            count: how often, from once to ten million times.

        Raises:
            BridgeError: for less than one step.
            NotFiniteError: for a motion that has diverged.
        """
        if not 1 <= count <= MOST_STEPS:
            raise BridgeError(f"a world goes on by 1 to {MOST_STEPS:,} steps in one call, got {format_value(count)}")
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
    """Make a body ready to be driven by a law, which is then asked by ``step()``.

    Switches off the motors that PyBullet puts on every joint, its damping of links, and its greatest speed. What the
    law remembers of this body is apart: one controller drives as many bodies as one likes, and itself remembers nothing
    of them.

    Args:
        controller: the law.
        model: number of the body.
        client: number of the world.
        p: the law's parameters, its robot's among them: nominal, overridden by name, or the whole vector.
        names: joint here → joint there, for those that differ.
        t0: time of the start [s].
        damping: linear and angular damping of links that is set [1/s]; as it is if None.
        tolerance: by which M and h of the body may differ from the model's, relative; None for a body that is meant to
            be another robot. PyBullet rounds inertias that are not in principal axes to about 1e-5.

    Raises:
        BridgeError: if joints do not match, or the body is another robot.
        MissingPackageError: if PyBullet is not installed.
    """
    if not isinstance(controller, Controller):
        raise BridgeError(f"a Controller drives a body, got {controller!r}; for a program that is ProgramController")
    own = model_parameters(controller, p)
    if tolerance is not None:
        match(controller.robot, model, client=client, p=own, names=names, tolerance=tolerance).check(tolerance)
    there = BulletBody.of(controller.robot, model, client=client, names=names)
    there.free(None if damping is None else finite("damping", damping))
    return TorqueControl(controller, controller.robot, there, p=own, controller_p=p, t0=t0)
