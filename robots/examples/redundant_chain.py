"""Plane systems in redundant coordinates, with a singular mass matrix."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from ...constraints.constraint import Constraint
from ...constraints.relations.expression import holonomic
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, positive
from ..families.lagrangian_system import lagrangian_system
from ..families.planar_manipulator import Link, link_chain
from ..robot import Robot


def redundant_chain(links: Sequence[Link], *, gravity: float = 9.81) -> Robot:
    """Build a planar manipulator with n rigid links, each described as a free body by one redundant coordinate more.

    q = (x_1, y_1, cos_1, sin_1, …): the centre of mass of each link and its direction e_i = (cos_i, sin_i) as a pair of
    coordinates, as in the natural coordinates of [GarciaDeJalonBayo1994]_. T = ½ Σ (m_i |ċ_i|² + I_i ω_i²) with
    ω_i = cos_i d(sin_i)/dt − sin_i d(cos_i)/dt does not depend on the rate of |e_i|: M, of shape (4n, 4n), has rank 3n.
    The 3n natural constraints, ``unit{i}`` with |e_i|² = 1 and ``joint{i}`` that joins the links, are needed to
    determine the motion [Deressa2015]_ section 1.2.

    The motion is that of :func:`~erugin.robots.planar_manipulator` in absolute angles from the horizontal; inputs,
    points and parameters are the same. The multipliers of ``joint{i}`` are the force on link i at its joint [N].

    Args:
        links: from the base to the tip, at least one.
        gravity: g along −y [m/s²].

    Raises:
        ModelError: for no links, or a last link without rotational inertia.
    """
    links, p = link_chain(links, gravity, "chain")
    if links[-1].center == 0.0 and links[-1].inertia == 0.0:
        raise ModelError(
            "the last link has no inertia about its joint, so its rotation is not determined: pass an inertia, or a "
            "centre of mass away from the joint"
        )
    n = len(links)
    numbers = range(1, n + 1)
    names = [f"{symbol}{i}" for i in numbers for symbol in ("x", "y", "cos", "sin")]
    q = ca.vertcat(*(ca.SX.sym(name) for name in names))
    v = ca.vertcat(*(ca.SX.sym(f"v_{name}") for name in names))
    u = ca.vertcat(*(ca.SX.sym(f"M{i}") for i in numbers))

    kinetic, potential, power = ca.SX(0), ca.SX(0), ca.SX(0)
    joint, turning = ca.SX.zeros(2), ca.SX(0)
    points = {"joint1": joint}
    natural: list[Constraint] = []
    for i, link_q, link_v in zip(numbers, ca.vertsplit(q, 4), ca.vertsplit(v, 4), strict=True):
        center, e = link_q[:2], link_q[2:]
        turning_before, turning = turning, e[0] * link_v[3] - e[1] * link_v[2]
        kinetic += (p[f"m{i}"] * ca.sumsqr(link_v[:2]) + p[f"I{i}"] * turning**2) / 2
        potential += p["g"] * p[f"m{i}"] * center[1]
        power += u[i - 1] * (turning - turning_before)
        natural += [
            holonomic(ca.sumsqr(e) - 1, name=f"unit{i}"),
            holonomic(center - p[f"c{i}"] * e - joint, name=f"joint{i}"),
        ]
        joint = center + (p[f"l{i}"] - p[f"c{i}"]) * e
        points |= {f"center{i}": center, f"joint{i + 1}" if i < n else "tip": joint}

    return lagrangian_system(
        q=q,
        v=v,
        p=p,
        T=kinetic,
        V=potential,
        Q=ca.gradient(power, v),
        u=u,
        natural=natural,
        points=points,
        units=("m", "m", "", "") * n,
        input_units=("N m",) * n,
        chain=(*(f"joint{i}" for i in numbers), "tip"),
        name=f"redundant chain with {n} link{'s' * (n > 1)}",
    )


def torn_oscillator(
    masses: tuple[float, float], stiffnesses: tuple[float, float], rest_lengths: tuple[float, float], *, width: float
) -> Robot:
    """Build two masses in a row on springs, separated into two systems, example of [UdwadiaPhohomsiri2006]_.

    wall — k₁ — m₁ — k₂ — m₂, on a line. x₁ is the position of m₁ and x₂ the length of the second spring, whose near end
    q₁ is a separate coordinate: q = (x₁, q₁, x₂), T = ½ m₁ẋ₁² + ½ m₂(q̇₁ + ẋ₂)² with M of rank 2, and
    V = ½ Σ k_i (x_i − l_i0)². The natural constraint q₁ = x₁ + d joins the halves; its multiplier is −k₂(x₂ − l₂₀).

    Args:
        masses: m₁, m₂ [kg].
        stiffnesses: k₁, k₂ [N/m].
        rest_lengths: l₁₀, l₂₀ [m].
        width: d, width of the first mass [m].

    Raises:
        ModelError: unless there are two of each, positive masses and stiffnesses, and finite lengths.
    """
    for what, pair in (("masses", masses), ("stiffnesses", stiffnesses), ("rest_lengths", rest_lengths)):
        if len(pair) != 2:
            raise ModelError(f"{what} must be two numbers, got {pair!r}")
    values = {f"m{i}": positive(f"mass {i} [kg]", m) for i, m in enumerate(masses, 1)}
    values |= {f"k{i}": positive(f"stiffness {i} [N/m]", k) for i, k in enumerate(stiffnesses, 1)}
    values |= {f"l{i}": finite(f"rest length {i} [m]", l) for i, l in enumerate(rest_lengths, 1)}
    ranges: dict[str, Range] = dict.fromkeys(("m1", "m2", "k1", "k2"), Range.POSITIVE)
    p = Parameters.declare(values | {"d": finite("width [m]", width)}, ranges=ranges)
    q = ca.vertcat(*(ca.SX.sym(name) for name in ("x1", "q1", "x2")))
    v = ca.vertcat(*(ca.SX.sym(f"v_{name}") for name in ("x1", "q1", "x2")))
    return lagrangian_system(
        q=q,
        v=v,
        p=p,
        T=(p["m1"] * v[0] ** 2 + p["m2"] * (v[1] + v[2]) ** 2) / 2,
        V=(p["k1"] * (q[0] - p["l1"]) ** 2 + p["k2"] * (q[2] - p["l2"]) ** 2) / 2,
        natural=[holonomic(q[1] - q[0] - p["d"], name="tie")],
        units=("m",) * 3,
        name="torn oscillator",
    )
