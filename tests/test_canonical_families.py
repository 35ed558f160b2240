"""The canonical form of the ready-made robots: momenta move as the accelerations say.

ṗ = φ + B u + Aᵀμ in coordinates and momenta against d/dt ∂T/∂v along v̇ = a(t, q, v, u), which ties the energy, the mass
matrix, the bias and the reactions of a robot to each other; each of them has its own tests elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from erugin.robots import Link, Robot, TelescopicLink, exoskeleton, planar_manipulator
from erugin.robots.examples import (
    andrews_squeezer,
    flores_slider_crank,
    fukao_robot,
    khalil_suspension,
    quaternion_body,
    redundant_chain,
)
from erugin.robots.hamiltonian import canonical_form
from erugin.symbolic import Kernel

TELESCOPE = TelescopicLink(mass=1.1, inertia=0.03, center_ratio=0.4, stiffness=300.0, rest_length=0.5)
ROD = Link(0.5, 1.0, 0.2, 0.03)
ROBOTS: dict[str, Callable[[], Robot]] = {
    "manipulator": lambda: planar_manipulator([ROD] * 8),
    "exoskeleton": lambda: exoskeleton([TELESCOPE] * 3),
    "exoskeleton in flight": lambda: exoskeleton([TELESCOPE] * 2, base="floating", pole_mass=0.4),
    "slider-crank": flores_slider_crank,
    "squeezer": andrews_squeezer,
    "two wheels, rolling": fukao_robot,
    "two wheels, quasi-velocities": lambda: fukao_robot(form="reduced"),
    "body in quaternions": lambda: quaternion_body(1.2, np.diag([0.1, 0.2, 0.25]), center=[0.1, 0.0, 0.2]),
    "chain in redundant coordinates": lambda: redundant_chain([ROD] * 2),
    "levitation with a circuit": khalil_suspension,
}


@pytest.mark.parametrize("name", ROBOTS)
def test_momenta_move_as_the_accelerations_say(name: str) -> None:
    robot = ROBOTS[name]()
    form = canonical_form(robot)
    c = robot.coordinates
    along = ca.substitute(c.rate(form.momentum), c.a, robot.acceleration)
    A, right = (ca.SX(0, c.nv), ca.SX(0, 1)) if form.held is None else form.held[:2]
    outputs = {"p": form.momentum, "rate": along, "A": A, "c": right}
    lagrangian = Kernel("l", {"t": c.t, "q": c.q, "v": c.v, "u": robot.u, "p": robot.p}, outputs, compiled=False)
    outputs = {"q": form.coordinate_rate, "v": form.velocity, "rate": form.momentum_rate}
    canonical = Kernel("c", dict(form.symbols), outputs, compiled=False)
    numbers = robot.parameters.values()
    rng = np.random.default_rng(17)
    for _ in range(5):
        t, q, v = rng.uniform(0, 1), rng.uniform(0.2, 0.9, c.nq), rng.uniform(-1, 1, c.nv)
        u = rng.uniform(-1, 1, robot.u.numel())
        if right.numel():
            rows, ends = lagrangian(t, q, v, u, numbers)[2:]
            rows = rows.reshape(right.numel(), c.nv)
            v = v + np.linalg.lstsq(rows, np.atleast_1d(ends) - rows @ v, rcond=None)[0]
        momenta, rate, _, _ = (np.atleast_1d(x) for x in lagrangian(t, q, v, u, numbers))
        q_rate, back, p_rate = (np.atleast_1d(x) for x in canonical(t, q, momenta, u, numbers))
        np.testing.assert_allclose(back, v, rtol=0.0, atol=1e-11)
        np.testing.assert_allclose(q_rate, robot.evaluate(c.N @ c.v, q=q, v=v, t=t).reshape(-1), rtol=0.0, atol=1e-11)
        largest = np.abs(rate).max()
        np.testing.assert_allclose(p_rate, rate, rtol=0.0, atol=1e-11 * largest)
        assert largest > 1e-2
