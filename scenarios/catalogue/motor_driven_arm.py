"""Motor-driven arm: voltages as inputs, angles as outputs, and the balance of electric and mechanical energy."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ...constraints import holonomic
from ...controllers import Program, transition
from ...controllers.servo import ServoController
from ...robots import Link, examples
from ...simulation.metrics import Integral
from ..sampling.distributions import Scaled, Uniform
from ..scenario import scenario
from ..setup import Measure, Setup
from .measures import deviation, largest, largest_input

LOWER, UPPER, GEARS = np.array([-1.2, 1.5]), np.array([0.3, 0.5]), (120.0, 80.0)


@scenario("motor-driven-arm")
def motor_driven_arm(*, duration: float = 3.0, step: float = 1e-3, rate: float = 10.0, off: float = 0.0) -> Setup:
    """Motor-driven arm: two joints with gears and maxon's RE 40, whose voltages drive currents, which drive the arm.

    A voltage reaches the angle after three derivatives, so that the program of the angles is realised as a
    servo-constraint. The arm is lifted from rest to rest in two seconds. Expect the angles on the program to rounding,
    voltages below the motors' 24 V, and electric work equal to the energy gained plus the heat of windings and
    bearings.

    Args:
        duration: duration of the motion [s].
        step: step of the integration and of the samples [s].
        rate: decay rate of deviations [1/s].
        off: initial error of both joint angles [rad].
    """
    links = [Link(0.6, 2.5, 0.3, 0.075), Link(0.5, 1.8, 0.25, 0.0375)]
    arm = examples.motor_driven_arm(links, [examples.maxon_re40(gear_ratio=gear) for gear in GEARS])
    aim = ca.DM(LOWER) + ca.DM(UPPER - LOWER) * transition(arm.t, 2.0, smoothness=4)
    program = Program(arm, holonomic(arm.q[:2] - aim, name="joints"))
    # The internal dynamics are the charges that have passed, on which nothing depends.
    law = ServoController(program, near=[*LOWER, 0.0, 0.0], rates=rate, allow_unstable_internal=True)
    start, value = law.feedforward(0.0), arm.parameters
    R, b = ([value[f"motor{i}.{key}"] for i in (1, 2)] for key in ("resistance", "damping"))
    lost = [R[i] * arm.v[2 + i] ** 2 + b[i] * (GEARS[i] * arm.v[i]) ** 2 for i in (0, 1)]
    return Setup(
        *(arm, law, start.q + np.array([off, off, 0.0, 0.0]), start.v, duration, step),
        measures={
            "deviation of the joints": deviation("rad", (0.0, 1e-9)),
            "electric work minus energy and heat": Measure(
                lambda m: m.metrics["electric"] - m.metrics["heat"] - (m.energy[-1] - m.energy[0]), "J", (-1e-4, 1e-4)
            ),
            "heat divided by electric work": Measure(
                lambda m: m.metrics["heat"] / m.metrics["electric"], "", (0.2, 0.8)
            ),
            "largest voltage": largest_input("V", (0.0, 24.0)),
            "largest current": largest(arm.v[2:], "A"),
        },
        error=ca.norm_2(arm.q[:2] - aim),
        unit="rad",
        metrics={"electric": Integral(ca.dot(arm.u, arm.v[2:])), "heat": Integral(lost[0] + lost[1])},
        randomization={"plant.m2": Scaled(Uniform(0.9, 1.1)), "plant.motor1.resistance": Scaled(Uniform(0.9, 1.2))},
    )
