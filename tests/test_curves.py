"""Every curve keeps the promises of its base class."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import casadi as ca
import numpy as np
import pytest

import erugin.constraints
from erugin.constraints import line
from erugin.constraints.curves import Circle, Curve, Implicit, Line, Parametric, Spline
from erugin.symbolic import Kernel

from .curves import (
    A3,
    ALL,
    ALL_PATHS,
    B3,
    CASES,
    HELIX,
    SAMPLES,
    WAVE,
    Case,
    any_direction,
    course,
    floats,
    functions,
    jacobian,
    kernel,
    places,
    slopes,
    tangent_of_numbers,
)


def subclasses(base: type) -> Iterator[type]:
    """All classes below ``base``, however deep."""
    children: list[type] = base.__subclasses__()
    for child in children:
        yield child
        yield from subclasses(child)


def test_every_curve_is_in_the_table() -> None:
    for module in pkgutil.walk_packages(erugin.constraints.__path__, "erugin.constraints."):
        importlib.import_module(module.name)
    kinds = {c for c in subclasses(Curve) if c.__module__.startswith("erugin.") and not inspect.isabstract(c)}
    kinds -= {c for c in kinds if c.__module__.startswith("erugin.constraints.shapes.")}  # tests/shapes.py lists these
    assert kinds == {type(case.curve) for case in CASES} == {Circle, Implicit, Line, Parametric, Spline}


@ALL
def test_functions_vanish_on_the_curve_and_only_there(case: Case) -> None:
    rng = np.random.default_rng(1)
    for x, t in places(case):
        assert np.abs(functions(case.curve, x, t)).max() < 1e-12
        normal = jacobian(case.curve, x, t).T @ rng.normal(size=functions(case.curve, x, t).size)
        assert np.linalg.norm(functions(case.curve, x + 0.1 * normal / np.linalg.norm(normal), t)) > 0.05


@ALL
def test_number_of_functions(case: Case) -> None:
    x, t = ca.SX.sym("x", case.curve.dimension), ca.SX.sym("t")
    expected = case.curve.dimension - 1 if case.path else 1
    assert case.curve.functions(x, t).shape == (expected, 1)
    assert case.curve.jacobian(x, t).shape == (expected, case.curve.dimension)


@ALL
def test_functions_grow_like_distances(case: Case) -> None:
    """|∇f_i| = 1 on the curve, by differences of the functions alone."""
    for x, t in places(case):
        gradients = slopes(case.curve, x, t)
        np.testing.assert_allclose(np.linalg.norm(gradients, axis=1), 1.0, atol=1e-9)
        if isinstance(case.curve, Line | Spline):
            np.testing.assert_allclose(gradients @ gradients.T, np.eye(len(gradients)), atol=1e-9)


@ALL
def test_jacobian_on_and_off_the_curve(case: Case) -> None:
    rng = np.random.default_rng(2)
    for x, t in places(case):
        for place in (x, x + 0.1 * any_direction(x.size, float(rng.uniform()))):
            np.testing.assert_allclose(jacobian(case.curve, place, t), slopes(case.curve, place, t), atol=1e-9)


@ALL
def test_functions_use_nothing_but_place_time_and_declared_parameters(case: Case) -> None:
    """As a Kernel with these inputs checks; the names tell whose parameter it is."""
    assert isinstance(kernel(case.curve), Kernel)
    own = set(case.curve.parameters.names) - {"parabola.curvature"}
    assert all(name.startswith(f"{case.curve.name}.") for name in own)
    assert set(case.curve.parameters.nominal) == set(case.curve.parameters.names)


@ALL
def test_functions_can_be_written_at_any_expressions(case: Case) -> None:
    """At the tip of something that moves, not only at a symbol."""
    curve, s = case.curve, ca.SX.sym("s")
    x = ca.vertcat(*(ca.sin((i + 1) * s) / 3 + s for i in range(curve.dimension)))
    inputs = {"s": s, "p": curve.parameters.symbols}
    outputs = {"f": curve.functions(x, s**2), "J": curve.jacobian(x, s**2)}
    f, J = Kernel("written", inputs, outputs, compiled=False)(0.4, curve.parameters.values())
    place = np.array([np.sin((i + 1) * 0.4) / 3 + 0.4 for i in range(curve.dimension)])
    np.testing.assert_allclose(np.atleast_1d(f), functions(curve, place, 0.16), atol=1e-13)
    np.testing.assert_allclose(J.reshape(-1, curve.dimension), jacobian(curve, place, 0.16), atol=1e-13)


@ALL
def test_curves_are_frozen(case: Case) -> None:
    for name in ("name", "dimension", "parameters"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(case.curve, name, 2)


@ALL_PATHS
def test_travel_is_in_the_stated_direction(case: Case) -> None:
    """The tangent of the structure, by the rule and not by the code: ∇f turned by +90°, or ∇f₁ × ∇f₂."""
    for share in np.linspace(0.02, 0.98, SAMPLES):
        ahead = course(lambda s: case.on(s, 0.7), float(share))
        J = jacobian(case.curve, case.on(float(share), 0.7), 0.7)
        tangent = tangent_of_numbers(J)
        if case.curve.dimension == 2:
            np.testing.assert_allclose(tangent, np.array([[0, -1], [1, 0]]) @ J[0], atol=1e-14)
        if case.curve.dimension == 3:
            np.testing.assert_allclose(tangent, np.cross(J[0], J[1]), atol=1e-14)
        np.testing.assert_allclose(
            tangent / np.linalg.norm(tangent), ahead / np.linalg.norm(ahead), atol=1e-8, err_msg=f"at {share}"
        )


@pytest.mark.parametrize("curve", [HELIX, WAVE, line(floats(A3), floats(B3))], ids=lambda curve: curve.name)
def test_a_curve_without_motion_does_not_depend_on_time(curve: Curve) -> None:
    x, t = ca.SX.sym("x", curve.dimension), ca.SX.sym("t")
    assert not ca.depends_on(curve.functions(x, t), t)


def test_a_curve_is_abstract() -> None:
    with pytest.raises(TypeError, match="functions"):
        Curve()  # type: ignore[abstract]  # pyright: ignore[reportAbstractUsage]
