"""Planar n-link manipulator by Newton-Euler: a truth that shares no idea with the code under test.

Free bodies only: no Lagrangian, no automatic differentiation, no CasADi. World x points to the right, y up,
gravity along -y. For link i with absolute angle phi_i, e_i the unit vector along the link and n_i = e_i turned by
+90 degrees:

    outward   x_{i+1}'' = x_i'' + l_i (phi_i'' n_i - phi_i'^2 e_i)
              c_i''     = x_i'' + s_i (phi_i'' n_i - phi_i'^2 e_i)
    inward    f_i = m_i (c_i'' - g) + f_{i+1}
              M_i = M_{i+1} + I_i phi_i'' + s_i e_i x f_i + (l_i - s_i) e_i x f_{i+1}

with x_i the joint to the previous link, c_i the centre of mass at the distance s_i from it, f_i the force and M_i the
torque by link i-1 on link i; nothing acts on the tip.

``zero="horizontal"`` counts angles counter-clockwise from +x, ``zero="down"`` counter-clockwise from -y.
``angles="relative"``: phi_i = q_1 + ... + q_i and Q_i = M_i. ``angles="absolute"``: phi_i = q_i and
Q_i = M_i - M_{i+1}, M_{n+1} = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Angles = Literal["relative", "absolute"]
Zero = Literal["horizontal", "down"]
Array = NDArray[np.float64]


class LinkData(NamedTuple):
    """A rigid link: length [m], mass [kg], center [m] from its first joint, inertia [kg m^2] about that centre."""

    length: float
    mass: float
    center: float
    inertia: float


def absolute_angles(angles: Angles, q: Array) -> Array:
    """Absolute angles phi, shape (n,) [rad]; the same sum holds for their rates and accelerations."""
    return np.cumsum(q) if angles == "relative" else np.array(q, dtype=np.float64)


def directions(zero: Zero, phi: Array) -> Array:
    """Unit vectors e_i along the links, shape (n, 2)."""
    if zero == "horizontal":
        return np.column_stack([np.cos(phi), np.sin(phi)])
    return np.column_stack([np.sin(phi), -np.cos(phi)])


def turned(e: Array) -> Array:
    """The plane vector ``e`` turned by +90 degrees, shape (2,)."""
    return np.array([-e[1], e[0]])


def cross(a: Array, b: Array) -> float:
    """The out-of-plane component of a x b."""
    return float(a[0] * b[1] - a[1] * b[0])


def joint_torques(
    links: Sequence[LinkData], angles: Angles, zero: Zero, gravity: float, q: Array, v: Array, a: Array
) -> Array:
    """Torques M_i by link i-1 on link i that produce the acceleration ``a``, shape (n,) [N m]."""
    n = len(links)
    e = directions(zero, absolute_angles(angles, q))
    omega = absolute_angles(angles, v)
    epsilon = absolute_angles(angles, a)

    joint_acceleration = np.zeros(2)
    center_acceleration = np.zeros((n, 2))
    for i, link in enumerate(links):
        per_metre = epsilon[i] * turned(e[i]) - omega[i] ** 2 * e[i]
        center_acceleration[i] = joint_acceleration + link.center * per_metre
        joint_acceleration = joint_acceleration + link.length * per_metre

    falling = np.array([0.0, -gravity])
    torques = np.zeros(n)
    force_ahead, torque_ahead = np.zeros(2), 0.0
    for i in reversed(range(n)):
        link = links[i]
        force = link.mass * (center_acceleration[i] - falling) + force_ahead
        torques[i] = (
            torque_ahead
            + link.inertia * epsilon[i]
            + link.center * cross(e[i], force)
            + (link.length - link.center) * cross(e[i], force_ahead)
        )
        force_ahead, torque_ahead = force, torques[i]
    return torques


def generalised_forces(angles: Angles, torques: Array) -> Array:
    """Q of the joint torques M, shape (n,): M_i in relative angles, M_i - M_{i+1} in absolute ones."""
    reaction = np.append(torques[1:], 0.0) if angles == "absolute" else np.zeros(len(torques))
    return np.asarray(torques - reaction, dtype=np.float64)


def inverse_dynamics(
    links: Sequence[LinkData], angles: Angles, zero: Zero, gravity: float, q: Array, v: Array, a: Array
) -> Array:
    """Generalised forces Q = M(q) a + h(q, v) that produce the acceleration ``a``, shape (n,) [N m].

    Args:
        links: the links from the base to the tip.
        angles: "relative" or "absolute", what q means.
        zero: "horizontal" or "down", the direction of angle zero.
        gravity: acceleration of gravity, along -y [m/s^2].
        q: coordinates, shape (n,) [rad].
        v: velocities, shape (n,) [rad/s].
        a: accelerations, shape (n,) [rad/s^2].
    """
    return generalised_forces(angles, joint_torques(links, angles, zero, gravity, q, v, a))


def mass_matrix(links: Sequence[LinkData], angles: Angles, zero: Zero, q: Array) -> Array:
    """M(q), shape (n, n): column j is the force for a unit acceleration j at rest and without gravity."""
    rest = np.zeros(len(links))
    columns = [inverse_dynamics(links, angles, zero, 0.0, q, rest, unit) for unit in np.eye(len(links))]
    return np.column_stack(columns)


def bias(links: Sequence[LinkData], angles: Angles, zero: Zero, gravity: float, q: Array, v: Array) -> Array:
    """h(q, v), shape (n,): the force that keeps the acceleration at zero."""
    return inverse_dynamics(links, angles, zero, gravity, q, v, np.zeros(len(links)))


def acceleration(
    links: Sequence[LinkData], angles: Angles, zero: Zero, gravity: float, q: Array, v: Array, torques: Array
) -> Array:
    """Acceleration, shape (n,), under the joint ``torques`` M_i, shape (n,) [N m]."""
    force = generalised_forces(angles, torques) - bias(links, angles, zero, gravity, q, v)
    return np.asarray(np.linalg.solve(mass_matrix(links, angles, zero, q), force), dtype=np.float64)


def joint_positions(links: Sequence[LinkData], angles: Angles, zero: Zero, q: Array) -> Array:
    """Places of the joints and, last, of the tip, shape (n + 1, 2) [m]; the first is the base, the origin."""
    lengths = np.array([link.length for link in links])
    steps = lengths[:, None] * directions(zero, absolute_angles(angles, q))
    return np.vstack([np.zeros(2), np.cumsum(steps, axis=0)])


def energies(
    links: Sequence[LinkData], angles: Angles, zero: Zero, gravity: float, q: Array, v: Array
) -> tuple[float, float]:
    """Kinetic and potential energy [J], body by body; the potential is zero at the height of the base."""
    e = directions(zero, absolute_angles(angles, q))
    omega = absolute_angles(angles, v)
    joint, joint_velocity = np.zeros(2), np.zeros(2)
    kinetic, potential = 0.0, 0.0
    for i, link in enumerate(links):
        center = joint + link.center * e[i]
        center_velocity = joint_velocity + link.center * omega[i] * turned(e[i])
        kinetic += 0.5 * link.mass * float(center_velocity @ center_velocity) + 0.5 * link.inertia * omega[i] ** 2
        potential += link.mass * gravity * center[1]
        joint = joint + link.length * e[i]
        joint_velocity = joint_velocity + link.length * omega[i] * turned(e[i])
    return float(kinetic), float(potential)
