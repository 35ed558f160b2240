"""Export of a robot to a URDF that PyBullet reads without changing it, and to a body in one of its worlds."""

from __future__ import annotations

import os
import tempfile
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...simulation.storage.atomic_file import write_whole
from ...symbolic.errors import BridgeError, BridgeWarning, caller_stacklevel
from ..common.body_tree import require_tree
from ..urdf.export import friction_joints, mimic_joints
from .client import quiet, require_pybullet

Array = NDArray[np.float64]
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
NONE = {"lower": "1", "upper": "-1", "effort": "1e30", "velocity": "1e30"}
"""What PyBullet takes for no limits at all."""


def adapt_urdf(text: str, name: str, *, limits: bool) -> tuple[str, str | None]:
    """The same robot in the words in which PyBullet reads it whole.

    PyBullet turns inertias to principal axes by an iteration that stops at 1e-5, so that they come in these axes
    already; it has no floating joint, only a root that floats; and it takes a revolute joint without limits for a
    continuous one.

    Args:
        text: URDF of a robot here.
        name: of the robot, for messages.
        limits: whether limits of joints, which act in PyBullet, stay.

    Returns:
        URDF, and the name of the floating joint that its root stands for, if it floats.

    Raises:
        BridgeError: for joints that follow others, a planar joint, or a floating one that does not carry the root.
    """
    robot = ET.fromstring(text)
    if following := mimic_joints(text):
        raise BridgeError(
            f"{name}: bodies that a share of a joint carries ({', '.join(following)}) need joints that follow others, "
            "which PyBullet does not read from URDF. Use erugin.scenarios or MuJoCo"
        )
    floating = _free_root(robot, name)
    root = _root(robot)
    for link in robot.findall("link"):
        inertial = link.find("inertial")
        if inertial is None:
            continue
        if link.get("name") == root and floating is None:
            # Of a root that is held, PyBullet turns gravity in inverse dynamics by these axes.
            link.remove(inertial)
        else:
            _turn_to_principal_axes(inertial)
    for joint in robot.findall("joint"):
        kind = joint.get("type")
        if kind in ("planar", "floating"):
            raise BridgeError(
                f"{name}: joint {joint.get('name')!r} is {kind}, and PyBullet has such joints at most at the root of a "
                "body: use prismatic and revolute joints one behind the other"
            )
        if not limits and kind == "revolute":
            joint.set("type", "continuous")
        if not limits and kind in ("revolute", "continuous", "prismatic"):
            for limit in joint.findall("limit"):
                joint.remove(limit)
            ET.SubElement(joint, "limit", NONE)
    return ET.tostring(robot, encoding="unicode"), floating


def _root(robot: ET.Element) -> str:
    children = {_link(joint, "child") for joint in robot.findall("joint")}
    return next(label for link in robot.findall("link") if (label := link.get("name", "")) not in children)


def _link(joint: ET.Element, tag: str) -> str:
    found = joint.find(tag)
    return "" if found is None else found.get("link", "")


def _free_root(robot: ET.Element, name: str) -> str | None:
    """Take away a world from which a floating joint leads to the root; its name."""
    root = _root(robot)
    joints = [joint for joint in robot.findall("joint") if _link(joint, "parent") == root]
    if not any(joint.get("type") == "floating" for joint in joints):
        return None
    if len(joints) != 1:
        labels = ", ".join(repr(joint.get("name")) for joint in joints)
        raise BridgeError(
            f"{name}: several joints ({labels}) hang on the world, and one of them floats: PyBullet needs a body of "
            "its own for each; export them as robots by themselves"
        )
    origin = joints[0].find("origin")
    if origin is not None and any(np.array([*_numbers(origin, "xyz"), *_numbers(origin, "rpy")])):
        raise BridgeError(
            f"{name}: the floating joint {joints[0].get('name')!r} is placed away from the world's origin, where "
            "PyBullet measures the root from: place it there"
        )
    for element in (joints[0], *(link for link in robot.findall("link") if link.get("name") == root)):
        robot.remove(element)
    return joints[0].get("name")


def _turn_to_principal_axes(inertial: ET.Element) -> None:
    moments = inertial.find("inertia")
    if moments is None:
        return
    xx, xy, xz, yy, yz, zz = (float(moments.get(key, "0")) for key in MOMENTS)
    if not (xy or xz or yz):
        return
    values, axes = np.linalg.eigh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    axes[:, 0] *= np.sign(np.linalg.det(axes))
    origin = inertial.find("origin")
    if origin is None:
        origin = ET.SubElement(inertial, "origin", {"xyz": "0 0 0"})
    R = _rotation(*_numbers(origin, "rpy")) @ axes
    origin.set("rpy", " ".join(repr(float(x)) for x in _angles(R)))
    for key in ("ixy", "ixz", "iyz"):
        moments.set(key, "0")
    for key, value in zip(("ixx", "iyy", "izz"), values, strict=True):
        moments.set(key, repr(float(value)))


def _numbers(element: ET.Element, key: str) -> list[float]:
    return [float(x) for x in element.get(key, "0 0 0").split()]


def _rotation(roll: float, pitch: float, yaw: float) -> Array:
    (a, b, c), (s, u, w) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
    x = np.array([[1, 0, 0], [0, a, -s], [0, s, a]])
    y = np.array([[b, 0, u], [0, 1, 0], [-u, 0, b]])
    z = np.array([[c, -w, 0], [w, c, 0], [0, 0, 1]])
    return np.asarray(z @ y @ x)


def _angles(R: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a rotation."""
    pitch = float(np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])))
    yaw = float(np.arctan2(R[1, 0], R[0, 0]))
    # The remaining turn is read off where it cannot vanish, also at a pitch of a right angle.
    turned = _rotation(0.0, pitch, yaw).T @ R
    return float(np.arctan2(turned[2, 1], turned[1, 1])), pitch, yaw


Values = Mapping[str, float] | ArrayLike | None


def export(robot: Robot, path: str | os.PathLike[str] | None = None, *, p: Values = None, limits: bool = True) -> str:
    """URDF of a robot, with inertias in principal axes, to be loaded with ``flags=URDF_USE_INERTIA_FROM_FILE``.

    Load a robot with a fixed base by ``useFixedBase=True``; :func:`spawn` does all of it. PyBullet's own damping
    (0.04), its motors on every joint and its greatest speed (100 rad/s) are no matter of the file: :func:`drive` turns
    them off.

    Args:
        robot: made of a tree of bodies, without natural constraints.
        path: of a file to be written; none if not given.
        p: parameters: nominal, overridden by name, or the whole vector.
        limits: whether limits of joints are written, which stop a joint in PyBullet and do nothing here.

    Raises:
        BridgeError: for what URDF or PyBullet do not have.

    Warns:
        BridgeWarning: of dry friction, which PyBullet has only as the force of its own motors.
    """
    return _adapted_urdf(robot, path, p, limits)[0]


def spawn(robot: Robot, *, client: int = 0, p: Values = None, limits: bool = False) -> int:
    """Put a robot into a world, with its gravity; its body's number.

    Args:
        robot: as for :func:`export`.
        client: number of the world.
        p: parameters: nominal, overridden by name, or the whole vector.
        limits: whether limits of joints act, which they do not here.

    Raises:
        BridgeError: as for :func:`export`, or if PyBullet refuses the model.
        MissingPackageError: if PyBullet is not installed.
    """
    pybullet = require_pybullet()
    text, floating = _adapted_urdf(robot, None, p, limits)
    with tempfile.TemporaryDirectory(prefix="erugin-") as folder:
        file = Path(folder) / "robot.urdf"
        file.write_text(text, encoding="utf-8")
        try:
            with quiet():
                body = pybullet.loadURDF(
                    str(file),
                    useFixedBase=floating is None,
                    flags=pybullet.URDF_USE_INERTIA_FROM_FILE,
                    physicsClientId=client,
                )
        except pybullet.error as error:
            raise BridgeError(f"PyBullet does not load {robot.name} into world {client}: {error}") from error
    pybullet.setGravity(*robot.evaluate(require_tree(robot).gravity, p=p).tolist(), physicsClientId=client)
    return int(body)


def _adapted_urdf(robot: Robot, path: str | os.PathLike[str] | None, p: Values, limits: bool) -> tuple[str, str | None]:
    from ..urdf import export as urdf

    require_tree(robot)
    if robot.natural:
        names = ", ".join(constraint.name for constraint in robot.natural)
        raise BridgeError(
            f"{robot.name} has natural constraints ({names}), which URDF does not have: export the open tree, and "
            "close it in PyBullet by createConstraint; or use erugin.scenarios, or MuJoCo"
        )
    plain = urdf(robot, p=p)
    text, floating = adapt_urdf(plain, robot.name, limits=limits)
    if rubbing := friction_joints(plain):
        warnings.warn(
            f"{robot.name}: PyBullet leaves out the dry friction of {', '.join(rubbing)}",
            BridgeWarning,
            stacklevel=caller_stacklevel(),
        )
    if path is not None:
        write_whole(Path(path), lambda file: _write(file, text))
    return text, floating


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
