"""Prescribed-time equations: the closed-form solutions, what is left at T, the cap, the step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.constraints import PrescribedTime, holonomic, nonholonomic
from erugin.controllers import Program, ProgramController
from erugin.scenarios import simulate
from erugin.simulation import RK4
from erugin.symbolic import ModelError

from ...support.arms import two_link_arm
from ...support.perturbations import flow, right_side

Array = NDArray[np.float64]
ROBOT = two_link_arm()
PLACE = np.array([0.3, 0.8])


def closed_form(n: float, T: float, start: tuple[float, float], t: Array) -> Array:
    """y = sⁿ (c₁ + c₂ s) with s = T − t, from y and ẏ at t = 0."""
    basis = np.array([[T**n, T ** (n + 1)], [-n * T ** (n - 1), -(n + 1) * T**n]])
    c1, c2 = np.linalg.solve(basis, start)
    return np.asarray((T - t) ** n * (c1 + c2 * (T - t)))


@pytest.mark.parametrize("power", [1.5, 2.0, 3.0, 5.0])
def test_solutions_before_the_cap(power: float) -> None:
    equation = PrescribedTime(2.0, 0.02, power)
    times = np.linspace(0.0, 1.97, 12)
    path = solve_ivp(flow(equation), (0.0, 1.97), [0.7, -1.5], t_eval=times, rtol=1e-11, atol=1e-14).y[0]
    np.testing.assert_allclose(path, closed_form(power, 2.0, (0.7, -1.5), times), atol=1e-9)
    first = PrescribedTime(2.0, 0.02, power, order=1)
    path = solve_ivp(flow(first), (0.0, 1.97), [0.7], t_eval=times, rtol=1e-11, atol=1e-14).y[0]
    np.testing.assert_allclose(path, 0.7 * (1 - times / 2.0) ** power, atol=1e-9)


@pytest.mark.parametrize("equation", [PrescribedTime(), PrescribedTime(2.0, 0.1, 2.5, order=1)], ids=repr)
def test_what_is_left_at_the_time_is_the_remainder(equation: PrescribedTime) -> None:
    n = 2 - equation.order
    remainder = np.column_stack(
        [
            solve_ivp(flow(equation), (0.0, equation.time), e, rtol=1e-12, atol=1e-18, max_step=1e-3).y[:, -1]
            for e in np.eye(n)
        ]
    )
    np.testing.assert_allclose(equation.remainder, remainder, rtol=1e-4, atol=1e-12)
    # Of the order of (τ/T)ⁿ for y, and of that over τ for ẏ.
    ratio = (equation.cap / equation.time) ** equation.power
    assert 1e-3 * ratio <= np.abs(equation.remainder[0]).max() <= ratio


def test_the_remainder_of_order_1_in_closed_form() -> None:
    """(τ/T)ⁿ until the cap, exp(−n) in the last τ."""
    equation = PrescribedTime(2.0, 0.1, 2.5, order=1)
    assert equation.remainder[0, 0] == pytest.approx(0.05**2.5 * np.exp(-2.5), rel=1e-12)


def test_the_gains_stop_growing_at_the_cap() -> None:
    equation = PrescribedTime(1.0, 0.1, 3.0)
    y, rate = np.array([0.2]), np.array([-0.5])
    at = [right_side(equation, y, rate, time=t)[0] for t in (0.0, 0.5, 0.9, 0.95, 1.0, 50.0)]
    assert at[0] == pytest.approx(3.0 - 12 * 0.2, rel=1e-12)
    assert at[1] == pytest.approx(2 * 3.0 - 4 * 12 * 0.2, rel=1e-12)
    assert at[2:] == pytest.approx([10 * 3.0 - 100 * 12 * 0.2] * 4, rel=1e-9)


def test_the_certificate_holds_before_and_after() -> None:
    for equation in (PrescribedTime(), PrescribedTime(power=1.2), PrescribedTime(power=9.0), PrescribedTime(order=1)):
        proof = equation.certificate()
        V = proof.function
        assert V is not None
        assert proof.settling_time is not None
        assert proof.settling_time(5.0, 3.0) == 1.0
        assert V.largest_derivative < 0.0
        start = [0.7, -1.5][: 2 - equation.order]
        times = np.linspace(0.0, 1.05, 200)
        path = solve_ivp(flow(equation), (0.0, 1.05), start, t_eval=times, rtol=1e-11, atol=1e-16, max_step=1e-3).y.T
        values = np.array([V.evaluate(x, t)[0] for x, t in zip(path, times, strict=True)])
        moving = values > 1e-18 * values[0]
        assert moving.sum() > 100
        assert (np.diff(values)[moving[1:]] < 0.0).all()
        x, t, h = path[60], times[60], 1e-6
        f = flow(equation)(t, x)
        slope = (V.evaluate(x + h * f, t + h)[0] - V.evaluate(x - h * f, t - h)[0]) / (2 * h)
        assert V.evaluate(x, t)[1] == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("start", [(0.05, 0.0), (1.0, 0.0), (-0.8, 2.0)])
def test_every_program_arrives_at_the_time(start: tuple[float, float]) -> None:
    equation = PrescribedTime.for_step(1e-3, RK4(), time=0.8)
    held = holonomic(ROBOT.q - PLACE, perturbation=equation, name="held")
    controller = ProgramController(Program(ROBOT, held))
    q0, v0 = PLACE + start[0] * np.array([1.0, -0.5]), start[1] * np.array([1.0, -0.5])
    motion = simulate(ROBOT, controller, q0, v0, 1.0, step=1e-3)
    before = motion.t <= 0.79
    expected = closed_form(3.0, 0.8, start, motion.t[before])
    np.testing.assert_allclose(motion.deviation[before, 0], expected, atol=1e-6 * np.abs(expected).max())
    arrived = np.abs(motion.deviation[motion.t >= 0.8]).max()
    assert arrived <= 1e-8 * (abs(start[0]) + abs(start[1]))
    assert np.abs(motion.deviation[motion.t <= 0.6]).max() >= 1e-3
    # After the time the deviation stays away, with gains that no longer grow.
    assert np.abs(motion.deviation[-1]).max() <= 1e-13


def test_the_time_is_a_parameter_of_the_program() -> None:
    equation = PrescribedTime(1.0, 0.01, 3.0, order=1)
    program = Program(ROBOT, nonholonomic(ROBOT.v, perturbation=equation, name="still"))
    assert [name for name in program.nominal if "still" in name] == ["still.time", "still.cap", "still.power"]
    controller = ProgramController(program)
    motion = simulate(ROBOT, controller, PLACE, [0.4, -0.3], 0.2, step=1e-3, controller_p={"still.time": 0.4})
    np.testing.assert_allclose(motion.v[-1], 0.5**3 * np.array([0.4, -0.3]), rtol=1e-9)


def test_a_step_must_be_short_enough_for_the_cap() -> None:
    """n/τ = 3/0.003 = 1000/s: RK4 needs h ≤ 2.785 ms, whenever the run ends."""
    equation = PrescribedTime(1.0, 0.003, 3.0, order=1)
    controller = ProgramController(Program(ROBOT, nonholonomic(ROBOT.v, perturbation=equation, name="still")))
    with pytest.raises(ModelError, match=r"'still'.*at most 0\.0027 s"):
        simulate(ROBOT, controller, PLACE, [0.1, 0.0], 0.1, step=5e-3)
    simulate(ROBOT, controller, PLACE, [0.1, 0.0], 0.1, step=5e-3, controller_p={"still.cap": 0.01})


@pytest.mark.slow
def test_for_step_chooses_the_best_cap() -> None:
    """Against a fine scan of caps: none contracts faster under RK4 at its last gains."""
    for order in (0, 1):
        best = PrescribedTime.for_step(1e-3, RK4(), order=order)
        caps = np.geomspace(5e-4, 2e-2, 2000)
        least = min(PrescribedTime(1.0, cap, 3.0, order).contraction(1e-3, RK4()) for cap in caps)
        assert best.contraction(1e-3, RK4()) <= least + 1e-6
        assert best.time == 1.0
    # The eigenvalues (−n ± i√n)/τ pass through the zero of R, −1.7294 ± 0.8890i, for n = (1.7294/0.8890)².
    power = (1.7294442310677052 / 0.8889743761218662) ** 2
    assert PrescribedTime.for_step(1e-3, RK4(), power=power).contraction(1e-3, RK4()) <= 1e-7


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"time": 0.0}, "time of PrescribedTime.* must be greater than zero"),
        ({"cap": -0.1}, "cap of PrescribedTime.* must be greater than zero"),
        ({"power": 0.0}, "power of PrescribedTime.* must be greater than zero"),
        ({"time": 0.5, "cap": 0.5}, r"cap must be shorter than the prescribed time, got cap=0\.5 and time=0\.5"),
        ({"time": np.inf}, "time must be finite"),
        ({"order": 3}, "order 0 or 1, got order=3"),
    ],
)
def test_bad_numbers_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        PrescribedTime(**given)


def test_a_time_within_a_few_steps_is_refused() -> None:
    with pytest.raises(ModelError, match="cap must be shorter"):
        PrescribedTime.for_step(0.1, RK4(), time=0.1)


@pytest.mark.parametrize("power", [0.01, 0.3, 1.0, 40.0])
def test_both_matrices_of_the_proof_are_negative_definite(power: float) -> None:
    """For any power: V = ξᵀPξ with ξ = (y, s ẏ), P read off V at s = 1."""
    equation = PrescribedTime(2.0, 0.5, power)
    V = equation.certificate().function
    assert V is not None
    p, q, r = (V.evaluate(x, 1.0)[0] for x in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0]))
    P = np.array([[p, (r - p - q) / 2], [(r - p - q) / 2, q]])
    assert np.linalg.eigvalsh(P).min() > 0.0
    for damping in (2 * power + 1, 2 * power):
        F = np.array([[0.0, 1.0], [-power * (power + 1), -damping]])
        assert np.linalg.eigvalsh(F.T @ P + P @ F).max() < 0.0
