"""In space too: energy is kept, dampers take it, and a flight without torques keeps its angular momentum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import simpson

from erugin.scenarios import simulate
from erugin.simulation import DOP853

from .exoskeletons import Case, label
from .references import spatial_telescopic as truth
from .spatial_exoskeletons import Array, built

TIGHT = DOP853(relative_tolerance=3e-14, absolute_tolerance=1e-14)
FREE = (
    Case((0, 1), hinges=True),
    Case((0, 1, 1), hinges=True, stretched=True),
    Case((0, 0, 1), floating=True, hinges=True),
)
DAMPED = Case((0, 1), hinges=True, damped=True)


def start(case: Case) -> tuple[Array, Array]:
    """Links at rest length, out of every vertical plane, turning and stretching."""
    s = case.structure
    n = len(s.rods)
    pole = np.zeros(3 * case.floating)
    q = np.concatenate([pole, np.linspace(-1.2, -1.0, n), np.linspace(-0.3, 0.2, n), [rod.rest for rod in s.rods]])
    v = np.concatenate([pole, np.linspace(0.8, 0.3, n), np.linspace(0.3, -0.2, n), np.linspace(-0.3, 0.4, n)])
    return q, v


@pytest.mark.parametrize("case", FREE[:2], ids=label)
def test_energy_is_kept(case: Case) -> None:
    """10 s of swinging in space, to 1e-10 of the energies that come and go."""
    q0, v0 = start(case)
    motion = simulate(built(case), None, q0, v0, 10.0, step=0.1, integrator=TIGHT)
    parts = [truth.energies(case.structure, q, v) for q, v in zip(motion.q, motion.v, strict=True)]
    energy = np.array([T + V for T, V in parts])
    largest = max(abs(x) for pair in parts for x in pair)
    n = len(case.parents)
    assert motion.t[-1] == pytest.approx(10.0)
    assert np.max(np.abs(energy - energy[0])) <= 1e-10 * largest
    assert np.ptp([T for T, _ in parts]) > 1.0
    assert np.abs(motion.q[:, n : 2 * n]).max() > 0.3
    np.testing.assert_allclose(motion.energy, energy, rtol=0.0, atol=1e-12 * largest)


def test_angular_momentum_about_the_vertical_is_kept() -> None:
    """Gravity has no moment about it, and slender links without torques need no couple from the universal joint."""
    case = FREE[0]
    q0, v0 = start(case)
    motion = simulate(built(case), None, q0, v0, 5.0, step=0.25, integrator=TIGHT)
    spins = np.array([spin_about_pole(case, q, v)[2] for q, v in zip(motion.q, motion.v, strict=True)])
    levels = np.array([spin_about_pole(case, q, v)[0] for q, v in zip(motion.q, motion.v, strict=True)])
    assert np.max(np.abs(spins - spins[0])) <= 1e-10 * np.abs(levels).max()
    assert np.ptp(levels) > 0.1
    assert abs(spins[0]) > 0.01


def spin_about_pole(case: Case, q: Array, v: Array) -> Array:
    found = truth.momenta(case.structure, q, v, np.zeros(q.size))
    return np.asarray(found.spin + np.cross(found.center, found.momentum))


def test_dampers_take_all_the_energy_that_is_lost() -> None:
    q0, v0 = start(DAMPED)
    motion = simulate(built(DAMPED), None, q0, v0, 2.0, step=0.001, integrator=TIGHT)
    s = DAMPED.structure
    damping = np.array([rod.damping for rod in s.rods])
    lost = float(simpson((motion.v[:, 4:] ** 2) @ damping, x=motion.t))
    ends = [sum(truth.energies(s, motion.q[k], motion.v[k])) for k in (0, -1)]
    assert lost > 0.5
    assert abs(ends[0] - ends[1] - lost) <= 1e-9 * lost


def test_flight() -> None:
    """The centre's path is a parabola and the angular momentum stays, all three of its components."""
    case = FREE[2]
    q0, v0 = start(case)
    v0[:3] = 0.7, -0.4, 2.0
    motion = simulate(built(case), None, q0, v0, 5.0, step=0.25, integrator=TIGHT)
    none = np.zeros(q0.size)
    found = [truth.momenta(case.structure, q, v, none) for q, v in zip(motion.q, motion.v, strict=True)]
    speed = found[0].momentum / found[0].mass
    for t, now in zip(motion.t, found, strict=True):
        expected = found[0].center + speed * t - truth.WEIGHT / 2.0 * t**2
        assert np.max(np.abs(now.center - expected)) <= 1e-10 * max(1.0, float(np.max(np.abs(expected))))
        assert np.max(np.abs(now.spin - found[0].spin)) <= 1e-10 * np.abs(found[0].spin).max()
    assert np.abs(found[0].spin).min() > 0.01
