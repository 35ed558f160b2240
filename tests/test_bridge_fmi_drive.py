"""A law that drives a plant which comes as an FMU: the motion, names, units, and what stops it."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from erugin.bridges import fmi
from erugin.controllers import ProgramController
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots import Link, planar_manipulator
from erugin.scenarios import simulate
from erugin.simulation import SimulationError
from erugin.symbolic import BridgeError, BridgeWarning

from .arms import ELBOW, disc_program, two_link_arm

VERSIONS: tuple[fmi.Version, ...] = ("2.0", "3.0")
START = {"q.q1": ELBOW[0], "q.q2": ELBOW[1]}
STEP = 2e-3


def law() -> ProgramController:
    return ProgramController(disc_program(), realization="actuated")


@pytest.fixture(scope="module")
def plants(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("plants")
    return {
        version: fmi.export(two_link_arm(), folder / f"{version[0]}.fmu", version=version, step=STEP).path
        for version in VERSIONS
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_a_plant_in_an_fmu_moves_under_a_law_that_is_held(plants: dict[str, Path], version: str) -> None:
    found = fmi.drive(law(), plants[version], 0.4, step=STEP, values=START)
    held = SampleAndHold(law(), STEP)
    expected = simulate(two_link_arm(), held, ELBOW, (0.0, 0.0), 0.4, step=STEP)
    for name in ("t", "q", "v", "u", "energy"):
        values = getattr(expected, name)
        np.testing.assert_allclose(getattr(found, name), values, rtol=0.0, atol=1e-12 * np.abs(values).max())
    assert np.abs(found.q[-1] - found.q[0]).max() > 0.02
    # A law that is computed in Python and remembers drives it as well.
    again = fmi.drive(held, plants[version], 0.4, step=STEP, values=START)
    np.testing.assert_allclose(again.q, expected.q, rtol=0.0, atol=1e-12)


def test_parameters_are_the_laws(plants: dict[str, Path]) -> None:
    p = {"m2": 2.5, "disc.x": 0.4}
    found = fmi.drive(law(), plants["3.0"], 0.1, step=STEP, p=p, values=START)
    expected = simulate(two_link_arm(), SampleAndHold(law(), STEP), ELBOW, (0.0, 0.0), 0.1, step=STEP, controller_p=p)
    for ours, theirs in ((found.q, expected.q), (found.v, expected.v), (found.u, expected.u)):
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-12 * np.abs(theirs).max())
    np.testing.assert_array_equal(found.controller_p, expected.controller_p)


def test_names_that_differ_are_told_on_both_sides(plants: dict[str, Path]) -> None:
    longer = planar_manipulator([Link.point_mass(0.6, 2.5), Link.point_mass(0.5, 1.8), Link.point_mass(0.3, 1.0)])
    with pytest.raises(BridgeError, match=r"q\.q3"):
        fmi.drive(ProgramController(disc_program(longer), realization="actuated"), plants["3.0"], 0.1, step=STEP)
    with pytest.raises(BridgeError, match=r"shoulder"):
        fmi.drive(law(), plants["3.0"], 0.1, step=STEP, names={"q.q1": "shoulder"})


def described(plant: Path, path: Path, changes: Iterable[tuple[str, str]]) -> Path:
    """The same FMU with another description."""
    with zipfile.ZipFile(plant) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "modelDescription.xml":
                for before, after in changes:
                    assert content.count(before.encode()) == 1
                    content = content.replace(before.encode(), after.encode())
            new.writestr(name, content)
    return path


RADIAN, DEGREE = '<BaseUnit rad="1" />', '<BaseUnit rad="1" factor="0.017453292519943295" />'
SCALED = r"q\.q1 is in rad, but q\.q1 of the FMU in {}: their units must be the same, and 1 there is 0\.01745"


def test_units_that_disagree_are_refused(plants: dict[str, Path], tmp_path: Path) -> None:
    """The same FMU, but for a description that says that its angles are degrees."""
    path = described(plants["3.0"], tmp_path / "degrees.fmu", [(RADIAN, DEGREE)])
    with pytest.raises(BridgeError, match=SCALED.format("rad")):
        fmi.drive(law(), path, 0.1, step=STEP, values=START)


def with_unit(told: str, definition: str) -> list[tuple[str, str]]:
    """What tells another unit of the first angle, in a description of FMI 2.0."""
    head, own = (
        'links" causality="output" variability="continuous" initial="exact">\n      <Real',
        ' unit="rad" start="0.0"',
    )
    first = f"coordinate q1 of planar manipulator with 2 {head}"
    return [(first + own, f'{first}{told} start="0.0"'), ("</UnitDefinitions>", f"</UnitDefinitions>{definition}")]


def test_a_unit_of_a_type_is_a_unit_of_its_variables(plants: dict[str, Path], tmp_path: Path) -> None:
    kind = '<TypeDefinitions><SimpleType name="Turn"><Real unit="{}" /></SimpleType></TypeDefinitions>'
    told = with_unit(' declaredType="Turn"', kind.format("degree"))
    defined = ("<UnitDefinitions>", f'<UnitDefinitions><Unit name="degree">{DEGREE}</Unit>')
    path = described(plants["2.0"], tmp_path / "typed.fmu", [*told, defined])
    with pytest.raises(BridgeError, match=SCALED.format("degree")):
        fmi.drive(law(), path, 0.1, step=STEP, values=START)
    same = with_unit(' declaredType="Turn"', kind.format("rad"))
    fmi.drive(law(), described(plants["2.0"], tmp_path / "same.fmu", same), 0.01, step=STEP, values=START)


@pytest.mark.parametrize(
    ("unit", "said"),
    [("", "without a unit there"), (' unit="turns"', "in 'turns', of which nothing is known, there")],
)
def test_units_that_are_not_told_are_told_as_such(
    plants: dict[str, Path], tmp_path: Path, unit: str, said: str
) -> None:
    changes = [*with_unit(unit, ""), ("<UnitDefinitions>", '<UnitDefinitions><Unit name="turns" />')]
    path = described(plants["2.0"], tmp_path / "untold.fmu", changes)
    with pytest.warns(BridgeWarning, match=f"not known: q\\.q1 is in rad here, q\\.q1 {said}\\. Numbers") as told:
        found = fmi.drive(law(), path, 0.1, step=STEP, values=START)
    assert len(told) == 1
    np.testing.assert_array_equal(found.q, fmi.drive(law(), plants["2.0"], 0.1, step=STEP, values=START).q)


def test_a_motion_that_has_to_stop_keeps_what_was_recorded(plants: dict[str, Path]) -> None:
    with pytest.raises(SimulationError, match=r"t = .*The last state") as stopped:
        fmi.drive(law(), plants["2.0"], 0.1, step=STEP, values={"q.q1": 0.3, "q.q2": 0.0})
    assert len(stopped.value.trajectory) >= 1


def test_what_is_no_fmu_or_no_input_is_refused(plants: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(BridgeError, match="gives generalized forces, but an FMU takes inputs"):
        fmi.drive(ProgramController(disc_program()), plants["2.0"], 0.1, step=STEP)
    nothing = tmp_path / "nothing.fmu"
    nothing.write_text("not an archive", encoding="utf-8")
    with pytest.raises(BridgeError, match=r"nothing\.fmu cannot be loaded by FMPy"):
        fmi.drive(law(), nothing, 0.1, step=STEP)
