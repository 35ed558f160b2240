"""A rigid body in space whose orientation is a unit quaternion: free, or rotating about a fixed point."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.constraint import Constraint
from ...constraints.relations.expression import holonomic
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, positive, reals
from ..families.lagrangian_system import lagrangian_system
from ..frame import Frame
from ..robot import Robot
from ..tree.body import require_inertia

MOMENTS = ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")


def quaternion_body(mass: float, inertia: ArrayLike, *, center: Sequence[float], gravity: float = 9.81) -> Robot:
    """Build a free rigid body, q = (x, y, z, e0, e1, e2, e3) and v = q̇, with the natural constraint eᵀe = 1.

    T = ½ m |ċ|² + ½ ωᵀ I ω with the centre of mass c = x + R(e) c_B and ω = 2 G(e) ė in body axes; V = m g c_z. There
    are seven velocities for six degrees of freedom: M has rank 6, since (ẋ, ė) = (−2 R c_B, e) has no energy, and along
    it the constraint alone determines the motion [Deressa2015]_ section 1.2. The multiplier is μ = F·R c_B − ωᵀ I ω,
    with F the force on the body.

    The inputs are a force on the body's origin in world axes and a torque in body axes, (F, τ), by their virtual power
    F·ẋ + τ·ω. Points are ``origin`` and ``center``; the frame is ``body``. Parameters are ``m``, ``Ixx``, …, ``cx``,
    ``cy``, ``cz`` and ``g``.

    Args:
        mass: m [kg].
        inertia: I about the centre of mass in body axes, shape (3, 3) [kg m²], symmetric and positive definite.
        center: c_B, from the body's origin to the centre of mass in body axes, shape (3,) [m].
        gravity: g along −z [m/s²].

    Raises:
        ModelError: for a mass that is not positive, an impossible inertia, or a wrong shape.
    """
    p, I, c_B = _declare(mass, inertia, center, gravity)
    q = _column("x", "y", "z", "e0", "e1", "e2", "e3")
    v = _column("vx", "vy", "vz", "de0", "de1", "de2", "de3")
    u = _column("Fx", "Fy", "Fz", "tau_x", "tau_y", "tau_z")
    x, e = q[:3], q[3:]
    frame, G = Frame(_rotation(e), x), _body_rates(e)
    c = frame.point(c_B)
    omega = 2 * G @ v[3:]
    return lagrangian_system(
        q=q,
        v=v,
        p=p,
        T=(p["m"] * ca.sumsqr(ca.jtimes(c, q, v)) + omega.T @ I @ omega) / 2,
        V=p["m"] * p["g"] * c[2],
        # Virtual power F·ẋ + τ·2Gė.
        Q=ca.vertcat(u[:3], 2 * G.T @ u[3:]),
        u=u,
        natural=[_unit(e)],
        points={"origin": x, "center": c},
        frames={"body": frame},
        units=("m",) * 3 + ("",) * 4,
        input_units=("N",) * 3 + ("N m",) * 3,
        chain=("origin", "center"),
        name="quaternion body",
    )


def heavy_top(mass: float, inertia: ArrayLike, *, center: Sequence[float], gravity: float = 9.81) -> Robot:
    """Build a rigid body that rotates about a fixed point, q = (e0, e1, e2, e3), with the natural constraint eᵀe = 1.

    T = ½ ωᵀ I₀ ω with I₀ = I + m (|c_B|² E − c_B c_Bᵀ) about the fixed point, and V = m g (R(e) c_B)_z. M has rank 3.
    Without inputs the multiplier is μ = V − 2 T. The inputs are a torque in body axes; point, frame and parameters are
    as for :func:`quaternion_body`, the origin being the fixed point.

    Args:
        mass: m [kg].
        inertia: I about the centre of mass in body axes, shape (3, 3) [kg m²], symmetric and positive definite.
        center: c_B, from the fixed point to the centre of mass in body axes, shape (3,) [m].
        gravity: g along −z [m/s²].

    Raises:
        ModelError: for a mass that is not positive, an impossible inertia, or a wrong shape.
    """
    p, I, c_B = _declare(mass, inertia, center, gravity)
    e, v = _column("e0", "e1", "e2", "e3"), _column("de0", "de1", "de2", "de3")
    u = _column("tau_x", "tau_y", "tau_z")
    frame, G = Frame(_rotation(e), ca.SX.zeros(3)), _body_rates(e)
    c = frame.point(c_B)
    omega = 2 * G @ v
    about_origin = I + p["m"] * (ca.sumsqr(c_B) * ca.SX.eye(3) - c_B @ c_B.T)
    return lagrangian_system(
        q=e,
        v=v,
        p=p,
        T=omega.T @ about_origin @ omega / 2,
        V=p["m"] * p["g"] * c[2],
        Q=2 * G.T @ u,
        u=u,
        natural=[_unit(e)],
        points={"origin": frame.position, "center": c},
        frames={"body": frame},
        units=("",) * 4,
        input_units=("N m",) * 3,
        chain=("origin", "center"),
        name="heavy top",
    )


def _declare(
    mass: float, inertia: ArrayLike, center: Sequence[float], gravity: float
) -> tuple[Parameters, ca.SX, ca.SX]:
    """Declare the parameters, and return them with I, shape (3, 3), and c_B, shape (3,), in their symbols."""
    moments = _inertia(inertia)
    position = tuple(finite(f"center[{i}] [m]", value) for i, value in enumerate(center))
    if len(position) != 3:
        raise ModelError(f"center must have shape (3,), got {center!r}")
    values = {"m": positive("mass [kg]", mass)}
    values |= {name: float(moments["xyz".index(name[1]), "xyz".index(name[2])]) for name in MOMENTS}
    values |= dict(zip(("cx", "cy", "cz"), position, strict=True)) | {"g": finite("gravity", gravity)}
    p = Parameters.declare(values, ranges=dict.fromkeys(("m", "Ixx", "Iyy", "Izz"), Range.POSITIVE))
    I = ca.vertcat(
        ca.horzcat(p["Ixx"], p["Ixy"], p["Ixz"]),
        ca.horzcat(p["Ixy"], p["Iyy"], p["Iyz"]),
        ca.horzcat(p["Ixz"], p["Iyz"], p["Izz"]),
    )
    return p, I, ca.vertcat(p["cx"], p["cy"], p["cz"])


def _inertia(value: ArrayLike) -> NDArray[np.float64]:
    """Return a copy of a physically possible inertia, shape (3, 3)."""
    try:
        I = reals("value", value)
    except (TypeError, ValueError) as error:
        raise ModelError(f"inertia must be numbers of shape (3, 3), got {value!r}") from error
    if I.shape != (3, 3):
        raise ModelError(f"inertia must be numbers of shape (3, 3), got {value!r}")
    require_inertia("inertia [kg m²]", I, 1e-12)
    low = float(np.linalg.eigvalsh(I)[0])
    if low <= 1e-12 * float(np.abs(I).max()):
        raise ModelError(f"inertia must be positive definite, but its least principal moment is {low:g} kg m²")
    return I


def _column(*names: str) -> ca.SX:
    return ca.vertcat(*(ca.SX.sym(name) for name in names))


def _unit(e: ca.SX) -> Constraint:
    return holonomic(ca.sumsqr(e) - 1, name="unit_quaternion")


def _body_rates(e: ca.SX) -> ca.SX:
    """Return G(e) of ω = 2 G ė, in body axes, shape (3, 4); G e = 0."""
    return ca.horzcat(-e[1:], e[0] * ca.SX.eye(3) - ca.skew(e[1:]))


def _rotation(e: ca.SX) -> ca.SX:
    """Return R(e) from body to world axes, shape (3, 3), of degree 2 in e."""
    return ca.horzcat(-e[1:], e[0] * ca.SX.eye(3) + ca.skew(e[1:])) @ _body_rates(e).T
