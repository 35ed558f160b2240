"""Names and units of an FMU's variables: by the standard's grammar, and found from the equations."""

from __future__ import annotations

import re
from pathlib import Path

import casadi as ca
import pytest
from fmpy.validation import validate_fmu
from hypothesis import given
from hypothesis import strategies as st

from erugin.bridges import fmi
from erugin.bridges.fmi.fmu_model import c_identifier, structured_name, unique_names
from erugin.bridges.fmi.model_assembly import closed_loop_model, controller_model, plant_model
from erugin.bridges.fmi.unit_definitions import Unit
from erugin.constraints import holonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import lagrangian_system
from erugin.robots.examples import andrews_squeezer
from erugin.scenarios.catalogue import butterworth_ladder, two_link_arm_moving_obstacle
from erugin.symbolic import BridgeError, Parameters

from .arms import two_link_arm

# FMI 2.0.4, section 2.2.9, and FMI 3.0, section 2.4.7.5.1.
NONDIGIT, DIGIT = "[a-zA-Z_]", "[0-9]"
QUOTED = r"'(?:[a-zA-Z0-9_!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]|\\['\"?\\abfnrtv])+'"
PART = rf"(?:{NONDIGIT}(?:{NONDIGIT}|{DIGIT})*|{QUOTED})(?:\[{DIGIT}+(?:,{DIGIT}+)*\])?"
STRUCTURED = re.compile(rf"{PART}(?:\.{PART})*")


@given(st.text(max_size=12))
def test_any_name_becomes_one_that_the_standard_allows(name: str) -> None:
    assert STRUCTURED.fullmatch(structured_name(name))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("disc.x", "disc.x"),
        ("follow[0]", "follow[0]"),
        ("coupler pin[1]", "'coupler pin'[1]"),
        ("arm.2.q", "arm.'2'.q"),
        ("φ1", "'U+03C61'"),
        ("it's", "'itU+0027s'"),
        ("", "'_'"),
    ],
)
def test_names_stay_as_they_are_where_they_can(name: str, expected: str) -> None:
    assert structured_name(name) == expected


@given(st.lists(st.sampled_from(["a", "a_2", "a_3", "b[0]", "'c d'", "'c d'[1]", "time"]), max_size=12))
def test_names_differ(names: list[str]) -> None:
    found = unique_names(names)
    assert len(set(found)) == len(found) == len(names)
    assert all(STRUCTURED.fullmatch(name) for name in found)
    assert all(new == name for new, name in zip(found, names, strict=True) if names.count(name) == 1)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_descriptions_hold_any_name(version: fmi.Version, tmp_path: Path) -> None:
    """XML has no control characters, not even by their numbers."""
    names = ["\x01", "x\x1b'\"<&>", "]]>\ufffe", "\t\nx"]
    q, u = ca.vertcat(*map(ca.SX.sym, names)), ca.SX.sym("u", len(names))
    v = ca.vertcat(*(ca.SX.sym(f"v{name}") for name in names))
    p = Parameters.declare({"\x02": 1.0, "時間": 2.0})
    robot = lagrangian_system(q=q, v=v, p=p, T=ca.sumsqr(v) * ca.sumsqr(p.symbols) / 2, V=0, u=u, Q=u)
    law = ProgramController(Program(robot, [holonomic(q[0], name="\x03--")]), realization="actuated")
    fmu = fmi.export(law, tmp_path / "odd.fmu", with_plant=robot, version=version, name="odd")
    assert validate_fmu(str(fmu.path)) == []
    with fmi.Instance(fmu.path, {fmu.parameters[0].name: 3.0}) as instance:
        instance.step(0.0, 1e-3)
        assert instance.variables["q.'U+0001'"].description == "coordinate U+0001 of system"


def test_a_model_has_a_name_that_c_can_have() -> None:
    assert c_identifier("two-link arm, 2 m") == "two_link_arm_2_m"
    assert c_identifier("7 joints") == "model_7_joints"
    assert len(f"{c_identifier('arm ' * 100)}.so") < 255
    with pytest.raises(BridgeError, match="needs a name with letters or digits"):
        c_identifier("ψ")


@pytest.mark.parametrize(
    ("text", "name", "exponents", "factor"),
    [
        ("N m", "N.m", {"kg": 1, "m": 2, "s": -2}, 1.0),
        ("rad/s²", "rad/s2", {"rad": 1, "s": -2}, 1.0),
        ("kg m^2", "kg.m2", {"kg": 1, "m": 2}, 1.0),
        ("V", "V", {"kg": 1, "m": 2, "s": -3, "A": -1}, 1.0),
        ("kg/(m s²)", "kg/(m.s2)", {"kg": 1, "m": -1, "s": -2}, 1.0),
        ("1/min", "1/min", {"s": -1}, 1.0 / 60.0),
        ("A s/C", "A.s/C", {}, 1.0),
        ("goods/(worker year)", "goods/(worker.year)", None, 1.0),
    ],
)
def test_units_have_exponents_of_base_units(
    text: str, name: str, exponents: dict[str, int] | None, factor: float
) -> None:
    unit = Unit.of(text)
    assert unit is not None
    assert (unit.name, unit.exponents) == (name, exponents)
    assert unit.factor == pytest.approx(factor, rel=1e-15)
    if exponents is not None and factor == 1.0:
        again = Unit.of(Unit.of_exponents(exponents).name)
        assert again is not None
        assert again.exponents == exponents


def test_what_has_no_unit_has_none() -> None:
    assert Unit.of(" ") is None


def test_units_of_parameters_follow_from_the_equations() -> None:
    setup = two_link_arm_moving_obstacle()
    assert setup.controller is not None
    block = closed_loop_model(
        *(setup.robot, setup.controller, "arm"),
        q0=None,
        v0=None,
        p=None,
        controller_p=setup.controller_p,
        apart=(),
        step=1e-3,
    )
    arm = {f"{letter}{i}": unit for i in (1, 2) for letter, unit in zip("lmcI", ("m", "kg", "m", "kg.m2"), strict=True)}
    disc = {
        f"disc.{key}": unit
        for key, unit in zip(("x", "y", "radius", "vx", "vy"), ("m", "m", "m", "m/s", "m/s"), strict=True)
    }
    field = {"speed": "m/s", "attraction": "1/s", "side": "", "margin": "m", "rounding": "m", "limit": "m/s"}
    expected = arm | {"g": "m/s2"} | disc | {f"field.{key}": unit for key, unit in field.items()}
    expected |= {"field.side_disc": "", "follow.rate": "1/s"}
    assert {parameter.name: parameter.unit for parameter in block.parameters} == expected


def test_units_of_a_linkage_and_of_a_circuit() -> None:
    squeezer = plant_model(andrews_squeezer(), "squeezer", q0=None, v0=None, p=None, step=1e-3)
    units = {parameter.name: parameter.unit for parameter in squeezer.parameters}
    assert {unit for name, unit in units.items() if name.endswith(".mass")} == {"kg"}
    assert {unit for name, unit in units.items() if name.endswith(".inertia")} == {"kg.m2"}
    assert (units["spring.stiffness"], units["spring.rest_length"]) == ("N/m", "m")
    ladder = plant_model(butterworth_ladder().robot, "ladder", q0=None, v0=None, p=None, step=1e-3)
    measured = {"L": "H", "C": "F", "R": "Ohm"}
    assert all(parameter.unit == measured[parameter.name[-1]] for parameter in ladder.parameters)


def test_nothing_is_told_where_the_equations_contradict_themselves() -> None:
    """A potential of k x and k x² at once gives k no unit, and a wrong one would be worse than none."""
    q, v, p = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("p", 2)
    parameters = Parameters(("m", "k"), p, {"m": 1.0, "k": 2.0})
    units: list[list[str]] = []
    for V in (p[1] * q**2 / 2, p[1] * q + p[1] * q**2):
        robot = lagrangian_system(q=q, v=v, p=parameters, T=p[0] * v**2 / 2, V=V, units=["m"])
        block = plant_model(robot, "slider", q0=None, v0=None, p=None, step=1e-3)
        units.append([parameter.unit for parameter in block.parameters])
    assert units == [["kg", "N/m"], ["", ""]]


def test_the_law_alone_tells_units_too() -> None:
    robot = two_link_arm()
    law = ProgramController(Program(robot, holonomic(robot.points["tip"] - ca.DM([0.7, 0.1]), name="tip")))
    block = controller_model(law, "law", q0=None, v0=None, p=None, step=1e-3)
    units = {parameter.name: parameter.unit for parameter in block.parameters}
    assert (units["m1"], units["I2"], units["tip.alpha"], units["tip.beta"]) == ("kg", "kg.m2", "1/s", "1/s")
