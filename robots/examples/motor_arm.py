"""A planar arm whose joints are driven by direct-current motors: inputs are voltages."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters
from ..dc_motor import DCMotor
from ..dynamics import Dynamics
from ..lagrangian import lagrangian_system
from ..planar_manipulator import Link, planar_manipulator
from ..robot import Robot


def motor_driven_arm(links: Sequence[Link], motors: Sequence[DCMotor], *, gravity: float = 9.81) -> Robot:
    """Planar arm with a motor in each joint, q = (q₁ … q_n, charge1 … charge_n), relative angles; inputs are voltages.

    T of the arm and of its motors is one Lagrangian, see :class:`~erugin.robots.DCMotor`; the currents are the rates of
    the charges. A voltage reaches the acceleration of a joint through its current only, so that angles have relative
    degree 3. The rotors' energy is that of their turning against the link that carries them.

    Args:
        links: of the arm, from the base on.
        motors: of its joints, one each.
        gravity: g along −y [m/s²].

    Raises:
        ModelError: for another number of motors than of links, or something that is no motor.
    """
    drives = tuple(motors)
    arm = planar_manipulator(links, gravity=gravity)
    n = arm.q.numel()
    if len(drives) != n or not all(isinstance(motor, DCMotor) for motor in drives):
        raise ModelError(f"{n} joints need as many motors (DCMotor), got {motors!r}")
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
    # The coupling of the motors belongs to the Lagrangian and is no energy.
    dynamics = Dynamics.given(robot.mass_matrix, robot.bias, energy, robot.potential_energy)
    return dataclasses.replace(robot, dynamics=dynamics)
