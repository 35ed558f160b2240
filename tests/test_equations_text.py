"""Names, layout and legend of printed equations."""

from __future__ import annotations

import unicodedata

import casadi as ca
import pytest

from erugin.robots import Link, Robot, lagrangian_system, planar_manipulator
from erugin.robots.equations import EquationsOfMotion, equations_of
from erugin.robots.equations.symbol_table import typeset_symbol
from erugin.symbolic import Parameters


@pytest.mark.parametrize(
    ("name", "order", "text", "latex"),
    [
        ("q1", 0, "q₁", "q_{1}"),
        ("q_12", 1, "q̇₁₂", r"\dot{q}_{12}"),
        ("phi1", 2, "φ̈₁", r"\ddot{\varphi}_{1}"),
        ("φ1", 2, "φ̈₁", r"\ddot{\varphi}_{1}"),
        ("theta", 1, "θ̇", r"\dot{\theta}"),
        ("Omega", 0, "Ω", r"\Omega"),
        ("tau_r", 0, "τᵣ", r"\tau_{r}"),
        ("k_b", 0, "k_b", "k_{b}"),
        ("l1_0", 0, "l₁_0", "l_{1,0}"),
        ("m_cart", 0, "m_cart", r"m_{\mathrm{cart}}"),
        ("x_phi", 0, "x_phi", r"x_{\varphi}"),
        ("Ixy_2", 0, "Ixy_2", "I_{xy,2}"),
        ("Fz", 1, "Fz˙", r"\dot{F}_{z}"),
        ("disc.radius", 0, "disc.radius", r"\mathrm{radius}_{\mathrm{disc}}"),
        ("link1.m", 0, "link1.m", r"m_{\mathrm{link1}}"),
        ("elbow", 2, "elbow¨", r"\ddot{\mathrm{elbow}}"),
        ("left_knee_2", 1, "left_knee_2˙", r"\dot{\mathrm{left}}_{\mathrm{knee},2}"),
        ("joint-1", 0, "⟨joint-1⟩", r"\mathrm{joint-1}"),
        ("50% {x}_^", 1, "⟨50% {x}_^⟩˙", r"\dot{\mathrm{50\%\ \{x\}\_\hat{\ }}}"),
    ],
)
def test_names(name: str, order: int, text: str, latex: str) -> None:
    made = typeset_symbol(name, order)
    assert (made.name, made.order) == (name, order)
    assert made.text == unicodedata.normalize("NFC", text)
    assert made.latex == latex


def clashing() -> Robot:
    """A coordinate, an input and a parameter called x; two parameters that look alike; one called mu."""
    p = Parameters.declare({"x": 1.0, "k1": 2.0, "k_1": 3.0, "mu": 0.1, "t": 5.0})
    x, v, u = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("x")
    V = p["k1"] * x + p["k_1"] * x**2 + p["t"] * x**3
    return lagrangian_system(q=x, v=v, p=p, T=p["x"] * v**2 / 2, V=V, D=p["mu"] * v**2 / 2, Q=u, u=u, name="clash")


def test_no_two_symbols_look_alike() -> None:
    equations = equations_of(clashing())
    line = "x_parameter ẍ + μ ẋ + k1 + x (2 k_1 + 3 t_parameter x) = x_input"
    assert str(equations.rows[0]) == unicodedata.normalize("NFC", line)
    texts = [entry.symbol.text for entry in equations.legend]
    assert len(set(texts)) == len(texts) == 7


def test_legend_names_units_and_values_of_what_occurs() -> None:
    equations = equations_of(planar_manipulator([Link(0.5, 2.0, 0.2, 0.03)]))
    assert [str(entry) for entry in equations.legend] == [
        "q₁  coordinate [rad]",
        "M₁  input [N m]",
        "m₁  parameter, nominally 2",
        "c₁  parameter, nominally 0.2",
        "I₁  parameter, nominally 0.03",
        "g  parameter, nominally 9.81",
    ]


def wide() -> EquationsOfMotion:
    return equations_of(planar_manipulator([Link(0.5, 2.0, 0.2, 0.03)] * 4))


def test_lines_are_not_longer_than_a_page() -> None:
    """Breaks stand before signs only, so that joining the lines gives the row again."""
    equations = wide()
    text = str(equations)
    body, _, _ = text.partition("\n\n  q₁")
    for line in body.splitlines():
        printed = [c for c in line if not unicodedata.combining(c)]
        assert len(printed) <= 100, line
    joined = " ".join(body.split())
    for number, row in enumerate(equations.rows, start=1):
        assert f"({number}) {row}" in joined


def test_text_has_a_title_and_every_row() -> None:
    text = str(wide())
    assert text.startswith("Equations of motion: planar manipulator with 4 links\n\n(1)  ")
    assert "\n(4)  " in text
    assert "†" not in text


def test_values_are_frozen() -> None:
    equations = wide()
    with pytest.raises(AttributeError):
        equations.title = "another"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError):
        equations.rows[0].mass["q1"] = equations.rows[0].mass["q2"]  # type: ignore[index]  # pyright: ignore
