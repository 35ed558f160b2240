"""The printed equations of two telescopic links, line by line against (3)-(6) of Chigarev and Borisov."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy as sp

from erugin.robots import Robot, TelescopicLink, exoskeleton, lagrangian_system
from erugin.robots.equations import EquationsOfMotion, equations_of
from erugin.symbolic import Parameters

from ...support.equation_parser import read, table
from ...support.references import chigarev_borisov as paper


def telescopic_chain(n: int) -> Robot:
    """The paper's model by its energies, with centres of mass as in (1): nothing of the library's own exoskeleton."""
    numbers = range(1, n + 1)
    p = Parameters.declare({f"{key}{i}": 1.0 for i in numbers for key in "mnIkL"} | {"g": 9.81})
    phi = [ca.SX.sym(f"phi{i}") for i in numbers]
    l = [ca.SX.sym(f"l{i}") for i in numbers]
    q = ca.vertcat(*phi, *l)
    v = ca.vertcat(*(ca.SX.sym(f"v{i}") for i in range(2 * n)))
    u = ca.vertcat(*(ca.SX.sym(f"M{i}") for i in numbers))
    joint, T, V = ca.SX.zeros(2), ca.SX(0), ca.SX(0)
    for i in range(n):
        along = ca.vertcat(ca.cos(phi[i]), ca.sin(phi[i]))
        center = joint + l[i] * p[f"n{i + 1}"] * along
        velocity = ca.jtimes(center, q, v)
        T += p[f"m{i + 1}"] * ca.sumsqr(velocity) / 2 + p[f"I{i + 1}"] * v[i] ** 2 / 2
        V += p["g"] * p[f"m{i + 1}"] * center[1] + p[f"k{i + 1}"] * (l[i] - p[f"L{i + 1}"]) ** 2 / 2
        joint = joint + l[i] * along
    torques = [u[i] - u[i + 1] if i + 1 < n else u[i] for i in range(n)]
    Q = ca.vertcat(*torques, *([0] * n))
    return lagrangian_system(q=q, v=v, p=p, T=T, V=V, Q=Q, u=u, name=f"{n} telescopic links")


NAMES = {
    **{f"phi{i}": f"φ{'₀₁₂₃'[i]}" for i in (1, 2)},
    **{f"{key}{i}": f"{key}{'₀₁₂₃'[i]}" for key in "lmnkILM" for i in (1, 2)},
    "g": "g",
}
VALUES = ("m1", "m2", "n1", "n2", "I1", "I2", "k1", "k2", "l10", "l20", "g", "M1", "M2")
SYMBOLS = table(NAMES)
LOCALS: dict[str, Any] = {name: sp.Symbol(name, real=True) for name in [*NAMES, "Delta_l1", "Delta_l2"]}
LINES = (
    # (3)
    "(I₁ + l₁² (m₂ + m₁ n₁²)) φ̈₁ + l₁ l₂ m₂ n₂ cos(φ₁ − φ₂) φ̈₂ − l₁ m₂ n₂ sin(φ₁ − φ₂) l̈₂ "
    "+ 2 l₁ (m₂ + m₁ n₁²) φ̇₁ l̇₁ + l₁ l₂ m₂ n₂ sin(φ₁ − φ₂) φ̇₂² + 2 l₁ m₂ n₂ cos(φ₁ − φ₂) φ̇₂ l̇₂ "
    "+ g l₁ (m₂ + m₁ n₁) cos(φ₁) = M₁ − M₂",
    # (4)
    "l₁ l₂ m₂ n₂ cos(φ₁ − φ₂) φ̈₁ + (I₂ + l₂² m₂ n₂²) φ̈₂ + l₂ m₂ n₂ sin(φ₁ − φ₂) l̈₁ "
    "− l₁ l₂ m₂ n₂ sin(φ₁ − φ₂) φ̇₁² + 2 l₂ m₂ n₂ cos(φ₁ − φ₂) φ̇₁ l̇₁ + 2 l₂ m₂ n₂² φ̇₂ l̇₂ "
    "+ g l₂ m₂ n₂ cos(φ₂) = M₂",
    # (5); the spring stands on the left here
    "l₂ m₂ n₂ sin(φ₁ − φ₂) φ̈₂ + (m₂ + m₁ n₁²) l̈₁ + m₂ n₂ cos(φ₁ − φ₂) l̈₂ − l₁ (m₂ + m₁ n₁²) φ̇₁² "
    "− l₂ m₂ n₂ cos(φ₁ − φ₂) φ̇₂² + 2 m₂ n₂ sin(φ₁ − φ₂) φ̇₂ l̇₂ + k₁ (l₁ − L₁) + g (m₂ + m₁ n₁) sin(φ₁) = 0",
    # (6)
    "−l₁ m₂ n₂ sin(φ₁ − φ₂) φ̈₁ + m₂ n₂ cos(φ₁ − φ₂) l̈₁ + m₂ n₂² l̈₂ − l₁ m₂ n₂ cos(φ₁ − φ₂) φ̇₁² "
    "− 2 m₂ n₂ sin(φ₁ − φ₂) φ̇₁ l̇₁ − l₂ m₂ n₂² φ̇₂² + k₂ (l₂ − L₂) + g m₂ n₂ sin(φ₂) = 0",
)


def typed(coefficient: str) -> Any:  # noqa: ANN401 - SymPy has no types
    sympify: Any = sp.sympify
    return sympify(coefficient, locals=LOCALS)


@pytest.fixture(scope="module")
def equations() -> EquationsOfMotion:
    return equations_of(telescopic_chain(2))


@pytest.mark.parametrize("row", range(4))
def test_every_line_is_the_paper_s(equations: EquationsOfMotion, row: int) -> None:
    """Its terms, its grouping m₂ + m₁ n₁² and its order of factors, except that masses stand after lengths in (4)."""
    assert str(equations.rows[row]) == LINES[row]


@pytest.mark.parametrize("row", range(4))
def test_coefficients_are_the_paper_s(equations: EquationsOfMotion, row: int) -> None:
    """Each of the 33 coefficients by itself, and none that the paper does not have."""
    line = equations.rows[row]
    printed = {f"{name}''": str(x) for name, x in line.mass.items()}
    printed |= {"*".join(f"{name}'" for name in names): str(x) for names, x in line.velocity.items()}
    expected = dict(paper.COEFFICIENTS[row])
    gravity = typed(expected.pop(""))
    assert set(printed) == set(expected)
    for key, coefficient in expected.items():
        assert sp.expand(read(printed[key], SYMBOLS) - typed(coefficient)) == 0, key
    right = {name: read(str(x), SYMBOLS) for name, x in line.inputs.items()}
    springs = {name: typed(x) for name, x in paper.RIGHT_SIDES[row].items() if name.startswith("Delta")}
    assert right == {name: typed(x) for name, x in paper.RIGHT_SIDES[row].items() if name not in springs}
    deltas = {"Delta_l1": typed("l1 - L1"), "Delta_l2": typed("l2 - L2")}
    rest = sum(read(str(x), SYMBOLS) for x in line.rest)
    assert sp.expand(rest - gravity + sum(x * deltas[name] for name, x in springs.items())) == 0


def test_the_library_s_own_exoskeleton_prints_the_same_lines() -> None:
    """Called on the robot itself, as a user would."""
    link = TelescopicLink(mass=5.0, inertia=0.1, center_ratio=0.5, stiffness=1e4, rest_length=0.4)
    printed = exoskeleton([link, link]).equations()
    assert tuple(str(row) for row in printed.rows) == LINES
    assert exoskeleton([link]).equations(simplify=False).rows[0].reasons == ("simplify=False",)


def test_the_paper_has_33_coefficients() -> None:
    assert sum(map(len, (*paper.COEFFICIENTS, *paper.RIGHT_SIDES))) == 33


def test_values_of_the_printed_lines(equations: EquationsOfMotion) -> None:
    """The lines read back as numbers, against the paper's formulas typed once more in NumPy."""
    rng = np.random.default_rng(5)
    arguments = [f"{name}{dots}" for dots in ("", "'", "''") for name in ("phi1", "phi2", "l1", "l2")]
    ours = [{"l10": "L1", "l20": "L2"}.get(name, name) for name in VALUES]
    symbols: Any = [sp.Symbol(name, real=True) for name in (*arguments, *ours)]
    function: Any = sp.lambdify(symbols, [read(str(row), SYMBOLS) for row in equations.rows])
    for _ in range(20):
        q, v, a = rng.uniform(-2.0, 2.0, (3, 4))
        values = {name: float(rng.uniform(0.2, 3.0)) for name in VALUES}
        expected = paper.left_side(q, v, a, values)
        np.testing.assert_allclose(function(*q, *v, *a, *values.values()), expected, rtol=0, atol=2e-13)
        assert np.abs(expected).max() > 1.0


def test_other_files_of_the_paper_agree_with_its_lines() -> None:
    """The mass matrix and h of the reference, and Q of (2), are parts of its own left side."""
    rng = np.random.default_rng(6)
    values = {name: float(rng.uniform(0.2, 3.0)) for name in VALUES}
    q, v, a = rng.uniform(-2.0, 2.0, (3, 4))
    M = paper.mass_matrix(*q, *(values[name] for name in ("m1", "m2", "n1", "n2", "I1", "I2")))
    left = M @ a + paper.velocity_forces(q, v, values) - paper.generalised_forces(q, values)
    np.testing.assert_allclose(left, paper.left_side(q, v, a, values), rtol=0, atol=1e-14)


def test_three_links_follow_the_same_pattern() -> None:
    printed = equations_of(telescopic_chain(3))
    text = str(printed)
    assert str(printed.rows[0].mass["phi1"]) == "I₁ + l₁² (m₂ + m₃ + m₁ n₁²)"
    assert str(printed.rows[0].mass["phi2"]) == "l₁ l₂ (m₃ + m₂ n₂) cos(φ₁ − φ₂)"
    assert str(printed.rows[1].velocity["phi3", "phi3"]) == "l₂ l₃ m₃ n₃ sin(φ₂ − φ₃)"
    assert "†" not in text


def test_eleven_links_are_written() -> None:
    equations = equations_of(telescopic_chain(11))
    assert len(equations.rows) == 22
    assert equations.simplified
    assert str(equations.rows[9].mass["phi11"]) == "l₁₀ l₁₁ m₁₁ n₁₁ cos(φ₁₀ − φ₁₁)"
