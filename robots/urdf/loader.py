"""Robots from URDF files, with a check that every joint moves some inertia."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.constraint import Constraint
from ...constraints.relations.expression import holonomic
from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, positive
from ..families.tree_system import tree_system
from ..formulations.formulation import Formulation
from ..frame import Frame
from ..limits import Limits
from ..robot import Robot
from ..tree.body import Body
from ..tree.joints import WORLD, Node
from ..tree.tree import Tree
from .description import MOMENTS, Description, Inertial, Pose
from .document import UrdfError
from .kinematic_tree import locked_positions, order_followers
from .reader import read_description, warn_about
from .reduced_tree import ReducedTree, reduce_tree

Array = NDArray[np.float64]


def moving_inertials(description: Description, reduced: ReducedTree) -> dict[str, Inertial]:
    """Return the inertia of each moving link by name.

    The position of a joint that moves no mass may still be determined by a constraint: its link gets a mass of zero, so
    that it has a body.

    Args:
        description: content of the file.
        reduced: moving joints and positions of the links.
    """
    inertials: dict[str, Inertial] = {}
    has_mass = [False] * len(reduced.moving)
    for name, (node, _) in reduced.placements.items():
        inertial = description.links[name].inertial
        if node != WORLD and inertial is not None:
            inertials[name] = inertial
            has_mass[node] = True
    for k in reversed(range(len(has_mass))):
        moving = reduced.moving[k]
        if not has_mass[k]:
            link = description.root if moving.source is None else moving.source.child
            inertials[link] = Inertial(0.0, Pose(), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), description.links[link].line)
        if moving.parent != WORLD:
            has_mass[moving.parent] = True
    return inertials


def inertial_values(link: str, inertial: Inertial) -> dict[str, float]:
    """Return the nominal values of a link's mass, centre of mass in its frame, and moments in the inertial frame.

    Args:
        link: name of the link, prefix of the parameter names.
        inertial: inertia given in the file.
    """
    values = {"mass": inertial.mass, **dict(zip(("cx", "cy", "cz"), inertial.origin.position, strict=True))}
    values |= dict(zip(MOMENTS, inertial.inertia, strict=True))
    return {f"{link}.{name}": value for name, value in values.items()}


def link_body(link: str, inertial: Inertial, placement: Frame, symbol: Callable[[str], ca.SX]) -> Body:
    """Build the body of a link.

    Args:
        link: name of the link.
        inertial: inertia given in the file; only its rotation is used, the rest are parameters.
        placement: pose of the link's frame in the node that carries it.
        symbol: function that returns the parameter of a given name.
    """
    center = ca.vertcat(*(symbol(f"{link}.{name}") for name in ("cx", "cy", "cz")))
    xx, xy, xz, yy, yz, zz = (symbol(f"{link}.{name}") for name in MOMENTS)
    moments = ca.vertcat(ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))
    R = placement.rotation @ ca.SX(ca.DM(inertial.origin.matrix))
    return Body(name=link, mass=symbol(f"{link}.mass"), center=placement.point(center), inertia=R @ moments @ R.T)


BASES = ("fixed", "floating")
LARGEST = 1000
"""Largest number of velocities, because matrices are full."""


def load_urdf(
    path: str | os.PathLike[str],
    *,
    base: Literal["fixed", "floating"] = "fixed",
    gravity: float = 9.81,
    locked: Mapping[str, float] | None = None,
    friction_speed: float | None = None,
    check_inertia: bool = True,
    formulation: Formulation | None = None,
) -> Robot:
    """Load a robot from a URDF file: M(q) a + h(q, v) = B u + Aᵀ μ, with gravity along −z of the world.

    *Joints.* Nodes follow the tree depth first, children in the order of the file, each with the name of its joint:
    revolute and continuous joints have one angle (Pinocchio uses cosine and sine for a continuous one), prismatic
    ones a length, planar ones (x, y, angle) in the plane across their axis, floating ones (x, y, z, qx, qy, qz, qw) and
    the velocities (linear, angular) in the axes of the child. A link on a fixed joint becomes a body of its carrier.

    *Base.* Fixed: the root link is the world. Floating: the root link moves like a floating joint, first in q and v.

    *Inputs.* A torque or force u on each velocity of a joint, except floating joints and those that follow another.

    *A joint that mimics another* has its own coordinate, and q − multiplier · q_other − offset = 0 is a natural
    constraint; its reaction is the force transmitted by the gear between the two.

    *Dissipation.* h includes d v of ``<dynamics damping=…>`` and f sign(v) of ``friction=…``, or f tanh(v / v₀) if
    ``friction_speed`` is given, because fixed-step integrators chatter at the jump of sign. Dry friction at rest is
    zero.

    *Parameters.* ``g``; ``<link>.mass``, ``.cx``, ``.cy``, ``.cz`` in the frame of the link and ``.ixx``, ``.ixy``,
    ``.ixz``, ``.iyy``, ``.iyz``, ``.izz`` in the frame of its ``<inertial>``, for each link with mass that moves;
    ``<joint>.damping`` and ``<joint>.friction`` if given in the file, even if zero; ``friction_speed``. Lengths and
    directions are numbers.

    *Frames.* ``points`` contains the origin and ``frames`` the pose of every link. ``limits`` are those of the file.

    Args:
        path: path of the file.
        base: ``"fixed"`` or ``"floating"``, attachment of the root link.
        gravity: g along −z [m/s²].
        locked: positions of locked joints by name [rad or m]; joints that follow them are locked too.
        friction_speed: v₀, the speed at which dry friction reaches 76 % of its value [rad/s or m/s].
        check_inertia: False to accept physically impossible inertias with a warning.
        formulation: method of deriving the equations; ``Articulated()`` if not given.

    Raises:
        UrdfError: as for :func:`~erugin.robots.urdf.read_urdf`, and for a file in which nothing moves, a joint that
            moves no inertia, or a joint that cannot be locked.
        MissingPackageError: if lxml is not installed.
        ModelError: for an unknown option or a number out of its range.
    """
    if base not in BASES:
        raise ModelError(f"base must be one of {', '.join(map(repr, BASES))}, got {base!r}")
    description = read_description(path, check_inertia=check_inertia)
    warn_about(description)
    reduced = reduce_tree(description, floating=base == "floating", locked=locked_positions(description, locked or {}))
    if not reduced.moving:
        raise UrdfError(
            f"{description.file}: this robot has no moving joint; pass base='floating' to move it as a whole"
        )
    if (nv := sum(moving.joint.nv for moving in reduced.moving)) > LARGEST:
        raise UrdfError(f"{description.file}: the robot has {nv} velocities, more than {LARGEST}; lock some joints")
    speed = None if friction_speed is None else positive("friction_speed [rad/s or m/s]", friction_speed)
    inertials = moving_inertials(description, reduced)
    parameters = _declare(inertials, reduced, finite("gravity", gravity), speed)
    tree = Tree(_nodes(inertials, reduced, parameters), ca.vertcat(0, 0, -parameters["g"]))
    driven = [moving.driven for moving in reduced.moving for _ in range(moving.joint.nv)]
    c = tree.coordinates
    indices = [i for i, has_input in enumerate(driven) if has_input]
    u = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(f"u_{c.v[i].name().removeprefix('v_')}") for i in indices))
    units = [unit for moving in reduced.moving for unit in moving.joint.input_units]
    frames = {
        name: pose if node == WORLD else tree.points.attach(node, pose)
        for name, (node, pose) in reduced.placements.items()
    }
    _require_moving_inertia(tree, parameters, description, reduced, inertials)
    return tree_system(
        tree,
        parameters=parameters,
        u=u,
        B=ca.SX(ca.DM(np.eye(c.nv)[:, indices])),
        resistance=_resistance(reduced, c.v, parameters),
        natural=_mimics(reduced, c.q),
        points={name: frame.position for name, frame in frames.items()},
        frames=frames,
        input_units=[units[i] for i in indices],
        limits=_limits(reduced),
        formulation=formulation,
        name=description.name,
    )


def _declare(
    inertials: Mapping[str, Inertial], reduced: ReducedTree, gravity: float, friction_speed: float | None
) -> Parameters:
    values = {"g": gravity}
    ranges: dict[str, Range] = {}
    for name, inertial in inertials.items():
        values |= inertial_values(name, inertial)
        ranges[f"{name}.mass"] = Range.NOT_NEGATIVE
    rubs = False
    for moving in reduced.moving:
        if moving.source is None:
            continue
        for word, value in (("damping", moving.source.damping), ("friction", moving.source.friction)):
            if value is not None:
                values[f"{moving.name}.{word}"] = value
                ranges[f"{moving.name}.{word}"] = Range.NOT_NEGATIVE
                rubs |= word == "friction"
    if rubs and friction_speed is not None:
        values["friction_speed"], ranges["friction_speed"] = friction_speed, Range.POSITIVE
    return Parameters.declare(values, ranges=ranges)


def _nodes(inertials: Mapping[str, Inertial], reduced: ReducedTree, parameters: Parameters) -> tuple[Node, ...]:
    symbols = dict(parameters)
    carried: list[list[Body]] = [[] for _ in reduced.moving]
    for name, inertial in inertials.items():
        node, pose = reduced.placements[name]
        carried[node].append(link_body(name, inertial, pose, symbols.__getitem__))
    return tuple(
        Node(name=m.name, parent=m.parent, placement=m.placement, joint=m.joint, bodies=tuple(bodies))
        for m, bodies in zip(reduced.moving, carried, strict=True)
    )


def _resistance(reduced: ReducedTree, v: ca.SX, parameters: Parameters) -> ca.SX:
    symbols = dict(parameters)
    rows: list[ca.SX] = []
    for moving in reduced.moving:
        for _ in range(moving.joint.nv):
            own = v[len(rows)]
            row = symbols.get(f"{moving.name}.damping", ca.SX(0)) * own
            friction = symbols.get(f"{moving.name}.friction")
            if friction is not None:
                speed = symbols.get("friction_speed")
                row += friction * (ca.sign(own) if speed is None else ca.tanh(own / speed))
            rows.append(row)
    return ca.vertcat(*rows)


def _mimics(reduced: ReducedTree, q: ca.SX) -> list[Constraint]:
    starts: dict[str, int] = {}
    start = 0
    for moving in reduced.moving:
        starts[moving.name] = start
        start += moving.joint.nq
    constraints: list[Constraint] = []
    for moving in reduced.moving:
        mimic = None if moving.source is None else moving.source.mimic
        if mimic is not None:
            gap = q[starts[moving.name]] - mimic.multiplier * q[starts[mimic.joint]] - mimic.offset
            constraints.append(holonomic(gap, name=f"{moving.name}.mimic"))
    return constraints


def _limits(reduced: ReducedTree) -> Limits:
    lower: list[float] = []
    upper: list[float] = []
    speed: list[float] = []
    effort: list[float] = []
    for moving in reduced.moving:
        nq, nv = moving.joint.nq, moving.joint.nv
        limits = None if moving.source is None else moving.source.limits
        lower += [-math.inf if limits is None else limits.lower] * nq
        upper += [math.inf if limits is None else limits.upper] * nq
        speed += [math.inf if limits is None else limits.velocity] * nv
        if moving.driven and limits is not None:
            effort += [limits.effort] * nv
    return Limits(np.array(lower), np.array(upper), np.array(speed), np.array(effort))


class SampledMassMatrix:
    """M(q) = Σ Jᵀ I J over the nodes of a tree, with the Jacobian J of each node from that of its parent.

    Attributes:
        tree: tree whose M is evaluated.
    """

    def __init__(self, tree: Tree, parameters: Parameters) -> None:
        """Build the kernel.

        Args:
            tree: tree with all its bodies fixed to the nodes.
            parameters: parameters of the tree, all with nominal values.
        """
        self.tree = tree
        self._p = parameters.values()
        outputs: dict[str, ca.SX] = {}
        for k, (mover, (inertia, _)) in enumerate(zip(tree.motion.nodes, tree.motion.inertias, strict=True)):
            parts = (mover.arm.reach, mover.subspace.angular, mover.subspace.linear)
            outputs[f"n{k}"] = ca.horzcat(*parts, inertia.rotational, inertia.coupling, inertia.mass)
        inputs = {"q": tree.coordinates.q, "p": parameters.symbols}
        self._kernel = Kernel("nodes", inputs, outputs, compiled=False)

    def __call__(self, q: ArrayLike) -> Array:
        """Return M, shape (nv, nv).

        Args:
            q: coordinates, shape (nq,).
        """
        nv = self.tree.coordinates.nv
        M = np.zeros((nv, nv))
        jacobians: list[Array] = []
        for node, indices, data in zip(
            self.tree.nodes, self.tree.velocity_indices, self._kernel(q, self._p), strict=True
        ):
            n, own = len(indices), list(indices)
            # (angular velocity; velocity of the origin) per velocity.
            J = np.zeros((6, nv)) if node.parent < 0 else jacobians[node.parent].copy()
            J[3:] -= np.cross(data[:, 0], J[:3], axisb=0, axisc=0)
            J[:3, own] = data[:, 1 : 1 + n]
            J[3:, own] = data[:, 1 + n : 1 + 2 * n]
            jacobians.append(J)
            rotational, coupling, mass = np.split(data[:, 1 + 2 * n :], 3, axis=1)
            M += J.T @ np.block([[rotational, coupling], [coupling.T, mass]]) @ J
        return M


SAMPLES = 3
"""Number of random positions: M singular at all of them is singular almost everywhere."""
TOLERANCE = 1e-10
"""Relative eigenvalue of M below which it is zero, with M scaled to a unit diagonal."""

_SHOWN = 10


def _require_moving_inertia(
    tree: Tree,
    parameters: Parameters,
    description: Description,
    reduced: ReducedTree,
    inertials: Mapping[str, Inertial],
) -> None:
    """Raise UrdfError if some motion that the constraints leave free has no inertia.

    With v = G w, where w excludes joints that follow others, Gᵀ M G is then singular. M is regular, and not evaluated,
    if every node carries a link with mass and three moments of inertia.

    Args:
        tree: bodies and joints.
        parameters: parameters of the tree.
        description: content of the file.
        reduced: moving joints.
        inertials: inertias of the moving links.
    """
    bodies: list[list[Inertial]] = [[] for _ in reduced.moving]
    for name, inertial in inertials.items():
        bodies[reduced.placements[name][0]].append(inertial)
    if all(_has_full_inertia(found) for found in bodies):
        return
    G = _independent(description, reduced, tree.velocity_indices)
    mass_matrix = SampledMassMatrix(tree, parameters)
    rng = np.random.default_rng(1952)
    free = np.zeros(len(G))
    for _ in range(SAMPLES):
        unfelt = _null_motions(G.T @ mass_matrix(rng.uniform(0.3, 1.3, tree.coordinates.nq)) @ G)
        if unfelt is None:
            return
        free = np.maximum(free, np.abs(G @ unfelt).max(axis=1))
    names = [
        m.name
        for m, indices in zip(reduced.moving, tree.velocity_indices, strict=True)
        if free[list(indices)].max() > 0.1
    ]
    lines = {m.name: f"line {m.source.line}" for m in reduced.moving if m.source is not None}
    listing = ", ".join(f"{name!r} ({lines.get(name, 'the base')})" for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    raise UrdfError(
        f"{description.file}: the mass matrix is singular: no inertia is moved by {listing}{more}. Add mass and "
        "inertia to a link beyond, or lock the joint with locked={...}"
    )


def _has_full_inertia(found: list[Inertial]) -> bool:
    """True if all bodies of a node are physically possible, and one has mass and all moments of inertia."""
    resists = False
    for inertial in found:
        low, _, high = np.linalg.eigvalsh(inertial.matrix).tolist()
        if low < 0.0:
            return False
        resists |= inertial.mass > 0.0 and low > 1e-6 * high
    return resists


def _independent(description: Description, reduced: ReducedTree, velocity_indices: Sequence[Sequence[int]]) -> Array:
    """Return G of v = G w, shape (nv, number of w)."""
    rows = {moving.name: list(indices) for moving, indices in zip(reduced.moving, velocity_indices, strict=True)}
    G = np.eye(sum(len(indices) for indices in velocity_indices))
    independent = np.ones(len(G), dtype=bool)
    for joint in order_followers(description.file, description.joints):
        if joint.mimic is not None and joint.name in rows:
            G[rows[joint.name]] = joint.mimic.multiplier * G[rows[joint.mimic.joint]]
            independent[rows[joint.name]] = False
    return np.asarray(G[:, independent])


def _null_motions(matrix: Array) -> Array | None:
    """Return the null vectors of a matrix in columns, with largest entry 1; None if it is positive definite."""
    size = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    size = np.where(size > 0.0, size, 1.0)
    values, vectors = np.linalg.eigh(matrix / np.outer(size, size))
    if values[0] > TOLERANCE * values[-1]:
        return None
    unfelt = vectors[:, values <= TOLERANCE * values[-1]] / size[:, np.newaxis]
    return np.asarray(unfelt / np.abs(unfelt).max(axis=0))
