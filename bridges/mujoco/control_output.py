"""Application of a controller's output in MuJoCo: controls of motors, or generalized forces."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError, BridgeWarning, NotFiniteError, caller_stacklevel
from ...symbolic.kernel import Kernel
from ..common.passive_elements import random_configurations
from .compiled_model import actuator_is_enabled, is_disabled
from .versions import ActuatorChannels, actuator_count, field_entry, field_is_set, first_forces, moments, require_mujoco

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

    from .joint_map import JointMap


Array = NDArray[np.float64]
FIXED, NONE, JOINT, JOINT_IN_PARENT, TENDON = 0, 0, 0, 1, 3
"""MuJoCo's numbers: a gain that is fixed, no bias or dynamics, and drives that act on a joint or a tendon."""

TOLERANCE = 1e-9
PLACES = 3


@dataclass(frozen=True, eq=False)
class Motors:
    """Drives whose force is their control times a constant.

    Attributes:
        names: of the motors.
        controls: place of each one's control in ``ctrl``.
        matrix: ctrl of these motors = matrix @ our generalized force, shape (motors, nv).
        moments: our generalized force of a unit of each control, shape (nv, motors).
        ranges: least and greatest control that MuJoCo takes and does not clip, shape (motors, 2).
    """

    names: tuple[str, ...]
    controls: NDArray[np.int64]
    matrix: Array
    moments: Array
    ranges: Array

    def controls_for(self, force: Array) -> Array:
        """Their controls for a generalized force.

        Args:
            force: ours, shape (nv,) [N, N m].

        Raises:
            BridgeError: if no motor gives part of it.
        """
        wanted = self.matrix @ force
        miss = np.abs(self.moments @ wanted - force)
        if (miss > TOLERANCE * max(1.0, float(np.abs(force).max(initial=0.0)))).any():
            raise BridgeError(f"the motors cannot give the force {force.tolist()}: {miss.tolist()} of it are missing")
        return wanted


@dataclass(frozen=True, eq=False)
class _MomentArms:
    """What a unit of force of each drive is in joints, gears taken into account, at several places.

    Attributes:
        q: the first place, shape (nq,).
        here: in our velocities, shape (places, drives, nv).
        there: in theirs at the first place, shape (drives, nv').
        felt: whether a drive acts on the robot, shape (drives,).
        strange: whether it acts on what is not the robot's.
    """

    q: Array
    here: Array
    there: Array
    felt: NDArray[np.bool_]
    strange: NDArray[np.bool_]

    @classmethod
    def of(cls, joints: JointMap) -> _MomentArms:
        """Let MuJoCo tell them.

        Args:
            joints: of the robot in the model.
        """
        mujoco, model, states = require_mujoco(), joints.model, joints.states
        data, still = mujoco.MjData(model), np.zeros(states.robot.coordinates.nv)
        places = list(itertools.islice(random_configurations(states.robot, np.random.default_rng(1687)), PLACES))
        there: list[Array] = []
        for q in places:
            joints.place(data, *states.to_model(q, still))
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_tendon(model, data)
            mujoco.mj_transmission(model, data)
            there.append(moments(model, data)[first_forces(model)])
        here = np.array([moment @ states.velocity_jacobian(q) for moment, q in zip(there, places, strict=True)])
        own = set(model.dof_jntid[joints.own].tolist())
        felt = [bool(there[0][k][joints.own].any()) or _joint(model, k) in own for k in range(actuator_count(model))]
        strange = [bool(there[0][k][~joints.own].any()) for k in range(actuator_count(model))]
        return cls(places[0], here, there[0], np.array(felt, dtype=bool), np.array(strange, dtype=bool))

    def varies(self, k: int) -> bool:
        """Whether a drive's lever is not the same everywhere.

        Args:
            k: the drive.
        """
        found = self.here[:, k]
        return bool(np.abs(found - found[0]).max() > TOLERANCE * np.abs(found).max())


def find_motors(joints: JointMap, forces: Array, inputs: Sequence[str]) -> Motors:
    """The motors that give the forces of the law's inputs.

    Args:
        joints: of the robot in the model.
        forces: our generalized force of a unit of each input, shape (nv, number of inputs).
        inputs: names of the inputs, for messages.

    Raises:
        BridgeError: for an input that no motor, or no combination of motors, gives; for a drive of another kind.
    """
    model, levers = joints.model, _MomentArms.of(joints)
    _check_no_servos(model, levers)
    found = [k for k in range(actuator_count(model)) if levers.felt[k] and actuator_is_enabled(model, k)]
    bad = [f"{_name(model, k)!r} also drives what is not the robot's" for k in found if levers.strange[k]]
    bad += [f"the lever of {_name(model, k)!r} depends on the position" for k in found if levers.varies(k)]
    if bad:
        raise BridgeError(
            f"drives of the MuJoCo model have no constant share in the robot's forces: {'; '.join(bad)}. Disable their "
            "group (option actuatorgroupdisable), or pass apply='qfrc_applied'"
        )
    moments = (levers.here[0, found] * model.actuator_gainprm[found, :1]).T
    sizes = np.linalg.norm(moments, axis=0)
    if not sizes.all():
        weak = ", ".join(_name(model, k) for k, size in zip(found, sizes, strict=True) if not size)
        raise BridgeError(f"motors {weak} have gear or gain zero: they give no force")
    _check_not_shared([_name(model, k) for k in found], moments / sizes)
    matrix = np.asarray(np.linalg.pinv(moments), dtype=np.float64)
    missed = moments @ (matrix @ forces) - forces
    lost = np.flatnonzero((np.abs(missed) > TOLERANCE * np.abs(forces).max(initial=1.0)).any(axis=0))
    if lost.size:
        felt = np.array([joints.states.force_to_model(levers.q, column) for column in missed.T[lost]])
        dofs = np.flatnonzero((np.abs(felt) > TOLERANCE * np.abs(felt).max()).any(axis=0))
        without = dict.fromkeys(str(model.joint(int(model.dof_jntid[v])).name) for v in dofs)
        driven = [f"{_name(model, k)} on {_target(model, k)}" for k in found]
        raise BridgeError(
            f"no motor of the MuJoCo model drives {', '.join(without)}, which the law's "
            f"{', '.join(inputs[int(i)] for i in lost)} need; its motors: {', '.join(driven) or 'none'}. Add "
            "<motor joint=…/> for each, or pass apply='qfrc_applied'"
        )
    at = np.array([ActuatorChannels.of(model, k).control for k in found], dtype=np.int64)
    ranges = np.array([_range(model, k, levers.there[k]) for k in found]).reshape(-1, 2)
    return Motors(tuple(_name(model, k) for k in found), at, matrix, moments, ranges)


def check_no_servos(joints: JointMap) -> None:
    """Raise BridgeError for drives of the robot that act by themselves: servos, muscles, filters.

    Args:
        joints: of the robot in the model.
    """
    _check_no_servos(joints.model, _MomentArms.of(joints))


def _check_no_servos(model: MjModel, levers: _MomentArms) -> None:
    bad = [
        f"{_name(model, k)!r} {odd}"
        for k in range(actuator_count(model))
        if levers.felt[k] and actuator_is_enabled(model, k) and (odd := _unsupported_reason(model, k))
    ]
    if bad:
        raise BridgeError(
            f"drives of the MuJoCo model are no motors: {'; '.join(bad)}. A law here asks for forces: use <motor> in "
            "their place, or disable their group (option actuatorgroupdisable)"
        )


def _check_not_shared(names: Sequence[str], moments: Array) -> None:
    """Refuse motors of which one can be spared; moments of length one, shape (nv, motors)."""
    _, s, shares = np.linalg.svd(moments)
    rank = int((s > TOLERANCE).sum())
    spare = np.flatnonzero((np.abs(shares[rank:]) > TOLERANCE).any(axis=0))
    if spare.size:
        raise BridgeError(
            f"motors {', '.join(names[int(k)] for k in spare)} can stand in for each other, so that the share of each "
            "is not determined: remove one, disable its group, or pass apply='qfrc_applied'"
        )


def _unsupported_reason(model: MjModel, k: int) -> str:
    """Why a drive is no motor; empty if it is one."""
    channels = ActuatorChannels.of(model, k)
    if channels.controls != 1 or channels.forces != 1:
        return "has several controls or forces"
    if int(model.actuator_dyntype[k]) != NONE:
        return "has dynamics of its own (a filter, an integrator or a muscle)"
    gain, bias = int(model.actuator_gaintype[k]), int(model.actuator_biastype[k])
    if gain != FIXED or bias != NONE:
        kind = "a position or velocity servo" if bias == 1 else "a drive whose force depends on its motion"
        return f"is {kind} (gain type {gain}, bias type {bias})"
    return "has a delay" if field_is_set(model, "actuator_delay", k) else ""


def _joint(model: MjModel, k: int) -> int:
    """The joint that a drive acts on; −1 if it is not one joint."""
    on_joint = int(model.actuator_trntype[k]) in (JOINT, JOINT_IN_PARENT)
    return int(model.actuator_trnid[k, 0]) if on_joint else -1


def _target(model: MjModel, k: int) -> str:
    """What a motor acts on."""
    joint, target = _joint(model, k), int(model.actuator_trnid[k, 0])
    if joint >= 0:
        return str(model.joint(joint).name)
    return f"tendon {model.tendon(target).name}" if model.actuator_trntype[k] == TENDON else "a site or a body"


def _name(model: MjModel, k: int) -> str:
    return str(model.actuator(k).name) or f"drive {k}"


def _range(model: MjModel, k: int, moment: Array) -> tuple[float, float]:
    """Controls between which nothing clips the force: ranges of the control, the force, and of joints and tendons."""
    low, high, at = -np.inf, np.inf, ActuatorChannels.of(model, k).control
    if model.actuator_ctrllimited[at] and not is_disabled(model, "CLAMPCTRL"):
        low, high = map(float, model.actuator_ctrlrange[at])
    gain = float(model.actuator_gainprm[k, 0])
    bounds: list[tuple[float, Array]] = []
    if model.actuator_forcelimited[k]:
        bounds.append((gain, model.actuator_forcerange[k]))
    target = int(model.actuator_trnid[k, 0])
    if int(model.actuator_trntype[k]) == TENDON and field_is_set(model, "tendon_actfrclimited", target):
        gear = float(model.actuator_gear[ActuatorChannels.of(model, k).force, 0])
        bounds.append((gain * gear, field_entry(model, "tendon_actfrcrange", target)))
    for v in np.flatnonzero(moment):
        if model.jnt_actfrclimited[joint := int(model.dof_jntid[v])]:
            bounds.append((gain * float(moment[v]), model.jnt_actfrcrange[joint]))
    for scale, ends in bounds:
        least, greatest = sorted(float(end) / scale for end in ends)
        low, high = max(low, least), min(high, greatest)
    return low, high


Apply = Literal["auto", "ctrl", "qfrc_applied"]
Force = Callable[[float, Array, Array, Array], Array]
MAX_CONTROL = 1e10
"""Controls beyond this MuJoCo takes for an error, and sets to zero."""


@dataclass(eq=False)
class OutputWriter:
    """Writes outputs.

    Attributes:
        joints: of the robot in the model.
        force: (t, q, v, output) → generalized force: ours, shape (nv,), for motors; theirs, shape (nv',), without.
        drives: motors that give it; None if it is written as it is.
        gains: controls of a unit of each input, shape (motors, nu), where they are constant.
    """

    joints: JointMap
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
        if not np.vdot(controls, controls) < MAX_CONTROL**2:
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
                stacklevel=caller_stacklevel(),
            )


def build_output_writer(robot: Robot, joints: JointMap, applies_force: bool, p: Array, apply: Apply) -> OutputWriter:
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
    if is_disabled(joints.model, "ACTUATION"):
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
        drives = find_motors(joints, columns, names)
        return OutputWriter(joints, force, drives, drives.matrix @ columns if constant else None)
    check_no_servos(joints)
    if constant and not joints.floats:
        zero, states = np.zeros(c.nq), joints.states
        turned = np.array([states.force_to_model(zero, column) for column in columns.T]).reshape(-1, states.nv).T
        return OutputWriter(joints, _constant(turned), None, None)
    return OutputWriter(
        joints, lambda t, q, v, output: joints.states.force_to_model(q, force(t, q, v, output)), None, None
    )


def _constant(columns: Array) -> Force:
    """The force of outputs each of which acts in the same way everywhere."""
    return lambda t, q, v, output: np.asarray(columns @ output)


def _varying(robot: Robot, B: ca.SX, p: Array) -> Force:
    """Our force, where it depends on the state."""
    c, u = robot.coordinates, ca.SX.sym("output", B.size2())
    kernel = Kernel("applied", {"t": c.t, "q": c.q, "v": c.v, "u": u, "p": robot.p}, {"force": B @ u}, compiled=False)
    return lambda t, q, v, output: np.atleast_1d(kernel(t, q, v, output, p)[0])
