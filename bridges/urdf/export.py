"""Robot → URDF."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.joints import Floating
from ...robots.robot import Robot
from ...scenarios.whole_file import write_whole
from ...symbolic.errors import BridgeError, BridgeWarning, caller_level, require_name
from ..held import held
from ..passive import Passive, passive
from ..poses import Poses
from ..refused import refuse
from ..solids import SolidTree, own_tree
from .links import LinkWriter, to_text

Array = NDArray[np.float64]
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
    """URDF text of a robot: links, joints, inertials, limits, damping and dry friction.

    Joints are called like their nodes here, and so are the links that they move; the root is called ``world``. Angles
    that are measured from the world's axes become angles between links. A body that a share of a length carries
    (telescopic links) gets a slide that mimics the length. A natural constraint that ties two joints is a ``<mimic>``.

    URDF has no gravity, which readers take along −z: the text keeps the axes of the robot and tells its gravity in a
    comment, unless ``upright`` turns the robot. It has no drives: every joint has one.

    Args:
        robot: made of a tree of bodies.
        path: of the file that is written; none if not given.
        p: parameters: nominal, overridden by name, or the whole vector.
        name: of the robot; its own if not given.
        loops: ``"refuse"`` natural constraints, which URDF cannot close, or ``"drop"`` them with a warning.
        upright: whether the robot is turned so that its gravity lies along −z.
        frames: whether each of the robot's frames and points becomes a link without mass.
        floating: a body that floats is moved by a ``"joint"``, or is the ``"root"`` of the file, which readers let
            float (``base="floating"``).
        ignore: what else has no counterpart and may be left out, as the error lists it; a warning tells it.

    Returns:
        The text.

    Raises:
        BridgeError: for a robot without a tree, and for what has no counterpart; names all of it.
        ParameterError: for an unknown parameter.
    """
    for word, given, known in (("loops", loops, LOOPS), ("floating", floating, ("joint", "root"))):
        if given not in known:
            raise BridgeError(f"{word} must be one of {', '.join(map(repr, known))}, got {given!r}")
    tree = SolidTree.of(robot, p)
    poses = Poses(robot, tree)
    forces = passive(robot, tree)
    closed = held(robot, tree, poses, _neutral(robot))
    writer = LinkWriter(robot, tree, forces, closed.couplings, floating_root=floating == "root")

    dropped = dict(closed.left) | {pin.name: "it closes a loop" for pin in closed.pins} | writer.open
    constraints = {key: f"natural constraint {key!r}: {why}" for key, why in dropped.items()}
    lost = _strange(robot, tree, forces)
    if loops == "refuse":
        lost = constraints | lost
        hint = "or leave constraints open with loops='drop'" if constraints else ""
        told = [lost[word] for word in refuse("URDF", robot.name, lost, ignore, hint=hint)]
    else:
        told = [*constraints.values(), *(lost[word] for word in refuse("URDF", robot.name, lost, ignore))]
    told += writer.told
    turn = _upright(tree.gravity) if upright else np.eye(3)
    if floating == "root" and not np.array_equal(turn, np.eye(3)):
        raise BridgeError(
            f"{robot.name}: what is the root of the file has no joint to be turned by: leave upright= out"
        )
    require_name("a robot in URDF", name or robot.name, BridgeError)
    root = writer.write(name or robot.name, turn=turn)
    if frames:
        told += writer.add_frames(poses)
    if told:
        warnings.warn(
            f"{robot.name}: URDF does not carry over {'; '.join(told)}", BridgeWarning, stacklevel=caller_level()
        )
    text = to_text(root)
    if path is not None:
        target = Path(path)
        write_whole(target, lambda file: _write(file, text))
    return text


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def _neutral(robot: Robot) -> Array:
    q = np.zeros(robot.coordinates.nq)
    for node in own_tree(robot).nodes:
        if isinstance(node.joint, Floating):
            q[robot.coordinates.names.index(f"{node.name}.qw")] = 1.0
    return q


def _strange(robot: Robot, tree: SolidTree, forces: Passive) -> dict[str, str]:
    """What joints of URDF do not have, by the name of the joint."""
    names = {i: label for solid in tree.solids for i, label in enumerate(solid.names, solid.at_v)}
    found: dict[str, str] = {}
    for label in dict.fromkeys((*forces.forces, *forces.inertias)):
        found[label] = f"{label!r}: a force or an inertia besides those of the bodies, damping and dry friction"
    several = [element for element in forces.dampers if len(element.shares) > 1]
    for what, elements in (("a spring", forces.springs), ("a rotor", forces.rotors), ("a damper", several)):
        for element in elements:
            joints = " and ".join(names[i] for i in element.shares)
            word = f"{what[2:]} of {joints}"
            found[word] = f"{what} of {joints}"
    return found


def _upright(gravity: Array) -> Array:
    """The shortest turn that brings gravity to −z, shape (3, 3)."""
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
