"""Right sides given by the user: solutions, certificates, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.constraints import Nonlinear, holonomic, nonholonomic
from erugin.controllers import Program, ProgramController
from erugin.scenarios import simulate
from erugin.symbolic import ModelError, Range

from ...support.arms import two_link_arm
from ...support.perturbations import Gains, cubic, flow, half_square, stiffening

Array = NDArray[np.float64]
ROBOT = two_link_arm()
PLACE = np.array([0.3, 0.8])


def damped_cubically(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
    return -y - rate**3


def undamped(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
    return -y


def energy(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
    return (ca.dot(y, y) + ca.dot(rate, rate)) / 2


def negative(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
    return -energy(y, rate, gains)


def van_der_pol(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
    """Backwards in time: stable within its limit cycle, of amplitude 2."""
    return -(1 - y**2) * rate - y


def two_rows(y: ca.SX, rate: ca.SX, gains: Gains) -> ca.SX:
    return ca.vertcat(-4 * y[0] - 3 * rate[0] + y[1] ** 2, -gains["k"] * y[1] - 2 * rate[1] - ca.sin(y[0] * y[1]))


def test_a_program_follows_it() -> None:
    equation = Nonlinear(stiffening, {"c": 2.0, "k": 3.0})
    held = holonomic(ROBOT.q[0] - 0.3, perturbation=equation, name="held")
    program = Program(ROBOT, held)
    assert (program.nominal["held.c"], program.nominal["held.k"]) == (2.0, 3.0)
    controller = ProgramController(program)
    motion = simulate(ROBOT, controller, [1.0, 0.8], [0.5, 0.0], 1.0, step=1e-3, controller_p={"held.k": 5.0})
    expected = solve_ivp(
        lambda t, x: [x[1], -2.0 * x[1] - 5.0 * (x[0] + x[0] ** 3)], (0, 1), [0.7, 0.5], rtol=1e-11, atol=1e-13
    ).y[0, -1]
    assert motion.deviation[-1, 0] == pytest.approx(expected, abs=1e-9)


def test_order_1_has_its_closed_form() -> None:
    """ẏ′ = −c y′³: 1/y′² = 1/y′₀² + 2ct, slower than any exponential."""
    equation = Nonlinear(cubic, {"c": 2.0}, order=1, lyapunov=half_square)
    still = nonholonomic(ROBOT.v[0] - 0.1, perturbation=equation, name="slide")
    motion = simulate(ROBOT, ProgramController(Program(ROBOT, still)), PLACE, [1.1, 0.0], 2.0, step=1e-3)
    np.testing.assert_allclose(motion.deviation[:, 0], 1 / np.sqrt(1.0 + 4.0 * motion.t), rtol=1e-9)
    proof = equation.certificate()
    assert (proof.decay_rate, proof.lyapunov.shape) == (0.0, (0, 0))
    assert proof.eigenvalues.tolist() == [0.0]
    assert proof.function is not None
    assert proof.function.evaluate([0.5]) == pytest.approx((0.125, -0.125))
    assert "between them nothing is proven" in proof.function.statement
    assert proof.function.radius == 1.0


def test_the_certificate_of_a_stable_linearization() -> None:
    proof = Nonlinear(stiffening, {"c": 2.0, "k": 3.0}).certificate()
    np.testing.assert_allclose(np.sort_complex(proof.eigenvalues), [-1 - 2**0.5 * 1j, -1 + 2**0.5 * 1j], rtol=1e-12)
    A, P = np.array([[0.0, 1.0], [-3.0, -2.0]]), proof.lyapunov
    np.testing.assert_allclose(A.T @ P + P @ A, -np.eye(2), atol=1e-12)
    assert proof.function is None
    assert proof.decay_rate == pytest.approx(1.0)


def test_a_radius_alone_requires_the_quadratic_function() -> None:
    """Van der Pol backwards: xᵀPx falls near zero, and rises somewhere before the limit cycle."""
    small = Nonlinear(van_der_pol, radius=0.5).certificate().function
    assert small is not None
    x = np.array([0.2, -0.3])
    P = Nonlinear(van_der_pol).certificate().lyapunov
    assert small.evaluate(x)[0] == pytest.approx(x @ P @ x, rel=1e-13)
    with pytest.raises(ModelError, match=r"dV/dt = .* is not negative at x = .* among 2000 states with ‖x‖ ≤ 3"):
        Nonlinear(van_der_pol, radius=3.0)


def test_damping_without_a_linear_part_needs_a_function() -> None:
    """V̇ = −ẏ⁴ at the samples; without V the eigenvalues ±i prove nothing; and what keeps V is refused."""
    proof = Nonlinear(damped_cubically, lyapunov=energy, radius=2.0).certificate()
    assert proof.function is not None
    assert proof.function.evaluate([0.5, -0.3]) == pytest.approx((0.17, -0.0081))
    assert proof.decay_rate == 0.0
    path = solve_ivp(flow(Nonlinear(damped_cubically, lyapunov=energy)), (0, 200), [1.0, 0.0], rtol=1e-9).y
    assert np.linalg.norm(path[:, -1]) <= 0.15
    with pytest.raises(ModelError, match=r"not proven asymptotically stable: its linearization has the eigenvalues \["):
        Nonlinear(damped_cubically)
    with pytest.raises(ModelError, match=r"dV/dt = .* is not negative"):
        Nonlinear(undamped, lyapunov=energy)


def test_rows_are_coupled_as_given() -> None:
    equation = Nonlinear(two_rows, {"k": 5.0}, rows=2)
    held = holonomic(ROBOT.q - PLACE, perturbation=equation, name="held")
    motion = simulate(
        ROBOT, ProgramController(Program(ROBOT, held)), PLACE + np.array([0.3, -0.4]), [0.1, 0.2], 1.0, step=1e-3
    )

    def expected(t: float, x: Array) -> list[float]:
        y, z, dy, dz = x
        return [dy, dz, -4 * y - 3 * dy + z**2, -5 * z - 2 * dz - float(np.sin(y * z))]

    path = solve_ivp(expected, (0, 1), [0.3, -0.4, 0.1, 0.2], rtol=1e-11, atol=1e-13).y
    np.testing.assert_allclose(motion.deviation[-1], path[:2, -1], atol=1e-9)
    with pytest.raises(ModelError, match="equation for 2 rows, but the constraint has 1"):
        Program(ROBOT, holonomic(ROBOT.q[0], perturbation=equation))


def test_ranges_may_be_given() -> None:
    equation = Nonlinear(stiffening, {"c": 2.0, "k": 3.0}, limits={"k": Range.NOT_NEGATIVE})
    assert equation.ranges == {"c": Range.POSITIVE, "k": Range.NOT_NEGATIVE}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"g": lambda y, rate, gains: -y - rate + 0.1}, "g must vanish at zero"),
        ({"g": lambda y, rate, gains: 1 / y - rate}, "g must vanish at zero"),
        ({"g": lambda y, rate, gains: -ca.sqrt(y) - rate}, "must have a finite slope at zero"),
        ({"g": lambda y, rate, gains: y - rate}, "not proven asymptotically stable"),
        ({"g": lambda y, rate, gains: y - rate, "lyapunov": energy}, "not proven asymptotically stable"),
        ({"g": lambda y, rate, gains: -y - rate - ROBOT.q[0] * y}, "g of Nonlinear uses q1"),
        ({"g": lambda y, rate, gains: "down"}, "g must return a CasADi SX expression, got 'down'"),
        (
            {"g": lambda y, rate, gains: ca.vertcat(y, rate)},
            "g must return an expression of shape (1,), got shape (2, 1)",
        ),
        ({"lyapunov": negative}, "is not positive at x ="),
        ({"lyapunov": lambda y, rate, gains: energy(y, rate, gains) + 1}, "V is 1 at zero, not 0"),
        ({"lyapunov": lambda y, rate, gains: rate}, "is not positive"),
        ({"lyapunov": lambda y, rate, gains: ca.vertcat(y, rate)}, "lyapunov must return an expression of shape (1,)"),
        ({"lyapunov": energy, "radius": -1.0}, "radius must be greater than zero"),
        ({"order": 2}, "order 0 or 1 and at least one row, got order=2"),
        ({"rows": 0}, "at least one row, got order=0, rows=0"),
        ({"values": {"c": 0.0}}, "c of Nonlinear(order=0, rows=1, c=0.0) must be greater than zero"),
        ({"values": {"c": np.nan}}, "c must be finite"),
        ({"limits": {"k": Range.ANY}}, "has k, but the gains are"),
    ],
)
def test_what_proves_nothing_is_refused(given: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"g": lambda y, rate, gains: -y - rate} | given
    with pytest.raises(ModelError, match=re.escape(message)):
        Nonlinear(**arguments)
