"""Telescopic links in space as clouds of particles on lines, by d'Alembert's principle.

No inertia appears anywhere: a link of mass m, ratio n and inertia I is particles on one straight line with that mass,
that mean and that second moment, at fixed distances from the point n l (``constant``) or at fixed shares of the length
(``stretched``). Their places are written by hand, their Jacobians too; what the acceleration has at rest of q'' is the
derivative of J v along v by a complex step. Q = sum m J.(J a + J' v - g) + springs + dampers. No Lagrangian, no
recursion, no angular velocity, no CasADi.

q = (phi_1 ... phi_n, psi_1 ... psi_n, l_1 ... l_n), after x, y, z of the pole if it floats; link k points along
d = (cos psi cos phi, sin psi, cos psi sin phi).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .telescopic_bodies import Structure, cloud, path

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

STEP = 1e-40
WEIGHT = np.array([0.0, 0.0, 9.81])


class Particle(NamedTuple):
    """Mass [kg], number of the link from 0 (-1 for the pole), share of its length, and distance beyond that [m]."""

    mass: float
    link: int
    share: float
    beyond: float


def size(s: Structure) -> int:
    """Number of coordinates."""
    return 3 * len(s.rods) + 3 * s.floating


def particles(s: Structure) -> Iterator[Particle]:
    """All masses."""
    if s.floating and s.pole_mass:
        yield Particle(s.pole_mass, -1, 0.0, 0.0)
    for i, rod in enumerate(s.rods):
        # At rest length the shares of the stretched cloud have the moments that the rigid one has at any length.
        for mass, share in cloud(rod, seed=i):
            if s.stretched:
                yield Particle(mass, i, share, 0.0)
            else:
                yield Particle(mass, i, rod.ratio, (share - rod.ratio) * rod.rest)
        if rod.hinge:
            yield Particle(rod.hinge, i, 1.0, 0.0)


def place(s: Structure, q: Array, link: int, share: float, beyond: float = 0.0) -> Array:
    """Position of a point of a link, shape (3,)."""
    n, start = len(s.rods), 3 * s.floating
    found = q[:3].copy() if s.floating else np.zeros(3)
    for k, r in path(s, link, share):
        phi, psi, length = q[start + k], q[start + n + k], q[start + 2 * n + k]
        d = np.array([np.cos(psi) * np.cos(phi), np.sin(psi), np.cos(psi) * np.sin(phi)])
        found = found + (r * length + (beyond if k == link else 0.0)) * d
    return found


def jacobian(s: Structure, q: Array, link: int, share: float, beyond: float = 0.0) -> Array:
    """Its derivative, shape (3, nv)."""
    return _jacobian(s, q.astype(np.complex128), link, share, beyond).real.copy()


def drift(s: Structure, q: Array, v: Array, link: int, share: float, beyond: float = 0.0) -> Array:
    """J' v, shape (3,): its acceleration without q''."""
    moved = q + 1j * STEP * v
    return np.asarray((_jacobian(s, moved, link, share, beyond) @ v).imag / STEP, dtype=np.float64)


def _jacobian(s: Structure, q: Complex, link: int, share: float, beyond: float) -> Complex:
    n, start = len(s.rods), 3 * s.floating
    J = np.zeros((3, size(s)), dtype=np.complex128)
    if s.floating:
        J[:, :3] = np.eye(3)
    for k, r in path(s, link, share):
        phi, psi, length = q[start + k], q[start + n + k], q[start + 2 * n + k]
        reach = r * length + (beyond if k == link else 0.0)
        J[:, start + k] = reach * np.cos(psi) * np.array([-np.sin(phi), 0.0, np.cos(phi)])
        J[:, start + n + k] = reach * np.array([-np.sin(psi) * np.cos(phi), np.cos(psi), -np.sin(psi) * np.sin(phi)])
        J[:, start + 2 * n + k] = r * np.array([np.cos(psi) * np.cos(phi), np.sin(psi), np.cos(psi) * np.sin(phi)])
    return J


def mass_matrix(s: Structure, q: Array) -> Array:
    """M, shape (nv, nv)."""
    M = np.zeros((size(s), size(s)))
    for x in particles(s):
        J = jacobian(s, q, x.link, x.share, x.beyond)
        M += x.mass * J.T @ J
    return M


def bias(s: Structure, q: Array, v: Array) -> Array:
    """h, shape (nv,), springs and dampers in it."""
    h = np.zeros(size(s))
    for x in particles(s):
        J = jacobian(s, q, x.link, x.share, x.beyond)
        h += x.mass * J.T @ (drift(s, q, v, x.link, x.share, x.beyond) + WEIGHT)
    start = 3 * s.floating + 2 * len(s.rods)
    for k, rod in enumerate(s.rods):
        h[start + k] += rod.stiffness * (q[start + k] - rod.rest) + rod.damping * v[start + k]
    return h


class Momenta(NamedTuple):
    """Of all particles: mass, centre, momentum and its rate, moment of momentum about the centre and its rate."""

    mass: float
    center: Array
    momentum: Array
    force: Array
    spin: Array
    torque: Array


def momenta(s: Structure, q: Array, v: Array, a: Array) -> Momenta:
    """Particle by particle."""
    masses: list[float] = []
    rows: list[tuple[Array, Array, Array]] = []
    for x in particles(s):
        J = jacobian(s, q, x.link, x.share, x.beyond)
        masses.append(x.mass)
        rows.append((place(s, q, x.link, x.share, x.beyond), J @ v, J @ a + drift(s, q, v, x.link, x.share, x.beyond)))
    m = np.array(masses)
    r, rate, second = (np.array(column) for column in zip(*rows, strict=True))
    center = m @ r / m.sum()
    arms = r - center
    return Momenta(
        float(m.sum()),
        center,
        m @ rate,
        m @ second,
        m @ np.cross(arms, rate),
        m @ np.cross(arms, second),
    )


def energies(s: Structure, q: Array, v: Array) -> tuple[float, float]:
    """Kinetic energy, and potential energy of gravity (zero at height zero) and of the springs [J]."""
    start = 3 * s.floating + 2 * len(s.rods)
    potential = sum(rod.stiffness * float(q[start + k] - rod.rest) ** 2 / 2 for k, rod in enumerate(s.rods))
    for x in particles(s):
        potential += x.mass * float(WEIGHT @ place(s, q, x.link, x.share, x.beyond))
    return float(v @ mass_matrix(s, q) @ v) / 2, potential


def frame(s: Structure, q: Array, link: int) -> Array:
    """Axes of a link as columns: along it, the axis across it in which it was tilted, and the tilt axis."""
    return _frame(s, q.astype(np.complex128), link).real.copy()


def turning(s: Structure, q: Array, v: Array, link: int) -> Array:
    """Angular velocity of a link's axes, shape (3,), from R' R^T by a complex step."""
    W = (_frame(s, q + 1j * STEP * v, link).imag / STEP) @ frame(s, q, link).T
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


def _frame(s: Structure, q: Complex, link: int) -> Complex:
    n, start = len(s.rods), 3 * s.floating
    phi, psi = q[start + link], q[start + n + link]
    pitch = np.array([[np.cos(phi), 0.0, -np.sin(phi)], [0.0, 1.0, 0.0], [np.sin(phi), 0.0, np.cos(phi)]])
    tilt = np.array([[np.cos(psi), -np.sin(psi), 0.0], [np.sin(psi), np.cos(psi), 0.0], [0.0, 0.0, 1.0]])
    return np.asarray(pitch @ tilt, dtype=np.complex128)


def couples(s: Structure, q: Array, M: Array, W: Array) -> Array:
    """Couple in each joint by the link before, shape (n, 3), zero at a floating pole.

    Its components along the axes of the universal joint are M_i and W_i; what it has across both keeps every link in
    balance about its own axis. These are n linear equations, solved as such.
    """
    n = len(s.rods)
    axes = [frame(s, q, i) for i in range(n)]
    across = np.array([[np.cos(phi), 0.0, np.sin(phi)] for phi in q[3 * s.floating :][:n]])
    jointed = [i for i in range(n) if s.parents[i] or not s.floating]
    driven = np.zeros((n, 3))
    for i in jointed:
        driven[i] = M[i] * np.array([0.0, -1.0, 0.0]) + W[i] * axes[i][:, 2]
    left, right = np.eye(n), np.zeros(n)
    for i in jointed:
        along = axes[i][:, 0]
        left[i, i] = along @ across[i]
        right[i] = -along @ driven[i]
        for j in jointed:
            if s.parents[j] == i + 1:
                left[i, j] -= along @ across[j]
                right[i] += along @ driven[j]
    return np.asarray(driven + np.linalg.solve(left, right)[:, None] * across, dtype=np.float64)


def net_couples(s: Structure, joints: Array) -> Array:
    """Moment on each link: that of its own joint less those of the joints at its end, shape (n, 3)."""
    net = joints.copy()
    for j, parent in enumerate(s.parents):
        if parent:
            net[parent - 1] -= joints[j]
    return net
