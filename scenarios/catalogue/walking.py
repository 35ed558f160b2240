"""A leg in support, and what the walker is to do on it."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from ...constraints import Baumgarte, EruginField, FirstOrder, circle, follow, spline, trajectory
from ...controllers import Program, ProgramController
from ...robots import Contact, Robot, contact_force, friction_needed, standing, with_inputs
from ...robots.examples.walker import FEET, SHIN, THIGH, TRUNK
from ..phase import Phase

STEP, SPEED, HEIGHT, LEAN = 0.4, 0.45, 0.76, 0.05
"""Length of a step [m], speed [m/s] and height [m] of the hip, lean of the trunk [rad]."""
ROCK, MARGIN = 0.07, 0.02
"""Radius of a rock, and by how much the foot is to clear it [m]."""
ROCK_AT = {"A": -0.15, "B": 0.55}
"""x of the rock while this foot stands [m]."""
UNTIL = {"A": 0.1, "B": 0.5}
"""How far the other foot must have come before it may touch down [m]."""
ARCH = ((-0.4, 0.0), (-0.25, 0.07), (0.0, 0.09), (0.25, 0.07), (0.42, -0.03))
"""Way of the foot in the air if there were no rock, from the foot in support [m]."""


@dataclass(frozen=True, eq=False)
class Stance:
    """One leg in support.

    Attributes:
        name: of the foot on the ground, A or B.
        robot: the plant that stands on it, with the drives that it has then.
        foot: the contact.
        swing: place of the other foot, shape (2,) [m].
        rock: centre of what that foot goes over [m].
        program: as many rows as there are degrees of freedom, and drives.
        controller: realises it.
    """

    name: str
    robot: Robot
    foot: Contact
    swing: ca.SX
    rock: tuple[float, float]
    program: Program
    controller: ProgramController

    @property
    def phase(self) -> Phase:
        """Until the other foot comes down."""
        down = ca.fmin(-self.swing[1], self.swing[0] - UNTIL[self.name])
        return Phase(self.controller, until=down, name=f"on foot {self.name}", robot=self.robot, contacts=(self.foot,))

    @property
    def clearance(self) -> ca.SX:
        """From the other foot to the rock [m]."""
        return ca.norm_2(self.swing - ca.DM(self.rock)) - ROCK

    @property
    def output(self) -> ca.SX:
        """What the drives do, in the order of the plant's inputs."""
        law = self.controller.law
        assert law is not None
        return law.output

    @property
    def force(self) -> ca.SX:
        """Of the ground on the foot, x and y [N]."""
        return contact_force(self.robot, self.foot, u=self.output)

    @property
    def friction(self) -> ca.SX:
        """Coefficient of friction that the foot needs."""
        return friction_needed(self.robot, self.foot, u=self.output)

    @property
    def pressure(self) -> ca.SX:
        """From the foot to the centre of pressure, along x [m]."""
        ankle = self.robot.input_names.index(f"ankle {self.name}")
        return self.output[ankle] / self.force[1]


def stance(walker: Robot, name: str) -> Stance:
    """Hip and trunk go on at constant speed, the links keep their lengths, the other foot goes over a rock.

    Ten rows for the ten degrees of freedom that one foot on the ground leaves, and ten drives.

    Args:
        walker: in the air, with all its drives.
        name: of the foot on the ground, A or B.
    """
    other, first = ("B", 0.0) if name == "A" else ("A", STEP)
    inputs = [label for label in walker.input_names if label != f"ankle {other}"]
    robot = standing(with_inputs(walker, inputs), [FEET[name]], perturbation=Baumgarte(30.0))
    q, swing, rock = _named(robot), robot.points[FEET[other].point], (ROCK_AT[name], 0.03)
    arch = spline([(first + x, y) for x, y in ARCH])
    field = EruginField(arch, [circle(rock, ROCK, name="rock")], speed=1.0, margin=MARGIN, side=-1)
    lengths = ca.vertcat(*(q[f"l{i}"] for i in range(1, 6)))
    hip = ca.vertcat(-STEP / 2 + SPEED * robot.t, HEIGHT)
    program = Program(
        robot,
        [
            trajectory(robot.points["end2"], hip, perturbation=Baumgarte(10.0), name="hip"),
            trajectory(q["phi3"], [np.pi / 2 - LEAN], perturbation=Baumgarte(10.0), name="trunk"),
            trajectory(lengths, [SHIN, THIGH, TRUNK, THIGH, SHIN], perturbation=Baumgarte(20.0), name="lengths"),
            follow(field, swing, perturbation=FirstOrder(15.0), name="swing foot"),
        ],
    )
    return Stance(name, robot, FEET[name], swing, rock, program, ProgramController(program, realization="actuated"))


def _named(robot: Robot) -> dict[str, ca.SX]:
    return {name: robot.q[i] for i, name in enumerate(robot.coordinates.names)}
