"""Whether the closed loops of a MuJoCo model are those of a robot."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.kernel import Kernel
from .joints import Joints
from .model_foreign import EQUALITIES, WELD
from .sparse import dense_rows

if TYPE_CHECKING:
    from mujoco import MjData

Array = NDArray[np.float64]
ATTEMPTS = 20
"""Positions near which a closed one is looked for."""

CLOSED = 1e-10
"""Residual at which a loop counts as closed [m, rad]."""

OPEN = 1e-6
"""By which a loop may be open there where it is closed here [m, rad]."""


def loop_differences(
    mujoco: ModuleType,
    robot: Robot,
    joints: Joints,
    p: Mapping[str, float] | ArrayLike | None,
    q: ArrayLike | None,
) -> list[str]:
    """Sentences on constraints that only one side has, or that hold other motions.

    Compared in a position in which the robot's loops are closed: how far those of the model are open there, and which
    velocities each allows.

    Args:
        mujoco: the package.
        robot: here.
        joints: of the robot in the model.
        p: the robot's parameters.
        q: such a position, or one near it, shape (nq,); the model's own if not given.
    """
    model = joints.model
    theirs = [k for k in range(model.neq) if model.eq_active0[k] and not _follows(joints, k)]
    names = [f"{model.equality(k).name or k} ({EQUALITIES[int(model.eq_type[k])]})" for k in theirs]
    if not theirs and not robot.natural:
        return []
    if not robot.natural:
        return [f"the model has equality constraints that the robot lacks: {', '.join(names)}"]
    held = ", ".join(constraint.name for constraint in robot.natural)
    rolling = [constraint.name for constraint in robot.natural if constraint.order != 0]
    if rolling:
        return [f"the robot's natural constraints {', '.join(rolling)} are of order 1, and MuJoCo has no such equality"]
    if not theirs:
        return [f"the robot has natural constraints that the model lacks: {held}"]
    data = mujoco.MjData(model)
    start = np.array(joints.states.here(model.qpos0, np.zeros(model.nv))[0] if q is None else q, dtype=np.float64)
    closed = _close(robot, start, p)
    if closed is None:
        return [f"no position was found that closes {held}: pass one near by as q="]
    joints.place(data, *joints.states.there(closed, np.zeros(robot.coordinates.nv)))
    mujoco.mj_fwdPosition(model, data)
    rows = _held_rows(joints, data, theirs)
    gap = float(np.abs(np.asarray(data.efc_pos)[rows]).max(initial=0.0))
    if gap > OPEN:
        return [f"where {held} are closed here, {', '.join(names)} are open by up to {gap:.3g} there"]
    ours = robot.evaluate(robot.natural_form[0], q=closed, v=np.zeros(robot.coordinates.nv), p=p)
    J = _jacobian(mujoco, joints, data)[rows] @ joints.states.velocities(closed)
    here, there = _row_space(ours.reshape(-1, robot.coordinates.nv)), _row_space(J)
    if abs(here - there).max() > 1e-6:
        return [
            f"{held} leave {_left(here)} of {robot.coordinates.nv} velocities free here, {', '.join(names)} leave "
            f"{_left(there)} there, or others"
        ]
    return []


def _follows(joints: Joints, k: int) -> bool:
    """Whether an equality makes a joint follow one of ours."""
    model = joints.model
    followers = {follower.v for follower in joints.states.followers}
    return int(model.eq_type[k]) == 2 and int(model.jnt_dofadr[int(model.eq_obj1id[k])]) in followers


def _held_rows(joints: Joints, data: MjData, theirs: list[int]) -> NDArray[np.bool_]:
    """Rows of these equality constraints, but for the turns of a weld that lets turn."""
    model, found, count = joints.model, np.zeros(data.nefc, dtype=np.bool_), dict.fromkeys(theirs, 0)
    for i in range(data.nefc):
        k = int(data.efc_id[i])
        if int(data.efc_type[i]) == 0 and k in count:
            lets_turn = int(model.eq_type[k]) == WELD and not model.eq_data[k, 10]
            found[i] = not (lets_turn and count[k] >= 3)
            count[k] += 1
    return found


def _close(robot: Robot, q: Array, p: Mapping[str, float] | ArrayLike | None) -> Array | None:
    """Coordinates with all loops closed, near these or else near others at random; None if none are found."""
    c = robot.coordinates
    residual = ca.vertcat(*(constraint.residual(c) for constraint in robot.natural))
    kernel = Kernel(
        "loops", {"t": c.t, "q": c.q, "p": robot.p}, {"y": residual, "J": ca.jacobian(residual, c.q)}, compiled=False
    )
    numbers, rng = robot.parameters.values(p), np.random.default_rng(0)
    for attempt in range(ATTEMPTS):
        x = q if attempt == 0 else q + rng.uniform(-1.5, 1.5, len(q))
        # Gauss–Newton steps, the least that are enough.
        for _ in range(30):
            y, J = kernel(0.0, x, numbers)
            y = np.atleast_1d(y)
            if np.abs(y).max() < CLOSED:
                return x
            if not np.isfinite(y).all():
                break
            x = x - np.linalg.lstsq(J.reshape(len(y), -1), y, rcond=1e-9)[0]
    return None


def _jacobian(mujoco: ModuleType, joints: Joints, data: MjData) -> Array:
    """All constraint rows, shape (nefc, nv')."""
    model = joints.model
    flat = np.ravel(np.asarray(data.efc_J, dtype=np.float64))
    if not mujoco.mj_isSparse(model):
        return flat.reshape(data.nefc, model.nv)
    return dense_rows(flat, data.efc_J_rowadr, data.efc_J_rownnz, data.efc_J_colind, model.nv)


def _row_space(A: Array) -> Array:
    """The projector on the rows of a matrix."""
    _, s, Vt = np.linalg.svd(A, full_matrices=False)
    V = Vt[s > 1e-8 * max(float(s.max(initial=0.0)), 1e-300)]
    return np.asarray(V.T @ V)


def _left(projector: Array) -> int:
    return len(projector) - round(float(np.trace(projector)))
