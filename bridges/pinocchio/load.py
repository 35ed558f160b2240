"""Conversion of a Pinocchio model to a robot: joints, bodies, rotor inertias, and constraint models as closed loops."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints import Baumgarte, Perturbation
from ...constraints.constraint import Constraint
from ...constraints.relations.expression import holonomic
from ...robots.dynamics import Dynamics
from ...robots.families.tree_system import tree_system
from ...robots.formulations import Formulation
from ...robots.frame import Frame
from ...robots.limits import Limits
from ...robots.mechanisms.mechanism import Closure, mechanism
from ...robots.robot import Robot
from ...robots.tree import Floating, Prismatic, Revolute
from ...robots.tree.body import Body
from ...robots.tree.joints import WORLD, Node
from ...robots.tree.tree import Tree
from ...symbolic.errors import BridgeError, BridgeWarning, caller_stacklevel
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.parameters import Parameters, Range
from ..common.body_tree import require_tree
from .joint_conversion import ConvertedJoint, convert_joints
from .pinocchio_model import PinocchioModel

if TYPE_CHECKING:
    import pinocchio


def with_armature(robot: Robot, armature: Mapping[str, ca.SX]) -> Robot:
    """Return the robot with M + diag(armature) and T + ½ Σ armature v²; h is unchanged, as M changes by a constant.

    Args:
        robot: robot without armature.
        armature: inertia at the joint by the name of its coordinate, whose rate is its velocity [kg m² or kg];
            expressions in the robot's parameters.
    """
    if not armature:
        return robot
    c, plain = robot.coordinates, robot.dynamics
    added = ca.SX(ca.DM.zeros(c.nv))
    rates = [c.v[i].name() for i in range(c.nv)]
    for name, value in armature.items():
        added[rates.index(f"v_{name}")] = value
    return dataclasses.replace(
        robot,
        dynamics=Dynamics(
            mass_matrix=lambda: plain.mass_matrix + ca.diag(added),
            bias=lambda: plain.bias,
            kinetic_energy=lambda: plain.kinetic_energy + ca.dot(added, c.v**2) / 2,
            potential_energy=lambda: plain.potential_energy,
        ),
    )


Array = NDArray[np.float64]


def close_loops(robot: Robot, model: Any, parts: Sequence[ConvertedJoint], constraints: Sequence[Any]) -> Robot:  # noqa: ANN401
    """Return the robot with closed loops; reactions have least norm, as rows may depend on each other.

    Args:
        robot: robot of the model's tree.
        model: the Pinocchio model.
        parts: its joints.
        constraints: ``RigidConstraintModel`` s, or point and frame anchors.

    Raises:
        BridgeError: for another kind of constraint, one with compliance or with a joint that the model does not have.
    """
    pin: Any = import_optional("pinocchio", "pinocchio")
    last, without_gains = {part.index: k for k, part in enumerate(parts)}, list[str]()
    used = {constraint.name for constraint in robot.natural}
    for number, given in enumerate(constraints, 1):
        constraint = _rigid(pin, model, given, number)
        name = str(constraint.name) or f"loop {number}"
        while name in used:
            name = f"{name} again"
        used.add(name)
        sides = [
            _side(robot, last, int(joint), pose, name)
            for joint, pose in (
                (constraint.joint1_id, constraint.joint1_placement),
                (constraint.joint2_id, constraint.joint2_placement),
            )
        ]
        equation = _equation(constraint.m_baumgarte_parameters, name, without_gains)
        closures = [Closure(sides[0].position, sides[1].position, name)]
        if constraint.type == pin.ContactType.CONTACT_6D:
            a, b = sides[0].rotation, sides[1].rotation
            turned = ca.vertcat(*(ca.dot(a[:, i], b[:, j]) for i, j in ((1, 2), (2, 0), (0, 1))))
            closures.append(Closure(turned, ca.SX(ca.DM.zeros(3)), f"{name}.turn"))
        robot = mechanism(robot, closures, name=robot.name, perturbation=equation, redundant="least-norm")
    if without_gains:
        warnings.warn(
            BridgeWarning(
                f"the constraints {', '.join(without_gains)} of Pinocchio have no gains against drift; the robot uses "
                f"those of {Baumgarte()}, which have no effect while the loops are closed"
            ),
            stacklevel=caller_stacklevel(),
        )
    return robot


def _rigid(pin: Any, model: Any, given: Any, number: int) -> Any:  # noqa: ANN401 - has no type information
    """Return a rigid constraint; an anchor is converted to one."""
    if isinstance(given, pin.PointAnchorConstraintModel | pin.FrameAnchorConstraintModel):
        given = pin.convertToRigidConstraintModel(model, given)
    if not isinstance(given, pin.RigidConstraintModel):
        raise BridgeError(
            f"constraint {number} is a {type(given).__name__}, which cannot be converted; supported are "
            "RigidConstraintModel, PointAnchorConstraintModel and FrameAnchorConstraintModel"
        )
    label = str(given.name) or number
    moved = [given.desired_contact_velocity.vector, given.desired_contact_acceleration.vector]
    placed = given.desired_contact_placement
    if any(np.any(np.array(x)) for x in moved) or not placed.isIdentity(0.0):
        raise BridgeError(
            f"constraint {label!r} must have no desired placement, velocity or acceleration of its frames"
        )
    if max(int(given.joint1_id), int(given.joint2_id)) >= int(model.njoints):
        raise BridgeError(f"constraint {label!r} has a joint that the model does not have: it belongs to another model")
    return given


def _side(robot: Robot, last: dict[int, int], joint: int, pose: Any, name: str) -> Frame:  # noqa: ANN401
    turn, position = (np.array(x, dtype=np.float64) for x in (pose.rotation, pose.translation))
    frame = Frame(ca.SX(ca.DM(turn)), ca.SX(ca.DM(position)))
    if joint == 0:
        return frame
    if joint not in last:
        raise BridgeError(f"constraint {name!r} has joint {joint}, which the model does not have")
    return require_tree(robot).points.attach(last[joint], frame)


def _equation(gains: Any, name: str, without_gains: list[str]) -> Perturbation:  # noqa: ANN401 - has no type information
    stiff, damped = float(gains.Kp), float(gains.Kd)
    if stiff == 0.0 and damped == 0.0:
        without_gains.append(name)
        return Baumgarte()
    if not (stiff > 0.0 and damped > 0.0):
        raise BridgeError(
            f"the gains Kp = {stiff:g} and Kd = {damped:g} of constraint {name!r} do not make deviations decay: "
            "set both positive, or both zero"
        )
    return Baumgarte(damped / 2.0, math.sqrt(stiff))


MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
BOUNDLESS = 1e300
"""Bounds beyond this count as none: Pinocchio writes no bound as the largest number."""


def load(
    model: pinocchio.Model | PinocchioModel,
    constraints: Sequence[pinocchio.RigidConstraintModel] | None = None,
    *,
    dissipation: bool = False,
    formulation: Formulation | None = None,
) -> Robot:
    """Build the robot M(q) a + h(q, v) = B u + Aᵀ μ of a ``pinocchio.Model``.

    *Joints.* Hinges, slides, planar and floating joints keep their names; a hinge that Pinocchio writes as cosine and
    sine has an angle, and the velocities of a planar joint are the rates of (x, y, angle). Composite and universal
    joints, translations and ``SphericalZYX`` become several in a row, ``name.1``, ``name.2``, or by axis ``name.x``;
    :class:`PinocchioStateConversion` converts states. A mimic joint keeps a coordinate, with a natural constraint.

    *Parameters.* ``g``; for each joint with mass ``<body>.mass``, ``.cx``, ``.cy``, ``.cz``, ``.ixx`` … in its axes and
    about the centre of mass: bodies that are fixed to each other are one in Pinocchio, named after the first; and
    ``<joint>.armature`` where the model has armature.

    *Inputs.* A torque or force on each velocity, except those of floating and mimic joints.

    Args:
        model: a Pinocchio model, or the result of :func:`export`, whose constraints are used by default.
        constraints: closed loops: ``RigidConstraintModel`` s, or point and frame anchors.
        dissipation: True to include the model's damping and friction in h, as d v and f sign(v); Pinocchio's
            algorithms leave them out.
        formulation: how the equations are derived; ``Articulated()`` if not given.

    Raises:
        BridgeError: for a joint or constraint that cannot be converted, by name.

    Warns:
        BridgeWarning: about damping and friction that are left out, and constraints without gains.
    """
    pin: Any = import_optional("pinocchio", "pinocchio")
    if isinstance(model, PinocchioModel):
        constraints = model.constraints if constraints is None else constraints
        model = model.model
    if not isinstance(model, pin.Model):
        raise BridgeError(f"model must be a pinocchio.Model, got {model!r}")
    parts = convert_joints(model)
    if not parts:
        raise BridgeError("the Pinocchio model has no joints, so nothing in it can move")
    names = _body_names(model, parts)
    parameters, direction = _declare(model, parts, names, dissipation)
    symbols = dict(parameters)
    tree = Tree(_nodes(model, parts, names, symbols), ca.SX(ca.DM(direction)) * symbols["g"])
    c = tree.coordinates
    driven = [
        not isinstance(part.joint, Floating) and part.kind != "follower" for part in parts for _ in range(part.joint.nv)
    ]
    at = [index for indices in tree.velocity_indices for index in indices]
    chosen = [at[i] for i, has_input in enumerate(driven) if has_input]
    units = [unit for part in parts for unit in part.joint.input_units]
    robot = tree_system(
        tree,
        parameters=parameters,
        u=ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(f"u_{c.v[i].name().removeprefix('v_')}") for i in chosen)),
        B=ca.SX(ca.DM(np.eye(c.nv)[:, chosen])),
        resistance=_resistance(model, parts, c.v, symbols),
        natural=_followers(parts, c.q, c.names),
        **_places(model, parts, tree),
        input_units=[units[i] for i, has_input in enumerate(driven) if has_input],
        limits=_limits(model, parts, driven),
        formulation=formulation,
        name=str(model.name) or "Pinocchio model",
    )
    robot = with_armature(robot, {name: symbols[f"{name}.armature"] for name in _armatures(model, parts)})
    return close_loops(robot, model, parts, () if constraints is None else tuple(constraints))


def _body_names(model: Any, parts: Sequence[ConvertedJoint]) -> dict[int, str]:  # noqa: ANN401 - has no type information
    """Return the name of the body on each joint: that of its first body frame with an unused name, or of the joint."""
    pin: Any = import_optional("pinocchio", "pinocchio")
    found: dict[int, str] = {}
    for frame in model.frames:
        joint = int(frame.parentJoint)
        if frame.type == pin.FrameType.BODY and joint not in found and str(frame.name) not in found.values():
            found[joint] = str(frame.name)
    return {part.index: found.get(part.index, str(model.names[part.index])) for part in parts}


def _declare(
    model: Any,  # noqa: ANN401 - has no type information
    parts: Sequence[ConvertedJoint],
    names: dict[int, str],
    dissipation: bool,
) -> tuple[Parameters, Array]:
    """Return the parameters, and the direction of gravity."""
    fall = np.array(model.gravity.linear, dtype=np.float64)
    g = float(np.linalg.norm(fall))
    values, ranges = {"g": g}, dict[str, Range]()
    for part in parts:
        if not part.last:
            continue
        body, name = model.inertias[part.index], names[part.index]
        I = np.array(body.inertia, dtype=np.float64)
        entries = (I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2])
        values |= {f"{name}.mass": float(body.mass)}
        values |= {
            f"{name}.c{axis}": float(x)
            for axis, x in zip("xyz", np.array(body.lever, dtype=np.float64).tolist(), strict=True)
        }
        values |= {f"{name}.{moment}": float(x) for moment, x in zip(MOMENTS, entries, strict=True)}
        ranges[f"{name}.mass"] = Range.NOT_NEGATIVE
    for name, value in _armatures(model, parts).items():
        values[f"{name}.armature"], ranges[f"{name}.armature"] = value, Range.NOT_NEGATIVE
    resistances = [
        (p.name, w, x)
        for p in parts
        for w, x in zip(("damping", "friction"), _damping_and_friction(model, p), strict=True)
        if x
    ]
    if resistances and not dissipation:
        warnings.warn(
            BridgeWarning(
                "Pinocchio's algorithms leave out "
                f"{', '.join(f'{word} of {name}' for name, word, _ in resistances)}, which the model lists, and so "
                "does the robot; dissipation=True includes it in h"
            ),
            stacklevel=caller_stacklevel(),
        )
    elif dissipation:
        for name, word, value in resistances:
            values[f"{name}.{word}"], ranges[f"{name}.{word}"] = value, Range.NOT_NEGATIVE
    return Parameters.declare(values, ranges=ranges), np.array([0.0, 0.0, -1.0]) if g == 0.0 else fall / g


def _damping_and_friction(model: Any, part: ConvertedJoint) -> tuple[float, float]:  # noqa: ANN401 - has no type information
    """Return damping and friction of a joint with one velocity, zero for other joints."""
    if part.kind == "follower" or part.joint.nv != 1:
        return 0.0, 0.0
    return float(model.damping[part.v]), float(model.upperDryFrictionLimit[part.v])


def _armatures(model: Any, parts: Sequence[ConvertedJoint]) -> dict[str, float]:  # noqa: ANN401
    """Return the inertia that Pinocchio adds to the diagonal of M, by the name of the joint."""
    found: dict[str, float] = {}
    for part in parts:
        own = [] if part.kind == "follower" else [float(x) for x in model.armature[part.v : part.v + part.joint.nv]]
        if any(own) and part.joint.nv > 1:
            raise BridgeError(
                f"the joint {part.name!r} of the Pinocchio model has armature on several velocities: a Robot can "
                "represent it only on joints with one"
            )
        if any(own):
            found[part.name] = own[0]
    return found


def _nodes(
    model: Any,  # noqa: ANN401 - has no type information
    parts: Sequence[ConvertedJoint],
    names: dict[int, str],
    symbols: dict[str, ca.SX],
) -> tuple[Node, ...]:
    last: dict[int, int] = {0: WORLD}
    nodes: list[Node] = []
    for k, part in enumerate(parts):
        same = k > 0 and parts[k - 1].index == part.index
        parent = k - 1 if same else last[int(model.parents[part.index])]
        last[part.index] = k
        bodies = (_body(names[part.index], symbols),) if part.last else ()
        pose = Frame(ca.SX(ca.DM(part.rotation)), ca.SX(ca.DM(part.position)))
        nodes.append(Node(name=part.name, parent=parent, placement=pose, joint=part.joint, bodies=bodies))
    return tuple(nodes)


def _body(name: str, symbols: dict[str, ca.SX]) -> Body:
    xx, xy, xz, yy, yz, zz = (symbols[f"{name}.{moment}"] for moment in MOMENTS)
    inertia = ca.vertcat(ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))
    center = ca.vertcat(*(symbols[f"{name}.c{axis}"] for axis in "xyz"))
    return Body(name=name, mass=symbols[f"{name}.mass"], center=center, inertia=inertia)


def _resistance(model: Any, parts: Sequence[ConvertedJoint], v: ca.SX, symbols: dict[str, ca.SX]) -> ca.SX:  # noqa: ANN401
    rows: list[ca.SX] = []
    for part in parts:
        for _ in range(part.joint.nv):
            own, zero = v[len(rows)], ca.SX(0)
            damping, friction = (symbols.get(f"{part.name}.{word}", zero) for word in ("damping", "friction"))
            rows.append(damping * own + friction * ca.sign(own))
    return ca.vertcat(*rows)


def _followers(parts: Sequence[ConvertedJoint], q: ca.SX, names: Sequence[str]) -> list[Constraint]:
    at = {part.q: part.name for part in parts if part.kind == "same" and part.joint.nq == 1}
    return [
        holonomic(q[names.index(p.name)] - p.ratio * q[names.index(at[p.q])] - p.offset, name=f"{p.name}.mimic")
        for p in parts
        if p.kind == "follower"
    ]


def _places(model: Any, parts: Sequence[ConvertedJoint], tree: Tree) -> dict[str, Any]:  # noqa: ANN401
    """Return points and frames from the model's frames, except those of joints, which have the joints' names."""
    pin: Any = import_optional("pinocchio", "pinocchio")
    last = {part.index: k for k, part in enumerate(parts)}
    joints = (pin.FrameType.JOINT, pin.FrameType.FIXED_JOINT)
    frames: dict[str, Frame] = {}
    for frame in model.frames:
        joint, name = int(frame.parentJoint), str(frame.name)
        if frame.type in joints or name in frames or name == "universe":
            continue
        turn = np.array(frame.placement.rotation, dtype=np.float64)
        pose = Frame(ca.SX(ca.DM(turn)), ca.SX(ca.DM(np.array(frame.placement.translation, dtype=np.float64))))
        frames[name] = pose if joint == 0 else tree.points.attach(last[joint], pose)
    return {"frames": frames, "points": {name: frame.position for name, frame in frames.items()}}


def _limits(model: Any, parts: Sequence[ConvertedJoint], driven: Sequence[bool]) -> Limits:  # noqa: ANN401
    columns: dict[str, list[float]] = {"lower": [], "upper": [], "speed": [], "effort": []}
    for part in parts:
        bounded = part.kind == "same" and isinstance(part.joint, Revolute | Prismatic)
        for _ in range(part.joint.nq):
            columns["lower"].append(_bound(model.lowerPositionLimit[part.q]) if bounded else -math.inf)
            columns["upper"].append(_bound(model.upperPositionLimit[part.q]) if bounded else math.inf)
        for k in range(part.joint.nv):
            own = part.kind != "follower"
            columns["speed"].append(abs(_bound(model.upperVelocityLimit[part.v + k])) if own else math.inf)
            if driven[len(columns["speed"]) - 1]:
                columns["effort"].append(abs(_bound(model.upperEffortLimit[part.v + k])))
    return Limits(*(np.array(column) for column in columns.values()))


def _bound(value: float) -> float:
    return float(value) if abs(value) < BOUNDLESS else math.copysign(math.inf, value)
