"""A model in other units than kg, m, s and rad is refused by a sentence that names them, in every bridge."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.bridges import drake, mujoco, pinocchio, python_control
from erugin.bridges import pybullet as bullet
from erugin.bridges.pybullet.package import quiet, world
from erugin.controllers import ProgramController
from erugin.robots import Link, Robot, load_urdf, planar_manipulator
from erugin.symbolic.errors import BridgeError

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


@pytest.mark.parametrize(
    ("length", "mass", "said"),
    [(1e3, 1.0, r"M there is 1e\+06 × M here.*: lengths in mm"), (1.0, 1e3, "1000 × M here: masses in g")],
)
def test_an_export_in_other_units_is_another_robot(length: float, mass: float, said: str) -> None:
    links = [Link(k.length * length, k.mass * mass, k.center * length, k.inertia * mass * length**2) for k in LINKS]
    with pytest.raises(BridgeError, match=said):
        mujoco.match(arm(), model_of(mujoco.export(planar_manipulator(links)))).require()


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
    model = export_quietly(make()).model
    for k in range(model.njoints):
        body, place = model.inertias[k], model.jointPlacements[k]
        model.inertias[k] = pin.Inertia(body.mass * 1e3, body.lever * 1e3, body.inertia * 1e9)
        model.jointPlacements[k] = pin.SE3(place.rotation, place.translation * 1e3)
    model.gravity.linear = model.gravity.linear * 1e3
    assert said in pinocchio.match(make(), model).units


def plant(robot: Robot, scales: ArrayLike, worth: float = 1.0, **params: float) -> Any:  # noqa: ANN401
    """ẋ' = S ẋ of a robot at x = S⁻¹ x', driven by so many times its inputs, as a function that anyone could write."""
    own: Any = python_control.export(robot)
    S, values = np.asarray(scales, dtype=np.float64), {**own.params, **params}

    def changed(t: float, x: Array, u: Array, given: Mapping[str, float]) -> Array:
        return np.asarray(S * own.dynamics(t, x / S, worth * np.asarray(u), values))

    return control.nlsys(changed, None, states=own.state_labels, inputs=own.input_labels, outputs=len(S), name="plant")


DEGREES = 180.0 / np.pi


@pytest.mark.parametrize(
    ("scales", "worth", "params", "said"),
    [
        ([DEGREES] * 4, 1.0, {}, "accelerations there are 57.3 × those here of rad: angles in degrees?"),
        ([1.0] * 4, 1e-3, {}, "what M1, M2 adds is 0.001 × that here: masses in g, or M1, M2 in 0.001 N m?"),
        ([1.0] * 4, 1.0, {"g": 0.0}, "gravity there is 0 × gravity here: gravity absent, or not set?"),
        ([1.0] * 4, 1.0, {"g": -9.81}, "gravity there is -1 × gravity here: gravity of the other sign?"),
    ],
)
def test_a_plant_of_python_control_in_another_unit_is_refused(
    scales: list[float], worth: float, params: dict[str, float], said: str
) -> None:
    python_control.drive(tracking(chain()), plant(chain(), [1.0] * 4))
    with pytest.raises(BridgeError, match=rf"not the same robot: .*{re.escape(said)} Units here are kg, m, s, rad"):
        python_control.drive(tracking(chain()), plant(chain(), scales, worth, **params))


def test_a_state_space_in_mm_and_degrees_is_told() -> None:
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [np.array([[-3.0, 1.0], [1.0, -2.0]]), -0.1 * np.eye(2)]])
    B, S = np.array([[0.0], [0.0], [1.0], [0.0]]), np.diag([1e3, DEGREES] * 2)
    signals = {"states": ["x", "turn", "v_x", "v_turn"], "inputs": ["F"]}
    own = python_control.load(control.ss(A, B, np.eye(4), 0, **signals), units=["m", "rad"])
    other = control.ss(S @ A @ np.linalg.inv(S), S @ B, np.eye(4), 0, **signals)
    found = python_control.match(own, other)
    assert "1000 × those here of m and 57.3 × those here of rad: lengths in mm, angles in degrees?" in found.units
    assert python_control.match(own, control.ss(A, B, np.eye(4), 0, **signals)).same


def test_a_mass_matrix_in_other_units_than_its_system_is_told() -> None:
    M, K, S = np.diag([2.0, 0.1]), np.array([[300.0, 1.0], [1.0, 2.0]]), np.diag([1e3, DEGREES])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-S @ np.linalg.solve(M, K) @ np.linalg.inv(S), np.zeros((2, 2))]])
    system = control.ss(A, np.eye(4)[:, 2:], np.eye(4), 0, states=["x", "turn", "v_x", "v_turn"], name="odd")
    with pytest.raises(BridgeError, match="it is with lengths in mm, angles in degrees in the system: write it in the"):
        python_control.load(system, mass_matrix=M, units=["m", "rad"])
    with pytest.raises(BridgeError, match="it may be another mass matrix"):
        python_control.load(system, mass_matrix=M)
    with pytest.raises(BridgeError, match="it may be another mass matrix"):
        python_control.load(system, mass_matrix=np.array([[2.0, 0.3], [0.3, 0.1]]), units=["m", "rad"])


def test_another_plant_of_python_control_is_no_other_unit() -> None:
    found = python_control.match(chain(), plant(chain(), [1.0] * 4, m1=3.3))
    assert not found.same
    assert found.units == ""
    mixed = python_control.match(chain(), plant(chain(), [DEGREES, DEGREES, 1.0, 1.0]))
    assert "the rate of q1 is" in str(mixed)
    assert "57.3 times as much: is it given in the unit of its velocity?" in str(mixed)


def test_what_is_no_plant_of_the_robot_is_refused() -> None:
    with pytest.raises(BridgeError, match=r"not there: q1, q2.*those of the system 'pole': x\[0\], x\[1\]"):
        python_control.match(chain(), control.ss([[0, 1], [-1, 0]], [[0], [1]], np.eye(2), 0, name="pole"))
    with pytest.raises(BridgeError, match=r"has dt = 0.01: compare the plant in continuous time"):
        python_control.match(chain(), python_control.export(chain(), dt=0.01))
    with pytest.raises(BridgeError, match="a system of python-control, got Robot"):
        python_control.match(chain(), chain())  # pyright: ignore[reportArgumentType]
