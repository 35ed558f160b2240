"""Six-bar linkages of Stephenson's third kind."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from ...symbolic.arrays import positive
from ..mechanism import Closure, mechanism, with_inputs
from ..planar_linkage import Bar, Point, planar_linkage
from ..planar_manipulator import Link
from ..robot import Robot


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
    """Stephenson III: a four-bar whose coupler drives, at a point of its own, two more bars.

    Ground and coupler have three pins each; there are two loops and one degree of freedom. q = (crank, coupler, rocker,
    output, connector), absolute angles from x. The natural constraints are ``coupler pin``, ``coupler.end`` on
    ``rocker.end``, and ``connector pin``, ``connector.end`` on ``coupler.point``; their reactions are the forces [N] on
    the first by the second.

    Args:
        crank: from the origin.
        coupler: from the crank's end to the rocker's.
        rocker: from the pivot at ``ground``.
        connector: from the output's end to the coupler's point.
        output: from the pivot at ``output_ground``.
        ground: the rocker's pivot (x, y) [m].
        output_ground: the output's pivot (x, y) [m].
        coupler_point: where the connector is pinned, along and across the coupler from the crank pin [m].
        coupler_offset: centre of mass of the coupler across it, to the left [m].
        connector_offset: centre of mass of the connector across it, to the left [m].
        connector_point: a point of the connector, along and across it from the output's end [m]; becomes
            ``connector.point``.
        inputs: which drives there are; the other joints are passive.
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
    """A leg of Klann's walking machine [Klann2001]_: the six-bar's ``connector``, with the foot ``connector.point``.

    The dimensions are those of the patent, in units of ``scale``: crank 0.268 about the origin, rocker 0.3206 about
    (−0.590, −0.176), output 0.5177 about (−0.233, 0.616); the coupler's pins are 0.590, 0.5221 and 1.1051 apart; hip,
    knee and foot 0.8966, 0.8966 and 1.732. As the crank turns, the foot goes one way in a nearly straight line and
    comes back lifted. Masses are not in the patent: every body is a chain of uniform thin rods between its pins.

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
    """Third corner of a triangle on a side along x, above it for a positive ``turn``."""
    x = (from_start**2 - from_end**2 + side**2) / (2.0 * side)
    return x, math.copysign(math.sqrt(from_start**2 - x**2), turn)


def _rods(unit: float, density: float, corners: Sequence[Point]) -> tuple[Link, float]:
    """One body of thin rods between corners: its link, whose length is that of the first rod, and its offset."""
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
