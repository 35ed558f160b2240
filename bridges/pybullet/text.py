"""URDF as PyBullet reads it without changing the robot."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import BridgeError
from ..urdf_text import following_joints

Array = NDArray[np.float64]
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
NONE = {"lower": "1", "upper": "-1", "effort": "1e30", "velocity": "1e30"}
"""What PyBullet takes for no limits at all."""


def for_bullet(text: str, name: str, *, limits: bool) -> tuple[str, str | None]:
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
    if following := following_joints(text):
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
