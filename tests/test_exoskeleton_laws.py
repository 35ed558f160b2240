"""Exoskeletons keep their energy, lose it to the dampers alone, and in flight keep what no ground can change."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import simpson

from erugin.scenarios import simulate
from erugin.simulation import DOP853

from .chains import STATES
from .exoskeletons import CASES, Array, Case, built, label, random_states
from .references import telescopic_bodies as truth

TIGHT = DOP853(relative_tolerance=3e-14, absolute_tolerance=1e-14)
FREE = (
    Case((0, 1), hinges=True),
    Case((0, 1, 2), hinges=True, stretched=True),
    Case((0, 0, 1, 1, 2), floating=True, hinges=True),
)
DAMPED = Case((0, 1, 1), hinges=True, damped=True)
FLYING = tuple(case for case in CASES if case.floating)


def start(case: Case) -> tuple[Array, Array]:
    """Links at rest length, some of them turning and stretching."""
    s = case.structure
    n = len(s.rods)
    pole = [0.0] * 2 * case.floating
    q = np.array([*pole, *np.linspace(-1.2, 0.4, n), *(rod.rest for rod in s.rods)])
    v = np.array([*pole, *np.linspace(0.8, -1.0, n), *np.linspace(-0.3, 0.4, n)])
    return q, v


@pytest.mark.parametrize("case", FREE, ids=label)
def test_energy_is_kept_for_ten_seconds(case: Case) -> None:
    q0, v0 = start(case)
    motion = simulate(built(case), None, q0, v0, 10.0, step=0.05, integrator=TIGHT)
    parts = [truth.energies(case.structure, q, v) for q, v in zip(motion.q, motion.v, strict=True)]
    energy = np.array([T + V for T, V in parts])
    largest = max(abs(x) for pair in parts for x in pair)
    assert motion.t[-1] == pytest.approx(10.0)
    assert np.max(np.abs(energy - energy[0])) <= 1e-10 * largest
    # There is something to keep: kinetic energy comes and goes.
    assert np.ptp([T for T, _ in parts]) > 1.0
    np.testing.assert_allclose(motion.energy, energy, rtol=0.0, atol=1e-12 * largest)


def test_dampers_take_all_the_energy_that_is_lost() -> None:
    """E falls from each sample to the next, in all by the integral of Σ d_i l̇_i²."""
    q0, v0 = start(DAMPED)
    motion = simulate(built(DAMPED), None, q0, v0, 3.0, step=0.001, integrator=TIGHT)
    s = DAMPED.structure
    energy = np.array([sum(truth.energies(s, q, v)) for q, v in zip(motion.q, motion.v, strict=True)])
    damping = np.array([rod.damping for rod in s.rods])
    power = (motion.v[:, 3:] ** 2) @ damping
    lost = float(simpson(power, x=motion.t))
    assert np.all(np.diff(energy) < 0.0)
    assert lost > 5.0
    assert abs(energy[0] - energy[-1] - lost) <= 1e-9 * lost


@pytest.mark.parametrize("case", FLYING, ids=label)
def test_in_flight_only_gravity_moves_the_center(case: Case) -> None:
    """Under any inputs the centre of mass falls with g, and the angular momentum about it does not change."""
    robot, s = built(case), case.structure
    rng = np.random.default_rng(41)
    strongest = 0.0
    for q, v in random_states(case, seed=42, count=STATES):
        u = rng.uniform(-50.0, 50.0, robot.u.numel())
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=u)
        found = truth.momenta(s, q, v, a)
        # What cancels is of the size of the masses times the accelerations.
        size = found.mass * max(1.0, float(np.max(np.abs(a))))
        assert np.max(np.abs(found.force - np.array([0.0, -9.81]) * found.mass)) <= 1e-12 * size
        assert abs(found.torque) <= 1e-12 * size
        strongest = max(strongest, float(np.max(np.abs(a))))
    assert strongest > 100.0


def test_flight_of_ten_seconds() -> None:
    """The centre's path is a parabola and the spin stays, after ten seconds of tumbling."""
    case = FREE[2]
    q0, v0 = start(case)
    v0[:2] = 0.7, 2.0
    motion = simulate(built(case), None, q0, v0, 10.0, step=0.1, integrator=TIGHT)
    none = np.zeros(case.structure.nv)
    found = [truth.momenta(case.structure, q, v, none) for q, v in zip(motion.q, motion.v, strict=True)]
    speed = found[0].momentum / found[0].mass
    for t, now in zip(motion.t, found, strict=True):
        expected = found[0].center + speed * t + np.array([0.0, -9.81 / 2.0]) * t**2
        assert np.max(np.abs(now.center - expected)) <= 1e-10 * max(1.0, float(np.max(np.abs(expected))))
        assert abs(now.spin - found[0].spin) <= 1e-10 * abs(found[0].spin)
    assert abs(found[0].spin) > 0.1
