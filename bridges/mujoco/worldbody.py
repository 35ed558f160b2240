"""MJCF elements of bodies, joints, masses and sites.

Numbers are written so that they are read back exactly.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError
from ..common.body_poses import BodyPoses
from ..common.body_tree import BodyTree, MassProperties, ProportionalBody, TreeBody
from ..common.name_matching import xml_text
from ..common.passive_elements import PassiveElements

Value = str | float | NDArray[np.float64] | tuple[float, ...]


class MjcfElement:
    """An element with attributes and children.

    Attributes:
        node: the XML element.
    """

    def __init__(self, tag: str, **attributes: Value) -> None:
        """Build the element.

        Args:
            tag: name of the element.
            attributes: words or numbers, by name.
        """
        self.node = ET.Element(tag, {key: _written(value) for key, value in attributes.items()})

    def add(self, tag: str, **attributes: Value) -> MjcfElement:
        """Add and return a new child.

        Args:
            tag: name of the child.
            attributes: words or numbers, by name.
        """
        child = MjcfElement(tag, **attributes)
        self.node.append(child.node)
        return child

    def extend(self, children: Iterable[MjcfElement]) -> None:
        """Append children.

        Args:
            children: elements to append.
        """
        self.node.extend(child.node for child in children)


def to_text(root: MjcfElement) -> str:
    """Return the document as text.

    Args:
        root: root element of the document.
    """
    return xml_text(root.node) + "\n"


def quaternion(R: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the unit quaternion (w, x, y, z) of a rotation, shape (4,).

    Args:
        R: rotation, shape (3, 3).
    """
    # Start from the largest of the four squares to avoid cancellation.
    trace = float(np.trace(R))
    squares = np.array([trace, *(2.0 * np.diag(R) - trace)])
    k = int(np.argmax(squares))
    if k == 0:
        e = np.array([1.0 + trace, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    else:
        i, j, m = k - 1, k % 3, (k + 1) % 3
        e = np.zeros(4)
        e[0] = R[m, j] - R[j, m]
        e[1 + i] = 1.0 + squares[k]
        e[1 + j] = R[j, i] + R[i, j]
        e[1 + m] = R[m, i] + R[i, m]
    return np.asarray(e / np.linalg.norm(e))


def rotation_attributes(R: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return the attributes of a rotated frame; empty for the identity.

    Args:
        R: rotation, shape (3, 3).
    """
    return {} if np.array_equal(R, np.eye(3)) else {"quat": quaternion(R)}


def _written(value: Value) -> str:
    if isinstance(value, str):
        return value
    return " ".join(_number(float(x)) for x in np.ravel(np.asarray(value)))


def _number(x: float) -> str:
    return repr(int(x)) if x == int(x) and abs(x) < 1e15 else repr(x)


Array = NDArray[np.float64]

MIN_MOMENT = 2e-15
"""Mass [kg] and moments [kg m²] of a body without mass: MuJoCo requires more than 1e-15."""
MIN_RADIUS = 0.02
"""Radius of the drawn capsules, relative to the longest body."""
COLOR = (0.9, 0.7, 0.4, 1.0)
"""Color of the drawn capsules: MuJoCo's default is dark on its black background."""


class BodyWriter:
    """Writer of ``worldbody``.

    Attributes:
        omitted: descriptions of what is left out.
        joints: name of the joint of each velocity, by index in v.
        starts: reference coordinates of joints, by name.
        followers: joints that follow others: name, name of the leader, ratio of the two, and moved mass [kg].
    """

    def __init__(
        self, robot: Robot, tree: BodyTree, forces: PassiveElements, poses: BodyPoses, q0: Array, *, limits: bool
    ) -> None:
        """Plan the bodies.

        Args:
            robot: robot to write.
            tree: its bodies.
            forces: passive forces of its joints.
            poses: poses of its bodies.
            q0: reference coordinates of the model, shape (nq,).
            limits: True to write the bounds of joints.
        """
        self.omitted: list[str] = []
        self.joints: dict[int, str] = {}
        self.starts: dict[str, float] = {}
        self.followers: list[tuple[str, str, float, float]] = []
        self._robot, self._tree, self._forces, self._limits = robot, tree, forces, limits
        self._q0, self._labels = q0, tree.labels
        self._elements: dict[str, MjcfElement] = {}
        self._sites: set[str] = set()
        frames = {name: (frame.rotation, frame.position) for name, frame in robot.frames.items()}
        points = {name: (None, x) for name, x in robot.points.items() if name not in frames}
        self._site_poses = poses.fixed({**frames, **points})
        loose = [name for name in (*frames, *points) if name not in self._site_poses]
        if loose:
            self.omitted.append(f"the points {', '.join(loose)}, which are not fixed in any body")
        inner = self._between(q0)
        lengths = [np.linalg.norm(solid.position) for solid in tree.solids]
        lengths += [abs(inner[solid.at_v]) for solid in tree.solids if solid.kind == "slide"]
        self._size = float(max(lengths, default=0.0)) or 1.0

    def write(self, world: MjcfElement) -> None:
        """Write all bodies into an element.

        Args:
            world: ``<worldbody>``.
        """
        tree = self._tree
        self._elements[""] = world
        inner = self._between(self._q0)
        for solid in tree.solids:
            parent = self._elements["" if solid.parent < 0 else tree.solids[solid.parent].name]
            self._elements[solid.name] = self._body(parent, solid, inner)
            for share in solid.proportional_bodies:
                self._elements[share.name] = self._share(self._elements[solid.name], solid, share, inner)
        self._draw()
        for name, (body, R, x) in self._site_poses.items():
            self.site(name, body, x, R)

    def label(self, body: str) -> str:
        """Return the name of the element written for a body.

        Args:
            body: name of the joint that moves it, or of the proportional body.
        """
        return self._elements[body].node.get("name", "")

    def site(self, name: str, body: str, x: Array, R: Array | None = None) -> str:
        """Add a site and return its name, which is made unique.

        Args:
            name: preferred name.
            body: body to which it is fixed; empty for the world.
            x: position in the body, shape (3,) [m].
            R: orientation in the body, shape (3, 3).
        """
        count, label = 1, name
        while label in self._sites:
            count += 1
            label = f"{name} {count}"
        self._sites.add(label)
        turn = rotation_attributes(np.eye(3) if R is None else R)
        self._elements[body].add("site", name=label, pos=x, **turn, size=MIN_RADIUS * self._size, group=4)
        return label

    def _between(self, q: Array) -> Array:
        """Return relative joint coordinates at the indices of v; zero for floating bodies."""
        found = np.zeros(self._robot.coordinates.nv)
        for solid in self._tree.solids:
            if solid.kind != "free":
                count = len(solid.names)
                found[solid.at_v : solid.at_v + count] = q[solid.at_q : solid.at_q + count]
        return np.asarray(self._tree.relative_angles @ found)

    def _body(self, parent: MjcfElement, solid: TreeBody, inner: Array) -> MjcfElement:
        R, x = solid.rotation, solid.position
        if solid.kind == "free":
            if solid.parent >= 0 or not np.array_equal(R, np.eye(3)) or x.any():
                raise BridgeError(
                    f"{self._robot.name}: {solid.name!r} must float in the world's frame, the only one in which MuJoCo "
                    "has free joints"
                )
            position, e = self._q0[solid.at_q : solid.at_q + 3], self._q0[solid.at_q + 3 : solid.at_q + 7]
            body = parent.add(
                "body", name=self._labels[solid.name], pos=position, quat=np.roll(e, 1) / np.linalg.norm(e)
            )
            body.add("freejoint", name=solid.name)
            self._inertial(body, solid.mass)
            return body
        count = len(solid.names)
        q = inner[solid.at_v : solid.at_v + count]
        kinds = ("slide", "slide", "hinge") if solid.kind == "planar" else (solid.kind,)
        moves = list(zip(kinds, solid.axes, solid.names, range(solid.at_v, solid.at_v + count), q, strict=True))
        for kind, axis, _, _, value in moves:
            if kind == "slide":
                x = x + R @ axis * value
        for kind, axis, _, _, value in moves:
            if kind == "hinge":
                R = R @ _turn(axis, float(value))
        body = parent.add("body", name=self._labels[solid.name], pos=x, **rotation_attributes(R))
        for kind, axis, name, at, value in moves:
            # MJCF gives all joints of a body in the axes of its reference pose.
            own = axis if solid.kind != "planar" else _turn(solid.axes[2], float(q[2])).T @ axis
            self._joint(body, solid, kind, own, name, at, float(value))
        self._inertial(body, solid.mass)
        return body

    def _joint(
        self, body: MjcfElement, solid: TreeBody, kind: str, axis: Array, name: str, at: int, value: float
    ) -> None:
        f, limits = self._forces, self._robot.limits
        extra: dict[str, float | str | Array] = {"ref": value} if value else {}
        if f.friction[at]:
            extra["frictionloss"] = float(f.friction[at])
        for key, elements in (("damping", f.dampers), ("stiffness", f.springs), ("armature", f.rotors)):
            for element in elements:
                if set(element.coefficients) == {at}:
                    extra[key] = element.value
                    extra |= {"springref": element.rest} if key == "stiffness" else {}
        at_q = solid.at_q + at - solid.at_v
        bounds = limits.lower[at_q], limits.upper[at_q]
        if self._limits and np.isfinite(bounds).any():
            if not solid.is_relative:
                self.omitted.append(f"the bounds of {name!r}, an angle that is measured from the world")
            elif bounds[0] == bounds[1]:
                self.omitted.append(f"the bounds of {name!r}, which are equal, {bounds[0]:g}")
            else:
                # MuJoCo does not support a bound on one side only.
                extra |= {"limited": "true", "range": np.clip(bounds, -1e10, 1e10)}
        self.joints[at], self.starts[name] = name, value
        body.add("joint", name=name, type=kind, axis=axis, **extra)

    def _share(self, parent: MjcfElement, solid: TreeBody, share: ProportionalBody, inner: Array) -> MjcfElement:
        """Add a proportional body inside the one that the whole joint moves, with a joint back by the difference.

        As a descendant of its leader, not a sibling, it can be coupled to it in MuJoCo's mass matrix.
        """
        axis, difference = solid.axes[0], share.ratio - 1.0
        value = difference * float(inner[solid.at_v])
        x, R = (axis * value, np.eye(3)) if solid.kind == "slide" else (np.zeros(3), _turn(axis, value))
        body = parent.add("body", name=share.name, pos=x, **rotation_attributes(R))
        if difference:
            self.followers.append((share.name, solid.name, difference, share.mass.mass))
            self.starts[share.name] = value
            body.add("joint", name=share.name, type=solid.kind, axis=axis, **({"ref": value} if value else {}))
        self._inertial(body, share.mass)
        return body

    def _inertial(self, body: MjcfElement, mass: MassProperties | None) -> None:
        if mass is None:
            body.add("inertial", pos=np.zeros(3), mass=MIN_MOMENT, diaginertia=np.full(3, MIN_MOMENT))
            return
        moments, axes = _principal(mass.inertia)
        body.add(
            "inertial",
            pos=mass.center,
            mass=max(mass.mass, MIN_MOMENT),
            diaginertia=moments,
            **rotation_attributes(axes),
        )

    def _draw(self) -> None:
        """Add thin capsules without mass and contact from the origin of each body to its points and children."""
        solids, least = self._tree.solids, 1e-3 * self._size
        for k, solid in enumerate(solids):
            ends = [after.position for after in solids if after.parent == k]
            if not ends:
                # The last body of a chain extends to the farthest of its points.
                inside = [x for body, _, x in self._site_poses.values() if body == solid.name]
                ends = sorted(inside, key=lambda x: float(x @ x))[-1:]
            if solid.mass is not None:
                ends.append(solid.mass.center)
            if solid.kind == "slide":
                # A sliding body extends back to the joint's zero.
                ends.append(-solid.axes[0] * self.starts[solid.names[0]])
            self._capsules(solid.name, ends, least)
            for share in solid.proportional_bodies:
                self._capsules(share.name, [share.mass.center], least)

    def _capsules(self, body: str, ends: Sequence[Array], least: float) -> None:
        """Add capsules to points of a body, each point once, except those at the origin."""
        drawn = [np.zeros(3)]
        for end in ends:
            if min(float(np.linalg.norm(end - other)) for other in drawn) > least:
                drawn.append(end)
                segment = np.concatenate([np.zeros(3), end])
                style: dict[str, Value] = {"size": MIN_RADIUS * self._size, "rgba": COLOR, "group": 1}
                nothing: dict[str, Value] = {"mass": 0, "contype": 0, "conaffinity": 0}
                self._elements[body].add("geom", type="capsule", fromto=segment, **style, **nothing)


def _principal(inertia: Array) -> tuple[Array, Array]:
    """Return principal moments that MuJoCo accepts, and their axes; the moments change by no more than rounding."""
    if np.count_nonzero(inertia - np.diag(np.diag(inertia))) == 0:
        moments, axes = np.diag(inertia).copy(), np.eye(3)
    else:
        moments, axes = np.linalg.eigh(inertia)
        if np.linalg.det(axes) < 0.0:
            axes[:, 0] *= -1.0
    moments = np.maximum(moments, MIN_MOMENT)
    order = np.argsort(moments)
    lack = moments[order[2]] - moments[order[0]] - moments[order[1]]
    if lack > 0.0:
        # Only rounding errors, for a rod or a plate.
        moments[order[0]] += lack * (1.0 + 1e-12) + 1e-15 * moments[order[2]]
    return moments, axes


def _turn(axis: Array, angle: float) -> Array:
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K)
