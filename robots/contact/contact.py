"""Contacts of feet with the ground: natural constraints that are switched on and off, contact forces and friction."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from ...constraints.perturbations.baumgarte import Baumgarte
from ...constraints.perturbations.perturbation import Perturbation
from ...constraints.relations.expression import holonomic
from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.parameters import Parameters
from ...symbolic.validation import all_finite, point_coordinates, reals
from ..robot import Robot


@dataclass(frozen=True)
class Contact:
    """A contact of a point of a robot with the ground, without slip.

    Attributes:
        point: name of one of the robot's points.
        normal: direction in which the ground can push, normalized; as many numbers as the point has.
        name: name of the natural constraint, that of the point if not given; its parameters ``name.x``, ``name.y``, …
            are the contact position.

    Raises:
        ModelError: for a normal of length zero.
    """

    point: str
    normal: tuple[float, ...]
    name: str = ""

    def __post_init__(self) -> None:
        """Normalize the normal."""
        numbers = point_coordinates("normal of a contact", self.normal)
        largest = max(map(abs, numbers))
        if largest == 0.0:
            raise ModelError(f"normal of a contact must not be zero, got {self.normal!r}")
        # Divided by the largest first: squares of very large or small numbers are out of range.
        shares = [x / largest for x in numbers]
        object.__setattr__(self, "normal", tuple(x / math.hypot(*shares) for x in shares))
        object.__setattr__(self, "name", self.name or self.point)

    @property
    def position_names(self) -> tuple[str, ...]:
        """Names of the parameters of the contact position."""
        return tuple(f"{self.name}.{axis}" for axis in "xyz"[: len(self.normal)])


def with_contacts(robot: Robot, contacts: Sequence[Contact], *, perturbation: Perturbation | None = None) -> Robot:
    """Return the robot with active contacts; to switch them off, use the original robot again.

    Each contact is a natural constraint point − position = 0 of order 0; two contacts close a loop through the ground.
    The position is a parameter without a nominal value, because it is known only at touchdown: see
    :func:`contact_positions`. The constraint acts in all directions: :func:`contact_force` and
    :func:`required_friction` show whether the ground would have to pull or the foot would slip.

    Args:
        robot: the robot without these contacts.
        contacts: at least one.
        perturbation: perturbation equation of the constraints, of order 0; ``Baumgarte()`` if not given.

    Raises:
        ModelError: for no contacts, an unknown point, a point that does not move, a normal of another dimension, or a
            contact that is already active.
    """
    given = contact_tuple(contacts)
    if not given:
        raise ModelError(f"{robot.name}: at least one contact must be given, got none")
    parameters = robot.parameters
    natural = list(robot.natural)
    for contact in given:
        point = _point(robot, contact)
        if any(constraint.name == contact.name for constraint in natural):
            raise ModelError(f"{robot.name}: contact {contact.name!r} is already active")
        still = [axis for axis, row in zip("xyz", ca.vertsplit(point), strict=False) if not ca.depends_on(row, robot.q)]
        if still:
            raise ModelError(
                f"{robot.name}: {contact.point!r} does not move along {', '.join(still)}, so it cannot be a contact"
            )
        position = ca.vertcat(*(ca.SX.sym(name) for name in contact.position_names))
        parameters = Parameters.collect([parameters, Parameters(contact.position_names, position, {})])
        natural.append(holonomic(point - position, perturbation=perturbation or Baumgarte(), name=contact.name))
    return dataclasses.replace(robot, parameters=parameters, natural=tuple(natural))


def contact_positions(
    robot: Robot,
    contacts: Sequence[Contact],
    q: ArrayLike,
    *,
    t: float = 0.0,
    p: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Return the parameters of contacts at the positions that the points have at q.

    Args:
        robot: the robot, with or without the contacts.
        contacts: contacts to activate.
        q: coordinates at touchdown, shape (nq,).
        t: time [s].
        p: parameters that differ from their nominal values; positions of these contacts among them are ignored.

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
        values |= {name: float(x) for name, x in zip(contact.position_names, numbers, strict=True)}
    return values


def contact_force(robot: Robot, contact: Contact, *, u: ca.SX | None = None) -> ca.SX:
    """Return the force of the ground on the foot, in world axes, in t, q, v, u, p, shape (2,) or (3,) [N].

    Args:
        robot: the robot with the contact active.
        contact: one of its active contacts.
        u: expression to replace the inputs, shape (nu,): zeros for a free motion, or the output of a controller. The
            force is then an expression that ``stop=`` of a simulation accepts, to end a phase at lift-off.

    Raises:
        ModelError: if the contact is not active, or for a wrong shape.
    """
    rows = contact_rows(robot, contact)
    if u is None:
        return robot.reactions[rows]
    if u.shape != robot.u.shape:
        raise ModelError(f"{robot.name} has {robot.u.numel()} inputs, but u has shape {u.shape}")
    return (robot.unforced_acceleration[1] + robot.mobility(robot.input_matrix @ u)[1])[rows]


def required_friction(robot: Robot, contact: Contact, *, u: ca.SX | None = None) -> ca.SX:
    """Return the least coefficient of friction that prevents slip, |R_t| / R_n, as an expression.

    It is infinite where the ground would have to pull, R_n ≤ 0: no friction suffices, and the contact opens.

    Args:
        robot: the robot with the contact active.
        contact: one of its active contacts.
        u: expression to replace the inputs, as in :func:`contact_force`.

    Raises:
        ModelError: if the contact is not active, or for a wrong shape.
    """
    force = contact_force(robot, contact, u=u)
    normal = ca.SX(ca.DM(list(contact.normal)))
    pushing = ca.dot(normal, force)
    return ca.if_else(pushing > 0, ca.norm_2(force - normal * pushing) / pushing, ca.inf)


def contact_tuple(contacts: Sequence[Contact]) -> tuple[Contact, ...]:
    """Return the contacts as a tuple.

    Args:
        contacts: any number of contacts.

    Raises:
        ModelError: if it is not a list of contacts.
    """
    listed = isinstance(contacts, Iterable) and not isinstance(contacts, Contact)
    given = tuple(contacts) if listed else ()
    if not listed or not all(isinstance(contact, Contact) for contact in given):
        raise ModelError(f"contacts must be a list of Contact, got {contacts!r}")
    return given


def contact_rows(robot: Robot, contact: Contact) -> slice:
    """Return the rows of a contact among those of all natural constraints.

    Args:
        robot: the robot with the contact active.
        contact: one of its active contacts.

    Raises:
        ModelError: if the contact is not active, or some of its rows were removed.
    """
    first = 0
    for constraint, size in zip(robot.natural, robot.natural_sizes, strict=True):
        if constraint.name == contact.name:
            if size != len(contact.normal):
                raise ModelError(
                    f"{robot.name}: the normal of {contact.name!r} has {len(contact.normal)} components, but its "
                    f"natural constraint has {size} rows, so its force is not determined"
                )
            return slice(first, first + size)
        first += size
    raise ModelError(
        f"{robot.name}: contact {contact.name!r} is not active; the robot's natural constraints: "
        f"{', '.join(repr(c.name) for c in robot.natural) or 'none'}. Activate it with with_contacts(...)"
    )


def without_contact_positions(p: Mapping[str, float] | None, contacts: Sequence[Contact]) -> dict[str, float]:
    """Return the given values without the positions of these contacts.

    Args:
        p: values by name, or None.
        contacts: contacts whose positions are left out.
    """
    names = {name for contact in contacts for name in contact.position_names}
    for name in names.intersection(p or {}):
        if not all_finite(reals(name, (p or {})[name])):
            raise ModelError(f"{name} must be finite, got {(p or {})[name]!r}")
    return {name: value for name, value in (p or {}).items() if name not in names}


def _point(robot: Robot, contact: Contact) -> ca.SX:
    if contact.point not in robot.points:
        raise ModelError(unknown_name(f"point of {robot.name}", contact.point, robot.points))
    point = robot.points[contact.point]
    if len(contact.normal) != point.numel():
        raise ModelError(f"the normal of {contact.name!r} must have {point.numel()} components, got {contact.normal}")
    return point
