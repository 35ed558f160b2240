"""Two-wheel robots with published numbers, and a motor for them."""

from __future__ import annotations

import math
from typing import Literal

from ..dc_motor import DCMotor
from ..families.two_wheel_robot import two_wheel_robot
from ..robot import Robot

Form = Literal["full", "reduced"]


def fukao_robot(*, form: Form = "full", motors: DCMotor | tuple[DCMotor, DCMotor] | None = None) -> Robot:
    """Build the platform of [Fukao2000]_, often used to compare controllers: 30 kg, 1.5 m between wheels.

    Its centre of mass is 0.3 m ahead of the axle, so that free motion shows the effect of the offset: a turning robot
    gains speed as it stops turning.

    Args:
        form: ``"full"`` or ``"reduced"``, as in :func:`~erugin.robots.two_wheel_robot`.
        motors: motors of the wheels, such as ``maxon_re40(gear_ratio=43.0)``; torque inputs if not given.
    """
    return two_wheel_robot(
        wheel_radius=0.15,
        half_track=0.75,
        com_offset=0.3,
        platform_mass=30.0,
        platform_inertia=15.625,
        wheel_mass=1.0,
        wheel_inertia_axle=0.005,
        wheel_inertia_diameter=0.0025,
        motors=motors,
        form=form,
    )


def turtlebot3_burger(*, form: Form = "full") -> Robot:
    """Build TurtleBot3 Burger with the inertias of its manufacturer's URDF [Robotis]_: 1 kg, 16 cm between wheels.

    The platform is base, laser scanner and caster together. The scanner moves the centre of mass behind the axle:
    ``com_offset`` is −4.3 mm. The two diametral inertias of a wheel differ by 0.15 %; their mean is used.

    Args:
        form: ``"full"`` or ``"reduced"``, as in :func:`~erugin.robots.two_wheel_robot`.
    """
    # Mass [kg], position ahead of the axle [m], inertia about the vertical through its own centre of mass [kg m²].
    bodies = ((0.82573504, 0.0, 2.0064271e-3), (0.114, -0.032, 1e-3), (0.005, -0.081, 1e-3))
    mass = sum(m for m, _, _ in bodies)
    center = sum(m * x for m, x, _ in bodies) / mass
    return two_wheel_robot(
        wheel_radius=0.033,
        half_track=0.08,
        com_offset=center,
        platform_mass=mass,
        platform_inertia=sum(inertia + m * (x - center) ** 2 for m, x, inertia in bodies),
        wheel_mass=0.02849894,
        wheel_inertia_axle=2.0712558e-05,
        wheel_inertia_diameter=(1.1175580e-05 + 1.1192413e-05) / 2,
        form=form,
    )


def maxon_re40(*, gear_ratio: float) -> DCMotor:
    """Build the motor maxon RE 40, 150 W, winding for 24 V, order number 148867 [Maxon148867]_.

    The data sheet does not list viscous friction; it follows from the no-load data, 137 mA at 7580 rpm. Inertia and
    losses of a gear are not included.

    Args:
        gear_ratio: n, turns of the rotor for one turn of the wheel.
    """
    return DCMotor.from_no_load(
        resistance=0.299,
        inductance=8.2e-5,
        torque_constant=0.0302,
        gear_ratio=gear_ratio,
        rotor_inertia=1.42e-5,
        no_load_current=0.137,
        no_load_speed=7580.0 * 2.0 * math.pi / 60.0,
    )
