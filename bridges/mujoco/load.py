"""Conversion of MJCF to a robot: the tree, its actuators as inputs, and its equality constraints as closed loops."""

from __future__ import annotations

import dataclasses
import math
import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints.constraint import Constraint
from ...constraints.relations.expression import holonomic
from ...robots.dynamics import Dynamics
from ...robots.families.tree_system import tree_system
from ...robots.formulations import Formulation
from ...robots.frame import Frame
from ...robots.limits import Limits
from ...robots.mechanisms.mechanism import Closure, mechanism
from ...robots.robot import Robot
from ...robots.spatial import cross
from ...robots.tree import Floating
from ...robots.tree.tree import Tree
from ...symbolic.coordinates import Coordinates
from ...symbolic.errors import BridgeError, BridgeWarning, caller_stacklevel
from ...symbolic.parameters import NO_PARAMETERS
from ...symbolic.validation import constant_values
from ..common.unsupported import check_unsupported
from .compiled_model import PartNames, actuator_is_enabled, compile_model, is_disabled, rotation_from_wxyz
from .model_tree import (
    SLIDE_JOINT,
    ModelTree,
    build_model_tree,
    declare_parameters,
    fixed_tendon,
    passive_terms,
    site_label,
)
from .unsupported import FIXED_TENDON, JOINT_EQUALITY, check_no_ball_joints, unsupported_features
from .versions import ActuatorChannels, connects_bodies, field_is_set

if TYPE_CHECKING:
    from mujoco import MjModel


Array = NDArray[np.float64]
GAP_TOLERANCE = 1e-9
"""Largest gap of a closure that no joint moves, from rounding [m]."""


def read_closures(
    names: PartNames, tree: Tree, poses: Mapping[str, Frame], ignored: Collection[str]
) -> tuple[list[Closure], list[Constraint]]:
    """Return the active equality constraints: points and rotations, and polynomials of joints or fixed tendons.

    Args:
        names: names of the model's parts.
        tree: tree of its bodies.
        poses: poses of bodies and sites, by name.
        ignored: names of features to leave out, such as ``"equality glue"``.
    """
    model = names.model
    found: list[Closure] = []
    constraints: list[Constraint] = []
    if is_disabled(model, "EQUALITY") or is_disabled(model, "CONSTRAINT"):
        return found, constraints
    for k, name in enumerate(names.equalities):
        if not model.eq_active0[k] or f"equality {name}" in ignored:
            continue
        first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        data, bodies = np.asarray(model.eq_data[k], dtype=np.float64), connects_bodies(model, k)
        match int(model.eq_type[k]):
            case 0:
                ends = [
                    _point(names, poses, number, data[3 * i : 3 * i + 3], bodies)
                    for i, number in enumerate((first, second))
                ]
                found += _movable_rows(name, ends[0], ends[1], tree)
            case 1:
                # The position in the axes of the second body comes first.
                ends = [
                    _point(names, poses, number, anchor, bodies)
                    for number, anchor in ((first, data[3:6]), (second, data[:3]))
                ]
                found += _movable_rows(name, ends[0], ends[1], tree)
                if not data[10]:
                    continue  # with a torquescale of zero the bodies can rotate
                relative = rotation_from_wxyz(data[6:10]) if bodies else np.eye(3)
                turn = (_axes(names, poses, first, bodies) @ ca.SX(ca.DM(relative))).T @ _axes(
                    names, poses, second, bodies
                )
                across = ca.vertcat(turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]) / 2
                found += _movable_rows(f"{name} (turn)", across, ca.SX.zeros(3), tree)
            case 2 | 3 as kind:
                gaps = [_gap(names, tree, kind, number) for number in (first, second)]
                other = ca.SX(0)
                for i, a in enumerate(data[: 5 if second >= 0 else 1].tolist()):
                    other += a * gaps[1] ** i
                constraints.append(holonomic(gaps[0] - other, name=name))
            case _:
                pass  # other kinds have been refused or ignored
    return found, constraints


def _movable_rows(name: str, first: ca.SX, second: ca.SX, tree: Tree) -> list[Closure]:
    """Return a closure of the rows that joints can move; others hold always, or never."""
    gap, q = ca.densify(first - second), tree.coordinates.q
    rows = tuple(i for i in range(3) if ca.depends_on(gap[i], q))
    still = constant_values(gap[[i for i in range(3) if i not in rows]])
    gap_size = 0.0 if still is None else float(np.abs(still).max(initial=0.0))
    if gap_size > GAP_TOLERANCE:
        raise BridgeError(
            f"equality {name} is open by {gap_size:.3g} in a direction in which no joint can close it: correct its "
            "anchor or relpose"
        )
    return [Closure(first, second, name, rows=rows)] if rows else []


def _point(names: PartNames, poses: Mapping[str, Frame], number: int, anchor: Array, bodies: bool) -> ca.SX:
    """Return the position in the world of an anchor of a body, or of a site."""
    if not bodies:
        return poses[site_label(names, number)].position
    position = ca.SX(ca.DM(anchor))
    return position if number == 0 else poses[names.bodies[number]].point(position)


def _axes(names: PartNames, poses: Mapping[str, Frame], number: int, bodies: bool) -> ca.SX:
    """Return the rotation of a body or a site in the world."""
    if not bodies:
        return poses[site_label(names, number)].rotation
    return ca.SX(ca.DM.eye(3)) if number == 0 else poses[names.bodies[number]].rotation


def _gap(names: PartNames, tree: Tree, kind: int, number: int) -> ca.SX:
    """Return a joint's coordinate or a tendon's length relative to the reference pose; zero without one."""
    model, c = names.model, tree.coordinates
    if number < 0:
        return ca.SX(0)
    if kind == JOINT_EQUALITY:
        return c.q[c.names.index(names.joints[number])] - float(model.qpos0[model.jnt_qposadr[number]])
    return fixed_tendon(names, number, tree)[0] - float(model.tendon_length0[number])


AT_JOINT, AT_JOINT_IN_PARENT, AT_TENDON, AT_SITE = 0, 1, 3, 4
TRANSMISSIONS = ("joint", "jointinparent", "slidercrank", "tendon", "site", "body", "so3")


@dataclass(frozen=True, eq=False)
class ModelInputs:
    """Motors as inputs, in the order of the model.

    Attributes:
        names: names of the model's parts.
        chosen: indices of the actuators that are inputs.
        u: symbols, shape (nu,).
        units: unit of each input.
        efforts: greatest |u| of each input.
        unsupported: why other actuators cannot be represented, by the name under which each can be ignored.
    """

    names: PartNames
    chosen: tuple[int, ...]
    u: ca.SX
    units: tuple[str, ...]
    efforts: tuple[float, ...]
    unsupported: Mapping[str, str]

    def matrix(self, model_tree: ModelTree) -> ca.SX:
        """Return B, shape (nv, nu).

        Args:
            model_tree: tree of the model.
        """
        model, tree, c = self.names.model, model_tree.tree, model_tree.tree.coordinates
        B = ca.SX(ca.DM.zeros(c.nv, len(self.chosen)))
        for column, k in enumerate(self.chosen):
            gain, gear = float(model.actuator_gainprm[k][0]), ca.SX(ca.DM(_gear(self.names, k).tolist()))
            target = int(model.actuator_trnid[k][0])
            if model.actuator_trntype[k] == AT_TENDON:
                B[:, column] = gain * gear[0] * fixed_tendon(self.names, target, tree)[1].T
            elif model.actuator_trntype[k] == AT_SITE:
                label = site_label(self.names, target)
                node, inside = model_tree.attachments[label]
                if node >= 0 and isinstance(tree.nodes[node].joint, Floating):
                    # In the axes of a floating body the wrench is constant.
                    force, couple = inside.rotation @ gear[:3], inside.rotation @ gear[3:]
                    couple += cross(inside.position, force)
                    B[tree.velocity_indices[node], column] = gain * ca.vertcat(force, couple)
                else:
                    pose = model_tree.poses()[label]
                    wrench = ca.vertcat(pose.rotation @ gear[:3], pose.rotation @ gear[3:])
                    B[:, column] = gain * (pose.jacobian(c).T @ wrench)
            else:
                B[int(model.jnt_dofadr[target]), column] = gain * gear[0]
        return B


def read_inputs(names: PartNames) -> ModelInputs:
    """Return the inputs of all actuators.

    Args:
        names: names of the model's parts.
    """
    model = names.model
    chosen: list[int] = []
    units: list[str] = []
    efforts: list[float] = []
    unsupported: dict[str, str] = {}
    for k, name in enumerate([] if is_disabled(model, "ACTUATION") else names.actuators):
        if not actuator_is_enabled(model, k):
            continue
        why = _unsupported_reason(names, k)
        if why:
            unsupported[f"actuator {name}"] = f"actuator {name}: {why}"
            continue
        effort, uneven = _effort(names, k)
        if uneven:
            unsupported[f"ctrlrange of {name}"] = f"ctrlrange of {name}: bounds {uneven} that are not symmetric"
        chosen.append(k)
        efforts.append(effort)
        units.append(_unit(names, k))
    u = ca.vertcat(NO_PARAMETERS.symbols, *(ca.SX.sym(names.actuators[k]) for k in chosen))
    return ModelInputs(names, tuple(chosen), u, tuple(units), tuple(efforts), unsupported)


def _unsupported_reason(names: PartNames, k: int) -> str:
    """Return why an actuator is not a motor; empty if it is one."""
    model = names.model
    kind = int(model.actuator_trntype[k])
    target = int(model.actuator_trnid[k][0])
    if kind not in (AT_JOINT, AT_JOINT_IN_PARENT, AT_TENDON, AT_SITE):
        return f"it acts through {TRANSMISSIONS[kind] if kind < len(TRANSMISSIONS) else 'an unknown transmission'}"
    if kind == AT_TENDON and model.wrap_type[model.tendon_adr[target]] != FIXED_TENDON:
        return f"it pulls the spatial tendon {names.tendons[target]!r}"
    if kind == AT_SITE and int(model.actuator_trnid[k][1]) >= 0:
        return "it acts between two sites"
    if kind in (AT_JOINT, AT_JOINT_IN_PARENT) and model.jnt_type[target] not in (2, 3):
        return f"it acts on {names.joints[target]!r}, which is neither a hinge nor a slide; let it act on a site"
    if model.actuator_dyntype[k] != 0:
        return "it has an internal state (dyntype)"
    if model.actuator_gaintype[k] != 0 or np.any(model.actuator_biasprm[k][:3]) or model.actuator_biastype[k] > 1:
        return "it is not a motor: its force depends on position or velocity, like that of a servo or a muscle"
    for field in ("actuator_armature", "actuator_damping", "actuator_dampingpoly", "actuator_delay"):
        if field_is_set(model, field, k):
            return f"it has {field.removeprefix('actuator_')}"
    channels = ActuatorChannels.of(model, k)
    if channels.controls != 1 or channels.forces != 1:
        return "it has several controls"
    return ""


def _effort(names: PartNames, k: int) -> tuple[float, str]:
    """Return the greatest |u|, and the bounds as text if they are not symmetric."""
    model = names.model
    bounds: list[tuple[float, float]] = []
    at = ActuatorChannels.of(model, k).control
    if model.actuator_ctrllimited[at] and not is_disabled(model, "CLAMPCTRL"):
        low, high = (float(x) for x in model.actuator_ctrlrange[at])
        bounds.append((low, high))
    gain = float(model.actuator_gainprm[k][0])
    if model.actuator_forcelimited[k] and gain:
        low, high = sorted(float(x) / gain for x in model.actuator_forcerange[k])
        bounds.append((low, high))
    if not bounds:
        return math.inf, ""
    low, high = max(b[0] for b in bounds), min(b[1] for b in bounds)
    return max(-low, high, 0.0), "" if low == -high else f"{low:g} and {high:g}"


def _gear(names: PartNames, k: int) -> NDArray[np.float64]:
    """Return the gear of an actuator with one force; from MuJoCo 4 an actuator may have several."""
    return np.asarray(names.model.actuator_gear[ActuatorChannels.of(names.model, k).force])


def _unit(names: PartNames, k: int) -> str:
    model, kind = names.model, int(names.model.actuator_trntype[k])
    gear, target = _gear(names, k), int(model.actuator_trnid[k][0])
    if kind == AT_SITE:
        return "N" if np.any(gear[:3]) else "N m"
    if kind == AT_TENDON:
        target = int(model.wrap_objid[model.tendon_adr[target]])
    return "N" if model.jnt_type[target] == SLIDE_JOINT else "N m"


UNBOUNDED = 1e10
"""A bound of this size means no bound on that side."""


def load(
    source: MjModel | str | os.PathLike[str],
    *,
    name: str | None = None,
    ignore: Sequence[str] = (),
    formulation: Formulation | None = None,
) -> Robot:
    """Build the robot M(q) a + h(q, v) = B u + Aᵀ μ of an MJCF model, with bodies as MuJoCo's compiler defines them.

    *Joints.* Hinges and slides have one coordinate each, equal to MuJoCo's; free joints become floating ones, with
    coordinates (x, y, z, qx, qy, qz, qw) and velocities in the body's axes. Bodies without joints belong to their
    parent. A joint without a name has that of its body.

    *Inputs.* Each motor on a joint, a fixed tendon or a site, with its gear; the input is its control. Disabled groups
    of actuators are left out.

    *Closed loops.* ``connect``, ``weld``, ``joint`` and ``tendon`` (fixed ones) become rigid natural constraints; rows
    that depend on others, as in a planar loop, get reactions of least norm.

    *Forces in h.* Damping, dry friction f sign(v) and linear springs of joints and of fixed tendons, and gravity.
    Armature is part of M. Bounds of joints and controls become ``limits``, which are not enforced.

    *Parameters.* ``gravity.x`` … where not zero; ``<body>.mass``, ``.cx``, ``.cy``, ``.cz`` in the body's frame and the
    principal moments ``.I1``, ``.I2``, ``.I3``; ``<joint>.damping``, ``.friction``, ``.stiffness``, ``.rest``,
    ``.armature`` where the model has them.

    Args:
        source: a ``mujoco.MjModel``, MJCF text, or the path of a file.
        name: name of the robot; the model's if not given.
        ignore: names of features that a robot cannot represent and that are left out with a warning, as the error lists
            them, such as ``"contacts"``.
        formulation: how the equations are derived; ``Articulated()`` if not given.

    Raises:
        BridgeError: for a model that MuJoCo refuses, a model without joints, ball joints, unsupported features that are
            not ignored, or names in ``ignore`` that the model does not have.
        MissingPackageError: if MuJoCo is not installed.
    """
    model = compile_model(source)
    names = PartNames(model)
    label = name or model.names[: model.names.index(b"\0")].decode() or "MuJoCo model"
    if not model.njnt:
        raise BridgeError(f"{label}: the model has no joints, so nothing in it can move")
    check_no_ball_joints(names)
    inputs = read_inputs(names)
    unsupported = {**unsupported_features(names), **inputs.unsupported}
    hint = (
        "or replace actuators that are not motors by <motor>"
        if any(": it is not a motor" in x for x in unsupported.values())
        else ""
    )
    ignored = check_unsupported("a Robot", label, unsupported, ignore, hint=hint)
    if ignored:
        omitted = "; ".join(unsupported[word] for word in ignored)
        warnings.warn(f"{label}: left out of the model: {omitted}", BridgeWarning, stacklevel=caller_stacklevel())
    p = declare_parameters(names)
    model_tree = build_model_tree(names, p)
    tree = model_tree.tree
    c = tree.coordinates
    poses = model_tree.poses()
    passive = passive_terms(names, p, tree)
    robot = tree_system(
        tree,
        parameters=p,
        u=inputs.u,
        B=inputs.matrix(model_tree),
        V=passive.energy,
        resistance=passive.resistance,
        points={key: frame.position for key, frame in poses.items()},
        frames=poses,
        input_units=inputs.units,
        limits=_limits(names, c, inputs.efforts),
        formulation=formulation,
        name=label,
    )
    if not passive.armature.is_zero():
        robot = dataclasses.replace(robot, dynamics=_with_rotor_inertia(robot, passive.armature))
    pins, couplings = read_closures(names, tree, poses, ignored)
    robot = dataclasses.replace(robot, natural=tuple(couplings))
    return mechanism(robot, pins, name=label, redundant="least-norm") if pins else robot


def _with_rotor_inertia(robot: Robot, armature: ca.SX) -> Dynamics:
    """Return the dynamics with rotors, of which only the rotation by their own joint counts."""
    plain, v = robot.dynamics, robot.v
    return Dynamics(
        mass_matrix=lambda: plain.mass_matrix + armature,
        bias=lambda: plain.bias,
        kinetic_energy=lambda: plain.kinetic_energy + ca.dot(v, armature @ v) / 2,
        potential_energy=lambda: plain.potential_energy,
    )


def _limits(names: PartNames, c: Coordinates, efforts: Sequence[float]) -> Limits:
    model = names.model
    lower, upper = np.full(c.nq, -np.inf), np.full(c.nq, np.inf)
    speed = np.full(c.nv, np.inf)
    for j, name in enumerate(names.joints):
        if model.jnt_limited[j] and name in c.names:
            at = c.names.index(name)
            lower[at], upper[at] = model.jnt_range[j]
    bounds = {f"speed limit of {c.v[i].name().removeprefix('v_')}": i for i in range(c.nv)}
    for k in range(model.nnumeric):
        # Exported models keep speed limits, which MJCF does not have, as custom numbers.
        if (index := bounds.get(model.numeric(k).name)) is not None:
            speed[index] = model.numeric_data[model.numeric_adr[k]]
    lower[lower <= -UNBOUNDED], upper[upper >= UNBOUNDED] = -np.inf, np.inf
    return Limits(lower, upper, speed, np.array(efforts, dtype=np.float64))
