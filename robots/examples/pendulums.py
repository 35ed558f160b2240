"""Pendulums: the spherical pendulum, and the acrobot of the RealAIGym benchmark."""

from __future__ import annotations

from typing import Literal

import casadi as ca

from ...constraints.relations.expression import holonomic
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, positive
from ..families.lagrangian_system import lagrangian_system
from ..robot import Robot
from ..variants import with_limits

Design = Literal["C.1", "C.0"]

EFFORT = 6.0
"""Limit of the elbow's torque in the benchmark [N m]."""
DESIGNS: dict[str, dict[str, float]] = {
    "C.1": {
        "m1": 0.5234602302310271,
        "m2": 0.6255677234174437,
        "r1": 0.2,
        "r2": 0.25569305436052964,
        "I1": 0.031887199591513114,
        "I2": 0.05086984812807257,
    },
    "C.0": {
        "m1": 0.6416937799349799,
        "m2": 0.563935954099688,
        "r1": 0.2,
        "r2": 0.3212669909674605,
        "I1": 0.02671076499939512,
        "I2": 0.053878129629650884,
    },
}
"""Masses [kg], centres of mass [m], and inertias about the joint of each link, not about its centre of mass [kg m²]."""


def realaigym_acrobot(design: Design = "C.1", *, effort: float = EFFORT) -> Robot:
    """Build the identified double pendulum of [Wiebe2024]_, without friction and motor inertia, as in its simulation.

    T = ½ (I₁ + m₂l₁²) ω₁² + ½ I₂ (ω₁+ω₂)² + m₂ l₁ r₂ cos q₂ ω₁ (ω₁+ω₂),
    V = −g (m₁r₁ + m₂l₁) cos q₁ − g m₂ r₂ cos(q₁+q₂).

    q = (0, 0) hangs down and q = (π, 0) is upright; q₂ is relative to the first link, both counter-clockwise. The only
    input is the torque ``M2`` of the elbow. Its limit is in ``limits``, which the equations do not enforce.

    The identified I₂ of design C.0 is smaller than m₂r₂², which is impossible for a rigid body; the mass matrix is
    still positive definite, and the published numbers are those of this model.

    Args:
        design: ``"C.1"``, with 0.523 and 0.626 kg, of the second version of the benchmark, or ``"C.0"`` of the first.
        effort: limit of the torque [N m].

    Raises:
        ModelError: for an unknown design.
    """
    if design not in DESIGNS:
        raise ModelError(f"design must be one of {', '.join(map(repr, DESIGNS))}, got {design!r}")
    numbers = {"l1": 0.2, "l2": 0.3, **DESIGNS[design], "g": 9.81}
    greater: dict[str, Range] = dict.fromkeys(("l1", "l2", "m1", "m2", "I1", "I2"), Range.POSITIVE)
    p = Parameters.declare(numbers, ranges=greater)
    q, v, u = (ca.vertcat(*(ca.SX.sym(f"{name}{i}") for i in (1, 2))) for name in ("q", "v_q", "M"))
    whole, turning = q[0] + q[1], v[0] + v[1]
    T = (p["I1"] + p["m2"] * p["l1"] ** 2) * v[0] ** 2 / 2 + p["I2"] * turning**2 / 2
    T += p["m2"] * p["l1"] * p["r2"] * ca.cos(q[1]) * v[0] * turning
    V = -p["g"] * ((p["m1"] * p["r1"] + p["m2"] * p["l1"]) * ca.cos(q[0]) + p["m2"] * p["r2"] * ca.cos(whole))
    elbow = p["l1"] * ca.vertcat(ca.sin(q[0]), -ca.cos(q[0]))
    tip = elbow + p["l2"] * ca.vertcat(ca.sin(whole), -ca.cos(whole))
    robot = lagrangian_system(
        q=q,
        v=v,
        p=p,
        T=T,
        V=V,
        Q=ca.vertcat(0, u[1]),
        u=u[1],
        points={"joint1": ca.SX.zeros(2), "joint2": elbow, "tip": tip},
        units=("rad", "rad"),
        input_units=("N m",),
        chain=("joint1", "joint2", "tip"),
        name=f"acrobot {design}",
    )
    return with_limits(robot, effort=positive("effort", effort))


def spherical_pendulum(*, mass: float, length: float, gravity: float = 9.81) -> Robot:
    """Build a bob on a massless rod, q = (x, y, z) from the pivot, z up, with the natural constraint x² + y² + z² = l².

    Unlike with angles, no coordinate is undefined at the bottom. The constraint ``rod``, (|q|² − l²)/2l, is in metres:
    its multiplier is the force in the rod [N], positive for compression.
    With y = 0 it is the pendulum of [Larin1993]_ section 5. Points are ``pivot`` and ``bob``.

    Args:
        mass: m of the bob [kg].
        length: l of the rod [m].
        gravity: g along −z [m/s²].

    Raises:
        ModelError: for a mass or length that is not positive, or a gravity that is not finite.
    """
    values = {"m": positive("mass [kg]", mass), "l": positive("length [m]", length), "g": finite("gravity", gravity)}
    p = Parameters.declare(values, ranges={"m": Range.POSITIVE, "l": Range.POSITIVE})
    q = ca.vertcat(*(ca.SX.sym(name) for name in "xyz"))
    v = ca.vertcat(*(ca.SX.sym(f"v{name}") for name in "xyz"))
    return lagrangian_system(
        q=q,
        v=v,
        p=p,
        T=p["m"] * ca.sumsqr(v) / 2,
        V=p["m"] * p["g"] * q[2],
        natural=[holonomic((ca.sumsqr(q) - p["l"] ** 2) / (2 * p["l"]), name="rod")],
        points={"pivot": ca.SX.zeros(3), "bob": q},
        units=("m",) * 3,
        chain=("pivot", "bob"),
        name="spherical pendulum",
    )
