"""Bodies, joints, springs, dampers, dry friction and rotors of a compiled MuJoCo model as a rigid-body tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.frame import Frame
from ...robots.tree import Floating, Joint, Prismatic, Revolute
from ...robots.tree.body import WORLD, Body, Node
from ...robots.tree.tree import Tree
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import constant_values
from .compiled_model import ROUNDING, PartNames, is_disabled, rotation
from .unsupported import FIXED_TENDON, FREE, branches
from .versions import field_entry, field_is_set

if TYPE_CHECKING:
    from mujoco import MjModel


Array = NDArray[np.float64]
FREE_JOINT, SLIDE_JOINT, HINGE_JOINT = 0, 2, 3
AXES = "xyz"


@dataclass(frozen=True, eq=False)
class _FixedPose:
    """Pose in a node, or in the world."""

    node: int
    rotation: Array
    position: Array

    def carried(self, R: Array, x: Array) -> _FixedPose:
        return _FixedPose(self.node, _clean(self.rotation @ R), self.position + self.rotation @ x)


@dataclass(frozen=True, eq=False)
class ModelTree:
    """What has been made of a model.

    Attributes:
        tree: its bodies.
        places: of bodies and sites, by name: the node, or −1, and the pose there.
    """

    tree: Tree
    places: dict[str, tuple[int, Frame]]

    def poses(self) -> dict[str, Frame]:
        """Poses in the world of bodies and sites, by name."""
        return {
            name: frame if node == WORLD else self.tree.points.attach(node, frame)
            for name, (node, frame) in self.places.items()
        }


def mass_parameters(names: PartNames) -> dict[str, float]:
    """Nominal values of masses, centres and moments of the bodies that move, and of gravity.

    Args:
        names: of the model's parts.
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
    """Nodes for the joints, in MuJoCo's order, and what each carries.

    Args:
        names: of the model's parts.
        p: parameters, with those of :func:`mass_parameters`.
    """
    model, symbols = names.model, dict(p)
    nodes: list[tuple[str, int, Frame, Joint]] = []
    carried: list[list[Body]] = []
    at = [_FixedPose(WORLD, np.eye(3), np.zeros(3))]
    moving = set(_moving(names))
    for b in range(1, model.nbody):
        place = at[int(model.body_parentid[b])].carried(rotation(model.body_quat[b]), model.body_pos[b])
        first = int(model.body_jntadr[b])
        for j in range(first, first + int(model.body_jntnum[b])):
            joint, R, x = _joint(names, j)
            anchor = np.array(model.jnt_pos[j]) if model.jnt_type[j] == HINGE_JOINT else np.zeros(3)
            if model.jnt_type[j] == FREE_JOINT:
                place = _FixedPose(WORLD, np.eye(3), np.zeros(3))
            start = place.carried(R, anchor + x)
            nodes.append((names.joints[j], start.node, _frame(start), joint))
            carried.append([])
            place = _FixedPose(len(nodes) - 1, np.eye(3), -anchor)
        at.append(place)
        if b in moving:
            carried[place.node].append(_body(names, b, place, symbols))
    tree = Tree(
        tuple(
            Node(name=name, parent=parent, placement=frame, joint=joint, bodies=tuple(bodies))
            for (name, parent, frame, joint), bodies in zip(nodes, carried, strict=True)
        ),
        ca.vertcat(*(symbols.get(f"gravity.{axis}", ca.SX(0)) for axis in AXES)),
    )
    places = {names.bodies[b]: (at[b].node, _frame(at[b])) for b in range(1, model.nbody)}
    for s, site in enumerate(names.sites):
        own = at[int(model.site_bodyid[s])].carried(rotation(model.site_quat[s]), model.site_pos[s])
        places[site if site not in places else f"{site} (site)"] = (own.node, _frame(own))
    return ModelTree(tree, places)


def site_label(names: PartNames, site: int) -> str:
    """Name of the frame of a site.

    Args:
        names: of the model's parts.
        site: its number.
    """
    name = names.sites[site]
    return f"{name} (site)" if name in names.bodies[1:] else name


def _moving(names: PartNames) -> list[int]:
    """Bodies that joints move."""
    model = names.model
    # A mocap body, and what hangs on it, is welded to itself and not to the world, and no joint moves it.
    return [b for b in range(1, model.nbody) if model.body_jntnum[model.body_weldid[b]]]


def _joint(names: PartNames, j: int) -> tuple[Joint, Array, Array]:
    """The joint, and the turn and shift by which its own zero is off the pose in which the model is written."""
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
            # Ball joints have been refused.
            return Floating(), np.eye(3), np.zeros(3)


def _body(names: PartNames, b: int, place: _FixedPose, symbols: dict[str, ca.SX]) -> Body:
    label = names.bodies[b]
    R = ca.SX(ca.DM(_clean(place.rotation @ rotation(names.model.body_iquat[b]))))
    moments = ca.diag(ca.vertcat(*(symbols[f"{label}.I{i}"] for i in (1, 2, 3))))
    center = ca.vertcat(*(symbols[f"{label}.c{axis}"] for axis in AXES))
    return Body(
        name=label,
        mass=symbols[f"{label}.mass"],
        center=_frame(place).point(center),
        inertia=ca.densify(R @ moments @ R.T),
    )


def _frame(place: _FixedPose) -> Frame:
    return Frame(ca.SX(ca.DM(place.rotation)), ca.SX(ca.DM(place.position)))


def _clean(R: Array) -> Array:
    return np.where(np.abs(R) < ROUNDING, 0.0, R)


@dataclass(frozen=True, eq=False)
class PassiveTerms:
    """What acts besides the bodies.

    Attributes:
        energy: of springs [J].
        resistance: of dampers and friction, shape (nv,).
        armature: added to M, shape (nv, nv).
    """

    energy: ca.SX
    resistance: ca.SX
    armature: ca.SX


def declare_parameters(names: PartNames) -> Parameters:
    """All parameters of a model.

    Args:
        names: of its parts.
    """
    values = mass_parameters(names)
    ranges = {name: Range.NOT_NEGATIVE for name in values if name.endswith(".mass")}
    model = names.model
    for j, name in enumerate(names.joints):
        if model.jnt_type[j] != FREE:
            v, q = int(model.jnt_dofadr[j]), int(model.jnt_qposadr[j])
            # What is not linear has been refused, or is left out as a whole.
            strange = field_is_set(model, "jnt_stiffnesspoly", j) or field_is_set(model, "jnt_springyield", j)
            bent = is_disabled(model, "DAMPER") or field_is_set(model, "dof_dampingpoly", v)
            own = {
                "damping": 0.0 if bent else model.dof_damping[v],
                "friction": 0.0 if _without_friction(model) else model.dof_frictionloss[v],
                "armature": model.dof_armature[v],
                "stiffness": 0.0 if is_disabled(model, "SPRING") or strange else model.jnt_stiffness[j],
            }
            _declare(values, ranges, name, own, float(model.qpos_spring[q]))
    for k, name in enumerate(names.tendons):
        if model.wrap_type[model.tendon_adr[k]] == FIXED_TENDON:
            strange = field_is_set(model, "tendon_stiffnesspoly", k) or field_is_set(model, "tendon_springyield", k)
            dead = strange or bool(np.ptp(model.tendon_lengthspring[k]))
            bent = is_disabled(model, "DAMPER") or field_is_set(model, "tendon_dampingpoly", k)
            own = {
                "damping": 0.0 if bent else model.tendon_damping[k],
                "armature": 0.0 if branches(model, k) else field_entry(model, "tendon_armature", k),
                "stiffness": 0.0 if is_disabled(model, "SPRING") or dead else model.tendon_stiffness[k],
            }
            _declare(values, ranges, f"tendon {name}", own, float(model.tendon_lengthspring[k][0]))
    return Parameters.declare(values, ranges=ranges)


def passive_terms(names: PartNames, p: Parameters, tree: Tree) -> PassiveTerms:
    """The expressions.

    Args:
        names: of the model's parts.
        p: of :func:`declared`.
        tree: its bodies.
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
    """Length of a fixed tendon, and its rate per velocity, shape (1, nv).

    Args:
        names: of the model's parts.
        k: its number.
        tree: of the model.
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
