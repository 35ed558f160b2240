"""Finite-time equations: settling against the closed form and the bound, the price of smoothing, steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad, solve_ivp

from erugin.constraints import FiniteTime, holonomic, nonholonomic
from erugin.constraints.perturbations.finite_time import settling_constant
from erugin.controllers import Program, ProgramController
from erugin.scenarios import simulate
from erugin.simulation import RK4
from erugin.symbolic import ModelError

from ...support.arms import two_link_arm
from ...support.perturbations import flow, right_side

Array = NDArray[np.float64]
ROBOT = two_link_arm()
STARTS = [(1.0, 0.0), (0.1, 0.0), (1.0, 3.0), (-1.0, 2.0), (5.0, -2.0)]
LAWS = [(1.0, None, 0.5), (2.0, 3.0, 0.7), (4.0, 1.0, 0.3)]


def test_values_by_hand() -> None:
    """α₂ = 0.5 makes α₁ = ⅓; far from zero the smoothing is not seen."""
    found = right_side(FiniteTime(2.0, 3.0, 0.5, 1e-9, 1e-9), np.array([-8.0]), np.array([0.25]))
    assert found[0] == pytest.approx(2.0 * 2.0 - 3.0 * 0.5, rel=1e-12)
    found = right_side(FiniteTime(2.0, power=0.5, width=1e-9, order=1), np.array([0.25]), np.zeros(0))
    assert found[0] == pytest.approx(-1.0, rel=1e-12)


def test_the_smoothed_slope_is_the_critically_damped_one() -> None:
    equation = FiniteTime(2.0, 3.0, 0.7, 0.01)
    A = equation.state_matrix()
    assert A[1, 0] == pytest.approx(-2.0 * 0.01 ** (0.7 / 1.3 - 1.0), rel=1e-12)
    assert A[1, 1] ** 2 == pytest.approx(-4.0 * A[1, 0], rel=1e-12)


@pytest.mark.parametrize("power", [0.2, 0.5, 0.9])
def test_order_1_settles_in_the_closed_form(power: float) -> None:
    """y′^(1−α) falls linearly to zero at y′₀^(1−α)/(k(1−α)), up to what the smoothing leaves."""
    k, start = 2.0, 3.0
    equation = FiniteTime(k, power=power, width=1e-12, order=1)
    settled = start ** (1 - power) / (k * (1 - power))
    times = np.linspace(0.0, 0.8 * settled, 10)
    path = solve_ivp(flow(equation), (0.0, times[-1]), [start], t_eval=times, rtol=1e-11, atol=1e-14).y[0]
    expected = np.array([(start ** (1 - power) - k * (1 - power) * t) ** (1 / (1 - power)) for t in times])
    np.testing.assert_allclose(path, expected, rtol=1e-6)
    # Down to the width by quadrature of the smoothed equation: below the bound, and near the time without smoothing.
    width = 1e-3
    smooth = FiniteTime(k, power=power, width=width, order=1)
    taken = quad(lambda y: (y**2 + width**2) ** ((1 - power) / 2) / (k * y), width, start, limit=200)[0]
    bound = smooth.settling_time(start)
    assert taken <= bound <= 2.0 * taken
    # The time without smoothing does not bound it.
    assert (start ** (1 - power) - width ** (1 - power)) / (k * (1 - power)) < taken
    assert smooth.settling_time(width / 2) == 0.0


@pytest.mark.parametrize(("k1", "k2", "power"), LAWS)
@pytest.mark.parametrize("start", STARTS)
def test_order_0_settles_within_the_bound(
    k1: float, k2: float | None, power: float, start: tuple[float, float]
) -> None:
    equation = FiniteTime(k1, k2, power, 1e-6)
    bound = equation.settling_time(*start)
    path = solve_ivp(flow(equation), (0.0, bound), start, "LSODA", rtol=1e-10, atol=1e-13, max_step=0.05)
    last = path.t[np.flatnonzero(np.abs(path.y[0]) > 10 * equation.width)[-1]]
    assert 0.4 * bound <= last <= bound
    # A linear equation of the same slope at the start's size would still be on its way.
    assert abs(path.y[0, -1]) <= 10 * equation.width


def test_the_bound_scales_by_homogeneity() -> None:
    """y → λ^(2−α) y, ẏ → λ ẏ multiplies all times by λ^(1−α)."""
    equation = FiniteTime(2.0, 3.0, 0.7)
    ratio = equation.settling_time(0.3 * 5.0**1.3, -0.2 * 5.0) / equation.settling_time(0.3, -0.2)
    assert ratio == pytest.approx(5.0**0.3, rel=1e-10)
    assert equation.settling_time(0.0) == 0.0


@pytest.mark.parametrize(("k1", "k2", "power"), LAWS)
def test_the_homogeneous_function_falls_at_the_rate_of_its_constant(k1: float, k2: float | None, power: float) -> None:
    """V and dV/dt, derived independently, at random states off the grid of directions: dV/dt ≤ −c V^a, c not idle."""
    second = 2.0 * np.sqrt(k1) if k2 is None else k2
    found = settling_constant(k1, second, power)
    rng = np.random.default_rng(5)
    y, v = 10.0 ** rng.uniform(-3, 3, (2, 20000)) * rng.choice([-1.0, 1.0], (2, 20000))
    first = power / (2 - power)
    E = v**2 / 2 + k1 * np.abs(y) ** (1 + first) / (1 + first)
    b = (3 - power) / 2
    V = E**b + found.mixture * y * v
    a = -k1 * np.sign(y) * np.abs(y) ** first - second * np.sign(v) * np.abs(v) ** power
    E_rate = v * a + k1 * np.sign(y) * np.abs(y) ** first * v
    V_rate = b * E ** (b - 1) * E_rate + found.mixture * (v**2 + y * a)
    assert (V > 0.0).all()
    fall = -V_rate / V ** (1 / b)
    assert fall.min() >= found.constant * (1 - 1e-4)
    assert fall.min() <= found.constant * 1.01


@pytest.mark.parametrize("equation", [FiniteTime(), FiniteTime(4.0, 1.0, 0.3, 1e-4), FiniteTime(order=1)], ids=repr)
def test_v_falls_along_a_solution_as_the_class_promises(equation: FiniteTime) -> None:
    proof = equation.certificate()
    V = proof.function
    assert V is not None
    assert proof.settling_time is not None
    assert proof.settling_time(1.0, 0.0) == equation.settling_time(1.0)
    start = [1.0, -0.5][: 2 - equation.order]
    times = np.linspace(0.0, 3.0, 200)
    states = solve_ivp(flow(equation), (0.0, 3.0), start, t_eval=times, rtol=1e-11, atol=1e-13).y.T
    values = np.array([V.evaluate(x)[0] for x in states])
    moving = values > 1e-10 * values[0]
    assert (np.diff(values)[moving[1:]] < 0.0).all()
    if equation.order == 0:
        k1, power = equation.position_gain, equation.power / (2 - equation.power)
        integral = quad(lambda y: k1 * y * (y**2 + equation.width**2) ** ((power - 1) / 2), 0.0, 1.0)[0]
        assert values[0] == pytest.approx(0.125 + integral, rel=1e-7)


def test_the_step_must_follow_the_steep_linearization() -> None:
    """k ε^(α−1) = 2·10³ at ε = 10⁻⁶: RK4 needs h ≤ 2.785/2000; a wider ε allows a longer one."""

    def controller(width: float) -> ProgramController:
        equation = FiniteTime(2.0, power=0.5, width=width, order=1)
        return ProgramController(Program(ROBOT, nonholonomic(ROBOT.v, perturbation=equation, name="still")))

    with pytest.raises(ModelError, match=r"'still'.*at most 0\.0013 s"):
        simulate(ROBOT, controller(1e-6), [0.3, 0.8], [0.1, 0.0], 0.1, step=1e-2)
    motion = simulate(ROBOT, controller(1e-6), [0.3, 0.8], [0.1, -0.2], 0.6, step=1e-3)
    # At rest after √0.2 = 0.447 s, and without chatter: what is left is far below the width.
    assert np.abs(motion.deviation[350]).max() >= 1e-3
    assert np.abs(motion.deviation[-1]).max() <= 1e-12
    motion = simulate(
        ROBOT, controller(1e-6), [0.3, 0.8], [0.1, 0.0], 0.1, step=1e-2, controller_p={"still.width": 1e-4}
    )
    assert np.isfinite(motion.v).all()


@pytest.mark.parametrize("step", [1e-2, 1e-3])
def test_for_step_smooths_as_little_as_the_step_allows(step: float) -> None:
    """A program of order 0 under RK4: settled in finite time, then gone, with the widths that the step asks for."""
    equation = FiniteTime.for_step(step, RK4(), position_gain=4.0, power=0.5)
    assert equation.contraction(step, RK4()) <= 1e-12
    place = np.array([0.3, 0.8])
    held = holonomic(ROBOT.q - place, perturbation=equation, name="held")
    bound = equation.settling_time(0.1)
    motion = simulate(ROBOT, ProgramController(Program(ROBOT, held)), place + 0.1, [0.0, 0.0], bound + 0.5, step=step)
    settled = motion.t > bound + 10 * step
    assert np.abs(motion.deviation[settled]).max() <= 1e-12
    assert np.abs(motion.deviation[motion.t < 0.2 * bound]).min() >= 1e-4
    first = FiniteTime.for_step(step, RK4(), position_gain=4.0, power=0.5, order=1)
    assert first.contraction(step, RK4()) == pytest.approx(0.270395, rel=1e-5)
    assert first.width == pytest.approx((1.5960716 / step / 4.0) ** -2, rel=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"power": 0.0}, "power must be between 0 and 1, got 0.0"),
        ({"power": 1.0}, "power must be between 0 and 1, got 1.0: at 1 the equation is linear"),
        ({"power": np.nan}, "power must be finite"),
        ({"position_gain": 0.0}, "position_gain of FiniteTime.* must be greater than zero"),
        ({"rate_gain": -2.0}, "rate_gain of FiniteTime.* must be greater than zero"),
        ({"width": 0.0}, "width of FiniteTime.* must be greater than zero"),
        ({"rate_width": -1.0}, "rate_width of FiniteTime.* must be greater than zero"),
        ({"width": np.inf}, "width must be finite"),
        ({"order": 2}, "order 0 or 1, got order=2"),
        ({"order": 1, "rate_gain": 3.0}, "FiniteTime of order 1 has no rate_gain, got 3.0"),
        ({"order": 1, "rate_width": 3.0}, "FiniteTime of order 1 has no rate_width, got 3.0"),
    ],
)
def test_bad_numbers_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        FiniteTime(**given)


def test_a_start_must_be_finite() -> None:
    with pytest.raises(ModelError, match="value must be finite"):
        FiniteTime().settling_time(np.nan)


@pytest.mark.parametrize(("k1", "k2", "power"), [(1.0, 100.0, 0.5), (1.0, 2.0, 0.05), (4.0, 1000.0, 0.8)])
def test_a_strong_damping_is_bounded_too(k1: float, k2: float, power: float) -> None:
    """It is slowest where the damping holds the pull, k₂|ẏ|^α = k₁|y|^α₁: there the function must fall as well."""
    found = settling_constant(k1, k2, power)
    rng = np.random.default_rng(6)
    y = 10.0 ** rng.uniform(-2, 2, 20000)
    first = power / (2 - power)
    v = -((k1 / k2 * y**first) ** (1 / power)) * 10.0 ** rng.uniform(-2, 2, 20000)
    E = v**2 / 2 + k1 * y ** (1 + first) / (1 + first)
    b = (3 - power) / 2
    a = -k1 * y**first + k2 * (-v) ** power
    fall = -b * E ** (b - 1) * (v * a + k1 * y**first * v) - found.mixture * (v**2 + y * a)
    assert (fall / (E**b + found.mixture * y * v) ** (1 / b)).min() >= found.constant * (1 - 1e-3)
    # Where it creeps, dy/dt = −(k₁/k₂)^(1/α) y^(α₁/α): the bound is above that time, and not by orders of magnitude.
    rest = 1 - first / power
    creep = (k2 / k1) ** (1 / power) / rest
    assert creep < FiniteTime(k1, k2, power).settling_time(1.0) < 4 * creep


def test_no_bound_is_better_than_a_wrong_one() -> None:
    with pytest.raises(ModelError, match="no bound on the settling time was found for position_gain=1, rate_gain=2"):
        FiniteTime(1.0, 2.0, 0.01).settling_time(1.0)
