"""From a generalized force to the controls of a MuJoCo model's motors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import BridgeError
from ..passive import random_places
from .flags import acts, disabled
from .versions import Channels, actuators, entry, first_forces, is_set, loaded, moments

if TYPE_CHECKING:
    from mujoco import MjModel

    from .joints import Joints

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
class _Levers:
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
    def of(cls, joints: Joints) -> _Levers:
        """Let MuJoCo tell them.

        Args:
            joints: of the robot in the model.
        """
        mujoco, model, states = loaded(), joints.model, joints.states
        data, still = mujoco.MjData(model), np.zeros(states.robot.coordinates.nv)
        places = list(itertools.islice(random_places(states.robot, np.random.default_rng(1687)), PLACES))
        there: list[Array] = []
        for q in places:
            joints.place(data, *states.there(q, still))
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_tendon(model, data)
            mujoco.mj_transmission(model, data)
            there.append(moments(model, data)[first_forces(model)])
        here = np.array([moment @ states.velocities(q) for moment, q in zip(there, places, strict=True)])
        own = set(model.dof_jntid[joints.own].tolist())
        felt = [bool(there[0][k][joints.own].any()) or _joint(model, k) in own for k in range(actuators(model))]
        strange = [bool(there[0][k][~joints.own].any()) for k in range(actuators(model))]
        return cls(places[0], here, there[0], np.array(felt, dtype=bool), np.array(strange, dtype=bool))

    def varies(self, k: int) -> bool:
        """Whether a drive's lever is not the same everywhere.

        Args:
            k: the drive.
        """
        found = self.here[:, k]
        return bool(np.abs(found - found[0]).max() > TOLERANCE * np.abs(found).max())


def motors(joints: Joints, forces: Array, inputs: Sequence[str]) -> Motors:
    """The motors that give the forces of the law's inputs.

    Args:
        joints: of the robot in the model.
        forces: our generalized force of a unit of each input, shape (nv, number of inputs).
        inputs: names of the inputs, for messages.

    Raises:
        BridgeError: for an input that no motor, or no combination of motors, gives; for a drive of another kind.
    """
    model, levers = joints.model, _Levers.of(joints)
    _refuse_servos(model, levers)
    found = [k for k in range(actuators(model)) if levers.felt[k] and acts(model, k)]
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
    _refuse_shared([_name(model, k) for k in found], moments / sizes)
    matrix = np.asarray(np.linalg.pinv(moments), dtype=np.float64)
    missed = moments @ (matrix @ forces) - forces
    lost = np.flatnonzero((np.abs(missed) > TOLERANCE * np.abs(forces).max(initial=1.0)).any(axis=0))
    if lost.size:
        felt = np.array([joints.states.force_there(levers.q, column) for column in missed.T[lost]])
        dofs = np.flatnonzero((np.abs(felt) > TOLERANCE * np.abs(felt).max()).any(axis=0))
        without = dict.fromkeys(str(model.joint(int(model.dof_jntid[v])).name) for v in dofs)
        driven = [f"{_name(model, k)} on {_target(model, k)}" for k in found]
        raise BridgeError(
            f"no motor of the MuJoCo model drives {', '.join(without)}, which the law's "
            f"{', '.join(inputs[int(i)] for i in lost)} need; its motors: {', '.join(driven) or 'none'}. Add "
            "<motor joint=…/> for each, or pass apply='qfrc_applied'"
        )
    at = np.array([Channels.of(model, k).control for k in found], dtype=np.int64)
    ranges = np.array([_range(model, k, levers.there[k]) for k in found]).reshape(-1, 2)
    return Motors(tuple(_name(model, k) for k in found), at, matrix, moments, ranges)


def refuse_servos(joints: Joints) -> None:
    """Raise BridgeError for drives of the robot that act by themselves: servos, muscles, filters.

    Args:
        joints: of the robot in the model.
    """
    _refuse_servos(joints.model, _Levers.of(joints))


def _refuse_servos(model: MjModel, levers: _Levers) -> None:
    bad = [
        f"{_name(model, k)!r} {odd}"
        for k in range(actuators(model))
        if levers.felt[k] and acts(model, k) and (odd := _oddity(model, k))
    ]
    if bad:
        raise BridgeError(
            f"drives of the MuJoCo model are no motors: {'; '.join(bad)}. A law here asks for forces: use <motor> in "
            "their place, or disable their group (option actuatorgroupdisable)"
        )


def _refuse_shared(names: Sequence[str], moments: Array) -> None:
    """Refuse motors of which one can be spared; moments of length one, shape (nv, motors)."""
    _, s, shares = np.linalg.svd(moments)
    rank = int((s > TOLERANCE).sum())
    spare = np.flatnonzero((np.abs(shares[rank:]) > TOLERANCE).any(axis=0))
    if spare.size:
        raise BridgeError(
            f"motors {', '.join(names[int(k)] for k in spare)} can stand in for each other, so that the share of each "
            "is not determined: remove one, disable its group, or pass apply='qfrc_applied'"
        )


def _oddity(model: MjModel, k: int) -> str:
    """Why a drive is no motor; empty if it is one."""
    channels = Channels.of(model, k)
    if channels.controls != 1 or channels.forces != 1:
        return "has several controls or forces"
    if int(model.actuator_dyntype[k]) != NONE:
        return "has dynamics of its own (a filter, an integrator or a muscle)"
    gain, bias = int(model.actuator_gaintype[k]), int(model.actuator_biastype[k])
    if gain != FIXED or bias != NONE:
        kind = "a position or velocity servo" if bias == 1 else "a drive whose force depends on its motion"
        return f"is {kind} (gain type {gain}, bias type {bias})"
    return "has a delay" if is_set(model, "actuator_delay", k) else ""


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
    low, high, at = -np.inf, np.inf, Channels.of(model, k).control
    if model.actuator_ctrllimited[at] and not disabled(model, "CLAMPCTRL"):
        low, high = map(float, model.actuator_ctrlrange[at])
    gain = float(model.actuator_gainprm[k, 0])
    bounds: list[tuple[float, Array]] = []
    if model.actuator_forcelimited[k]:
        bounds.append((gain, model.actuator_forcerange[k]))
    target = int(model.actuator_trnid[k, 0])
    if int(model.actuator_trntype[k]) == TENDON and is_set(model, "tendon_actfrclimited", target):
        gear = float(model.actuator_gear[Channels.of(model, k).force, 0])
        bounds.append((gain * gear, entry(model, "tendon_actfrcrange", target)))
    for v in np.flatnonzero(moment):
        if model.jnt_actfrclimited[joint := int(model.dof_jntid[v])]:
            bounds.append((gain * float(moment[v]), model.jnt_actfrcrange[joint]))
    for scale, ends in bounds:
        least, greatest = sorted(float(end) / scale for end in ends)
        low, high = max(low, least), min(high, greatest)
    return low, high
