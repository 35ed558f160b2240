"""Bodies and joints of a compiled MuJoCo model as a tree."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.frame import Frame
from ...robots.joints import Floating, Joint, Prismatic, Revolute
from ...robots.tree import WORLD, Body, Node, Tree
from ...symbolic.arrays import constant_values
from ...symbolic.parameters import Parameters
from .flags import disabled
from .model_read import ROUNDING, Named, rotation

Array = NDArray[np.float64]
FREE, SLIDE, HINGE = 0, 2, 3
AXES = "xyz"


@dataclass(frozen=True, eq=False)
class _Place:
    """Pose in a node, or in the world."""

    node: int
    rotation: Array
    position: Array

    def carried(self, R: Array, x: Array) -> _Place:
        return _Place(self.node, _clean(self.rotation @ R), self.position + self.rotation @ x)


@dataclass(frozen=True, eq=False)
class Growth:
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
            name: frame if node == WORLD else self.tree.points.carried(node, frame)
            for name, (node, frame) in self.places.items()
        }


def mass_parameters(names: Named) -> dict[str, float]:
    """Nominal values of masses, centres and moments of the bodies that move, and of gravity.

    Args:
        names: of the model's parts.
    """
    model = names.model
    gravity = np.zeros(3) if disabled(model, "GRAVITY") else np.asarray(model.opt.gravity)
    values = {f"gravity.{axis}": float(g) for axis, g in zip(AXES, gravity, strict=True) if g}
    for b in _moving(names):
        label = names.bodies[b]
        values[f"{label}.mass"] = float(model.body_mass[b])
        values |= {f"{label}.c{axis}": float(x) for axis, x in zip(AXES, model.body_ipos[b], strict=True)}
        values |= {f"{label}.I{i + 1}": float(x) for i, x in enumerate(model.body_inertia[b])}
    return values


def grow(names: Named, p: Parameters) -> Growth:
    """Nodes for the joints, in MuJoCo's order, and what each carries.

    Args:
        names: of the model's parts.
        p: parameters, with those of :func:`mass_parameters`.
    """
    model, symbols = names.model, dict(p)
    nodes: list[tuple[str, int, Frame, Joint]] = []
    carried: list[list[Body]] = []
    at = [_Place(WORLD, np.eye(3), np.zeros(3))]
    moving = set(_moving(names))
    for b in range(1, model.nbody):
        place = at[int(model.body_parentid[b])].carried(rotation(model.body_quat[b]), model.body_pos[b])
        first = int(model.body_jntadr[b])
        for j in range(first, first + int(model.body_jntnum[b])):
            joint, R, x = _joint(names, j)
            anchor = np.array(model.jnt_pos[j]) if model.jnt_type[j] == HINGE else np.zeros(3)
            if model.jnt_type[j] == FREE:
                place = _Place(WORLD, np.eye(3), np.zeros(3))
            start = place.carried(R, anchor + x)
            nodes.append((names.joints[j], start.node, _frame(start), joint))
            carried.append([])
            place = _Place(len(nodes) - 1, np.eye(3), -anchor)
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
    return Growth(tree, places)


def site_label(names: Named, site: int) -> str:
    """Name of the frame of a site.

    Args:
        names: of the model's parts.
        site: its number.
    """
    name = names.sites[site]
    return f"{name} (site)" if name in names.bodies[1:] else name


def _moving(names: Named) -> list[int]:
    """Bodies that joints move."""
    model = names.model
    # A mocap body, and what hangs on it, is welded to itself and not to the world, and no joint moves it.
    return [b for b in range(1, model.nbody) if model.body_jntnum[model.body_weldid[b]]]


def _joint(names: Named, j: int) -> tuple[Joint, Array, Array]:
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


def _body(names: Named, b: int, place: _Place, symbols: dict[str, ca.SX]) -> Body:
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


def _frame(place: _Place) -> Frame:
    return Frame(ca.SX(ca.DM(place.rotation)), ca.SX(ca.DM(place.position)))


def _clean(R: Array) -> Array:
    return np.where(np.abs(R) < ROUNDING, 0.0, R)
