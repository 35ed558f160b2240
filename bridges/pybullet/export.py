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
"""Limits that PyBullet reads as no limits."""


def adapt_urdf(text: str, name: str, *, limits: bool) -> tuple[str, str | None]:
    """Rewrite a URDF so that PyBullet reads it without loss.

    PyBullet rotates inertias to principal axes by an iteration that stops at 1e-5, so they are written in these axes;
    it has no floating joint, only a floating root; and it reads a revolute joint without limits as a continuous one.

    Args:
        text: URDF of a robot.
        name: name of the robot, for messages.
        limits: True to keep the limits of joints, which act in PyBullet.

    Returns:
        The URDF, and the name of the floating joint that its root represents, or None.

    Raises:
        BridgeError: for mimic joints, a planar joint, or a floating one that does not carry the root.
    """
    robot = ET.fromstring(text)
    if following := mimic_joints(text):
        raise BridgeError(
            f"{name}: bodies that move by a fraction of a joint ({', '.join(following)}) require mimic joints, which "
            "PyBullet does not read from URDF. Use erugin.scenarios or MuJoCo"
        )
    floating = _free_root(robot, name)
    root = _root(robot)
    for link in robot.findall("link"):
        inertial = link.find("inertial")
        if inertial is None:
            continue
        if link.get("name") == root and floating is None:
            # For a fixed root, PyBullet's inverse dynamics rotates gravity by these axes.
            link.remove(inertial)
        else:
            _turn_to_principal_axes(inertial)
    for joint in robot.findall("joint"):
        kind = joint.get("type")
        if kind in ("planar", "floating"):
            raise BridgeError(
                f"{name}: joint {joint.get('name')!r} is {kind}, but PyBullet supports no planar joints, and floating "
                "ones only at the root: use prismatic and revolute joints in a row"
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
    """Remove the world and the floating joint from it to the root; return the joint's name, or None."""
    root = _root(robot)
    joints = [joint for joint in robot.findall("joint") if _link(joint, "parent") == root]
    if not any(joint.get("type") == "floating" for joint in joints):
        return None
    if len(joints) != 1:
        labels = ", ".join(repr(joint.get("name")) for joint in joints)
        raise BridgeError(
            f"{name}: several joints ({labels}) are attached to the world, and one of them floats: PyBullet requires a "
            "separate body for each; export them as separate robots"
        )
    origin = joints[0].find("origin")
    if origin is not None and any(np.array([*_numbers(origin, "xyz"), *_numbers(origin, "rpy")])):
        raise BridgeError(
            f"{name}: the floating joint {joints[0].get('name')!r} must be placed at the world's origin, from which "
            "PyBullet measures the root"
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
    """Return roll, pitch and yaw of a rotation."""
    pitch = float(np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])))
    yaw = float(np.arctan2(R[1, 0], R[0, 0]))
    # Compute the roll from the remaining rotation, which is also well defined at a pitch of ±π/2.
    turned = _rotation(0.0, pitch, yaw).T @ R
    return float(np.arctan2(turned[2, 1], turned[1, 1])), pitch, yaw


Values = Mapping[str, float] | ArrayLike | None


def export(robot: Robot, path: str | os.PathLike[str] | None = None, *, p: Values = None, limits: bool = True) -> str:
    """Return URDF with inertias in principal axes, to be loaded with ``flags=URDF_USE_INERTIA_FROM_FILE``.

    Load a robot with a fixed base with ``useFixedBase=True``; :func:`spawn` does all of this. PyBullet's default
    damping (0.04), its motors on every joint and its speed limit (100 rad/s) are not part of the file: :func:`drive`
    turns them off.

    Args:
        robot: robot with a tree of bodies, without natural constraints.
        path: path of the file to write; no file if not given.
        p: parameters: nominal, overridden by name, or the whole vector.
        limits: True to write the limits of joints, which stop a joint in PyBullet and have no effect in Erugin.

    Raises:
        BridgeError: if URDF or PyBullet cannot represent the robot.

    Warns:
        BridgeWarning: about dry friction, which PyBullet has only as the force of its own motors.
    """
    return _adapted_urdf(robot, path, p, limits)[0]


def spawn(robot: Robot, *, client: int = 0, p: Values = None, limits: bool = False) -> int:
    """Put a robot into a world, set the world's gravity, and return the number of the body.

    Args:
        robot: as for :func:`export`.
        client: number of the world.
        p: parameters: nominal, overridden by name, or the whole vector.
        limits: True to let the limits of joints act, which they do not in Erugin.

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
            f"URDF cannot represent the natural constraints ({names}) of {robot.name}: export the open tree and close "
            "it in PyBullet by createConstraint, or use erugin.scenarios or MuJoCo"
        )
    plain = urdf(robot, p=p)
    text, floating = adapt_urdf(plain, robot.name, limits=limits)
    if frictional := friction_joints(plain):
        warnings.warn(
            f"{robot.name}: PyBullet leaves out the dry friction of {', '.join(frictional)}",
            BridgeWarning,
            stacklevel=caller_stacklevel(),
        )
    if path is not None:
        write_whole(Path(path), lambda file: _write(file, text))
    return text, floating


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
