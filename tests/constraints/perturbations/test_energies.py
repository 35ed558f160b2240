"""Equations from energies: against SymPy's Lagrange equations, the power balance, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.constraints import Baumgarte, Energies, Linear, holonomic, nonholonomic
from erugin.controllers import Program, ProgramController
from erugin.scenarios import simulate
from erugin.simulation import RK4
from erugin.symbolic import ModelError, Range

from ...support.arms import two_link_arm
from ...support.perturbations import (
    DAMPING,
    MASS,
    STIFFNESS,
    Gains,
    coupled_potential,
    cubic_dissipation,
    flow,
    place_dependent_kinetic,
    relativistic_kinetic,
    right_side,
)

Array = NDArray[np.float64]
ROBOT = two_link_arm()
GENERAL = Energies(
    place_dependent_kinetic, coupled_potential, cubic_dissipation, {"m": 1.5, "k": 4.0, "c": 2.0}, rows=2
)
FIRST = Energies(relativistic_kinetic, None, cubic_dissipation, {"m": 1.5, "c": 2.0}, rows=2)


def test_right_side_is_sympys_lagrange_equation() -> None:
    """Matukhina's equations in SymPy, with functions of time differentiated by it: nothing is shared with the code."""
    t = sp.Symbol("t")
    y = [sp.Function("y0")(t), sp.Function("y1")(t)]
    dy = [f.diff(t) for f in y]
    m, k, c = 1.5, 4.0, 2.0
    T = (m * dy[0] ** 2 * (1 + y[1] ** 2) + m * dy[1] ** 2 + dy[0] * dy[1] * sp.sin(y[0])) / 2
    P = k * ((y[0] ** 2 + y[1] ** 2 + y[0] * y[1]) / 2 + y[0] ** 4 / 4)
    square = dy[0] ** 2 + dy[1] ** 2
    D = c * (square / 2 + square**2 / 4)
    rows = [sp.diff(T - P, v).diff(t) - sp.diff(T - P, q) + sp.diff(D, v) for q, v in zip(y, dy, strict=True)]
    ddy = [f.diff(t, 2) for f in y]
    solution = sp.solve(rows, ddy, dict=True)[0]
    rng = np.random.default_rng(3)
    for _ in range(5):
        value, rate = rng.normal(size=2), rng.normal(size=2)
        numbers = [(dy[0], rate[0]), (dy[1], rate[1]), (y[0], value[0]), (y[1], value[1])]
        expected = [float(solution[a].subs(numbers)) for a in ddy]
        np.testing.assert_allclose(right_side(GENERAL, value, rate), expected, rtol=1e-12)


def test_order_1_is_equation_14() -> None:
    """d/dt ∂T/∂y′ + ∂D/∂y′ = 0 along a solution, with z = ∂T/∂y′ by hand and its derivative by differences."""
    derivative = flow(FIRST)
    x = np.array([0.7, -0.4])

    def momentum(rate: Array) -> Array:
        return 1.5 * rate * (1 + 1.5 * rate @ rate)

    h, slope = 1e-6, derivative(0.0, x)
    z_rate = (momentum(x + h * slope) - momentum(x - h * slope)) / (2 * h)
    np.testing.assert_allclose(z_rate, -2.0 * x * (1 + x @ x), rtol=1e-8)


def test_the_energy_falls_by_what_is_dissipated() -> None:
    """V of the certificate along a solution: positive, falling, and by the integral of ẏᵀ∂D/∂ẏ = c(|ẏ|² + |ẏ|⁴)."""
    V = GENERAL.certificate().function
    assert V is not None
    derivative = flow(GENERAL)

    def with_power(t: float, x: Array) -> Array:
        square = x[2:4] @ x[2:4]
        return np.concatenate([derivative(t, x[:4]), [2.0 * (square + square**2)]])

    start = np.array([0.4, -0.3, 0.5, 0.2, 0.0])
    times = np.linspace(0.0, 3.0, 31)
    states = solve_ivp(with_power, (0.0, 3.0), start, t_eval=times, rtol=1e-11, atol=1e-13).y
    energies = np.array([V.evaluate(x[:4])[0] for x in states.T])
    # T + P at the start, by hand.
    T = (1.5 * 0.25 * 1.09 + 1.5 * 0.04 + 0.1 * np.sin(0.4)) / 2
    P = 4.0 * ((0.16 + 0.09 - 0.12) / 2 + 0.4**4 / 4)
    assert energies[0] == pytest.approx(T + P, rel=1e-13)
    assert (np.diff(energies) < 0.0).all()
    assert (energies > 0.0).all()
    np.testing.assert_allclose(energies + states[4], energies[0], rtol=1e-9)
    x, h = states[:4, 5], 1e-5
    slope = (V.evaluate(x + h * derivative(0.0, x))[0] - V.evaluate(x - h * derivative(0.0, x))[0]) / (2 * h)
    assert V.evaluate(x)[1] == pytest.approx(slope, rel=1e-8)


def test_the_energy_of_order_1_is_the_legendre_transform() -> None:
    """y′ᵀ∂T/∂y′ − T = m(½s + 9/8 s²) with s = |y′|²; T itself would have the wrong slope here."""
    V = FIRST.certificate().function
    assert V is not None
    x = np.array([0.6, -0.5])
    s = float(x @ x)
    value, rate = V.evaluate(x)
    assert value == pytest.approx(1.5 * (s / 2 + 9 * s**2 / 8), rel=1e-14)
    assert rate == pytest.approx(-2.0 * (s + s**2), rel=1e-13)


def test_the_quadratic_form_is_linear() -> None:
    M, S, D = np.array(MASS), np.array(STIFFNESS), np.array(DAMPING)
    equation = Energies.quadratic(MASS, STIFFNESS, DAMPING)
    expected = Linear(np.linalg.solve(M, S), np.linalg.solve(M, D))
    np.testing.assert_allclose(equation.state_matrix(), expected.state_matrix(), rtol=1e-13)
    first = Energies.quadratic(MASS, None, DAMPING)
    np.testing.assert_allclose(first.state_matrix(), -np.linalg.solve(M, D), rtol=1e-13)
    assert list(first.gains) == ["mass_0_0", "mass_0_1", "mass_1_1", "damping_0_0", "damping_0_1", "damping_1_1"]
    one = Energies.quadratic(2.0, 18.0, 12.0)
    np.testing.assert_allclose(one.state_matrix(), Baumgarte(3.0).state_matrix(), rtol=1e-14)
    assert equation == Energies.quadratic(MASS, STIFFNESS, DAMPING)
    assert equation != Energies.quadratic(MASS, STIFFNESS, 2.0 * D)


def test_matukhinas_example_is_the_first_order_equation() -> None:
    """2T = y₁′² + y₂′², 2D = c₁y₁′² + c₂y₂′²: each row decays with its own rate."""
    equation = Energies.quadratic(np.eye(2), None, np.diag([3.0, 5.0]))
    still = nonholonomic(ROBOT.v, perturbation=equation, name="still")
    controller = ProgramController(Program(ROBOT, still))
    motion = simulate(ROBOT, controller, [0.3, 0.8], [0.5, -0.4], 1.0, step=1e-3)
    np.testing.assert_allclose(motion.deviation[-1], [0.5 * np.exp(-3.0), -0.4 * np.exp(-5.0)], rtol=1e-9)


def test_a_program_follows_the_nonlinear_equation() -> None:
    place = np.array([0.3, 0.8])
    program = Program(ROBOT, holonomic(ROBOT.q - place, perturbation=GENERAL, name="held"))
    assert [name for name in program.nominal if name.startswith("held.")] == ["held.m", "held.k", "held.c"]
    start = np.array([0.4, -0.3, 0.5, 0.2])
    motion = simulate(ROBOT, ProgramController(program), place + start[:2], start[2:], 1.0, step=1e-3)
    expected = solve_ivp(flow(GENERAL), (0.0, 1.0), start, rtol=1e-11, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(motion.deviation[-1], expected[:2], atol=1e-9)


def test_for_step_is_that_of_baumgarte() -> None:
    equation = Energies.for_step(1e-3, RK4(), rows=2)
    assert equation.contraction(1e-3, RK4()) <= 1e-12
    assert Energies.for_step(1e-3, RK4(), rows=2, order=1).contraction(1e-3, RK4()) == pytest.approx(0.27039, abs=1e-5)


def no_energy(y: ca.SX, rate: ca.SX, gains: Mapping[str, ca.SX]) -> ca.SX:
    return ca.SX(0)


def of_rate(factor: float) -> Any:  # noqa: ANN401 - a function of one line
    return lambda y, rate, gains: factor * ca.dot(rate, rate) / 2


def of_place(factor: float) -> Any:  # noqa: ANN401 - a function of one line
    return lambda y, rate, gains: factor * ca.dot(y, y) / 2


def pumped(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
    """Damps slow motions and drives fast ones: stable by its linearization, not in the ball."""
    return ca.dot(rate, rate) / 2 - ca.dot(rate, rate) ** 2


def double_well(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
    return ca.dot(y, y) / 2 - ca.dot(y, y) ** 2


@pytest.mark.parametrize(
    ("energies", "message"),
    [
        (
            (of_rate(-1.0), of_place(1.0), of_rate(1.0)),
            "must be positive definite at zero, but its eigenvalues are [-1.]",
        ),
        ((no_energy, of_place(1.0), of_rate(1.0)), "must be positive definite at zero, but its eigenvalues are [0.]"),
        ((of_rate(1.0), of_place(-1.0), of_rate(1.0)), "is not positive"),
        ((of_rate(1.0), no_energy, of_rate(1.0)), "not asymptotically stable: its eigenvalues are"),
        ((of_rate(1.0), of_place(1.0), of_rate(-1.0)), "is not at most zero"),
        ((of_rate(1.0), of_place(1.0), no_energy), "not asymptotically stable: its eigenvalues are"),
        ((of_rate(1.0), of_place(1.0), pumped), "is not at most zero at x ="),
        ((of_rate(1.0), double_well, of_rate(1.0)), "is not positive at x ="),
        ((of_rate(1.0), of_rate(1.0), of_rate(1.0)), "potential depends on ẏ"),
        (
            (lambda y, rate, gains: rate * ca.SX.ones(2), of_place(1.0), of_rate(1.0)),
            "kinetic must return an expression",
        ),
        ((of_rate(1.0), of_place(1.0), lambda y, rate, gains: "c"), "dissipation must return a CasADi SX"),
        ((of_rate(1.0), of_place(1.0), lambda y, rate, gains: ROBOT.q[0] * rate**2), "the energies use"),
        ((of_rate(1.0), None, of_rate(-1.0)), "is not at most zero"),
        ((of_rate(1.0), None, no_energy), "not asymptotically stable: its eigenvalues are"),
    ],
)
def test_energies_that_prove_nothing_are_refused(energies: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        Energies(*energies)


def test_the_ball_is_the_users() -> None:
    """The same dissipation is fine for small deviations: −ẏ∂D/∂ẏ = −(s − 4s²) ≤ 0 up to s = ¼."""
    assert Energies(of_rate(1.0), of_place(1.0), pumped, radius=0.49).radius == 0.49
    with pytest.raises(ModelError, match="is not at most zero"):
        Energies(of_rate(1.0), of_place(1.0), pumped, radius=0.6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((MASS, STIFFNESS, 1.0), "mass has 2 rows, damping has 1 rows, stiffness has 2 rows"),
        (
            ([[1.0, 0.5], [0.4, 1.0]], STIFFNESS, DAMPING),
            "mass must be symmetric, but mass[0, 1] = 0.5 and mass[1, 0] = 0.4",
        ),
        (([[1.0, 2.0], [2.0, 1.0]], STIFFNESS, DAMPING), "must be positive definite at zero"),
        ((MASS, [[1.0, 2.0], [2.0, 1.0]], DAMPING), "is not positive"),
        ((MASS, STIFFNESS, [[1.0, 2.0], [2.0, 1.0]]), "is not at most zero"),
        ((0.0, 1.0, 1.0), "mass of Energies(order=0, rows=1"),
    ],
)
def test_bad_quadratic_energies_are_refused(given: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        Energies.quadratic(*given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows": 0}, "at least one row"),
        ({"limits": {"c": Range.POSITIVE}}, "has c, but the gains are"),
        ({"values": {"c": -1.0}}, "c of Energies(order=0, rows=1, c=-1.0) must be greater than zero"),
        ({"radius": 0.0}, "radius must be greater than zero"),
    ],
)
def test_bad_arguments_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        Energies(of_rate(1.0), of_place(1.0), of_rate(1.0), **given)


@pytest.mark.parametrize("given", [{"rows": 0}, {"rows": 0, "order": 1}, {"order": 2}])
def test_for_step_refuses_what_there_is_not(given: dict[str, int]) -> None:
    with pytest.raises(ModelError, match=r"at least one row|order 0 or 1"):
        Energies.for_step(1e-3, RK4(), **given)


def test_the_mass_must_be_positive_in_the_whole_ball() -> None:
    """T = ½(1 − y²)ẏ²: at |y| = 1 no acceleration answers a force, although T + P stays positive."""

    def softening(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
        return (1 - ca.dot(y, y)) * ca.dot(rate, rate) / 2

    assert Energies(softening, of_place(100.0), of_rate(20.0), radius=0.9).radius == 0.9
    with pytest.raises(ModelError, match=r"positive definite at x = .* smaller radius than 5"):
        Energies(softening, of_place(100.0), of_rate(20.0), radius=5.0)


@pytest.mark.parametrize(
    ("kinetic", "message"),
    [(1.0, "kinetic must be a function"), (lambda y, rate, gains: gains["m"], "kinetic uses the gain 'm'")],
)
def test_what_is_no_energy_at_all_is_refused(kinetic: Any, message: str) -> None:  # noqa: ANN401 - bad on purpose
    with pytest.raises(ModelError, match=message):
        Energies(kinetic, of_place(1.0), of_rate(1.0))
