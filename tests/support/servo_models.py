"""Robots whose outputs are reached late, and formulas for them that Erugin did not write."""

from __future__ import annotations

import casadi as ca
import numpy as np
import sympy as sp
from numpy.typing import NDArray

from erugin.constraints import nonholonomic
from erugin.robots import Link, Robot, lagrangian_system, planar_manipulator

Array = NDArray[np.float64]


def passive_joint_arm(stiffness: float = 10.0, damping: float = 0.25) -> Robot:
    """Two equal rods in a horizontal plane; the second joint has a spring and a damper in place of a drive."""
    arm = planar_manipulator([Link(1.0, 3.0, 0.5, 0.25)] * 2, gravity=0.0)
    return lagrangian_system(
        q=arm.q,
        v=arm.v,
        p=arm.parameters,
        T=arm.kinetic_energy,
        V=stiffness / 2 * arm.q[1] ** 2,
        D=damping / 2 * arm.v[1] ** 2,
        Q=ca.vertcat(arm.u[0], 0),
        u=arm.u[0],
        t=arm.t,
        name="arm with a passive joint",
    )


def aircraft(coupling: float) -> Robot:
    """A planar aircraft of unit mass and inertia that takes off vertically [HauserSastryMeyer1992]: x, y, roll."""
    q, v, u = (ca.SX.sym(name, n) for name, n in (("q", 3), ("v", 3), ("u", 2)))
    sin, cos = ca.sin(q[2]), ca.cos(q[2])
    Q = ca.vertcat(-sin * u[0] + coupling * cos * u[1], cos * u[0] + coupling * sin * u[1], u[1])
    return lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, V=9.81 * q[1], Q=Q, u=u, name="aircraft")


def cars(count: int) -> Robot:
    """Cars in a row, joined by springs, of mass 1 and stiffness 1; the last one is driven."""
    q, v, u = ca.SX.sym("q", count), ca.SX.sym("v", count), ca.SX.sym("u")
    V = ca.sumsqr(q[1:] - q[:-1]) / 2
    push = ca.vertcat(ca.SX.zeros(count - 1), u)
    return lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, V=V, Q=push, u=u, name="cars")


def pole_and_bell(stiffness: float, gravity: float = 9.81) -> Robot:
    """A driven cart with a pole of length 1 that stands on it, and 0.1 kg on a spring along it: x, lean, stretch."""
    q, v, u = ca.SX.sym("q", 3), ca.SX.sym("v", 3), ca.SX.sym("u")
    head = ca.vertcat(q[0] + ca.sin(q[1]), ca.cos(q[1]))
    T = (v[0] ** 2 + ca.sumsqr(ca.jtimes(head, q, v)) + 0.1 * (v[0] + v[2]) ** 2) / 2
    V = gravity * head[1] + stiffness / 2 * q[2] ** 2
    return lagrangian_system(q=q, v=v, T=T, V=V, Q=ca.vertcat(u, 0, 0), u=u, name="pole and bell")


def spatial_crane() -> Robot:
    """A bridge, a trolley on it, a winch and a load that swings in space: three drives, five degrees of freedom."""
    q, v, u = (ca.SX.sym(name, n) for name, n in (("q", 5), ("v", 5), ("u", 3)))
    x, y, l, a, b = (q[i] for i in range(5))
    rope = ca.vertcat(ca.sin(a) * ca.cos(b), ca.sin(b), -ca.cos(a) * ca.cos(b))
    load = ca.vertcat(x, y, 0) + l * rope
    speed = ca.jtimes(load, q, v)
    T = (30.0 * v[0] ** 2 + 10.0 * v[1] ** 2 + 10.0 * v[2] ** 2 + 100.0 * ca.sumsqr(speed)) / 2
    return lagrangian_system(
        q=q, v=v, T=T, V=100.0 * 9.81 * load[2], Q=ca.vertcat(u, 0, 0), u=u, points={"load": load}, name="spatial crane"
    )


def cascade() -> Robot:
    """Five unit masses: ẍ₁ = u₁, ẍ₂ = x₄ u₁, ẍ₃ = x₅ u₂, ẍ₄ = u₂, ẍ₅ = u₃: two of three outputs need integrators."""
    q, v, u = (ca.SX.sym(name, n) for name, n in (("q", 5), ("v", 5), ("u", 3)))
    Q = ca.vertcat(u[0], q[3] * u[0], q[4] * u[1], u[1], u[2])
    return lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, Q=Q, u=u, name="cascade")


def crane_by_flatness(
    start: tuple[float, float], end: tuple[float, float], duration: float, smoothness: int, times: Array
) -> tuple[Array, Array, Array]:
    """q = (s, l, φ), v and u = (F, M) of the crane of [AltmannHeiland2017]_, from the load's path alone.

    The rope lies along S = m (r̈ + g e_z), which the load feels; the trolley is where the line along it meets z = 0;
    m_t s̈ = F − S_x and (J/r²) l̈ = M/r + |S|.
    """
    m_t, J, r, m, g = sp.Integer(10), sp.Rational(1, 10), sp.Rational(1, 10), sp.Integer(100), sp.Rational(981, 100)
    t = sp.Symbol("t")
    tau, k = t / sp.nsimplify(duration), smoothness
    # The integral of τᵏ (1 − τ)ᵏ, scaled to end at 1.
    shape = sp.Symbol("z") ** k * (1 - sp.Symbol("z")) ** k
    whole = sp.integrate(sp.expand(shape), sp.Symbol("z"))
    share = (whole / whole.subs(sp.Symbol("z"), 1)).subs(sp.Symbol("z"), tau)
    x, z = (sp.nsimplify(a) + (sp.nsimplify(b) - sp.nsimplify(a)) * share for a, b in zip(start, end, strict=True))
    Sx, Sz = m * sp.diff(x, t, 2), m * (sp.diff(z, t, 2) + g)
    size = sp.sqrt(Sx**2 + Sz**2)
    q = [x - z * Sx / Sz, -z / Sz * size, -sp.atan2(Sx, Sz)]
    u = [m_t * sp.diff(q[0], t, 2) + Sx, J / r * sp.diff(q[1], t, 2) - r * size]
    f = sp.lambdify(t, [*q, *(sp.diff(e, t) for e in q), *u], "numpy", cse=True)
    values = np.array([f(float(s)) for s in times], dtype=np.float64)
    return values[:, :3], values[:, 3:6], values[:, 6:]


def ball_and_beam() -> Robot:
    """[HauserSastryKokotovic1992]: a ball that rolls on a beam with a drive, r along it and θ."""
    q, v, u = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("u")
    mass, radius, ball, beam = 0.05, 0.01, 2e-6, 0.02
    T = (ball / radius**2 + mass) * v[0] ** 2 / 2 + (mass * q[0] ** 2 + ball + beam) * v[1] ** 2 / 2
    V = mass * 9.81 * q[0] * ca.sin(q[1])
    return lagrangian_system(q=q, v=v, T=T, V=V, Q=ca.vertcat(0, u), u=u, name="ball and beam")


def tractor(hitch: float) -> Robot:
    """A tractor that pushes or pulls a trailer on one axle, a hitch's length behind it: x, y, heading, trailer's."""
    q, v, u = (ca.SX.sym(name, n) for name, n in (("q", 4), ("v", 4), ("u", 2)))
    axle = q[:2] - hitch * ca.vertcat(ca.cos(q[3]), ca.sin(q[3]))
    rate = ca.jtimes(axle, q, v)
    T = (10.0 * ca.sumsqr(v[:2]) + v[2] ** 2 + 4.0 * ca.sumsqr(rate) + 0.2 * v[3] ** 2) / 2
    slips = [
        nonholonomic(ca.cos(q[2]) * v[1] - ca.sin(q[2]) * v[0], name="tractor"),
        nonholonomic(ca.cos(q[3]) * rate[1] - ca.sin(q[3]) * rate[0], name="trailer"),
    ]
    Q = ca.vertcat(ca.cos(q[2]) * u[0], ca.sin(q[2]) * u[0], u[1], 0)
    return lagrangian_system(q=q, v=v, T=T, Q=Q, u=u, natural=slips, name="tractor with a trailer")
