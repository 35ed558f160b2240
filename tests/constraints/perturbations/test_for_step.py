"""Gains for a step: against the zeros of R, published stability functions, and measured contractions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from erugin.constraints import (
    Baumgarte,
    BoundedAcceleration,
    Deressa,
    Energies,
    Exact,
    FiniteTime,
    FirstOrder,
    Linear,
    Nonlinear,
    Perturbation,
    PrescribedTime,
    holonomic,
    nonholonomic,
)
from erugin.constraints.perturbations import Deviation
from erugin.constraints.perturbations.step_gains import fastest_pair, fastest_rate
from erugin.controllers import Program, ProgramController
from erugin.robots.hamiltonian import Cholesky
from erugin.scenarios import simulate
from erugin.simulation import DOP853, RK4, CanonicalEuler
from erugin.symbolic import ModelError
from erugin.symbolic.runge_kutta import rk4_step

from ...support.arms import two_link_arm
from ...support.perturbations import flow

Array = NDArray[np.float64]
ROBOT = two_link_arm()
RUNGE_KUTTA = Polynomial([1.0, 1.0, 1 / 2, 1 / 6, 1 / 24])


@dataclasses.dataclass(frozen=True)
class Stability:
    """|R(z)| of a method that Erugin does not have."""

    function: Callable[[complex], complex]

    def amplification(self, z: complex) -> float:
        return abs(self.function(z))


EULER = Stability(lambda z: 1 + z)
HEUN = Stability(lambda z: 1 + z + z**2 / 2)
KUTTA_3 = Stability(lambda z: 1 + z + z**2 / 2 + z**3 / 6)
TRAPEZOIDAL = Stability(lambda z: (1 + z / 2) / (1 - z / 2))
IMPLICIT_EULER = Stability(lambda z: 1 / (1 - z))
# A Runge–Kutta–Chebyshev method of two stages without damping [HairerWanner1996], section IV.2: T₂(1 + z/4).
CHEBYSHEV = Stability(lambda z: 2 * (1 + z / 4) ** 2 - 1)


def zeros(*coefficients: float) -> list[complex]:
    """Zeros of a stability polynomial in the upper left, the nearest first."""
    roots: list[complex] = Polynomial(coefficients).roots().tolist()
    return sorted((complex(z) for z in roots if z.imag >= -1e-9), key=abs)


@pytest.mark.parametrize(
    ("integrator", "expected"),
    [
        (RK4(), zeros(1, 1, 1 / 2, 1 / 6, 1 / 24)[0]),
        (EULER, -1 + 0j),
        (CanonicalEuler(Cholesky()), -1 + 0j),
        (HEUN, -1 + 1j),
        (KUTTA_3, -1.5960716379833215 + 0j),
        (TRAPEZOIDAL, -2 + 0j),
        (CHEBYSHEV, -4 + 4 / np.sqrt(2) + 0j),
    ],
    ids=["rk4", "euler", "canonical euler", "heun", "kutta", "trapezoidal", "chebyshev"],
)
@pytest.mark.parametrize("step", [1e-3, 0.7])
def test_the_fastest_pair_is_the_nearest_zero(integrator: Any, expected: complex, step: float) -> None:  # noqa: ANN401
    """Any method that has a zero of R in the left half-plane; of several the one that asks for the least force."""
    found = fastest_pair(step, integrator) * step
    assert integrator.amplification(found) <= 1e-7
    assert found == pytest.approx(expected, abs=1e-7)


def test_the_zeros_of_rk4_are_known() -> None:
    first, second = zeros(1, 1, 1 / 2, 1 / 6, 1 / 24)
    assert first == pytest.approx(-1.7294442310677052 + 0.8889743761218662j, rel=1e-12)
    assert second == pytest.approx(-0.27055576893229 + 2.50477590436244j, rel=1e-10)


@pytest.mark.parametrize(
    ("integrator", "expected", "least"),
    [
        # R′ = 1 + z + z²/2 + z³/6 vanishes at −1.5961, where R = z⁴/24.
        (RK4(), 1.5960716379833215, 1.5960716379833215**4 / 24),
        (EULER, 1.0, 0.0),
        (HEUN, 1.0, 0.5),
        (KUTTA_3, 1.5960716379833215, 0.0),
        (TRAPEZOIDAL, 2.0, 0.0),
    ],
    ids=["rk4", "euler", "heun", "kutta", "trapezoidal"],
)
def test_the_fastest_rate_is_the_least_on_the_real_axis(
    integrator: Any,  # noqa: ANN401
    expected: float,
    least: float,
) -> None:
    h = 1e-3
    found = fastest_rate(h, integrator) * h
    assert found == pytest.approx(expected, abs=1e-6)
    assert integrator.amplification(complex(-found)) == pytest.approx(least, abs=1e-9)


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(st.floats(0.02, 1.5), min_size=2, max_size=5))
def test_no_pair_is_faster_on_a_fine_grid(tail: list[float]) -> None:
    """Stability polynomials at random: nothing within the region is faster than what was found, but by the tie."""
    coefficients = np.cumprod([1.0, 1.0, *tail])
    integrator = Stability(lambda z: complex(np.polyval(coefficients[::-1], z)))
    best = integrator.amplification(fastest_pair(1.0, integrator))
    re, im = np.meshgrid(-np.linspace(0.05, 11.9, 400), np.linspace(0.0, 11.9, 400))
    assert best <= np.abs(np.polyval(coefficients[::-1], re + 1j * im)).min() + 2e-6


def test_the_deviation_vanishes_after_one_step_of_rk4() -> None:
    """R(h A) vanishes as a matrix, not only in its eigenvalues; with a share of the gains it does not."""
    equation = Baumgarte.for_step(0.01, RK4())
    assert equation.gains == {
        "alpha": pytest.approx(172.94442310677, rel=1e-12),
        "beta": pytest.approx(194.4544365596894, rel=1e-12),
    }
    f = flow(equation)
    after = rk4_step(f, 0.0, np.array([1.0, 0.0]), 0.01)
    assert np.abs(after * [1.0, 0.01]).max() <= 1e-13
    f = flow(Baumgarte.for_step(0.01, RK4(), share=0.5))
    assert np.abs(rk4_step(f, 0.0, np.array([1.0, 0.0]), 0.01)).max() >= 0.1


HERE = RK4()
EQUATIONS: tuple[Perturbation, ...] = (
    Baumgarte.for_step(0.01, HERE, share=0.5),
    Baumgarte(),
    Baumgarte(5.0, 80.0),
    FirstOrder.for_step(0.01, HERE),
    FirstOrder(30.0),
    Linear([[6.0, 1.5], [-0.7, 4.0]], [[30.0, 2.0], [5.0, 20.0]]),
    Energies.for_step(0.01, HERE, rows=2, share=0.7),
    Energies.quadratic([[2.0, 0.3], [0.3, 1.0]], None, [[120.0, 4.0], [4.0, 90.0]]),
    Deressa(0.01, 30.0, 40.0),
    BoundedAcceleration.for_step(0.01, HERE, share=0.6),
    BoundedAcceleration.for_step(0.01, HERE, order=1),
    FiniteTime(),
    FiniteTime.for_step(0.01, HERE, order=1),
    PrescribedTime.for_step(0.01, HERE),
    PrescribedTime.for_step(0.01, HERE, order=1),
    Nonlinear(lambda y, dy, g: -20 * dy - 500 * y - y**3),
)


@pytest.mark.parametrize("equation", EQUATIONS, ids=str)
def test_the_measured_contraction_is_the_predicted_one(equation: Perturbation) -> None:
    """Steps of RK4 on the equation itself; late, where the gains of PrescribedTime are at the cap."""
    f, n = flow(equation), (equation.required_rows or 1) * (2 - equation.order)
    predicted = equation.contraction(0.01, HERE)
    rng = np.random.default_rng(7)
    x = rng.normal(size=n) * 1e-14
    sizes: list[float] = []
    for i in range(2000):
        x = rk4_step(f, 10.0 + 0.01 * i, x, 0.01)
        sizes.append(float(np.linalg.norm(x)))
        x /= sizes[-1] * 1e14
    # The mean over many steps: eigenvalues that are complex make a single step more or less.
    measured = float(np.exp(np.mean(np.log(1e14 * np.array(sizes[500:])))))
    assert measured == pytest.approx(predicted, rel=5e-3)


def test_a_program_contracts_as_predicted() -> None:
    """The arm of two links, its own equations of motion in between: a small deviation of its pose."""
    h, place = 0.01, np.array([0.3, 0.8])
    for equation in (Baumgarte.for_step(h, RK4(), share=0.6), Baumgarte()):
        held = holonomic(ROBOT.q - place, perturbation=equation, name="held")
        motion = simulate(ROBOT, ProgramController(Program(ROBOT, held)), place + 1e-6, [0.0, 0.0], 0.1, step=h)
        eigenvalue = h * complex(equation.certificate().eigenvalues[0])
        x = np.array([1e-6, 0.0])
        A = h * equation.state_matrix()
        R = np.eye(2) + A @ (np.eye(2) + A @ (np.eye(2) + A @ (np.eye(2) + A / 4) / 3) / 2)
        assert np.abs(np.linalg.eigvals(R)).max() == pytest.approx(abs(RUNGE_KUTTA(eigenvalue)), rel=1e-6)
        for k in range(4):
            np.testing.assert_allclose(motion.deviation[k], x[0], rtol=1e-3, atol=1e-12)
            x = R @ x
    still = nonholonomic(ROBOT.v, perturbation=FirstOrder.for_step(h, RK4()), name="still")
    motion = simulate(ROBOT, ProgramController(Program(ROBOT, still)), place, [1e-3, -2e-3], 0.05, step=h)
    np.testing.assert_allclose(motion.deviation[1:4] / motion.deviation[:3], 0.270395, rtol=1e-3)


def test_deadbeat_in_a_program() -> None:
    place = np.array([0.3, 0.8])
    held = holonomic(ROBOT.q - place, perturbation=Baumgarte.for_step(1e-3, RK4()), name="held")
    motion = simulate(ROBOT, ProgramController(Program(ROBOT, held)), place + 1e-6, [0.0, 0.0], 0.01, step=1e-3)
    assert np.abs(motion.deviation[0]).max() == pytest.approx(1e-6)
    assert np.abs(motion.deviation[1]).max() <= 1e-11
    assert np.abs(motion.deviation[2:]).max() <= 1e-14


@pytest.mark.parametrize("share", [1.0, 0.7])
@pytest.mark.parametrize("start", [(0.2, 0.0), (-0.1, 5.0), (1e-3, -0.5)])
def test_a_bounded_equation_for_a_step_comes_home_from_far(share: float, start: tuple[float, float]) -> None:
    """Gains of several thousands per second squared, and yet a limit of 10 m/s²; at the end the fast contraction."""
    equation = BoundedAcceleration.for_step(1e-3, RK4(), limit=10.0, share=share)
    f, x = flow(equation), np.array(start)
    states = [x]
    for i in range(3000):
        x = rk4_step(f, 1e-3 * i, x, 1e-3)
        states.append(x)
    path = np.array(states)
    assert np.abs(np.diff(path[:, 1])).max() <= 10.0 * 1e-3
    assert np.abs(path[-1]).max() <= 1e-12


ALL = (Baumgarte, FirstOrder, Linear, Energies, FiniteTime, PrescribedTime, BoundedAcceleration)


@pytest.mark.parametrize("kind", [*ALL, Deressa])
def test_a_method_that_chooses_its_steps_is_refused(kind: type[Perturbation]) -> None:
    with pytest.raises(ModelError, match=r"DOP853 has no amplification, \|R\(0\)\| = 0 instead of 1"):
        kind.for_step(1e-3, DOP853())
    with pytest.raises(ModelError, match="DOP853 has no amplification"):
        Baumgarte().contraction(1e-3, DOP853())


@pytest.mark.parametrize("kind", [*ALL, Deressa])
@pytest.mark.parametrize("integrator", ["RK4", RK4])
def test_what_is_no_integrator_is_refused(kind: type[Perturbation], integrator: Any) -> None:  # noqa: ANN401
    with pytest.raises(ModelError, match=r"integrator must be .* such as RK4\(\), got"):
        kind.for_step(1e-3, integrator)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("step", [0.0, -1e-3, np.nan, "short"])
def test_a_step_must_be_positive(kind: type[Perturbation], step: Any) -> None:  # noqa: ANN401 - bad on purpose
    with pytest.raises(ModelError, match="step must be"):
        kind.for_step(step, EULER)


@pytest.mark.parametrize("kind", [Exact, Nonlinear])
def test_equations_without_such_gains_report_it(kind: type[Perturbation]) -> None:
    with pytest.raises(ModelError, match=f"{kind.__name__} has no gains that could be chosen"):
        kind.for_step(1e-3, RK4())


def test_an_l_stable_method_has_no_fastest_gains() -> None:
    with pytest.raises(ModelError, match=r"ever faster as its gains grow, down to 0\.0567 per step"):
        fastest_pair(1e-3, IMPLICIT_EULER)
    with pytest.raises(ModelError, match="there are no fastest gains"):
        fastest_rate(1e-3, IMPLICIT_EULER)


def test_a_rate_that_stronger_gains_beat_is_not_called_the_best() -> None:
    """A dip near λh = −2, and a decay to zero beyond it: there the dip is not the fastest."""
    dip = Stability(lambda z: (1 + 4 * np.exp(-4 * (z.real + 4) ** 2)) / (1 - z))
    with pytest.raises(ModelError, match=r"ever faster as its gains grow, down to 0\.0769 per step"):
        fastest_rate(1e-3, dip)


@pytest.mark.parametrize("share", [0.0, -0.5, 1.01, np.nan])
@pytest.mark.parametrize("kind", [Baumgarte, FirstOrder, Linear, Energies, BoundedAcceleration])
def test_a_share_is_a_share(kind: Any, share: float) -> None:  # noqa: ANN401
    with pytest.raises(ModelError, match="share must be"):
        kind.for_step(1e-3, EULER, share=share)


def test_an_algebraic_equation_is_at_once_at_zero() -> None:
    assert Exact().contraction(1e-3, RK4()) == 0.0
    assert Exact().right_side(Deviation(ca.SX.sym("z"), ca.SX(0, 1), ca.SX.sym("t")), {}).is_zero()
