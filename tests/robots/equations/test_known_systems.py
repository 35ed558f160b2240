"""Printed equations of known systems: coefficients of the literature, and every line read back as numbers."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy as sp

from erugin.robots import Robot
from erugin.robots.equations import EquationsOfMotion, equations_of

from ...support.equation_parser import read, table
from ...support.known_systems import (
    ROBOTS,
    arm_of_point_masses,
    coupled_circuits,
    pendulum,
    rods_in_space,
    skate,
    unicycle,
)
from ...support.references import matukhina


def lines(equations: EquationsOfMotion) -> list[str]:
    return [str(row) for row in equations.rows]


def residuals(robot: Robot, q: Any, v: Any, a: Any, u: Any, mu: Any, t: float, p: Any) -> Any:  # noqa: ANN401
    """M a + h − B u − Aᵀμ by the robot's own expressions."""

    def at(expression: ca.SX) -> Any:  # noqa: ANN401
        return robot.evaluate(expression, t=t, q=q, v=v, u=u, p=p).reshape(expression.shape)

    left = at(robot.mass_matrix) @ a + at(robot.bias)[:, 0]
    right = at(robot.input_matrix) @ u if len(u) else np.zeros(len(left))
    if len(mu):
        right = right + at(robot.natural_form[0]).T @ mu
    return left - right


@pytest.mark.parametrize("label", ROBOTS)
def test_lines_read_back_have_the_values_of_the_robot(label: str) -> None:
    robot = ROBOTS[label]()
    equations = equations_of(robot)
    assert equations.simplified
    c = robot.coordinates
    looks = {entry.symbol.name: entry.symbol.text for entry in equations.legend}
    symbols = table(looks)
    plain = c.nq == c.nv
    names = list(c.names) if plain else [c.v[i].name() for i in range(c.nv)]
    multipliers = [relation.multiplier.name for relation in equations.constraints if relation.multiplier]
    rates = [f"{name}'" if plain else name for name in names]
    accelerations = [f"{name}''" if plain else f"{name}'" for name in names]
    keys = [*dict.fromkeys([*c.names, *rates, *accelerations]), *robot.input_names, *multipliers, "t"]
    arguments: Any = [sp.Symbol(key, real=True) for key in [*keys, *robot.parameters.names]]
    function: Any = sp.lambdify(arguments, [read(line, symbols) for line in lines(equations)])
    rng = np.random.default_rng(8)
    largest = 0.0
    for _ in range(20):
        q, p = rng.uniform(0.3, 2.0, c.nq), rng.uniform(0.3, 2.0, len(robot.parameters))
        v, a = rng.uniform(-2.0, 2.0, (2, c.nv))
        u, mu = rng.uniform(-2.0, 2.0, robot.u.numel()), rng.uniform(-2.0, 2.0, len(multipliers))
        t = float(rng.uniform(0.0, 2.0))
        expected = residuals(robot, q, v, a, u, mu, t, p)
        actual = np.array(function(*q, *v, *a, *u, *mu, t, *p), dtype=np.float64)
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12 * scale)
        largest = max(largest, scale)
    assert largest > 1.0


def test_arm_of_point_masses_has_the_coefficients_of_its_author() -> None:
    """α, β after erratum 1, γ and P′ of the example, exactly; and what the printed β would give is something else."""
    equations = equations_of(arm_of_point_masses())
    names = ("m1", "m2", "l1", "l2", "g", "q1", "q2")
    symbols = table({name: f"{name[0]}{'₀₁₂'[int(name[1])]}" if len(name) > 1 else name for name in names})
    m1, m2, l1, l2, g, q1, q2 = (sp.Symbol(name, real=True) for name in names)
    alpha = (m1 + m2) * l1**2 + m2 * l2**2 + 2 * m2 * l1 * l2 * sp.cos(q2)
    beta = m2 * l2**2 + m2 * l1 * l2 * sp.cos(q2)
    printed = [[read(str(x), symbols) for x in row.mass.values()] for row in equations.rows]
    for i, j, expected in ((0, 0, alpha), (0, 1, beta), (1, 0, beta), (1, 1, m2 * l2**2)):
        assert sp.expand(printed[i][j] - expected) == 0
    assert sp.expand(printed[0][1] - (m2 * l1**2 + m2 * l1 * l2 * sp.cos(q2))) != 0
    gravity = g * (m1 + m2) * l1 * sp.cos(q1) + g * m2 * l2 * sp.cos(q1 + q2)
    assert sp.expand(sum(read(str(x), symbols) for x in equations.rows[0].rest) - gravity) == 0
    numbers = (2.0, 1.5, 0.9, 0.6, 9.81, 0.4, 1.1)
    values = dict(zip(names, numbers, strict=True))
    expected = matukhina.mass_matrix(matukhina.Arm(*numbers[:5]), np.array(numbers[5:]))
    actual = [[float(x.subs({sp.Symbol(k, real=True): v for k, v in values.items()})) for x in row] for row in printed]
    np.testing.assert_allclose(actual, expected, rtol=1e-14)


EXPECTED: dict[str, list[str]] = {
    "point masses": [
        "(l₁² (m₁ + m₂) + l₂² m₂ + 2 l₁ l₂ m₂ cos(q₂)) q̈₁ + l₂ m₂ (l₂ + l₁ cos(q₂)) q̈₂ "
        "− 2 l₁ l₂ m₂ sin(q₂) q̇₁ q̇₂ − l₁ l₂ m₂ sin(q₂) q̇₂² "
        "+ g l₁ (m₁ + m₂) cos(q₁) + g l₂ m₂ cos(q₁ + q₂) = M₁",
        "l₂ m₂ (l₂ + l₁ cos(q₂)) q̈₁ + l₂² m₂ q̈₂ + l₁ l₂ m₂ sin(q₂) q̇₁² + g l₂ m₂ cos(q₁ + q₂) = M₂",
    ],
    "pendulum": ["l² m θ̈ + c θ̇ + g l m sin(θ) = τ"],
    "spherical pendulum": [
        "l² m θ̈ − l² m sin(2 θ) ψ̇²/2 + g l m sin(θ) = 0",
        "l² m sin²(θ) ψ̈ + l² m sin(2 θ) θ̇ ψ̇ = 0",
    ],
    "circuits": [
        "L₁ q̈₁ + L₁₂ q̈₂ + (R₁ + R₂) q̇₁ − R₂ q̇₂ + q₁ (1/C₁ + 1/C₂) − q₂/C₂ = E",
        "L₁₂ q̈₁ + L₂ q̈₂ − R₂ q̇₁ + R₂ q̇₂ + (q₂ − q₁)/C₂ = 0",
    ],
    "skate": [
        "m ẍ = −sin(θ) μ₁ + 2 x μ₂",
        "m ÿ = cos(θ) μ₁ + 2 y μ₂",
        "J θ̈ = 0",
    ],
    "unicycle": ["m ṡ − d m ω² = F", "(J + d² m) ω̇ + d m s ω = M"],
    "rubbing mass": [
        "m ẍ + b |ẋ| ẋ + μ tanh(20 ẋ) + k x/√(1 + x²) − 2 exp(−2 x)/(b + x) − exp(−2 x)/(b + x)² − sin(Ω t + π/6) = 0"
    ],
}


@pytest.mark.parametrize("label", EXPECTED)
def test_lines_as_a_reader_sees_them(label: str) -> None:
    assert lines(equations_of(ROBOTS[label]())) == EXPECTED[label]


def test_products_of_three_functions_are_put_together_again() -> None:
    """In the normal form they are sums of four; of a rod in space the reader knows cos ψ and sin ψ as factors."""
    row = equations_of(rods_in_space()).rows[0]
    assert {name: str(x) for name, x in row.mass.items()} == {
        "phi1": "l₁² (m₁ + m₂) cos²(ψ₁)",
        "phi2": "l₁ l₂ m₂ cos(ψ₁) cos(ψ₂) cos(φ₁ − φ₂)",
        "psi2": "l₁ l₂ m₂ cos(ψ₁) sin(ψ₂) sin(φ₁ − φ₂)",
    }
    assert [str(x) for x in row.rest] == ["g l₁ (m₁ + m₂) cos(φ₁) cos(ψ₁)"]


def test_natural_constraints_and_kinematics_are_printed() -> None:
    equations = equations_of(skate())
    printed = [(str(r), r.name, r.multiplier.text if r.multiplier else "") for r in equations.constraints]
    assert printed == [("ẏ cos(θ) − ẋ sin(θ) = 0", "no slip", "μ₁"), ("x² + y² − r² = 0", "rod", "μ₂")]
    assert "rod, multiplier μ₂" in str(equations)
    assert [str(r) for r in equations_of(unicycle()).kinematics] == ["ẋ = cos(θ) s", "ẏ = sin(θ) s", "θ̇ = ω"]
    assert equations_of(pendulum()).kinematics == ()


def test_structure_returns_the_factors() -> None:
    row = equations_of(coupled_circuits()).rows[0]
    assert {name: str(x) for name, x in row.mass.items()} == {"q1": "L₁", "q2": "L₁₂"}
    assert {names: str(x) for names, x in row.velocity.items()} == {("q1",): "R₁ + R₂", ("q2",): "−R₂"}
    assert [str(x) for x in row.rest] == ["q₁ (1/C₁ + 1/C₂)", "−q₂/C₂"]
    assert {name: str(x) for name, x in row.inputs.items()} == {"E": "1"}
    assert dict(row.reactions) == {}
    assert {name: str(x) for name, x in equations_of(skate()).rows[1].reactions.items()} == {
        "mu1": "cos(θ)",
        "mu2": "2 y",
    }
