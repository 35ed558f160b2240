"""Contacts of feet with the ground: natural constraints that are switched on and off, their forces and friction."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from ...constraints import Baumgarte, Perturbation
from ...constraints.constraint import holonomic
from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.parameters import Parameters
from ...symbolic.validation import all_finite, point_coordinates, reals
from ..robot import Robot


@dataclass(frozen=True)
class Contact:
    """A point of a robot that stands on the ground without slipping.

    Attributes:
        point: one of the robot's points.
        normal: direction in which the ground can push, made a unit vector; as many numbers as the point has.
        name: of the natural constraint, the point's if not given; its parameters ``name.x``, ``name.y``, … are the
            place where the point stands.

    Raises:
        ModelError: for a normal without direction.
    """

    point: str
    normal: tuple[float, ...]
    name: str = ""

    def __post_init__(self) -> None:
        """Make the normal a unit vector."""
        numbers = point_coordinates("normal of a contact", self.normal)
        largest = max(map(abs, numbers))
        if largest == 0.0:
            raise ModelError(f"normal of a contact must not be zero, got {self.normal!r}")
        # Divided by the largest first: squares of huge and of tiny numbers are out of range.
        shares = [x / largest for x in numbers]
        object.__setattr__(self, "normal", tuple(x / math.hypot(*shares) for x in shares))
        object.__setattr__(self, "name", self.name or self.point)

    @property
    def places(self) -> tuple[str, ...]:
        """Names of the parameters that say where the point stands."""
        return tuple(f"{self.name}.{axis}" for axis in "xyz"[: len(self.normal)])


def with_contacts(robot: Robot, contacts: Sequence[Contact], *, perturbation: Perturbation | None = None) -> Robot:
    """The robot with contacts switched on; to switch them off, go on with the robot as it was.

    Each contact is a natural constraint point − place = 0 of order 0; two of them close a loop through the ground. The
    place is a parameter without a nominal value, because only the moment of touching tells it: see :func:`places`. The
    constraint holds in all directions: whether the ground would have to pull, or the foot would slip, is seen in
    :func:`contact_force` and :func:`required_friction`.

    Args:
        robot: as it is without these contacts.
        contacts: at least one.
        perturbation: of the constraints, of order 0; ``Baumgarte()`` if not given.

    Raises:
        ModelError: for no contacts, an unknown point, one that does not move, a normal of another dimension, or a
            contact that is already on.
    """
    given = contact_tuple(contacts)
    if not given:
        raise ModelError(f"{robot.name}: at least one contact must be given, got none")
    parameters = robot.parameters
    natural = list(robot.natural)
    for contact in given:
        point = _point(robot, contact)
        if any(constraint.name == contact.name for constraint in natural):
            raise ModelError(f"{robot.name}: {contact.name!r} is on already")
        still = [axis for axis, row in zip("xyz", ca.vertsplit(point), strict=False) if not ca.depends_on(row, robot.q)]
        if still:
            raise ModelError(f"{robot.name}: {contact.point!r} does not move along {', '.join(still)}: nothing to hold")
        spot = ca.vertcat(*(ca.SX.sym(name) for name in contact.places))
        parameters = Parameters.collect([parameters, Parameters(contact.places, spot, {})])
        natural.append(holonomic(point - spot, perturbation=perturbation or Baumgarte(), name=contact.name))
    return dataclasses.replace(robot, parameters=parameters, natural=tuple(natural))


def contact_positions(
    robot: Robot,
    contacts: Sequence[Contact],
    q: ArrayLike,
    *,
    t: float = 0.0,
    p: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Parameters of the contacts for feet that stand where they are at q.

    Args:
        robot: with or without the contacts.
        contacts: those that are to be on.
        q: coordinates at the moment of touching, shape (nq,).
        t: time [s].
        p: parameters that differ from their nominal values; places of these contacts among them are not used.

    Returns:
        Values by name, to be passed as, or merged into, ``p``.

    Raises:
        ModelError: for an unknown point, or a normal of another dimension.
    """
    given = contact_tuple(contacts)
    known = without_contact_positions(p, given)
    values: dict[str, float] = {}
    for contact in given:
        numbers = np.atleast_1d(robot.evaluate(_point(robot, contact), t=t, q=q, p=known))
        values |= {name: float(x) for name, x in zip(contact.places, numbers, strict=True)}
    return values


def contact_force(robot: Robot, contact: Contact, *, u: ca.SX | None = None) -> ca.SX:
    """Force of the ground on the foot, in world axes, an expression in t, q, v, u, p, shape (2,) or (3,) [N].

    Args:
        robot: with the contact on.
        contact: which one.
        u: replaces the inputs, shape (nu,): zeros for a free motion, or what a controller puts out. The force is then
            an expression that ``stop=`` of a simulation accepts, to end a phase when the foot lifts off.

    Raises:
        ModelError: if the contact is not on, or for a wrong shape.
    """
    rows = contact_rows(robot, contact)
    if u is None:
        return robot.reactions[rows]
    if u.shape != robot.u.shape:
        raise ModelError(f"{robot.name} has {robot.u.numel()} inputs, but u has shape {u.shape}")
    return (robot.unforced_acceleration[1] + robot.mobility(robot.input_matrix @ u)[1])[rows]


def required_friction(robot: Robot, contact: Contact, *, u: ca.SX | None = None) -> ca.SX:
    """Least coefficient of friction with which the foot does not slip: |R_t| / R_n, an expression.

    Infinite where the ground would have to pull, R_n ≤ 0: no friction holds the foot there, the contact is at its end.

    Args:
        robot: with the contact on.
        contact: which one.
        u: replaces the inputs, as in :func:`contact_force`.

    Raises:
        ModelError: if the contact is not on, or for a wrong shape.
    """
    force = contact_force(robot, contact, u=u)
    normal = ca.SX(ca.DM(list(contact.normal)))
    pushing = ca.dot(normal, force)
    return ca.if_else(pushing > 0, ca.norm_2(force - normal * pushing) / pushing, ca.inf)


def contact_tuple(contacts: Sequence[Contact]) -> tuple[Contact, ...]:
    """The contacts, if they are contacts.

    Args:
        contacts: any number.

    Raises:
        ModelError: for anything else.
    """
    listed = isinstance(contacts, Iterable) and not isinstance(contacts, Contact)
    given = tuple(contacts) if listed else ()
    if not listed or not all(isinstance(contact, Contact) for contact in given):
        raise ModelError(f"contacts must be a list of Contact, got {contacts!r}")
    return given


def contact_rows(robot: Robot, contact: Contact) -> slice:
    """Where the contact's rows are among those of all natural constraints.

    Args:
        robot: with the contact on.
        contact: which one.

    Raises:
        ModelError: if it is not on, or not all of its rows are.
    """
    first = 0
    for constraint in robot.natural:
        size = constraint.residual(robot.coordinates).numel()
        if constraint.name == contact.name:
            if size != len(contact.normal):
                raise ModelError(
                    f"{robot.name}: {contact.name!r} has a normal of {len(contact.normal)} components, but only {size} "
                    "rows are on, so its force is not known"
                )
            return slice(first, first + size)
        first += size
    raise ModelError(
        f"{robot.name}: {contact.name!r} is not on; its natural constraints are "
        f"{', '.join(repr(c.name) for c in robot.natural) or 'none'}. Switch it on with standing(...)"
    )


def without_contact_positions(p: Mapping[str, float] | None, contacts: Sequence[Contact]) -> dict[str, float]:
    """The values given, but for the places of these contacts, which are about to be found.

    Args:
        p: values by name, or None.
        contacts: whose places are left out.
    """
    found = {name for contact in contacts for name in contact.places}
    for name in found.intersection(p or {}):
        if not all_finite(reals(name, (p or {})[name])):
            raise ModelError(f"{name} must be finite, got {(p or {})[name]!r}")
    return {name: value for name, value in (p or {}).items() if name not in found}


def _point(robot: Robot, contact: Contact) -> ca.SX:
    if contact.point not in robot.points:
        raise ModelError(unknown_name(f"point of {robot.name}", contact.point, robot.points))
    point = robot.points[contact.point]
    if len(contact.normal) != point.numel():
        raise ModelError(f"the normal of {contact.name!r} must have {point.numel()} components, got {contact.normal}")
    return point
