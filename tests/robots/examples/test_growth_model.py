"""The economy as a Lagrangian system: profit by hand, where it settles, and the subsidies that set its growth."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.constraints import nonholonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Robot
from erugin.robots.examples import growth_model
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import ModelError

Array = NDArray[np.float64]

NUMBERS = {
    "productivity": 1.3,
    "capital_share": 0.3,
    "labour_share": 0.5,
    "rental": 0.2,
    "wage": 0.8,
    "capital_inertia": 2.0,
    "labour_inertia": 1.5,
    "capital_friction": 0.9,
    "labour_friction": 0.7,
}
A, ALPHA, BETA, RENTAL, WAGE, A_K, A_N, C_K, C_N = NUMBERS.values()
TIGHT = DOP853(1e-13, 1e-13)


def economy(**changed: float) -> Robot:
    return growth_model(**(NUMBERS | changed))


def marginal_profits(K: Array, N: Array) -> tuple[Array, Array]:
    """α A K^{α−1} N^β − r and β A K^α N^{β−1} − w."""
    return (
        ALPHA * A * K ** (ALPHA - 1) * N**BETA - RENTAL,
        BETA * A * K**ALPHA * N ** (BETA - 1) - WAGE,
    )


def growing(rates: list[tuple[int, float]]) -> tuple[Robot, Program]:
    """q̇ = γ q for the factors with these numbers."""
    robot = economy()
    rows = [nonholonomic(robot.v[i] - rate * robot.q[i], name=f"growth{i}") for i, rate in rates]
    return robot, Program(robot, rows)


def test_marginal_products_and_prices_are_the_forces() -> None:
    robot, rng = economy(), np.random.default_rng(1)
    for _ in range(20):
        q, v, s = rng.uniform(0.5, 5.0, 2), rng.normal(size=2), rng.normal(size=2)
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=s)
        capital, labour = marginal_profits(q[0], q[1])
        expected = [(capital - C_K * v[0] + s[0]) / A_K, (labour - C_N * v[1] + s[1]) / A_N]
        np.testing.assert_allclose(a, expected, rtol=0, atol=1e-13)


def test_the_economy_settles_where_marginal_products_equal_prices() -> None:
    """In closed form for α + β < 1; on the way profit less friction falls into adjustment costs."""
    robot, rest = economy(), 1 - ALPHA - BETA
    K = (A * (ALPHA / RENTAL) ** (1 - BETA) * (BETA / WAGE) ** BETA) ** (1 / rest)
    N = (A * (ALPHA / RENTAL) ** ALPHA * (BETA / WAGE) ** (1 - ALPHA)) ** (1 / rest)
    np.testing.assert_allclose(marginal_profits(np.array(K), np.array(N)), 0.0, atol=1e-14)
    motion = simulate(robot, None, [0.5 * K, 0.8 * N], [0.0, 0.0], 900.0, step=1.0, integrator=TIGHT)
    np.testing.assert_allclose(motion.q[-1], [K, N], rtol=1e-9)
    assert (np.diff(motion.energy) <= 1e-12).all()
    assert motion.energy[0] - motion.energy[-1] > 0.01


def test_a_programme_sets_the_growth_of_capital_and_its_subsidy_is_the_force() -> None:
    """K = K₀ e^{γt}; s_K = a γ² K + c γ K + r − α A K^{α−1} N^β by hand, while labour goes its own way."""
    gamma, K0, N0 = 0.04, 2.0, 1.5
    robot, program = growing([(0, gamma)])
    controller = ProgramController(program)
    motion = simulate(robot, controller, [K0, N0], [gamma * K0, 0.0], 25.0, step=0.01)
    K = K0 * np.exp(gamma * motion.t)
    np.testing.assert_allclose(motion.q[:, 0], K, rtol=1e-11)

    def labour(t: float, x: Array) -> Array:
        _, profit = marginal_profits(K0 * np.exp(gamma * t), x[0])
        return np.array([x[1], (profit - C_N * x[1]) / A_N])

    there = solve_ivp(labour, (0.0, 25.0), [N0, 0.0], method="DOP853", t_eval=motion.t, rtol=1e-12, atol=1e-12).y[0]
    np.testing.assert_allclose(motion.q[:, 1], there, rtol=0, atol=1e-9)
    profit, _ = marginal_profits(K, motion.q[:, 1])
    subsidy = A_K * gamma**2 * K + C_K * gamma * K - profit
    np.testing.assert_allclose(motion.u, np.column_stack([subsidy, np.zeros(len(motion))]), rtol=0, atol=1e-10)
    # The inputs can give exactly this force: a programme of one factor costs nothing on the other.
    actuated = ProgramController(program, realization="actuated").control(0.0, [K0, N0], [gamma * K0, 0.0])
    np.testing.assert_allclose(actuated, motion.u[0], rtol=0, atol=1e-12)


def test_an_economy_off_the_programme_converges_to_it_at_the_chosen_rate() -> None:
    gamma, rate = 0.04, 0.5
    robot, program = growing([(0, gamma)])
    controller_p = {"growth0.rate": rate}
    motion = simulate(
        robot,
        ProgramController(program),
        [2.0, 1.5],
        [0.0, 0.0],
        20.0,
        step=0.2,
        integrator=TIGHT,
        controller_p=controller_p,
    )
    np.testing.assert_allclose(motion.deviation[:, 0], -gamma * 2.0 * np.exp(-rate * motion.t), rtol=0, atol=1e-11)


def test_american_manufacturing_from_1899_to_1922() -> None:
    """Cobb and Douglas: capital from 100 to 431 and labour from 100 to 161 in 23 years, with 1.01 K^¼ N^¾."""
    robot = economy(productivity=1.01, capital_share=0.25, labour_share=0.75)
    output = robot.nominal["r"] * robot.q[0] + robot.nominal["w"] * robot.q[1] - robot.potential_energy
    rates = np.log([4.31, 1.61]) / 23.0
    rows = [nonholonomic(robot.v[i] - rates[i] * robot.q[i], name=name) for i, name in enumerate(("capital", "labour"))]
    controller = ProgramController(Program(robot, rows), realization="actuated")
    start = np.array([100.0, 100.0])
    motion = simulate(robot, controller, start, rates * start, 23.0, step=0.5, integrator=TIGHT)
    np.testing.assert_allclose(motion.q[-1], [431.0, 161.0], rtol=1e-10)
    product = motion.evaluate(output)
    assert product[0] == pytest.approx(101.0, rel=1e-12)
    assert product[-1] == pytest.approx(1.01 * 431.0**0.25 * 161.0**0.75, rel=1e-10)
    exponent = np.log(product[-1] / product[0]) / 23.0
    assert exponent == pytest.approx(0.25 * rates[0] + 0.75 * rates[1], rel=1e-9)


def test_subsidies_pay_for_output_and_adjustment() -> None:
    """d(T − Π)/dt = s·q̇ − c K̇² − d Ṅ²."""
    robot, rng = economy(), np.random.default_rng(7)
    c = robot.coordinates
    rate = ca.substitute(c.rate(robot.kinetic_energy + robot.potential_energy), c.a, robot.acceleration)
    for _ in range(20):
        q, v, s = rng.uniform(0.5, 5.0, 2), rng.normal(size=2), rng.normal(size=2)
        found = float(robot.evaluate(rate, q=q, v=v, u=s))
        assert found == pytest.approx(s @ v - C_K * v[0] ** 2 - C_N * v[1] ** 2, abs=1e-12)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_out_of_range(name: str) -> None:
    with pytest.raises(ModelError, match=f"{name} must (be greater than zero|not be negative), got -0.1"):
        economy(**{name: -0.1})
