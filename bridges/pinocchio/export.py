"""Export of a robot to a Pinocchio model.

Joints that a natural constraint couples become mimic joints.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints import Baumgarte
from ...robots.robot import Robot
from ...robots.tree.joints import WORLD
from ...symbolic.errors import BridgeError, BridgeWarning, caller_stacklevel
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.validation import constant_values, vector
from ..common.body_poses import BodyPoses
from ..common.body_tree import BodyTree, MassProperties, TreeBody
from ..common.joint_constraints import JointCoupling, PointConstraint, identify_joint_constraints
from .coordinate_conversion import PinocchioStateConversion, neutral_coordinates
from .pinocchio_model import PinocchioModel, set_passive_parameters

if TYPE_CHECKING:
    import pinocchio


COUPLING_TOLERANCE = 1e-9


@dataclass(frozen=True)
class MimicJoint:
    """A joint with q = ratio q_leader + offset.

    Attributes:
        solid: index of the joint's solid in the tree.
        leader: index of the leader's solid; a leader follows no other joint.
        ratio: ratio of the two.
        offset: coordinate where that of the leader is zero [rad or m].
    """

    solid: int
    leader: int
    ratio: float
    offset: float


def mimic_joints(
    robot: Robot, tree: BodyTree, couplings: Sequence[JointCoupling], order: Sequence[int]
) -> list[MimicJoint]:
    """Return mimic joints: each joint of a coupled group follows the first, as Pinocchio requires an earlier leader.

    Args:
        robot: the robot, for messages.
        tree: its bodies.
        couplings: linear couplings of the joints' coordinates.
        order: index in the model of each solid's joint.

    Raises:
        BridgeError: for a coupling not of two hinges or slides, or one that contradicts others, by name.
    """
    single = {solid.at_v: k for k, solid in enumerate(tree.solids) if solid.kind in ("hinge", "slide")}
    ties: dict[int, list[tuple[int, float, float, str]]] = {}
    for coupling in couplings:
        if len(coupling.coefficients) != 2 or not all(i in single for i in coupling.coefficients):
            raise BridgeError(
                f"{robot.name}: natural constraint {coupling.name!r} ties {len(coupling.coefficients)} coordinates, "
                "but a joint of Pinocchio can only follow one other"
            )
        (i, a), (j, b) = coupling.coefficients.items()
        first, second = single[i], single[j]
        ties.setdefault(first, []).append((second, -a / b, -coupling.constant / b, coupling.name))
        ties.setdefault(second, []).append((first, -b / a, -coupling.constant / a, coupling.name))
    found: dict[int, MimicJoint] = {}
    for leader in sorted(ties, key=lambda k: order[k]):
        if leader in found:
            continue
        found[leader] = MimicJoint(leader, leader, 1.0, 0.0)
        waiting = [leader]
        while waiting:
            one = found[waiting.pop()]
            for other, ratio, offset, name in ties[one.solid]:
                own = MimicJoint(other, leader, ratio * one.ratio, ratio * one.offset + offset)
                known = found.setdefault(other, own)
                if known is own:
                    waiting.append(other)
                elif abs(known.ratio - own.ratio) + abs(known.offset - own.offset) > COUPLING_TOLERANCE * (
                    1 + abs(own.ratio)
                ):
                    raise BridgeError(
                        f"{robot.name}: {name!r} and other natural constraints tie {tree.solids[other].name!r} in two "
                        "ways, so it cannot move"
                    )
    # Each mimic joint rebuilds the model: go by the order of the joints.
    return sorted((f for f in found.values() if f.solid != f.leader), key=lambda f: order[f.solid])


Array = NDArray[np.float64]
BOUNDLESS = float(np.finfo(np.float64).max)
UNITS = {(1.0, 0.0, 0.0): "X", (0.0, 1.0, 0.0): "Y", (0.0, 0.0, 1.0): "Z"}


def export(
    robot: Robot,
    *,
    p: Mapping[str, float] | ArrayLike | None = None,
    q: ArrayLike | None = None,
) -> PinocchioModel:
    """Export the robot's tree of bodies to a ``pinocchio.Model``, and its closed loops to ``RigidConstraintModel`` s.

    Joints keep their names; angles from the world's axes become angles between bodies. A planar joint becomes two
    slides and a hinge, ``name.x``, ``name.y`` and ``name.angle``, whose velocities are the rates of its coordinates. A
    body that moves by a fraction of its joint gets a mimic joint, and so does a joint that a natural constraint ties to
    another; Pinocchio supports these only in ``crba``, ``rnea`` and ``nonLinearEffects``. Points and frames become
    frames. Armature that M has in addition to the bodies, damping and friction go into the model's fields.

    Args:
        robot: robot with a tree of bodies.
        p: its parameters: nominal, overridden by name, or the whole vector.
        q: coordinates near which its loops are closed, shape (nq,); all zero if not given. Only needed for a
            constrained axis, which could point either way.

    Raises:
        BridgeError: for a robot without a tree, or a natural constraint, an absolute angle or a mass matrix that
            Pinocchio cannot represent; the message names it.

    Warns:
        BridgeWarning: for forces that the model cannot represent; :meth:`PinocchioModel.passive` returns them.
    """
    pin: Any = import_optional("pinocchio", "pinocchio")
    if not isinstance(robot, Robot):
        raise BridgeError(f"only a Robot can be exported to Pinocchio, got {robot!r}")
    tree = BodyTree.of(robot, p)
    poses = BodyPoses(robot, tree)
    q0 = neutral_coordinates(robot) if q is None else vector("q", q, robot.coordinates.nq)
    found = identify_joint_constraints(robot, tree, poses, q0)
    if found.unsupported:
        raise BridgeError(
            f"{robot.name}: Pinocchio has no constraint for "
            f"{'; '.join(f'{name!r}, as {why}' for name, why in found.unsupported.items())}"
        )
    model = pin.Model()
    model.gravity.linear = tree.gravity
    model.name = robot.name
    joints = _add_solids(model, robot, tree)
    order = [joints[solid.name] for solid in tree.solids]
    for one in mimic_joints(robot, tree, found.couplings, order):
        model = pin.transformJointIntoMimic(model, order[one.leader], order[one.solid], one.ratio, one.offset)
    _add_frames(model, robot, poses, joints)
    states = PinocchioStateConversion(robot, model)
    _set_limits(model, robot, states)
    loops = tuple(_loop(model, robot, one, joints) for one in found.pins)
    unsupported = set_passive_parameters(robot, tree.p, model, states)
    if unsupported:
        warnings.warn(
            BridgeWarning(
                f"{robot.name}: a Pinocchio model cannot represent forces besides gravity and inertia: "
                f"{'; '.join(unsupported)}. Add .passive(q, v) of the exported model to the forces"
            ),
            stacklevel=caller_stacklevel(),
        )
    return PinocchioModel(robot, tree.p, model, model.createData(), loops, states, unsupported)


def _add_solids(model: Any, robot: Robot, tree: BodyTree) -> dict[str, int]:  # noqa: ANN401 - has no type information
    """Add the bodies branch by branch, as Pinocchio requires; return the index in the model of each body's joint."""
    pin: Any = import_optional("pinocchio", "pinocchio")
    joints = {"": 0}
    nodes = () if robot.tree is None else robot.tree.nodes

    def add(k: int) -> None:
        solid = tree.solids[k]
        parent = 0 if solid.parent == WORLD else joints[tree.solids[solid.parent].name]
        joints[solid.name] = own = _add_joint(model, parent, solid)
        if solid.mass is not None:
            model.appendBodyToJoint(own, _inertia(solid.mass), pin.SE3.Identity())
        for body in nodes[k].bodies:
            if body.ratio is None:
                model.addBodyFrame(body.name, own, pin.SE3.Identity(), 0)
        for child, other in enumerate(tree.solids):
            if other.parent == k:
                add(child)
        placement = pin.SE3(solid.rotation, solid.position)
        for share in solid.proportional_bodies:
            # A body with ratio 0 stays at the placement of the joint.
            carrier, within = parent, placement
            if share.ratio != 0.0:
                follower = pin.JointModelMimic(model.joints[own], share.ratio, 0.0)
                carrier, within = int(model.addJoint(parent, follower, placement, share.name)), pin.SE3.Identity()
            joints[share.name] = carrier
            model.appendBodyToJoint(joints[share.name], _inertia(share.mass), within)
            model.addBodyFrame(share.name, joints[share.name], within, 0)

    for k, solid in enumerate(tree.solids):
        if solid.parent == WORLD:
            add(k)
    return joints


def _inertia(mass: MassProperties) -> Any:  # noqa: ANN401 - has no type information
    pin: Any = import_optional("pinocchio", "pinocchio")
    return pin.Inertia(mass.mass, mass.center, mass.inertia)


def _add_joint(model: Any, parent: int, solid: TreeBody) -> int:  # noqa: ANN401 - has no type information
    pin: Any = import_optional("pinocchio", "pinocchio")
    placement = pin.SE3(solid.rotation, solid.position)
    if solid.kind == "free":
        return int(model.addJoint(parent, pin.JointModelFreeFlyer(), placement, solid.name))
    if solid.kind == "planar":
        for end, axis in zip(("x", "y"), solid.axes[:2], strict=True):
            parent = model.addJoint(parent, _joint_model("Prismatic", axis), placement, f"{solid.name}.{end}")
            placement = pin.SE3.Identity()
        return int(model.addJoint(parent, _joint_model("Revolute", solid.axes[2]), placement, f"{solid.name}.angle"))
    word = "Revolute" if solid.kind == "hinge" else "Prismatic"
    return int(model.addJoint(parent, _joint_model(word, solid.axes[0]), placement, solid.name))


def _joint_model(kind: str, axis: Array) -> Any:  # noqa: ANN401 - has no type information
    pin: Any = import_optional("pinocchio", "pinocchio")
    x, y, z = axis.tolist()
    if (unit := UNITS.get((x, y, z))) is not None:
        return getattr(pin, f"JointModel{kind[0]}{unit}")()
    return getattr(pin, f"JointModel{kind}Unaligned")(axis)


def _add_frames(model: Any, robot: Robot, poses: BodyPoses, joints: Mapping[str, int]) -> None:  # noqa: ANN401
    """Add the points and frames that are fixed in a body."""
    pin: Any = import_optional("pinocchio", "pinocchio")
    frames: dict[str, tuple[ca.SX | None, ca.SX]] = {name: (None, point) for name, point in robot.points.items()}
    frames |= {name: (frame.rotation, frame.position) for name, frame in robot.frames.items()}
    free = {name: frame for name, frame in frames.items() if not model.existFrame(name)}
    for name, (body, R, x) in poses.fixed(free).items():
        model.addFrame(pin.Frame(name, joints[body], 0, pin.SE3(R, x), pin.FrameType.OP_FRAME))


def _set_limits(model: Any, robot: Robot, states: PinocchioStateConversion) -> None:  # noqa: ANN401
    """Set the bounds of joints with the same coordinate in the robot, and of inputs that act on one joint."""
    c, limits = robot.coordinates, robot.limits
    q = neutral_coordinates(robot)
    X, T = states.velocity_jacobian(q), states.inverse_velocity_jacobian(q)
    lower, upper = np.array(model.lowerPositionLimit), np.array(model.upperPositionLimit)
    speed, effort = np.array(model.upperVelocityLimit), np.array(model.upperEffortLimit)
    own_names = {name: own for own, name in states.names.items()}
    for piece in states.pieces:
        indices = np.flatnonzero(X[piece.v])
        if piece.kind == "same" and piece.joint.nq == 1 and len(indices) == 1:
            own = c.names.index(own_names[piece.name])
            lower[piece.q], upper[piece.q] = limits.lower[own], limits.upper[own]
            speed[piece.v] = limits.speed[indices[0]]
    B = constant_values(robot.input_matrix)
    if B is not None:
        for column, bound in zip((T.T @ B).T, limits.effort, strict=True):
            indices = np.flatnonzero(np.abs(column) > 1e-12)
            if len(indices) == 1:
                effort[indices[0]] = bound * abs(column[indices[0]])
    # Pinocchio writes no bound as the largest number.
    lower, upper, speed, effort = (np.clip(bound, -BOUNDLESS, BOUNDLESS) for bound in (lower, upper, speed, effort))
    model.lowerPositionLimit, model.upperPositionLimit = lower, upper
    model.upperVelocityLimit, model.lowerVelocityLimit = speed, -speed
    model.upperEffortLimit, model.lowerEffortLimit = effort, -effort


def _loop(
    model: Any,  # noqa: ANN401 - has no type information
    robot: Robot,
    pair: PointConstraint,
    joints: Mapping[str, int],
) -> pinocchio.RigidConstraintModel:
    """Build the constraint of two coinciding points, with the gains of their natural constraint."""
    pin: Any = import_optional("pinocchio", "pinocchio")
    equation = next(one.perturbation for one in robot.natural if one.name == pair.name)
    if not isinstance(equation, Baumgarte):
        raise BridgeError(
            f"{robot.name}: deviations of {pair.name!r} obey {equation!r}, but Pinocchio's constraints support only "
            "Baumgarte"
        )
    # In Pinocchio the second body may be the world, the first may not.
    sides = ((joints[pair.first], pair.point), (joints[pair.second], pair.other))
    (first, anchor), (second, other) = sides if sides[0][0] else sides[::-1]
    one = np.eye(3)
    found: pinocchio.RigidConstraintModel = pin.RigidConstraintModel(
        *(pin.ContactType.CONTACT_3D, model, first, pin.SE3(one, anchor), second, pin.SE3(one, other)),
        pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
    )
    found.name = pair.name
    gains = found.m_baumgarte_parameters
    gains.Kp, gains.Kd = equation.gains["beta"] ** 2, 2.0 * equation.gains["alpha"]
    return found
