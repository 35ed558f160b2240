"""One rule for all names: text that every format can hold, of a length that can be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import pytest

from erugin.bridges import c, mujoco, urdf
from erugin.constraints import circle, holonomic, nonholonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Bar, Link, lagrangian_system, planar_linkage
from erugin.scenarios import Setup, Study, compare, scenario
from erugin.simulation import Event, Phase
from erugin.symbolic import BridgeError, Coordinates, EruginError, Parameters
from erugin.symbolic.errors import LONGEST_NAME

from .compared import swing

PLACE, SPEED, NAMED_MASS = (ca.SX.sym(name) for name in ("x", "v", "m"))


def setup() -> Setup:
    return swing(0.1)


def coordinates(name: str) -> object:
    return Coordinates(ca.SX.sym("t"), PLACE, SPEED, ca.SX.sym("a"), ca.SX.eye(1), (name,), ("m",))


def robot(name: str = "system", *, mass: str = "m") -> object:
    # CasADi ends a symbol's name at NUL, and takes no lone surrogate.
    m, x = ca.SX.sym(mass.encode(errors="replace").decode()), ca.SX.sym("x")
    return lagrangian_system(q=x, v=SPEED, p=m, nominal={mass: 1.0}, T=m * SPEED**2 / 2, name=name)


def scene(name: str) -> object:
    @scenario(name)
    def made() -> Setup:
        """It is not run."""
        return setup()

    return made


def own(setup: Setup) -> ProgramController:
    path = holonomic(setup.robot.q[0])
    return ProgramController(Program(setup.robot, path), realization="ideal")


@scenario("plain")
def plain() -> Setup:
    """An arm swings."""
    return setup()


BIRTHS: dict[str, Callable[[str], object]] = {
    "robot": lambda name: robot(name),
    "parameter of a robot": lambda name: robot(mass=name),
    "coordinates": coordinates,
    "parameter": lambda name: Parameters.declare({name: 1.0}),
    "prefix": lambda name: circle((0.0, 0.0), 1.0, name=name),
    "order 0": lambda name: holonomic(PLACE, name=name),
    "order 1": lambda name: nonholonomic(SPEED, name=name),
    "scenario": scene,
    "controller": lambda name: compare(setup(), {name: own}, seeds=1),
    "controller of a study": lambda name: Study(plain, {}, {name: own}),
    "factor": lambda name: Study(plain, {name: [1.0]}),
    "rival": lambda name: Setup(setup().robot, None, [0.0, 0.0], [0.0, 0.0], 1.0, 0.1, rivals={name: own}),
    "phase": lambda name: Phase(None, 1.0, name=name),
    "event": lambda name: Event(PLACE, None, name=name),
}


@pytest.mark.parametrize("birth", BIRTHS)
@pytest.mark.parametrize("name", ["a\0b", "\0", "x" * 3000, "車" * (LONGEST_NAME + 1), "\ud800"])
def test_what_cannot_be_a_name_is_refused_where_it_is_given(birth: str, name: str) -> None:
    with pytest.raises(EruginError, match=f"must be text, got .*: 1 to {LONGEST_NAME} characters") as refused:
        BIRTHS[birth](name)
    assert len(str(refused.value)) < 600
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("birth", [birth for birth in BIRTHS if birth not in ("controller", "factor")])
@pytest.mark.parametrize("name", ["θ̇ of the 2nd link", "two\nlines", "x" * (LONGEST_NAME - 10), "=1+1", "<b>", "車輪"])
def test_names_in_any_language_are_taken(birth: str, name: str) -> None:
    assert BIRTHS[birth](name) is not None


@pytest.mark.parametrize("name", [float("nan"), None, 7, ""])
def test_a_name_is_text(name: object) -> None:
    given: Any = name
    for birth in ("order 0", "robot", "parameter", "controller", "factor", "event"):
        with pytest.raises(EruginError, match="must be text, got"):
            BIRTHS[birth](given)


def test_names_of_bodies_and_members_are_names_too() -> None:
    for name in ("a\0b", "x" * 3000):
        with pytest.raises(EruginError, match="1 to 200 characters, without NUL"):
            planar_linkage({name: Bar(Link(1.0, 1.0, 0.5, 0.1), (0.0, 0.0))})


def test_the_name_of_a_study_has_an_end_too() -> None:
    with pytest.raises(EruginError, match="the name of a study must be text, got 3,000 characters"):
        Study(plain, name="x" * 3000)


@pytest.mark.parametrize("name", ["a\x01b", "a\x1b[31m", "a\ufffeb"])
@pytest.mark.parametrize("export", [mujoco.export, urdf.export])
def test_what_xml_cannot_hold_is_refused_by_what_writes_xml(export: Callable[..., str], name: str) -> None:
    robot = planar_linkage({name: Bar(Link(1.0, 1.0, 0.5, 0.1), (0.0, 0.0))})
    with pytest.raises(BridgeError, match="which XML does not have: rename it"):
        export(robot)


@pytest.mark.parametrize("name", ["a\0b", "x" * 3000])
def test_names_that_are_given_to_exports_are_names_too(name: str, tmp_path: Path) -> None:
    robot = planar_linkage({"bar": Bar(Link(1.0, 1.0, 0.5, 0.1), (0.0, 0.0))})
    law = ProgramController(Program(robot, holonomic(robot.q)), realization="actuated")
    exports: list[Callable[[], object]] = [
        lambda: mujoco.export(robot, name=name),
        lambda: urdf.export(robot, name=name),
        lambda: c.export(law, tmp_path / "c", name=name),
    ]
    for write in exports:
        with pytest.raises(EruginError, match="1 to 200 characters, without NUL"):
            write()
