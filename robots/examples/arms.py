"""Arms: with elastic joints, with direct-current motors, and Franka Emika's Panda."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import warnings
from collections.abc import Sequence
from pathlib import Path

import casadi as ca
import numpy as np

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import positive
from ..dc_motor import DCMotor
from ..dynamics import Dynamics
from ..families.lagrangian_system import lagrangian_system
from ..families.planar_manipulator import Link, planar_manipulator
from ..robot import Robot
from ..urdf.document import UrdfWarning
from ..urdf.loader import load_urdf


def flexible_joint_arm(
    links: Sequence[Link],
    *,
    stiffness: Sequence[float],
    rotor_inertia: Sequence[float],
    damping: Sequence[float] | None = None,
    gravity: float = 9.81,
) -> Robot:
    """Build a planar arm with elastic joints, q = (θ₁ … θ_n, φ₁ … φ_n): joint angles and rotor angles.

    M(θ) θ̈ + h(θ, θ̇) = K (φ − θ) + D (φ̇ − θ̇) and J φ̈ + K (φ − θ) + D (φ̇ − θ̇) = u [Spong1987]_: only the rotors' own
    rotation is coupled to their inertia. Without damping the links' angles have relative degree 4 and are flat; with
    damping they have relative degree 3, and internal dynamics remain.

    Angles are relative, θ₁ from the horizontal. Inputs ``M1`` … are torques on the rotors, referred to a gear ratio of
    1. Parameters are those of :func:`~erugin.robots.planar_manipulator` and ``k1`` …, ``J1`` …, ``d1`` …; points are
    those of the links.

    Args:
        links: links from the base to the tip.
        stiffness: k of each joint's spring [N m/rad].
        rotor_inertia: J of each rotor [kg m²].
        damping: d of each spring, greater than zero [N m s/rad]; no damping if not given.
        gravity: g along −y [m/s²].

    Raises:
        ModelError: for a value out of its range, or a wrong number of values.
    """
    arm = planar_manipulator(links, gravity=gravity)
    n = arm.coordinates.nq
    given = {"stiffness": stiffness, "rotor_inertia": rotor_inertia}
    # Without damping there is no parameter: a varied zero parameter would change the relative degree.
    given |= {} if damping is None else {"damping": damping}
    for name, numbers in given.items():
        if np.ndim(numbers) != 1 or len(numbers) != n:
            raise ModelError(f"{name} must be a list of {n} values, one for each link, got {numbers!r}")
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


PANDA_PACKAGE = "example-robot-data"
UNKNOWN_ATTRIBUTES = "D, K, mu_coulomb, mu_viscous"


def franka_panda() -> Robot:
    """Load the Panda of the package ``example-robot-data`` with its fingers closed: seven joints, seven drives.

    The point of the hand between its fingers is the frame ``panda_hand_tcp``. Masses, inertias and limits are those of
    the file; its non-standard attributes for damping and stiffness are ignored.

    Raises:
        ModelError: if the package, or lxml, is not installed.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", rf"(?s).*'{UNKNOWN_ATTRIBUTES}'", UrdfWarning)
        return load_urdf(example_file("panda.urdf"), locked={"panda_finger_joint1": 0.0})


def example_file(name: str) -> Path:
    """Return the path of a file of ``example-robot-data``.

    Args:
        name: name of the file.

    Raises:
        ModelError: if the package is not installed, or has no such file.
    """
    try:
        files = importlib.metadata.files(PANDA_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise ModelError(f"{name} requires the package {PANDA_PACKAGE}: pip install 'erugin[models]'") from error
    for file in files:
        if file.name == name:
            return Path(str(file.locate())).resolve()
    raise ModelError(f"the package {PANDA_PACKAGE} {importlib.metadata.version(PANDA_PACKAGE)} has no file {name}")


def motor_driven_arm(links: Sequence[Link], motors: Sequence[DCMotor], *, gravity: float = 9.81) -> Robot:
    """Build a planar arm with a motor in each joint, q = (q₁ … q_n, charge1 … charge_n), with voltage inputs.

    The arm and its motors have one Lagrangian, see :class:`~erugin.robots.DCMotor`; angles are relative, and the
    currents are the rates of the charges. A voltage acts on the acceleration of a joint only through its current, so
    that angles have relative degree 3. The rotors' energy is that of their rotation relative to the link that carries
    them.

    Args:
        links: links of the arm, from the base to the tip.
        motors: motors of the joints, one each.
        gravity: g along −y [m/s²].

    Raises:
        ModelError: for a wrong number of motors, or anything that is not a DCMotor.
    """
    drives = tuple(motors)
    arm = planar_manipulator(links, gravity=gravity)
    n = arm.q.numel()
    if len(drives) != n or not all(isinstance(motor, DCMotor) for motor in drives):
        raise ModelError(f"motors must be {n} DCMotor objects, one for each joint, got {motors!r}")
    circuits = [
        motor.circuit(f"motor{i + 1}", angle=arm.q[i], rate=arm.v[i], suffix=str(i + 1))
        for i, motor in enumerate(drives)
    ]
    energy = arm.kinetic_energy + sum((circuit.energy for circuit in circuits), ca.SX(0))
    voltages = ca.vertcat(*(circuit.voltage for circuit in circuits))
    robot = lagrangian_system(
        q=ca.vertcat(arm.q, *(circuit.charge for circuit in circuits)),
        v=ca.vertcat(arm.v, *(circuit.current for circuit in circuits)),
        p=Parameters.collect([arm.parameters, *(circuit.parameters for circuit in circuits)]),
        T=energy + sum((circuit.coupling for circuit in circuits), ca.SX(0)),
        V=arm.potential_energy,
        D=sum((circuit.dissipation for circuit in circuits), ca.SX(0)),
        Q=ca.vertcat(ca.SX.zeros(n), voltages),
        u=voltages,
        points=arm.points,
        frames=arm.frames,
        units=(*arm.coordinates.units, *("C",) * n),
        input_units=("V",) * n,
        chain=arm.chain,
        name="arm with motors",
    )
    # The coupling of the motors is part of the Lagrangian but not of the energy.
    dynamics = Dynamics.given(robot.mass_matrix, robot.bias, energy, robot.potential_energy)
    return dataclasses.replace(robot, dynamics=dynamics)
