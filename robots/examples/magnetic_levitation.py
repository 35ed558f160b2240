"""Magnetic levitation: a ball under an electromagnet, with the gap and the charge as coordinates of one Lagrangian."""

from __future__ import annotations

import casadi as ca

from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, not_negative, positive
from ..families.lagrangian_system import lagrangian_system
from ..robot import Robot


def magnetic_levitation(
    *,
    mass: float,
    friction: float,
    coil_inductance: float,
    ball_inductance: float,
    gap_scale: float,
    resistance: float,
    gravity: float = 9.81,
) -> Robot:
    """Build a ball attracted upwards by a coil with the voltage u, q = (y, q_c): gap and charge through the coil.

    T = ½ m ẏ² + ½ L(y) i² with the current i = q̇_c and L(y) = L₁ + L₀/(1 + y/a); V = −m g y, y pointing down;
    D = ½ k ẏ² + ½ R i² [Khalil2002]_ exercise 1.18. So m ÿ = m g − k ẏ + ½ L′(y) i² and d(L i)/dt + R i = u: the
    magnetic force and the induced voltage both follow from L(y). The ball has an unstable equilibrium at y for the
    current i² = 2 m g (a + y)²/(L₀ a).

    The input is ``u`` [V]. The point ``ball`` is (0, −y) in the plane, ``coil`` its origin. Parameters are ``m``,
    ``k``, ``L1``, ``L0``, ``a``, ``R`` and ``g``.

    Args:
        mass: m of the ball [kg].
        friction: k, viscous [N s/m].
        coil_inductance: L₁, without the ball [H].
        ball_inductance: L₀, added by the ball at y = 0 [H].
        gap_scale: a, gap at which the ball adds half of L₀ [m].
        resistance: R of the coil [Ω].
        gravity: g along y [m/s²].

    Raises:
        ModelError: for a value out of its range.
    """
    values = {
        "m": positive("mass [kg]", mass),
        "k": not_negative("friction [N s/m]", friction),
        "L1": positive("coil_inductance [H]", coil_inductance),
        "L0": positive("ball_inductance [H]", ball_inductance),
        "a": positive("gap_scale [m]", gap_scale),
        "R": not_negative("resistance [Ω]", resistance),
        "g": finite("gravity", gravity),
    }
    ranges: dict[str, Range] = dict.fromkeys(("m", "L1", "L0", "a"), Range.POSITIVE)
    ranges |= dict.fromkeys(("k", "R"), Range.NOT_NEGATIVE)
    p = Parameters.declare(values, ranges=ranges)
    q = ca.vertcat(ca.SX.sym("y"), ca.SX.sym("q_c"))
    v = ca.vertcat(ca.SX.sym("v_y"), ca.SX.sym("i"))
    u = ca.SX.sym("u")
    inductance = p["L1"] + p["L0"] / (1 + q[0] / p["a"])
    return lagrangian_system(
        q=q,
        v=v,
        p=p,
        T=(p["m"] * v[0] ** 2 + inductance * v[1] ** 2) / 2,
        V=-p["m"] * p["g"] * q[0],
        D=(p["k"] * v[0] ** 2 + p["R"] * v[1] ** 2) / 2,
        Q=ca.vertcat(0, u),
        u=u,
        points={"coil": ca.SX.zeros(2), "ball": ca.vertcat(0, -q[0])},
        units=("m", "C"),
        input_units=("V",),
        chain=("coil", "ball"),
        name="magnetic levitation",
    )


def khalil_suspension(*, gravity: float = 9.81) -> Robot:
    """Build the ball of [Khalil2002]_ 13.27: 0.1 kg, k = 0.001 N s/m, a = 5 cm, L₀ = 0.01 H, L₁ = 0.02 H, R = 1 Ω.

    The equilibrium at y = 5 cm requires about 6.26 A.

    Args:
        gravity: g along y [m/s²].
    """
    return magnetic_levitation(
        mass=0.1,
        friction=0.001,
        coil_inductance=0.02,
        ball_inductance=0.01,
        gap_scale=0.05,
        resistance=1.0,
        gravity=gravity,
    )
