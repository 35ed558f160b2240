"""The two-wheel mobile robot: a platform on an axle with two driven wheels that roll without slipping."""

from __future__ import annotations

import dataclasses
from typing import Literal

import casadi as ca

from ...constraints.perturbations.perturbation import Perturbation
from ...constraints.relations.expression import nonholonomic
from ...symbolic.coordinates import Coordinates
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, not_negative, positive
from ..dc_motor import DCMotor, MotorCircuit
from ..dynamics import Dynamics
from ..frame import Frame
from ..robot import Robot
from .lagrangian_system import lagrangian_system

FORMS = ("full", "reduced")
ROUNDING = 1e-9
"""Relative tolerance of the triangle inequality: a thin disc satisfies it with equality."""


def two_wheel_robot(
    *,
    wheel_radius: float,
    half_track: float,
    com_offset: float,
    platform_mass: float,
    platform_inertia: float,
    wheel_mass: float,
    wheel_inertia_axle: float,
    wheel_inertia_diameter: float,
    motors: DCMotor | tuple[DCMotor, DCMotor] | None = None,
    form: Literal["full", "reduced"] = "full",
    perturbation: Perturbation | None = None,
) -> Robot:
    """Build a robot on a horizontal plane with q = (x, y, θ, φ_r, φ_l), (x, y) the middle of the axle [Deressa2015]_.

    With e = (cos θ, sin θ) along the heading, n = (−sin θ, cos θ) to its left, the platform's centre of mass at
    c = (x, y) + d e, the wheels' at w_r = (x, y) − b n and w_l = (x, y) + b n, each wheel an upright disc of radius r,

        T = ½ m_p |ċ|² + ½ I_p θ̇² + Σ (½ m_w |ẇ_i|² + ½ I_d θ̇² + ½ I_a φ̇_i²),    V = 0.

    Casters support the rest of the weight and have no mass. A wheel that rolls forward has φ̇ > 0.

    ``form="full"``: velocities q̇; rolling is described by three natural constraints, whose reactions μ are forces of
    the ground on the robot [N]:

    ==============  ==================================  ==============================================
    name            residual [m/s]                      reaction
    ==============  ==================================  ==============================================
    ``side slip``   n · (ẋ, ẏ)                          force along n, on both wheels together
    ``right wheel`` e · ẇ_r − r φ̇_r                     force along e on the right wheel: its traction
    ``left wheel``  e · ẇ_l − r φ̇_l                     the same on the left wheel
    ==============  ==================================  ==============================================

    A motion that starts without slip stays so up to integration errors, which the perturbation equation removes. From a
    start with slip the reactions bring the robot to rolling at the rate of that equation, unlike real friction.

    ``form="reduced"``: velocities w = (v, ω), the speed of the axle's middle and the turning rate, with q̇ = N(q) w and
    no constraints, because A N = 0. NᵀM N ẇ + Nᵀ(M Ṅ w + h) = NᵀB u are, as in [DhaouadiAbuHatab2013]_,

        (m + 2 I_a/r²) v̇ − m_p d ω² = (τ_r + τ_l)/r,
        (I + 2 b² I_a/r²) ω̇ + m_p d v ω = (τ_r − τ_l) b/r,

    m = m_p + 2 m_w and I = I_p + m_p d² + 2 m_w b² + 2 I_d. The reactions are those of the full form.

    The inputs are the torques τ_r, τ_l by the platform on its wheels about the axle [N m]. With ``motors`` each wheel
    is driven by a :class:`DCMotor` instead: the charges of the motors are appended to q, their currents to v (in either
    form), the inputs are the voltages, and ``kinetic_energy`` includes the energy of the magnetic fields and of the
    rotors' spin. The mass of the rotors, and their inertia about the vertical, belong to the platform.

    Points are ``axle`` (its middle), ``center`` (of mass of the platform), ``right wheel``, ``left wheel`` and
    ``nose``, half a track ahead of the axle; the frame ``platform`` is at the axle. Parameters have the names of the
    arguments; those of a motor are ``right motor.resistance`` and so on.

    Args:
        wheel_radius: r [m].
        half_track: b, from the middle of the axle to a wheel [m].
        com_offset: d, from the axle to the platform's centre of mass along the heading; negative behind it [m].
        platform_mass: m_p, of everything except the wheels [kg].
        platform_inertia: I_p about the vertical through the platform's own centre of mass [kg m²].
        wheel_mass: m_w of one wheel [kg].
        wheel_inertia_axle: I_a of one wheel about the axle [kg m²].
        wheel_inertia_diameter: I_d of one wheel about a diameter [kg m²], at least ½ I_a as for any body of revolution.
        motors: one motor for both wheels, or (right, left); torque inputs if not given.
        form: ``"full"`` or ``"reduced"``.
        perturbation: perturbation equation of order 1 for the three natural constraints, ``FirstOrder()`` if not given;
            its gains are numbers. Not allowed for the reduced form.

    Raises:
        ModelError: for a number out of its range, an impossible inertia of the wheels, an unknown form, motors of
            another type, or a perturbation equation of another order or for the reduced form.
    """
    values = {
        "wheel_radius": positive("wheel_radius [m]", wheel_radius),
        "half_track": positive("half_track [m]", half_track),
        "com_offset": finite("com_offset [m]", com_offset),
        "platform_mass": positive("platform_mass [kg]", platform_mass),
        "platform_inertia": not_negative("platform_inertia [kg m²]", platform_inertia),
        "wheel_mass": positive("wheel_mass [kg]", wheel_mass),
        "wheel_inertia_axle": positive("wheel_inertia_axle [kg m²]", wheel_inertia_axle),
        "wheel_inertia_diameter": positive("wheel_inertia_diameter [kg m²]", wheel_inertia_diameter),
    }
    if values["wheel_inertia_axle"] > 2 * values["wheel_inertia_diameter"] * (1 + ROUNDING):
        raise ModelError(
            "wheel_inertia_axle must be at most twice wheel_inertia_diameter, as for a thin disc, got "
            f"{wheel_inertia_axle:g} kg m² and {wheel_inertia_diameter:g} kg m²"
        )
    if form not in FORMS:
        raise ModelError(f"form must be one of {', '.join(map(repr, FORMS))}, got {form!r}")
    if form == "reduced" and perturbation is not None:
        raise ModelError("perturbation= requires form='full': the reduced form has no constraints to stabilise")
    signed = {name: Range.POSITIVE for name in values if name != "com_offset"}
    p = Parameters.declare(values, ranges=signed | {"platform_inertia": Range.NOT_NEGATIVE})
    q = ca.vertcat(*(ca.SX.sym(name) for name in ("x", "y", "theta", "phi_r", "phi_l")))
    v = ca.vertcat(*(ca.SX.sym(name) for name in ("v_x", "v_y", "omega", "omega_r", "omega_l")))
    r, b, d = p["wheel_radius"], p["half_track"], p["com_offset"]

    axle, omega = q[:2], v[2]
    heading = ca.vertcat(ca.cos(q[2]), ca.sin(q[2]))
    left = ca.vertcat(-heading[1], heading[0])
    points = {
        "axle": axle,
        "center": axle + d * heading,
        "right wheel": axle - b * left,
        "left wheel": axle + b * left,
        "nose": axle + b * heading,
    }
    along, across = ca.dot(heading, v[:2]), ca.dot(left, v[:2])
    mass = p["platform_mass"] + 2 * p["wheel_mass"]
    inertia = p["platform_inertia"] + p["platform_mass"] * d**2
    inertia += 2 * (p["wheel_mass"] * b**2 + p["wheel_inertia_diameter"])
    # The sum T above, written in ẋ² + ẏ² so that M contains no sin² + cos²; the terms ± b ω (ẋ, ẏ)·e cancel.
    energy = (
        mass * ca.sumsqr(v[:2])
        + 2 * p["platform_mass"] * d * omega * across
        + inertia * omega**2
        + p["wheel_inertia_axle"] * ca.sumsqr(v[3:])
    ) / 2
    residuals = {
        "side slip": across,
        "right wheel": along + b * omega - r * v[3],
        "left wheel": along - b * omega - r * v[4],
    }
    natural = [nonholonomic(residual, perturbation=perturbation, name=name) for name, residual in residuals.items()]

    units = ["m", "m", "rad", "rad", "rad"]
    torque = ca.vertcat(ca.SX.sym("tau_r"), ca.SX.sym("tau_l"))
    drives = [] if motors is None else _circuits(motors, q, v)
    if drives:
        p = Parameters.collect([p, *(drive.parameters for drive in drives)])
        q = ca.vertcat(q, *(drive.charge for drive in drives))
        v = ca.vertcat(v, *(drive.current for drive in drives))
        energy += sum((drive.energy for drive in drives), ca.SX(0))
        units += ["C", "C"]
    u = ca.vertcat(*(drive.voltage for drive in drives)) if drives else torque
    full = lagrangian_system(
        q=q,
        v=v,
        p=p,
        T=energy + sum((drive.coupling for drive in drives), ca.SX(0)),
        D=sum((drive.dissipation for drive in drives), ca.SX(0)),
        # Torques act on the angles φ, voltages on the charges: in both cases the last two coordinates.
        Q=ca.vertcat(ca.SX.zeros(q.numel() - 2), u),
        u=u,
        natural=natural,
        points=points,
        frames={"platform": Frame.planar(q[2], axle)},
        units=units,
        input_units=("V", "V") if drives else ("N m", "N m"),
        chain=("left wheel", "right wheel", "nose", "left wheel"),
        name="two-wheel robot" + " with motors" * bool(drives),
    )
    # The coupling of the motors is part of the Lagrangian but not of the energy.
    dynamics = Dynamics.given(full.mass_matrix, full.bias, energy, full.potential_energy)
    full = dataclasses.replace(full, dynamics=dynamics)
    return full if form == "full" else _reduce(full)


def _circuits(motors: DCMotor | tuple[DCMotor, DCMotor], q: ca.SX, v: ca.SX) -> list[MotorCircuit]:
    """Build the circuits of the right and the left motor for the wheels' angles φ, φ̇."""
    pair = (motors, motors) if isinstance(motors, DCMotor) else motors
    if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(motor, DCMotor) for motor in pair)):
        raise ModelError(f"motors must be a DCMotor, or two of them as (right, left), got {motors!r}")
    return [
        motor.circuit(f"{side} motor", angle=q[i], rate=v[i], suffix=f"_{side[0]}")
        for motor, side, i in zip(pair, ("right", "left"), (3, 4), strict=True)
    ]


def _reduce(full: Robot) -> Robot:
    """Reduce the robot to w = (v, ω, currents), q̇ = N w with A N = 0: NᵀM N ẇ + Nᵀ(M Ṅ w + h) = NᵀB u."""
    c, p = full.coordinates, full.parameters
    theta, r, b = c.q[2], p["wheel_radius"], p["half_track"]
    rolling = ca.vertcat(
        ca.horzcat(ca.cos(theta), 0),
        ca.horzcat(ca.sin(theta), 0),
        ca.horzcat(0, 1),
        ca.horzcat(1 / r, b / r),
        ca.horzcat(1 / r, -b / r),
    )  # (5, 2)
    N = ca.densify(ca.diagcat(rolling, ca.SX.eye(c.nv - 5)))
    w = ca.vertcat(ca.SX.sym("speed"), ca.SX.sym("turning_rate"), *ca.vertsplit(c.v)[5:])
    a = ca.vertcat(*(ca.SX.sym(f"a_{symbol.name()}") for symbol in ca.vertsplit(w)))
    coordinates = Coordinates(c.t, c.q, w, a, N, c.names, c.units)
    N_rate_w = ca.substitute(coordinates.rate(N @ w), a, ca.SX.zeros(a.numel()))  # Ṅ w
    bias, kinetic = (ca.substitute(part, c.v, N @ w) for part in (full.bias, full.kinetic_energy))

    def facing_x(expression: ca.SX) -> ca.SX:
        """Evaluate at θ = 0: by symmetry, quantities along the heading do not depend on θ."""
        return ca.densify(ca.substitute(expression, theta, ca.SX(0)))

    return Robot(
        name=f"reduced {full.name}",
        coordinates=coordinates,
        parameters=p,
        u=full.u,
        dynamics=Dynamics.given(
            mass_matrix=facing_x(N.T @ full.mass_matrix @ N),
            bias=facing_x(N.T @ (full.mass_matrix @ N_rate_w + bias)),
            kinetic_energy=facing_x(kinetic),
            potential_energy=full.potential_energy,
        ),
        input_matrix=facing_x(N.T @ full.input_matrix),
        points=full.points,
        frames=full.frames,
        input_names=full.input_names,
        input_units=full.input_units,
        chain=full.chain,
    )
