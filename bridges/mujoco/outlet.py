"""Where a law's output goes in MuJoCo's data: controls of motors, or generalized forces."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError, BridgeWarning, NotFiniteError, caller_level
from ...symbolic.kernel import Kernel
from .actuators import Motors, motors, refuse_servos
from .flags import disabled

if TYPE_CHECKING:
    from mujoco import MjData

    from .joints import Joints

Array = NDArray[np.float64]
Apply = Literal["auto", "ctrl", "qfrc_applied"]
Force = Callable[[float, Array, Array, Array], Array]
LARGEST = 1e10
"""Controls beyond this MuJoCo takes for an error, and sets to zero."""


@dataclass(eq=False)
class Outlet:
    """Writes outputs.

    Attributes:
        joints: of the robot in the model.
        force: (t, q, v, output) → generalized force: ours, shape (nv,), for motors; theirs, shape (nv',), without.
        drives: motors that give it; None if it is written as it is.
        gains: controls of a unit of each input, shape (motors, nu), where they are constant.
    """

    joints: Joints
    force: Force
    drives: Motors | None
    gains: Array | None
    _warned: bool = False

    def __post_init__(self) -> None:
        """Look whether anything can be clipped."""
        self._own = np.flatnonzero(self.joints.own)
        ranges = np.zeros((0, 2)) if self.drives is None else self.drives.ranges
        self._bounded = bool(np.isfinite(ranges).any())

    def write(self, data: MjData, q: Array, v: Array, output: Array) -> None:
        """Write an output.

        Args:
            data: MuJoCo's.
            q: our coordinates, shape (nq,).
            v: our velocities, shape (nv,).
            output: of the law.
        """
        drives = self.drives
        if drives is None:
            data.qfrc_applied[self._own] = self.force(data.time, q, v, output)[self._own]
            return
        if self.gains is not None:
            controls = self.gains @ output
        else:
            controls = drives.controls_for(self.force(data.time, q, v, output))
        if not np.vdot(controls, controls) < LARGEST**2:
            raise NotFiniteError(
                f"at t = {data.time:g} the controls are {controls.tolist()}, which MuJoCo takes for an "
                "error and sets to zero: the motion has diverged; take a smaller timestep or slower gains"
            )
        if self._bounded and not self._warned:
            self._warn(data.time, controls)
        data.ctrl[drives.controls] = controls

    def clear(self, data: MjData) -> None:
        """No force.

        Args:
            data: MuJoCo's.
        """
        if self.drives is None:
            data.qfrc_applied[self._own] = 0.0
        else:
            data.ctrl[self.drives.controls] = 0.0

    def _warn(self, t: float, controls: Array) -> None:
        assert self.drives is not None
        ranges = self.drives.ranges
        over = np.flatnonzero((controls < ranges[:, 0]) | (controls > ranges[:, 1]))
        if over.size:
            self._warned = True
            k = int(over[0])
            low, high = ranges[k]
            warnings.warn(
                f"at t = {t:g} s the law asks motor {self.drives.names[k]!r} for {controls[k]:.6g}, and MuJoCo clips "
                f"it to [{low:g}, {high:g}]: what acts is not what the law says. Use a bounded realization with these "
                "limits, or a slower motion. Told once",
                BridgeWarning,
                stacklevel=caller_level(),
            )


def outlet(robot: Robot, joints: Joints, applies_force: bool, p: Array, apply: Apply) -> Outlet:
    """What writes the outputs of a law.

    Args:
        robot: whose inputs or forces they are.
        joints: of the robot in the model.
        applies_force: whether outputs are generalized forces R, not inputs u.
        p: the robot's parameters, shape (np,).
        apply: ``"ctrl"`` through motors, ``"qfrc_applied"`` as forces; ``"auto"`` as inputs through motors.

    Raises:
        BridgeError: for another word, motors that are missing, drives that are no motors, or actuation turned off.
    """
    if apply not in ("auto", "ctrl", "qfrc_applied"):
        raise BridgeError(f"apply must be 'auto', 'ctrl' or 'qfrc_applied', got {apply!r}")
    if disabled(joints.model, "ACTUATION"):
        raise BridgeError(
            "the MuJoCo model has actuation disabled (option flag actuation): its control callback is never called, so "
            "no law can act; enable it"
        )
    c = robot.coordinates
    B = ca.SX(ca.DM.eye(c.nv)) if applies_force else robot.input_matrix
    constant = not ca.depends_on(B, ca.vertcat(c.t, c.q, c.v)) if B.numel() else True
    columns = robot.evaluate(B, p=p).reshape(B.shape) if constant and B.numel() else np.zeros((c.nv, 0))
    force = _constant(columns) if constant else _varying(robot, B, p)
    if apply == "ctrl" or (apply == "auto" and not applies_force):
        names = [c.v[i].name() for i in range(c.nv)] if applies_force else robot.input_names
        drives = motors(joints, columns, names)
        return Outlet(joints, force, drives, drives.matrix @ columns if constant else None)
    refuse_servos(joints)
    if constant and not joints.floats:
        zero, states = np.zeros(c.nq), joints.states
        turned = np.array([states.force_there(zero, column) for column in columns.T]).reshape(-1, states.nv).T
        return Outlet(joints, _constant(turned), None, None)
    return Outlet(joints, lambda t, q, v, output: joints.states.force_there(q, force(t, q, v, output)), None, None)


def _constant(columns: Array) -> Force:
    """The force of outputs each of which acts in the same way everywhere."""
    return lambda t, q, v, output: np.asarray(columns @ output)


def _varying(robot: Robot, B: ca.SX, p: Array) -> Force:
    """Our force, where it depends on the state."""
    c, u = robot.coordinates, ca.SX.sym("output", B.size2())
    kernel = Kernel("applied", {"t": c.t, "q": c.q, "v": c.v, "u": u, "p": robot.p}, {"force": B @ u}, compiled=False)
    return lambda t, q, v, output: np.atleast_1d(kernel(t, q, v, output, p)[0])
