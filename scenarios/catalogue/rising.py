"""A body of eleven links on both feet, and what it is to do to stand up."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints import Baumgarte, Constraint, trajectory
from ...controllers import Program, start_on
from ...robots import Contact, Robot, contact_force, friction_needed, places, standing, with_drive
from ...robots.examples import body_model, body_posture
from ...robots.examples.body_model import LINKS

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
class Ground:
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
class Rising:
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
    def of(cls, time: float) -> Rising:
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
        robot = _in_place(standing(driven, CONTACTS, perturbation=Baumgarte(30.0)))
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

    def ground(self, output: ca.SX) -> Ground:
        """What the ground has to bear.

        Args:
            output: of the drives, shape (nu,).
        """
        robot, p = self.robot, self.robot.parameters
        forces = [contact_force(robot, contact, u=output) for contact in CONTACTS]
        upwards = ca.vertcat(*(force[1] for force in forces))
        # About the ankles: the first one's torque, and the force at the toes.
        moment = output[robot.input_names.index("M1")] + p["toes.x"] * forces[2][1] - p["toes.y"] * forces[2][0]
        friction = ca.vertcat(*(friction_needed(robot, contact, u=output) for contact in CONTACTS))
        return Ground(upwards, friction, moment / ca.sum1(upwards))


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
    spots = places(robot, CONTACTS, upright) | dict.fromkeys((*CONTACTS[0].places, *CONTACTS[1].places), 0.0)
    p = robot.parameters
    return dataclasses.replace(robot, parameters=dataclasses.replace(p, nominal={**p.nominal, **spots}))


def _angle(robot: Robot, link: str) -> ca.SX:
    return robot.q[robot.coordinates.names.index(f"phi{LINKS.index(link) + 1}")]


def _held(name: str, output: ca.SX, value: ca.SX) -> Constraint:
    return trajectory(output, value, perturbation=Baumgarte(10.0), name=name)
