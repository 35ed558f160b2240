"""Limits of power, rate, place and speed are kept along a motion, and told where they cannot be."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from erugin.constraints import Baumgarte, FirstOrder, holonomic, nonholonomic
from erugin.controllers import ControlLimits, Program, ProgramController, Status
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import Trajectory

from .arms import two_link_arm

Array = NDArray[np.float64]


def swing(arm: Robot, rate: float = 12.0) -> Program:
    """Both joints go far and fast."""
    return Program(arm, holonomic(arm.q - ca.DM([1.0, 1.5]), perturbation=Baumgarte(rate), name="pose"))


def run(limits: ControlLimits, *, duration: float = 1.0, step: float = 2e-3) -> Trajectory:
    arm = two_link_arm()
    controller = ProgramController(swing(arm), realization="bounded", limits=limits)
    return simulate(arm, controller, [-1.2, 0.4], [0.0, 0.0], duration, step=step)


def test_power_of_each_input_and_of_all_stays_within_its_limit() -> None:
    arm = two_link_arm()
    without = run(ControlLimits.of(arm, effort=100.0))
    limits = ControlLimits.of(arm, effort=100.0, power=[60.0, 20.0], total_power=65.0)
    motion = run(limits, duration=2.0)
    assert (np.abs(without.u * without.v).max(axis=0) > [120.0, 40.0]).all()
    power = motion.u * motion.v
    assert (np.abs(power) <= np.array([60.0, 20.0]) * (1 + 1e-9)).all()
    assert power.sum(axis=1).max() <= 65.0 * (1 + 1e-9)
    assert power.sum(axis=1).max() > 64.9
    assert (motion.status == Status.LIMITED).any()
    assert np.abs(motion.deviation[-1]).max() < 1e-2


def test_inputs_change_no_faster_than_their_rate() -> None:
    arm = two_link_arm()
    limits = ControlLimits.of(arm, effort=100.0, rate=[400.0, 150.0])
    motion, step = run(limits), 2e-3
    change = np.abs(np.diff(motion.u, axis=0))
    assert (change <= np.array([400.0, 150.0]) * step * (1 + 1e-9)).all()
    assert change.max() > 400.0 * step * (1 - 1e-9)
    assert np.abs(np.diff(run(ControlLimits.of(arm, effort=100.0)).u, axis=0)).max() > 2.0 * 400.0 * step


def test_between_samples_the_rate_counts_from_the_last_one() -> None:
    arm = two_link_arm()
    controller = ProgramController(
        swing(arm), realization="bounded", limits=ControlLimits.of(arm, effort=100.0, rate=100.0)
    )
    controller.advance(0.0, [-1.2, 0.4], [0.0, 0.0])
    memory = controller.memory
    first = controller.control(0.0, [-1.2, 0.4], [0.0, 0.0])
    for later in (1e-3, 4e-3):
        u = controller.control(later, [-0.4, 1.4], [3.0, 2.0])
        assert np.abs(u - first).max() == pytest.approx(100.0 * later, rel=1e-12)
    # Only a sample changes the memory.
    assert controller.memory is memory
    np.testing.assert_array_equal(controller.control(0.0, [-1.2, 0.4], [0.0, 0.0]), first)


@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_a_joint_never_passes_its_limit_of_place(step: float) -> None:
    arm = two_link_arm()
    limits = ControlLimits.of(arm, effort=300.0, joint_upper=[0.3, 1.0], approach=20.0)
    motion = run(limits, step=step)
    assert run(ControlLimits.of(arm, effort=300.0), step=step).q.max(axis=0) == pytest.approx([1.0, 1.5], abs=0.05)
    assert (motion.q <= np.array([0.3, 1.0]) + 1e-9).all()
    np.testing.assert_allclose(motion.q[-1], [0.3, 1.0], atol=1e-3)
    controller = motion.controller
    assert controller is not None
    said = controller.observe(motion.t[-1], motion.q[-1], motion.v[-1]).message
    assert f"Kept at their limit: {arm.coordinates.names[0]!r} (limit of place)" in said


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_a_held_acceleration_keeps_a_joint_within_its_limit(share: float) -> None:
    """The condition k·step ≤ 0.5: the barrier's double integrator under sample and hold, from every allowed start."""
    k, h = 20.0, share / 20.0
    for ahead in (0.0, 0.2, 0.7, 1.0):
        d, rate = 1.0, -k * ahead
        for _ in range(400):
            a = -2.0 * k * rate - k**2 * d
            d, rate = d + h * rate + h**2 * a / 2.0, rate + h * a
            assert d > -1e-12


def test_speed_stays_within_its_limit() -> None:
    arm = two_link_arm()
    motion = run(ControlLimits.of(arm, effort=300.0, speed=[1.5, 0.8]))
    assert (np.abs(motion.v) <= np.array([1.5, 0.8]) + 1e-6).all()
    assert (np.abs(motion.v).max(axis=0) > np.array([1.49, 0.79])).all()
    assert np.abs(run(ControlLimits.of(arm, effort=300.0)).v).max() > 3.0


def test_drives_too_weak_for_a_limit_come_as_near_as_they_can() -> None:
    """A joint that falls into its limit: bounds first, then the least excess, which a linear programme tells."""
    arm = two_link_arm()
    limits = ControlLimits.of(arm, effort=2.0, joint_lower=[-0.1, -1.0])
    controller = ProgramController(swing(arm), realization="bounded", limits=limits)
    q, v = np.array([0.0, 0.0]), np.array([-1.5, -0.5])
    told = controller.observe(0.0, q, v)
    assert told.status is Status.LIMITED
    assert "too weak" in told.message
    assert repr(arm.coordinates.names[0]) in told.message
    M, h = arm.evaluate(arm.mass_matrix, q=q), arm.evaluate(arm.bias, q=q, v=v)
    wanted = -20.0 * v + 100.0 * (np.array([-0.1, -1.0]) - q)
    reach, free = np.linalg.inv(M), -np.linalg.solve(M, h)
    # Whether both limits could be kept at all: no, says linprog; with torques without bounds: yes.
    for bound, status in ((2.0, 2), (1e4, 0)):
        found = linprog(np.zeros(2), A_ub=-reach, b_ub=free - wanted, bounds=[(-bound, bound)] * 2)
        assert found.status == status
    T = 1.0 / np.sqrt(np.diag(reach))
    grid = np.linspace(-2.0, 2.0, 201)
    pairs = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    excess = T * np.maximum(wanted - free - pairs @ reach.T, 0.0)
    mine = T * np.maximum(wanted - free - reach @ told.output, 0.0)
    assert np.linalg.norm(mine) <= np.linalg.norm(excess, axis=1).min() * (1.0 + 1e-8)
    assert (np.abs(told.output) <= 2.0).all()


def test_limits_of_place_hold_for_velocities_that_are_not_rates() -> None:
    """A sledge whose velocities are along and around its own axes: the wall is a limit of a coordinate."""
    x, turn = ca.SX.sym("x"), ca.SX.sym("turn")
    v, u = ca.SX.sym("v", 2), ca.SX.sym("u", 2)
    plain = lagrangian_system(q=ca.vertcat(x, turn), v=v, T=ca.sumsqr(v) / 2, Q=u, u=u)
    c = plain.coordinates
    # v₁ = 2 ẋ
    halved = dataclasses.replace(c, N=ca.diag(ca.SX(ca.DM([0.5, 1.0]))))
    sledge = dataclasses.replace(plain, coordinates=halved)
    program = Program(sledge, nonholonomic(sledge.v - ca.DM([2.0, 1.0]), perturbation=FirstOrder(5.0), name="drive"))
    limits = ControlLimits.of(sledge, effort=50.0, joint_upper=[1.0, np.inf])
    controller = ProgramController(program, realization="bounded", limits=limits)
    motion = simulate(sledge, controller, [0.0, 0.0], [0.0, 0.0], 3.0, step=5e-3)
    assert motion.q[:, 0].max() <= 1.0 + 1e-9
    assert motion.q[-1, 0] > 0.99
    assert motion.v[-1, 1] == pytest.approx(1.0, abs=1e-3)


def test_power_that_rate_does_not_let_fall_is_told() -> None:
    arm = two_link_arm()
    limits = ControlLimits.of(arm, effort=100.0, rate=10.0, power=5.0)
    controller = ProgramController(swing(arm), realization="bounded", limits=limits)
    controller.advance(0.0, [-1.2, 0.4], [0.0, 0.0])
    before = controller.control(0.0, [-1.2, 0.4], [0.0, 0.0])
    told = controller.observe(1e-3, [-1.2, 0.4], [2.0, 2.0])
    assert told.status is Status.LIMITED
    expected = abs(before[0] - 0.01 * np.sign(before[0])) * 2.0 - 5.0
    assert f"power of {arm.input_names[0]} by {expected:.6g} W" in told.message
    np.testing.assert_allclose(np.abs(told.output - before), 0.01, rtol=1e-9)
