"""A model in other units than kg, m, s and rad is refused by a sentence that names them, in every bridge."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

# Which has no wheels for Python 3.12 and later.
import pybullet
import pytest
from numpy.typing import NDArray

from erugin.bridges import drake, mujoco, pinocchio
from erugin.bridges import pybullet as bullet
from erugin.bridges.pybullet.client import quiet, world
from erugin.controllers import ProgramController
from erugin.robots import Link, Robot, load_urdf, planar_manipulator
from erugin.symbolic import BridgeError

from .bridge_mujoco import LINKS, arm, model_of
from .bridge_pinocchio import export_quietly
from .bridge_simulators import cart, chain, floating, panda, tracking
from .urdf import ARM

Array = NDArray[np.float64]
control: Any = importlib.import_module("control")
parsing: Any = importlib.import_module("pydrake.multibody.parsing")
pin: Any = importlib.import_module("pinocchio")
plants: Any = importlib.import_module("pydrake.multibody.plant")

HINGE, SLIDE = ('lower="-1.5" upper="2.5"', 'lower="0" upper="0.8"')
# Friction is another difference, and to a link without mass PyBullet gives one.
PLAIN = re.sub(r'\s*<dynamics[^>]*>|<link name="tool"/>|<joint name="flange".*?</joint>', "", ARM, flags=re.DOTALL)
UPRIGHT = re.sub(r'i(xy|xz|yz)="[^"]*"', r'i\1="0"', PLAIN.replace(' rpy="0.3 -0.2 0.5"', ""))
"""Inertias along the axes of the links, which PyBullet needs of large ones."""


def written(text: str, *, mass: float = 1.0, length: float = 1.0, moment: float | None = None) -> str:
    """A file with all its masses, lengths and moments of inertia multiplied; these by what follows if not given."""
    inertia = mass * length**2 if moment is None else moment
    for pattern, factor in (("mass value", mass), ("origin xyz", length), ("i[xyz][xyz]", inertia)):

        def scaled(found: re.Match[str], factor: float = factor) -> str:
            return f'{found[1]}="{" ".join(repr(float(x) * factor) for x in found[2].split())}"'

        text = re.sub(rf'({pattern})="([^"]*)"', scaled, text)
    return text.replace(SLIDE, f'lower="0" upper="{0.8 * length!r}"')


def in_degrees(text: str) -> str:
    """A file whose limits of angles are in degrees."""
    low, high = np.rad2deg([-1.5, 2.5]).tolist()
    return text.replace(HINGE, f'lower="{low!r}" upper="{high!r}"')


@pytest.fixture(name="law", scope="module")
def _law(tmp_path_factory: pytest.TempPathFactory) -> ProgramController:
    file = tmp_path_factory.mktemp("arm") / "arm.urdf"
    file.write_text(UPRIGHT, encoding="utf-8")
    return tracking(load_urdf(file))


def into_mujoco(law: ProgramController, text: str, gravity: float, folder: Path) -> None:
    """The law to a model that MuJoCo reads."""
    model = model_of(text)
    model.opt.gravity[:] = 0.0, 0.0, gravity
    mujoco.drive(law, model, apply="qfrc_applied")


def into_drake(law: ProgramController, text: str, gravity: float, folder: Path) -> None:
    """The law to a plant that Drake reads."""
    plant = plants.MultibodyPlant(0.0)
    parsing.Parser(plant).AddModelsFromString(text, "urdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, gravity])
    plant.Finalize()
    drake.drive(law, plant)


def into_pybullet(law: ProgramController, text: str, gravity: float, folder: Path) -> None:
    """The law to a body that PyBullet reads."""
    file = folder / "arm.urdf"
    file.write_text(text, encoding="utf-8")
    with world() as client:
        with quiet():
            body = pybullet.loadURDF(
                str(file), useFixedBase=True, flags=pybullet.URDF_USE_INERTIA_FROM_FILE, physicsClientId=client
            )
        pybullet.setGravity(0.0, 0.0, gravity, client)
        bullet.drive(law, body, client=client)


def into_pinocchio(law: ProgramController, text: str, gravity: float, folder: Path) -> None:
    """The law to a model that Pinocchio reads."""
    model = pin.buildModelFromXML(text)
    model.gravity.linear = np.array([0.0, 0.0, gravity])
    pinocchio.drive(law, model)


Into = Callable[[ProgramController, str, float, Path], None]
PROGRAMS: dict[str, Into] = {
    "MuJoCo": into_mujoco,
    "Drake": into_drake,
    "PyBullet": into_pybullet,
    "Pinocchio": into_pinocchio,
}
each_program = pytest.mark.parametrize("into", PROGRAMS.values(), ids=PROGRAMS)


@each_program
def test_the_same_file_is_the_same_robot(into: Into, law: ProgramController, tmp_path: Path) -> None:
    into(law, UPRIGHT, -9.81, tmp_path)


@each_program
@pytest.mark.parametrize(
    ("units", "gravity", "said"),
    [
        ({"mass": 1e3}, -9.81, "M there is 1000 × M here: masses in g?"),
        ({"mass": 1e-3}, -9.81, "M there is 0.001 × M here: masses in t?"),
        ({"length": 1e3}, -9810.0, "1e+06 × M here in turning joints and 1 × in slides: lengths in mm?"),
        ({"length": 1e2}, -9.81, "1e+04 × M here in turning joints and 1 × in slides, gravity there is 1 × gravity "
         "here: lengths in cm, gravity in m/s²?"),
        ({"length": 1e-3}, -9.81e-3, "1e-06 × M here in turning joints and 1 × in slides: lengths in km?"),
        ({"mass": 1e3, "length": 1e3}, -9810.0, "1e+09 × M here in turning joints and 1000 × in slides: lengths in mm, "
         "masses in g?"),
        ({"mass": 1e-3, "length": 1e3}, -9810.0, "1000 × M here in turning joints and 0.001 × in slides: lengths in "
         "mm, masses in t?"),
        ({"mass": 1e9, "length": 1e3}, -9810.0, "1e+15 × M here in turning joints and 1e+09 × in slides: lengths in "
         "mm, masses from a density?"),
        ({"moment": 1e9}, -9.81, "M there is 1 × M here in the part that masses make and 1e+09 × in that of moments of "
         "inertia: moments of inertia in g mm²?"),
        ({"mass": 1e3, "moment": 1e7}, -9.81, "masses in g, moments of inertia in g cm²?"),
        ({"length": 1e3, "moment": 1e9}, -9810.0, "lengths in mm, moments of inertia in g mm²?"),
        ({}, -9810.0, "gravity there is 1000 × gravity here: gravity in mm/s²?"),
        ({}, -1.0, "gravity there is 0.1019 × gravity here: gravity in multiples of 9.81 m/s²?"),
        ({}, 0.0, "gravity there is 0 × gravity here: gravity absent, or not set?"),
        ({}, 9.81, "gravity there is -1 × gravity here: gravity of the other sign?"),
    ],
)  # fmt: skip
def test_another_unit_is_named(
    into: Into, law: ProgramController, units: Mapping[str, float], gravity: float, said: str, tmp_path: Path
) -> None:
    with pytest.raises(BridgeError, match=rf"not the same robot: .*{re.escape(said)} Units here are kg, m, s, rad"):
        into(law, written(UPRIGHT, **units), gravity, tmp_path)


@each_program
def test_ranges_of_joints_in_degrees_or_mm_are_told(into: Into, law: ProgramController, tmp_path: Path) -> None:
    with pytest.raises(BridgeError, match=r"ranges of joints there are 57\.3 × those here: angles in degrees\?"):
        into(law, in_degrees(UPRIGHT), -9.81, tmp_path)
    long = UPRIGHT.replace(SLIDE, 'lower="0" upper="800"')
    with pytest.raises(BridgeError, match="ranges of joints there are 1000 × those here: lengths in mm"):
        into(law, long, -9.81, tmp_path)


@each_program
@pytest.mark.parametrize(
    ("text", "gravity"),
    [
        (UPRIGHT.replace('mass value="2.5"', 'mass value="2500"'), -9.81),
        (UPRIGHT.replace('mass value="1.5"', 'mass value="1.7"'), -9.81),
        (UPRIGHT.replace("0 0 0.4", "0 0 0.5"), -9.81),
        (UPRIGHT.replace('iyy="0.04"', 'iyy="0.05"'), -9.81),
        (UPRIGHT, -1.62),
    ],
    ids=["one mass in g", "another mass", "another length", "another inertia", "on the moon"],
)
def test_another_robot_is_no_other_unit(
    into: Into, law: ProgramController, text: str, gravity: float, tmp_path: Path
) -> None:
    with pytest.raises(BridgeError, match="are not the same robot") as raised:
        into(law, text, gravity, tmp_path)
    assert "Units here" not in str(raised.value)


@pytest.mark.parametrize(
    ("units", "said"),
    [
        ({"mass": 1e3}, "masses there are 1000 × those here and moments of inertia 1000 ×: masses in g?"),
        (
            {"length": 1e3},
            "masses there are 1 × those here and moments of inertia 1e+06 ×: moments of inertia in kg mm² or lengths",
        ),
    ],
)
def test_what_pybullet_cannot_weigh_is_told_by_its_bodies(
    units: Mapping[str, float], said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tilted.urdf"
    file.write_text(PLAIN, encoding="utf-8")
    tilted = tracking(load_urdf(file))
    with pytest.raises(BridgeError, match=rf"no mass matrix of body \d+: .* rounding; {re.escape(said)}"):
        into_pybullet(tilted, written(PLAIN, **units), -9.81, tmp_path)
    assert capfd.readouterr() == ("", "")


def test_what_pybullet_cannot_weigh_though_it_is_the_same_is_told_as_such(tmp_path: Path) -> None:
    heavy, file = written(PLAIN, mass=1e3), tmp_path / "heavy.urdf"
    file.write_text(heavy, encoding="utf-8")
    with pytest.raises(BridgeError, match=r"of its rounding; what its joints carry there is what they carry here$"):
        into_pybullet(tracking(load_urdf(file)), heavy, -9.81, tmp_path)


@pytest.mark.parametrize(
    ("length", "mass", "said"),
    [(1e3, 1.0, r"M there is 1e\+06 × M here.*: lengths in mm"), (1.0, 1e3, "1000 × M here: masses in g")],
)
def test_an_export_in_other_units_is_another_robot(length: float, mass: float, said: str) -> None:
    links = [Link(k.length * length, k.mass * mass, k.center * length, k.inertia * mass * length**2) for k in LINKS]
    with pytest.raises(BridgeError, match=said):
        mujoco.match(arm(), model_of(mujoco.export(planar_manipulator(links)))).require()


def rewritten(robot: Robot, *, mass: float, length: float, gravity: float) -> Any:  # noqa: ANN401
    """The robot in Pinocchio with other numbers, moments of inertia as they follow."""
    model = export_quietly(robot).model
    for k in range(model.njoints):
        body, place = model.inertias[k], model.jointPlacements[k]
        model.inertias[k] = pin.Inertia(body.mass * mass, body.lever * length, body.inertia * mass * length**2)
        model.jointPlacements[k] = pin.SE3(place.rotation, place.translation * length)
    model.gravity.linear = model.gravity.linear * gravity
    return model


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (panda, "M there is 1e+09 × M here: lengths in mm, masses in g?"),
        (lambda: chain(3, absolute=True), "M there is 1e+09 × M here: lengths in mm, masses in g?"),
        (floating, "1e+09 × M here in turning joints and 1000 × in slides: lengths in mm, masses in g?"),
        (cart, "1e+09 × M here in turning joints and 1000 × in slides: lengths in mm, masses in g?"),
    ],
    ids=["seven joints", "absolute angles", "floating", "planar"],
)
def test_a_model_of_any_joints_in_mm_and_g_is_told(make: Callable[[], Robot], said: str) -> None:
    assert said in pinocchio.match(make(), rewritten(make(), mass=1e3, length=1e3, gravity=1e3)).units


@pytest.mark.parametrize(("mass", "length"), [(1e3, 1.0), (1e-3, 1e3)], ids=["in g", "in t and mm"])
def test_units_that_turning_joints_cannot_tell_apart_are_both_told(mass: float, length: float) -> None:
    """A million times the lengths squared, a thousandth of the masses: M and h are a thousand times these, as in g."""
    found = pinocchio.match(chain(), rewritten(chain(), mass=mass, length=length, gravity=length))
    in_g, in_t = "M there is 1000 × M here: masses in g?", "M there is 1000 × M here: lengths in mm, masses in t?"
    assert found.units.startswith(f"{in_g} or {in_t} Units here")
    # Which of them it is masses tell.
    assert f"{2.0:g} kg here and {2.0 * mass:g} kg there" in str(found)


def test_a_sentence_does_not_list_what_all_bodies_have() -> None:
    found = pinocchio.match(panda(), rewritten(panda(), mass=1e3, length=1.0, gravity=1.0))
    assert len(found.bodies) == 7
    assert str(found).count("principal moments") == 4
    assert "; 3 more bodies differ: match(...).bodies; M[" in str(found)


def test_gravity_that_is_no_number_is_no_friction() -> None:
    found = pinocchio.match(chain(), rewritten(chain(), mass=1.0, length=1.0, gravity=np.nan))
    assert not found.same
    assert "friction" not in str(found)
    assert found.units == ""
