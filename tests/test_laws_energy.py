"""Free motions of ten seconds keep their energy, and quaternions their length."""

from __future__ import annotations

import re

import numpy as np
import pytest

from erugin.robots import Robot
from erugin.robots.tree import Floating
from erugin.scenarios import simulate
from erugin.simulation import DOP853, Trajectory

from .test_laws import RESISTANCES
from .tree_families import default, random_states, tree_of

TIGHT = DOP853(1e-13, 1e-14)
DURATION = 10.0
FREE = (
    "manipulator-3-relative-horizontal",
    "manipulator-2-absolute-down",
    "exoskeleton-pinned",
    "exoskeleton-branched",
    "exoskeleton-stretched-in-space",
    "leg",
    "tree-floating base",
    "tree-two floating bodies",
    "tree-telescopes in the plane",
    "tree-everything",
    "urdf-ur5",
    "urdf-double-pendulum-in-flight",
)


def numbers(robot: Robot) -> dict[str, float]:
    """No resistances; springs that let the integrator take long steps; what nothing holds falls slowly."""
    changed: dict[str, float] = {}
    falls = any(re.search(r"^(x|h0|g0)$|^root", name) for name in (*robot.parameters.names, *robot.coordinates.names))
    for name, value in robot.nominal.items():
        if RESISTANCES.fullmatch(name):
            changed[name] = 0.0
        elif re.fullmatch(r"k\d+", name):
            changed[name] = 200.0
        elif falls and re.fullmatch(r"g\d?", name):
            changed[name] = value / 20.0
    return changed


def assert_energy_is_kept(motion: Trajectory) -> None:
    """To 1e-10 of the greatest kinetic energy, of which some must have been exchanged."""
    kinetic = motion.evaluate(motion.robot.kinetic_energy)
    assert motion.t[-1] == DURATION
    assert np.ptp(kinetic) > 0.2 * kinetic.max()
    assert np.abs(motion.energy - motion.energy[0]).max() <= 1e-10 * kinetic.max()


@pytest.mark.parametrize("name", FREE)
def test_free_motion_keeps_its_energy(name: str) -> None:
    robot = default(name)
    q, v, _ = next(random_states(robot, 5, 1))
    motion = simulate(robot, None, q, v, DURATION, step=0.05, integrator=TIGHT, p=numbers(robot))
    assert_energy_is_kept(motion)
    assert np.ptp(motion.q, axis=0).min() > 1e-2  # all of it moved
    for node in tree_of(robot).nodes:
        if isinstance(node.joint, Floating):
            at = [robot.coordinates.names.index(f"{node.name}{suffix}") for suffix in node.joint.suffixes[3:]]
            assert np.abs(np.linalg.norm(motion.q[:, at], axis=1) - 1.0).max() <= 1e-12


def test_a_torque_that_resists_takes_energy() -> None:
    """The check above would notice a damper of 0.01 N s/m."""
    robot = default("exoskeleton-pinned")
    q, v, _ = next(random_states(robot, 5, 1))
    p = numbers(robot) | {"d2": 0.01}
    motion = simulate(robot, None, q, v, DURATION, step=0.05, integrator=TIGHT, p=p)
    with pytest.raises(AssertionError):
        assert_energy_is_kept(motion)
