"""A MultibodyPlant → a robot."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.frame import Frame
from ...robots.limits import Limits
from ...robots.robot import Robot
from ...robots.tree import WORLD, Body, Node, Tree
from ...robots.tree_system import tree_system
from ...symbolic.errors import BridgeError
from ...symbolic.extras import require
from ...symbolic.parameters import Parameters, Range
from .bodies import all_bodies, mass_of
from .foreign import ModelInstanceIndex, MultibodyPlant
from .joints import LoadedJoint, loaded_joints
from .refused import refuse
from .said import refusals, told

Array = NDArray[np.float64]
MOMENTS = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}


def load(
    source: MultibodyPlant | str | os.PathLike[str],
    *,
    base: Literal["fixed", "floating"] = "fixed",
    ignore: tuple[str, ...] = (),
    name: str | None = None,
) -> Robot:
    """Robot of a plant: M(q) a + h(q, v) = B u, its joints and bodies under their names in Drake.

    *Joints.* Revolute, prismatic, planar and quaternion-floating ones become ours, in the order of the tree; what a
    weld holds is a body of what carries it. *Inputs.* The plant's JointActuators; of a plant without any, a torque or
    force on each velocity of a joint that does not float. *Parameters.* ``g`` along the plant's gravity;
    ``<body>.mass``, ``.cx``, ``.cy``, ``.cz`` and ``.ixx`` … ``.izz`` about the centre of mass in the body's frame;
    ``<joint>.damping``, ``.stiffness`` and ``.rest`` where there is any. Limits are kept as data.

    Args:
        source: a finalized plant, or a file that Drake's parser reads (URDF, SDFormat, MJCF, .dmd.yaml).
        base: of a file: fixed holds to the world each model that hangs on nothing; floating lets it move.
        ignore: what may be left out, told by a BridgeWarning: of ``"rotors"``, ``"constraints"``, ``"forces"``,
            ``"controllers"``.
        name: of the robot; that of the model if not given.

    Raises:
        BridgeError: for what has no counterpart, by name; a file that Drake cannot read; a plant where nothing moves.
        MissingPackageError: if Drake is not installed.

    Warns:
        BridgeWarning: of what is left out, such as geometry that could collide.
    """
    if base not in ("fixed", "floating"):
        raise BridgeError(f"base must be 'fixed' or 'floating', got {base!r}")
    is_file = isinstance(source, str) or hasattr(source, "__fspath__")
    plant: MultibodyPlant = _read(source, base) if is_file else source
    if not hasattr(plant, "is_finalized") or not plant.is_finalized():
        raise BridgeError(f"a finalized MultibodyPlant or the path of a file is needed, got {source!r}")
    label = name or _model_name(plant)
    springs = refuse(plant, label, ignore)
    joints = loaded_joints(plant)
    moving = [joint for joint in joints if joint.joint is not None]
    if not moving:
        raise BridgeError(f"{label}: nothing in this plant moves; base='floating' lets a file's model move as a whole")
    names = _body_names(plant)
    parameters = _declare(plant, moving, names, springs)
    own = dict(parameters)
    carried: dict[int, list[Body]] = {}
    frames: dict[str, tuple[int, Frame]] = {}
    place = {id(joint): k for k, joint in enumerate(moving)}
    for joint in joints:
        node = WORLD if joint.carrier is None else place[id(joint.carrier)]
        frame = Frame(ca.SX(ca.DM(joint.rotation)), ca.SX(ca.DM(joint.position)))
        frames[names[joint.body]] = (node, frame)
        if node != WORLD and f"{names[joint.body]}.mass" in own:
            carried.setdefault(node, []).append(_body(names[joint.body], frame, own))
    nodes = tuple(
        Node(
            name=m.name,
            parent=WORLD if m.above is None else place[id(m.above)],
            placement=Frame(ca.SX(ca.DM(m.start_rotation)), ca.SX(ca.DM(m.start_position))),
            joint=m.needed,
            bodies=tuple(carried.get(k, ())),
        )
        for k, m in enumerate(moving)
    )
    tree = Tree(nodes, ca.SX(ca.DM(_direction(plant))) * parameters["g"])
    c = tree.coordinates
    inputs, places, units, effort = _inputs(plant, tree, moving)
    u = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(each) for each in inputs))
    poses = {key: pose if node == WORLD else tree.points.carried(node, pose) for key, (node, pose) in frames.items()}
    lower, upper, speed = (np.concatenate([getattr(m, key) for m in moving]) for key in ("lower", "upper", "speed"))
    potential, resistance = ca.SX(0), ca.SX(ca.DM.zeros(c.nv))
    for made, at in zip(tree.nodes, tree.places, strict=True):
        for i, index in enumerate(at):
            damping = own.get(_damping_name(made.name, i, len(at)))
            if damping is not None:
                resistance[index] += damping * c.v[index]
        if f"{made.name}.stiffness" in own:
            q = c.q[c.names.index(made.name)]
            potential += own[f"{made.name}.stiffness"] * (q - own[f"{made.name}.rest"]) ** 2 / 2
    return tree_system(
        tree,
        parameters=parameters,
        u=u,
        B=ca.SX(ca.DM(np.eye(c.nv)[:, places])),
        V=potential,
        resistance=resistance,
        points={key: frame.position for key, frame in poses.items()},
        frames=poses,
        input_units=units,
        limits=Limits(lower, upper, speed, np.array(effort)),
        name=label,
    )


def _read(path: str | os.PathLike[str], base: str) -> MultibodyPlant:
    multibody, parsing = require("pydrake.multibody.plant", "drake"), require("pydrake.multibody.parsing", "drake")
    plant: MultibodyPlant = multibody.MultibodyPlant(0.0)
    file = Path(path)
    if not file.is_file():
        raise BridgeError(f"there is no file {file}")
    with refusals(f"the file {file}"):
        with told(file.name):
            parsing.Parser(plant).AddModels(file)
        if base == "fixed":
            for body in _roots(plant):
                plant.WeldFrames(plant.world_frame(), plant.GetBodyByName(*body).body_frame())
        plant.Finalize()
    return plant


def _roots(plant: MultibodyPlant) -> list[tuple[str, ModelInstanceIndex]]:
    """Bodies that no joint hangs on anything."""
    joints = [plant.get_joint(index) for index in plant.GetJointIndices()]
    hung = {joint.child_body().index() for joint in joints}
    return [(body.name(), body.model_instance()) for body in all_bodies(plant) if body.index() not in hung]


def _model_name(plant: MultibodyPlant) -> str:
    bodies = all_bodies(plant)
    return str(plant.GetModelInstanceName(bodies[0].model_instance())) if bodies else "plant"


def _body_names(plant: MultibodyPlant) -> dict[int, str]:
    """Name of each body by its index; with that of its model where two have the same."""
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
        mass, center, inertia = mass_of(body)
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
    """Names, places of their velocities, units and limits."""
    actuators = [plant.get_joint_actuator(index) for index in plant.GetJointActuatorIndices()]
    at = {int(m.index): k for k, m in enumerate(moving)}
    if not actuators:
        driven = [(k, i) for k, m in enumerate(moving) if m.needed.nv < 6 for i in range(m.needed.nv)]
        places = [tree.places[k][i] for k, i in driven]
        units = [moving[k].needed.input_units[i] for k, i in driven]
        names = [f"u_{tree.coordinates.v[place].name().removeprefix('v_')}" for place in places]
        return names, places, units, [float("inf")] * len(places)
    own = [at[int(actuator.joint().index())] for actuator in actuators]
    places = [tree.places[k][0] for k in own]
    units = [moving[k].needed.input_units[0] for k in own]
    return [a.name() for a in actuators], places, units, [float(a.effort_limit()) for a in actuators]
