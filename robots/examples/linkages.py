"""Linkages: four-bar, five-bar, six-bar, slider-crank, Andrews' squeezer and Bricard's mechanism."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, positive, vector, whole
from ..families.planar_manipulator import Link
from ..families.tree_system import tree_system
from ..frame import Frame
from ..mechanisms.mechanism import Closure, mechanism
from ..mechanisms.planar_linkage import Bar, Point, Slider, Spring, planar_linkage
from ..robot import Robot
from ..tree.body import Body
from ..tree.joints import WORLD, Node, Revolute
from ..tree.tree import Tree
from ..variants import with_inputs

BRICARD_LINKS = ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
"""Directions of the rods at q = 0, along the edges of a cube."""
BRICARD_AXES = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
"""Axes of the hinges at which the rods start; the sixth, at the end of the last rod, is along x."""


def bricard_mechanism(*, length: float = 1.0, mass: float = 1.0, width: float = 0.1, gravity: float = 9.81) -> Robot:
    """Build the IFToMM benchmark A04: a closed loop of five rods of square section and six hinges with the ground.

    q = (hinge1, …, hinge5), zero where the rods lie along the edges of a cube, from the origin to (0, 0, l). The sixth
    hinge connects the last rod to the ground there: the natural constraint ``pin`` fixes its end, three rows in metres,
    and ``axis`` aligns its x axis with that of the ground, two rows. Five rows for five hinges leave no freedom by
    Grübler's count, but one of them depends on the others wherever the loop is closed, so that one degree of freedom
    remains [Gonzalez2006]_. The reactions are of least norm. The benchmark starts from q = 0 at rest and requires that
    the energy is conserved for 10 s.

    Points are ``joint1`` … ``joint5`` and ``tip``, the end of the last rod. Inputs are the torques in the five hinges.

    Args:
        length: l of each rod [m].
        mass: m of each rod [kg].
        width: width of the section [m].
        gravity: g along −y [m/s²].

    Raises:
        ModelError: for a length, mass or width that is not positive, or a gravity that is not finite.
    """
    values = {"l": positive("length [m]", length), "m": positive("mass [kg]", mass), "w": positive("width [m]", width)}
    ranges = dict.fromkeys(values, Range.POSITIVE)
    p = Parameters.declare(values | {"g": finite("gravity", gravity)}, ranges=ranges)
    around, across = p["m"] * p["w"] ** 2 / 6, p["m"] * (p["l"] ** 2 + p["w"] ** 2) / 12
    nodes: list[Node] = []
    for k, (link, axis) in enumerate(zip(BRICARD_LINKS, BRICARD_AXES, strict=True)):
        direction = ca.DM(link)
        before = ca.SX(ca.DM(BRICARD_LINKS[k - 1])) * p["l"] if k else ca.SX(ca.DM.zeros(3))
        along = ca.SX(direction @ direction.T)
        bar = Body(
            name=f"rod {k + 1}",
            mass=p["m"],
            center=ca.SX(direction) * p["l"] / 2,
            inertia=ca.densify(across * ca.SX.eye(3) + (around - across) * along),
        )
        placement = Frame(ca.SX(ca.DM.eye(3)), before)
        name = f"hinge{k + 1}"
        nodes.append(
            Node(name=name, parent=k - 1 if k else WORLD, placement=placement, joint=Revolute(axis), bodies=(bar,))
        )
    tree = Tree(tuple(nodes), ca.vertcat(0, -p["g"], 0))
    frames = [node.frame for node in tree.motion.nodes]
    tip = frames[-1].point(ca.SX(ca.DM(BRICARD_LINKS[-1])) * p["l"])
    points = {f"joint{k + 1}": frame.position for k, frame in enumerate(frames)} | {"tip": tip}
    chain = tree_system(tree, parameters=p, points=points, chain=tuple(points), name="Bricard's mechanism")
    own_axis = frames[-1].rotation[:, 0]
    closures = [
        Closure(tip, ca.vertcat(0, 0, p["l"]), "pin"),
        Closure(ca.vertcat(own_axis[1], own_axis[2]), (0.0, 0.0), "axis"),
    ]
    return mechanism(chain, closures, name="Bricard's mechanism", redundant="least-norm")


def five_bar(
    left_crank: Link,
    left_rod: Link,
    right_crank: Link,
    right_rod: Link,
    *,
    ground: Point,
    inputs: Sequence[str] = ("left_crank", "right_crank"),
    gravity: float = 9.81,
) -> Robot:
    """Build two arms of two links whose tips are joined at a pin: a parallel robot with two degrees of freedom.

    q = (left_crank, left_rod, right_crank, right_rod), absolute angles from x. The natural constraint ``tip pin`` joins
    ``left_rod.end``, also called ``tip``, to ``right_rod.end``; its reaction is the force [N] of the right rod on the
    left. Both motors are fixed to the ground. If the rods are in line the cranks do not determine the tip.

    Args:
        left_crank: link from the origin.
        left_rod: link from the left crank's end.
        right_crank: link from the pivot at ``ground``.
        right_rod: link from the right crank's end.
        ground: pivot of the right crank (x, y) [m].
        inputs: names of the driven joints.
        gravity: g along −y [m/s²]; zero for a horizontal robot.

    Raises:
        ModelError: for numbers out of their ranges, or an unknown input.
    """
    members = {
        "left_crank": Bar(left_crank, (0.0, 0.0)),
        "left_rod": Bar(left_rod, "left_crank.end"),
        "right_crank": Bar(right_crank, ground),
        "right_rod": Bar(right_rod, "right_crank.end"),
    }
    chain = ("left_crank.base", "left_crank.end", "left_rod.end", "right_crank.end", "right_crank.base")
    bars = planar_linkage(members, gravity=gravity, chain=chain, name="five-bar linkage")
    bars = dataclasses.replace(bars, points={**bars.points, "tip": bars.points["left_rod.end"]})
    pin = Closure("left_rod.end", "right_rod.end", "tip pin")
    return with_inputs(mechanism(bars, [pin], name=bars.name), inputs)


MOST_WINDOWS = 1000


def four_bar(
    crank: Link,
    coupler: Link,
    rocker: Link,
    *,
    ground: Point,
    coupler_offset: float = 0.0,
    coupler_point: Point | None = None,
    inputs: Sequence[str] = ("crank",),
    gravity: float = 9.81,
) -> Robot:
    """Build a four-bar: crank and coupler from the origin, the rocker from its own pivot, joined at a pin.

    q = (crank, coupler, rocker), absolute angles from x. The natural constraint ``coupler pin`` joins ``coupler.end``
    to ``rocker.end``; its reaction is the force [N] of the rocker on the coupler. The crank can make full turns if it
    is the shortest link and s + l ≤ p + q (Grashof).

    Points, parameters and the meaning of inputs are those of :func:`~erugin.robots.planar_linkage`.

    Args:
        crank: link from the origin.
        coupler: link from the crank's end.
        rocker: link from the pivot at ``ground`` to the coupler's end.
        ground: pivot of the rocker (x, y) [m].
        coupler_offset: centre of mass of the coupler across it, to the left [m].
        coupler_point: a point of the coupler, along and across it from the crank pin [m]; becomes ``coupler.point``.
        inputs: names of the driven joints; the others are passive.
        gravity: g along −y [m/s²].

    Raises:
        ModelError: for numbers out of their ranges, or an unknown input.
    """
    points = {} if coupler_point is None else {"point": coupler_point}
    members = {
        "crank": Bar(crank, (0.0, 0.0)),
        "coupler": Bar(coupler, "crank.end", coupler_offset, points),
        "rocker": Bar(rocker, ground),
    }
    chain = ("crank.base", "crank.end", "coupler.end", "rocker.base")
    bars = planar_linkage(members, gravity=gravity, chain=chain, name="four-bar linkage")
    pin = Closure("coupler.end", "rocker.end", "coupler pin")
    return with_inputs(mechanism(bars, [pin], name=bars.name), inputs)


def iftomm_four_bars(windows: int) -> Robot:
    """Build the IFToMM benchmark A02: N four-bar windows side by side [Gonzalez2006]_, without drives.

    2N + 1 uniform bars of 1 m and 1 kg: cranks 0 … N, pinned to the ground 1 m apart, and couplers 1 … N between their
    ends; g = 9.81 m/s². One degree of freedom, except where all bars lie flat: there the rank of A drops by N, and each
    window may continue as a parallelogram or crossed. The benchmark starts from upright cranks with 1 m/s at the end of
    crank 0 along x.

    Args:
        windows: N, at least one.

    Raises:
        ModelError: if it is not an integer of at least one, or too large.
    """
    windows = whole("windows", windows, most=MOST_WINDOWS, advice="use fewer")
    bar = Link(length=1.0, mass=1.0, center=0.5, inertia=1.0 / 12.0)
    members = {"crank0": Bar(bar, (0.0, 0.0))}
    chain = ["crank0.base", "crank0.end"]
    for k in range(1, windows + 1):
        members |= {f"coupler{k}": Bar(bar, f"crank{k - 1}.end"), f"crank{k}": Bar(bar, (float(k), 0.0))}
        chain += [f"coupler{k}.end", f"crank{k}.base", f"coupler{k}.end"]
    name = f"IFToMM linkage with {windows} window{'s' * (windows > 1)}"
    bars = planar_linkage(members, chain=chain, name=name)
    pins = [Closure(f"coupler{k}.end", f"crank{k}.end", f"pin {k}") for k in range(1, windows + 1)]
    return with_inputs(mechanism(bars, pins, name=name), ())


def pinocchio_four_bar() -> Robot:
    """Build the linkage of Pinocchio's example of closed chains [Carpentier2021]_: 1 m of ground, three moving boxes.

    Crank and rocker: 0.6 m, 5 kg; coupler: 1 m, 10 kg; each a box 0.1 m high, so that I = m (l² + 0.01)/12. It is a
    parallelogram, and therefore singular where it lies flat.
    """
    short, long = Link(0.6, 5.0, 0.3, 5.0 * (0.36 + 0.01) / 12.0), Link(1.0, 10.0, 0.5, 10.0 * (1.0 + 0.01) / 12.0)
    return four_bar(short, long, short, ground=(1.0, 0.0))


def six_bar(
    crank: Link,
    coupler: Link,
    rocker: Link,
    connector: Link,
    output: Link,
    *,
    ground: Point,
    output_ground: Point,
    coupler_point: Point,
    coupler_offset: float = 0.0,
    connector_offset: float = 0.0,
    connector_point: Point | None = None,
    inputs: Sequence[str] = ("crank",),
    gravity: float = 9.81,
) -> Robot:
    """Build a Stephenson III linkage: a four-bar whose coupler drives two more bars.

    Ground and coupler have three pins each; there are two loops and one degree of freedom. q = (crank, coupler, rocker,
    output, connector), absolute angles from x. The natural constraints are ``coupler pin``, ``coupler.end`` on
    ``rocker.end``, and ``connector pin``, ``connector.end`` on ``coupler.point``; their reactions are the forces [N] on
    the first by the second.

    Args:
        crank: link from the origin.
        coupler: link from the crank's end to the rocker's.
        rocker: link from the pivot at ``ground``.
        connector: link from the output's end to the coupler's point.
        output: link from the pivot at ``output_ground``.
        ground: pivot of the rocker (x, y) [m].
        output_ground: pivot of the output (x, y) [m].
        coupler_point: pin of the connector, along and across the coupler from the crank pin [m].
        coupler_offset: centre of mass of the coupler across it, to the left [m].
        connector_offset: centre of mass of the connector across it, to the left [m].
        connector_point: a point of the connector, along and across it from the output's end [m]; becomes
            ``connector.point``.
        inputs: names of the driven joints; the others are passive.
        gravity: g along −y [m/s²].

    Raises:
        ModelError: for numbers out of their ranges, or an unknown input.
    """
    further = {} if connector_point is None else {"point": connector_point}
    members = {
        "crank": Bar(crank, (0.0, 0.0)),
        "coupler": Bar(coupler, "crank.end", coupler_offset, {"point": coupler_point}),
        "rocker": Bar(rocker, ground),
        "output": Bar(output, output_ground),
        "connector": Bar(connector, "output.end", connector_offset, further),
    }
    chain = ["crank.base", "crank.end", "coupler.end", "rocker.base", "coupler.end", "coupler.point", "crank.end"]
    chain += ["coupler.point", "output.end", "output.base"]
    chain += ["output.end", "coupler.point", "connector.point"] if further else []
    bars = planar_linkage(members, gravity=gravity, chain=chain, name="six-bar linkage")
    pins = [Closure("coupler.end", "rocker.end", "coupler pin")]
    pins += [Closure("connector.end", "coupler.point", "connector pin")]
    return with_inputs(mechanism(bars, pins, name=bars.name), inputs)


def klann_leg(*, scale: float, line_density: float, gravity: float = 9.81) -> Robot:
    """Build a leg of Klann's walking machine [Klann2001]_: the six-bar's ``connector``, its foot ``connector.point``.

    The dimensions are those of the patent, in units of ``scale``: crank 0.268 about the origin, rocker 0.3206 about
    (−0.590, −0.176), output 0.5177 about (−0.233, 0.616); the coupler's pins are 0.590, 0.5221 and 1.1051 apart; hip,
    knee and foot 0.8966, 0.8966 and 1.732. As the crank rotates, the foot moves along a nearly straight line and
    returns lifted. Masses are not in the patent: every body is a chain of uniform thin rods between its pins.

    Args:
        scale: length of the patent's unit [m].
        line_density: mass of a rod per length [kg/m].
        gravity: g along −y [m/s²].

    Raises:
        ModelError: if scale or density is not positive.
    """
    unit, density = positive("scale [m]", scale), positive("line_density [kg/m]", line_density)
    knee = _corner(0.590, 1.1051, 0.5221, -1.0)
    foot = _corner(0.8966, 1.732, 0.8966, 1.0)
    coupler, coupler_offset = _rods(unit, density, [(0.0, 0.0), (0.590, 0.0), knee])
    leg, leg_offset = _rods(unit, density, [(0.0, 0.0), (0.8966, 0.0), foot])
    return six_bar(
        _rods(unit, density, [(0.0, 0.0), (0.268, 0.0)])[0],
        coupler,
        _rods(unit, density, [(0.0, 0.0), (0.3206, 0.0)])[0],
        leg,
        _rods(unit, density, [(0.0, 0.0), (0.5177, 0.0)])[0],
        ground=(-0.590 * unit, -0.176 * unit),
        output_ground=(-0.233 * unit, 0.616 * unit),
        coupler_point=(knee[0] * unit, knee[1] * unit),
        coupler_offset=coupler_offset,
        connector_offset=leg_offset,
        connector_point=(foot[0] * unit, foot[1] * unit),
        gravity=gravity,
    )


def _corner(side: float, from_start: float, from_end: float, turn: float) -> Point:
    """Return the third corner of a triangle on a side along x, above it for a positive ``turn``."""
    x = (from_start**2 - from_end**2 + side**2) / (2.0 * side)
    return x, math.copysign(math.sqrt(from_start**2 - x**2), turn)


def _rods(unit: float, density: float, corners: Sequence[Point]) -> tuple[Link, float]:
    """Return a body of thin rods between corners: its link, with the length of the first rod, and its offset."""
    pieces = [
        (
            density * unit * math.dist(a, b),
            unit * (a[0] + b[0]) / 2.0,
            unit * (a[1] + b[1]) / 2.0,
            unit * math.dist(a, b),
        )
        for a, b in itertools.pairwise(corners)
    ]
    mass = sum(m for m, *_ in pieces)
    x, y = sum(m * x for m, x, _, _ in pieces) / mass, sum(m * y for m, _, y, _ in pieces) / mass
    inertia = sum(m * (length**2 / 12.0 + (px - x) ** 2 + (py - y) ** 2) for m, px, py, length in pieces)
    return Link(unit * corners[1][0], mass, x, inertia), y


def slider_crank(
    crank: Link,
    rod: Link,
    slider_mass: float,
    *,
    offset: float,
    inputs: Sequence[str] = ("crank",),
    gravity: float = 9.81,
) -> Robot:
    """Build crank and connecting rod from the origin and a slider on a guide along x, joined at the wrist pin.

    q = (crank, rod, slider): two absolute angles from x [rad] and the slider's position along x [m]. The natural
    constraint ``wrist pin`` joins ``rod.end`` to ``slider.end``; its reaction is the force [N] of the slider on the
    rod. The crank can make full turns if it is shorter than the rod by more than the offset. With crank and rod equally
    long and no offset the slider can stop at the origin while the crank continues: there the linkage is singular.

    Args:
        crank: link from the origin.
        rod: link from the crank's end.
        slider_mass: mass of the slider [kg].
        offset: height of the guide above the crank's pivot [m]; zero for a guide through it.
        inputs: names of the driven joints: ``"crank"`` and ``"rod"`` are torques, ``"slider"`` is a force along x, such
            as that of a gas on a piston.
        gravity: g along −y [m/s²]; the guide carries the slider.

    Raises:
        ModelError: for numbers out of their ranges, or an unknown input.
    """
    members: dict[str, Bar | Slider] = {
        "crank": Bar(crank, (0.0, 0.0)),
        "rod": Bar(rod, "crank.end"),
        "slider": Slider(slider_mass, (0.0, offset), 0.0),
    }
    chain = ("crank.base", "crank.end", "rod.end")
    bars = planar_linkage(members, gravity=gravity, chain=chain, name="slider-crank")
    pin = Closure("rod.end", "slider.end", "wrist pin")
    return with_inputs(mechanism(bars, [pin], name=bars.name), inputs)


def flores_slider_crank() -> Robot:
    """Build the slider-crank of a benchmark for joints with clearance [Flores2010]_, with an ideal guide.

    Crank 0.153 m, 0.038 kg, 7.4e-5 kg m²; rod 0.306 m, 0.038 kg, 5.9e-4 kg m²; slider 0.076 kg; centres of mass in the
    middle of the bars; g = 9.81 m/s². The benchmark starts with both bars along x, the crank at 150 rad/s.
    """
    crank, rod = Link(0.153, 0.038, 0.0765, 7.4e-5), Link(0.306, 0.038, 0.153, 5.9e-4)
    return slider_crank(crank, rod, 0.076, offset=0.0)


def andrews_squeezer() -> Robot:
    """Build Andrews' squeezing mechanism with the numbers of Hairer and Wanner [HairerWanner1996]_, section VII.7.

    Seven bars, three loops that meet in one pin, a spring, no gravity, one degree of freedom; the benchmark drives the
    crank K1 with 0.033 N m from rest and requires the position after 0.03 s, two and a half turns of the crank.

    The book's coordinates follow from the absolute angles as β = K1, Θ = K2 − K1 − π, γ = K3 + π/2, δ = K5,
    Φ = K4 − K5 + π/2, ε = K7 + π/2, Ω = K6 − K7 − π/2. Its equations are M w = f − Gᵀλ, so that the reactions of
    ``pin K3``, ``pin K4`` and ``pin K6``, in this order, are −λ.
    """
    members = {
        "K1": Bar(Link(0.007, 0.04325, 0.00092, 2.194e-6), (0.0, 0.0)),
        "K2": Bar(Link(0.028, 0.00365, 0.0115, 4.410e-7), "K1.end"),
        "K3": Bar(Link(0.035, 0.02373, 0.01874, 5.255e-6), (-0.03635, 0.03273), 0.01043, {"spring": (0.018, 0.02)}),
        "K5": Bar(Link(0.04, 0.07050, 0.02308, 1.169e-5), (-0.06934, -0.00227), 0.00916),
        "K4": Bar(Link(0.02, 0.00706, 0.02 - 0.01421, 5.667e-7), "K5.end"),
        "K7": Bar(Link(0.04, 0.05498, 0.01228, 1.912e-5), (-0.06934, -0.00227), 0.00449),
        "K6": Bar(Link(0.02, 0.00706, 0.02 - 0.01421, 5.667e-7), "K7.end"),
    }
    springs = {"spring": Spring("K3.spring", (0.014, 0.072), stiffness=4530.0, rest_length=0.07785)}
    chain = ["K1.base", "K1.end", "K2.end", "K3.base", "K3.spring", "K3.base"]
    chain += ["K2.end", "K4.base", "K5.base", "K7.end", "K2.end"]
    bars = planar_linkage(members, springs=springs, gravity=0.0, chain=chain, name="Andrews' squeezer")
    pins = [Closure("K2.end", f"{bar}.end", f"pin {bar}") for bar in ("K3", "K4", "K6")]
    return with_inputs(mechanism(bars, pins, name=bars.name), ("K1",))


def hairer_wanner_angles(q: ArrayLike) -> NDArray[np.float64]:
    """Return β, Θ, γ, Φ, δ, Ω, ε of the book from the absolute angles of :func:`andrews_squeezer`, shape (7,) [rad].

    Args:
        q: coordinates, shape (7,) [rad].

    Raises:
        ShapeError: for a wrong shape, or a number that is not finite.
    """
    k1, k2, k3, k5, k4, k7, k6 = vector("q", q, 7)
    quarter = math.pi / 2
    return np.array([k1, k2 - k1 - math.pi, k3 + quarter, k4 - k5 + quarter, k5, k6 - k7 - quarter, k7 + quarter])
