"""Systems whose equations are known by heart."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from erugin.constraints import holonomic, nonholonomic
from erugin.robots import Dynamics, Link, Robot, lagrangian_system, planar_manipulator
from erugin.symbolic import Coordinates, Parameters


def arm_of_point_masses() -> Robot:
    """Matukhina's two-link arm from her T and P, as they stand in her example."""
    p = Parameters.declare({"m1": 2.0, "m2": 1.5, "l1": 0.9, "l2": 0.6, "g": 9.81})
    q = ca.vertcat(ca.SX.sym("q1"), ca.SX.sym("q2"))
    v = ca.vertcat(ca.SX.sym("v1"), ca.SX.sym("v2"))
    m1, m2, l1, l2, g = (p[name] for name in p.names)
    both = v[0] + v[1]
    T = (m1 + m2) * l1**2 * v[0] ** 2 + m2 * l2**2 * both**2 + 2 * m2 * l1 * l2 * v[0] * both * ca.cos(q[1])
    V = g * (m1 + m2) * l1 * ca.sin(q[0]) + g * m2 * l2 * ca.sin(q[0] + q[1])
    u = ca.vertcat(ca.SX.sym("M1"), ca.SX.sym("M2"))
    return lagrangian_system(q=q, v=v, p=p, T=T / 2, V=V, Q=u, u=u, name="arm of point masses")


def pendulum() -> Robot:
    p = Parameters.declare({"m": 1.0, "l": 0.5, "g": 9.81, "c": 0.1})
    theta, rate, tau = ca.SX.sym("theta"), ca.SX.sym("w"), ca.SX.sym("tau")
    T = p["m"] * p["l"] ** 2 * rate**2 / 2
    V = -p["m"] * p["g"] * p["l"] * ca.cos(theta)
    D = p["c"] * rate**2 / 2
    return lagrangian_system(q=theta, v=rate, p=p, T=T, V=V, D=D, Q=tau, u=tau, units=("rad",), name="pendulum")


def spherical_pendulum() -> Robot:
    p = Parameters.declare({"m": 1.0, "l": 0.5, "g": 9.81})
    q = ca.vertcat(ca.SX.sym("theta"), ca.SX.sym("psi"))
    v = ca.vertcat(ca.SX.sym("v1"), ca.SX.sym("v2"))
    s, c = ca.sin(q[0]), ca.cos(q[0])
    place = p["l"] * ca.vertcat(s * ca.cos(q[1]), s * ca.sin(q[1]), -c)
    T = p["m"] * ca.sumsqr(ca.jtimes(place, q, v)) / 2
    return lagrangian_system(q=q, v=v, p=p, T=T, V=p["m"] * p["g"] * place[2], name="spherical pendulum")


def rods_in_space() -> Robot:
    """Two massless rods with point masses on universal joints; directions (cos ψ cos φ, sin ψ, cos ψ sin φ)."""
    p = Parameters.declare({"m1": 1.0, "m2": 2.0, "l1": 0.5, "l2": 0.4, "g": 9.81})
    q = ca.vertcat(*(ca.SX.sym(name) for name in ("phi1", "phi2", "psi1", "psi2")))
    v = ca.vertcat(*(ca.SX.sym(f"v{i}") for i in range(4)))
    end, T, V = ca.SX.zeros(3), ca.SX(0), ca.SX(0)
    for i in (0, 1):
        phi, psi = q[i], q[2 + i]
        along = ca.vertcat(ca.cos(psi) * ca.cos(phi), ca.sin(psi), ca.cos(psi) * ca.sin(phi))
        end = end + p[f"l{i + 1}"] * along
        T += p[f"m{i + 1}"] * ca.sumsqr(ca.jtimes(end, q, v)) / 2
        V += p[f"m{i + 1}"] * p["g"] * end[2]
    return lagrangian_system(q=q, v=v, p=p, T=T, V=V, name="rods in space")


def coupled_circuits() -> Robot:
    """Two loops with a mutual inductance, a shared resistor and two capacitors, in charges."""
    p = Parameters.declare({"L1": 1.0, "L2": 2.0, "L12": 0.5, "C1": 1e-3, "C2": 2e-3, "R1": 5.0, "R2": 7.0})
    q = ca.vertcat(ca.SX.sym("q1"), ca.SX.sym("q2"))
    i = ca.vertcat(ca.SX.sym("i1"), ca.SX.sym("i2"))
    E = ca.SX.sym("E", 1)
    T = p["L1"] * i[0] ** 2 / 2 + p["L2"] * i[1] ** 2 / 2 + p["L12"] * i[0] * i[1]
    V = q[0] ** 2 / (2 * p["C1"]) + (q[1] - q[0]) ** 2 / (2 * p["C2"])
    D = p["R1"] * i[0] ** 2 / 2 + p["R2"] * (i[0] - i[1]) ** 2 / 2
    return lagrangian_system(
        q=q, v=i, p=p, T=T, V=V, D=D, Q=ca.vertcat(E, 0), u=E, units=("C", "C"), input_units=("V",), name="circuits"
    )


def skate() -> Robot:
    """A skate on a plane: it does not slip sideways; and a rod of fixed length to the origin."""
    p = Parameters.declare({"m": 1.0, "J": 0.1, "r": 1.0})
    q = ca.vertcat(*(ca.SX.sym(name) for name in ("x", "y", "theta")))
    v = ca.vertcat(*(ca.SX.sym(f"v{i}") for i in range(3)))
    slip = nonholonomic(v[1] * ca.cos(q[2]) - v[0] * ca.sin(q[2]), name="no slip")
    rod = holonomic(q[0] ** 2 + q[1] ** 2 - p["r"] ** 2, name="rod")
    T = p["m"] * (v[0] ** 2 + v[1] ** 2) / 2 + p["J"] * v[2] ** 2 / 2
    return lagrangian_system(q=q, v=v, p=p, T=T, natural=[slip, rod], name="skate")


def unicycle() -> Robot:
    """Quasi-velocities: the speed s along the body and ω, with q̇ = N v."""
    p = Parameters.declare({"m": 1.0, "J": 0.1, "d": 0.2})
    q = ca.vertcat(*(ca.SX.sym(name) for name in ("x", "y", "theta")))
    v = ca.vertcat(ca.SX.sym("s"), ca.SX.sym("omega"))
    a = ca.vertcat(ca.SX.sym("a1"), ca.SX.sym("a2"))
    N = ca.vertcat(ca.horzcat(ca.cos(q[2]), 0), ca.horzcat(ca.sin(q[2]), 0), ca.horzcat(0, 1))
    m, J, d = (p[name] for name in p.names)
    return Robot(
        name="unicycle",
        coordinates=Coordinates(ca.SX.sym("t"), q, v, a, N, ("x", "y", "theta"), ("m", "m", "rad")),
        parameters=p,
        u=ca.vertcat(ca.SX.sym("F"), ca.SX.sym("M")),
        dynamics=Dynamics.given(
            mass_matrix=ca.diag(ca.vertcat(m, J + m * d**2)),
            bias=ca.vertcat(-m * d * v[1] ** 2, m * d * v[0] * v[1]),
            kinetic_energy=(m * (v[0] ** 2 + d**2 * v[1] ** 2) + J * v[1] ** 2) / 2,
            potential_energy=ca.SX(0),
        ),
        input_matrix=ca.SX.eye(2),
        input_names=("F", "M"),
        input_units=("N", "N m"),
    )


def rubbing_mass() -> Robot:
    """Friction that is no polynomial of the velocity, an exponential, a root, and time."""
    p = Parameters.declare({"m": 1.0, "k": 2.0, "mu": 0.3, "b": 0.2, "Omega": 3.0})
    x, v, t = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("t")
    V = p["k"] * ca.sqrt(1 + x**2) + ca.exp(-2 * x) / (x + p["b"])
    Q = -p["mu"] * ca.tanh(20 * v) - p["b"] * v * ca.fabs(v) + ca.cos(p["Omega"] * t - ca.pi / 3)
    return lagrangian_system(q=x, v=v, p=p, T=p["m"] * v**2 / 2, V=V, Q=Q, t=t, name="rubbing mass")


ROBOTS: dict[str, Callable[[], Robot]] = {
    "point masses": arm_of_point_masses,
    "pendulum": pendulum,
    "spherical pendulum": spherical_pendulum,
    "rods in space": rods_in_space,
    "circuits": coupled_circuits,
    "skate": skate,
    "unicycle": unicycle,
    "rubbing mass": rubbing_mass,
    "three links, relative": lambda: planar_manipulator([Link(0.5, 2.0, 0.2, 0.03)] * 3),
    "three links, absolute": lambda: planar_manipulator(
        [Link(0.5, 2.0, 0.2, 0.03)] * 3, angles="absolute", zero="down"
    ),
}
