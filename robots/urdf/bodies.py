"""Links of a URDF file → bodies on the nodes of a tree, with their masses as parameters."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from ..frame import Frame
from ..tree import WORLD, Body
from .elements import MOMENTS, Description, Inertial, Pose
from .growth import Growth


def moving_inertials(description: Description, growth: Growth) -> dict[str, Inertial]:
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
