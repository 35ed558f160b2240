"""Every perturbation equation keeps the promises of its base class: stable, provably so, its gains named and ranged."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import expm

import erugin.constraints
from erugin.constraints import Baumgarte, Deressa, Exact, FirstOrder, Linear, Nonlinear, Perturbation
from erugin.symbolic import ModelError, Parameters, Range

from ...support.contracts import require_rows
from ...support.perturbations import ALONE, EXAMPLES, STATES, flow, right_side

Array = NDArray[np.float64]

UNSTABLE: tuple[tuple[type[Perturbation], dict[str, float], str], ...] = (
    (Baumgarte, {"alpha": 0.0}, "0."),
    (Baumgarte, {"alpha": -4.0}, "4."),
    (Baumgarte, {"alpha": -4.0, "beta": 5.0}, "4.+3.j"),
    (Baumgarte, {"alpha": 4.0, "beta": 0.0}, "-8."),
    (FirstOrder, {"rate": 0.0}, "0."),
    (FirstOrder, {"rate": -2.5}, "2.5"),
    (Linear, {"K": -2.5}, "2.5"),
    (Linear, {"K": 4.0, "C": -2.0}, "1.+1.73"),
    (Deressa, {"step": 0.1, "alpha": -4.0, "beta": 5.0}, "4.+3.j"),
)


def subclasses(base: type) -> Iterator[type]:
    """All classes below ``base``, however deep."""
    children: list[type] = base.__subclasses__()
    for child in children:
        yield child
        yield from subclasses(child)


def concrete_perturbations() -> set[type]:
    """The classes of Erugin that can be instantiated, after everything in the room was imported."""
    for module in pkgutil.walk_packages(erugin.constraints.__path__, "erugin.constraints."):
        importlib.import_module(module.name)
    return {c for c in subclasses(Perturbation) if c.__module__.startswith("erugin.") and not inspect.isabstract(c)}


def test_every_perturbation_is_in_the_table() -> None:
    require_rows("EXAMPLES of tests/support/perturbations.py", concrete_perturbations(), {type(e) for e in EXAMPLES})


LAST = 1e3
"""A time [s] at which the gains of every equation are what they stay."""


def linearization(equation: Perturbation) -> Array:
    """The matrix of ẋ = A x at zero by central differences of the right side, exact for a linear equation."""
    derivative = flow(equation)
    size = (equation.required_rows or 1) * (2 - equation.order)
    assert not derivative(LAST, np.zeros(size)).any(), "the constraint itself must be a solution"
    h = 1e-7
    return np.column_stack([(derivative(LAST, h * e) - derivative(LAST, -h * e)) / (2 * h) for e in np.eye(size)])


def hurwitz(equation: Perturbation) -> bool:
    """True if the linearization alone proves stability: for all examples but one that has no linear part."""
    return not (isinstance(equation, Nonlinear) and equation.order == 1)


PROVEN = tuple(e for e in STATES if hurwitz(e))


@pytest.mark.parametrize("equation", STATES, ids=str)
def test_state_matrix_is_the_linearized_right_side(equation: Perturbation) -> None:
    expected = linearization(equation)
    assert (np.abs(expected).max() >= 0.25) == hurwitz(equation)
    np.testing.assert_allclose(equation.state_matrix(), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("equation", ALONE, ids=str)
def test_right_side_treats_every_row_alike_and_alone(equation: Perturbation) -> None:
    rng = np.random.default_rng(1)
    if equation.required_rows == 1:
        with pytest.raises(ModelError, match="for 1 rows, but the constraint has 4"):
            right_side(equation, np.zeros(4), np.zeros(4))
        return
    y, dy = rng.normal(size=4), rng.normal(size=4 if equation.order == 0 else 0)
    together = right_side(equation, y, dy)
    apart = np.concatenate([right_side(equation, y[i : i + 1], dy[i : i + 1]) for i in range(4)])
    np.testing.assert_array_equal(together, apart)
    assert together.any() == (equation.order < 2)


@pytest.mark.parametrize("equation", STATES, ids=str)
def test_every_gain_matters(equation: Perturbation) -> None:
    """A gain that the right side ignored would be a parameter of the program without effect."""
    m = equation.required_rows or 1
    seen = dict.fromkeys(equation.gains, 0.0)
    # Near zero and far from it; late, where PrescribedTime keeps its gains at the cap, and early.
    for y_size, dy_size, time in ((1.0, 1.0, 0.0), (1.0, 1.0, LAST), (1e-3, 1e-3, 0.0), (1e-3, 1.0, 0.0)):
        y = y_size * np.array([0.7, 0.4])[:m]
        dy = dy_size * np.array([-1.3, 0.5])[: m if equation.order == 0 else 0]
        nominal = right_side(equation, y, dy, time=time)
        for name, value in equation.gains.items():
            change = right_side(equation, y, dy, {name: 1.1 * value}, time) - nominal
            seen[name] = max(seen[name], float(np.abs(change).max() / np.abs(nominal).max()))
    assert min(seen.values(), default=1.0) > 1e-3, seen


def test_values_by_hand() -> None:
    y, dy, none = np.array([0.5]), np.array([-2.0]), np.array([])
    assert right_side(Baumgarte(3.0, 4.0), y, dy) == pytest.approx([-2 * 3.0 * -2.0 - 16.0 * 0.5])
    assert right_side(FirstOrder(3.0), y, none) == pytest.approx([-1.5])
    assert right_side(Exact(), y, none) == pytest.approx([0.0])


@pytest.mark.parametrize("equation", PROVEN, ids=str)
def test_certificate_proves_stability(equation: Perturbation) -> None:
    A, proof = equation.state_matrix(), equation.certificate()
    # Eigenvalues once more: each makes A − λ singular, and together they have the trace and the determinant.
    np.testing.assert_allclose(proof.eigenvalues.sum(), np.trace(A), rtol=1e-9)
    np.testing.assert_allclose(np.prod(proof.eigenvalues), np.linalg.det(A), rtol=1e-9)
    for value in proof.eigenvalues:
        assert np.linalg.svd(A - value * np.eye(len(A)))[1][-1] <= 1e-9 * np.linalg.norm(A)
    assert (proof.eigenvalues.real < 0.0).all()
    P = proof.lyapunov
    np.testing.assert_allclose(A.T @ P + P @ A, -np.eye(len(A)), atol=1e-10)
    np.testing.assert_allclose(P, P.T, atol=1e-12)
    assert (np.linalg.eigvalsh(P) > 0.0).all()


@pytest.mark.parametrize("equation", PROVEN, ids=str)
def test_decay_rate_is_the_one_of_the_solutions(equation: Perturbation) -> None:
    """‖exp(A T)‖ ~ exp(−rate T) between 100 and 200 time constants; a double eigenvalue adds the factor 2."""
    rate = equation.certificate().decay_rate
    T = 100.0 / rate
    first, second = (float(np.linalg.norm(expm(k * T * equation.state_matrix()))) for k in (1.0, 2.0))
    assert np.log(first / second) / T == pytest.approx(rate, rel=0.02)


@pytest.mark.parametrize("equation", PROVEN, ids=str)
def test_the_lyapunov_function_falls_along_a_solution(equation: Perturbation) -> None:
    A, proof = equation.state_matrix(), equation.certificate()
    x = np.ones(len(A))
    onward = expm(10.0 / proof.decay_rate / 200 * A)
    states: Array = np.array([np.linalg.matrix_power(onward, k) @ x for k in range(200)])
    values = np.einsum("ti,ij,tj->t", states, proof.lyapunov, states)
    assert (np.diff(values) < 0.0).all()


def test_an_algebraic_equation_has_an_empty_certificate() -> None:
    proof = Exact().certificate()
    assert proof.eigenvalues.shape == (0,)
    assert proof.lyapunov.shape == (0, 0)
    assert proof.decay_rate == np.inf


@pytest.mark.parametrize("equation", EXAMPLES, ids=str)
def test_gains_and_ranges_cover_each_other(equation: Perturbation) -> None:
    assert equation.order in (0, 1, 2)
    assert set(equation.gains) == set(equation.ranges)
    for name, value in equation.gains.items():
        assert name.isidentifier()
        # No equation is stable for every value of a gain, but an entry of a matrix may have either sign.
        assert (equation.ranges[name] is Range.ANY) == bool(re.fullmatch(r".+_\d_\d", name))
        assert equation.ranges[name].allows(value)
    # What a program does with them.
    declared = Parameters.declare(equation.gains, "c", ranges=equation.ranges)
    assert declared.names == tuple(f"c.{name}" for name in equation.gains)
    for name in equation.gains:
        for bad in (np.nan,) if equation.ranges[name] is Range.ANY else (0.0, -1.0, np.nan):
            with pytest.raises(ValueError, match=rf"c\.{name}.*{bad}"):
                declared.values({f"c.{name}": bad})


def test_what_a_program_would_refuse_is_refused_at_once() -> None:
    with pytest.raises(ModelError, match="-1"):
        Baumgarte(1.0, -1.0)


@pytest.mark.parametrize("equation", EXAMPLES, ids=str)
def test_equations_are_frozen_values(equation: Perturbation) -> None:
    assert dataclasses.is_dataclass(equation)
    twin = dataclasses.replace(equation)
    assert twin == equation
    assert hash(twin) == hash(equation)
    for field in dataclasses.fields(equation):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(equation, field.name, 1.0)
    for given in (value for value in vars(equation).values() if isinstance(value, Mapping)):
        with pytest.raises(TypeError, match="does not support item assignment"):
            given["k"] = 1.0  # pyright: ignore[reportIndexIssue]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(equation, "order", 1 - equation.order)  # noqa: B010 - a plain assignment would not pass the type checkers


@pytest.mark.parametrize(("kind", "gains", "eigenvalue"), UNSTABLE)
def test_unstable_gains_are_refused_with_the_eigenvalues(
    kind: type[Perturbation], gains: dict[str, float], eigenvalue: str
) -> None:
    with pytest.raises(ModelError, match=re.escape(eigenvalue)) as caught:
        kind(**gains)
    message = str(caught.value)
    assert message.startswith(kind.__name__)
    assert "not asymptotically stable" in message
    assert all(f"{name}=" in message and f"{value}" in message for name, value in gains.items())


@pytest.mark.parametrize("kind", [Baumgarte, FirstOrder])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, "fast", None, 1j])
def test_gains_must_be_finite_numbers(kind: type[Perturbation], value: Any) -> None:  # noqa: ANN401 - bad on purpose
    first = dataclasses.fields(kind)[0].name  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=rf"{first}( of \w+)? must be (finite|a number), got {re.escape(repr(value))}"):
        kind(**{first: value})


def test_a_misspelt_gain_is_refused() -> None:
    with pytest.raises(TypeError, match="gamma"):
        Baumgarte(gamma=1.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0, 123.4])
def test_baumgarte_is_critically_damped_by_default(alpha: float) -> None:
    equation = Baumgarte(alpha)
    assert equation.gains == {"alpha": alpha, "beta": alpha}
    assert Baumgarte().gains == {"alpha": 10.0, "beta": 10.0}
    # A double eigenvalue -alpha: the fastest decay without oscillation for this beta.
    trace, determinant = np.trace(equation.state_matrix()), np.linalg.det(equation.state_matrix())
    assert trace**2 - 4 * determinant == pytest.approx(0.0, abs=1e-9 * alpha**2)
    assert equation.certificate().decay_rate == pytest.approx(alpha, rel=1e-6)
    assert Baumgarte(0.8 * alpha, alpha).certificate().eigenvalues.imag.any()
    assert Baumgarte(1.2 * alpha, alpha).certificate().decay_rate < alpha


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4, 1e7])
def test_the_lyapunov_matrix_is_right_for_any_rate(scale: float) -> None:
    """Solved by hand for ÿ + 2α ẏ + β² y = 0, as shares of √(P_ii P_jj): gains of 1/h are large, β² their square."""
    alpha, beta = 1.5 * scale, 0.7 * scale
    P = Baumgarte(alpha, beta).certificate().lyapunov
    mixed, last = 1 / (2 * beta**2), (1 / beta**2 + 1) / (4 * alpha)
    first = alpha / beta**2 + (beta**2 + 1) / (4 * alpha)
    size = np.sqrt([first, last])
    miss = (P - [[first, mixed], [mixed, last]]) / np.outer(size, size)
    assert np.abs(miss).max() < 1e-13
