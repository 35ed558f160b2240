"""Natural rows that depend on each other, against Pinocchio and NumPy."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import holonomic, nonholonomic
from erugin.controllers import Program, ProgramController, Status, analyse
from erugin.controllers.multipliers import LdlMultipliers, MultiplierMethod, SweepMultipliers, default_method
from erugin.controllers.realization import IdealRealization
from erugin.robots import (
    Link,
    Robot,
    TelescopicLink,
    assemble,
    exoskeleton,
    lagrangian_system,
    load_urdf,
    mechanism,
    planar_manipulator,
    without_rows,
)
from erugin.robots.examples import bricard_mechanism
from erugin.scenarios import simulate
from erugin.simulation import DOP853, Trajectory
from erugin.symbolic import ModelError, Parameters

from ...support.flat_linkages import Array, flat, parallelogram
from ...support.references.pinocchio_bricard import PinocchioBricard
from ...support.references.pinocchio_constrained import PinocchioHeld
from ...support.references.planar_newton_euler import LinkData
from ...support.references.telescopic_bodies import Rod
from ...support.urdf import real_robots, without_dissipation


def closures(motion: Trajectory) -> Array:
    """Residuals of all natural constraints along a motion."""
    robot = motion.robot
    return motion.evaluate(ca.vertcat(*(k.residual(robot.coordinates) for k in robot.natural)))


def whole_system(robot: Robot, q: Array, v: Array, u: Array) -> tuple[Array, Array]:
    """a and least-norm μ by NumPy from the robot's matrices."""
    every = [robot.mass_matrix, robot.bias, robot.input_matrix, *robot.natural_form]
    f = ca.Function("f", [robot.q, robot.v, robot.p], every)
    M, h, B, A, b = (np.array(x.full()) for x in f.call([q, v, ca.DM(list(robot.nominal.values()))]))
    n, k = A.shape[1], A.shape[0]
    whole = np.block([[M, -A.T], [A, np.zeros((k, k))]])
    right = np.concatenate([B @ u - h[:, 0], b[:, 0]])
    solution = np.linalg.lstsq(whole, right, rcond=1e-10)[0]
    return np.asarray(solution[:n], dtype=np.float64), np.asarray(solution[n:], dtype=np.float64)


@pytest.mark.parametrize("angle", [0.3, 1.2, np.pi / 2, -2.0])
def test_a_parallelogram_with_a_third_crank_moves_as_one_without_its_spare_row(angle: float) -> None:
    robot = parallelogram()
    q, v = flat(angle, 1.7)
    u = np.array([0.6, 0.0, -0.2, 0.1])
    a, mu = whole_system(robot, q, v, u)
    found, reactions = (robot.evaluate(e, q=q, v=v, u=u) for e in (robot.acceleration, robot.reactions))
    np.testing.assert_allclose(found, a, rtol=0, atol=1e-10 * np.abs(a).max())
    np.testing.assert_allclose(reactions, mu, rtol=0, atol=1e-10 * np.abs(mu).max())
    # A parallelogram is a pendulum: (Σ I + m_coupler l²) φ̈ = torque − weight.
    l, g = 0.5, 9.81
    inertia = sum((0.11 + 0.16) * m * l**2 for m in (1.0, 1.3, 0.8)) + 2.0 * l**2
    weight = g * np.cos(angle) * (sum(0.4 * l * m for m in (1.0, 1.3, 0.8)) + 2.0 * l)
    power = robot.evaluate(robot.input_matrix, q=q) @ u
    assert found[0] == pytest.approx((float(power @ [1.0, 0.0, 1.0, 1.0]) - weight) / inertia, rel=1e-10)
    spared = without_rows(parallelogram("refused"), ["pin2[1]" if abs(np.sin(angle)) > 0.5 else "pin2[0]"])
    np.testing.assert_allclose(spared.evaluate(spared.acceleration, q=q, v=v, u=u), found, rtol=1e-10, atol=1e-12)


def test_reactions_that_are_unique_are_named() -> None:
    """Upright cranks: only forces along them are open, so the horizontal ones are unique, [WojtyraFraczek2013]_."""
    robot = parallelogram()
    q, v = flat(np.pi / 2, 0.0)
    report = analyse(Program(robot, holonomic(robot.q[0] - np.pi / 2, name="crank")), t=0.0, q=q, v=v)
    assert report.unique_reactions == ("pin3[0]", "pin2[0]")
    assert report.dependent_natural_rows == ("pin2[1]",)
    assert report.dependent_rows == ()
    assert report.dependences[0].coefficients == pytest.approx({"pin3[1]": 0.7 / 1.6})
    leaning = analyse(Program(robot, holonomic(robot.q[0] - 1.0, name="crank")), t=0.0, q=flat(1.0, 0.0)[0], v=v)
    assert leaning.unique_reactions == ()
    assert leaning.unique_multipliers == ("crank",)


def test_five_seconds_of_a_parallelogram() -> None:
    robot = parallelogram()
    spared = without_rows(parallelogram("refused"), ["pin2[1]"])
    # It swings about the hanging position and never lies flat, where all three cranks pull along the coupler.
    q, v = flat(-0.3, 0.0)
    tight = DOP853(1e-12, 1e-12)
    motion = simulate(robot, None, q, v, 5.0, step=1e-2, integrator=tight)
    energy = float(motion.evaluate(robot.kinetic_energy).max())
    assert np.ptp(motion.energy) < 1e-9 * energy
    assert np.abs(closures(motion)).max() < 1e-10
    np.testing.assert_allclose(motion.q[:, 2:] - motion.q[:, :1], 0.0, atol=1e-9)
    assert np.ptp(motion.q[:, 0]) == pytest.approx(np.pi - 0.6, abs=2e-3)
    one = simulate(spared, None, q, v, 5.0, step=1e-2, integrator=tight)
    np.testing.assert_allclose(motion.q, one.q, rtol=0, atol=1e-9)


def test_a_program_on_a_robot_with_redundant_rows() -> None:
    robot = parallelogram()
    program = Program(robot, holonomic(robot.q[0] - 1.2 - 0.2 * ca.sin(robot.t), name="crank"))
    q, v = flat(1.2, 0.2)
    solution = ProgramController(program).solve(0.0, q, v)
    assert solution.status is Status.OK
    assert solution.motion_residual < 1e-10
    assert "those of least norm are returned: natural rows 'pin2[1]' depend on others." in solution.message
    refused = parallelogram("refused")
    with pytest.raises(ModelError, match=r"'pin2\[1\]'.*redundant=\"least-norm\""):
        simulate(refused, None, q, v, 0.1, step=1e-2)


def bricard_states() -> list[tuple[Array, Array]]:
    """Closed places of Bricard's mechanism and velocities along its one freedom, from its own motion."""
    robot = bricard_mechanism()
    motion = simulate(robot, None, np.zeros(5), np.zeros(5), 2.0, step=0.25, integrator=DOP853(1e-12, 1e-12))
    return list(zip(motion.q, motion.v, strict=True))


@pytest.mark.foreign
def test_bricards_mechanism_agrees_with_pinocchio() -> None:
    robot, pinocchio, rng = bricard_mechanism(), PinocchioBricard(), np.random.default_rng(4)
    for q, v in bricard_states():
        u = rng.uniform(-3.0, 3.0, 5)
        a, mu = pinocchio.motion(q, v, u)
        found, reactions = (robot.evaluate(e, q=q, v=v, u=u) for e in (robot.acceleration, robot.reactions))
        np.testing.assert_allclose(found, a, rtol=0, atol=1e-8 * max(1.0, float(np.abs(a).max())))
        np.testing.assert_allclose(reactions, mu, rtol=0, atol=1e-8 * max(1.0, float(np.abs(mu).max())))


def test_bricards_mechanism_has_one_freedom_that_gruebler_does_not_see() -> None:
    robot = bricard_mechanism()
    for q, _ in bricard_states():
        A = robot.evaluate(robot.natural_form[0], q=q).reshape(5, 5)
        values = np.linalg.svd(A, compute_uv=False)
        assert values[3] > 1.0
        assert values[4] < 1e-11
    found = assemble(robot, np.zeros(5))
    assert found.degrees_of_freedom == 1
    assert found.redundant == ("axis[1]",)
    assert not found.singular


@pytest.mark.slow
def test_ten_seconds_of_bricards_mechanism() -> None:
    """IFToMM's A04 asks that the energy stays what it is; the angles of a symmetric mechanism stay symmetric."""
    robot = bricard_mechanism()
    motion = simulate(robot, None, np.zeros(5), np.zeros(5), 10.0, step=1e-3)
    energy = float(motion.evaluate(robot.kinetic_energy).max())
    assert energy > 4.0
    assert np.ptp(motion.energy) < 1e-9 * energy
    assert np.abs(closures(motion)).max() < 2e-11
    np.testing.assert_allclose(motion.q[:, [2, 4]], motion.q[:, [0, 0]], atol=1e-9)
    np.testing.assert_allclose(motion.q[:, 3], motion.q[:, 1], atol=1e-9)
    # A line-symmetric place with all odd angles turned by π is passed at speed and not turned back from.
    assert float(motion.q[:, 0].max()) > 3.0


def test_natural_rows_that_contradict_each_other_are_refused_at_the_start() -> None:
    """Two motors that drive one joint, ṡ = t and ṡ = 2 t: they agree at the start, and not in what they ask next."""
    q, v = ca.SX.sym("s"), ca.SX.sym("vs")
    made = lagrangian_system(q=q, v=v, T=v**2 / 2)
    rows = (nonholonomic(made.v - made.t, name="slow"), nonholonomic(made.v - 2 * made.t, name="fast"))
    robot = dataclasses.replace(made, natural=rows, redundant="least-norm")
    with pytest.raises(ModelError, match="natural constraints contradict each other: 'fast' by 1: no motion"):
        simulate(robot, None, [0.0], [0.0], 0.1, step=1e-2)
    agreed = dataclasses.replace(robot, natural=(rows[0], nonholonomic(3 * (made.v - made.t), name="same")))
    motion = simulate(agreed, None, [0.0], [0.0], 1.0, step=1e-2)
    assert motion.q[-1, 0] == pytest.approx(0.5, abs=1e-12)


def test_bad_words_and_numbers() -> None:
    with pytest.raises(ModelError, match="redundant must be 'refused' or 'least-norm', got 'some'"):
        parallelogram("some")
    with pytest.raises(ModelError, match=r"width \[m\] must be greater than zero"):
        bricard_mechanism(width=0.0)
    with pytest.raises(ModelError, match="gravity must be finite"):
        bricard_mechanism(gravity=np.inf)


LINK = LinkData(0.5, 1.2, 0.2, 0.03)
ROD = Rod(mass=1.4, inertia=0.06, ratio=1.0, stiffness=700.0, rest=0.8)
TELESCOPE = TelescopicLink(ROD.mass, ROD.inertia, ROD.ratio, ROD.stiffness, ROD.rest)
METHODS = (SweepMultipliers(), LdlMultipliers())


class Motion(NamedTuple):
    """Compared values: a, the force on the point that is held, and the generalized force of it."""

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
