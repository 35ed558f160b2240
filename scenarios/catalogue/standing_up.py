"""A body of eleven links stands up from a crouch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints import Baumgarte, Constraint, tracking
from ...controllers import Controller, Program, ProgramController, Reference, start_on
from ...controllers.baselines import ComputedTorque, PDGravity
from ...robots import Contact, Robot, contact_force, contact_positions, required_friction, with_contacts, with_drive
from ...robots.examples import body_model, body_posture
from ...robots.examples.body_model import LINKS
from ...simulation.trajectory import Trajectory
from ...symbolic.validation import positive
from ..motion_tracking import MotionTracking
from ..sampling.distributions import Distribution, Scaled, Uniform
from ..scenario import scenario
from ..setup import Draw, MakeController, Measure, Setup
from .pictures import motion_pictures

MASS, HEIGHT = 73.0, 1.741
"""Mass [kg] and height [m] of the average man of [DeLeva1996]_."""
CONTACTS = tuple(
    Contact(point, (0.0, 1.0), name) for point, name in (("pole", "ankle"), ("end10", "other ankle"), ("tip", "toes"))
)
"""The foot of the first leg is part of the ground; that of the other is a link, fixed at ankle and toes."""
BALANCE = 0.05
"""x of the centre of mass relative to the ankles, over the middle of the feet [m]."""
HIP, LEAN, ARMS = (0.45, 0.84), (0.75, 0.03), ((-0.4, 0.1), (-np.pi / 2, -np.pi / 2))
"""Initial and final height of the hips [m], lean of the trunk, and angles of upper arms and forearms [rad]."""
CROUCHING = {"support shin": 1.07, "support thigh": 2.99, "swing thigh": -0.15, "swing shin": -2.07}
"""Initial guess of the angles of the crouch [rad]."""


@dataclass(frozen=True, eq=False)
class GroundReactions:
    """Reactions of the ground, expressions in the plant's t, q, v and p.

    Attributes:
        upwards: vertical force on each contact, shape (3,) [N].
        friction: coefficient of friction that each contact requires, shape (3,).
        pressure: x of the centre of pressure of both feet [m].
    """

    upwards: ca.SX
    friction: ca.SX
    pressure: ca.SX


@dataclass(frozen=True, eq=False)
class StandingUp:
    """The body and its program.

    Attributes:
        robot: the body on both feet, with a drive in every joint, along every link, and in the first ankle; the
            positions of its contacts are nominal values of parameters.
        center: centre of mass, shape (2,) [m].
        target: target of the x of the centre of mass and the y of the hips, shape (2,) [m].
        program: eighteen rows for the eighteen degrees of freedom.
    """

    robot: Robot
    center: ca.SX
    target: ca.SX
    program: Program

    @classmethod
    def of(cls, time: float) -> StandingUp:
        """Build the body and the program that leads it from a crouch to standing.

        Args:
            time: duration of the rise [s].
        """
        free = body_model(
            body_mass=MASS,
            height=HEIGHT,
            sex="male",
            stiffness=2e4,
            damping=60.0,
            base="floating",
            axial_drives=True,
        )
        driven = with_drive(free, "M1", _angle(free, "support shin"))
        robot = _with_contact_positions(with_contacts(driven, CONTACTS, perturbation=Baumgarte(30.0)))
        share = ca.fmin(robot.t / time, 1.0)
        share = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)

        def transition(first: float, last: float) -> ca.SX:
            return first + (last - first) * share

        center, target = center_of_mass(robot), ca.vertcat(BALANCE, transition(*HIP))
        angles = [transition(*ends) for ends in zip(*ARMS, strict=True)] * 2
        posture = ca.vertcat(np.pi / 2 - transition(*LEAN), np.pi / 2, *angles)
        # The length of the last link is fixed by the two contacts at its ends.
        names = [f"l{i}" for i in range(1, len(LINKS))]
        lengths = ca.vertcat(*(robot.q[robot.coordinates.names.index(name)] for name in names))
        rest = ca.vertcat(*(robot.parameters[name.upper()] for name in names))
        rows = [
            _tracking("balance", ca.vertcat(center[0], robot.points["end2"][1]), target),
            _tracking("posture", ca.vertcat(*(_angle(robot, name) for name in LINKS[2:8])), posture),
            _tracking("lengths", lengths, rest),
        ]
        return cls(robot, center, target, Program(robot, rows))

    def start(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return coordinates and velocities of the crouch at rest."""
        guess = body_posture(height=HEIGHT, sex="male", angles=CROUCHING | {"trunk": 0.82}, pole=(0.0, 0.0))
        return start_on(self.program, guess)

    def ground(self, output: ca.SX) -> GroundReactions:
        """Return the reactions of the ground.

        Args:
            output: inputs of the drives, shape (nu,).
        """
        robot, p = self.robot, self.robot.parameters
        forces = [contact_force(robot, contact, u=output) for contact in CONTACTS]
        upwards = ca.vertcat(*(force[1] for force in forces))
        # Moment about the ankles: the torque of the first one, and the force at the toes.
        moment = output[robot.input_names.index("M1")] + p["toes.x"] * forces[2][1] - p["toes.y"] * forces[2][0]
        friction = ca.vertcat(*(required_friction(robot, contact, u=output) for contact in CONTACTS))
        return GroundReactions(upwards, friction, moment / ca.sum1(upwards))


def center_of_mass(robot: Robot) -> ca.SX:
    """Return the centre of mass of the eleven links and the foot on the ground, shape (2,) [m].

    Args:
        robot: the body with a floating base.
    """
    p = robot.parameters
    parts = [(p["h0"], robot.points["pole"])]
    parts += [(p[f"m{i}"], robot.points[f"center{i}"]) for i in range(1, len(LINKS) + 1)]
    return sum((m * point for m, point in parts), ca.SX.zeros(2)) / sum((m for m, _ in parts), ca.SX(0))


def _with_contact_positions(robot: Robot) -> Robot:
    """Return the robot with contact positions: both ankles at the origin, the toes as with the foot flat."""
    upright = body_posture(height=HEIGHT, sex="male", pole=(0.0, 0.0))
    spots = contact_positions(robot, CONTACTS, upright) | dict.fromkeys(
        (*CONTACTS[0].position_names, *CONTACTS[1].position_names), 0.0
    )
    p = robot.parameters
    return dataclasses.replace(robot, parameters=dataclasses.replace(p, nominal={**p.nominal, **spots}))


def _angle(robot: Robot, link: str) -> ca.SX:
    return robot.q[robot.coordinates.names.index(f"phi{LINKS.index(link) + 1}")]


def _tracking(name: str, output: ca.SX, value: ca.SX) -> Constraint:
    return tracking(output, value, perturbation=Baumgarte(10.0), name=name)


TRACKING_RATE = 10.0
"""Decay rate of errors, equal to that of the program [1/s]."""
INDEPENDENT = (*(f"phi{i}" for i in range(1, 9)), *(f"l{i}" for i in range(1, 11)))
"""As many coordinates as degrees of freedom: all but the position of the first ankle, the second leg and its foot."""
RANDOMIZATION: Mapping[str, Distribution] = {f"plant.m{i}": Scaled(Uniform(0.9, 1.1)) for i in (1, 2, 3, 4, 9, 10)}
"""Masses of legs, trunk and head; the start is not varied, because both feet are fixed."""


def computed_torque(setup: Setup, reference: Reference) -> Controller:
    """Return computed torque for the independent coordinates."""
    return ComputedTorque(setup.robot, reference, coordinates=INDEPENDENT, rate=TRACKING_RATE)


def pd_gravity(setup: Setup, reference: Reference) -> Controller:
    """Return a PD law with gravity compensation for all coordinates; the full rate would require shorter steps."""
    return PDGravity(setup.robot, reference, rate=TRACKING_RATE / 2)


# Each polynomial piece of the reference costs operations in all 24 coordinates: a millimetre is accurate enough.
BASELINES: Mapping[str, MakeController] = {
    "computed torque": MotionTracking(computed_torque, tolerance=1e-3),
    "PD and gravity": MotionTracking(pd_gravity, tolerance=1e-3),
}


def stand_pictures(names: Sequence[str], ground: GroundReactions, balance: float) -> dict[str, Draw]:
    """Build the pictures: ground reactions, plots over time, the robot at several instants, and an animation.

    Args:
        names: names of the contacts.
        ground: reactions of the ground.
        balance: x of the target of the centre of mass [m].
    """

    def draw(motion: Trajectory, target: Path) -> None:
        from ...views.ground_forces import draw_stance
        from ...views.style import save_figure

        figure = draw_stance(motion, names, ground.upwards, ground.friction, ground.pressure, balance=balance)
        save_figure(figure, target)

    return {"ground.png": draw, **motion_pictures(9, "end4")}


@scenario("standing-up")
def standing_up(*, rise: float = 1.5, duration: float = 2.5, step: float = 1e-3) -> Setup:
    """A figure of eleven links stands up from a crouch on both feet, its centre of mass kept over them by the program.

    A man of 73 kg with the segments of de Leva; his feet are natural constraints that close a loop through the ground,
    and 22 drives realise 18 rows with the least effort. Expect no tension under the feet, the centre of pressure within
    a centimetre of the balance, friction of less than 0.2, and at the end the weight on the ground, 716.13 N.

    Args:
        rise: duration of the rise [s].
        duration: duration of the motion [s].
        step: step of the integration and of the samples [s].
    """
    rising = StandingUp.of(positive("rise", rise))
    robot, (q0, v0) = rising.robot, rising.start()
    law = ProgramController(rising.program, realization="actuated")
    assert law.law is not None
    ground = rising.ground(law.law.output)
    torques = [i for i, name in enumerate(robot.input_names) if name.startswith("M")]
    weight = MASS * robot.nominal["g"]
    measures = {
        "rise of the centre of mass": Measure(lambda m: np.ptp(m.evaluate(rising.center[1])), "m", (0.342, 0.3425)),
        "force of the ground at the end": Measure(
            lambda m: m.evaluate(ground.upwards)[-1].sum(), "N", (weight - 0.01, weight + 0.01)
        ),
        "least upward force on a contact": Measure(lambda m: m.evaluate(ground.upwards).min(), "N", (28.0, 29.0)),
        "friction needed": Measure(lambda m: m.evaluate(ground.friction).max(), "", (0.18, 0.19)),
        "centre of pressure, distance from the balance": Measure(
            lambda m: np.abs(m.evaluate(ground.pressure) - BALANCE).max(), "m", (0.006, 0.008)
        ),
        "largest torque in a joint": Measure(lambda m: np.abs(m.u[:, torques]).max(), "N m", (138.0, 140.0)),
        "deviation from the program": Measure(lambda m: np.abs(m.deviation).max(), "m, rad", (0.0, 1e-9)),
    }
    pictures = stand_pictures([contact.name for contact in CONTACTS], ground, BALANCE)
    return Setup(
        *(robot, law, q0, v0, duration, step),
        measures=measures,
        pictures=pictures,
        error=ca.norm_2(ca.vertcat(rising.center[0], robot.points["end2"][1]) - rising.target),
        settled=0.01,
        unit="m",
        randomization=RANDOMIZATION,
        baselines=BASELINES,
    )
