"""The arm, path and disc that several tests share."""

from __future__ import annotations

from erugin.constraints import EruginField, FirstOrder, circle, follow, line
from erugin.controllers import Program
from erugin.robots import Link, Robot, planar_manipulator

START, END = (0.75, -0.55), (0.45, 0.75)
ELBOW = (-1.3, 1.4)
RATE = 8.0


def two_link_arm() -> Robot:
    return planar_manipulator([Link.point_mass(0.6, 2.5), Link.point_mass(0.5, 1.8)])


def three_link_arm() -> Robot:
    return planar_manipulator([Link(0.4, 2.0, 0.2, 0.03), Link(0.35, 1.5, 0.15, 0.02), Link(0.3, 1.0, 0.1, 0.01)])


def disc_field() -> EruginField:
    disc = circle((0.95, 0.10), 0.10, velocity=(-0.06, 0.02), name="disc")
    return EruginField(line(START, END, name="path"), [disc], speed=0.15, margin=0.05, rounding=0.03)


def disc_program(robot: Robot | None = None) -> Program:
    arm = two_link_arm() if robot is None else robot
    return Program(arm, follow(disc_field(), arm.points["tip"], perturbation=FirstOrder(RATE)))
