"""A URDF file → a robot."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Literal

import casadi as ca
import numpy as np

from ...constraints.constraint import Constraint, holonomic
from ...symbolic.arrays import finite, positive
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ..formulations import Formulation
from ..limits import Limits
from ..robot import Robot
from ..tree import WORLD, Body, Node, Tree
from ..tree_system import tree_system
from .bodies import body_of, inertial_values, moving_inertials
from .elements import Inertial
from .errors import UrdfError
from .growth import Growth, grow
from .locked import held_positions
from .reader import read_description, warn_of
from .regular import require_inertia

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
    warn_of(description)
    growth = grow(description, floating=base == "floating", held=held_positions(description, locked or {}))
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
        name: pose if node == WORLD else tree.points.carried(node, pose) for name, (node, pose) in growth.places.items()
    }
    require_inertia(tree, parameters, description, growth, inertials)
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
    inertials: Mapping[str, Inertial], growth: Growth, gravity: float, friction_speed: float | None
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


def _nodes(inertials: Mapping[str, Inertial], growth: Growth, parameters: Parameters) -> tuple[Node, ...]:
    symbols = dict(parameters)
    carried: list[list[Body]] = [[] for _ in growth.moving]
    for name, inertial in inertials.items():
        node, pose = growth.places[name]
        carried[node].append(body_of(name, inertial, pose, symbols.__getitem__))
    return tuple(
        Node(name=m.name, parent=m.parent, placement=m.placement, joint=m.joint, bodies=tuple(bodies))
        for m, bodies in zip(growth.moving, carried, strict=True)
    )


def _resistance(growth: Growth, v: ca.SX, parameters: Parameters) -> ca.SX:
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


def _mimics(growth: Growth, q: ca.SX) -> list[Constraint]:
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


def _limits(growth: Growth) -> Limits:
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
