"""Every perturbation equation keeps the promises of its base class: stable, provably so, its gains named and ranged."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import expm

import erugin.constraints
from erugin.constraints import Baumgarte, Deviation, Exact, FirstOrder, Perturbation
from erugin.symbolic import Kernel, ModelError, Parameters, Range

Array = NDArray[np.float64]

EXAMPLES: tuple[Perturbation, ...] = (
    Baumgarte(),
    Baumgarte(3.0),
    Baumgarte(0.5, 7.0),  # underdamped
    Baumgarte(20.0, 1.5),  # overdamped
    FirstOrder(),
    FirstOrder(0.25),
    Exact(),
)
STATES: tuple[Perturbation, ...] = tuple(e for e in EXAMPLES if e.order < 2)
UNSTABLE: tuple[tuple[type[Perturbation], dict[str, float], str], ...] = (
    (Baumgarte, {"alpha": 0.0}, "0."),
    (Baumgarte, {"alpha": -4.0}, "4."),
    (Baumgarte, {"alpha": -4.0, "beta": 5.0}, "4.+3.j"),
    (Baumgarte, {"alpha": 4.0, "beta": 0.0}, "-8."),
    (FirstOrder, {"rate": 0.0}, "0."),
    (FirstOrder, {"rate": -2.5}, "2.5"),
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
    assert concrete_perturbations() == {type(e) for e in EXAMPLES}


def right_side(
    equation: Perturbation, deviation: Array, rate: Array, gains: Mapping[str, float] | None = None
) -> Array:
    """The right side at numbers, with the nominal gains if no others are given."""
    y = ca.SX.sym("y", deviation.size)
    dy = ca.SX.sym("dy", rate.size) if rate.size else ca.SX(0, 1)
    parameters = Parameters.declare(equation.gains)
    expression = equation.right_side(Deviation(y, dy, ca.SX.sym("t")), dict(parameters))
    assert expression.shape == (deviation.size, 1)
    inputs = {"y": y, "p": parameters.symbols} | ({"dy": dy} if rate.size else {})
    kernel = Kernel("right_side", inputs, {"g": expression}, compiled=False)
    values: list[Array] = [deviation, parameters.values(gains)] + ([rate] if rate.size else [])
    return np.atleast_1d(kernel(*values)[0])


def linearization(equation: Perturbation) -> Array:
    """The matrix of ẋ = A x at zero by central differences of the right side, exact for a linear equation."""
    size = {0: 2, 1: 1}[equation.order]

    def derivative(x: Array) -> Array:
        highest = right_side(equation, x[:1], x[1:])
        return np.concatenate([x[1:], highest])

    assert not derivative(np.zeros(size)).any(), "the constraint itself must be a solution"
    h = 1e-5
    return np.column_stack([(derivative(h * e) - derivative(-h * e)) / (2 * h) for e in np.eye(size)])


@pytest.mark.parametrize("equation", STATES, ids=repr)
def test_state_matrix_is_the_linearized_right_side(equation: Perturbation) -> None:
    expected = linearization(equation)
    assert np.abs(expected).max() >= 0.25
    np.testing.assert_allclose(equation.state_matrix(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("equation", EXAMPLES, ids=repr)
def test_right_side_treats_every_row_alike_and_alone(equation: Perturbation) -> None:
    rng = np.random.default_rng(1)
    y, dy = rng.normal(size=4), rng.normal(size=4 if equation.order == 0 else 0)
    together = right_side(equation, y, dy)
    apart = np.concatenate([right_side(equation, y[i : i + 1], dy[i : i + 1]) for i in range(4)])
    np.testing.assert_array_equal(together, apart)
    assert together.any() == (equation.order < 2)


@pytest.mark.parametrize("equation", STATES, ids=repr)
def test_every_gain_matters(equation: Perturbation) -> None:
    """A gain that the right side ignored would be a parameter of the program without effect."""
    y, dy = np.array([0.7]), np.array([-1.3] if equation.order == 0 else [])
    nominal = right_side(equation, y, dy)
    for name, value in equation.gains.items():
        assert abs(right_side(equation, y, dy, {name: 1.1 * value}) - nominal) > 0.01, name


def test_values_by_hand() -> None:
    y, dy, none = np.array([0.5]), np.array([-2.0]), np.array([])
    assert right_side(Baumgarte(3.0, 4.0), y, dy) == pytest.approx([-2 * 3.0 * -2.0 - 16.0 * 0.5])
    assert right_side(FirstOrder(3.0), y, none) == pytest.approx([-1.5])
    assert right_side(Exact(), y, none) == pytest.approx([0.0])


@pytest.mark.parametrize("equation", STATES, ids=repr)
def test_certificate_proves_stability(equation: Perturbation) -> None:
    A, proof = equation.state_matrix(), equation.certificate()
    # Eigenvalues once more, as roots of the characteristic polynomial.
    expected = np.sort_complex(np.roots(np.poly(A)))
    np.testing.assert_allclose(np.sort_complex(proof.eigenvalues), expected, rtol=1e-6)
    assert (proof.eigenvalues.real < 0.0).all()
    P = proof.lyapunov
    np.testing.assert_allclose(A.T @ P + P @ A, -np.eye(len(A)), atol=1e-10)
    np.testing.assert_allclose(P, P.T, atol=1e-12)
    assert (np.linalg.eigvalsh(P) > 0.0).all()


@pytest.mark.parametrize("equation", STATES, ids=repr)
def test_decay_rate_is_the_one_of_the_solutions(equation: Perturbation) -> None:
    """‖exp(A T)‖ ~ exp(−rate T) after 200 time constants; a double eigenvalue adds the factor T."""
    rate = equation.certificate().decay_rate
    T = 200.0 / rate
    seen = -float(np.log(np.linalg.norm(expm(T * equation.state_matrix())))) / T
    assert seen == pytest.approx(rate, rel=0.05)


@pytest.mark.parametrize("equation", STATES, ids=repr)
def test_the_lyapunov_function_falls_along_a_solution(equation: Perturbation) -> None:
    A, proof = equation.state_matrix(), equation.certificate()
    x = np.ones(len(A))
    times = np.linspace(0.0, 10.0 / proof.decay_rate, 200)
    states: Array = np.array([expm(t * A) @ x for t in times], dtype=np.float64)
    values = np.einsum("ti,ij,tj->t", states, proof.lyapunov, states)
    assert (np.diff(values) < 0.0).all()


def test_an_algebraic_equation_has_an_empty_certificate() -> None:
    proof = Exact().certificate()
    assert proof.eigenvalues.shape == (0,)
    assert proof.lyapunov.shape == (0, 0)
    assert proof.decay_rate == np.inf


@pytest.mark.parametrize("equation", EXAMPLES, ids=repr)
def test_gains_and_ranges_cover_each_other(equation: Perturbation) -> None:
    assert equation.order in (0, 1, 2)
    assert set(equation.gains) == set(equation.ranges)
    for name, value in equation.gains.items():
        assert name.isidentifier()
        assert equation.ranges[name] is not Range.ANY, "no equation is stable for every value of a gain"
        assert equation.ranges[name].allows(value)
    # What a program does with them.
    declared = Parameters.declare(equation.gains, "c", ranges=equation.ranges)
    assert declared.names == tuple(f"c.{name}" for name in equation.gains)
    for name in equation.gains:
        for bad in (0.0, -1.0, np.nan):
            with pytest.raises(ValueError, match=rf"c\.{name}.*{bad}"):
                declared.values({f"c.{name}": bad})


def test_what_a_program_would_refuse_is_refused_at_once() -> None:
    with pytest.raises(ModelError, match="-1"):
        Baumgarte(1.0, -1.0)


@pytest.mark.parametrize("equation", EXAMPLES, ids=repr)
def test_equations_are_frozen_values(equation: Perturbation) -> None:
    assert dataclasses.is_dataclass(equation)
    twin = dataclasses.replace(equation)
    assert twin == equation
    assert hash(twin) == hash(equation)
    for field in dataclasses.fields(equation):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(equation, field.name, 1.0)
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
    assert all(f"{name}={value}" in message for name, value in gains.items())


@pytest.mark.parametrize("kind", [Baumgarte, FirstOrder])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, "fast", None, 1j])
def test_gains_must_be_finite_numbers(kind: type[Perturbation], value: Any) -> None:  # noqa: ANN401 - bad on purpose
    first = dataclasses.fields(kind)[0].name  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=rf"{first} must be (finite|a number), got {re.escape(repr(value))}"):
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
