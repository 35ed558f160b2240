"""Export of a robot to MJCF, with its inputs as motors on joints, fixed tendons and sites."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...simulation.storage.atomic_file import write_whole
from ...symbolic.errors import BridgeError, BridgeWarning, caller_stacklevel, require_name
from ...symbolic.kernel import Kernel
from ...symbolic.validation import positive, vector
from ..common.body_poses import BodyPoses
from ..common.body_tree import BodyTree, TreeBody
from ..common.bridge import ExportRequest
from ..common.joint_constraints import identify_joint_constraints
from ..common.passive_elements import PassiveElements, identify_passive_elements, random_configurations
from ..common.unsupported import check_unsupported
from .equality_elements import build_equalities, multi_joint_tendons, softness_warnings, unsupported_rotors
from .versions import DIAGEXACT, TENDON_ARMATURE
from .worldbody import BodyWriter, MjcfElement, Value, to_text

Array = NDArray[np.float64]
CONSTANT_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class MotorElements:
    """MJCF elements of the robot's inputs.

    Attributes:
        motors: one for each supported input, in order.
        tendons: tendons that motors pull.
        unsupported: why an input cannot be represented, by name.
        omitted: descriptions of what else is left out.
    """

    motors: tuple[MjcfElement, ...]
    tendons: tuple[MjcfElement, ...]
    unsupported: Mapping[str, str]
    omitted: tuple[str, ...]


def build_motors(robot: Robot, tree: BodyTree, writer: BodyWriter, *, limits: bool) -> MotorElements:
    """Build a motor for each input u_j, whose generalized force is the column j of B.

    In relative coordinates the force is S⁻ᵀ B u. A column with one entry becomes a motor with that gear; a column with
    several becomes a motor on a tendon whose length is the linear combination of the joints' coordinates with these
    coefficients.

    Args:
        robot: robot with the inputs.
        tree: its bodies.
        writer: writer that has written them.
        limits: True to write the bounds of inputs.
    """
    motors: list[MjcfElement] = []
    tendons: list[MjcfElement] = []
    unsupported: dict[str, str] = {}
    omitted: list[str] = []
    sites: dict[str, str] = {}
    owner: dict[int, TreeBody] = {}
    for solid in tree.solids:
        size = 6 if solid.kind == "free" else len(solid.names)
        owner |= dict.fromkeys(range(solid.at_v, solid.at_v + size), solid)
    columns = _constant_columns(robot, tree)
    for j, name in enumerate(robot.input_names):
        if (own := columns[j]) is None:
            unsupported[name] = f"input {name!r}: its effect on the force depends on the state"
            continue
        column = np.asarray(np.linalg.solve(tree.relative_angles.T, own), dtype=np.float64)
        column[np.abs(column) < CONSTANT_TOLERANCE * np.abs(column).max()] = 0.0
        driven = [int(i) for i in np.flatnonzero(column)]
        effort = robot.limits.effort[j] if limits else np.inf
        if effort == 0.0:
            omitted.append(f"the bound of input {name!r}, which is zero")
            effort = np.inf
        bound: dict[str, Value] = {"ctrllimited": "true", "ctrlrange": (-effort, effort)} if np.isfinite(effort) else {}
        floating = {owner[i].name for i in driven if owner[i].kind == "free"}
        if floating and (len({owner[i].name for i in driven}) > 1):
            unsupported[name] = f"input {name!r}: it acts on both a floating body and joints"
        elif floating:
            solid = owner[driven[0]]
            if solid.name not in sites:
                sites[solid.name] = writer.site(f"origin of {solid.name}", solid.name, np.zeros(3))
            gear = column[solid.at_v : solid.at_v + 6]
            motors.append(MjcfElement("motor", name=name, site=sites[solid.name], gear=gear, **bound))
        elif len(driven) == 1:
            joint = writer.joints[driven[0]]
            motors.append(MjcfElement("motor", name=name, joint=joint, gear=column[driven[0]], **bound))
        elif driven:
            tendon = MjcfElement("fixed", name=f"drive {name}")
            for i in driven:
                tendon.add("joint", joint=writer.joints[i], coef=column[i])
            tendons.append(tendon)
            motors.append(MjcfElement("motor", name=name, tendon=f"drive {name}", **bound))
        else:
            unsupported[name] = f"input {name!r}: it has no effect"
    return MotorElements(tuple(motors), tuple(tendons), unsupported, tuple(omitted))


def _constant_columns(robot: Robot, tree: BodyTree) -> list[Array | None]:
    """Return the columns of B, shape (nv,) each; None for a column that depends on the state."""
    c, B = robot.coordinates, robot.input_matrix
    if not robot.u.numel():
        return []
    if not ca.depends_on(B, ca.vertcat(c.t, c.q, c.v)):
        return list(robot.evaluate(B, p=tree.p).reshape(B.shape).T)
    rng = np.random.default_rng(1967)
    kernel = Kernel("columns", {"t": c.t, "q": c.q, "v": c.v, "p": robot.p}, {"B": ca.densify(B)}, compiled=False)
    values = np.array(
        [
            kernel(t, q, rng.uniform(-1.0, 1.0, c.nv), tree.p)[0].reshape(B.shape)
            for t, q in zip(range(4), random_configurations(robot, rng), strict=False)
        ]
    )
    same = np.abs(values - values[0]).max(axis=(0, 1)) <= CONSTANT_TOLERANCE * np.abs(values).max(initial=0.0)
    return [values[0][:, j] if same[j] else None for j in range(len(same))]


LENGTH = 1.0
"""Length of a telescopic link whose rest length is not known [m]."""


def reference_coordinates(robot: Robot, tree: BodyTree, forces: PassiveElements) -> Array:
    """Return the reference coordinates of a model, shape (nq,): zero, with telescopic links at their rest length.

    Args:
        robot: robot with a tree of bodies.
        tree: its bodies.
        forces: passive forces of its joints.
    """
    q = np.zeros(robot.coordinates.nq)
    for solid in tree.solids:
        if solid.kind == "free":
            q[solid.at_q + 6] = 1.0
        elif solid.proportional_bodies and solid.kind == "slide":
            # At zero length its inertia about the previous joint would vanish.
            rest = next((spring.rest for spring in forces.springs if set(spring.coefficients) == {solid.at_v}), 0.0)
            q[solid.at_q] = rest if rest > 0.0 else LENGTH
    return q


def require_quaternions(robot: Robot, tree: BodyTree, q0: Array) -> None:
    """Raise BridgeError for a floating body whose quaternion is not close to unit length.

    Args:
        robot: robot with a tree of bodies.
        tree: its bodies.
        q0: coordinates, shape (nq,).
    """
    for solid in tree.solids:
        if solid.kind == "free" and not 0.5 < np.linalg.norm(q0[solid.at_q + 3 : solid.at_q + 7]) < 2.0:
            raise BridgeError(
                f"{robot.name}: in q0 the quaternion (x, y, z, w) of {solid.name!r} must have length 1, got "
                f"{q0[solid.at_q + 3 : solid.at_q + 7].tolist()}"
            )


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
    """Export a robot to MJCF text: a tree of bodies with motors, springs, dampers, limits and closed loops.

    Joints, bodies, motors and sites keep their names; a joint has the name of its coordinate, a body that of the joint
    that moves it. Coordinates are the same, except that angles from the world's axes become angles between bodies, and
    floating joints have MuJoCo's order: :class:`~erugin.bridges.mujoco.JointMap` converts. A body that moves by a
    fraction of a length (telescopic links) gets a separate slide, which follows the length by ``equality/joint``.

    Natural constraints become ``equality/connect``, ``joint`` and ``tendon``. They are soft in MuJoCo: accelerations of
    a closed loop differ from those of a rigid one by about 1 − ``solimp[0]``, relative to the largest.

    M and h of the model are those of the robot to rounding; a frame without mass gets 2e-15 kg, which MuJoCo requires.
    The model has no contacts. With natural constraints or followers it sets the flag ``diagexact``. It is written for
    the installed version of MuJoCo, 3.0 or later, or for a current one if none is installed: what an older version
    lacks is refused, or reported by a BridgeWarning, with the version that has it.

    Args:
        robot: robot with a tree of bodies.
        path: path of the file to write; no file if not given.
        p: parameters: nominal, overridden by name, or the whole vector.
        name: name of the model; the robot's if not given.
        q0: reference coordinates of the model (``qpos0``), shape (nq,); zero if not given, except lengths of
            telescopic links, which are the rest lengths of their springs, or 1 m.
        timestep: timestep of MuJoCo [s].
        integrator: integrator of MuJoCo.
        solref: time constant [s] and damping ratio of natural constraints.
        solimp: impedance of natural constraints.
        limits: True to write the robot's limits, which MuJoCo enforces on joints and controls.
        ignore: features that MJCF cannot represent and that may be left out with a warning: names of natural
            constraints, of velocities with other forces or inertias, and of inputs, as the error lists them.

    Returns:
        The text.

    Raises:
        BridgeError: for a robot without a tree, or with features that MJCF cannot represent; the message lists them.
        ParameterError: for an unknown parameter.
        ShapeError: for coordinates, solref or solimp of a wrong shape.
        ModelError: for a timestep that is not positive.
    """
    if integrator not in INTEGRATORS:
        raise BridgeError(f"integrator must be one of {', '.join(map(repr, INTEGRATORS))}, got {integrator!r}")
    tree = BodyTree.of(robot, p)
    poses = BodyPoses(robot, tree)
    forces = identify_passive_elements(robot, tree)
    soft = vector("solref", solref, 2), vector("solimp", solimp, 5)
    start = reference_coordinates(robot, tree, forces) if q0 is None else vector("q0", q0, robot.coordinates.nq)
    require_quaternions(robot, tree, start)
    closed = identify_joint_constraints(robot, tree, poses, start)
    writer = BodyWriter(robot, tree, forces, poses, start, limits=limits)
    world = MjcfElement("worldbody")
    writer.write(world)
    if writer.followers and TENDON_ARMATURE.missing:
        names = ", ".join(follower for follower, *_ in writer.followers)
        raise BridgeError(
            f"{robot.name}: {names} follow a length, which requires a newer MuJoCo: {TENDON_ARMATURE.missing}"
        )
    drives = build_motors(robot, tree, writer, limits=limits)
    unsupported = {name: f"natural constraint {name!r}: {why}" for name, why in closed.unsupported.items()}
    unsupported |= drives.unsupported
    unsupported |= {
        name: f"{name!r}: a force or an inertia other than those of the bodies, constant damping or friction, linear "
        "springs, and rotors of joints"
        for name in (*forces.forces, *forces.inertias)
    }
    unsupported |= unsupported_rotors(tree, forces)
    ignored = check_unsupported("MJCF", robot.name, unsupported, ignore)
    require_name("a model in MJCF", name or robot.name, BridgeError)
    model = MjcfElement("mujoco", model=name or robot.name)
    model.add("compiler", angle="radian")
    option = model.add(
        "option", timestep=positive("timestep [s]", timestep), gravity=tree.gravity, integrator=integrator
    )
    flags = {"contact": "disable"}
    if (closed.pins or closed.couplings or writer.followers) and not DIAGEXACT.missing:
        # Otherwise softness is scaled by single joints, and followers yield a thousand times more.
        flags["diagexact"] = "enable"
    option.add("flag", **flags)
    speeds = [i for i in range(robot.coordinates.nv) if limits and np.isfinite(robot.limits.speed[i])]
    if speeds:
        custom = model.add("custom")
        for i in speeds:
            label = robot.coordinates.v[i].name().removeprefix("v_")
            custom.add("numeric", name=f"speed limit of {label}", data=float(robot.limits.speed[i]))
    model.extend([world])
    equality = build_equalities(tree, closed, writer, *soft)
    tendons = [*drives.tendons, *equality.tendons, *multi_joint_tendons(forces, writer, ignored)]
    if tendons:
        model.add("tendon").extend(tendons)
    if equality.elements:
        model.add("equality").extend(equality.elements)
    if drives.motors:
        model.add("actuator").extend(drives.motors)
    omitted = [*(unsupported[name] for name in ignored), *writer.omitted, *drives.omitted]
    if forces.friction.any():
        omitted.append("exact sticking by dry friction at rest, which is soft in MuJoCo")
    if omitted:
        warnings.warn(
            f"{robot.name}: MJCF cannot represent: {'; '.join(omitted)}", BridgeWarning, stacklevel=caller_stacklevel()
        )
    for sentence in softness_warnings(closed, writer):
        warnings.warn(f"{robot.name}: {sentence}", BridgeWarning, stacklevel=caller_stacklevel())
    text = to_text(model)
    if path is not None:
        write_whole(Path(path), lambda file: _write(file, text))
    return text


def write_scenario(request: ExportRequest) -> None:
    """Write the plant of a scenario.

    Args:
        request: request of the command line.
    """
    setup = request.setup
    export(setup.robot, request.out, p=setup.p, q0=setup.q0, timestep=setup.step, ignore=request.ignore)


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
