"""The DC motor: an electrical coordinate in the same Lagrangian as the mechanism that it drives."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from ..symbolic.parameters import Parameters, Range
from ..symbolic.validation import not_negative, positive


@dataclass(frozen=True, eq=False)
class MotorCircuit:
    """Contributions of a motor to T, D and Q of a Lagrangian system, in symbols created for it.

    Attributes:
        charge: Q, the charge that has passed through the armature; a coordinate [C].
        current: i = Q̇, the velocity that belongs to it [A].
        voltage: U across the armature, an input: the generalized force on the charge [V].
        parameters: ``name.resistance`` and so on, named after the attributes of :class:`DCMotor`.
        energy: ½ L i² of the magnetic field and ½ J (n φ̇)² of the rotor [J].
        coupling: k n φ i, the term of the Lagrangian that joins the two sides [J]. It is linear in the velocities and
            not an energy: T of the Lagrangian includes it, the energy of the system does not.
        dissipation: ½ R i² + ½ b (n φ̇)² [W], half of the power turned into heat.
    """

    charge: ca.SX
    current: ca.SX
    voltage: ca.SX
    parameters: Parameters
    energy: ca.SX
    coupling: ca.SX
    dissipation: ca.SX


@dataclass(frozen=True)
class DCMotor:
    """A direct-current motor with permanent magnets and a gear without losses or play.

    With φ the angle of the driven axis, n the gear ratio and Q the charge (a coordinate, like an angle),

        L Q̈ + R Q̇ + k n φ̇ = U,    torque on the driven axis = k n Q̇ − n² (J φ̈ + b φ̇).

    Both follow from the one Lagrangian ½ L Q̇² + ½ J (n φ̇)² + k n φ Q̇ with the dissipation function
    ½ R Q̇² + ½ b (n φ̇)² and the generalized force U on the charge: the term k n φ Q̇ yields the torque in the mechanical
    equation and, with the opposite sign, the back-EMF in the electrical one, so that the power leaving one side enters
    the other. Volts per radian per second and newton metres per ampere are the same unit: one constant serves both.

    Attributes:
        resistance: R of the armature [Ω], greater than zero.
        inductance: L of the armature [H], greater than zero: it is the charge's entry of the mass matrix.
        torque_constant: k [N m/A], equal to the back-EMF constant [V s/rad], greater than zero.
        gear_ratio: n, turns of the rotor for one turn of the driven axis, greater than zero; 1 without a gear.
        rotor_inertia: J about the rotor's own axis [kg m²], not negative; on the driven axis it appears as n² J.
        damping: b, viscous friction on the rotor's axis [N m s/rad], not negative.

    Raises:
        ModelError: for a number out of its range.
    """

    resistance: float
    inductance: float
    torque_constant: float
    gear_ratio: float
    rotor_inertia: float
    damping: float

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name, limit in RANGES.items():
            check = positive if limit is Range.POSITIVE else not_negative
            object.__setattr__(self, name, check(f"{name} of a motor [{UNITS[name]}]", getattr(self, name)))

    @classmethod
    def from_no_load(
        cls,
        *,
        resistance: float,
        inductance: float,
        torque_constant: float,
        gear_ratio: float,
        rotor_inertia: float,
        no_load_current: float,
        no_load_speed: float,
    ) -> DCMotor:
        """Build a motor whose damping follows from the no-load data of its data sheet: k i₀ = b ω₀.

        Args:
            resistance: R [Ω].
            inductance: L [H].
            torque_constant: k [N m/A].
            gear_ratio: n.
            rotor_inertia: J [kg m²].
            no_load_current: i₀, drawn without load at nominal voltage [A], not negative.
            no_load_speed: ω₀ of the rotor at that current [rad/s], greater than zero.

        Raises:
            ModelError: for a number out of its range.
        """
        current = not_negative("no_load_current of a motor [A]", no_load_current)
        speed = positive("no_load_speed of a motor [rad/s]", no_load_speed)
        damping = positive("torque_constant of a motor [N m/A]", torque_constant) * current / speed
        return cls(resistance, inductance, torque_constant, gear_ratio, rotor_inertia, damping)

    def circuit(self, name: str, *, angle: ca.SX, rate: ca.SX, suffix: str = "") -> MotorCircuit:
        """Build the symbols and terms of one such motor, to be added to those of a mechanism.

        A system with coordinates q and energy T becomes the driven one when the charge is appended to q, the current to
        v, ``energy + coupling`` is added to T, ``dissipation`` to D, and ``voltage`` is appended to Q. The robot's
        ``kinetic_energy`` should then be the T without ``coupling``.

        The rotor's energy counts its turning against the stator. It is exact where the stator does not turn about the
        rotor's axis, as in a vehicle on a plane.

        Args:
            name: prefix of the parameters, such as ``"right motor"``.
            angle: φ of the driven axis against the stator, in the mechanism's coordinates [rad].
            rate: φ̇, in its coordinates and velocities [rad/s].
            suffix: end of the names of the charge, current and voltage, to distinguish several motors.
        """
        values = {key: float(getattr(self, key)) for key in RANGES}
        p = Parameters.declare(values, name, ranges=RANGES)
        R, L, k, n, J, b = (p[f"{name}.{key}"] for key in RANGES)
        charge, current, voltage = (ca.SX.sym(f"{key}{suffix}") for key in ("charge", "current", "voltage"))
        return MotorCircuit(
            charge=charge,
            current=current,
            voltage=voltage,
            parameters=p,
            energy=(L * current**2 + J * (n * rate) ** 2) / 2,
            coupling=k * n * angle * current,
            dissipation=(R * current**2 + b * (n * rate) ** 2) / 2,
        )


UNITS = {
    "resistance": "Ω",
    "inductance": "H",
    "torque_constant": "N m/A",
    "gear_ratio": "-",
    "rotor_inertia": "kg m²",
    "damping": "N m s/rad",
}
RANGES = dict.fromkeys(UNITS, Range.POSITIVE) | dict.fromkeys(("rotor_inertia", "damping"), Range.NOT_NEGATIVE)
