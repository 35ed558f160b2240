"""Motions of least effort: closed forms, energy, limits."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest

from erugin.controllers.baselines import BrysonWeights, TimeVaryingLqr, optimal_motion
from erugin.robots import Limits, assemble, lagrangian_system, with_inputs
from erugin.robots.examples import fukao_robot
from erugin.symbolic import ModelError, NotConvergedError

from ...support.linearized_robots import limited, linkage, mass_on_a_line


def test_a_mass_is_moved_by_a_force_that_falls_linearly() -> None:
    """u = 6 d/T² (1 − 2t/T) and ∫ u² dt = 12 d²/T³, by Euler's and Lagrange's equations."""
    d, T = 0.7, 1.5
    found = optimal_motion(mass_on_a_line(), [0.0], [d], T, intervals=12)
    t = found.motion.t
    assert found.cost == pytest.approx(12 * d**2 / T**3, rel=1e-9)
    np.testing.assert_allclose(found.motion.u[:, 0], 6 * d / T**2 * (1 - 2 * t / T), atol=1e-7)
    np.testing.assert_allclose(found.motion.q[:, 0], d * (3 * (t / T) ** 2 - 2 * (t / T) ** 3), atol=1e-8)
    assert found.defect < 1e-9


def test_bounds_are_kept_and_the_shortest_time_is_bang_bang() -> None:
    """With |u| ≤ 1 a metre takes 2 s at least: in 2.02 s the bound is reached nearly all the time."""
    robot = mass_on_a_line()
    found = optimal_motion(robot, [0.0], [1.0], 2.02, intervals=60, effort=[1.0])
    u = found.motion.u[:, 0]
    # Exactly, so that what keeps the bound can follow it: the solver itself goes beyond it by its tolerance.
    assert np.abs(u).max() == 1.0
    weak = limited(robot, 1.0)
    assert TimeVaryingLqr(weak, dataclasses.replace(found.motion, robot=weak), weights=BrysonWeights()).gain.shape == (
        121,
        1,
        2,
    )
    assert (np.abs(u) > 0.999).mean() > 0.7
    with pytest.raises(NotConvergedError, match="Allow more time, effort or iterations"):
        optimal_motion(robot, [0.0], [1.0], 1.9, intervals=20, effort=[1.0])
    slow = dataclasses.replace(robot, limits=Limits(np.array([0.0]), np.array([1.0]), np.array([0.8]), np.array([9.0])))
    held = optimal_motion(slow, [0.0], [1.0], 1.5, intervals=30)
    assert np.abs(held.motion.v[::2]).max() == pytest.approx(0.8, abs=1e-6)
    for ends, name in (([-0.1], [1.0]), "q0"), (([0.1], [1.1]), "q1"):
        with pytest.raises(ModelError, match=f"{name}: q = .* lies beyond the limits of mass, 0 to 1"):
            optimal_motion(slow, *ends, 1.5)


def test_a_pendulum_takes_in_the_energy_that_it_gains_and_converges_with_order_4() -> None:
    q, v, u = ca.SX.sym("q"), ca.SX.sym("v"), ca.SX.sym("u")
    robot = lagrangian_system(q=q, v=v, T=v**2 / 2, V=-ca.cos(q), Q=u, u=u, name="pendulum")
    found = [optimal_motion(robot, [0.0], [np.pi], 5.0, intervals=n) for n in (20, 40, 80)]
    differences = np.abs(np.diff([each.cost for each in found]))
    assert np.log2(differences[0] / differences[1]) == pytest.approx(4.0, abs=0.5)
    m = found[-1].motion
    power = m.u[:, 0] * m.v[:, 0]
    h = m.t[2]
    work = h / 6 * (power[:-1:2] + 4 * power[1::2] + power[2::2]).sum()
    assert work == pytest.approx(2.0, rel=1e-5)
    weighted = optimal_motion(robot, [0.0], [np.pi], 5.0, intervals=40, speed_weight=0.1)
    assert (weighted.motion.v**2).mean() < (found[1].motion.v ** 2).mean()


def test_bad_input_is_refused() -> None:
    robot = mass_on_a_line()
    with pytest.raises(ModelError, match="requires a robot without natural constraints"):
        optimal_motion(linkage(), assemble(linkage(), [0.8, 0.7, 1.5]).q, np.zeros(3), 1.0)
    with pytest.raises(ModelError, match="requires a robot without natural constraints"):
        optimal_motion(fukao_robot(form="reduced"), np.zeros(5), np.ones(5), 1.0)
    with pytest.raises(ModelError, match="has no inputs: add drives"):
        optimal_motion(with_inputs(robot, []), [0.0], [1.0], 1.0)
    with pytest.raises(ModelError, match="at least 2 intervals"):
        optimal_motion(robot, [0.0], [1.0], 1.0, intervals=1)
    with pytest.raises(ModelError, match="effort must be 1 numbers"):
        optimal_motion(robot, [0.0], [1.0], 1.0, effort=[-1.0])
    with pytest.raises(ModelError, match="duration"):
        optimal_motion(robot, [0.0], [1.0], -1.0)
    with pytest.raises(ModelError, match=r"guess must be finite, of shape \(11, 1\)"):
        optimal_motion(robot, [0.0], [1.0], 1.0, intervals=10, guess=np.zeros((3, 1)))
