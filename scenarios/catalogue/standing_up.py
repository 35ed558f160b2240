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
"""Of the mean man of [DeLeva1996]_ [kg], [m]."""
CONTACTS = tuple(
    Contact(point, (0.0, 1.0), name) for point, name in (("pole", "ankle"), ("end10", "other ankle"), ("tip", "toes"))
)
"""The foot of the first leg rests and belongs to the ground; that of the other is a link, held at ankle and toes."""
BALANCE = 0.05
"""x of the centre of mass from the ankles, over the middle of the feet [m]."""
HIP, LEAN, ARMS = (0.45, 0.84), (0.75, 0.03), ((-0.4, 0.1), (-np.pi / 2, -np.pi / 2))
"""First and last height of the hips [m], lean of the trunk, and angles of upper arms and forearms [rad]."""
CROUCHING = {"support shin": 1.07, "support thigh": 2.99, "swing thigh": -0.15, "swing shin": -2.07}
"""Angles near which the crouch is sought [rad]."""


@dataclass(frozen=True, eq=False)
class GroundReactions:
    """What the ground has to bear, in the plant's t, q, v and p.

    Attributes:
        upwards: force on each contact, shape (3,) [N].
        friction: coefficient that each contact needs, shape (3,).
        pressure: x of the centre of pressure of both feet [m].
    """

    upwards: ca.SX
    friction: ca.SX
    pressure: ca.SX


@dataclass(frozen=True, eq=False)
class StandingUp:
    """The body, and its way up.

    Attributes:
        robot: on both feet, with a drive in every joint, along every link, and in the first ankle; the places of its
            contacts are nominal values.
        center: of mass, shape (2,) [m].
        target: where the centre of mass and the hips are to be: x of the one, y of the other, shape (2,) [m].
        program: eighteen rows for its eighteen degrees of freedom.
    """

    robot: Robot
    center: ca.SX
    target: ca.SX
    program: Program

    @classmethod
    def of(cls, time: float) -> StandingUp:
        """From a crouch to standing.

        Args:
            time: that it takes [s].
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
        robot = _in_place(with_contacts(driven, CONTACTS, perturbation=Baumgarte(30.0)))
        share = ca.fmin(robot.t / time, 1.0)
        share = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)

        def way(first: float, last: float) -> ca.SX:
            return first + (last - first) * share

        center, target = center_of_mass(robot), ca.vertcat(BALANCE, way(*HIP))
        angles = [way(*ends) for ends in zip(*ARMS, strict=True)] * 2
        outer = ca.vertcat(np.pi / 2 - way(*LEAN), np.pi / 2, *angles)
        # The last link lies between two contacts, which hold its length.
        names = [f"l{i}" for i in range(1, len(LINKS))]
        lengths = ca.vertcat(*(robot.q[robot.coordinates.names.index(name)] for name in names))
        rest = ca.vertcat(*(robot.parameters[name.upper()] for name in names))
        rows = [
            _held("balance", ca.vertcat(center[0], robot.points["end2"][1]), target),
            _held("posture", ca.vertcat(*(_angle(robot, name) for name in LINKS[2:8])), outer),
            _held("lengths", lengths, rest),
        ]
        return cls(robot, center, target, Program(robot, rows))

    def start(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The crouch, at rest."""
        guess = body_posture(height=HEIGHT, sex="male", angles=CROUCHING | {"trunk": 0.82}, pole=(0.0, 0.0))
        return start_on(self.program, guess)

    def ground(self, output: ca.SX) -> GroundReactions:
        """What the ground has to bear.

        Args:
            output: of the drives, shape (nu,).
        """
        robot, p = self.robot, self.robot.parameters
        forces = [contact_force(robot, contact, u=output) for contact in CONTACTS]
        upwards = ca.vertcat(*(force[1] for force in forces))
        # About the ankles: the first one's torque, and the force at the toes.
        moment = output[robot.input_names.index("M1")] + p["toes.x"] * forces[2][1] - p["toes.y"] * forces[2][0]
        friction = ca.vertcat(*(required_friction(robot, contact, u=output) for contact in CONTACTS))
        return GroundReactions(upwards, friction, moment / ca.sum1(upwards))


def center_of_mass(robot: Robot) -> ca.SX:
    """Of the eleven links and the resting foot, shape (2,) [m].

    Args:
        robot: with a floating base.
    """
    p = robot.parameters
    parts = [(p["h0"], robot.points["pole"])]
    parts += [(p[f"m{i}"], robot.points[f"center{i}"]) for i in range(1, len(LINKS) + 1)]
    return sum((m * point for m, point in parts), ca.SX.zeros(2)) / sum((m for m, _ in parts), ca.SX(0))


def _in_place(robot: Robot) -> Robot:
    """Both ankles at the origin, the toes where they are with the foot flat on the ground."""
    upright = body_posture(height=HEIGHT, sex="male", pole=(0.0, 0.0))
    spots = contact_positions(robot, CONTACTS, upright) | dict.fromkeys(
        (*CONTACTS[0].position_names, *CONTACTS[1].position_names), 0.0
    )
    p = robot.parameters
    return dataclasses.replace(robot, parameters=dataclasses.replace(p, nominal={**p.nominal, **spots}))


def _angle(robot: Robot, link: str) -> ca.SX:
    return robot.q[robot.coordinates.names.index(f"phi{LINKS.index(link) + 1}")]


def _held(name: str, output: ca.SX, value: ca.SX) -> Constraint:
    return tracking(output, value, perturbation=Baumgarte(10.0), name=name)


TRACKING_RATE = 10.0
"""At which errors decay, as those of the program [1/s]."""
INDEPENDENT = (*(f"phi{i}" for i in range(1, 9)), *(f"l{i}" for i in range(1, 11)))
"""As many coordinates as degrees of freedom: all but the place of the first ankle, the second leg and its foot."""
VARIED: Mapping[str, Distribution] = {f"plant.m{i}": Scaled(Uniform(0.9, 1.1)) for i in (1, 2, 3, 4, 9, 10)}
"""Masses of legs, trunk and head; the start is left alone, for both feet hold it."""


def computed_torque(setup: Setup, reference: Reference) -> Controller:
    """Inverse dynamics of the independent coordinates."""
    return ComputedTorque(setup.robot, reference, coordinates=INDEPENDENT, rate=TRACKING_RATE)


def pd_gravity(setup: Setup, reference: Reference) -> Controller:
    """Springs and dampers of all coordinates, and gravity made up for; with the full rate steps would be too long."""
    return PDGravity(setup.robot, reference, rate=TRACKING_RATE / 2)


# Every piece of the motion costs operations in each of the 24 coordinates: a millimetre is near enough.
RIVALS: Mapping[str, MakeController] = {
    "computed torque": MotionTracking(computed_torque, tolerance=1e-3),
    "PD and gravity": MotionTracking(pd_gravity, tolerance=1e-3),
}


def stand_pictures(names: Sequence[str], ground: GroundReactions, balance: float) -> dict[str, Draw]:
    """What the ground has to bear, and the pictures of any motion.

    Args:
        names: of the contacts.
        ground: forces, friction and centre of pressure.
        balance: x over which the centre of mass is held [m].
    """

    def drawn(motion: Trajectory, target: Path) -> None:
        from ...views.ground_forces import draw_stance
        from ...views.style import save_figure

        told = (ground.upwards, ground.friction, ground.pressure)
        save_figure(draw_stance(motion, names, *told, balance=balance), target)

    return {"ground.png": drawn, **motion_pictures(9, "end4")}


@scenario("standing-up")
def standing_up(*, rise: float = 1.5, duration: float = 2.5, step: float = 1e-3) -> Setup:
    """A figure of eleven links stands up from a crouch on both feet, its centre of mass kept over them by the program.

    A man of 73 kg with the segments of de Leva; his feet are natural constraints that close a loop through the ground,
    and 22 drives do what 18 rows ask for, with the least effort. Expect no foot to be pulled, the centre of pressure
    within a centimetre of the balance, friction of less than 0.2, and in the end the weight on the ground, 716.13 N.

    Args:
        rise: time that it takes [s].
        duration: of the motion [s].
        step: of the integration and of the samples [s].
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
        "centre of pressure off the balance": Measure(
            lambda m: np.abs(m.evaluate(ground.pressure) - BALANCE).max(), "m", (0.006, 0.008)
        ),
        "largest torque in a joint": Measure(lambda m: np.abs(m.u[:, torques]).max(), "N m", (138.0, 140.0)),
        "off the program": Measure(lambda m: np.abs(m.deviation).max(), "m, rad", (0.0, 1e-9)),
    }
    drawn = stand_pictures([contact.name for contact in CONTACTS], ground, BALANCE)
    return Setup(
        *(robot, law, q0, v0, duration, step),
        measures=measures,
        pictures=drawn,
        error=ca.norm_2(ca.vertcat(rising.center[0], robot.points["end2"][1]) - rising.target),
        settled=0.01,
        unit="m",
        varied=VARIED,
        rivals=RIVALS,
    )
