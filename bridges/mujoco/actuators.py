"""From a generalized force to the controls of a MuJoCo model's motors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import BridgeError
from .flags import disabled

if TYPE_CHECKING:
    from mujoco import MjModel

    from .joints import Joints

Array = NDArray[np.float64]
FIXED, NONE, JOINT, JOINT_IN_PARENT = 0, 0, 0, 1
"""MuJoCo's numbers: a gain that is fixed, no bias or dynamics, and a drive that turns or pushes a joint."""

TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Motors:
    """Drives whose force is their control times a constant.

    Attributes:
        names: of the motors.
        controls: place of each one's control in ``ctrl``.
        matrix: ctrl of these motors = matrix @ their generalized force, shape (motors, nv').
        moments: generalized force of a unit of each control, shape (nv', motors).
        ranges: least and greatest control that MuJoCo takes and does not clip, shape (motors, 2).
    """

    names: tuple[str, ...]
    controls: NDArray[np.int64]
    matrix: Array
    moments: Array
    ranges: Array

    def controls_for(self, force: Array) -> Array:
        """Their controls for a generalized force there.

        Args:
            force: shape (nv',) [N, N m].

        Raises:
            BridgeError: if no motor gives part of it.
        """
        wanted = self.matrix @ force
        miss = np.abs(self.moments @ wanted - force)
        if (miss > TOLERANCE * max(1.0, float(np.abs(force).max(initial=0.0)))).any():
            raise BridgeError(f"the motors cannot give the force {force.tolist()}: {miss.tolist()} of it are missing")
        return wanted


def motors(joints: Joints, forces: Array, inputs: Sequence[str]) -> Motors:
    """The motors that give the forces of the law's inputs.

    Args:
        joints: of the robot in the model.
        forces: generalized force there of a unit of each input, shape (nv', number of inputs).
        inputs: names of the inputs, for messages.

    Raises:
        BridgeError: for an input that no motor, or no combination of motors, gives; for a drive of another kind.
    """
    model = joints.model
    found: list[int] = []
    refuse_servos(joints)
    for k in range(actuators(model)):
        if _joint(model, k) in set(joints.at) and _acts(model, k):
            found.append(k)
    if len({_joint(model, k) for k in found}) < len(found):
        twice = sorted(
            {_name(model, k) for k in found if [_joint(model, j) for j in found].count(_joint(model, k)) > 1}
        )
        raise BridgeError(
            f"motors {', '.join(twice)} drive the same joint, so that the share of each is not determined: remove one, "
            "disable its group, or pass apply='qfrc_applied'"
        )
    moments = np.zeros((model.nv, len(found)))
    for i, k in enumerate(found):
        moments[model.jnt_dofadr[_joint(model, k)], i] = _gear(model, k) * float(model.actuator_gainprm[k, 0])
    weak = [_name(model, k) for i, k in enumerate(found) if not moments[:, i].any()]
    if weak:
        raise BridgeError(f"motors {', '.join(weak)} have gear or gain zero: they give no force")
    matrix = np.asarray(np.linalg.pinv(moments), dtype=np.float64)
    missed = np.abs(moments @ (matrix @ forces) - forces) > TOLERANCE * np.abs(forces).max(initial=1.0)
    if missed.any():
        without = [str(model.joint(int(model.dof_jntid[v])).name) for v in np.flatnonzero(missed.any(axis=1))]
        lost = [inputs[int(i)] for i in np.flatnonzero(missed.any(axis=0))]
        driven = [f"{_name(model, k)} on {model.joint(_joint(model, k)).name}" for k in found]
        raise BridgeError(
            f"no motor of the MuJoCo model drives {', '.join(without)}, which the law's {', '.join(lost)} need; its "
            f"motors: {', '.join(driven) or 'none'}. Add <motor joint=…/> for each, or pass apply='qfrc_applied'"
        )
    names = tuple(_name(model, k) for k in found)
    at = np.array([_control(model, k) for k in found], dtype=np.int64)
    return Motors(names, at, matrix, moments, np.array([_range(model, k) for k in found]).reshape(-1, 2))


def refuse_servos(joints: Joints) -> None:
    """Raise BridgeError for drives of the robot's joints that act by themselves: servos, muscles, filters.

    Args:
        joints: of the robot in the model.
    """
    model = joints.model
    own = {int(joint) for joint in model.dof_jntid[joints.own]}
    bad: list[str] = []
    for k in range(actuators(model)):
        if not _acts(model, k):
            continue
        transmission = int(model.actuator_trntype[k])
        if transmission in (JOINT, JOINT_IN_PARENT):
            if _joint(model, k) not in own:
                continue
            odd = _oddity(model, k)
        else:
            odd = "does not act on one joint"
        if odd:
            bad.append(f"{_name(model, k)!r} {odd}")
    if bad:
        raise BridgeError(
            f"drives of the MuJoCo model are no motors: {'; '.join(bad)}. A law here asks for forces: use <motor> in "
            "their place, or disable their group (option actuatorgroupdisable)"
        )


def actuators(model: MjModel) -> int:
    """Number of drives; from MuJoCo 4 on one may have several controls."""
    return len(model.actuator_trntype)


def _oddity(model: MjModel, k: int) -> str:
    """Why a drive of a joint is no motor; empty if it is one."""
    if int(model.jnt_type[_joint(model, k)]) < 2:
        return "drives a joint of several degrees of freedom"
    if int(model.actuator_dyntype[k]) != NONE:
        return "has dynamics of its own (a filter, an integrator or a muscle)"
    gain, bias = int(model.actuator_gaintype[k]), int(model.actuator_biastype[k])
    if gain != FIXED or bias != NONE:
        kind = "a position or velocity servo" if bias == 1 else "a drive whose force depends on its motion"
        return f"is {kind} (gain type {gain}, bias type {bias})"
    if float(getattr(model, "actuator_delay", np.zeros(k + 1))[k]):
        return "has a delay"
    return ""


def _acts(model: MjModel, k: int) -> bool:
    """Whether the group of a drive is not disabled."""
    group = int(model.actuator_group[k])
    return not (0 <= group < 31 and model.opt.disableactuator >> group & 1)


def _control(model: MjModel, k: int) -> int:
    return int(getattr(model, "actuator_ctrladr", range(k + 1))[k])


def _gear(model: MjModel, k: int) -> float:
    return float(model.actuator_gear[int(getattr(model, "actuator_outadr", range(k + 1))[k]), 0])


def _joint(model: MjModel, k: int) -> int:
    """The joint that a drive acts on; −1 if it is not one joint."""
    on_joint = int(model.actuator_trntype[k]) in (JOINT, JOINT_IN_PARENT)
    return int(model.actuator_trnid[k, 0]) if on_joint else -1


def _name(model: MjModel, k: int) -> str:
    return str(model.actuator(k).name) or f"drive {k}"


def _range(model: MjModel, k: int) -> tuple[float, float]:
    """Controls between which nothing clips the force: control range, force range, and the joint's force range."""
    low, high, at = -np.inf, np.inf, _control(model, k)
    if model.actuator_ctrllimited[at] and not disabled(model, "CLAMPCTRL"):
        low, high = map(float, model.actuator_ctrlrange[at])
    gain, gear = float(model.actuator_gainprm[k, 0]), _gear(model, k)
    joint = _joint(model, k)
    for limited, scale, bounds in (
        (model.actuator_forcelimited[k], gain, model.actuator_forcerange[k]),
        (model.jnt_actfrclimited[joint], gain * gear, model.jnt_actfrcrange[joint]),
    ):
        if limited and scale:
            least, greatest = sorted(float(bound) / scale for bound in bounds)
            low, high = max(low, least), min(high, greatest)
    return low, high
