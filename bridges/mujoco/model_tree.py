"""Bodies, joints, springs, dampers, dry friction and rotors of a compiled MuJoCo model as a rigid-body tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.frame import Frame
from ...robots.tree import Floating, Joint, Prismatic, Revolute
from ...robots.tree.body import Body
from ...robots.tree.joints import WORLD, Node
from ...robots.tree.tree import Tree
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import constant_values
from .compiled_model import ROUNDING, PartNames, is_disabled, rotation_from_wxyz
from .unsupported import FIXED_TENDON, FREE, branches
from .versions import field_entry, field_is_set

if TYPE_CHECKING:
    from mujoco import MjModel


Array = NDArray[np.float64]
FREE_JOINT, SLIDE_JOINT, HINGE_JOINT = 0, 2, 3
AXES = "xyz"


@dataclass(frozen=True, eq=False)
class _FixedPose:
    """Constant pose relative to a node or the world."""

    node: int
    rotation: Array
    position: Array

    def attached(self, R: Array, x: Array) -> _FixedPose:
        return _FixedPose(self.node, _clean(self.rotation @ R), self.position + self.rotation @ x)


@dataclass(frozen=True, eq=False)
class ModelTree:
    """Tree of a model with the frames of its bodies and sites.

    Attributes:
        tree: tree of its bodies.
        attachments: of each body and site, by name, the node, or −1, and the pose relative to it.
    """

    tree: Tree
    attachments: dict[str, tuple[int, Frame]]

    def poses(self) -> dict[str, Frame]:
        """Return the poses in the world of bodies and sites, by name."""
        return {
            name: frame if node == WORLD else self.tree.points.attach(node, frame)
            for name, (node, frame) in self.attachments.items()
        }


def mass_parameters(names: PartNames) -> dict[str, float]:
    """Return nominal masses, centres and moments of the moving bodies, and gravity.

    Args:
        names: names of the model's parts.
    """
    model = names.model
    gravity = np.zeros(3) if is_disabled(model, "GRAVITY") else np.asarray(model.opt.gravity)
    values = {f"gravity.{axis}": float(g) for axis, g in zip(AXES, gravity, strict=True) if g}
    for b in _moving(names):
        label = names.bodies[b]
        values[f"{label}.mass"] = float(model.body_mass[b])
        values |= {f"{label}.c{axis}": float(x) for axis, x in zip(AXES, model.body_ipos[b], strict=True)}
        values |= {f"{label}.I{i + 1}": float(x) for i, x in enumerate(model.body_inertia[b])}
    return values


def build_model_tree(names: PartNames, p: Parameters) -> ModelTree:
    """Build the tree with a node for each joint, in MuJoCo's order.

    Args:
        names: names of the model's parts.
        p: parameters, including those of :func:`mass_parameters`.
    """
    model, symbols = names.model, dict(p)
    nodes: list[tuple[str, int, Frame, Joint]] = []
    attached: list[list[Body]] = []
    at = [_FixedPose(WORLD, np.eye(3), np.zeros(3))]
    moving = set(_moving(names))
    for b in range(1, model.nbody):
        pose = at[int(model.body_parentid[b])].attached(rotation_from_wxyz(model.body_quat[b]), model.body_pos[b])
        first = int(model.body_jntadr[b])
        for j in range(first, first + int(model.body_jntnum[b])):
            joint, R, x = _joint(names, j)
            anchor = np.array(model.jnt_pos[j]) if model.jnt_type[j] == HINGE_JOINT else np.zeros(3)
            if model.jnt_type[j] == FREE_JOINT:
                pose = _FixedPose(WORLD, np.eye(3), np.zeros(3))
            start = pose.attached(R, anchor + x)
            nodes.append((names.joints[j], start.node, _frame(start), joint))
            attached.append([])
            pose = _FixedPose(len(nodes) - 1, np.eye(3), -anchor)
        at.append(pose)
        if b in moving:
            attached[pose.node].append(_body(names, b, pose, symbols))
    tree = Tree(
        tuple(
            Node(name=name, parent=parent, placement=frame, joint=joint, bodies=tuple(bodies))
            for (name, parent, frame, joint), bodies in zip(nodes, attached, strict=True)
        ),
        ca.vertcat(*(symbols.get(f"gravity.{axis}", ca.SX(0)) for axis in AXES)),
    )
    attachments = {names.bodies[b]: (at[b].node, _frame(at[b])) for b in range(1, model.nbody)}
    for s, site in enumerate(names.sites):
        own = at[int(model.site_bodyid[s])].attached(rotation_from_wxyz(model.site_quat[s]), model.site_pos[s])
        attachments[site if site not in attachments else f"{site} (site)"] = (own.node, _frame(own))
    return ModelTree(tree, attachments)


def site_label(names: PartNames, site: int) -> str:
    """Return the name of the frame of a site.

    Args:
        names: names of the model's parts.
        site: index of the site.
    """
    name = names.sites[site]
    return f"{name} (site)" if name in names.bodies[1:] else name


def _moving(names: PartNames) -> list[int]:
    """Return the indices of the bodies that joints move."""
    model = names.model
    # Mocap bodies and their children are welded to themselves, not to the world, and no joint moves them.
    return [b for b in range(1, model.nbody) if model.body_jntnum[model.body_weldid[b]]]


def _joint(names: PartNames, j: int) -> tuple[Joint, Array, Array]:
    """Return the joint, and the rotation and displacement of its zero relative to the reference pose."""
    model = names.model
    axis = np.where(np.abs(model.jnt_axis[j]) < ROUNDING, 0.0, model.jnt_axis[j])
    reference = float(model.qpos0[model.jnt_qposadr[j]])
    direction = (float(axis[0]), float(axis[1]), float(axis[2]))
    match int(model.jnt_type[j]):
        case 3:
            hinge = Revolute(direction)
            turn = constant_values(hinge.pose(ca.SX(-reference)).rotation)
            assert turn is not None
            return hinge, turn, np.zeros(3)
        case 2:
            return Prismatic(direction), np.eye(3), -reference * axis
        case _:
            # Ball joints have been refused before.
            return Floating(), np.eye(3), np.zeros(3)


def _body(names: PartNames, b: int, pose: _FixedPose, symbols: dict[str, ca.SX]) -> Body:
    label = names.bodies[b]
    R = ca.SX(ca.DM(_clean(pose.rotation @ rotation_from_wxyz(names.model.body_iquat[b]))))
    moments = ca.diag(ca.vertcat(*(symbols[f"{label}.I{i}"] for i in (1, 2, 3))))
    center = ca.vertcat(*(symbols[f"{label}.c{axis}"] for axis in AXES))
    return Body(
        name=label,
        mass=symbols[f"{label}.mass"],
        center=_frame(pose).point(center),
        inertia=ca.densify(R @ moments @ R.T),
    )


def _frame(pose: _FixedPose) -> Frame:
    return Frame(ca.SX(ca.DM(pose.rotation)), ca.SX(ca.DM(pose.position)))


def _clean(R: Array) -> Array:
    return np.where(np.abs(R) < ROUNDING, 0.0, R)


@dataclass(frozen=True, eq=False)
class PassiveTerms:
    """Passive terms of joints and tendons.

    Attributes:
        energy: potential energy of springs [J].
        resistance: force of dampers and friction, shape (nv,).
        armature: matrix added to M, shape (nv, nv).
    """

    energy: ca.SX
    resistance: ca.SX
    armature: ca.SX


def declare_parameters(names: PartNames) -> Parameters:
    """Declare all parameters of a model.

    Args:
        names: names of its parts.
    """
    values = mass_parameters(names)
    ranges = {name: Range.NOT_NEGATIVE for name in values if name.endswith(".mass")}
    model = names.model
    for j, name in enumerate(names.joints):
        if model.jnt_type[j] != FREE:
            v, q = int(model.jnt_dofadr[j]), int(model.jnt_qposadr[j])
            # Nonlinear elements have been refused, or are ignored as a whole.
            nonlinear = field_is_set(model, "jnt_stiffnesspoly", j) or field_is_set(model, "jnt_springyield", j)
            nonlinear_damping = is_disabled(model, "DAMPER") or field_is_set(model, "dof_dampingpoly", v)
            own = {
                "damping": 0.0 if nonlinear_damping else model.dof_damping[v],
                "friction": 0.0 if _without_friction(model) else model.dof_frictionloss[v],
                "armature": model.dof_armature[v],
                "stiffness": 0.0 if is_disabled(model, "SPRING") or nonlinear else model.jnt_stiffness[j],
            }
            _declare(values, ranges, name, own, float(model.qpos_spring[q]))
    for k, name in enumerate(names.tendons):
        if model.wrap_type[model.tendon_adr[k]] == FIXED_TENDON:
            nonlinear = field_is_set(model, "tendon_stiffnesspoly", k) or field_is_set(model, "tendon_springyield", k)
            dead_band = nonlinear or bool(np.ptp(model.tendon_lengthspring[k]))
            nonlinear_damping = is_disabled(model, "DAMPER") or field_is_set(model, "tendon_dampingpoly", k)
            own = {
                "damping": 0.0 if nonlinear_damping else model.tendon_damping[k],
                "armature": 0.0 if branches(model, k) else field_entry(model, "tendon_armature", k),
                "stiffness": 0.0 if is_disabled(model, "SPRING") or dead_band else model.tendon_stiffness[k],
            }
            _declare(values, ranges, f"tendon {name}", own, float(model.tendon_lengthspring[k][0]))
    return Parameters.declare(values, ranges=ranges)


def passive_terms(names: PartNames, p: Parameters, tree: Tree) -> PassiveTerms:
    """Return the passive terms as expressions.

    Args:
        names: names of the model's parts.
        p: parameters of :func:`declare_parameters`.
        tree: tree of its bodies.
    """
    model, c = names.model, tree.coordinates
    symbols = dict(p)
    energy, resistance, armature = ca.SX(0), ca.SX(ca.DM.zeros(c.nv)), ca.SX(ca.DM.zeros(c.nv, c.nv))
    parts: list[tuple[str, ca.SX, ca.SX]] = []
    for j, name in enumerate(names.joints):
        if model.jnt_type[j] != FREE:
            row = ca.SX(ca.DM.zeros(1, c.nv))
            row[int(model.jnt_dofadr[j])] = 1.0
            parts.append((name, c.q[c.names.index(name)], row))
    for k, name in enumerate(names.tendons):
        if model.wrap_type[model.tendon_adr[k]] == FIXED_TENDON:
            parts.append((f"tendon {name}", *fixed_tendon(names, k, tree)))
    for name, length, row in parts:
        rate = row @ c.v
        if f"{name}.stiffness" in symbols:
            energy += symbols[f"{name}.stiffness"] * (length - symbols[f"{name}.rest"]) ** 2 / 2
        if f"{name}.damping" in symbols:
            resistance += row.T * (symbols[f"{name}.damping"] * rate)
        if f"{name}.friction" in symbols:
            resistance += row.T * (symbols[f"{name}.friction"] * ca.sign(rate))
        if f"{name}.armature" in symbols:
            armature += symbols[f"{name}.armature"] * (row.T @ row)
    return PassiveTerms(energy, resistance, ca.sparsify(armature))


def fixed_tendon(names: PartNames, k: int, tree: Tree) -> tuple[ca.SX, ca.SX]:
    """Return the length of a fixed tendon and its Jacobian, shape (1, nv).

    Args:
        names: names of the model's parts.
        k: index of the tendon.
        tree: tree of the model.
    """
    model, c = names.model, tree.coordinates
    length, row = ca.SX(0), ca.SX(ca.DM.zeros(1, c.nv))
    start = int(model.tendon_adr[k])
    for w in range(start, start + int(model.tendon_num[k])):
        j, share = int(model.wrap_objid[w]), float(model.wrap_prm[w])
        length += share * c.q[c.names.index(names.joints[j])]
        row[int(model.jnt_dofadr[j])] += share
    return length, row


def _declare(values: dict[str, float], ranges: dict[str, Range], name: str, own: dict[str, float], rest: float) -> None:
    for word, value in own.items():
        if value:
            values[f"{name}.{word}"], ranges[f"{name}.{word}"] = float(value), Range.NOT_NEGATIVE
            if word == "stiffness":
                values[f"{name}.rest"] = rest


def _without_friction(model: MjModel) -> bool:
    return is_disabled(model, "FRICTIONLOSS") or is_disabled(model, "CONSTRAINT")
