# Jupyter calls _repr_latex_, and so do these tests.
# pyright: reportPrivateUsage=false
"""LaTeX of printed equations: well formed, and typeset by an independent reader of it, matplotlib."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

import casadi as ca
import pytest
from matplotlib.mathtext import MathTextParser

from erugin.robots import Link, Robot, lagrangian_system, planar_manipulator
from erugin.robots.equations import equations_of
from erugin.symbolic import Parameters

from .test_equations_families import ROBOTS, pendulum, skate


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
