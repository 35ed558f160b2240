"""Robot → MJCF."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...scenarios.whole_file import write_whole
from ...symbolic.arrays import positive, vector
from ...symbolic.errors import BridgeError, BridgeWarning, caller_level, require_name
from ..held import held
from ..passive import passive
from ..poses import Poses
from ..refused import refuse
from ..solids import SolidTree
from .features import EXACT, ROTORS
from .model_bodies import BodyWriter
from .model_drives import drives
from .model_elements import Element, to_text
from .model_loops import across, loops, softly, unlike_rotors
from .model_reference import reference, require_quaternions

Array = NDArray[np.float64]
Integrator = Literal["Euler", "RK4", "implicit", "implicitfast"]
INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast")


def export(
    robot: Robot,
    path: str | os.PathLike[str] | None = None,
    *,
    p: Mapping[str, float] | ArrayLike | None = None,
    name: str | None = None,
    q0: ArrayLike | None = None,
    timestep: float = 0.001,
    integrator: Integrator = "RK4",
    solref: tuple[float, float] = (0.005, 1.0),
    solimp: tuple[float, float, float, float, float] = (0.9999, 0.9999, 0.001, 0.5, 2.0),
    limits: bool = True,
    ignore: Sequence[str] = (),
) -> str:
    """MJCF text of a robot: a tree of bodies, its drives, springs, dampers, limits and closed loops.

    Joints, bodies, drives and sites have the names that they have here; a joint is called like its coordinate, a body
    like the joint that moves it. Coordinates are the same, except that angles which are measured from the world's axes
    become angles between bodies, and floating joints have MuJoCo's order: :class:`~erugin.bridges.mujoco.Joints` tells.
    A body that a share of a length carries (telescopic links) gets a slide of its own, which follows the length by
    ``equality/joint``.

    Natural constraints become ``equality/connect``, ``joint`` and ``tendon``. MuJoCo holds them softly: accelerations
    of a closed loop differ from those of a rigid one by about 1 − ``solimp[0]``, relative to the largest.

    M and h of the model are those of the robot to rounding; a frame without mass gets 2e-15 kg, which MuJoCo demands.
    The model has no contacts. With natural constraints or followers it sets the flag ``diagexact``. It is written for
    the MuJoCo that is installed, from 3.0 on, or for a current one if none is: what an older one lacks is refused, or
    told by a BridgeWarning, with the version that has it.

    Args:
        robot: made of a tree of bodies.
        path: of the file that is written; none if not given.
        p: parameters: nominal, overridden by name, or the whole vector.
        name: of the model; the robot's if not given.
        q0: coordinates in which the model is set up (``qpos0``), shape (nq,); zero if not given, except lengths of
            telescopic links, which are those of their springs at rest, or 1 m.
        timestep: of MuJoCo [s].
        integrator: of MuJoCo.
        solref: time constant [s] and damping ratio of natural constraints.
        solimp: impedance of natural constraints.
        limits: whether bounds of the robot become bounds there, which MuJoCo enforces on joints and controls.
        ignore: what has no counterpart and may be left out: names of natural constraints, of velocities with other
            forces or inertias, and of inputs, as the error lists them; a warning tells them.

    Returns:
        The text.

    Raises:
        BridgeError: for a robot without a tree, and for what has no counterpart; names all of it.
        ParameterError: for an unknown parameter.
        ShapeError: for coordinates, solref or solimp of a wrong shape.
        ModelError: for a timestep that is not positive.
    """
    if integrator not in INTEGRATORS:
        raise BridgeError(f"integrator must be one of {', '.join(map(repr, INTEGRATORS))}, got {integrator!r}")
    tree = SolidTree.of(robot, p)
    poses = Poses(robot, tree)
    forces = passive(robot, tree)
    soft = vector("solref", solref, 2), vector("solimp", solimp, 5)
    start = reference(robot, tree, forces) if q0 is None else vector("q0", q0, robot.coordinates.nq)
    require_quaternions(robot, tree, start)
    closed = held(robot, tree, poses, start)
    writer = BodyWriter(robot, tree, forces, poses, start, limits=limits)
    world = Element("worldbody")
    writer.write(world)
    if writer.followers and ROTORS.missing:
        names = ", ".join(follower for follower, *_ in writer.followers)
        raise BridgeError(f"{robot.name}: {names} follow a length, and {ROTORS.missing}, which is what holds them")
    wires = drives(robot, tree, writer, limits=limits)
    lost = {name: f"natural constraint {name!r}: {why}" for name, why in closed.left.items()}
    lost |= wires.lost
    lost |= {
        name: f"{name!r}: a force or an inertia besides those of the bodies, which is no constant damping or friction, "
        "linear spring, or rotor of its joint"
        for name in (*forces.forces, *forces.inertias)
    }
    lost |= unlike_rotors(tree, forces)
    ignored = refuse("MJCF", robot.name, lost, ignore)
    require_name("a model in MJCF", name or robot.name, BridgeError)
    model = Element("mujoco", model=name or robot.name)
    model.add("compiler", angle="radian")
    option = model.add(
        "option", timestep=positive("timestep [s]", timestep), gravity=tree.gravity, integrator=integrator
    )
    flags = {"contact": "disable"}
    if (closed.pins or closed.couplings or writer.followers) and not EXACT.missing:
        # Else softness is measured by joints alone, and followers give way a thousand times more.
        flags["diagexact"] = "enable"
    option.add("flag", **flags)
    speeds = [i for i in range(robot.coordinates.nv) if limits and np.isfinite(robot.limits.speed[i])]
    if speeds:
        custom = model.add("custom")
        for i in speeds:
            label = robot.coordinates.v[i].name().removeprefix("v_")
            custom.add("numeric", name=f"speed limit of {label}", data=float(robot.limits.speed[i]))
    model.extend([world])
    equality = loops(tree, closed, writer, *soft)
    tendons = [*wires.tendons, *equality.tendons, *across(forces, writer, ignored)]
    if tendons:
        model.add("tendon").extend(tendons)
    if equality.elements:
        model.add("equality").extend(equality.elements)
    if wires.motors:
        model.add("actuator").extend(wires.motors)
    told = [*(lost[name] for name in ignored), *writer.told, *wires.told]
    if forces.friction.any():
        told.append("the firm hold of dry friction at rest, which is soft in MuJoCo")
    if told:
        warnings.warn(
            f"{robot.name}: MJCF does not carry over {'; '.join(told)}", BridgeWarning, stacklevel=caller_level()
        )
    for sentence in softly(closed, writer):
        warnings.warn(f"{robot.name}: {sentence}", BridgeWarning, stacklevel=caller_level())
    text = to_text(model)
    if path is not None:
        write_whole(Path(path), lambda file: _write(file, text))
    return text


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
