"""Models that cannot be converted to or from MJCF are refused or reported by name."""

from __future__ import annotations

import dataclasses
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest

from erugin.bridges.mujoco import export, load, match
from erugin.robots import Link, Robot, exoskeleton, planar_manipulator, spatial_exoskeleton
from erugin.robots.examples import maxon_re40, motor_driven_arm, turtlebot3_burger
from erugin.symbolic import BridgeError, BridgeWarning, MissingPackageError, ModelError, ParameterError, ShapeError

from ...support.mjcf import HEAVY, LIGHT, LINKS, robot
from ...support.mujoco_versions import TENDON_ARMATURE, TOLD, needs
from ...support.trees import TREES as RANDOM

pytestmark = TOLD

MANY = """
<mujoco model="many">
  <option density="1.2"/>
  <worldbody>
    <body name="a">
      <joint name="a" axis="0 0 1"/><geom size=".1"/><site name="s1"/>
      <body name="w" gravcomp="1">
        <joint name="b" axis="1 0 0" actuatorfrclimited="true" actuatorfrcrange="-1 1"/>
        <geom size=".1" pos=".5 0 0"/><site name="s2" pos=".1 0 0"/>
      </body>
    </body>
    <body name="free"><freejoint name="f"/><geom size=".1"/></body>
    <body name="drifting"><joint type="free" name="g" damping="2"/><geom size=".1"/></body>
  </worldbody>
  <tendon>
    <spatial name="rope" stiffness="3"><site site="s1"/><site site="s2"/></spatial>
    <fixed name="belt" limited="true" range="-1 1"><joint joint="a" coef="1"/><joint joint="b" coef="2"/></fixed>
  </tendon>
  <equality><tendon name="glue" tendon1="rope"/></equality>
  <actuator>
    <position name="servo" joint="a" kp="10"/>
    <velocity name="brake" joint="b" kv="1"/>
    <motor name="uneven" joint="b" ctrllimited="true" ctrlrange="-1 2"/>
    <motor name="pull" tendon="rope"/>
    <general name="slow" joint="a" dyntype="filter" dynprm="0.1"/>
    <motor name="lift" joint="f" gear="0 0 1 0 0 0"/>
  </actuator>
</mujoco>
"""

NAMED = (
    "contacts: its shapes can touch each other",
    "fluid: a medium of density 1.2",
    "gravcomp of w: gravity compensation",
    "actuatorfrcrange of b",
    "joint g: a spring, damping, friction or armature of a floating body",
    "tendon rope: a spatial tendon with a spring",
    "tendon belt: a fixed tendon with a limit",
    "equality glue: a tendon of spatial tendons",
    "actuator servo: it is not a motor",
    "actuator brake: it is not a motor",
    "ctrlrange of uneven: bounds -1 and 2 that are not symmetric",
    "actuator pull: it pulls the spatial tendon 'rope'",
    "actuator slow: it has an internal state",
    "actuator lift: it acts on 'f', which is neither a hinge nor a slide",
)


def test_every_feature_without_a_counterpart_is_named() -> None:
    with pytest.raises(BridgeError, match="a Robot cannot represent all of many") as caught:
        load(MANY)
    for sentence in NAMED:
        assert sentence in str(caught.value)
    # The list of what can be ignored names as many.
    assert str(caught.value).partition("ignore=")[2].count("'") == 2 * len(NAMED)
    assert str(caught.value).endswith("or replace actuators that are not motors by <motor>")


def test_what_is_ignored_is_reported() -> None:
    names = [sentence.partition(":")[0] for sentence in NAMED[:-1]]
    names.append("actuator lift")
    with pytest.warns(BridgeWarning, match="many: left out of the model: contacts: .*equality glue: a tendon"):
        own = load(MANY, ignore=names)
    assert own.input_names == ("uneven",)
    assert not own.natural


def test_names_to_ignore_must_be_those_of_something() -> None:
    with pytest.raises(BridgeError, match=r"ignore= names 'contact', but the features of many .*'contacts', 'fluid'"):
        load(MANY, ignore=["contact"])
    with pytest.raises(BridgeError, match=r"ignore= names 'M1', but the features of planar manipulator .*: none"):
        export(planar_manipulator(LINKS[:2]), ignore=["M1"])


BALL = "<mujoco><worldbody><body name='x'><joint type='ball' name='hip'/><geom size='.1'/></body></worldbody></mujoco>"
STONE = "<mujoco model='stone'><worldbody><geom size='.1'/></worldbody></mujoco>"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (BALL, "a Robot cannot represent ball joints: 'hip' of body 'x'; use three hinges"),
        # It is no use to ignore what else there is.
        (
            MANY.replace("</worldbody>", BALL[19:-21] + "</worldbody>"),
            "ball joints: .*'hip' of body 'x'; use three hinges",
        ),
        (STONE, "stone: the model has no joints"),
        ("<mujoco><worldbody></mujoco>", "the text: MuJoCo cannot read this model: XML parse error"),
        ("<mujoco><worldbody><bdy/></worldbody></mujoco>", "cannot read this model: .*unrecognized element"),
        ("<robot name='x'/>", "this is URDF, not MJCF: load it with erugin.robots.load_urdf"),
        ("<sdf/>", "this is not MJCF, which has the root <mujoco>"),
        ("/nowhere/arm.xml", "/nowhere/arm.xml: the file does not exist"),
    ],
)
def test_bad_sources_are_refused(source: str, message: str) -> None:
    with pytest.raises(BridgeError, match=message):
        load(source)


def test_a_compiled_model_is_read_by_mujoco(tmp_path: Path) -> None:
    model, file = mujoco.MjModel.from_xml_string(export(planar_manipulator(LINKS[:2]))), str(tmp_path / "arm.mjb")
    mujoco.mj_saveModel(model, file, None)
    with pytest.raises(BridgeError, match=r"arm\.mjb: this is not MJCF, .* with mujoco\.MjModel\.from_binary_path"):
        load(file)
    assert match(load(mujoco.MjModel.from_binary_path(file)), model).same


def test_a_source_of_another_kind_is_refused() -> None:
    with pytest.raises(BridgeError, match=r"source must be a mujoco.MjModel, MJCF text or the path of a file, got 3"):
        load(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_armature_across_branches_is_refused() -> None:
    source = """<mujoco><worldbody><body><joint name="a" axis="0 0 1"/><geom size=".1" pos="1 0 0"/></body>
    <body pos="9 0 0"><joint name="b" axis="0 0 1"/><geom size=".1" pos="1 0 0"/></body></worldbody><tendon>
    <fixed name="t" armature="1"><joint joint="a" coef="1"/><joint joint="b" coef="1"/></fixed></tendon></mujoco>"""
    message = re.escape(TENDON_ARMATURE.missing) or "tendon t: a fixed tendon with armature across branches"
    with pytest.raises(BridgeError, match=message):
        load(source, ignore=["contacts"])


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (lambda: motor_driven_arm([Link(1.0, 1.0, 0.5, 0.1)], [maxon_re40(gear_ratio=50.0)]),
         "arm with motors has no tree of bodies: its equations come from energies or expressions"),
        (turtlebot3_burger, "has no tree of bodies"),
        (lambda: spatial_exoskeleton([HEAVY, LIGHT]),
         "'phi2' is measured from the world's axes while its parent turns about another axis"),
        (lambda: RANDOM["floating base"].robot(),
         "'j0' must float in the world's frame, the only one in which MuJoCo has free joints"),
        (lambda: RANDOM["floating beyond a hinge"].robot(), "'j1' must float in the world's frame"),
    ],
)  # fmt: skip
def test_robots_that_are_no_trees_of_such_bodies_are_refused(own: Callable[[], Robot], message: str) -> None:
    with pytest.raises(BridgeError, match=message):
        export(own())


def test_bad_arguments_are_refused() -> None:
    own = planar_manipulator(LINKS[:2])
    with pytest.raises(BridgeError, match=r"integrator must be one of 'Euler', 'RK4', .*got 'leapfrog'"):
        export(own, integrator="leapfrog")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ModelError, match="timestep"):
        export(own, timestep=0.0)
    with pytest.raises(ParameterError, match="unknown parameter 'mass'"):
        export(own, p={"mass": 1.0})
    with pytest.raises(ShapeError, match=r"q0 must have shape \(2,\)"):
        export(own, q0=[0.0])
    with pytest.raises(ShapeError, match=r"solref must have shape \(2,\)"):
        export(own, solref=(0.01,))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(BridgeError, match=r"must have length 1, got \[0.0, 0.0, 0.0, 0.0\]"):
        export(robot("floating base"), q0=np.zeros(9))


@needs(TENDON_ARMATURE)
def test_points_that_are_not_fixed_to_a_body_are_reported() -> None:
    with warnings.catch_warnings(record=True) as reported:
        warnings.simplefilter("always")
        export(exoskeleton([HEAVY, LIGHT], inertia_law="stretched"))
    sentence = "cannot represent: the points center1, center2, which are not fixed"
    assert any(sentence in str(warning.message) for warning in reported)


def test_bounds_that_are_one_number_or_zero_are_reported() -> None:
    with pytest.warns(BridgeWarning, match="the bounds of 'joint1', which are equal, 0; .*bound of input 'u_joint1'"):
        text = export(robot("floating base"))
    assert not mujoco.MjModel.from_xml_string(text).jnt_limited.any()


def test_bounds_of_absolute_angles_are_reported() -> None:
    own = robot("two links, absolute")
    lower, upper = np.array([-1.0, -2.0]), np.array([1.0, 2.0])
    bounded = dataclasses.replace(own, limits=dataclasses.replace(own.limits, lower=lower, upper=upper))
    with pytest.warns(BridgeWarning, match="the bounds of 'q2', an angle that is measured from the world"):
        text = export(bounded)
    assert mujoco.MjModel.from_xml_string(text).jnt_limited.tolist() == [True, False]


def test_a_file_is_not_left_half_written(tmp_path: Path) -> None:
    with pytest.raises(BridgeError):
        export(spatial_exoskeleton([HEAVY, LIGHT]), tmp_path / "body.xml")
    assert not list(tmp_path.iterdir())


def test_without_mujoco_the_error_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingPackageError, match=re.escape("pip install 'erugin[mujoco]'")):
        load("<mujoco/>")
    # Writing needs no MuJoCo.
    assert "<mujoco" in export(planar_manipulator(LINKS[:1]))


def test_an_inertia_that_no_body_has_is_refused() -> None:
    own = robot("UR5")
    with pytest.raises(
        BridgeError, match=r"ur5: body 'elbow_joint': the principal moments are .* greater than the sum"
    ):
        export(own, p={"forearm_link.ixx": 5.0})


def test_a_bound_on_one_side_stays_on_one_side() -> None:
    own = planar_manipulator(LINKS[:2])
    bounds = dataclasses.replace(own.limits, lower=np.array([-0.5, -np.inf]))
    back = load(export(dataclasses.replace(own, limits=bounds)))
    assert back.limits.lower.tolist() == [-0.5, -np.inf]
    assert back.limits.upper.tolist() == [np.inf, np.inf]


def test_speed_limits_are_preserved_although_mujoco_has_none() -> None:
    own = robot("Panda")
    assert np.array_equal(load(export(own)).limits.speed, own.limits.speed)
