"""Mechanisms of the catalogue: what each is to keep, and where it ends, against published digits and other programs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.scenarios import Scenario, Setup
from erugin.scenarios.catalogue import andrews_squeezer, bricard, n_four_bar, slider_crank
from erugin.scenarios.catalogue.n_four_bar import turning_pendulum
from erugin.simulation import RK4, SimulationError, Trajectory

from ...support.kernels import use_no_compiler
from ...support.references.pinocchio_bricard import PinocchioBricard

Array = NDArray[np.float64]


def ran(setup: Setup) -> tuple[Trajectory, dict[str, float]]:
    """A motion, and its measures by name."""
    motion = setup.run()
    assert isinstance(motion, Trajectory)
    return motion, {measured.name: measured.value for measured in setup.measure(motion)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "scenario", [andrews_squeezer, bricard, n_four_bar, slider_crank], ids=lambda scenario: scenario.name
)
def test_in_full_every_measure_is_as_expected(scenario: Scenario) -> None:
    setup = scenario()
    motion, _ = ran(setup)
    assert motion.ok
    assert motion.ending == "the duration is over"
    for measured in setup.measure(motion):
        assert measured.expected is not None
        assert measured.as_expected, measured


def test_andrews_squeezer_ends_at_the_published_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """In full, β = K1 and its like computed here; absolutely the list holds what 1e-12 s of its time let it hold."""
    use_no_compiler(monkeypatch)
    motion, measured = ran(andrews_squeezer())
    k1, k2, k3, k5, k4, k7, k6 = motion.q[-1] + 1.005e-12 * motion.v[-1]
    book = [k1, k2 - k1 - np.pi, k3 + np.pi / 2, k4 - k5 + np.pi / 2, k5, k6 - k7 - np.pi / 2, k7 + np.pi / 2]
    published = [15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948]
    published += [0.5244099658805304, 0.5347301163226948, 1.048080741042263]
    assert_allclose(book, published, rtol=0.0, atol=1e-11)
    assert measured["relative error against the published digits"] < 1e-10
    assert measured["energy minus work, error"] < 1e-10
    # The torque's work is a good part of the energy, and half a per mille more of it would be seen.
    assert motion.energy[-1] - motion.energy[0] > 0.5
    assert (
        ran(andrews_squeezer(parameters={"torque": 0.033 * 1.0005}))[1]["relative error against the published digits"]
        > 1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize("cells", [1, 10, 40])
def test_many_windows_keep_energy_through_every_flat_position(cells: int) -> None:
    _, measured = ran(n_four_bar(cells=cells))
    first = 9.81 * (cells + 1) / 2 + 9.81 * cells + ((cells + 1) / 3 + cells) / 2
    assert measured["energy error"] <= 1e-8 * first
    assert measured["singular positions passed"] == 10.0
    assert measured["deviation from parallelograms"] < 2e-12
    assert measured["angle, error against elliptic functions"] < 1e-8
    assert measured["loop closure error"] < 1e-12


@pytest.mark.parametrize("cells", [1, 2, 3, 8])
def test_four_bar_windows_pass_where_all_bars_lie_flat(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)
    _, measured = ran(n_four_bar(cells=cells, duration=1.0, step=1e-3))
    assert measured["singular positions passed"] == 1.0
    assert measured["energy error"] <= 1e-8
    assert measured["deviation from parallelograms"] < 1e-12
    assert measured["angle, error against elliptic functions"] < 1e-8


def test_with_multipliers_the_windows_stop_there(monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)
    setup = dataclasses.replace(n_four_bar(duration=1.0, step=2e-3), integrator=RK4())
    with pytest.raises(SimulationError, match=r"at t = 0\.71.*singular position"):
        setup.run()


def test_elliptic_functions_are_the_turning_pendulum() -> None:
    t = np.linspace(0.0, 5.0, 50)
    found = solve_ivp(
        lambda _, x: [x[1], -11.4 * np.sin(x[0])], (0.0, 5.0), [np.pi, 1.0], "DOP853", t_eval=t, rtol=1e-13, atol=1e-13
    )
    assert_allclose(turning_pendulum(11.4, 1.0, t), found.y[0], atol=1e-9)


@pytest.mark.foreign
def test_bricard_moves_as_in_pinocchio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accelerations by differences of velocities, of fourth order, at three places of the way."""
    use_no_compiler(monkeypatch)
    motion, measured = ran(bricard(duration=1.2, step=2e-3))
    assert measured["loop closure error"] < 1e-10
    assert measured["energy error"] < 1e-8
    assert measured["error of Bricard's relation"] < 1e-12
    assert measured["independent rows of five"] == 4.0
    assert np.ptp(motion.evaluate(motion.robot.kinetic_energy)) > 1.0
    h, other = motion.t[1], PinocchioBricard()
    for k in (100, 300, 590):
        before2, before, after, after2 = motion.v[[k - 2, k - 1, k + 1, k + 2]]
        expected, _ = other.motion(motion.q[k], motion.v[k], np.zeros(5))
        assert_allclose((before2 - 8.0 * before + 8.0 * after - after2) / (12.0 * h), expected, atol=1e-8)


def test_the_slider_crank_passes_its_singular_position_smoothly(monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)
    motion, measured = ran(slider_crank(duration=0.8, step=1e-3))
    assert measured["singular positions passed"] == 1.0
    assert measured["difference of the arms' angles"] < 1e-12
    assert measured["error against the motion in one coordinate"] < 1e-8
    assert measured["energy minus work, error"] < 1e-6
    # On the way with folded arms the slider would stay.
    assert np.ptp(motion.q[:, 2]) > 1.0
    # Another torque is another motion.
    other, _ = ran(slider_crank(duration=0.8, step=1e-3, parameters={"torque": 3.0}))
    assert abs(other.q[-1, 0] - motion.q[-1, 0]) > 0.01


def test_settings_reach_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)
    assert n_four_bar(cells=4).robot.coordinates.nq == 9
    setup = slider_crank.prepare({"angle": "1.0", "rate": "2.0", "duration": "0.1"})
    assert_allclose(np.asarray(setup.q0), [1.0, -1.0, 2.0 * np.cos(1.0)])
    assert_allclose(np.asarray(setup.v0), [2.0, -2.0, -4.0 * np.sin(1.0)])
    assert ran(setup)[1]["error against the motion in one coordinate"] < 1e-8
    # Parameters reach what a motion is compared with, too.
    assert (
        ran(slider_crank(duration=0.1, parameters={"g": 5.0}))[1]["error against the motion in one coordinate"] < 1e-8
    )
    lighter = ran(n_four_bar(cells=1, duration=0.5, parameters={"g": 5.0}))[1]
    assert lighter["angle, error against elliptic functions"] < 1e-8
