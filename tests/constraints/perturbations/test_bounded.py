"""Bounded equations: limits, closed forms, global stability, and the way home."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad, solve_ivp

from erugin.constraints import Baumgarte, BoundedAcceleration, FirstOrder, holonomic
from erugin.controllers import Program, ProgramController
from erugin.scenarios import simulate
from erugin.symbolic import ModelError

from ...support.arms import two_link_arm
from ...support.perturbations import flow, right_side

Array = NDArray[np.float64]
EQUATIONS = (BoundedAcceleration(), BoundedAcceleration(5.0, 3.0, 4.0), BoundedAcceleration(0.5, 30.0, 10.0))


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_no_deviation_requires_more_than_the_limit(y: float, rate: float) -> None:
    values, rates = np.array([y]), np.array([rate])
    assert abs(right_side(BoundedAcceleration(5.0, 3.0, 4.0), values, rates)[0]) <= 5.0
    assert abs(right_side(BoundedAcceleration(5.0, 3.0, order=1), values, np.zeros(0))[0]) <= 5.0


def test_a_large_deviation_does_ask_for_the_limit() -> None:
    assert right_side(BoundedAcceleration(5.0), np.array([1e4]), np.zeros(1))[0] == pytest.approx(-5.0, rel=1e-3)
    assert right_side(BoundedAcceleration(5.0), np.zeros(1), np.array([-1e4]))[0] == pytest.approx(5.0, rel=1e-3)
    assert right_side(BoundedAcceleration(5.0, order=1), np.array([1e4]), np.zeros(0))[0] == pytest.approx(
        -5.0, rel=1e-3
    )


def test_a_small_deviation_sees_baumgarte() -> None:
    y, rate = np.array([1e-5]), np.array([2e-5])
    found = right_side(BoundedAcceleration(5.0, 3.0, 4.0), y, rate)
    np.testing.assert_allclose(found, right_side(Baumgarte(3.0, 4.0), y, rate), rtol=1e-7)
    found = right_side(BoundedAcceleration(5.0, 3.0, order=1), y, np.zeros(0))
    np.testing.assert_allclose(found, right_side(FirstOrder(3.0), y, np.zeros(0)), rtol=1e-7)


def test_values_by_hand() -> None:
    """L = 5, α = 3, β = 4: c = 8/3, l = 45/64; y = l gives w = c l 2^(−¼), and σ of 2α(ẏ + w)."""
    w = 8 / 3 * 45 / 64 / 2**0.25
    x = 6.0 * (-0.5 + w)
    found = right_side(BoundedAcceleration(5.0, 3.0, 4.0), np.array([45 / 64]), np.array([-0.5]))
    assert found[0] == pytest.approx(-x / np.sqrt(1 + x**2 / 25), rel=1e-14)


def test_order_1_has_a_closed_form() -> None:
    """√(1 + s²) + ln(s/(1 + √(1 + s²))) = C − α t with s = α y′/L."""

    def left(y: float) -> float:
        s = 3.0 * y / 5.0
        return float(np.sqrt(1 + s**2) + np.log(s / (1 + np.sqrt(1 + s**2))))

    times = np.linspace(0.0, 5.0, 11)
    path = solve_ivp(
        flow(BoundedAcceleration(5.0, 3.0, order=1)), (0, 5), [20.0], t_eval=times, rtol=1e-11, atol=1e-14
    ).y[0]
    np.testing.assert_allclose([left(y) for y in path], left(20.0) - 3.0 * times, atol=1e-8)


@pytest.mark.parametrize("equation", EQUATIONS, ids=repr)
@pytest.mark.parametrize("y", [1e-3, 0.3, 40.0])
def test_the_lyapunov_function_is_the_integral(equation: BoundedAcceleration, y: float) -> None:
    """½ẏ² + ∫σ(2αw) dy by quadrature: the right side at ẏ = 0 is minus the integrand."""
    V = equation.certificate().function
    assert V is not None
    integral = quad(lambda s: -right_side(equation, np.array([s]), np.zeros(1))[0], 0.0, y, epsabs=0, epsrel=1e-12)[0]
    value, rate = V.evaluate([y, 0.0])
    assert value == pytest.approx(integral, rel=1e-7)
    assert rate == 0.0
    value, rate = V.evaluate([y, -0.7])
    assert value == pytest.approx(integral + 0.245, rel=1e-7)
    a, b = (right_side(equation, np.array([y]), np.array([v]))[0] for v in (-0.7, 0.0))
    assert rate == pytest.approx(-0.7 * (a - b), rel=1e-9)
    assert rate < 0.0


@pytest.mark.parametrize("equation", EQUATIONS, ids=repr)
@pytest.mark.parametrize("start", [(20.0, 0.0), (-1.0, -30.0), (1e-3, 4.0)])
def test_v_falls_from_far_and_the_deviation_comes_home(
    equation: BoundedAcceleration, start: tuple[float, float]
) -> None:
    V = equation.certificate().function
    assert V is not None
    limit = equation.limit
    # Brake, come back, and a few time constants.
    duration = (
        10.0 * (abs(start[1]) / limit + np.sqrt(abs(start[0]) / limit)) + 20.0 / equation.certificate().decay_rate
    )
    times = np.linspace(0.0, duration, 400)
    states = solve_ivp(flow(equation), (0, duration), start, "LSODA", times, rtol=1e-10, atol=1e-12).y.T
    values = np.array([V.evaluate(x)[0] for x in states])
    moving = values > 1e-12 * values[0]
    assert moving.sum() >= 30
    assert (np.diff(values)[moving[1:]] < 0.0).all()
    assert np.abs(states[-1]).max() <= 1e-6


def test_it_comes_home_without_overshoot_along_the_braking_parabola() -> None:
    """From rest at 20: L pulls until ẏ² ≈ L|y|, then L/2 brakes: √(2·20/3/10) + 2√(2/3·20/10) = 3.46 s."""
    path = solve_ivp(flow(BoundedAcceleration()), (0.0, 6.0), [20.0, 0.0], rtol=1e-10, atol=1e-12, max_step=0.01)
    y, rate = path.y
    assert y.min() >= -1e-3
    home = path.t[np.flatnonzero(np.abs(y) > 0.2)[-1]]
    assert home == pytest.approx(3.46, rel=0.15)
    far = (y > 2.0) & (path.t > 2.0)
    np.testing.assert_allclose(rate[far] ** 2 / (10.0 * y[far]), 1.0, rtol=0.15)


def test_a_motion_far_from_its_program_is_pulled_gently() -> None:
    """A deviation of a radian: Baumgarte asks for β² = 100 rad/s², this one never for more than 10."""
    robot, place = two_link_arm(), np.array([0.3, 0.8])

    def accelerations(equation: Baumgarte | BoundedAcceleration) -> Array:
        held = holonomic(robot.q - place, perturbation=equation, name="held")
        controller = ProgramController(Program(robot, held))
        motion = simulate(robot, controller, place + 1.0, [0.0, 0.0], 3.0, step=1e-3)
        assert np.abs(motion.deviation[-1]).max() <= 1e-6
        return np.asarray(np.abs(np.diff(motion.v, axis=0)).max(axis=0) / 1e-3)

    assert accelerations(BoundedAcceleration()).max() <= 10.0
    assert accelerations(Baumgarte()).min() >= 90.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"limit": 0.0}, "limit of Bounded.* must be greater than zero"),
        ({"limit": -1.0}, "limit of Bounded.* must be greater than zero"),
        ({"alpha": -1.0}, "alpha of Bounded.* must be greater than zero"),
        ({"beta": 0.0}, "beta of Bounded.* must be greater than zero"),
        ({"limit": np.nan}, "limit must be finite"),
        ({"order": 2}, "order 0 or 1, got order=2"),
        ({"order": 1, "beta": 3.0}, "BoundedAcceleration of order 1 has no beta"),
    ],
)
def test_bad_numbers_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        BoundedAcceleration(**given)
