"""Multipliers and motion of trees with a point held in place, as program or as nature, against Pinocchio and NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic
from erugin.controllers import Program
from erugin.controllers.multipliers import LdlMultipliers, MultiplierMethod, SweepMultipliers, default_method
from erugin.controllers.realization import IdealRealization
from erugin.robots import Link, Robot, TelescopicLink, exoskeleton, load_urdf, mechanism, planar_manipulator
from erugin.symbolic import Parameters

from .references.pinocchio_constrained import PinocchioHeld
from .references.planar_newton_euler import LinkData
from .references.telescopic_bodies import Rod
from .urdf import real_robots, without_dissipation

Array = NDArray[np.float64]

LINK = LinkData(0.5, 1.2, 0.2, 0.03)
ROD = Rod(mass=1.4, inertia=0.06, ratio=1.0, stiffness=700.0, rest=0.8)
TELESCOPE = TelescopicLink(ROD.mass, ROD.inertia, ROD.ratio, ROD.stiffness, ROD.rest)
METHODS = (SweepMultipliers(), LdlMultipliers())


class Motion(NamedTuple):
    """What is compared: a, the force on the point that is held, and the generalized force of it."""

    acceleration: Array
    multipliers: Array
    force: Array


class Held(NamedTuple):
    """A robot with a point held where it is: functions of q, v, parameters and that place."""

    robot: Robot
    place: ca.Function
    motion: ca.Function
    theta: ca.Function

    @classmethod
    def of(cls, robot: Robot, point: ca.SX, method: MultiplierMethod | None = None) -> Held:
        """As a program."""
        goal = Parameters.declare({f"goal{i}": 0.0 for i in range(point.numel())})
        program = Program(robot, holonomic(point - goal.symbols, parameters=goal, name="held"))
        found = IdealRealization().build(program, default_method(program) if method is None else method)
        gains = program.p[robot.p.numel() + point.numel() :]
        numbers = ca.DM([*program.nominal.values()][-gains.numel() :])
        outputs = ca.substitute([found.acceleration, found.multipliers, found.force], [gains], [ca.SX(numbers)])
        symbols = [robot.q, robot.v, robot.p]
        return cls(
            robot,
            ca.Function("place", [robot.q, robot.p], [point]),
            ca.Function("motion", [*symbols, goal.symbols], outputs),
            ca.Function("rows", [robot.q, robot.p], [program.theta]),
        )

    def still(self, rng: np.random.Generator, q: Array, p: Array) -> Array:
        """Velocities at random that do not move the point."""
        v, theta = rng.uniform(-0.3, 0.3, len(q)), np.array(self.theta(q, p))
        return np.asarray(v - np.linalg.lstsq(theta, theta @ v, rcond=None)[0], dtype=np.float64)

    def at(self, q: Array, v: Array, p: Array) -> Motion:
        """Numbers at one state."""
        (place,) = self.place.call([ca.DM(q), ca.DM(p)])
        found = self.motion.call([ca.DM(q), ca.DM(v), ca.DM(p), place])
        return Motion(*(np.array(x)[:, 0] for x in found))


def close(actual: Array, expected: Array, tolerance: float) -> None:
    """Equal but for a share of the largest entry, which is not nothing."""
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@functools.cache
def held_chain(n: int) -> Held:
    robot = planar_manipulator([Link(*LINK)] * n)
    return Held.of(robot, robot.points["tip"])


@pytest.mark.foreign
@pytest.mark.parametrize("n", [2, 3, 7, 30, 100])
def test_a_chain_held_at_its_tip(n: int) -> None:
    held, other = held_chain(n), PinocchioHeld.chain([LINK] * n, 9.81)
    rng, p = np.random.default_rng(n), np.array([*held.robot.nominal.values()])
    for _ in range(3):
        q = rng.uniform(-1.0, 1.0, n)
        v = held.still(rng, q, p)
        mine = held.at(q, v, p)
        a, force = other.motion(q, v, np.zeros(n))
        # The mass matrix of a hundred links has a condition of 1e8: rounding is seen in a, not in what it needs.
        if n > 2:
            close(mine.acceleration, a, 1e-12 if n < 10 else 1e-9)
        # Two links whose tip is held do not move at all.
        assert n > 2 or max(np.abs(mine.acceleration).max(), np.abs(a).max()) < 1e-11
        close(mine.multipliers, force[:2], 1e-12 if n < 10 else 1e-10)
        scale = np.abs(mine.force).max() + np.abs(other.needed(q, v, 0.0 * a)).max()
        missed = other.needed(q, v, mine.acceleration) - mine.force
        assert np.abs(missed).max() < 1e-13 * scale
        assert np.abs(missed + 1e-9 * mine.force).max() > 1e-13 * scale


@pytest.mark.foreign
@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_an_arm_of_seven_joints_held_in_space(method: MultiplierMethod) -> None:
    """The arm is placed on axes of coordinates, so that each body has its own axes."""
    robot = load_urdf(real_robots()["xarm7"], check_inertia=False)
    assert robot.tree is not None
    assert not robot.tree.sweep.in_world
    link = list(robot.points)[-1]
    held = Held.of(robot, robot.points[link], method)
    other = PinocchioHeld.urdf(real_robots()["xarm7"], link, 9.81)
    rng, n = np.random.default_rng(7), robot.coordinates.nv
    p = np.array([*{**robot.nominal, **without_dissipation(robot)}.values()])
    for _ in range(5):
        q = rng.uniform(-1.0, 1.0, n)
        v = held.still(rng, q, p)
        mine = held.at(q, v, p)
        a, force = other.motion(q, v, np.zeros(n))
        close(mine.acceleration, a, 1e-11)
        close(mine.multipliers, force, 1e-11)


@pytest.mark.foreign
@pytest.mark.parametrize("nature", [True, False], ids=["nature", "program"])
def test_eleven_links_of_variable_length_with_the_foot_on_the_ground(nature: bool) -> None:
    """As in Pinocchio with a slide after each hinge, its angles relative and its lengths the same."""
    n = 11
    robot, other = exoskeleton([TELESCOPE] * n), PinocchioHeld.telescopes([ROD] * n, 9.81)
    held = Held.of(robot, robot.points["tip"])
    # Row by row angle and length of each rod, the angle from the rod before.
    S = np.zeros((2 * n, 2 * n))
    for i in range(n):
        S[2 * i, i], S[2 * i + 1, n + i] = 1.0, 1.0
        if i:
            S[2 * i, i - 1] = -1.0
    rng, p = np.random.default_rng(11), np.array([*robot.nominal.values()])
    for _ in range(3):
        q = np.concatenate([rng.uniform(-1.0, 1.0, n), rng.uniform(0.5, 1.1, n)])
        v = held.still(rng, q, p)
        torques = np.zeros(2 * n)
        torques[1::2] = -ROD.stiffness * (q[n:] - ROD.rest)
        a, force = other.motion(S @ q, S @ v, torques)
        mine = held.at(q, v, p)
        if nature:
            closed = mechanism(robot, [(robot.points["tip"], [float(x) for x in other.place(S @ q)[:2]])])
            acceleration = closed.evaluate(closed.acceleration, q=q, v=v, u=np.zeros(n))
            mine = Motion(acceleration, closed.evaluate(closed.reactions, q=q, v=v, u=np.zeros(n)), mine.force)
        close(mine.acceleration, np.asarray(np.linalg.solve(S, a), dtype=np.float64), 1e-10)
        close(mine.multipliers, force[:2], 1e-10)


Build = Callable[[], Robot]


@pytest.mark.parametrize(
    "build",
    [
        lambda: exoskeleton([TelescopicLink(1.4, 0.06, 0.45, 700.0, 0.8)] * 4, parents=[0, 1, 2, 2]),
        lambda: planar_manipulator([Link(*LINK)] * 4, angles="absolute"),
    ],
    ids=["tree of telescopes", "absolute angles"],
)
def test_natural_and_program_rows_together_satisfy_the_whole_equations(build: Build) -> None:
    """One foot on the ground by nature and another point by program, against the whole linear system in NumPy."""
    robot = build()
    ends = [name for name in robot.points if name.startswith("joint")]
    closed = mechanism(robot, [(robot.points["tip"], [0.7, 0.4])])
    program = Program(closed, holonomic(closed.points[ends[2]] - ca.DM([0.3, 0.2]), name="aim"))
    c = closed.coordinates
    A, b = closed.natural_form
    matrices = ca.Function(
        "whole", [c.q, c.v, program.p], [closed.mass_matrix, closed.bias, A, b, program.theta, program.beta]
    )
    rng, p = np.random.default_rng(5), np.array([*program.nominal.values()])
    for method in METHODS:
        found = IdealRealization().build(program, method)
        outputs = [found.acceleration, found.reactions, found.multipliers]
        mine = ca.Function("mine", [c.q, c.v, program.p], outputs)
        for _ in range(3):
            q, v = rng.uniform(0.3, 1.2, c.nq), rng.uniform(-1.0, 1.0, c.nv)
            M, h, rows, right, theta, beta = (np.array(x) for x in matrices.call([q, v, p]))
            stacked = np.vstack([rows, theta])
            whole = np.block([[M, -stacked.T], [stacked, np.zeros((len(stacked),) * 2)]])
            expected = np.asarray(np.linalg.solve(whole, np.vstack([-h, right, beta]))[:, 0], dtype=np.float64)
            close(np.concatenate([np.array(x)[:, 0] for x in mine.call([q, v, p])]), expected, 1e-10)
