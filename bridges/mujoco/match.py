"""Whether a MuJoCo model is the same robot."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.arrays import not_negative
from ...symbolic.errors import BridgeError
from ..matching import TOLERANCE, Match, compare_dynamics
from ..suspected_units import suspected_ranges
from .flags import disabled
from .joints import Joints
from .match_bodies import body_differences
from .match_loops import loop_differences
from .versions import actuated_gravity, loaded, make_inertia
from .watch import installed

if TYPE_CHECKING:
    from mujoco import MjModel

Array = NDArray[np.float64]


def match(
    robot: Robot,
    model: MjModel,
    *,
    names: Mapping[str, str] | None = None,
    p: Mapping[str, float] | ArrayLike | None = None,
    q: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
) -> Match:
    """Compare joints, M and h at states at random, bodies where these differ, closed loops, friction and limits.

    h there is ``qfrc_bias − qfrc_passive``, which is gravity, Coriolis forces, springs, dampers and fluids, with the
    dry friction of joints that slide. Contacts take no part, for they depend on what is around.

    Args:
        robot: here.
        model: MuJoCo's.
        names: name here → name there, for joints whose names differ.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
        q: coordinates at which to compare, shape (nq,); of a robot with closed loops those of one closed position, if
            none is found from the model's own. At random if not given.
        tolerance: relative difference of M and h above which it is looked for what causes it.

    Returns:
        What differs; ``match(...).require()`` raises if anything does.

    Raises:
        BridgeError: if joints do not match by name and kind; both sides are listed.
        MissingPackageError: without MuJoCo.
    """
    not_negative("tolerance", tolerance)
    mujoco = loaded()
    if not isinstance(model, mujoco.MjModel):
        raise BridgeError(f"a mujoco.MjModel is needed, got {type(model).__name__}")
    joints = Joints.of(robot, model, names)
    data = mujoco.MjData(model)

    def theirs(q_there: Array, v_there: Array) -> tuple[Array, Array]:
        data.qpos[:], data.qvel[:] = model.qpos0, 0.0
        joints.place(data, q_there, v_there)
        # All but contacts and constraints, which take time and room, and no part.
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_flex(model, data)
        mujoco.mj_tendon(model, data)
        make_inertia(model, data)
        mujoco.mj_transmission(model, data)
        mujoco.mj_fwdVelocity(model, data)
        M = np.zeros((model.nv, model.nv))
        for column, unit in zip(M, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, column, unit)
        rubbing = 0.0 if disabled(model, "FRICTIONLOSS") else model.dof_frictionloss * np.sign(data.qvel)
        # Gravity made up for is a passive force, or one of the drives that act all by themselves.
        return M, np.array(data.qfrc_bias - data.qfrc_passive - actuated_gravity(model, data) + rubbing)

    with installed(mujoco, None):
        found = compare_dynamics(robot, theirs, joints.states, names=joints.names, p=p, q=q)
        notes = [*_strangers(joints), *_ranges(robot, joints), *_limits(robot, joints)]
        notes += loop_differences(mujoco, robot, joints, p, q)
        bodies: Mapping[str, str] = {}
        if not found.mass <= tolerance:
            bodies = body_differences(robot, joints, p)
            notes += _armature(joints)
    if not found.bias <= tolerance:
        notes += [*_gravity(robot, model, p), *_passive(joints)]
    return dataclasses.replace(found, bodies=bodies, notes=tuple(notes))


def _strangers(joints: Joints) -> Iterator[str]:
    if joints.strangers:
        yield f"the model has joints of the same bodies that the robot lacks: {', '.join(joints.strangers)}"


def _armature(joints: Joints) -> Iterator[str]:
    yield from _told(joints, "the model has armature", joints.model.dof_armature)


def _passive(joints: Joints) -> Iterator[str]:
    model = joints.model
    yield from _told(joints, "the model has damping", model.dof_damping)
    if not disabled(model, "FRICTIONLOSS"):
        yield from _told(joints, "the model has dry friction (frictionloss)", model.dof_frictionloss)
    stiff = np.zeros(model.nv)
    stiff[model.jnt_dofadr] = model.jnt_stiffness
    yield from _told(joints, "the model has springs (stiffness)", stiff)
    if (model.body_gravcomp != 0.0).any():
        bodies = [str(model.body(int(body)).name) for body in np.flatnonzero(model.body_gravcomp)]
        yield f"the model makes up for the gravity of {', '.join(bodies)} (gravcomp)"
    if model.opt.density or model.opt.viscosity:
        yield f"the model is in a fluid (density {model.opt.density:g}, viscosity {model.opt.viscosity:g})"


def _told(joints: Joints, what: str, numbers: Array) -> Iterator[str]:
    """A sentence on what degrees of freedom of the robot have, if any has it."""
    model = joints.model
    told = [
        f"{model.joint(int(model.dof_jntid[v])).name or v} {numbers[v]:g}"
        for v in np.flatnonzero(joints.own & (np.asarray(numbers) != 0.0))
    ]
    if told:
        yield f"{what}: {', '.join(dict.fromkeys(told))}"


def _ranges(robot: Robot, joints: Joints) -> Iterator[str]:
    model = joints.model
    found = {
        name: (float(model.jnt_range[joint, 0]), float(model.jnt_range[joint, 1]))
        for name, joint in zip(joints.names, joints.at, strict=True)
        if model.jnt_limited[joint]
    }
    if said := suspected_ranges(robot, found):
        yield said


def _limits(robot: Robot, joints: Joints) -> Iterator[str]:
    """Joint limits push back in MuJoCo; those that the robot does not have are a difference."""
    model, names = joints.model, robot.coordinates.names
    if disabled(model, "LIMIT") or not np.allclose(joints.states.between, np.eye(len(joints.states.between))):
        return  # switched off, or ranges of angles between bodies, which absolute angles have no bounds for
    for name, joint in zip(joints.names, joints.at, strict=True):
        if not model.jnt_limited[joint] or name not in names:
            continue
        k, (low, high) = names.index(name), map(float, model.jnt_range[joint])
        lower, upper = float(robot.limits.lower[k]), float(robot.limits.upper[k])
        if max(abs(low - lower), abs(high - upper)) > 1e-6 * max(1.0, abs(low), abs(high)):
            yield f"joint {name!r} is stopped at [{low:g}, {high:g}] there, and has limits [{lower:g}, {upper:g}] here"


def _gravity(robot: Robot, model: MjModel, p: Mapping[str, float] | ArrayLike | None) -> Iterator[str]:
    off = disabled(model, "GRAVITY")
    there = np.zeros(3) if off else np.array(model.opt.gravity)
    if robot.tree is None:
        return
    here = robot.evaluate(robot.tree.gravity, p=p)
    if np.abs(here - there).max() > 1e-9 * max(1.0, float(np.abs(here).max())):
        yield f"gravity is {here.tolist()} m/s² here and {there.tolist()} there{' (disabled)' if off else ''}"
