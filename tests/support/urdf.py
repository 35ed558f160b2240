"""URDF files for tests: a small arm, and files of real robots."""

from __future__ import annotations

import functools
import importlib
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.robots import Robot, load_urdf
from erugin.symbolic import Kernel

from .references.pinocchio_urdf import PinocchioRobot, example_robots

Array = NDArray[np.float64]
TOLERANCE = 1e-10
STATES = 3

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0.1 0.2 0.3" rpy="0.3 -0.2 0.5"/>
      <mass value="2.5"/>
      <inertia ixx="0.03" ixy="0.001" ixz="-0.002" iyy="0.04" iyz="0.003" izz="0.05"/>
    </inertial>
  </link>
  <link name="lower">
    <inertial>
      <mass value="1.5"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.015"/>
    </inertial>
  </link>
  <link name="tool"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="upper"/>
    <origin xyz="0.5 0 0.1" rpy="0.1 0.2 0.3"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="2.5" effort="40" velocity="3"/>
    <dynamics damping="0.7" friction="0.4"/>
  </joint>
  <joint name="elbow" type="prismatic">
    <parent link="upper"/>
    <child link="lower"/>
    <origin xyz="0 0 0.4"/>
    <axis xyz="0 0 1"/>
    <limit lower="0" upper="0.8" effort="20" velocity="0.5"/>
  </joint>
  <joint name="flange" type="fixed">
    <parent link="lower"/>
    <child link="tool"/>
    <origin xyz="0 0 0.2" rpy="0 0 1.5707963267948966"/>
  </joint>
</robot>
"""
"""A revolute, a prismatic and a fixed joint."""

INERTIA = '<inertia ixx="0.03" ixy="0" ixz="0" iyy="0.04" iyz="0" izz="0.05"/>'


def body(name: str, *, mass: float = 1.0, center: str = "0.1 -0.2 0.3", turned: str = "0.2 0.1 -0.4") -> str:
    """A link with mass."""
    return (
        f'<link name="{name}"><inertial><origin xyz="{center}" rpy="{turned}"/><mass value="{mass}"/>{INERTIA}'
        "</inertial></link>"
    )


def joint(name: str, kind: str, parent: str, child: str, more: str = "") -> str:
    """A joint, with limits where its kind must have them."""
    limit = '<limit lower="-3" upper="3" effort="5" velocity="7"/>' if kind in ("revolute", "prismatic") else ""
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{limit}{more}</joint>'


def write(folder: Path, *parts: str) -> Path:
    """A file with a robot made of these elements, or with this text."""
    path = folder / "robot.urdf"
    whole = parts[0].lstrip().startswith(("<?xml", "<robot"))
    text = "\n".join(parts) if whole else "\n".join(('<robot name="made">', *parts, "</robot>"))
    path.write_text(text, encoding="utf-8")
    return path


def line_of(text: str, part: str) -> int:
    """Line at which ``part`` begins."""
    return text.count("\n", 0, text.index(part)) + 1


@functools.cache
def real_robots() -> dict[str, Path]:
    """Files of ``example-robot-data`` by the name of the file, or by folder and file where two have the same name."""
    files = sorted(example_robots().rglob("*.urdf"))
    names = [file.stem for file in files]
    return {f.stem if names.count(f.stem) == 1 else f"{f.parents[1].name}/{f.stem}": f for f in files}


def load_quietly(path: Path, *, base: str = "fixed") -> Robot:
    """A robot of a file whatever is odd in it."""
    assert base in ("fixed", "floating")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_urdf(path, base="floating" if base == "floating" else "fixed", check_inertia=False)


def in_pinocchio(robot: Robot, path: Path, *, base: str = "fixed") -> PinocchioRobot:
    """The same robot in Pinocchio, in the same order of joints."""
    assert robot.tree is not None
    order: list[str | None] = [node.name for node in robot.tree.nodes]
    return PinocchioRobot(path, [None, *order[1:]] if base == "floating" else order)


def without_dissipation(robot: Robot) -> dict[str, float]:
    """Parameters that switch off what Pinocchio's equations do not hold."""
    return {name: 0.0 for name in robot.nominal if name.endswith((".damping", ".friction"))}


@functools.cache
def seven_joint_arm() -> Robot:
    """The Panda of ``example-robot-data`` with its fingers held: seven joints, seven drives, the limits of its file."""
    text = real_robots()["panda"].read_text(encoding="utf-8")
    finger = r'(<joint name="panda_finger_joint\d" type=")prismatic(">.*?)<axis.*?</joint>'
    held, count = re.subn(finger, r"\1fixed\2</joint>", text, flags=re.DOTALL)
    assert count == 2
    with tempfile.TemporaryDirectory() as folder:
        return load_quietly(write(Path(folder), held))


def require_equal(robot: Robot, path: Path, base: str, frames: list[str], states: int = STATES) -> None:
    """Compare at random states; accelerations without the natural constraints, which Pinocchio does not have."""
    other = in_pinocchio(robot, path, base=base)
    c, nv = robot.coordinates, robot.coordinates.nv
    p = robot.parameters.values(without_dissipation(robot))
    force = ca.SX.sym("force", nv)
    outputs = {"M": robot.mass_matrix, "h": robot.bias, "a": robot.dynamics.factor.solve(force - robot.bias)}
    for i, name in enumerate(frames):
        outputs |= {f"R{i}": robot.frames[name].rotation, f"x{i}": robot.frames[name].position}
        outputs |= {f"J{i}": robot.frame_jacobian(name)}
    kernel = Kernel("urdf", {"q": c.q, "v": c.v, "f": force, "p": robot.p}, outputs, compiled=False)
    rng = np.random.default_rng(7)
    for _ in range(states):
        q, v = other.random_state(rng)
        f = rng.uniform(-1.0, 1.0, nv)
        M, h, a, *rest = kernel(q, v, f, p)
        truth = other.mass_matrix(q)
        size = np.sqrt(np.diag(truth))
        require_close(M.reshape(nv, nv) / np.outer(size, size), truth / np.outer(size, size))
        require_close(h, other.bias(q, v))
        require_close(a, other.acceleration(q, v, f))
        for i, name in enumerate(frames):
            R, x, J = rest[3 * i : 3 * i + 3]
            rotation, position = other.frame(q, name)
            require_close(R, rotation)
            require_close(x, position)
            require_close(J.reshape(6, nv), other.frame_jacobian(q, name))


def require_close(found: Array, truth: Array) -> None:
    """To the tolerance, relative to the largest entry, or to 1 where all are small."""
    np.testing.assert_allclose(found, truth, rtol=0.0, atol=TOLERANCE * max(1.0, float(np.abs(truth).max())))


FINGERS = ("panda_finger_joint1", "panda_finger_joint2")


@functools.cache
def pinocchio() -> tuple[Any, Any]:
    pin: Any = importlib.import_module("pinocchio")  # has no type information
    whole: Any = pin.buildModelFromUrdf(str(real_robots()["panda"]))
    held = [whole.getJointId(name) for name in FINGERS]
    return pin, pin.buildReducedModel(whole, held, pin.neutral(whole))
