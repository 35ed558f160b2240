"""A pendulum as a point that is held on a sphere."""

from __future__ import annotations

import casadi as ca

from ...constraints.constraint import holonomic
from ...symbolic.arrays import finite, positive
from ...symbolic.parameters import Parameters, Range
from ..lagrangian import lagrangian_system
from ..robot import Robot


def spherical_pendulum(*, mass: float, length: float, gravity: float = 9.81) -> Robot:
    """A bob on a massless rod, q = (x, y, z) from the pivot, z up, with the natural constraint x² + y² + z² = l².

    No angle has a place here where it is not defined, as a pendulum's azimuth has at the bottom. The constraint
    ``rod``, (|q|² − l²)/2l, is in metres: its multiplier is the force in the rod [N], positive where the rod pushes.
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
