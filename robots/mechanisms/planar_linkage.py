"""Open chains of bars and sliders in a plane, from which planar mechanisms are closed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import casadi as ca

from ...symbolic.coordinates import Coordinates
from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, not_negative, point_coordinates, positive
from ..families.planar_manipulator import Link
from ..frame import Frame
from ..robot import Robot
from ..tree.body import Body
from ..tree.joints import WORLD, Node, Prismatic, Revolute
from ..tree.tree import Tree
from .planar_dynamics import Path, PlanarBody, PlanarPoints, extend_path, planar_dynamics, rotate_vector

Point = tuple[float, float]


@dataclass(frozen=True)
class Bar:
    """A rigid body that rotates about a pin.

    Its own axes start at the pin: x along the bar, y to its left.

    Attributes:
        link: length to its end, mass, centre of mass along the bar, and inertia about that centre.
        at: the pin: a fixed position (x, y) [m], or a point of an earlier member, such as ``"crank.end"``.
        offset: centre of mass across the bar, along its y [m].
        points: additional points of the body in its own axes [m], by name.

    Raises:
        ModelError: for numbers that are not finite, an invalid position, or a reserved name of a point.
    """

    link: Link
    at: str | Point
    offset: float = 0.0
    points: Mapping[str, Point] = field(default_factory=dict[str, Point])

    def __post_init__(self) -> None:
        """Check and freeze."""
        if not isinstance(self.link, Link):
            raise ModelError(f"link of a bar must be a Link, got {self.link!r}")
        object.__setattr__(self, "offset", finite("offset of a bar [m]", self.offset))
        object.__setattr__(self, "at", _at(self.at))
        object.__setattr__(self, "points", _points(self.points))


@dataclass(frozen=True)
class Slider:
    """A rigid body that slides along a straight guide; its centre of mass is the point that slides.

    Attributes:
        mass: [kg], greater than zero.
        at: start of the guide: a fixed position (x, y) [m], or a point of an earlier member, which then carries the
            guide.
        direction: angle of the guide, from x if fixed, else from the member that carries it [rad].
        inertia: about the centre of mass [kg m²]; required if another member carries the guide, else without effect.
        points: additional points of the body [m], in axes along and across the guide, by name.

    Raises:
        ModelError: for a number out of its range, an invalid position, a reserved name of a point, or a missing inertia
            on a guide that another member carries.
    """

    mass: float
    at: str | Point
    direction: float
    inertia: float | None = None
    points: Mapping[str, Point] = field(default_factory=dict[str, Point])

    def __post_init__(self) -> None:
        """Check and freeze."""
        object.__setattr__(self, "mass", positive("mass of a slider [kg]", self.mass))
        object.__setattr__(self, "direction", finite("direction of a guide [rad]", self.direction))
        object.__setattr__(self, "at", _at(self.at))
        object.__setattr__(self, "points", _points(self.points))
        if self.inertia is not None:
            object.__setattr__(self, "inertia", not_negative("inertia of a slider [kg m²]", self.inertia))
        elif isinstance(self.at, str):
            raise ModelError(f"a slider on {self.at!r} rotates with it and requires inertia= [kg m²]")


@dataclass(frozen=True)
class Spring:
    """A linear spring between two points, with V = ½ c (|Δ| − l₀)².

    Attributes:
        start: a point of a member, or a fixed position (x, y) [m].
        end: the other end, likewise.
        stiffness: c [N/m], greater than zero.
        rest_length: l₀ [m], not negative.

    Raises:
        ModelError: for a number out of its range, or an invalid position.
    """

    start: str | Point
    end: str | Point
    stiffness: float
    rest_length: float

    def __post_init__(self) -> None:
        """Check the ranges."""
        object.__setattr__(self, "start", _at(self.start))
        object.__setattr__(self, "end", _at(self.end))
        object.__setattr__(self, "stiffness", positive("stiffness of a spring [N/m]", self.stiffness))
        object.__setattr__(self, "rest_length", not_negative("rest length of a spring [m]", self.rest_length))


def planar_linkage(
    members: Mapping[str, Bar | Slider],
    *,
    springs: Mapping[str, Spring] | None = None,
    gravity: float = 9.81,
    chain: Sequence[str] = (),
    name: str = "planar linkage",
) -> Robot:
    """Build open chains of bars and sliders in a vertical plane, x to the right and y up.

    Lagrange's equations with T = ½ Σ (m_i |ċ_i|² + I_i φ̇_i²) and V = g Σ m_i y_i, c_i the centres of mass and φ_i the
    directions of the bodies, derived in :mod:`erugin.robots.mechanisms.planar_dynamics`. A bar has one coordinate, its
    *absolute* angle φ_i from x [rad]; a slider has its distance along the guide [m]; both are named after the member.
    So are the inputs: the torque [N m] on a bar about its pin, or the force [N] on a slider along its guide; the
    member that carries it receives the reaction.

    Points are ``name.base`` (pin or start of the guide), ``name.center``, ``name.end``, and the member's own,
    ``name.point``; the frame of each member, with its orientation, is ``name``.

    Parameters are ``name.length``, ``.mass``, ``.center``, ``.offset``, ``.inertia``; ``.direction``;
    ``.x`` and ``.y`` of a fixed position; ``name.point.x`` and ``.y``; ``name.stiffness`` and ``.rest_length`` of
    springs, ``name.start.x``, … of their fixed ends; and ``g``.

    Args:
        members: bars and sliders by name, each after the member that carries it.
        springs: springs by name.
        gravity: g along −y [m/s²].
        chain: names of points that a picture joins by lines.
        name: shown in messages.

    Raises:
        ModelError: for no member, a member that is neither a bar nor a slider, a point that no earlier member has, or a
            member and a spring of the same name.
    """
    if not members:
        raise ModelError(f"{name}: a linkage needs at least one member, got none")
    for key in (springs or {}).keys() & members.keys():
        raise ModelError(f"{name}: a member and a spring have the same name {key!r}")
    parts = [_parameters(key, member) for key, member in members.items()]
    parts += [_elastic(key, spring) for key, spring in (springs or {}).items()]
    p = Parameters.collect([*parts, Parameters.declare({"g": finite("gravity", gravity)})])
    q = ca.vertcat(*(ca.SX.sym(key) for key in members))
    v = ca.vertcat(*(ca.SX.sym(f"{key}.rate") for key in members))
    u = ca.vertcat(*(ca.SX.sym(f"{key}.drive") for key in members))
    coordinates = Coordinates.of(q, v, units=tuple("rad" if isinstance(m, Bar) else "m" for m in members.values()))

    planar_points = PlanarPoints(coordinates)
    paths: dict[str, Path] = {}
    points: dict[str, ca.SX] = {}
    frames: dict[str, Frame] = {}
    orientations: dict[str, _Orientation] = {}
    bodies: list[PlanarBody] = []
    nodes: list[Node] = []
    mounts: dict[str, tuple[int, ca.SX]] = {}
    reach: list[ca.SX] = []
    for i, (key, member) in enumerate(members.items()):
        if isinstance(member.at, str):
            if member.at not in points:
                raise ModelError(f"{name}: {key} is at an {unknown_name('earlier point', member.at, points)}")
            base, carrier, mount = paths[member.at], orientations[member.at], mounts[member.at]
        else:
            mount = (WORLD, ca.vertcat(p[f"{key}.x"], p[f"{key}.y"]))
            base, carrier = extend_path((), None, mount[1]), _Orientation(None, ca.SX(0))
        if isinstance(member, Bar):
            orientation, origin = _Orientation(i, ca.SX(0)), ca.SX.zeros(2)
            center, end = ca.vertcat(p[f"{key}.center"], p[f"{key}.offset"]), ca.vertcat(p[f"{key}.length"], 0)
        else:
            orientation = _Orientation(carrier.bar, carrier.tilt + p[f"{key}.direction"])
            origin = center = end = ca.vertcat(q[i], 0)
        own = {"center": center, "end": end}
        own |= {n: origin + ca.vertcat(p[f"{key}.{n}.x"], p[f"{key}.{n}.y"]) for n in member.points}
        # A guide starts on the member that carries it.
        paths[f"{key}.base"], orientations[f"{key}.base"] = base, carrier
        paths |= {
            f"{key}.{n}": extend_path(base, orientation.bar, rotate_vector(orientation.tilt, point))
            for n, point in own.items()
        }
        orientations |= {f"{key}.{n}": orientation for n in own}
        points |= {f"{key}.{n}": planar_points.attach(paths[f"{key}.{n}"]) for n in ("base", *own)}
        frames[key] = Frame.planar(
            orientation.angle(q), points[f"{key}.base" if isinstance(member, Bar) else f"{key}.end"]
        )
        inertia = p[f"{key}.inertia"] if f"{key}.inertia" in p.names else ca.SX(0)
        mounts |= {f"{key}.base": mount} | {f"{key}.{n}": (i, point - origin) for n, point in own.items()}
        nodes.append(_node(key, member, p, mount, center - origin, inertia))
        bodies.append(PlanarBody(p[f"{key}.mass"], inertia, paths[f"{key}.center"]))
        reach.append(q[i] - carrier.angle(q) if isinstance(member, Bar) else q[i])

    elastic = ca.SX(0)
    for key, spring in (springs or {}).items():
        ends: list[ca.SX] = []
        for side, at in (("start", spring.start), ("end", spring.end)):
            if isinstance(at, str) and at not in points:
                raise ModelError(f"{name}: the {side} of {key} is at an {unknown_name('point', at, points)}")
            ends.append(points[at] if isinstance(at, str) else ca.vertcat(p[f"{key}.{side}.x"], p[f"{key}.{side}.y"]))
        stretch = ca.sqrt(ca.sumsqr(ends[1] - ends[0])) - p[f"{key}.rest_length"]
        elastic += p[f"{key}.stiffness"] * stretch**2 / 2

    # The same bodies as bodies in space, for the export to other programs.
    tree = Tree(tuple(nodes), ca.vertcat(0, -p["g"], 0), symbols=coordinates)
    return Robot(
        name=name,
        coordinates=dataclasses.replace(coordinates, rate_of=planar_points.rate),
        parameters=p,
        u=u,
        dynamics=planar_dynamics(bodies, coordinates, p["g"], elastic),
        # Each drive does work on the motion of a member relative to its carrier.
        input_matrix=ca.densify(ca.jacobian(ca.vertcat(*reach), q).T),
        points=points,
        frames=frames,
        input_names=tuple(members),
        input_units=tuple("N m" if isinstance(member, Bar) else "N" for member in members.values()),
        chain=tuple(chain),
        tree=tree,
    )


@dataclass(frozen=True, eq=False)
class _Orientation:
    """Direction of a member's axes: ``tilt`` [rad] from those of the bar that they rotate with, or of the ground."""

    bar: int | None
    tilt: ca.SX

    def angle(self, q: ca.SX) -> ca.SX:
        return self.tilt if self.bar is None else q[self.bar] + self.tilt


def _node(
    key: str, member: Bar | Slider, p: Parameters, mount: tuple[int, ca.SX], center: ca.SX, inertia: ca.SX
) -> Node:
    """Build the node of a member on its carrier."""
    moment = ca.SX(ca.DM.zeros(3, 3))
    moment[2, 2] = inertia
    body = Body(name=key, mass=p[f"{key}.mass"], center=ca.vertcat(center, 0), inertia=moment)
    turn = ca.SX(0) if isinstance(member, Bar) else p[f"{key}.direction"]
    placement = Frame.planar(turn, mount[1])
    if isinstance(member, Bar):
        return Node(name=key, parent=mount[0], placement=placement, joint=Revolute(), bodies=(body,), absolute=True)
    return Node(name=key, parent=mount[0], placement=placement, joint=Prismatic(), bodies=(body,))


def _parameters(key: str, member: Bar | Slider) -> Parameters:
    values: dict[str, float] = {}
    if isinstance(member, Bar):
        link = member.link
        values |= {"length": link.length, "mass": link.mass, "center": link.center, "offset": member.offset}
        values |= {"inertia": link.inertia}
    elif isinstance(member, Slider):
        values |= {"mass": member.mass, "direction": member.direction}
        values |= {} if member.inertia is None else {"inertia": member.inertia}
    else:
        raise ModelError(f"member {key!r} must be a Bar or a Slider, got {member!r}")
    if not isinstance(member.at, str):
        values |= {"x": member.at[0], "y": member.at[1]}
    values |= {f"{n}.{axis}": number for n, xy in member.points.items() for axis, number in zip("xy", xy, strict=True)}
    ranges = {"length": Range.POSITIVE, "mass": Range.POSITIVE, "inertia": Range.NOT_NEGATIVE}
    return Parameters.declare(values, key, ranges={n: limit for n, limit in ranges.items() if n in values})


def _elastic(key: str, spring: Spring) -> Parameters:
    if not isinstance(spring, Spring):
        raise ModelError(f"spring {key!r} must be a Spring, got {spring!r}")
    values = {"stiffness": spring.stiffness, "rest_length": spring.rest_length}
    for side, at in (("start", spring.start), ("end", spring.end)):
        if not isinstance(at, str):
            values |= {f"{side}.x": at[0], f"{side}.y": at[1]}
    return Parameters.declare(values, key, ranges={"stiffness": Range.POSITIVE, "rest_length": Range.NOT_NEGATIVE})


def _at(at: str | Point) -> str | Point:
    return at if isinstance(at, str) else _pair("a fixed position", at)


def _points(points: Mapping[str, Point]) -> Mapping[str, Point]:
    for name in points:
        if name in ("base", "center", "end"):
            raise ModelError(f"every member already has a point {name!r}; choose another name for the additional point")
    return MappingProxyType({name: _pair(f"point {name!r}", xy) for name, xy in points.items()})


def _pair(name: str, value: Point) -> Point:
    numbers = point_coordinates(name, value)
    if len(numbers) != 2:
        raise ModelError(f"{name} must have two coordinates in the plane, got {value!r}")
    return numbers[0], numbers[1]
