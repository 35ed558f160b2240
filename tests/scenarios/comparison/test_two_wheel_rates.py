"""Kanayama's law as program control, and program control at its effort: gains, a few runs, and their picture."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import solve_continuous_are, solve_continuous_lyapunov

from erugin.constraints import Linear
from erugin.controllers import Controller
from erugin.controllers.baselines import Kanayama

from ...support.project import ROOT
from ...support.two_wheel_tracking import REDUCED, slope, state_rate, straight

Array = NDArray[np.float64]
RATE, SPEED = 1.7, 0.25


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder ``docs`` is no part of the package: its scripts are run from the root."""
    monkeypatch.syspath_prepend(ROOT)


def of_docs(module: str) -> Any:  # noqa: ANN401 - a module that type checkers do not know
    return importlib.import_module(f"docs.studies.{module}")


def test_to_first_order_kanayamas_law_is_program_control_of_a_point_ahead() -> None:
    """Torques and their derivatives by the state, on the straight motion: the point v/ω ahead, ë + 6ω ė + 5ω² e = 0."""
    motion = straight(REDUCED, SPEED)
    q, v = motion.start(t=0.6)

    def torques(law: Controller) -> Array:
        return slope(lambda x: law.control(0.6, x[:5], x[5:]), np.concatenate([q, v]))

    equation = Linear(5 * RATE**2 * np.eye(2), 6 * RATE * np.eye(2))
    program = of_docs("two_wheel").of_point_ahead(motion, SPEED / RATE, equation)
    law = Kanayama.critically_damped(motion, rate=RATE, speed=SPEED)
    np.testing.assert_allclose(program.control(0.6, q, v), law.control(0.6, q, v), atol=1e-12)
    expected = torques(law)
    np.testing.assert_allclose(torques(program), expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())


def effort(K: float, C: float) -> float:
    """∫ë² dt of ë + C ė + K e = 0 from e = 1 at rest, by Lyapunov's equation."""
    gains = np.array([[K, C]])
    A = np.array([[0.0, 1.0], [-K, -C]])
    return float(solve_continuous_lyapunov(A.T, -gains.T @ gains)[0, 0])


def test_the_gains_are_those_of_the_regulator_with_kanayamas_effort() -> None:
    """Riccati's equation for ∫(e² + ρ ë²) dt results in the same damping, its cost in the least ∫e² for that ∫ë²."""
    law = of_docs("two_wheel").at_equal_effort(straight(REDUCED, SPEED), RATE)
    values = dict(zip(law.parameters.names, law.parameters.values(), strict=True))
    K, C = values["nose.beta"] ** 2, 2 * values["nose.alpha"]
    assert effort(K, C) == pytest.approx(effort(5 * RATE**2, 6 * RATE))
    B = np.array([[0.0], [1.0]])
    riccati = solve_continuous_are(np.array([[0.0, 1.0], [0.0, 0.0]]), B, np.diag([1.0, 0.0]), [[K**-2]])
    np.testing.assert_allclose(K**2 * B.T @ riccati, [[K, C]], rtol=1e-9)


def test_the_third_pole_across_lies_as_far_out_as_the_pair() -> None:
    """Poles of the robot under the law, straight along x: −β, and twice those of s² + √2 β s + β²."""
    motion = straight(REDUCED, SPEED, 0.0)
    law = of_docs("two_wheel").at_equal_effort(motion, RATE)
    beta = dict(zip(law.parameters.names, law.parameters.values(), strict=True))["nose.beta"]
    rate, (q, v) = state_rate(law), motion.start()
    x = np.concatenate([q, v])
    free = [0, 1, 2, 5, 6]  # all but the wheels' angles

    def moved(part: Array) -> Array:
        full = x.copy()
        full[free] = part
        return rate(0.0, full)[free]

    pair = [1.0, np.sqrt(2.0) * beta, beta**2]
    expected = np.polymul(np.polymul(pair, pair), [1.0, beta])
    np.testing.assert_allclose(np.poly(slope(moved, x[free])), expected, rtol=1e-6)


@pytest.mark.slow
def test_at_its_effort_program_control_is_nearer_than_kanayamas_law(tmp_path: Path) -> None:
    rates = of_docs("two_wheel_rates")
    found = rates.trade_off([1.5, 2.0], seeds=range(1000, 1020))
    for rate in (1.5, 2.0):
        assert rates.share_less(found, "error_rms", rates.EQUAL_EFFORT, rate) > 0.8
        assert rates.share_less(found, "variation", rates.EQUAL_EFFORT, rate) == 1.0
        assert rates.share_less(found, "error_rms", "program control", rate) < 0.2
    rates.draw(found, [1.5, 2.0], tmp_path / "rates.png")
    assert (tmp_path / "rates.png").stat().st_size > 0
