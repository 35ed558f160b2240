# pyright: reportPrivateUsage=false
"""Printed equations: names, layout, numbers, and well-formed LaTeX."""

from __future__ import annotations

import math
import re
import unicodedata
import warnings
from collections.abc import Callable
from fractions import Fraction

import casadi as ca
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.mathtext import MathTextParser

from erugin.robots import Link, Robot, lagrangian_system, planar_manipulator
from erugin.robots.equations import EquationsOfMotion, equations_of
from erugin.robots.equations.formula import Number
from erugin.robots.equations.latex import latex
from erugin.robots.equations.symbol_table import typeset_symbol
from erugin.robots.equations.text import text
from erugin.robots.equations.trigonometric_sums import cosine_of_turn, exact_number, multiple_of_pi
from erugin.symbolic import Parameters

from ...support.known_systems import ROBOTS, pendulum, skate

# Jupyter calls _repr_latex_, and so do these tests.


def functions() -> Robot:
    """Every function, bracket and power in one potential."""
    p = Parameters.declare({"a": 1.0, "disc.radius": 2.0, "k_b": 3.0})
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    a, r, k = (p[name] for name in p.names)
    Q = ca.fabs(x) + ca.floor(a * x) + ca.ceil(x) + ca.sign(v) + ca.fmin(x, a) + ca.fmax(v, r) + ca.atan2(x, a)
    Q += ca.if_else(ca.logic_and(x > a, x <= r), k * x, 0) + ca.asin(x / r) + ca.sinh(x) ** 2 + ca.tan(x) ** 3
    Q += ca.exp(-x / a) / (x + r) + ca.log(1 + x**2) + ca.sqrt(x) + x ** (1 / 3) + a**x + ca.erf(x) + x / (2 * a * r)
    Q += ca.fmod(x, a) + ca.cos(x) ** 2 + 1e-9 * x + ca.sin(x + ca.pi / 3) + x**2.5 + ca.logic_not(x > a)
    return lagrangian_system(q=x, v=v, p=p, T=v**2 / 2, Q=Q, name="functions")


def urdf_like() -> Robot:
    p = Parameters.declare({"link_1.mass": 1.0, "link_1.inertia.xx": 2.0})
    q, v = ca.SX.sym("shoulder_pan_joint"), ca.SX.sym("v")
    T = (p["link_1.mass"] + p["link_1.inertia.xx"]) * v**2 / 2
    return lagrangian_system(q=q, v=v, p=p, T=T, V=ca.sin(q), name="one joint")


ALL: dict[str, Callable[[], Robot]] = {**ROBOTS, "functions": functions, "urdf": urdf_like}
# What matplotlib does not know, and another command with the same syntax.
UNKNOWN = {r"\displaystyle": "", r"\wedge": r"\cap", r"\neg": r"\sim"}


def typeset(latex: str) -> None:
    for command, other in UNKNOWN.items():
        latex = latex.replace(command, other)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of glyphs that its font lacks
        MathTextParser("path").parse(f"${latex}$")


@pytest.mark.parametrize("label", ALL)
@pytest.mark.parametrize("simplify", [True, False], ids=["simplified", "as it stands"])
def test_every_row_can_be_typeset(label: str, simplify: bool) -> None:
    equations = equations_of(ALL[label](), simplify=simplify)
    for row in equations.rows:
        typeset(row.latex())
    for relation in (*equations.constraints, *equations.kinematics, *equations.definitions):
        typeset(relation.latex())
    for entry in equations.legend:
        typeset(entry.symbol.latex)


def test_what_is_not_latex_is_not_typeset() -> None:
    """The check can fail."""
    for wrong in (r"\frac{a}{b", r"\left(a", r"\nosuchcommand a", "a_b_c"):
        with pytest.raises(ValueError):  # noqa: PT011 - the parser's own words
            typeset(wrong)


@pytest.mark.parametrize("label", ALL)
def test_environment_is_well_formed(label: str) -> None:
    equations = equations_of(ALL[label]())
    latex = equations.latex()
    assert latex.startswith("\\begin{align*}\n")
    assert latex.endswith("\n\\end{align*}")
    body = latex.splitlines()[1:-1]
    assert all(line.endswith(r" \\") for line in body[:-1])
    assert not body[-1].endswith(r"\\")
    for line in body:
        assert line.startswith("& ")
        assert line.count("&") == 1
        depth = 0
        for brace in re.findall(r"(?<!\\)[{}]", line):
            depth += 1 if brace == "{" else -1
            assert depth >= 0, line
        assert depth == 0, line
        assert len(re.findall(r"\\left\b", line)) == len(re.findall(r"\\right\b", line))
    # Nothing of the rows is lost between the lines.
    joined = " ".join(line.removeprefix("& ").removeprefix(r"\qquad ").removesuffix(r" \\") for line in body)
    for row in equations.rows:
        assert row.latex().replace("- ", "-") in joined.replace("- ", "-")


def test_rows_as_typeset() -> None:
    assert equations_of(pendulum()).rows[0].latex() == (
        r"l^{2} m \ddot{\theta} + c \dot{\theta} + g l m \sin \theta = \tau"
    )
    assert equations_of(skate()).rows[0].latex() == r"m \ddot{x} = -\sin\left(\theta\right) \mu_{1} + 2 x \mu_{2}"
    arm = equations_of(planar_manipulator([Link(0.5, 2.0, 0.2, 0.03)] * 2, angles="absolute"))
    assert arm.rows[0].mass["q1"].latex() == r"I_{1} + c_{1}^{2} m_{1} + l_{1}^{2} m_{2}"
    assert arm.rows[0].mass["q2"].latex() == r"c_{2} l_{1} m_{2} \cos\left(q_{1} - q_{2}\right)"


def test_fractions_stand_before_derivatives() -> None:
    p = Parameters.declare({"m": 1.0, "r": 2.0, "b": 3.0})
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    T = (p["m"] / 12 + p["b"] / p["r"] ** 2) * v**2 / 2
    D = p["b"] * v**2 / (2 * p["m"] * p["r"])
    (row,) = equations_of(lagrangian_system(q=x, v=v, p=p, T=T, D=D, name="rod")).rows
    assert row.latex() == r"\left(\frac{m}{12} + \frac{b}{r^{2}}\right) \ddot{x} + \frac{b}{m r} \dot{x} = 0"
    assert str(row.velocity["x",]) == "b/(m r)"


def test_a_notebook_shows_mathematics() -> None:
    equations = equations_of(pendulum())
    shown = equations._repr_latex_()
    assert shown.startswith("$$\n\\begin{aligned}\n")
    assert shown.endswith("\n\\end{aligned}\n$$")
    assert equations.rows[0]._repr_latex_() == rf"$\displaystyle {equations.rows[0].latex()}$"
    assert equations.rows[0].mass["theta"]._repr_latex_() == r"$\displaystyle l^{2} m$"


@pytest.mark.parametrize(
    ("given", "meant", "printed"),
    [
        (9.81, Fraction(981, 100), "9.81"),
        (0.1, Fraction(1, 10), "0.1"),
        (0.1 + 0.2, Fraction(3, 10), "0.3"),
        (1 / 3, Fraction(1, 3), "1/3"),
        (-2 / 3, Fraction(-2, 3), "−2/3"),
        (0.5, Fraction(1, 2), "1/2"),
        (2.5 / 12, Fraction(5, 24), "5/24"),
        (1 / 997, Fraction(1, 997), "1/997"),
        (1000.0, Fraction(1000), "1000"),
        (0.0, Fraction(0), "0"),
        (5e-324, Fraction(repr(5e-324)), "4.94065645841·10⁻³²⁴"),
        (6.02214076e23, Fraction(602214076 * 10**15), "6.02214076·10²³"),
        (2.7182818284590455, Fraction("2.7182818284590455"), "2.71828182846"),
        (0.00325, Fraction(325, 100000), "0.00325"),
    ],
)
def test_constants_are_what_was_typed(given: float, meant: Fraction, printed: str) -> None:
    assert exact_number(given) == meant
    assert text(Number(meant)) == printed


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_constants_keep_their_value(x: float) -> None:
    assert abs(float(exact_number(x)) - x) <= 2 * math.ulp(x)


@given(st.integers(-(10**6), 10**6), st.integers(0, 9))
def test_decimals_are_exact(digits: int, places: int) -> None:
    assert exact_number(float(f"{digits}e-{places}")) == Fraction(digits, 10**places)


def test_multiples_of_pi_are_recognised() -> None:
    for ratio in (Fraction(1), Fraction(-1, 2), Fraction(2), Fraction(1, 36), Fraction(5, 6), Fraction(7, 4)):
        assert multiple_of_pi(float(ratio) * math.pi) == ratio
    for x in (0.0, 3.14, 3.1415926, 1.0, 1e300, 1e-300, 100 * math.pi):
        assert multiple_of_pi(x) is None


def test_rational_cosines() -> None:
    """Of the multiples of 15 degrees, those and only those whose cosine is 0, ±½ or ±1."""
    for numerator in range(-24, 25):
        cosine = math.cos(numerator * math.pi / 12)
        rational = any(abs(abs(cosine) - value) < 1e-12 for value in (0.0, 0.5, 1.0))
        value = cosine_of_turn(Fraction(numerator, 12))
        assert (value is not None) == rational
        assert value is None or float(value) == pytest.approx(cosine, abs=1e-15)


def test_powers_of_ten_in_latex() -> None:
    assert latex(Number(exact_number(2.5e-8))) == r"2.5 \cdot 10^{-8}"
    assert latex(Number(Fraction(-1, 3))) == r"-\frac{1}{3}"


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
