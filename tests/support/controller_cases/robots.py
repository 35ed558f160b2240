"""The robots that every controller meets in the contract test."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erugin.robots import Link, Robot, TelescopicLink, assemble, exoskeleton, planar_manipulator, with_inputs
from erugin.robots.examples import altmann_heiland_crane, fukao_robot, pinocchio_four_bar

from ..arms import two_link_arm
from ..urdf import seven_joint_arm

Array = NDArray[np.float64]


class RobotCase(NamedTuple):
    """A robot and where its second begins.

    The reference of a law that follows one, and the program of one that realises one, start there.
    """

    name: str
    robot: Robot
    q0: Array
    v0: Array
    step: float = 1e-3


def acrobot() -> Robot:
    """Two rods, one drive at the elbow; q = (0, 0) hangs down."""
    m1, m2, l1, l2 = 0.52346, 0.62557, 0.2, 0.3
    links = [Link(l1, m1, l1 / 2, m1 * l1**2 / 12), Link(l2, m2, l2 / 2, m2 * l2**2 / 12)]
    arm = planar_manipulator(links, zero="down")
    return with_inputs(arm, [arm.input_names[1]])


def _four_bar() -> RobotCase:
    robot = pinocchio_four_bar()
    q = assemble(robot, [0.8] * robot.coordinates.nq).q
    return RobotCase("four-bar linkage", robot, q, np.zeros(robot.coordinates.nv))


def _arm_of_seven_joints() -> RobotCase:
    q = np.array([0.1, -0.6, 0.2, -2.1, 0.1, 1.6, 0.7])
    return RobotCase("seven-joint arm", seven_joint_arm(), q, np.zeros(7))


CASES: dict[str, Callable[[], RobotCase]] = {
    "two-link arm": lambda: RobotCase("two-link arm", two_link_arm(), np.array([-0.9, 1.4]), np.zeros(2)),
    "four links, absolute angles": lambda: RobotCase(
        "four links, absolute angles",
        planar_manipulator([Link(0.4, 2.0, 0.2, 0.03)] * 4, angles="absolute"),
        np.array([0.2, 0.7, 1.2, 1.8]),
        np.zeros(4),
    ),
    "four-bar linkage": _four_bar,
    "two-wheel robot": lambda: RobotCase(
        "two-wheel robot", fukao_robot(), np.zeros(5), np.array([0.3, 0.0, 0.0, 2.0, 2.0])
    ),
    "reduced two-wheel robot": lambda: RobotCase(
        "reduced two-wheel robot", fukao_robot(form="reduced"), np.zeros(5), np.array([0.3, 0.1])
    ),
    "exoskeleton": lambda: RobotCase(
        "exoskeleton",
        exoskeleton([TelescopicLink(3.0, 0.05, 0.5, 2e4, 0.45, damping=150.0)] * 2),
        np.array([1.6, 1.5, 0.45, 0.45]),
        np.zeros(4),
    ),
    "acrobot": lambda: RobotCase("acrobot", acrobot(), np.array([0.1, -0.1]), np.zeros(2)),
    "crane": lambda: RobotCase("crane", altmann_heiland_crane(), np.array([0.0, 3.0, 0.05]), np.zeros(3)),
    "seven-joint arm": _arm_of_seven_joints,
}


@functools.cache
def robot_case(name: str) -> RobotCase:
    """A robot, built once."""
    return CASES[name]()
