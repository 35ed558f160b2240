"""Closed loops with a coordinate or a drive at its dead centre: reported, and never an unbounded torque."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq

from erugin.controllers import Controller, Reference, Status, SymbolicController, Tick
from erugin.controllers.baselines import (
    BarrierFunction,
    CbfFilter,
    ComputedTorque,
    OperationalSpace,
    PDGravity,
    PotentialField,
)
from erugin.controllers.control_allocation import LeastEffortAllocation
from erugin.robots import Assembler, Limits, Robot, lagrangian_system
from erugin.robots.examples import pinocchio_four_bar
from erugin.scenarios import simulate
from erugin.simulation import SimulationError
from erugin.symbolic import SingularProgramError

Array = NDArray[np.float64]
STILL = np.zeros(3)


@functools.cache
def linkage() -> tuple[Robot, Assembler]:
    robot = pinocchio_four_bar()
    return robot, Assembler(robot)


@functools.cache
def driven(*joints: int) -> Robot:
    """The linkage with drives at some of its joints, by their places; one may have several."""
    robot, _ = linkage()
    B, u = np.zeros((3, len(joints))), ca.SX.sym("M", len(joints))
    B[joints, range(len(joints))] = 1.0
    names, units = tuple(f"M{i}" for i in range(len(joints))), ("N m",) * len(joints)
    limits = Limits.none(3, 3, len(joints))
    return replace(robot, u=u, input_matrix=ca.SX(ca.DM(B)), input_names=names, input_units=units, limits=limits)


def crossed(crank: float) -> Array:
    """Position of the linkage, on the branch in which it is not a parallelogram."""
    _, assembler = linkage()
    q = np.array([4.0, 0.63, 2.91])
    for angle in np.linspace(4.0, crank, max(2, round(abs(crank - 4.0) / 0.1))):
        q = assembler.assemble([angle, *q[1:]], fixed=["crank"]).q
    return np.asarray(q, dtype=np.float64)


def direction(q: Array) -> Array:
    """The one velocity that the loop admits."""
    robot, _ = linkage()
    return np.asarray(np.linalg.svd(robot.evaluate(robot.natural_form[0], q=q))[2][-1], dtype=np.float64)


@functools.cache
def dead_centre() -> float:
    """Crank's angle at which the coupler's joint turns back."""

    def rate(crank: float) -> float:
        n = direction(crossed(crank))
        return float(n[1] / n[0])

    return float(brentq(rate, 5.2, 5.45, xtol=1e-13))


def test_a_coordinate_at_its_dead_centre_is_reported() -> None:
    robot, _ = linkage()
    law = ComputedTorque(robot, Reference.at_rest(robot, crossed(4.0)), coordinates="coupler")
    # What is left of the row: n nᵀ/(nᵀ M n) against M⁻¹, with n the one free direction.
    for crank in (4.0, 5.0, dead_centre() - 1e-3):
        q = crossed(crank)
        n, M = direction(q), robot.evaluate(robot.mass_matrix, q=q)
        share = n[1] ** 2 / (n @ M @ n) / np.linalg.inv(M)[1, 1]
        assert law.observe(0.0, q, STILL).relative_pivots[0] == pytest.approx(share, rel=1e-7)
        assert np.isfinite(law.control(0.0, q, STILL)).all()
    for off in (0.0, 1e-13, 1e-9, 1e-6):
        with pytest.raises(SingularProgramError, match="Row 'coupler' vanishes"):
            law.control(0.0, crossed(dead_centre() + off), STILL)


def test_a_run_through_a_dead_centre_ends_in_front_of_it() -> None:
    robot, _ = linkage()
    far = crossed(dead_centre())[1]
    reference = Reference.of(robot, ca.vertcat(0.0, far - 0.3 + 0.2 * robot.t, 0.0))
    law = ComputedTorque(robot, reference, coordinates=["coupler"], rate=5.0)
    with pytest.raises(SimulationError, match="'coupler' vanishes") as caught:
        simulate(robot, law, crossed(4.6), STILL, 3.0, step=2e-3)
    assert caught.value.status is Status.SINGULAR
    # The coupler's joint goes no farther than the loop lets it: the crank would pass on.
    assert caught.value.trajectory.t[-1] == pytest.approx(1.5, abs=0.05)
    assert np.abs(caught.value.trajectory.q[-1, 1] - far) < 1e-2


def test_a_coordinate_that_never_moves_is_reported() -> None:
    """On the branch of the parallelogram the coupler's joint stands still, whatever the crank does."""
    robot, assembler = linkage()
    q = assembler.assemble([0.8, 0.0, 0.8], fixed=["crank"]).q
    law = ComputedTorque(robot, Reference.at_rest(robot, q), coordinates=["coupler"])
    with pytest.raises(SingularProgramError, match="Row 'coupler' vanishes"):
        law.control(0.0, q, STILL)


def laws(robot: Robot) -> list[SymbolicController]:
    """Every law that closed loops may have."""
    q, point = crossed(4.0), robot.points["coupler.end"]
    rest = Reference.at_rest(robot, q)
    return [
        PDGravity(robot, rest),
        ComputedTorque(robot, rest, coordinates=["crank"]),
        OperationalSpace(robot, point[0], [0.0]),
        PotentialField(robot, point, [0.0, 0.0], around=q, speed=0.3),
    ]


@pytest.mark.parametrize("joints", [(1,), (1, 1)])
def test_every_law_reports_a_drive_at_its_dead_centre(joints: tuple[int, ...]) -> None:
    """One drive at the coupler's joint, and two that share it."""
    for law in laws(driven(*joints)):
        for off in (-0.05, 0.05):
            assert np.isfinite(law.control(0.0, crossed(dead_centre() + off), STILL)).all()
        for off in (0.0, 1e-7):
            with pytest.raises(SingularProgramError, match="vanishes"):
                law.control(0.0, crossed(dead_centre() + off), STILL)


def test_a_second_drive_continues_where_the_first_cannot() -> None:
    q = crossed(dead_centre())
    for law in laws(driven(0, 1)):
        u = law.control(0.0, q, STILL)
        assert np.abs(u[0]) < 1e4
        assert np.abs(u[1]) < 1e-6 * np.abs(u[0])


@pytest.mark.parametrize("joints", [(0,), (2,), (1,), (0, 2), (0, 1, 2)])
def test_inputs_do_with_least_effort_what_a_force_would(joints: Sequence[int]) -> None:
    """Against the pseudo-inverse along the one free direction n: of all u with nᵀ B u = nᵀ τ the shortest."""
    robot = driven(*joints)
    tau, effort = ca.SX.sym("tau", 3), LeastEffortAllocation.of(robot)
    f = ca.Function("f", [robot.t, robot.q, robot.p, tau], [effort.inputs(tau)])
    rng, p = np.random.default_rng(4), robot.parameters.values()
    B = robot.evaluate(robot.input_matrix).reshape(3, -1)
    for crank in rng.uniform(3.6, 5.1, 4):
        q, force = crossed(float(crank)), rng.normal(size=3)
        row = direction(q) @ B
        expected = row * (direction(q) @ force) / (row @ row)
        found = f.call([0.0, q, p, force])[0].full()[:, 0]
        np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


def test_inputs_that_become_parallel_are_reported() -> None:
    """A mass in the plane with two thrusters, the second of which turns with it: B Bᵀ is singular where they align."""
    q, v, u = ca.SX.sym("x", 2), ca.SX.sym("w", 2), ca.SX.sym("f", 2)
    robot = lagrangian_system(
        q=q, v=v, T=ca.sumsqr(v), Q=ca.vertcat(u[0] + u[1] * ca.cos(q[0]), u[1] * ca.sin(q[0])), u=u
    )
    law = PDGravity(robot, Reference.at_rest(robot, [1.0, 1.0]), rate=2.0)
    given = law.control(0.0, [0.8, 0.5], [0.0, 0.0])
    B = np.array([[1.0, np.cos(0.8)], [0.0, np.sin(0.8)]])
    np.testing.assert_allclose(B @ given, 2.0 * 4.0 * np.array([0.2, 0.5]), rtol=1e-12)
    for x in (0.0, 1e-7):
        with pytest.raises(SingularProgramError, match="vanishes"):
            law.control(0.0, [x, 0.5], [0.0, 0.0])


class Steady(Controller):
    """One torque, whatever happens."""

    def __init__(self, robot: Robot) -> None:
        """Of this robot."""
        self.robot = robot

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """One newton metre."""
        return Tick(np.ones(self.robot.u.numel()))


def test_a_filter_reports_barriers_that_no_input_affects() -> None:
    robot = driven(1)
    q = crossed(dead_centre())
    for height in (5.0, 9.0):
        reported = CbfFilter(Steady(robot), BarrierFunction("Crank ahead", robot.q[0] - height), rate=2.0).observe(
            0.0, q, STILL
        )
        assert np.abs(reported.output).max() < 2.0
        if height > 5.0:
            assert reported.status is Status.LIMITED
            assert reported.message.startswith("Barrier 'Crank ahead' is violated")
            assert "'Crank ahead' cannot be satisfied" in reported.message
