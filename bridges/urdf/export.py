"""Export of a robot to URDF."""

from __future__ import annotations

import math
import os
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...robots.tree import Floating
from ...simulation.storage.atomic_file import write_whole
from ...symbolic.errors import BridgeError, BridgeWarning, caller_stacklevel, require_name
from ..common.body_poses import BodyPoses
from ..common.body_tree import BodyTree, MassProperties, TreeBody, require_tree
from ..common.bridge import ExportRequest
from ..common.joint_constraints import JointCoupling, identify_joint_constraints
from ..common.name_matching import xml_text
from ..common.passive_elements import PassiveElements, identify_passive_elements
from ..common.unsupported import check_unsupported

Array = NDArray[np.float64]

UNBOUNDED = 1e10
"""Value of a required limit that the robot does not have [m, m/s, N or N m]."""
GIMBAL_LOCK_COSINE = 1e-9
"""Cosine of the pitch below which roll and yaw are the same rotation."""


class LinkWriter:
    """Writer of the element ``<robot>``.

    Attributes:
        omitted: descriptions of what is left out.
        open: natural constraints that joints cannot represent, by name, with the reason.
    """

    def __init__(
        self,
        robot: Robot,
        tree: BodyTree,
        forces: PassiveElements,
        couplings: Sequence[JointCoupling],
        *,
        floating_root: bool,
    ) -> None:
        """Plan the links.

        Args:
            robot: robot to write.
            tree: its bodies.
            forces: passive forces of its joints.
            couplings: linear couplings of its joints.
            floating_root: True to make the body that floats in the world the root.

        Raises:
            BridgeError: if floating_root is True and there is no such body.
        """
        self.omitted: list[str] = []
        self.open: dict[str, str] = {}
        self._robot, self._tree, self._forces = robot, tree, forces
        self._mimics: dict[int, tuple[int, float, float]] = {}
        for coupling in couplings:
            self._couple(coupling)
        self._labels = tree.labels
        first = [solid for solid in tree.solids if solid.parent < 0]
        alone = len(first) == 1 and first[0].kind == "free"
        if floating_root and not (alone and first[0].rotation.trace() == 3.0 and not first[0].position.any()):
            raise BridgeError(
                f"{robot.name}: floating='root' requires one body that floats in the world's frame and carries all "
                f"others; attached to the world: {', '.join(f'{solid.name} ({solid.kind})' for solid in first)}"
            )
        self._root = first[0].name if floating_root else ""
        self._world = self._labels[self._root] if floating_root else "world"
        self._document = ET.Element("robot")
        self._efforts = _efforts(robot, tree)

    def write(self, name: str, *, rotation: Array) -> ET.Element:
        """Return the whole document.

        Args:
            name: name of the robot.
            rotation: rotation of the robot in the world, shape (3, 3).
        """
        gravity = rotation @ self._tree.gravity
        self._document.set("name", name)
        vector = " ".join(_number(x) for x in np.where(np.abs(gravity) < 1e-15, 0.0, gravity))
        self._document.append(ET.Comment(f" gravity {vector} m/s2 in the axes of {self._world!r} "))
        if not self._root:
            ET.SubElement(self._document, "link", name=self._world)
        for solid in self._tree.solids:
            label = self._labels[solid.name]
            parent = self._world if solid.parent < 0 else self._labels[self._tree.solids[solid.parent].name]
            self._link(label, solid.mass)
            if solid.name != self._root:
                R, x = (
                    (rotation @ solid.rotation, rotation @ solid.position)
                    if solid.parent < 0
                    else (
                        solid.rotation,
                        solid.position,
                    )
                )
                self._joint(solid, parent, R, x)
            for share in solid.proportional_bodies:
                self._link(share.name, share.mass)
                joint = self._child("fixed" if share.ratio == 1.0 else _TYPES[solid.kind], share.name, label)
                if share.ratio != 1.0:
                    ET.SubElement(joint, "axis", xyz=_numbers(solid.axes[0]))
                    if solid.kind == "slide":
                        self._bounds(joint, -math.inf, math.inf, math.inf, math.inf, "prismatic")
                    ratio = _number(share.ratio - 1.0)
                    ET.SubElement(joint, "mimic", joint=solid.name, multiplier=ratio, offset="0")
        return self._document

    def add_frames(self, poses: BodyPoses) -> list[str]:
        """Add links without mass at the robot's frames and points.

        Args:
            poses: poses of its bodies.

        Returns:
            Descriptions of the points that could not be placed.
        """
        robot = self._robot
        frames: dict[str, tuple[ca.SX | None, ca.SX]] = {
            name: (frame.rotation, frame.position) for name, frame in robot.frames.items()
        }
        frames |= {name: (None, x) for name, x in robot.points.items() if name not in frames}
        existing = {link.get("name") for link in self._document.iter("link")}
        found = poses.fixed({name: place for name, place in frames.items() if name not in existing})
        for name, (body, R, x) in found.items():
            if self._root and not body:
                continue
            ET.SubElement(self._document, "link", name=name)
            joint = self._child("fixed", name, self._labels[body] if body else self._world, f"{name} fixed")
            joint.append(_origin(R, x))
        unsupported = [name for name in frames if name not in found and name not in existing]
        return [f"the points {', '.join(unsupported)}, which are not fixed in any body"] if unsupported else []

    def _couple(self, coupling: JointCoupling) -> None:
        if len(coupling.coefficients) != 2:
            self.open[coupling.name] = (
                "it fixes a joint at a position: make that joint fixed"
                if len(coupling.coefficients) == 1
                else "it ties several joints"
            )
            return
        # A mimic joint must not be the leader of another.
        (j, b), (i, a) = sorted(coupling.coefficients.items())
        if i in self._mimics or j in self._mimics or any(i == leader for leader, _, _ in self._mimics.values()):
            self.open[coupling.name] = "it ties joints that already follow or lead others"
            return
        self._mimics[i] = (j, -b / a, -coupling.constant / a)

    def _child(self, kind: str, child: str, parent: str, name: str = "") -> ET.Element:
        joint = ET.SubElement(self._document, "joint", name=name or child, type=kind)
        ET.SubElement(joint, "parent", link=parent)
        ET.SubElement(joint, "child", link=child)
        return joint

    def _joint(self, solid: TreeBody, parent: str, R: Array, x: Array) -> None:
        limits = self._robot.limits
        lower, upper = limits.lower[solid.at_q], limits.upper[solid.at_q]
        if np.isfinite((lower, upper)).any() and not solid.is_relative:
            self.omitted.append(f"the bounds of {solid.name!r}, an angle that is measured from the world")
            lower, upper = -math.inf, math.inf
        kind = _TYPES[solid.kind]
        if solid.kind == "hinge" and not np.isfinite((lower, upper)).any():
            kind = "continuous"
        joint = self._child(kind, self._labels[solid.name], parent, solid.name)
        joint.append(_origin(R, x))
        if solid.kind == "free":
            return
        ET.SubElement(joint, "axis", xyz=_numbers(solid.axes[-1]))
        speed, effort = limits.speed[solid.at_v], self._efforts[solid.at_v]
        if solid.kind != "planar":
            self._bounds(joint, lower, upper, speed, effort, kind)
        elif np.isfinite(limits.upper[solid.at_q : solid.at_q + 3]).any():
            self.omitted.append(f"the bounds of the planar joint {solid.name!r}")
        self._dynamics(joint, solid)
        if solid.at_v in self._mimics:
            leader, multiplier, offset = self._mimics[solid.at_v]
            name = next(s.name for s in self._tree.solids if s.at_v == leader)
            ET.SubElement(joint, "mimic", joint=name, multiplier=_number(multiplier), offset=_number(offset))

    def _bounds(self, joint: ET.Element, lower: float, upper: float, speed: float, effort: float, kind: str) -> None:
        values: dict[str, float] = {}
        if kind != "continuous":
            values = {"lower": max(lower, -UNBOUNDED), "upper": min(upper, UNBOUNDED)}
        elif math.isinf(speed) and math.isinf(effort):
            return
        values |= {"effort": min(effort, UNBOUNDED), "velocity": min(speed, UNBOUNDED)}
        ET.SubElement(joint, "limit", {key: _number(value) for key, value in values.items()})

    def _dynamics(self, joint: ET.Element, solid: TreeBody) -> None:
        places = range(solid.at_v, solid.at_v + len(solid.names))
        damping = {at: element.value for element in self._forces.dampers for at in element.coefficients}
        pairs = {(damping.get(at, 0.0), float(self._forces.friction[at])) for at in places}
        if len(pairs) > 1:
            self.omitted.append(
                f"damping or friction of the planar joint {solid.name!r}, which depend on the direction"
            )
        elif (pair := pairs.pop()) != (0.0, 0.0):
            ET.SubElement(joint, "dynamics", damping=_number(pair[0]), friction=_number(pair[1]))

    def _link(self, name: str, mass: MassProperties | None) -> None:
        link = ET.SubElement(self._document, "link", name=name)
        # Some readers assign a default mass to a link without one: write zero explicitly.
        own = MassProperties(0.0, np.zeros(3), np.zeros((3, 3))) if mass is None else mass
        inertial = ET.SubElement(link, "inertial")
        ET.SubElement(inertial, "origin", xyz=_numbers(own.center), rpy="0 0 0")
        ET.SubElement(inertial, "mass", value=_number(own.mass))
        I = own.inertia
        ET.SubElement(
            inertial,
            "inertia",
            {f"i{'xyz'[i]}{'xyz'[j]}": _number(I[i, j]) for i in range(3) for j in range(i, 3)},
        )


_TYPES = {"hinge": "revolute", "slide": "prismatic", "planar": "planar", "free": "floating"}


def to_text(root: ET.Element) -> str:
    """Return the document as text.

    Args:
        root: root element of the document.
    """
    return '<?xml version="1.0"?>\n' + xml_text(root) + "\n"


def _efforts(robot: Robot, tree: BodyTree) -> Array:
    """Return the effort limit of each joint between two links, shape (nv,); infinite where no input determines it."""
    c = robot.coordinates
    found = np.full(c.nv, np.inf)
    bounded = np.flatnonzero(np.isfinite(robot.limits.effort))
    if not bounded.size or ca.depends_on(robot.input_matrix, ca.vertcat(c.t, c.q, c.v)):
        return found
    B = np.linalg.solve(tree.relative_angles.T, robot.evaluate(robot.input_matrix, p=tree.p).reshape(c.nv, -1))
    for j in bounded:
        driven_joints = np.flatnonzero(np.abs(B[:, j]) > 1e-12)
        if len(driven_joints) == 1 and np.count_nonzero(np.abs(B[driven_joints[0]]) > 1e-12) == 1:
            found[driven_joints[0]] = robot.limits.effort[j] * abs(B[driven_joints[0], j])
    return found


def _origin(R: Array, x: Array) -> ET.Element:
    return ET.Element("origin", xyz=_numbers(x), rpy=_numbers(_angles(R)))


def _angles(R: Array) -> Array:
    """Return roll, pitch and yaw of R = R_z(yaw) R_y(pitch) R_x(roll), shape (3,)."""
    level = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], level)
    if level < GIMBAL_LOCK_COSINE:
        return np.array([math.atan2(-R[1, 2], R[1, 1]), pitch, 0.0])
    return np.array([math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])])


def _numbers(values: Array) -> str:
    return " ".join(_number(x) for x in np.ravel(values))


def _number(x: float) -> str:
    value = float(x)
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


LOOPS = ("refuse", "drop")


def export(
    robot: Robot,
    path: str | os.PathLike[str] | None = None,
    *,
    p: Mapping[str, float] | ArrayLike | None = None,
    name: str | None = None,
    loops: Literal["refuse", "drop"] = "refuse",
    upright: bool = False,
    frames: bool = False,
    floating: Literal["joint", "root"] = "joint",
    ignore: Sequence[str] = (),
) -> str:
    """Export a robot to URDF text: links, joints, inertials, limits, damping and dry friction.

    Joints and the links that they move have the names of the robot's nodes; the root is called ``world``. Angles from
    the world's axes become angles between links. A body that moves by a fraction of a length (telescopic links) gets a
    slide that mimics the length. A natural constraint that ties two joints becomes a ``<mimic>``.

    URDF has no gravity, and readers assume −z: the text keeps the axes of the robot and has its gravity in a comment,
    unless ``upright`` rotates the robot. URDF has no inputs either: readers drive every joint.

    Args:
        robot: robot with a tree of bodies.
        path: path of the file to write; no file if not given.
        p: parameters: nominal, overridden by name, or the whole vector.
        name: name in the file; the robot's if not given.
        loops: ``"refuse"`` natural constraints that URDF cannot represent, or ``"drop"`` them with a warning.
        upright: True to rotate the robot so that its gravity is along −z.
        frames: True to add a link without mass for each of the robot's frames and points.
        floating: write a floating body with a ``"joint"``, or as the ``"root"`` of the file, which readers can let
            float (``base="floating"``).
        ignore: further features that URDF cannot represent and that may be left out with a warning; the error lists
            their names.

    Returns:
        The text.

    Raises:
        BridgeError: for a robot without a tree, or with features that URDF cannot represent; the message lists them.
        ParameterError: for an unknown parameter.
    """
    for word, given, known in (("loops", loops, LOOPS), ("floating", floating, ("joint", "root"))):
        if given not in known:
            raise BridgeError(f"{word} must be one of {', '.join(map(repr, known))}, got {given!r}")
    tree = BodyTree.of(robot, p)
    poses = BodyPoses(robot, tree)
    forces = identify_passive_elements(robot, tree)
    closed = identify_joint_constraints(robot, tree, poses, _neutral(robot))
    writer = LinkWriter(robot, tree, forces, closed.couplings, floating_root=floating == "root")

    dropped = dict(closed.unsupported) | {pin.name: "it closes a loop" for pin in closed.pins} | writer.open
    constraints = {key: f"natural constraint {key!r}: {why}" for key, why in dropped.items()}
    unsupported = _unsupported_features(robot, tree, forces)
    if loops == "refuse":
        unsupported = constraints | unsupported
        hint = "or leave constraints open with loops='drop'" if constraints else ""
        omitted = [unsupported[word] for word in check_unsupported("URDF", robot.name, unsupported, ignore, hint=hint)]
    else:
        omitted = [
            *constraints.values(),
            *(unsupported[word] for word in check_unsupported("URDF", robot.name, unsupported, ignore)),
        ]
    omitted += writer.omitted
    rotation = _upright(tree.gravity) if upright else np.eye(3)
    if floating == "root" and not np.array_equal(rotation, np.eye(3)):
        raise BridgeError(
            f"{robot.name}: upright=True requires a joint at the root, so it cannot be combined with floating='root'"
        )
    require_name("a robot in URDF", name or robot.name, BridgeError)
    root = writer.write(name or robot.name, rotation=rotation)
    if frames:
        omitted += writer.add_frames(poses)
    if omitted:
        warnings.warn(
            f"{robot.name}: URDF cannot represent: {'; '.join(omitted)}", BridgeWarning, stacklevel=caller_stacklevel()
        )
    text = to_text(root)
    if path is not None:
        target = Path(path)
        write_whole(target, lambda file: _write(file, text))
    return text


def write_scenario(request: ExportRequest) -> None:
    """Write the plant of a scenario.

    Args:
        request: request of the command line.
    """
    # Readers of URDF assume gravity along −z.
    export(request.setup.robot, request.out, p=request.setup.p, upright=True, ignore=request.ignore)


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def _neutral(robot: Robot) -> Array:
    q = np.zeros(robot.coordinates.nq)
    for node in require_tree(robot).nodes:
        if isinstance(node.joint, Floating):
            q[robot.coordinates.names.index(f"{node.name}.qw")] = 1.0
    return q


def _unsupported_features(robot: Robot, tree: BodyTree, forces: PassiveElements) -> dict[str, str]:
    """Return the features of joints that URDF cannot represent, by name."""
    names = {i: label for solid in tree.solids for i, label in enumerate(solid.names, solid.at_v)}
    found: dict[str, str] = {}
    for label in dict.fromkeys((*forces.forces, *forces.inertias)):
        found[label] = f"{label!r}: a force or an inertia other than those of the bodies, damping and dry friction"
    several = [element for element in forces.dampers if len(element.coefficients) > 1]
    for what, elements in (("a spring", forces.springs), ("a rotor", forces.rotors), ("a damper", several)):
        for element in elements:
            joints = " and ".join(names[i] for i in element.coefficients)
            word = f"{what[2:]} of {joints}"
            found[word] = f"{what} of {joints}"
    return found


def _upright(gravity: Array) -> Array:
    """Return the smallest rotation that brings gravity to −z, shape (3, 3)."""
    size = float(np.linalg.norm(gravity))
    if size == 0.0:
        return np.eye(3)
    a, b = gravity / size, np.array([0.0, 0.0, -1.0])
    cosine = float(a @ b)
    if cosine < -1.0 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    x = np.cross(a, b)
    K = np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])
    return np.asarray(np.eye(3) + K + K @ K / (1.0 + cosine))


def friction_joints(text: str) -> list[str]:
    """Return the names of the joints with dry friction.

    Args:
        text: URDF text.
    """
    return [
        joint.get("name", "")
        for joint in ET.fromstring(text).findall("joint")
        if any(float(dynamics.get("friction", "0")) != 0.0 for dynamics in joint.findall("dynamics"))
    ]


def mimic_joints(text: str) -> list[str]:
    """Return the names of the mimic joints.

    Args:
        text: URDF text.
    """
    return [joint.get("name", "") for joint in ET.fromstring(text).findall("joint") if joint.find("mimic") is not None]
