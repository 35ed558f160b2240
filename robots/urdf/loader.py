"""Robots from URDF files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Literal

import casadi as ca
import numpy as np

from ...constraints.constraint import Constraint, holonomic
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, positive
from ..families.tree_system import tree_system
from ..formulations import Formulation
from ..frame import Frame
from ..limits import Limits
from ..robot import Robot
from ..tree.body import WORLD, Body, Node
from ..tree.tree import Tree
from .description import MOMENTS, Description, Inertial, Pose
from .document import UrdfError
from .kinematic_tree import locked_positions
from .moving_inertia import require_moving_inertia
from .reader import read_description, warn_about
from .reduced_tree import ReducedTree, reduce_tree


def moving_inertials(description: Description, growth: ReducedTree) -> dict[str, Inertial]:
    """What each link that moves adds to the equations of motion, by its name.

    A joint beyond which nothing has mass may still be one whose position a constraint determines: its link is given a
    mass of zero, so that there is a body to speak of.

    Args:
        description: what the file says.
        growth: where the links are.
    """
    found: dict[str, Inertial] = {}
    heavy = [False] * len(growth.moving)
    for name, (node, _) in growth.places.items():
        inertial = description.links[name].inertial
        if node != WORLD and inertial is not None:
            found[name] = inertial
            heavy[node] = True
    for k in reversed(range(len(heavy))):
        moving = growth.moving[k]
        if not heavy[k]:
            link = description.root if moving.source is None else moving.source.child
            found[link] = Inertial(0.0, Pose(), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), description.links[link].line)
        if moving.parent != WORLD:
            heavy[moving.parent] = True
    return found


def inertial_values(link: str, inertial: Inertial) -> dict[str, float]:
    """Nominal values of a link's parameters: mass, centre of mass in the link's frame, moments in the inertial frame.

    Args:
        link: its name, which the names of the parameters begin with.
        inertial: what the file says.
    """
    values = {"mass": inertial.mass, **dict(zip(("cx", "cy", "cz"), inertial.origin.position, strict=True))}
    values |= dict(zip(MOMENTS, inertial.inertia, strict=True))
    return {f"{link}.{name}": value for name, value in values.items()}


def body_of(link: str, inertial: Inertial, place: Frame, symbol: Callable[[str], ca.SX]) -> Body:
    """The body of a link.

    Args:
        link: its name.
        inertial: what the file says; only its rotation is used, the rest are parameters.
        place: pose of the link's frame in the node that carries it.
        symbol: parameter of a given name.
    """
    center = ca.vertcat(*(symbol(f"{link}.{name}") for name in ("cx", "cy", "cz")))
    xx, xy, xz, yy, yz, zz = (symbol(f"{link}.{name}") for name in MOMENTS)
    moments = ca.vertcat(ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))
    R = place.rotation @ ca.SX(ca.DM(inertial.origin.matrix))
    return Body(name=link, mass=symbol(f"{link}.mass"), center=place.point(center), inertia=R @ moments @ R.T)


BASES = ("fixed", "floating")
LARGEST = 1000
"""Number of velocities of the largest robot that is built; its matrices are full."""


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
    """Robot of a URDF file: M(q) a + h(q, v) = B u + Aᵀ μ, with gravity along −z of the world.

    *Joints.* Nodes follow the tree depth first, children in the order of the file, each with the name of its joint:
    revolute and continuous joints have one angle (Pinocchio gives a continuous one its cosine and sine), prismatic
    ones a length, planar ones (x, y, angle) in the plane across their axis, floating ones (x, y, z, qx, qy, qz, qw) and
    the velocities (linear, angular) in the axes of the child. A link behind a fixed joint is a body of what carries it.

    *Base.* Fixed: the root link is the world. Floating: the root link moves like a floating joint, first in q and v.

    *Inputs.* A torque or force u on each velocity of a joint, except of floating joints and those that follow another.

    *A joint that mimics another* keeps its coordinate, and q − multiplier · q_other − offset = 0 is a natural
    constraint; its reaction is what the gear between the two transmits.

    *Dissipation.* h holds d v of ``<dynamics damping=…>`` and f sign(v) of ``friction=…`` (or f tanh(v / v₀), if
    ``friction_speed`` is given: sign jumps, on which integrators of fixed step chatter). Dry friction at rest is zero.

    *Parameters.* ``g``; ``<link>.mass``, ``.cx``, ``.cy``, ``.cz`` in the frame of the link and ``.ixx``, ``.ixy``,
    ``.ixz``, ``.iyy``, ``.iyz``, ``.izz`` in the frame of its ``<inertial>``, for each link with mass that moves;
    ``<joint>.damping`` and ``<joint>.friction`` where the file gives one, be it zero; ``friction_speed``. Lengths and
    directions are numbers.

    *Frames.* ``points`` holds the origin and ``frames`` the pose of every link. ``limits`` holds what the file says.

    Args:
        path: of the file.
        base: what carries the root link.
        gravity: g along −z [m/s²].
        locked: positions at which joints are held, by name [rad or m]; those that follow them are held too.
        friction_speed: v₀, the speed at which dry friction reaches 76 % of its value [rad/s or m/s].
        check_inertia: False to read a file with an inertia that no body has; a warning says so.
        formulation: how the equations are derived; ``Articulated()`` if not given.

    Raises:
        UrdfError: for all that :func:`~erugin.robots.urdf.read_urdf` refuses, a file in which nothing moves, a joint
            that moves nothing that has inertia, or a locked joint that cannot be.
        MissingPackageError: if lxml is not installed.
        ModelError: for an unknown word or a number out of its range.
    """
    if base not in BASES:
        raise ModelError(f"base must be one of {', '.join(map(repr, BASES))}, got {base!r}")
    description = read_description(path, check_inertia=check_inertia)
    warn_about(description)
    growth = reduce_tree(description, floating=base == "floating", held=locked_positions(description, locked or {}))
    if not growth.moving:
        raise UrdfError(f"{description.file}: nothing in this robot moves; base='floating' lets it move as a whole")
    if (nv := sum(moving.joint.nv for moving in growth.moving)) > LARGEST:
        raise UrdfError(f"{description.file}: the robot has {nv} velocities, more than {LARGEST}; lock some joints")
    speed = None if friction_speed is None else positive("friction_speed [rad/s or m/s]", friction_speed)
    inertials = moving_inertials(description, growth)
    parameters = _declare(inertials, growth, finite("gravity", gravity), speed)
    tree = Tree(_nodes(inertials, growth, parameters), ca.vertcat(0, 0, -parameters["g"]))
    driven = [moving.driven for moving in growth.moving for _ in range(moving.joint.nv)]
    c = tree.coordinates
    places = [i for i, has_input in enumerate(driven) if has_input]
    u = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(f"u_{c.v[i].name().removeprefix('v_')}") for i in places))
    units = [unit for moving in growth.moving for unit in moving.joint.input_units]
    frames = {
        name: pose if node == WORLD else tree.points.attach(node, pose) for name, (node, pose) in growth.places.items()
    }
    require_moving_inertia(tree, parameters, description, growth, inertials)
    return tree_system(
        tree,
        parameters=parameters,
        u=u,
        B=ca.SX(ca.DM(np.eye(c.nv)[:, places])),
        resistance=_resistance(growth, c.v, parameters),
        natural=_mimics(growth, c.q),
        points={name: frame.position for name, frame in frames.items()},
        frames=frames,
        input_units=[units[i] for i in places],
        limits=_limits(growth),
        formulation=formulation,
        name=description.name,
    )


def _declare(
    inertials: Mapping[str, Inertial], growth: ReducedTree, gravity: float, friction_speed: float | None
) -> Parameters:
    values = {"g": gravity}
    ranges: dict[str, Range] = {}
    for name, inertial in inertials.items():
        values |= inertial_values(name, inertial)
        ranges[f"{name}.mass"] = Range.NOT_NEGATIVE
    rubs = False
    for moving in growth.moving:
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


def _nodes(inertials: Mapping[str, Inertial], growth: ReducedTree, parameters: Parameters) -> tuple[Node, ...]:
    symbols = dict(parameters)
    carried: list[list[Body]] = [[] for _ in growth.moving]
    for name, inertial in inertials.items():
        node, pose = growth.places[name]
        carried[node].append(body_of(name, inertial, pose, symbols.__getitem__))
    return tuple(
        Node(name=m.name, parent=m.parent, placement=m.placement, joint=m.joint, bodies=tuple(bodies))
        for m, bodies in zip(growth.moving, carried, strict=True)
    )


def _resistance(growth: ReducedTree, v: ca.SX, parameters: Parameters) -> ca.SX:
    symbols = dict(parameters)
    rows: list[ca.SX] = []
    for moving in growth.moving:
        for _ in range(moving.joint.nv):
            own = v[len(rows)]
            row = symbols.get(f"{moving.name}.damping", ca.SX(0)) * own
            friction = symbols.get(f"{moving.name}.friction")
            if friction is not None:
                speed = symbols.get("friction_speed")
                row += friction * (ca.sign(own) if speed is None else ca.tanh(own / speed))
            rows.append(row)
    return ca.vertcat(*rows)


def _mimics(growth: ReducedTree, q: ca.SX) -> list[Constraint]:
    places: dict[str, int] = {}
    start = 0
    for moving in growth.moving:
        places[moving.name] = start
        start += moving.joint.nq
    found: list[Constraint] = []
    for moving in growth.moving:
        mimic = None if moving.source is None else moving.source.mimic
        if mimic is not None:
            gap = q[places[moving.name]] - mimic.multiplier * q[places[mimic.joint]] - mimic.offset
            found.append(holonomic(gap, name=f"{moving.name}.mimic"))
    return found


def _limits(growth: ReducedTree) -> Limits:
    lower: list[float] = []
    upper: list[float] = []
    speed: list[float] = []
    effort: list[float] = []
    for moving in growth.moving:
        nq, nv = moving.joint.nq, moving.joint.nv
        limits = None if moving.source is None else moving.source.limits
        lower += [-math.inf if limits is None else limits.lower] * nq
        upper += [math.inf if limits is None else limits.upper] * nq
        speed += [math.inf if limits is None else limits.velocity] * nv
        if moving.driven and limits is not None:
            effort += [limits.effort] * nv
    return Limits(np.array(lower), np.array(upper), np.array(speed), np.array(effort))
