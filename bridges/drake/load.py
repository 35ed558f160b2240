"""Conversion of a MultibodyPlant to a robot: joints, bodies, actuators, limits, and unsupported features."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.families.tree_system import tree_system
from ...robots.frame import Frame
from ...robots.limits import Limits
from ...robots.robot import Robot
from ...robots.tree import Floating, Joint, Planar, Prismatic, Revolute
from ...robots.tree.body import Body
from ...robots.tree.joints import WORLD, Node
from ...robots.tree.tree import Tree
from ...symbolic.errors import BridgeError, BridgeWarning, caller_stacklevel
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.parameters import Parameters, Range
from .log_capture import drake_errors, log_as_warning
from .multibody_plant import DrakeJoint, ModelInstanceIndex, MultibodyPlant, RigidTransform, all_bodies, mass_properties

Array = NDArray[np.float64]
SUPPORTED_JOINTS = ("revolute", "prismatic", "planar", "quaternion_floating", "weld")


@dataclass(frozen=True, eq=False)
class LoadedJoint:
    """A joint or a weld, with its child body.

    Attributes:
        name: name of the joint, prefixed by that of its model if two joints have the same name.
        index: index of the joint in Drake.
        body: index of the child body.
        joint: the robot's joint; None for a weld.
        carrier: the moving joint to whose frame the body is fixed: this one, or the one before a weld; None for the
            world.
        above: the moving joint before this one; None for the world.
        start_rotation: rotation of the joint's frame in the frame of ``above``, shape (3, 3).
        start_position: position of the joint's frame in the frame of ``above``, shape (3,) [m].
        rotation: rotation of the body in the frame of ``carrier``, shape (3, 3).
        position: position of the body in the frame of ``carrier``, shape (3,) [m].
        damping: damping of each velocity, shape (nv,).
        lower: lower limits of the coordinates, shape (nq,).
        upper: upper limits of the coordinates, shape (nq,).
        speed: limits of |v|, shape (nv,).
    """

    name: str
    index: int
    body: int
    joint: Joint | None
    carrier: LoadedJoint | None
    above: LoadedJoint | None
    start_rotation: Array
    start_position: Array
    rotation: Array
    position: Array
    damping: Array
    lower: Array
    upper: Array
    speed: Array

    @property
    def moving_joint(self) -> Joint:
        """The robot's joint, if this is not a weld."""
        assert self.joint is not None
        return self.joint


def load_joints(plant: MultibodyPlant) -> list[LoadedJoint]:
    """All joints, parents before their children.

    Args:
        plant: the plant, finalized.

    Raises:
        BridgeError: for an unsupported kind of joint, a body with two parent joints, a joint whose child is the world,
            or a damped floating joint.
    """
    joints = [plant.get_joint(index) for index in plant.GetJointIndices()]
    names = [joint.name() for joint in joints]
    odd = [f"{joint.name()!r} ({joint.type_name()})" for joint in joints if joint.type_name() not in SUPPORTED_JOINTS]
    if odd:
        raise BridgeError(
            f"unsupported joint types: {', '.join(odd)}. Supported types are {', '.join(SUPPORTED_JOINTS)}: replace a "
            "ball or universal joint by successive revolute joints, rpy_floating by quaternion_floating"
        )
    children: dict[int, list[DrakeJoint]] = {}
    parents: dict[int, str] = {}
    for joint in joints:
        child = int(joint.child_body().index())
        if child in parents:
            raise BridgeError(
                f"body {joint.child_body().name()!r} is the child of two joints, {parents[child]!r} and "
                f"{joint.name()!r}: only trees can be loaded; close loops by mechanism() on the robot of the open tree"
            )
        if child == 0:
            raise BridgeError(f"joint {joint.name()!r} has the world as its child: exchange parent and child")
        parents[child] = joint.name()
        children.setdefault(int(joint.parent_body().index()), []).append(joint)
    found: list[LoadedJoint] = []
    world = (None, np.eye(3), np.zeros(3))
    pending: list[tuple[DrakeJoint, tuple[LoadedJoint | None, Array, Array]]] = []
    pending += [(joint, world) for joint in reversed(children.get(0, []))]
    while pending:
        joint, parent = pending.pop()
        label = joint.name() if names.count(joint.name()) == 1 else _scoped_name(plant, joint)
        loaded = _load_joint(joint, label, *parent)
        found.append(loaded)
        own = (loaded.carrier, loaded.rotation, loaded.position)
        pending += [(after, own) for after in reversed(children.get(loaded.body, []))]
    return found


def _scoped_name(plant: MultibodyPlant, joint: DrakeJoint) -> str:
    return f"{plant.GetModelInstanceName(joint.model_instance())}::{joint.name()}"


def _load_joint(
    joint: DrakeJoint, name: str, above: LoadedJoint | None, rotation: Array, position: Array
) -> LoadedJoint:
    """Convert one joint; its parent body has this pose in the frame of ``above``."""
    before, after = _pose(joint.frame_on_parent().GetFixedPoseInBodyFrame()), joint.frame_on_child()
    start = _compose((rotation, position), before)
    R, x = _pose(after.GetFixedPoseInBodyFrame())
    back = R.T, -R.T @ x
    kind = _joint(joint)
    if kind is None:
        turned = _compose(start, _pose(joint.X_FM()))
        body, carrier = _compose(turned, back), above
    else:
        body, carrier = back, None
    damping = np.zeros(0) if kind is None else np.array(joint.default_damping_vector())
    if isinstance(kind, Floating) and damping.any():
        raise BridgeError(f"the floating joint {name!r} has damping, which is not supported: set it to zero")
    loaded = LoadedJoint(
        *(name, int(joint.index()), int(joint.child_body().index()), kind, carrier, above),
        *(*start, *body, damping),
        lower=np.array(joint.position_lower_limits()),
        upper=np.array(joint.position_upper_limits()),
        speed=_speed_limits(joint),
    )
    if kind is not None:
        # Its child body is fixed to its own frame.
        object.__setattr__(loaded, "carrier", loaded)
    return loaded


def _joint(joint: DrakeJoint) -> Joint | None:
    axes: Mapping[str, str] = {"revolute": "revolute_axis", "prismatic": "translation_axis"}
    kind = joint.type_name()
    if kind in axes:
        axis = tuple(float(x) for x in getattr(joint, axes[kind])())
        return Revolute(axis) if kind == "revolute" else Prismatic(axis)
    if kind == "planar":
        return Planar()
    return Floating() if kind == "quaternion_floating" else None


def _speed_limits(joint: DrakeJoint) -> Array:
    bounds = np.abs(np.array([joint.velocity_lower_limits(), joint.velocity_upper_limits()]))
    return np.asarray(bounds.min(axis=0))


def _pose(X: RigidTransform) -> tuple[Array, Array]:
    rotation, translation = X.rotation().matrix(), X.translation()
    return np.array(rotation), np.array(translation)


def _compose(first: tuple[Array, Array], second: tuple[Array, Array]) -> tuple[Array, Array]:
    return first[0] @ second[0], first[0] @ second[1] + first[1]


UNSUPPORTED_FEATURES = ("rotors", "constraints", "forces", "controllers")


def check_unsupported(plant: MultibodyPlant, name: str, ignore: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Raise for unsupported features, or warn about those that are ignored.

    Args:
        plant: the plant, finalized.
        name: name of the model, for messages.
        ignore: kinds of features that are left out with a warning.

    Returns:
        Springs of joints: name of the joint → stiffness and rest coordinate.

    Raises:
        BridgeError: for unsupported features that are not ignored, or an unknown kind in ``ignore``.
    """
    unknown = [word for word in ignore if word not in UNSUPPORTED_FEATURES]
    if unknown:
        raise BridgeError(
            f"ignore must contain only {', '.join(map(repr, UNSUPPORTED_FEATURES))}, got "
            f"{', '.join(map(repr, unknown))}"
        )
    springs, forces = _force_elements(plant)
    actuators = [plant.get_joint_actuator(index) for index in plant.GetJointActuatorIndices()]
    rotors = [a for a in actuators if a.default_reflected_inertia()]
    found = {
        "rotors": [f"actuator {a.name()!r} reflects {a.default_reflected_inertia():g} (kg m² or kg)" for a in rotors],
        "constraints": [f"{plant.num_constraints()} constraint(s)"] if plant.num_constraints() else [],
        "forces": forces,
        "controllers": [f"actuator {a.name()!r} has a PD controller" for a in actuators if a.has_controller()],
    }
    unsupported = [text for word in UNSUPPORTED_FEATURES if word not in ignore for text in found[word]]
    if unsupported:
        words = [word for word in UNSUPPORTED_FEATURES if found[word] and word not in ignore]
        raise BridgeError(
            f"{name} has features that a Robot cannot represent: {'; '.join(unsupported)}. Remove them from the plant, "
            f"or pass ignore={tuple(words)!r} to load the rest"
        )
    ignored = [text for word in ignore for text in found[word]]
    if plant.num_collision_geometries():
        ignored.append(f"{plant.num_collision_geometries()} collision geometries")
    if ignored:
        warnings.warn(f"left out of {name}: {'; '.join(ignored)}", BridgeWarning, stacklevel=caller_stacklevel())
    return springs


def _force_elements(plant: MultibodyPlant) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Springs of joints, and sentences on other force elements except gravity."""
    tree = import_optional("pydrake.multibody.tree", "drake")
    springs: dict[str, tuple[float, float]] = {}
    others: list[str] = []
    for i in range(plant.num_force_elements()):
        element = plant.get_force_element(tree.ForceElementIndex(i))
        if isinstance(element, tree.RevoluteSpring):
            springs[element.joint().name()] = (
                float(element.default_stiffness()),
                float(element.default_nominal_angle()),
            )
        elif isinstance(element, tree.PrismaticSpring):
            springs[element.joint().name()] = (float(element.stiffness()), float(element.nominal_position()))
        elif type(element).__name__ not in ("UniformGravityFieldElement", "GravityForceField"):
            others.append(f"force element {i}, a {type(element).__name__}")
    gravity_off = [
        str(plant.GetModelInstanceName(body.model_instance()))
        for body in all_bodies(plant)
        if not plant.is_gravity_enabled(body.model_instance())
    ]
    others += [f"gravity switched off for {name!r}" for name in dict.fromkeys(gravity_off)]
    return springs, others


MOMENTS = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}


def load(
    source: MultibodyPlant | str | os.PathLike[str],
    *,
    base: Literal["fixed", "floating"] = "fixed",
    ignore: tuple[str, ...] = (),
    name: str | None = None,
) -> Robot:
    """Convert a plant to a robot, M(q) a + h(q, v) = B u, with the plant's names of joints and bodies.

    *Joints.* Revolute, prismatic, planar and quaternion-floating joints are converted, in the order of the tree; a
    welded body belongs to the node of its parent. *Inputs.* The plant's JointActuators; without any, a torque or force
    on each velocity except those of floating joints. *Parameters.* ``g`` along the plant's gravity; ``<body>.mass``,
    ``.cx``, ``.cy``, ``.cz`` and ``.ixx`` … ``.izz`` about the centre of mass in the body's frame; ``<joint>.damping``,
    ``.stiffness`` and ``.rest`` if the joint has any. Limits are stored as data.

    Args:
        source: a finalized plant, or a file that Drake's parser reads (URDF, SDFormat, MJCF, .dmd.yaml).
        base: for a file: ``"fixed"`` welds each free model to the world, ``"floating"`` lets it move.
        ignore: kinds of features to be left out with a BridgeWarning: any of ``"rotors"``, ``"constraints"``,
            ``"forces"``, ``"controllers"``.
        name: name of the robot; that of the model if not given.

    Raises:
        BridgeError: for unsupported features, listed by name; a file that Drake cannot read; a plant without joints.
        MissingPackageError: if Drake is not installed.

    Warns:
        BridgeWarning: for features that are left out, such as collision geometry.
    """
    if base not in ("fixed", "floating"):
        raise BridgeError(f"base must be 'fixed' or 'floating', got {base!r}")
    is_file = isinstance(source, str) or hasattr(source, "__fspath__")
    plant: MultibodyPlant = _read(source, base) if is_file else source
    if not hasattr(plant, "is_finalized") or not plant.is_finalized():
        raise BridgeError(f"source must be a finalized MultibodyPlant or the path of a file, got {source!r}")
    label = name or _model_name(plant)
    springs = check_unsupported(plant, label, ignore)
    joints = load_joints(plant)
    moving = [joint for joint in joints if joint.joint is not None]
    if not moving:
        raise BridgeError(f"{label}: the plant has no moving joint; for a file, base='floating' lets its model move")
    names = _body_names(plant)
    parameters = _declare(plant, moving, names, springs)
    own = dict(parameters)
    carried: dict[int, list[Body]] = {}
    frames: dict[str, tuple[int, Frame]] = {}
    index = {id(joint): k for k, joint in enumerate(moving)}
    for joint in joints:
        node = WORLD if joint.carrier is None else index[id(joint.carrier)]
        frame = Frame(ca.SX(ca.DM(joint.rotation)), ca.SX(ca.DM(joint.position)))
        frames[names[joint.body]] = (node, frame)
        if node != WORLD and f"{names[joint.body]}.mass" in own:
            carried.setdefault(node, []).append(_body(names[joint.body], frame, own))
    nodes = tuple(
        Node(
            name=m.name,
            parent=WORLD if m.above is None else index[id(m.above)],
            placement=Frame(ca.SX(ca.DM(m.start_rotation)), ca.SX(ca.DM(m.start_position))),
            joint=m.moving_joint,
            bodies=tuple(carried.get(k, ())),
        )
        for k, m in enumerate(moving)
    )
    tree = Tree(nodes, ca.SX(ca.DM(_direction(plant))) * parameters["g"])
    c = tree.coordinates
    inputs, driven, units, effort = _inputs(plant, tree, moving)
    u = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(each) for each in inputs))
    poses = {key: pose if node == WORLD else tree.points.attach(node, pose) for key, (node, pose) in frames.items()}
    lower, upper, speed = (np.concatenate([getattr(m, key) for m in moving]) for key in ("lower", "upper", "speed"))
    potential, resistance = ca.SX(0), ca.SX(ca.DM.zeros(c.nv))
    for made, at in zip(tree.nodes, tree.velocity_indices, strict=True):
        for i, iv in enumerate(at):
            damping = own.get(_damping_name(made.name, i, len(at)))
            if damping is not None:
                resistance[iv] += damping * c.v[iv]
        if f"{made.name}.stiffness" in own:
            q = c.q[c.names.index(made.name)]
            potential += own[f"{made.name}.stiffness"] * (q - own[f"{made.name}.rest"]) ** 2 / 2
    return tree_system(
        tree,
        parameters=parameters,
        u=u,
        B=ca.SX(ca.DM(np.eye(c.nv)[:, driven])),
        V=potential,
        resistance=resistance,
        points={key: frame.position for key, frame in poses.items()},
        frames=poses,
        input_units=units,
        limits=Limits(lower, upper, speed, np.array(effort)),
        name=label,
    )


def _read(path: str | os.PathLike[str], base: str) -> MultibodyPlant:
    multibody, parsing = (
        import_optional("pydrake.multibody.plant", "drake"),
        import_optional("pydrake.multibody.parsing", "drake"),
    )
    plant: MultibodyPlant = multibody.MultibodyPlant(0.0)
    file = Path(path)
    if not file.is_file():
        raise BridgeError(f"the file {file} does not exist")
    with drake_errors(f"the file {file}"):
        with log_as_warning(file.name):
            parsing.Parser(plant).AddModels(file)
        if base == "fixed":
            for body in _roots(plant):
                plant.WeldFrames(plant.world_frame(), plant.GetBodyByName(*body).body_frame())
        plant.Finalize()
    return plant


def _roots(plant: MultibodyPlant) -> list[tuple[str, ModelInstanceIndex]]:
    """Bodies without a parent joint."""
    joints = [plant.get_joint(index) for index in plant.GetJointIndices()]
    children = {joint.child_body().index() for joint in joints}
    return [(body.name(), body.model_instance()) for body in all_bodies(plant) if body.index() not in children]


def _model_name(plant: MultibodyPlant) -> str:
    bodies = all_bodies(plant)
    return str(plant.GetModelInstanceName(bodies[0].model_instance())) if bodies else "plant"


def _body_names(plant: MultibodyPlant) -> dict[int, str]:
    """Index of each body → its name, prefixed by that of its model if two bodies have the same name."""
    bodies = all_bodies(plant)
    names = [body.name() for body in bodies]
    return {
        int(body.index()): body.name() if names.count(body.name()) == 1 else str(body.scoped_name()) for body in bodies
    }


def _declare(
    plant: MultibodyPlant,
    moving: list[LoadedJoint],
    names: Mapping[int, str],
    springs: Mapping[str, tuple[float, float]],
) -> Parameters:
    values = {"g": float(np.linalg.norm(plant.gravity_field().gravity_vector()))}
    ranges: dict[str, Range] = {}
    for body in all_bodies(plant):
        mass, center, inertia = mass_properties(body)
        label = names[int(body.index())]
        if mass > 0.0:
            values[f"{label}.mass"] = mass
            values |= {f"{label}.{key}": float(x) for key, x in zip(("cx", "cy", "cz"), center, strict=True)}
            values |= {f"{label}.{key}": float(inertia[at]) for key, at in MOMENTS.items()}
            ranges[f"{label}.mass"] = Range.NOT_NEGATIVE
    for joint in moving:
        for i, damping in enumerate(joint.damping.tolist()):
            if damping:
                values[_damping_name(joint.name, i, len(joint.damping))] = damping
                ranges[_damping_name(joint.name, i, len(joint.damping))] = Range.NOT_NEGATIVE
        if joint.name in springs:
            values[f"{joint.name}.stiffness"], values[f"{joint.name}.rest"] = springs[joint.name]
    return Parameters.declare(values, ranges=ranges)


def _damping_name(joint: str, i: int, count: int) -> str:
    return f"{joint}.damping" if count == 1 else f"{joint}.damping{i + 1}"


def _body(name: str, frame: Frame, own: Mapping[str, ca.SX]) -> Body:
    center = ca.vertcat(*(own[f"{name}.{key}"] for key in ("cx", "cy", "cz")))
    moments = ca.SX(3, 3)
    for key, (i, j) in MOMENTS.items():
        moments[i, j] = moments[j, i] = own[f"{name}.{key}"]
    R = frame.rotation
    return Body(name=name, mass=own[f"{name}.mass"], center=frame.point(center), inertia=R @ moments @ R.T)


def _direction(plant: MultibodyPlant) -> Array:
    gravity = np.array(plant.gravity_field().gravity_vector())
    size = float(np.linalg.norm(gravity))
    return gravity / size if size else np.array([0.0, 0.0, -1.0])


def _inputs(
    plant: MultibodyPlant, tree: Tree, moving: list[LoadedJoint]
) -> tuple[list[str], list[int], list[str], list[float]]:
    """Names of the inputs, indices of their velocities, units and limits."""
    actuators = [plant.get_joint_actuator(index) for index in plant.GetJointActuatorIndices()]
    at = {int(m.index): k for k, m in enumerate(moving)}
    if not actuators:
        driven = [(k, i) for k, m in enumerate(moving) if m.moving_joint.nv < 6 for i in range(m.moving_joint.nv)]
        indices = [tree.velocity_indices[k][i] for k, i in driven]
        units = [moving[k].moving_joint.input_units[i] for k, i in driven]
        names = [f"u_{tree.coordinates.v[i].name().removeprefix('v_')}" for i in indices]
        return names, indices, units, [float("inf")] * len(indices)
    own = [at[int(actuator.joint().index())] for actuator in actuators]
    indices = [tree.velocity_indices[k][0] for k in own]
    units = [moving[k].moving_joint.input_units[0] for k in own]
    return [a.name() for a in actuators], indices, units, [float(a.effort_limit()) for a in actuators]
