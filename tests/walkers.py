"""A body of five telescopic links that walks: two legs, a trunk, a drive in every joint and along every link."""

from __future__ import annotations

import functools
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, EruginField, FirstOrder, circle, follow, spline, trajectory
from erugin.controllers import Program, ProgramController, start_on
from erugin.robots import Contact, Robot, TelescopicLink, exoskeleton, standing, with_drive, with_inputs
from erugin.scenarios import Phase, PhasedTrajectory, simulate_phases

Array = NDArray[np.float64]
SHIN, THIGH, TRUNK = 0.43, 0.42, 0.6
STEP, SPEED, HEIGHT, LEAN = 0.4, 0.45, 0.76, 0.05
ROCK, MARGIN = 0.07, 0.02
A, B = Contact("pole", (0.0, 1.0), "foot A"), Contact("tip", (0.0, 1.0), "foot B")
UNTIL = {"A": 0.1, "B": 0.5}
"""How far the other foot must have come before it may touch down [m]."""
ROCK_AT = {"A": -0.15, "B": 0.55}
"""Where only the foot that is in the air passes in these two steps [m]."""


@functools.cache
def body() -> Robot:
    """q = (x, y, φ₁…φ₅, l₁…l₅): shin and thigh of leg A upwards from foot A, the trunk, thigh and shin of leg B."""

    def link(mass: float, inertia: float, ratio: float, length: float, foot: float | None = None) -> TelescopicLink:
        return TelescopicLink(mass, inertia, ratio, 2e4, length, hinge_mass=foot, damping=400.0)

    links = [
        link(3.5, 0.05, 0.57, SHIN),
        link(10.0, 0.15, 0.59, THIGH),
        link(35.0, 1.2, 0.5, TRUNK),
        link(10.0, 0.15, 0.41, THIGH),
        link(3.5, 0.05, 0.43, SHIN, 1.2),
    ]
    free = exoskeleton(links, parents=[0, 1, 2, 2, 4], base="floating", pole_mass=1.2, axial_drives=True, name="walker")
    # A drive in each ankle, which reacts against the ground.
    return with_drive(with_drive(free, "ankle A", angle(free, 1)), "ankle B", angle(free, 5))


def angle(robot: Robot, i: int) -> ca.SX:
    """φ_i."""
    return robot.q[robot.coordinates.names.index(f"phi{i}")]


class Stance(NamedTuple):
    """One leg in support, and what the body is to do on it."""

    name: str
    robot: Robot
    foot: Contact
    swing: ca.SX
    rock: Array
    program: Program
    controller: ProgramController

    @property
    def phase(self) -> Phase:
        """Until the other foot comes down."""
        down = ca.fmin(-self.swing[1], self.swing[0] - UNTIL[self.name])
        return Phase(self.controller, until=down, name=f"on foot {self.name}", robot=self.robot, contacts=(self.foot,))


@functools.cache
def stance(name: str) -> Stance:
    """Hip and trunk go on at constant speed, the links keep their lengths, the swing foot goes over a rock.

    Ten rows for the ten degrees of freedom that one foot on the ground leaves, ten drives.
    """
    whole = body()
    foot, other, first = (A, B, 0.0) if name == "A" else (B, A, STEP)
    idle = "ankle B" if name == "A" else "ankle A"
    inputs = [label for label in whole.input_names if label != idle]
    robot = standing(with_inputs(whole, inputs), [foot], perturbation=Baumgarte(30.0))
    swing = robot.points[other.point]
    rock = np.array([ROCK_AT[name], 0.03])
    places = [(-0.4, 0.0), (-0.25, 0.07), (0.0, 0.09), (0.25, 0.07), (0.42, -0.03)]
    arch = spline([(first + x, y) for x, y in places])
    field = EruginField(arch, [circle(tuple(rock), ROCK, name="rock")], speed=1.0, margin=MARGIN, side=-1)
    lengths = ca.vertcat(*(robot.q[robot.coordinates.names.index(f"l{i}")] for i in range(1, 6)))
    hip = ca.vertcat(-STEP / 2 + SPEED * robot.t, HEIGHT)
    program = Program(
        robot,
        [
            trajectory(robot.points["end2"], hip, perturbation=Baumgarte(10.0), name="hip"),
            trajectory(angle(robot, 3), [np.pi / 2 - LEAN], perturbation=Baumgarte(10.0), name="trunk"),
            trajectory(lengths, [SHIN, THIGH, TRUNK, THIGH, SHIN], perturbation=Baumgarte(20.0), name="lengths"),
            follow(field, swing, perturbation=FirstOrder(15.0), name="swing foot"),
        ],
    )
    return Stance(name, robot, foot, swing, rock, program, ProgramController(program, realization="actuated"))


def start() -> tuple[Array, Array]:
    """On the program of the first stance: foot A at the origin, foot B a step behind."""
    front, back = _leg(0.0), _leg(-STEP)
    angles = [*front, np.pi / 2 - LEAN, back[1] - np.pi, back[0] - np.pi]
    guess = np.array([0.0, 0.0, *angles, SHIN, THIGH, TRUNK, THIGH, SHIN])
    first = stance("A")
    at = [(first.swing, [-STEP, 0.0])]
    return start_on(first.program, guess, at=at, p=dict.fromkeys(first.foot.places, 0.0))


def _leg(foot: float) -> tuple[float, float]:
    """Angles of shin and thigh, both from the foot upwards, with the knee in front."""
    x, y = -STEP / 2 - foot, HEIGHT
    far = float(np.hypot(x, y))
    shin = float(np.arctan2(y, x) - np.arccos((SHIN**2 + far**2 - THIGH**2) / (2 * SHIN * far)))
    return shin, float(np.arctan2(y - SHIN * np.sin(shin), x - SHIN * np.cos(shin)))


@functools.cache
def two_steps() -> PhasedTrajectory:
    """One step on foot A, one on foot B."""
    return simulate_phases(body(), [stance("A").phase, stance("B").phase], *start(), 3.0, step=1e-3)
