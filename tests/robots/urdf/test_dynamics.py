"""Real robots against Pinocchio: M, h, forward dynamics, poses and Jacobians of frames."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots.urdf import UrdfError

from ...support.urdf import (
    in_pinocchio,
    load_quietly,
    real_robots,
    require_close,
    require_equal,
)

Array = NDArray[np.float64]

ROBOTS = [
    ("ur5_robot", "fixed", 6),
    ("panda", "fixed", 9),
    ("kinova", "fixed", 6),
    ("xarm7", "fixed", 7),
    ("allegro_right_hand", "fixed", 16),
    ("solo12", "floating", 18),
    ("anymal_c_simple_description/anymal", "floating", 18),
    ("go2", "floating", 18),
    ("bolt", "floating", 12),
    ("simple_humanoid", "floating", 35),
    ("talos_reduced", "floating", 38),
    ("tiago_no_hand", "floating", 18),
]
"""Arms, a hand, quadrupeds, bipeds, a humanoid, a mobile manipulator; and their number of velocities."""

REFUSED = {
    "alex_psyonic_hands": "<mimic>: there is no joint 'index_q1'",
    "romeo": "no inertia is moved by 'LHand'",
    "romeo_laas_small": "no inertia is moved by 'l_gripper_joint' (line 711), 'r_gripper_joint'",
    "ur3": "the attribute 'name' is missing",
}
"""Files that describe impossible robots, whatever the options."""
AT_REST = ("quadrotor_base", "iris_simple")
"""Files of which nothing moves on a fixed base."""


@pytest.mark.parametrize(("name", "base", "velocities"), ROBOTS, ids=lambda value: str(value))
def test_a_real_robot(name: str, base: str, velocities: int) -> None:
    path = real_robots()[name]
    robot = load_quietly(path, base=base)
    assert robot.coordinates.nv == velocities
    links = list(robot.frames)
    require_equal(robot, path, base, [links[0], links[len(links) // 2], links[-1]])


def test_every_frame_of_a_robot() -> None:
    path = real_robots()["talos_reduced"]
    robot = load_quietly(path, base="floating")
    assert len(robot.frames) == 60
    assert list(robot.points) == list(robot.frames)
    other = in_pinocchio(robot, path, base="floating")
    q, _ = other.random_state(np.random.default_rng(3))
    for name, frame in robot.frames.items():
        rotation, position = other.frame(q, name)
        require_close(robot.evaluate(ca.horzcat(frame.rotation, robot.points[name]), q=q), np.c_[rotation, position])


@pytest.mark.slow
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", sorted(real_robots()))
def test_all_robots(name: str, base: str) -> None:
    path = real_robots()[name]
    if name in REFUSED or (name in AT_REST and base == "fixed"):
        with pytest.raises(UrdfError) as caught:
            load_quietly(path, base=base)
        assert REFUSED.get(name, "this robot has no moving joint") in str(caught.value)
        return
    robot = load_quietly(path, base=base)
    require_equal(robot, path, base, list(robot.frames)[-1:], states=1)


def test_there_are_many_real_robots() -> None:
    assert len(real_robots()) >= 60
    assert set(REFUSED) <= set(real_robots())
