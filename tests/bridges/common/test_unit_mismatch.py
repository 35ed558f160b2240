"""Models in other units than kg, m, s and rad are rejected by name, and units suspected only with reason."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from erugin.bridges import mujoco, pinocchio
from erugin.bridges.common.body_tree import MassProperties
from erugin.bridges.common.model_comparison import Match, compare_dynamics
from erugin.bridges.common.state_conversion import PINOCCHIO, StateConversion
from erugin.bridges.common.subtree_inertia import subtree_differences, subtree_unit_mismatch
from erugin.bridges.common.unit_mismatch import range_unit_mismatch
from erugin.controllers import ProgramController
from erugin.robots import Frame, Limits, Link, Robot, load_urdf, planar_manipulator, tree_system
from erugin.robots.tree import Body, Node, Prismatic, Revolute, Tree
from erugin.symbolic import BridgeError, Parameters

from ...support.bridges import ROWS, Into, into_pybullet, parameters
from ...support.mujoco_arm import LINKS, arm, model_of
from ...support.pinocchio_models import export_quietly
from ...support.simulator_cases import cart, chain, floating, panda, tracking
from ...support.urdf import ARM

pybullet: Any = pytest.importorskip("pybullet")  # it has no wheels for Python 3.12 and later

# Which has no wheels for Python 3.12 and later.


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


@pytest.fixture(name="into", params=parameters(*(name for name, row in ROWS.items() if callable(row.units))))
def _into(request: pytest.FixtureRequest) -> Into:
    """Drives a law in the model that a program reads."""
    into = ROWS[request.param].units
    assert callable(into)
    return into


def test_the_same_file_is_the_same_robot(into: Into, law: ProgramController, tmp_path: Path) -> None:
    into(law, UPRIGHT, -9.81, tmp_path)


@pytest.mark.parametrize(
    ("units", "gravity", "message"),
    [
        ({"mass": 1e3}, -9.81, "the model's M is 1000 × the robot's: masses in g?"),
        ({"mass": 1e-3}, -9.81, "the model's M is 0.001 × the robot's: masses in t?"),
        ({"length": 1e3}, -9810.0, "1e+06 × the robot's in turning joints and 1 × in slides: lengths in mm?"),
        ({"length": 1e2}, -9.81, "1e+04 × the robot's in turning joints and 1 × in slides, the model's "
         "gravity is 1 × the robot's: lengths in cm, gravity in m/s²?"),
        ({"length": 1e-3}, -9.81e-3, "1e-06 × the robot's in turning joints and 1 × in slides: lengths in km?"),
        ({"mass": 1e3, "length": 1e3}, -9810.0, "1e+09 × the robot's in turning joints and 1000 × in slides: "
         "lengths in mm, masses in g?"),
        ({"mass": 1e-3, "length": 1e3}, -9810.0, "1000 × the robot's in turning joints and 0.001 × in slides: "
         "lengths in mm, masses in t?"),
        ({"mass": 1e9, "length": 1e3}, -9810.0, "1e+15 × the robot's in turning joints and 1e+09 × in slides: "
         "lengths in mm, masses from a density?"),
        ({"moment": 1e9}, -9.81, "the model's M is 1 × the robot's in the part due to masses and 1e+09 × in that "
         "due to moments of inertia: moments of inertia in g mm²?"),
        ({"mass": 1e3, "moment": 1e7}, -9.81, "masses in g, moments of inertia in g cm²?"),
        ({"length": 1e3, "moment": 1e9}, -9810.0, "lengths in mm, moments of inertia in g mm²?"),
        ({}, -9810.0, "the model's gravity is 1000 × the robot's: gravity in mm/s²?"),
        ({}, -1.0, "the model's gravity is 0.1019 × the robot's: gravity in multiples of 9.81 m/s²?"),
        ({}, 0.0, "the model's gravity is 0 × the robot's: gravity absent, or not set?"),
        ({}, 9.81, "the model's gravity is -1 × the robot's: gravity of the other sign?"),
    ],
)  # fmt: skip
def test_another_unit_is_named(
    into: Into, law: ProgramController, units: Mapping[str, float], gravity: float, message: str, tmp_path: Path
) -> None:
    with pytest.raises(
        BridgeError, match=rf"not the same robot: .*{re.escape(message)} Erugin's units are kg, m, s, rad"
    ):
        into(law, written(UPRIGHT, **units), gravity, tmp_path)


def test_ranges_of_joints_in_degrees_or_mm_are_reported(into: Into, law: ProgramController, tmp_path: Path) -> None:
    with pytest.raises(BridgeError, match=r"the model's joint ranges are 57\.3 × the robot's: angles in degrees\?"):
        into(law, in_degrees(UPRIGHT), -9.81, tmp_path)
    long = UPRIGHT.replace(SLIDE, 'lower="0" upper="800"')
    with pytest.raises(BridgeError, match="the model's joint ranges are 1000 × the robot's: lengths in mm"):
        into(law, long, -9.81, tmp_path)


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
    assert "Erugin's units" not in str(raised.value)


@pytest.mark.parametrize(
    ("units", "message"),
    [
        ({"mass": 1e3}, "the model's masses are 1000 × the robot's and its moments of inertia 1000 ×: masses in g?"),
        (
            {"length": 1e3},
            "the model's masses are 1 × the robot's and its moments of inertia 1e+06 ×: "
            "moments of inertia in kg mm² or lengths",
        ),
    ],
)
def test_a_mass_matrix_that_pybullet_cannot_compute_is_compared_by_its_bodies(
    units: Mapping[str, float], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tilted.urdf"
    file.write_text(PLAIN, encoding="utf-8")
    tilted = tracking(load_urdf(file))
    with pytest.raises(BridgeError, match=rf"the mass matrix of body \d+: .* of their links; {re.escape(message)}"):
        into_pybullet(tilted, written(PLAIN, **units), -9.81, tmp_path)
    assert capfd.readouterr() == ("", "")


def test_an_equal_robot_whose_mass_matrix_pybullet_cannot_compute_is_reported_as_such(tmp_path: Path) -> None:
    heavy, file = written(PLAIN, mass=1e3), tmp_path / "heavy.urdf"
    file.write_text(heavy, encoding="utf-8")
    with pytest.raises(BridgeError, match=r"axes of their links; the masses on its joints are those of the robot$"):
        into_pybullet(tracking(load_urdf(file)), heavy, -9.81, tmp_path)


@pytest.mark.parametrize(
    ("length", "mass", "message"),
    [
        (1e3, 1.0, r"the model's M is 1e\+06 × the robot's.*: lengths in mm"),
        (1.0, 1e3, "1000 × the robot's: masses in g"),
    ],
)
def test_an_export_in_other_units_is_another_robot(length: float, mass: float, message: str) -> None:
    links = [Link(k.length * length, k.mass * mass, k.center * length, k.inertia * mass * length**2) for k in LINKS]
    with pytest.raises(BridgeError, match=message):
        mujoco.match(arm(), model_of(mujoco.export(planar_manipulator(links)))).check()


def scaled_robot(robot: Robot, *, mass: float, length: float, gravity: float) -> Any:  # noqa: ANN401
    """The robot in Pinocchio with other numbers, moments of inertia as they follow."""
    model = export_quietly(robot).model
    for k in range(model.njoints):
        body, place = model.inertias[k], model.jointPlacements[k]
        model.inertias[k] = pin.Inertia(body.mass * mass, body.lever * length, body.inertia * mass * length**2)
        model.jointPlacements[k] = pin.SE3(place.rotation, place.translation * length)
    model.gravity.linear = model.gravity.linear * gravity
    return model


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (panda, "the model's M is 1e+09 × the robot's: lengths in mm, masses in g?"),
        (lambda: chain(3, absolute=True), "the model's M is 1e+09 × the robot's: lengths in mm, masses in g?"),
        (floating, "1e+09 × the robot's in turning joints and 1000 × in slides: lengths in mm, masses in g?"),
        (cart, "1e+09 × the robot's in turning joints and 1000 × in slides: lengths in mm, masses in g?"),
    ],
    ids=["seven joints", "absolute angles", "floating", "planar"],
)
def test_a_model_of_any_joints_in_mm_and_g_is_recognized(make: Callable[[], Robot], message: str) -> None:
    assert message in pinocchio.match(make(), scaled_robot(make(), mass=1e3, length=1e3, gravity=1e3)).units


@pytest.mark.parametrize(("mass", "length"), [(1e3, 1.0), (1e-3, 1e3)], ids=["in g", "in t and mm"])
def test_units_that_turning_joints_cannot_distinguish_are_both_named(mass: float, length: float) -> None:
    """A million times the lengths squared, a thousandth of the masses: M and h are a thousand times these, as in g."""
    found = pinocchio.match(chain(), scaled_robot(chain(), mass=mass, length=length, gravity=length))
    in_g, in_t = (
        "the model's M is 1000 × the robot's: masses in g?",
        "the model's M is 1000 × the robot's: lengths in mm, masses in t?",
    )
    assert found.units.startswith(f"{in_g} or {in_t} Erugin's units")
    # Which of them it is masses tell.
    assert f"{2.0:g} kg in the robot and {2.0 * mass:g} kg in the model" in str(found)


def test_a_sentence_does_not_list_what_all_bodies_have() -> None:
    found = pinocchio.match(panda(), scaled_robot(panda(), mass=1e3, length=1.0, gravity=1.0))
    assert len(found.bodies) == 7
    assert str(found).count("principal moments") == 4
    assert "; 3 more bodies differ: match(...).bodies; M[" in str(found)


def test_gravity_that_is_no_number_is_no_friction() -> None:
    found = pinocchio.match(chain(), scaled_robot(chain(), mass=1.0, length=1.0, gravity=np.nan))
    assert not found.same
    assert "friction" not in str(found)
    assert found.units == ""


DEGREES, EYE = 180.0 / np.pi, np.eye(3)
MASSES = {"": 1.0, "masses in g": 1e3, "masses in t": 1e-3}
LENGTHS = {"": 1.0, "lengths in mm": 1e3, "lengths in cm": 1e2, "lengths in km": 1e-3}
ANGLES = {"": 1.0, "angles in degrees": DEGREES}
GRAVITIES = {"": None, "gravity absent, or not set": 0.0, "gravity of the other sign": -1.0}
MOMENTS = {"": None, "moments of inertia in kg mm²": 1e6, "moments of inertia in g mm²": 1e9}
VALUES = {"cart": 2.0, "load": 1.5, "rod": 0.4, "moment": 0.1, "end": 0.7, "reach": 0.5, "tip": 0.05, "g": 9.81}


@functools.cache
def crane() -> Robot:
    """A cart that carries a rod of which another slides out, all of whose numbers are parameters."""
    p = Parameters.declare(VALUES)
    one = ca.SX(ca.DM.eye(3))
    nodes = (
        Node(name="x", parent=-1, placement=Frame.at(), joint=Prismatic((1.0, 0.0, 0.0)),
             bodies=(Body(name="cart", mass=p["cart"], center=ca.SX(ca.DM.zeros(3)), inertia=one),)),
        Node(name="swing", parent=0, placement=Frame.at(), joint=Revolute((0.0, 1.0, 0.0)),
             bodies=(Body(name="rod", mass=p["load"], center=Frame.at(p["rod"]).position, inertia=p["moment"] * one),)),
        Node(name="end", parent=1, placement=Frame.at(p["reach"]), joint=Prismatic((1.0, 0.0, 0.0)),
             bodies=(Body(name="tip", mass=p["end"], center=Frame.at(p["rod"]).position, inertia=p["tip"] * one),)),
    )  # fmt: skip
    return tree_system(Tree(nodes, ca.vertcat(0, 0, -p["g"])), parameters=p, name="crane")


def matched(p: Mapping[str, float], *, angle: float = 1.0, noise: float = 0.0) -> Match:
    """The crane beside one with other numbers, and with angles in other units; entries of M rounded at random."""
    robot, rng = crane(), np.random.default_rng(1)
    slots = {name: (i, i) for i, name in enumerate(robot.coordinates.names)}
    states, back = StateConversion(robot, PINOCCHIO, slots, (3, 3)), np.array([1.0, angle, 1.0])

    def there(q: Array, v: Array) -> tuple[Array, Array]:
        M = robot.evaluate(robot.mass_matrix, q=q / back, p=p) / np.outer(back, back)
        rounded = 1.0 + noise * rng.uniform(-1.0, 1.0, M.shape)
        return M * (rounded + rounded.T) / 2.0, robot.evaluate(robot.bias, q=q / back, v=v / back, p=p) / back

    return compare_dynamics(robot, there, states, names={name: name for name in slots})


def rewritten(
    mass: float, length: float, moment: float | None = None, gravity: float | None = None
) -> dict[str, float]:
    """All numbers of the crane in other units."""
    own = {"cart": mass, "load": mass, "end": mass, "rod": length, "reach": length, "g": length}
    turned = mass * length**2 if moment is None else moment
    found = {name: value * own.get(name, turned) for name, value in VALUES.items()}
    return found if gravity is None else found | {"g": gravity * found["g"]}


@given(
    st.sampled_from(sorted(MASSES)),
    st.sampled_from(sorted(LENGTHS)),
    st.sampled_from(sorted(ANGLES)),
    st.sampled_from(sorted(GRAVITIES)),
    st.sampled_from([0.0, 1e-4]),
)
def test_all_units_that_are_odd_are_named_and_no_others(
    mass: str, length: str, angle: str, gravity: str, noise: float
) -> None:
    p = rewritten(MASSES[mass], LENGTHS[length], gravity=GRAVITIES[gravity])
    found = matched(p, angle=ANGLES[angle], noise=noise)
    odd = [word for word in (length, mass, angle, gravity) if word]
    if not odd:
        assert found.units == ""
        return
    assert not found.same
    assert found.units.partition("? ")[0].rpartition(": ")[2] == ", ".join(odd)
    assert found.units in str(found)


@settings(max_examples=20)
@given(st.sampled_from(sorted(MASSES)), st.sampled_from(["", "lengths in cm"]), st.sampled_from(sorted(MOMENTS)[1:]))
def test_moments_of_inertia_in_another_unit_are_named(mass: str, length: str, moment: str) -> None:
    value = MOMENTS[moment]
    assert value is not None
    assume(value != MASSES[mass] * LENGTHS[length] ** 2)
    found = matched(rewritten(MASSES[mass], LENGTHS[length], moment=value))
    odd = [word for word in (length, mass, moment) if word]
    assert found.units.partition("? ")[0].rpartition(": ")[2] == ", ".join(odd)


factors = st.floats(-6.0, 6.0).map(lambda exponent: 10.0**exponent)


@given(st.fixed_dictionaries(dict.fromkeys(("cart", "load", "rod", "moment", "end", "reach", "tip"), factors)))
def test_numbers_at_random_are_no_units(scales: dict[str, float]) -> None:
    """Whatever the masses and lengths are: of two masses in one unit neither is twice as large as it was."""
    assume(abs(np.log(scales["load"] / scales["end"])) > 0.7)
    assume(abs(np.log(scales["rod"] / scales["reach"])) > 0.7)
    found = matched({name: value * scales.get(name, 1.0) for name, value in VALUES.items()})
    assert not found.same
    assert found.units == ""


@given(st.floats(0.3, 3.0), st.floats(0.3, 3.0))
def test_another_gravity_or_mass_is_no_unit(gravity: float, mass: float) -> None:
    assume(abs(gravity - 1.0) > 0.01)
    found = matched({**VALUES, "g": gravity * 9.81, "cart": mass * 2.0})
    assert not found.same
    assert found.units == ""


def test_a_model_that_is_not_a_number_has_no_units() -> None:
    robot = crane()
    slots = {name: (i, i) for i, name in enumerate(robot.coordinates.names)}
    states = StateConversion(robot, PINOCCHIO, slots, (3, 3))
    found = compare_dynamics(robot, lambda q, v: (np.full((3, 3), np.nan), np.zeros(3)), states, names={})
    assert found.units == ""
    assert not found.same


def test_masses_that_are_not_numbers_are_reported() -> None:
    theirs = {
        "swing": MassProperties(np.nan, np.zeros(3), np.full((3, 3), np.nan)),
        "end": MassProperties(0.7, np.zeros(3), 0.05 * EYE),
    }
    assert subtree_differences(crane(), theirs) == {
        "swing": "the bodies on joint 'swing' ('rod') have 1.5 kg in the robot and nan kg in the model; principal "
        "moments (0.1, 0.1, 0.1) kg m² in the robot and (nan, nan, nan) kg m² in the model"
    }
    assert subtree_unit_mismatch(crane(), theirs) == ""


def test_ranges_that_differ_otherwise_are_no_degrees() -> None:
    bounds = np.array([-np.inf, -1.0, 0.0]), np.array([2.0, 1.5, np.inf])
    limits = Limits(*bounds, speed=np.full(3, np.inf), effort=np.full(3, np.inf))
    robot = dataclasses.replace(crane(), limits=limits)
    there = {"x": (-np.inf, 2.0), "swing": (-DEGREES, 1.5 * DEGREES), "end": (0.0, 3.0)}
    assert "57.3 × the robot's: angles in degrees" in range_unit_mismatch(robot, there)
    assert "lengths in mm" in range_unit_mismatch(robot, {**there, "x": (-np.inf, 2000.0)})
    assert range_unit_mismatch(robot, {**there, "swing": (-1.0, 1.5)}) == ""
    assert range_unit_mismatch(robot, {**there, "swing": (-DEGREES, 1.5)}) == ""
    assert range_unit_mismatch(robot, {}) == ""


@pytest.mark.parametrize("g", [0.0, 9.81])
@pytest.mark.parametrize("share", [0.0, -1.0, 1e3])
def test_forces_of_springs_are_no_gravity(share: float, g: float) -> None:
    """An absent, stiffer or opposite spring is not mistaken for gravity; gravity beside one is reported."""
    robot = crane()
    assert robot.tree is not None
    sprung = tree_system(robot.tree, parameters=robot.parameters, V=15.0 * robot.q[2] ** 2, name="sprung")
    slots = {name: (i, i) for i, name in enumerate(robot.coordinates.names)}
    states = StateConversion(sprung, PINOCCHIO, slots, (3, 3))

    def beside(stiffness: float, gravity: float) -> str:
        def there(q: Array, v: Array) -> tuple[Array, Array]:
            p = VALUES | {"g": gravity}
            h = robot.evaluate(robot.bias, q=q, v=v, p=p) + np.array([0.0, 0.0, 30.0 * stiffness * q[2]])
            return robot.evaluate(robot.mass_matrix, q=q, p=p), h

        return compare_dynamics(sprung, there, states, names={}, p={"g": g}).units

    assert beside(share, g) == ""
    assert beside(1.0, g) == ""
    assert ("the model's gravity is" in beside(1.0, share * g)) == (g > 0.0)
