"""Comparison of a MuJoCo model with a robot: M and h, bodies, closed loops, passive elements and limits."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...robots.tree.joints import Node
from ...symbolic.errors import BridgeError
from ...symbolic.kernel import Kernel
from ...symbolic.validation import not_negative
from ..common.model_comparison import TOLERANCE, Match, compare_dynamics
from ..common.unit_mismatch import range_unit_mismatch
from .compiled_model import is_disabled, rotation_from_wxyz
from .joint_map import JointMap
from .unsupported import EQUALITIES, WELD
from .versions import actuator_gravity_compensation, compute_mass_matrix, dense_rows, require_mujoco
from .warning_monitor import installed_callback

if TYPE_CHECKING:
    from mujoco import MjData, MjModel


Array = NDArray[np.float64]
MASS_TOLERANCE = 1e-9
"""Relative difference of masses and moments of inertia that is reported."""
MIN_DIFFERENCE = 1e-14
"""Difference in kg or kg m² that is not reported: MuJoCo requires more than 1e-15 for each body."""


@dataclass(frozen=True, eq=False)
class _CompositeInertia:
    """Mass [kg] of several bodies that move together, and inertia about their centre of mass [kg m²]."""

    mass: float
    inertia: Array

    def moments(self, axis: Array | None) -> Array:
        """Return the moment about an axis, or the three principal moments."""
        found = np.linalg.eigvalsh(self.inertia) if axis is None else axis @ self.inertia @ axis
        return np.atleast_1d(np.asarray(found, dtype=np.float64))

    @classmethod
    def of(cls, masses: Array, centers: Array, inertias: Array) -> _CompositeInertia:
        """Combine bodies; centres of shape (n, 3) and inertias of shape (n, 3, 3) in one frame."""
        mass = float(masses.sum())
        middle = masses @ centers / mass if mass > 0.0 else np.zeros(3)
        total = np.zeros((3, 3))
        for m, center, inertia in zip(masses, centers, inertias, strict=True):
            d = center - middle
            total += inertia + m * (d @ d * np.eye(3) - np.outer(d, d))
        return cls(mass, total)


def body_differences(robot: Robot, joints: JointMap, p: Mapping[str, float] | ArrayLike | None) -> dict[str, str]:
    """Return sentences on differences of bodies, by the name of their joint; empty for a robot without a tree.

    Bodies that move rigidly together are compared as one, by mass and principal moments, which do not depend on frames.

    Args:
        robot: the robot.
        joints: joints of the robot in the model.
        p: the robot's parameters.
    """
    if robot.tree is None:
        return {}
    model, at = joints.model, dict(zip(joints.names, joints.indices, strict=True))
    groups: dict[int, list[Node]] = {}
    for node in robot.tree.nodes:
        joint = next((at[key] for key in (node.name, f"{node.name}.angle") if key in at), None)
        if joint is not None:
            groups.setdefault(int(model.body_weldid[model.jnt_bodyid[joint]]), []).append(node)
    found: dict[str, str] = {}
    for group, nodes in groups.items():
        if any(body.ratio is not None for node in nodes for body in node.bodies):
            continue  # a body that moves by a fraction of the joint has a separate joint in the model
        ours, theirs = _robot_inertia(robot, nodes, p), _model_inertia(joints, group)
        name = nodes[-1].name
        differences: list[str] = []
        if abs(ours.mass - theirs.mass) > max(MIN_DIFFERENCE, MASS_TOLERANCE * max(ours.mass, theirs.mass)):
            differences.append(f"mass {ours.mass:.9g} kg in the robot and {theirs.mass:.9g} kg in the model")
        # Planar bodies have one moment; the others of a model in space do not matter.
        planar = robot.tree.is_planar
        own_moments = ours.moments(np.array([0.0, 0.0, 1.0]) if planar else None)
        model_moments = theirs.moments(_axis(joints, group) if planar else None)
        if np.abs(own_moments - model_moments).max() > max(
            MIN_DIFFERENCE, MASS_TOLERANCE * max(np.abs(own_moments).max(), np.abs(model_moments).max())
        ):
            what = "moment of inertia" if planar else "principal moments of inertia"
            differences.append(
                f"{what} {_listed(own_moments)} kg m² in the robot and {_listed(model_moments)} kg m² in the model"
            )
        if differences:
            body = model.body(group).name
            found[name] = f"the bodies on joint {name!r} (body {body!r}) have {' and '.join(differences)}"
    return found


def _axis(joints: JointMap, group: int) -> Array:
    """Return the axis of the first joint of a body, in the body's frame."""
    return np.array(joints.model.jnt_axis[int(joints.model.body_jntadr[group])])


def _listed(numbers: Array) -> str:
    return ", ".join(f"{number:.6g}" for number in numbers)


def _robot_inertia(robot: Robot, nodes: list[Node], p: Mapping[str, float] | ArrayLike | None) -> _CompositeInertia:
    bodies = [body for node in nodes for body in node.bodies]
    return _CompositeInertia.of(
        np.array([float(robot.evaluate(body.mass, p=p)) for body in bodies]),
        np.array([robot.evaluate(body.center, p=p) for body in bodies]).reshape(-1, 3),
        np.array([robot.evaluate(body.inertia, p=p) for body in bodies]).reshape(-1, 3, 3),
    )


def _model_inertia(joints: JointMap, group: int) -> _CompositeInertia:
    """Return the inertia of all bodies that are welded to one."""
    model = joints.model
    welded = [body for body in range(model.nbody) if int(model.body_weldid[body]) == group]
    poses = {group: (np.eye(3), np.zeros(3))}
    masses: list[float] = []
    centers: list[Array] = []
    inertias: list[Array] = []
    for body in welded:
        if body != group:
            R, x = poses[int(model.body_parentid[body])]
            poses[body] = (R @ rotation_from_wxyz(model.body_quat[body]), x + R @ model.body_pos[body])
        R, x = poses[body]
        axes = R @ rotation_from_wxyz(model.body_iquat[body])
        masses.append(float(model.body_mass[body]))
        centers.append(x + R @ model.body_ipos[body])
        inertias.append(axes @ np.diag(model.body_inertia[body]) @ axes.T)
    return _CompositeInertia.of(np.array(masses), np.array(centers), np.array(inertias))


ATTEMPTS = 20
"""Number of positions from which a closed one is searched."""

CLOSURE_TOLERANCE = 1e-10
"""Residual at which a loop counts as closed [m, rad]."""

GAP_TOLERANCE = 1e-6
"""Largest gap of the model's loops where the robot's are closed [m, rad]."""


def loop_differences(
    mujoco: ModuleType,
    robot: Robot,
    joints: JointMap,
    p: Mapping[str, float] | ArrayLike | None,
    q: ArrayLike | None,
) -> list[str]:
    """Return sentences on constraints that only one side has, or that allow other motions.

    In a position in which the robot's loops are closed, the gaps of the model's loops and the allowed velocities are
    compared.

    Args:
        mujoco: the package.
        robot: the robot.
        joints: joints of the robot in the model.
        p: the robot's parameters.
        q: coordinates near such a position, shape (nq,); those of the model's reference pose if not given.
    """
    model = joints.model
    theirs = [k for k in range(model.neq) if model.eq_active0[k] and not _follows(joints, k)]
    names = [f"{model.equality(k).name or k} ({EQUALITIES[int(model.eq_type[k])]})" for k in theirs]
    if not theirs and not robot.natural:
        return []
    if not robot.natural:
        return [f"the model has equality constraints that the robot lacks: {', '.join(names)}"]
    constraint_names = ", ".join(constraint.name for constraint in robot.natural)
    rolling = [constraint.name for constraint in robot.natural if constraint.order != 0]
    if rolling:
        return [f"MuJoCo cannot represent the robot's natural constraints of order 1: {', '.join(rolling)}"]
    if not theirs:
        return [f"the robot has natural constraints that the model lacks: {constraint_names}"]
    data = mujoco.MjData(model)
    start = np.array(joints.states.from_model(model.qpos0, np.zeros(model.nv))[0] if q is None else q, dtype=np.float64)
    closed = _close(robot, start, p)
    if closed is None:
        return [f"no position was found that closes {constraint_names}: pass one nearby as q="]
    joints.place(data, *joints.states.to_model(closed, np.zeros(robot.coordinates.nv)))
    mujoco.mj_fwdPosition(model, data)
    rows = _equality_rows(joints, data, theirs)
    gap = float(np.abs(np.asarray(data.efc_pos)[rows]).max(initial=0.0))
    if gap > GAP_TOLERANCE:
        return [
            f"where {constraint_names} of the robot are closed, {', '.join(names)} of the model are open by up to "
            f"{gap:.3g}"
        ]
    ours = robot.evaluate(robot.natural_form[0], q=closed, v=np.zeros(robot.coordinates.nv), p=p)
    J = _jacobian(mujoco, joints, data)[rows] @ joints.states.velocity_jacobian(closed)
    own_space, model_space = _row_space(ours.reshape(-1, robot.coordinates.nv)), _row_space(J)
    if abs(own_space - model_space).max() > 1e-6:
        return [
            f"{constraint_names} of the robot leave {_null_space_dimension(own_space)} of {robot.coordinates.nv} "
            f"velocities free, {', '.join(names)} of the model leave {_null_space_dimension(model_space)}, or others"
        ]
    return []


def _follows(joints: JointMap, k: int) -> bool:
    """Return True if an equality makes a joint follow one of the robot's."""
    model = joints.model
    followers = {follower.v for follower in joints.states.followers}
    return int(model.eq_type[k]) == 2 and int(model.jnt_dofadr[int(model.eq_obj1id[k])]) in followers


def _equality_rows(joints: JointMap, data: MjData, theirs: list[int]) -> NDArray[np.bool_]:
    """Return a mask of the rows of these equality constraints, without the rotations of a weld without torque."""
    model, found, count = joints.model, np.zeros(data.nefc, dtype=np.bool_), dict.fromkeys(theirs, 0)
    for i in range(data.nefc):
        k = int(data.efc_id[i])
        if int(data.efc_type[i]) == 0 and k in count:
            lets_turn = int(model.eq_type[k]) == WELD and not model.eq_data[k, 10]
            found[i] = not (lets_turn and count[k] >= 3)
            count[k] += 1
    return found


def _close(robot: Robot, q: Array, p: Mapping[str, float] | ArrayLike | None) -> Array | None:
    """Return coordinates with all loops closed, near the given ones or random ones; None if not found."""
    c = robot.coordinates
    residual = ca.vertcat(*(constraint.residual(c) for constraint in robot.natural))
    kernel = Kernel(
        "loops", {"t": c.t, "q": c.q, "p": robot.p}, {"y": residual, "J": ca.jacobian(residual, c.q)}, compiled=False
    )
    numbers, rng = robot.parameters.values(p), np.random.default_rng(0)
    for attempt in range(ATTEMPTS):
        x = q if attempt == 0 else q + rng.uniform(-1.5, 1.5, len(q))
        # Gauss–Newton steps of least norm.
        for _ in range(30):
            y, J = kernel(0.0, x, numbers)
            y = np.atleast_1d(y)
            if np.abs(y).max() < CLOSURE_TOLERANCE:
                return x
            if not np.isfinite(y).all():
                break
            x = x - np.linalg.lstsq(J.reshape(len(y), -1), y, rcond=1e-9)[0]
    return None


def _jacobian(mujoco: ModuleType, joints: JointMap, data: MjData) -> Array:
    """Return the Jacobian of all constraint rows, shape (nefc, nv')."""
    model = joints.model
    flat = np.ravel(np.asarray(data.efc_J, dtype=np.float64))
    if not mujoco.mj_isSparse(model):
        return flat.reshape(data.nefc, model.nv)
    return dense_rows(flat, data.efc_J_rowadr, data.efc_J_rownnz, data.efc_J_colind, model.nv)


def _row_space(A: Array) -> Array:
    """Return the projector on the row space of a matrix."""
    _, s, Vt = np.linalg.svd(A, full_matrices=False)
    V = Vt[s > 1e-8 * max(float(s.max(initial=0.0)), 1e-300)]
    return np.asarray(V.T @ V)


def _null_space_dimension(projector: Array) -> int:
    return len(projector) - round(float(np.trace(projector)))


def match(
    robot: Robot,
    model: MjModel,
    *,
    names: Mapping[str, str] | None = None,
    p: Mapping[str, float] | ArrayLike | None = None,
    q: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
) -> Match:
    """Compare joints, M and h in random states, bodies where these differ, closed loops, friction and limits.

    h of the model is ``qfrc_bias − qfrc_passive`` (gravity, Coriolis forces, springs, dampers and fluids) plus the dry
    friction of moving joints. Contacts are not compared, as they depend on the surroundings.

    Args:
        robot: the robot.
        model: the MjModel.
        names: name in the robot → name in the model, for joints whose names differ.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
        q: coordinates at which to compare, shape (nq,); random if not given. For a robot with closed loops, those of a
            closed position, in case none is found from the model's reference pose.
        tolerance: relative difference of M and h above which causes are looked for.

    Returns:
        The differences; ``match(...).check()`` raises if there are any.

    Raises:
        BridgeError: if joints do not match by name and kind; the message lists both sides.
        MissingPackageError: if MuJoCo is not installed.
    """
    not_negative("tolerance", tolerance)
    mujoco = require_mujoco()
    if not isinstance(model, mujoco.MjModel):
        raise BridgeError(f"model must be a mujoco.MjModel, got {type(model).__name__}")
    joints = JointMap.of(robot, model, names)
    data = mujoco.MjData(model)

    def model_dynamics(q_model: Array, v_model: Array) -> tuple[Array, Array]:
        data.qpos[:], data.qvel[:] = model.qpos0, 0.0
        joints.place(data, q_model, v_model)
        # Skip contacts and constraints, which are not compared.
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_flex(model, data)
        mujoco.mj_tendon(model, data)
        compute_mass_matrix(model, data)
        mujoco.mj_transmission(model, data)
        mujoco.mj_fwdVelocity(model, data)
        M = np.zeros((model.nv, model.nv))
        for column, unit in zip(M, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, column, unit)
        friction = 0.0 if is_disabled(model, "FRICTIONLOSS") else model.dof_frictionloss * np.sign(data.qvel)
        # Gravity compensation is a passive force, or one of actuators.
        return M, np.array(data.qfrc_bias - data.qfrc_passive - actuator_gravity_compensation(model, data) + friction)

    with installed_callback(mujoco, None):
        found = compare_dynamics(robot, model_dynamics, joints.states, names=joints.names, p=p, q=q)
        notes = [*_additional_joints(joints), *_ranges(robot, joints), *_limits(robot, joints)]
        notes += loop_differences(mujoco, robot, joints, p, q)
        bodies: Mapping[str, str] = {}
        if not found.mass <= tolerance:
            bodies = body_differences(robot, joints, p)
            notes += _armature(joints)
    if not found.bias <= tolerance:
        notes += [*_gravity(robot, model, p), *_passive(joints)]
    return dataclasses.replace(found, bodies=bodies, notes=tuple(notes))


def _additional_joints(joints: JointMap) -> Iterator[str]:
    if joints.additional_joints:
        yield f"the model has joints on the same bodies that the robot lacks: {', '.join(joints.additional_joints)}"


def _armature(joints: JointMap) -> Iterator[str]:
    yield from _parameter_note(joints, "the model has armature", joints.model.dof_armature)


def _passive(joints: JointMap) -> Iterator[str]:
    model = joints.model
    yield from _parameter_note(joints, "the model has damping", model.dof_damping)
    if not is_disabled(model, "FRICTIONLOSS"):
        yield from _parameter_note(joints, "the model has dry friction (frictionloss)", model.dof_frictionloss)
    stiff = np.zeros(model.nv)
    stiff[model.jnt_dofadr] = model.jnt_stiffness
    yield from _parameter_note(joints, "the model has springs (stiffness)", stiff)
    if (model.body_gravcomp != 0.0).any():
        bodies = [str(model.body(int(body)).name) for body in np.flatnonzero(model.body_gravcomp)]
        yield f"the model compensates the gravity of {', '.join(bodies)} (gravcomp)"
    if model.opt.density or model.opt.viscosity:
        yield f"the model is in a fluid (density {model.opt.density:g}, viscosity {model.opt.viscosity:g})"


def _parameter_note(joints: JointMap, quantity: str, numbers: Array) -> Iterator[str]:
    """Yield a sentence on a parameter of the robot's degrees of freedom, if it is not zero."""
    model = joints.model
    entries = [
        f"{model.joint(int(model.dof_jntid[v])).name or v} {numbers[v]:g}"
        for v in np.flatnonzero(joints.own & (np.asarray(numbers) != 0.0))
    ]
    if entries:
        yield f"{quantity}: {', '.join(dict.fromkeys(entries))}"


def _ranges(robot: Robot, joints: JointMap) -> Iterator[str]:
    model = joints.model
    found = {
        name: (float(model.jnt_range[joint, 0]), float(model.jnt_range[joint, 1]))
        for name, joint in zip(joints.names, joints.indices, strict=True)
        if model.jnt_limited[joint]
    }
    if note := range_unit_mismatch(robot, found):
        yield note


def _limits(robot: Robot, joints: JointMap) -> Iterator[str]:
    """Yield differences of joint limits, which act as forces in MuJoCo."""
    model, names = joints.model, robot.coordinates.names
    if is_disabled(model, "LIMIT") or not np.allclose(
        joints.states.relative_angles, np.eye(len(joints.states.relative_angles))
    ):
        return  # limits are disabled, or of relative angles, for which absolute angles have no bounds
    for name, joint in zip(joints.names, joints.indices, strict=True):
        if not model.jnt_limited[joint] or name not in names:
            continue
        k, (low, high) = names.index(name), map(float, model.jnt_range[joint])
        lower, upper = float(robot.limits.lower[k]), float(robot.limits.upper[k])
        if max(abs(low - lower), abs(high - upper)) > 1e-6 * max(1.0, abs(low), abs(high)):
            yield f"joint {name!r} has limits [{lower:g}, {upper:g}] in the robot and [{low:g}, {high:g}] in the model"


def _gravity(robot: Robot, model: MjModel, p: Mapping[str, float] | ArrayLike | None) -> Iterator[str]:
    off = is_disabled(model, "GRAVITY")
    theirs = np.zeros(3) if off else np.array(model.opt.gravity)
    if robot.tree is None:
        return
    ours = robot.evaluate(robot.tree.gravity, p=p)
    if np.abs(ours - theirs).max() > 1e-9 * max(1.0, float(np.abs(ours).max())):
        disabled = " (disabled)" if off else ""
        yield f"gravity is {ours.tolist()} m/s² in the robot and {theirs.tolist()} in the model{disabled}"
