"""The bound of Euler's discretised deviation: its worst case, its closed form, and a Cartesian pendulum."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from erugin.constraints import Deressa
from erugin.robots.hamiltonian import Cholesky
from erugin.simulation import RK4, CanonicalEuler
from erugin.symbolic import ModelError

from ...support.perturbations import flow

Array = NDArray[np.float64]
EXAMPLES = (Deressa(), Deressa(0.01, 30.0), Deressa(0.01, 30.0, 40.0), Deressa(0.01, 60.0, 10.0), Deressa(0.1, 17.0))


@pytest.mark.parametrize("equation", EXAMPLES, ids=repr)
def test_the_step_matrix_is_what_euler_does(equation: Deressa) -> None:
    f, h = flow(equation), equation.step
    for x in np.eye(2):
        after = np.array([x[0], x[1] / h])
        after += h * f(0.0, after)
        np.testing.assert_allclose(equation.step_matrix() @ x, after * [1.0, h], atol=1e-14)


@pytest.mark.parametrize("equation", EXAMPLES, ids=repr)
def test_the_bound_is_reached_by_the_worst_errors_and_by_no_other(equation: Deressa) -> None:
    G, errors = equation.step_matrix(), np.array([2e-6, equation.step * 3e-4])
    bound = equation.bound(2e-6, 3e-4)
    n = 3000
    row, signs = np.array([1.0, 0.0]), np.zeros((n, 2))
    for j in range(n):
        signs[n - 1 - j], row = np.sign(row), row @ G
    worst = np.zeros(2)
    for sign in signs:
        worst = G @ worst + sign * errors
    assert worst[0] == pytest.approx(bound, rel=1e-9)
    rng = np.random.default_rng(2)
    x, largest = np.zeros(2), 0.0
    for _ in range(20000):
        x = G @ x + rng.uniform(-1, 1, 2) * errors
        largest = max(largest, abs(x[0]))
    assert 0.05 * bound <= largest <= bound


@given(st.floats(0.01, 1.0), st.floats(0.0, 1e-3), st.floats(0.0, 1.0))
def test_the_bound_with_critical_damping_in_closed_form(product: float, error: float, rate_error: float) -> None:
    """2δ/(hα) + h δ′/(hα)² for hα ≤ 1."""
    h = 0.01
    expected = 2 * error / product + h * rate_error / product**2
    assert Deressa(h, product / h).bound(error, rate_error) == pytest.approx(expected, rel=1e-9)


@given(st.floats(0.05, 3.0), st.floats(0.05, 3.0))
def test_the_conditions_of_the_class_are_those_of_the_eigenvalues(a: float, b: float) -> None:
    """hβ² < 2α and 4hα < 4 + h²β², here with h = 1."""
    margin = min(2 * a - b**2, 4 + b**2 - 4 * a)
    if abs(margin) < 1e-6:
        return
    if margin > 0:
        assert Deressa(1.0, a, b).contraction(1.0, CanonicalEuler(Cholesky())) < 1.0
    else:
        with pytest.raises(ModelError, match="unstable in the numerical solution"):
            Deressa(1.0, a, b)


@pytest.mark.parametrize(("alpha", "beta"), [(50.0, 50.0), (3.0, 20.0), (80.0, 20.0)])
def test_the_message_states_the_longest_step(alpha: float, beta: float) -> None:
    with pytest.raises(ModelError, match="unstable in the numerical solution") as caught:
        Deressa(1.0, alpha, beta)
    found = re.search(r"must be below ([0-9.e+-]+) s", str(caught.value))
    assert found is not None
    longest = float(found[1])
    Deressa(0.999 * longest, alpha, beta)
    with pytest.raises(ModelError):
        Deressa(1.001 * longest, alpha, beta)


def test_the_gains_for_an_accuracy_are_the_gentlest() -> None:
    h, error, rate_error, accuracy = 1e-3, 1e-7, 1e-4, 1e-5
    equation = Deressa.for_accuracy(h, accuracy, error=error, rate_error=rate_error)
    assert equation.bound(error, rate_error) == pytest.approx(accuracy, rel=1e-9)
    assert equation.alpha is not None
    assert equation.alpha < 1 / h
    assert Deressa(h, 0.99 * equation.alpha).bound(error, rate_error) > accuracy
    with pytest.raises(ModelError, match=r"no gains keep \|y\| ≤ 1e-07 .*: the best bound is 3e-07, with α = β = 1/h"):
        Deressa.for_accuracy(h, 1e-7, error=error, rate_error=rate_error)


@pytest.mark.parametrize("accuracy", [5e-5, 2e-6])
def test_a_pendulum_under_euler_keeps_the_accuracy_for_ever(accuracy: float) -> None:
    """Point mass on x² + y² = 1, unit mass and gravity, λ from φ̈ = g; h = 1 ms, 10⁵ steps.

    The bound is that of the local errors that occur: ½h²|v|² in φ = (|q|² − 1)/2, h²|v·a| in φ̇ = q·v. Without the
    modification (2α = β² = 0) the same run leaves the circle.
    """
    h, steps = 1e-3, 100000

    def run(alpha: float, beta: float) -> tuple[float, float, float]:
        x, y, vx, vy = 0.6, -0.8, 0.4, 0.3
        largest = error = rate_error = 0.0
        for _ in range(steps):
            phi, rate = (x * x + y * y - 1) / 2, x * vx + y * vy
            largest = max(largest, abs(phi))
            # The pendulum is damped a little: Euler's method alone would drive it faster and faster.
            fx, fy = -0.05 * vx, -1.0 - 0.05 * vy
            force = (-2 * alpha * rate - beta**2 * phi - vx * vx - vy * vy - x * fx - y * fy) / (x * x + y * y)
            ax, ay = fx + force * x, fy + force * y
            error = max(error, h * h * (vx * vx + vy * vy) / 2)
            rate_error = max(rate_error, h * h * abs(vx * ax + vy * ay))
            x, y, vx, vy = x + h * vx, y + h * vy, vx + h * ax, vy + h * ay
        return largest, error, rate_error

    # Local errors of a start at 0.5 m/s, 0.6 m above the lowest point, that nothing exceeds on the way.
    expected = h**2 * 0.7, h**2 * 1.5
    equation = Deressa.for_accuracy(h, accuracy, error=expected[0], rate_error=expected[1])
    largest, error, rate_error = run(equation.gains["alpha"], equation.gains["beta"])
    assert 0.3 * expected[0] <= error <= expected[0]
    assert 0.1 * expected[1] <= rate_error <= expected[1]
    assert 0.01 * accuracy <= largest <= accuracy
    assert run(0.0, 0.0)[0] >= 10 * accuracy


def test_for_step_is_for_euler() -> None:
    assert Deressa.for_step(0.01, CanonicalEuler(Cholesky())) == Deressa(0.01)
    assert Deressa(0.01).contraction(0.01, CanonicalEuler(Cholesky())) <= 1e-7
    with pytest.raises(ModelError, match=r"Deressa requires Euler's explicit method, .* RK4 has \|R"):
        Deressa.for_step(0.01, RK4())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"step": 0.0}, "step must be greater than zero"),
        ({"step": 0.1, "alpha": -1.0}, "not asymptotically stable"),
        ({"step": 0.1, "alpha": 0.0}, "not asymptotically stable"),
        ({"step": 0.1, "alpha": 1.0, "beta": -1.0}, "beta of Deressa.* must be greater than zero"),
        ({"step": np.nan}, "step must be finite"),
    ],
)
def test_bad_numbers_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Deressa(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"error": -1.0}, "error must not be negative"),
        ({"error": 0.0}, "without local errors any gains keep the accuracy"),
        ({"error": 1e-6, "accuracy": 0.0}, "accuracy must be greater than zero"),
    ],
)
def test_bad_accuracies_are_refused(given: dict[str, float], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Deressa.for_accuracy(**({"step": 1e-3, "accuracy": 1e-3} | given))
