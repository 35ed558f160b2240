"""A telescopic link that falls on its ends, and a law that turns it upright."""

from __future__ import annotations

import functools

import numpy as np

from erugin.constraints import Baumgarte, tracking
from erugin.controllers import Program, ProgramController
from erugin.robots import Contact, Robot, TelescopicLink, exoskeleton, with_contacts

from .called_controller import Called

G, MASS, INERTIA, SHOE, STIFFNESS, REST = 9.81, 2.0, 0.03, 0.4, 800.0, 0.6
LEFT, RIGHT = Contact("pole", (0.0, 1.0), "left"), Contact("tip", (0.0, 1.0), "right")
X, Y, PHI, LENGTH = range(4)
FALLING = np.array([0.2, 0.3, 0.5, REST]), np.array([0.3, -0.2, 0.4, 0.1])


@functools.cache
def strut() -> Robot:
    """One telescopic link in the air, a shoe at its lower end: q = (x, y, φ, l), (x, y) the shoe."""
    link = TelescopicLink(MASS, INERTIA, 0.5, STIFFNESS, REST)
    return exoskeleton([link], base="floating", pole_mass=SHOE, axial_drives=True, name="strut")


@functools.cache
def on(*feet: Contact) -> Robot:
    return with_contacts(strut(), feet)


def upright(robot: Robot, *, called: bool = False) -> ProgramController | Called:
    """Turns the strut upright, in the controller's model of it."""
    row = tracking(robot.q[PHI], [np.pi / 2], perturbation=Baumgarte(8.0), name="upright")
    law = ProgramController(Program(robot, row))
    return Called(law) if called else law
