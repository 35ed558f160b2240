"""An arm whose drives turn its links through springs."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from ...symbolic.arrays import positive
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ..lagrangian import lagrangian_system
from ..planar_manipulator import Link, planar_manipulator
from ..robot import Robot


def flexible_joint_arm(
    links: Sequence[Link],
    *,
    stiffness: Sequence[float],
    rotor_inertia: Sequence[float],
    damping: Sequence[float] | None = None,
    gravity: float = 9.81,
) -> Robot:
    """Planar arm with elastic joints, q = (θ₁ … θ_n, φ₁ … φ_n): joint angles and angles of the rotors behind them.

    M(θ) θ̈ + h(θ, θ̇) = K (φ − θ) + D (φ̇ − θ̇) and J φ̈ + K (φ − θ) + D (φ̇ − θ̇) = u [Spong1987]_: the rotors' inertia
    counts for their own rotation alone. Without damping the links' angles have relative degree 4 and are flat; with it
    they have 3, and something is left inside.

    Angles are relative, θ₁ from the horizontal. Inputs ``M1`` … are torques on the rotors, which stand as if their gear
    ratio were 1. Parameters are those of :func:`~erugin.robots.planar_manipulator` and ``k1`` …, ``J1`` …, ``d1`` …;
    its points are those of the links.

    Args:
        links: from the base on.
        stiffness: k of each joint's spring [N m/rad].
        rotor_inertia: J of each rotor [kg m²].
        damping: d of each spring, greater than zero [N m s/rad]; no damping if not given.
        gravity: g along −y [m/s²].

    Raises:
        ModelError: for a value out of its range, or another number of them than links.
    """
    arm = planar_manipulator(links, gravity=gravity)
    n = arm.coordinates.nq
    given = {"stiffness": stiffness, "rotor_inertia": rotor_inertia}
    # A damping that is not there is no parameter that is zero: it would change the relative degree where it is varied.
    given |= {} if damping is None else {"damping": damping}
    for name, numbers in given.items():
        if np.ndim(numbers) != 1 or len(numbers) != n:
            raise ModelError(f"{name} must be a list of as many values as there are links, {n}, got {numbers!r}")
    values = {
        **{f"k{i + 1}": positive(f"stiffness[{i}] [N m/rad]", k) for i, k in enumerate(stiffness)},
        **{f"J{i + 1}": positive(f"rotor_inertia[{i}] [kg m²]", J) for i, J in enumerate(rotor_inertia)},
        **{f"d{i + 1}": positive(f"damping[{i}] [N m s/rad]", d) for i, d in enumerate(damping or ())},
    }
    springs = Parameters.declare(values, ranges=dict.fromkeys(values, Range.POSITIVE))
    rotor = ca.vertcat(*(ca.SX.sym(f"rotor{i + 1}") for i in range(n)))
    speed = ca.vertcat(*(ca.SX.sym(f"v_rotor{i + 1}") for i in range(n)))
    k, J = springs.symbols[:n], springs.symbols[n : 2 * n]
    d = springs.symbols[2 * n :] if damping else ca.SX.zeros(n)
    return lagrangian_system(
        q=ca.vertcat(arm.q, rotor),
        v=ca.vertcat(arm.v, speed),
        p=Parameters.collect([arm.parameters, springs]),
        T=arm.kinetic_energy + ca.dot(J, speed**2) / 2,
        V=arm.potential_energy + ca.dot(k, (rotor - arm.q) ** 2) / 2,
        D=ca.dot(d, (speed - arm.v) ** 2) / 2,
        Q=ca.vertcat(ca.SX.zeros(n), arm.u),
        u=arm.u,
        t=arm.t,
        points=arm.points,
        units=(*arm.coordinates.units, *("rad",) * n),
        input_names=arm.input_names,
        input_units=arm.input_units,
        chain=arm.chain,
        name="arm with elastic joints",
    )
