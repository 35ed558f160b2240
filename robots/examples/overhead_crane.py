"""An overhead crane: a trolley, a winch on it and a load on a rope."""

from __future__ import annotations

from typing import Literal

import casadi as ca

from ...constraints.relations.expression import holonomic
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, positive
from ..families.lagrangian_system import lagrangian_system
from ..robot import Robot

Form = Literal["angle", "rope"]


def overhead_crane(
    *,
    trolley_mass: float,
    winch_inertia: float,
    winch_radius: float,
    load_mass: float,
    gravity: float = 9.81,
    form: Form = "angle",
) -> Robot:
    """Build a crane with two drives for three degrees of freedom: trolley force and winch torque; the load swings.

    T = ½ m_t ṡ² + ½ (J/r²) l̇² + ½ m |ṙ|², V = m g z of the load at r = (x, z). The rope is straight and has no mass; a
    pushing (slack) rope is not detected.

    ``"angle"``: q = (s, l, φ), trolley, rope length and angle from the vertical, with r = (s + l sin φ, −l cos φ).
    ``"rope"``: q = (s, l, x, z), the load's own coordinates, with the natural constraint (x − s)² + z² = l², named
    ``rope`` [AltmannHeiland2017]_; its reaction is minus the tension divided by 2 l.

    The inputs are ``F`` [N] on the trolley and ``M`` [N m] on the winch, positive where it pays out rope. Points are
    ``trolley`` and ``load``; z points up, the trolley runs at z = 0. Parameters are ``m_t``, ``J``, ``r``, ``m`` and
    ``g``.

    Args:
        trolley_mass: m_t [kg].
        winch_inertia: J [kg m²].
        winch_radius: r [m].
        load_mass: m [kg].
        gravity: g along −z [m/s²].
        form: coordinates, ``"angle"`` or ``"rope"``.

    Raises:
        ModelError: for a value out of its range, or an unknown form.
    """
    if form not in ("angle", "rope"):
        raise ModelError(f"form must be 'angle' or 'rope', got {form!r}")
    values = {
        "m_t": positive("trolley_mass [kg]", trolley_mass),
        "J": positive("winch_inertia [kg m²]", winch_inertia),
        "r": positive("winch_radius [m]", winch_radius),
        "m": positive("load_mass [kg]", load_mass),
        "g": finite("gravity [m/s²]", gravity),
    }
    p = Parameters.declare(values, ranges=dict.fromkeys(("m_t", "J", "r", "m"), Range.POSITIVE))
    names, units = (("s", "l", "phi"), ("m", "m", "rad")) if form == "angle" else (("s", "l", "x", "z"), ("m",) * 4)
    q = ca.vertcat(*(ca.SX.sym(name) for name in names))
    v = ca.vertcat(*(ca.SX.sym(f"v_{name}") for name in names))
    u = ca.vertcat(ca.SX.sym("F"), ca.SX.sym("M"))
    load = ca.vertcat(q[0] + q[1] * ca.sin(q[2]), -q[1] * ca.cos(q[2])) if form == "angle" else q[2:]
    velocity = ca.jtimes(load, q, v)
    rope = holonomic((q[2] - q[0]) ** 2 + q[3] ** 2 - q[1] ** 2, name="rope") if form == "rope" else None
    return lagrangian_system(
        q=q,
        v=v,
        p=p,
        T=(p["m_t"] * v[0] ** 2 + p["J"] / p["r"] ** 2 * v[1] ** 2 + p["m"] * ca.sumsqr(velocity)) / 2,
        V=p["m"] * p["g"] * load[1],
        Q=ca.vertcat(u[0], u[1] / p["r"], ca.SX.zeros(q.numel() - 2)),
        u=u,
        natural=() if rope is None else (rope,),
        points={"trolley": ca.vertcat(q[0], 0), "load": load},
        units=units,
        input_units=("N", "N m"),
        chain=("trolley", "load"),
        name="overhead crane",
    )


def altmann_heiland_crane(*, form: Form = "angle") -> Robot:
    """Build the crane of the code of [AltmannHeiland2017]_: m_t = 10 kg, J = 0.1 kg m², r = 0.1 m, m = 100 kg.

    Their load starts 4 m below the trolley, at rest.

    Args:
        form: coordinates, as in :func:`overhead_crane`.
    """
    return overhead_crane(trolley_mass=10.0, winch_inertia=0.1, winch_radius=0.1, load_mass=100.0, form=form)
