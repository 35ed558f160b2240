"""Four-bar linkages."""

from __future__ import annotations

from collections.abc import Sequence

from ...symbolic.arrays import whole
from ..mechanism import Closure, mechanism, with_inputs
from ..planar_linkage import Bar, Point, planar_linkage
from ..planar_manipulator import Link
from ..robot import Robot

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
    """Crank and coupler in a chain from the origin, the rocker from its own pivot, joined at a pin: one loop.

    q = (crank, coupler, rocker), absolute angles from x. The natural constraint ``coupler pin`` holds ``coupler.end``
    on ``rocker.end``; its reaction is the force [N] of the rocker on the coupler there. The crank turns fully if it is
    the shortest link and s + l ≤ p + q (Grashof).

    Points, parameters and the meaning of inputs are those of :func:`~erugin.robots.planar_linkage`.

    Args:
        crank: from the origin.
        coupler: from the crank's end.
        rocker: from the pivot at ``ground`` to the coupler's end.
        ground: the rocker's pivot (x, y) [m].
        coupler_offset: centre of mass of the coupler across it, to the left [m].
        coupler_point: a point of the coupler, along and across it from the crank pin [m]; becomes ``coupler.point``.
        inputs: which drives there are; the other joints are passive.
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
    """The IFToMM benchmark A02: N four-bar windows side by side [Gonzalez2006]_, without drives.

    2N + 1 uniform bars of 1 m and 1 kg: cranks 0 … N, pinned to the ground 1 m apart, and couplers 1 … N between their
    ends; g = 9.81 m/s². One degree of freedom, except where all bars lie flat: there A loses N of its rows, and the
    linkage may go on in any window as a parallelogram or crossed. The benchmark starts from upright cranks with 1 m/s
    at the end of crank 0 along x.

    Args:
        windows: N, at least one.

    Raises:
        ModelError: for another number.
    """
    windows = whole("windows", windows, most=MOST_WINDOWS, advice="take fewer")
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
    """The linkage of Pinocchio's example of closed chains [Carpentier2021]_: a ground of 1 m and three moving boxes.

    Crank and rocker: 0.6 m, 5 kg; coupler: 1 m, 10 kg; each a box 0.1 m high, so that I = m (l² + 0.01)/12. It is a
    parallelogram, and as such singular where it lies flat.
    """
    short, long = Link(0.6, 5.0, 0.3, 5.0 * (0.36 + 0.01) / 12.0), Link(1.0, 10.0, 0.5, 10.0 * (1.0 + 0.01) / 12.0)
    return four_bar(short, long, short, ground=(1.0, 0.0))
