"""Telescopic links in a plane by d'Alembert's principle: a truth that shares no idea with the code under test.

Everything is made of point masses at shares r of the links, with the acceleration of a point of a turning, stretching
line written by hand. With e_k along link k and n_k = e_k turned by +90 degrees, a point that the links on its path
carry by the shares r_k (1 for those before its own) has

    x    = x_pole + sum r_k l_k e_k
    x''  = x_pole'' + sum r_k ((l_k'' - l_k phi_k'^2) e_k + (l_k phi_k'' + 2 l_k' phi_k') n_k)
    dx   = dx_pole + sum r_k (l_k n_k dphi_k + e_k dl_k)

and the generalised forces are Q = sum m dx.(x'' - g) + I phi'' + springs + dampers. No Lagrangian, no recursion, no
automatic differentiation, no CasADi. q = (phi_1 ... phi_n, l_1 ... l_n), after x, y of the pole if it floats.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Rod(NamedTuple):
    """A link: mass [kg], inertia [kg m^2], share at which the centre of mass lies, spring [N/m] and its length [m]."""

    mass: float
    inertia: float
    ratio: float
    stiffness: float
    rest: float
    hinge: float = 0.0
    damping: float = 0.0


class Structure(NamedTuple):
    """A tree of rods; ``parents`` counts from 1, 0 is the pole. ``stretched`` rods are clouds of particles."""

    rods: tuple[Rod, ...]
    parents: tuple[int, ...]
    floating: bool = False
    pole_mass: float = 0.0
    stretched: bool = False
    gravity: float = 9.81

    @property
    def nv(self) -> int:
        """Number of coordinates."""
        return 2 * len(self.rods) + 2 * self.floating


def cloud(rod: Rod, seed: int, count: int = 25) -> Iterator[tuple[float, float]]:
    """Masses [kg] and shares of the length of many particles that at rest length have the rod's m, n and I."""
    rng = np.random.default_rng(seed)
    masses = rng.uniform(0.2, 1.0, count)
    masses *= rod.mass / masses.sum()
    places = rng.uniform(0.0, 1.0, count)
    places -= masses @ places / rod.mass
    places *= np.sqrt(rod.inertia / rod.rest**2 / (masses @ places**2))
    yield from zip(masses.tolist(), (rod.ratio + places).tolist(), strict=True)


def particles(s: Structure) -> Iterator[tuple[float, int, float]]:
    """Mass, number of the link from 0 (-1 for the pole) and share of its length, of each particle."""
    if s.floating and s.pole_mass:
        yield s.pole_mass, -1, 0.0
    for i, rod in enumerate(s.rods):
        if s.stretched:
            for mass, share in cloud(rod, seed=i):
                yield mass, i, share
        else:
            yield rod.mass, i, rod.ratio
        if rod.hinge:
            yield rod.hinge, i, 1.0


def path(s: Structure, link: int, share: float) -> Iterator[tuple[int, float]]:
    """The links that carry a point, with their shares, from the point to the pole."""
    while link >= 0:
        yield link, share
        link, share = s.parents[link] - 1, 1.0


class Moving(NamedTuple):
    """A particle: mass [kg], place, velocity and acceleration, each of shape (2,), and d place/dq, shape (2, nv)."""

    mass: float
    place: Array
    velocity: Array
    acceleration: Array
    jacobian: Array


def motion(s: Structure, q: Array, v: Array, a: Array) -> Iterator[Moving]:
    """All particles in motion."""
    n, start = len(s.rods), 2 * s.floating
    phi, l = q[start : start + n], q[start + n :]
    w, stretching = v[start : start + n], v[start + n :]
    turning_up, lengthening_up = a[start : start + n], a[start + n :]
    e = np.column_stack([np.cos(phi), np.sin(phi)])
    across = np.column_stack([-np.sin(phi), np.cos(phi)])
    for mass, link, share in particles(s):
        J = np.zeros((2, s.nv))
        place, velocity, acceleration = (x[:2] if s.floating else np.zeros(2) for x in (q, v, a))
        if s.floating:
            J[:, :2] = np.eye(2)
        for k, r in path(s, link, share):
            J[:, start + k] = r * l[k] * across[k]
            J[:, start + n + k] = r * e[k]
            along = lengthening_up[k] - l[k] * w[k] ** 2
            aside = l[k] * turning_up[k] + 2.0 * stretching[k] * w[k]
            place = place + r * l[k] * e[k]
            velocity = velocity + r * (stretching[k] * e[k] + l[k] * w[k] * across[k])
            acceleration = acceleration + r * (along * e[k] + aside * across[k])
        yield Moving(mass, place, velocity, acceleration, J)


def inverse_dynamics(s: Structure, q: Array, v: Array, a: Array) -> Array:
    """Generalised forces that produce the acceleration ``a``, springs and dampers at work, shape (nv,)."""
    n, start = len(s.rods), 2 * s.floating
    force = np.zeros(s.nv)
    for part in motion(s, q, v, a):
        force += part.mass * (part.jacobian.T @ (part.acceleration + np.array([0.0, s.gravity])))
    for k, rod in enumerate(s.rods):
        force[start + n + k] += rod.stiffness * (q[start + n + k] - rod.rest) + rod.damping * v[start + n + k]
        if not s.stretched:
            force[start + k] += rod.inertia * a[start + k]
    return force


def mass_matrix(s: Structure, q: Array) -> Array:
    """M(q), shape (nv, nv): column j is the force for a unit acceleration j from rest, less that for none."""
    rest = np.zeros(s.nv)
    nothing = s._replace(gravity=0.0, rods=tuple(rod._replace(stiffness=0.0) for rod in s.rods))
    return np.column_stack([inverse_dynamics(nothing, q, rest, unit) for unit in np.eye(s.nv)])


def bias(s: Structure, q: Array, v: Array) -> Array:
    """h(q, v), shape (nv,): the force that keeps the acceleration at zero."""
    return inverse_dynamics(s, q, v, np.zeros(s.nv))


def places(s: Structure, q: Array) -> dict[str, Array]:
    """The pole, and of each link the beginning, the centre of mass and the end, by the names of the robot's points."""
    n, start = len(s.rods), 2 * s.floating
    phi, l = q[start : start + n], q[start + n :]
    pole = q[:2] if s.floating else np.zeros(2)
    found: dict[str, Array] = {"pole": pole}
    for i, rod in enumerate(s.rods, 1):
        begin = found[f"end{s.parents[i - 1]}"] if s.parents[i - 1] else pole
        reach = l[i - 1] * np.array([np.cos(phi[i - 1]), np.sin(phi[i - 1])])
        found |= {f"joint{i}": begin, f"center{i}": begin + rod.ratio * reach, f"end{i}": begin + reach}
    return found


def energies(s: Structure, q: Array, v: Array) -> tuple[float, float]:
    """Kinetic energy, and potential energy of gravity (zero at height zero) and of the springs [J]."""
    n, start = len(s.rods), 2 * s.floating
    kinetic, potential = 0.0, 0.0
    for part in motion(s, q, v, np.zeros(s.nv)):
        kinetic += 0.5 * part.mass * float(part.velocity @ part.velocity)
        potential += part.mass * s.gravity * float(part.place[1])
    for k, rod in enumerate(s.rods):
        potential += 0.5 * rod.stiffness * float(q[start + n + k] - rod.rest) ** 2
        kinetic += 0.0 if s.stretched else 0.5 * rod.inertia * float(v[start + k]) ** 2
    return kinetic, potential


class Momenta(NamedTuple):
    """Of all bodies: mass, centre of mass, momentum and its rate, angular momentum about the centre and its rate."""

    mass: float
    center: Array
    momentum: Array
    force: Array
    spin: float
    torque: float


def momenta(s: Structure, q: Array, v: Array, a: Array) -> Momenta:
    """Momentum and angular momentum, particle by particle."""
    parts = list(motion(s, q, v, a))
    mass = sum(part.mass for part in parts)
    center, momentum, force = np.zeros(2), np.zeros(2), np.zeros(2)
    for part in parts:
        center += part.mass * part.place / mass
        momentum += part.mass * part.velocity
        force += part.mass * part.acceleration
    spin, torque = 0.0, 0.0
    for part in parts:
        x, y = part.place - center
        spin += part.mass * float(x * part.velocity[1] - y * part.velocity[0])
        torque += part.mass * float(x * part.acceleration[1] - y * part.acceleration[0])
    for k, rod in enumerate(s.rods):
        spin += 0.0 if s.stretched else rod.inertia * float(v[2 * s.floating + k])
        torque += 0.0 if s.stretched else rod.inertia * float(a[2 * s.floating + k])
    return Momenta(mass, center, momentum, force, spin, torque)
