"""Robots as bodies of PyBullet, and whether both are the same."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from erugin.bridges import pybullet as bridge
from erugin.bridges.pybullet.body import BulletBody
from erugin.bridges.pybullet.client import quiet, world
from erugin.bridges.pybullet.match import dynamics
from erugin.robots import Link, Robot, TelescopicLink, exoskeleton, load_urdf, mechanism, planar_manipulator
from erugin.robots.examples.arms import example_file
from erugin.symbolic import BridgeError, BridgeWarning, MissingPackageError

from ...support.simulator_cases import ROBOTS, cart, chain, floating, panda, start, tracking
from ...support.urdf import load_quietly

pybullet: Any = pytest.importorskip("pybullet")  # it has no wheels for Python 3.12 and later

# Which has no wheels for Python 3.12 and later.


STEP = 1e-3


@pytest.fixture(name="client")
def _client() -> Iterator[int]:
    with world() as client:
        yield client


def loaded(path: Path, client: int, **given: object) -> int:
    """A file in a world, as a user would load it."""
    with quiet():
        body: int = pybullet.loadURDF(
            str(path), flags=pybullet.URDF_USE_INERTIA_FROM_FILE, physicsClientId=client, **given
        )
    pybullet.setGravity(0.0, 0.0, -9.81, client)
    return body


@pytest.mark.parametrize("make", ROBOTS.values(), ids=ROBOTS)
def test_a_robot_in_a_world_is_the_same_robot(make: Callable[[], Robot], client: int) -> None:
    robot = make()
    found = bridge.match(robot, bridge.spawn(robot, client=client), client=client).check(1e-9)
    assert 0.0 <= found.mass < 1e-12
    assert found.bias < 1e-12
    assert found.same


@pytest.mark.parametrize("make", ROBOTS.values(), ids=ROBOTS)
def test_a_state_is_read_as_it_was_written(make: Callable[[], Robot], client: int) -> None:
    robot = make()
    body = BulletBody.of(robot, bridge.spawn(robot, client=client), client=client)
    q, v = start(robot)
    body.write(*body.states.to_model(q, v))
    read = body.states.from_model(*body.read())
    np.testing.assert_allclose(read[0], q, atol=1e-14)
    np.testing.assert_allclose(read[1], v, atol=1e-14)


@pytest.mark.parametrize("make", ROBOTS.values(), ids=ROBOTS)
def test_a_step_of_pybullet_is_a_semi_implicit_euler_step_of_the_robots_own_equations(
    make: Callable[[], Robot], client: int
) -> None:
    robot = make()
    body = BulletBody.of(robot, bridge.spawn(robot, client=client), client=client)
    body.disable_defaults()
    pybullet.setTimeStep(STEP, client)
    q, v = start(robot)
    # More than the efforts that files allow: nothing here limits them.
    R = 150.0 * np.cos(np.arange(robot.coordinates.nv, dtype=float))
    q_before, v_before = body.states.to_model(q, v)
    body.write(q_before, v_before)
    body.apply_force(body.states.force_to_model(q, R))
    pybullet.stepSimulation(client)
    q_after, v_after = body.read()
    M, h = robot.evaluate(robot.mass_matrix, q=q), robot.evaluate(robot.bias, q=q, v=v)
    a = np.linalg.solve(M, R - h)
    rates = body.states.velocity_jacobian(q) @ a + body.states.velocity_bias(q, v)
    first = 6 if body.floats else 0
    np.testing.assert_allclose((v_after - v_before)[first:], STEP * rates[first:], atol=1e-10)
    at = 7 if body.floats else 0
    np.testing.assert_allclose((q_after - q_before)[at:], STEP * v_after[first:], atol=1e-14)
    if body.floats:
        np.testing.assert_allclose((v_after - v_before)[3:6], STEP * rates[3:6], atol=1e-10)


def test_dynamics_are_those_of_a_step_where_the_base_is_turned_and_held(client: int) -> None:
    robot = load_quietly(example_file("panda.urdf"))
    number = loaded(
        example_file("panda.urdf"), client, basePosition=[1, 2, 3], baseOrientation=[0.5, 0.5, 0.5, 0.5], useFixedBase=1
    )
    body = BulletBody.of(robot, number, client=client)
    body.disable_defaults()
    pybullet.setTimeStep(STEP, client)
    # Within the limits of the file, which act here.
    q, v = (robot.limits.lower + robot.limits.upper) / 2, start(robot)[1]
    M, h = dynamics(body, q, v)
    body.write(q, v)
    force = np.cos(np.arange(9.0))
    body.apply_force(force)
    pybullet.stepSimulation(client)
    np.testing.assert_allclose(body.read()[1] - v, STEP * np.linalg.solve(M, force - h), atol=1e-11)
    assert pybullet.getPhysicsEngineParameters(client)["gravityAccelerationZ"] == -9.81
    assert not bridge.match(robot, number, client=client).same


def test_a_file_that_is_loaded_as_it_stands_is_the_same_but_for_rounding(client: int) -> None:
    robot = load_quietly(example_file("panda.urdf"))
    found = bridge.match(robot, loaded(example_file("panda.urdf"), client, useFixedBase=1), client=client)
    assert found.same
    assert found.mass > 1e-12


def test_inertias_that_pybullet_makes_up_are_reported_by_body(client: int) -> None:
    robot = load_quietly(example_file("panda.urdf"))
    with quiet():
        number = pybullet.loadURDF(str(example_file("panda.urdf")), useFixedBase=1, physicsClientId=client)
    with pytest.raises(
        BridgeError, match=r"'panda_joint1' \('panda_link1'\) have principal moments \(0.0085.* in the model.*M\["
    ):
        bridge.match(robot, number, client=client).check()


def test_values_of_parameters_are_exported(client: int) -> None:
    robot, values = chain(), {"m2": 4.0, "l1": 0.9, "g": 3.7}
    number = bridge.spawn(robot, client=client, p=values)
    assert bridge.match(robot, number, client=client, p=values).same
    found = bridge.match(robot, number, client=client)
    assert not found.same
    assert bridge.match(robot, number, client=client, p=values | {"m2": 4.1}).mass > 1e-3


def test_a_written_file_is_the_robot(tmp_path: Path, client: int) -> None:
    file = tmp_path / "arm.urdf"
    text = bridge.export(panda(), file)
    assert file.read_text(encoding="utf-8") == text
    again = bridge.load(file)
    assert again.limits.lower.tolist() == panda().limits.lower.tolist()
    number = loaded(file, client, useFixedBase=1)
    assert bridge.match(panda(), number, client=client).check().mass < 1e-12
    assert bridge.match(again, number, client=client).same
    assert not list(tmp_path.glob(".arm*"))


def test_limits_of_joints_act_where_they_are_kept_and_nowhere_else(client: int) -> None:
    robot = panda()
    bodies = [
        BulletBody.of(robot, bridge.spawn(robot, client=client, limits=kept), client=client) for kept in (True, False)
    ]
    pybullet.setTimeStep(STEP, client)
    beyond = np.where(np.isfinite(robot.limits.upper), robot.limits.upper + 0.3, 0.0)
    for body in bodies:
        body.disable_defaults()
        body.write(beyond, np.zeros(7))
    pybullet.stepSimulation(client)
    (_, pushed), (_, free) = (body.read() for body in bodies)
    a = np.linalg.solve(
        robot.evaluate(robot.mass_matrix, q=beyond), -robot.evaluate(robot.bias, q=beyond, v=np.zeros(7))
    )
    np.testing.assert_allclose(free, STEP * a, atol=1e-12)
    assert np.abs(pushed - STEP * a).max() > 0.01


def test_what_pybullet_does_by_itself_changes_the_motion_until_it_is_switched_off(client: int) -> None:
    robot = chain()
    number = bridge.spawn(robot, client=client)
    body = BulletBody.of(robot, number, client=client)
    pybullet.setTimeStep(STEP, client)
    q, v = start(robot)
    a = np.linalg.solve(robot.evaluate(robot.mass_matrix, q=q), -robot.evaluate(robot.bias, q=q, v=v))
    left: list[float] = []
    for damping in ("motors too", None, 0.0):
        if not isinstance(damping, str):
            body.disable_defaults(damping)
        body.write(q, v)
        pybullet.stepSimulation(client)
        left.append(float(np.abs(body.read()[1] - v - STEP * a).max()))
    motors, damped, freed = left
    assert motors > 0.01
    assert 1e-7 < damped < 1e-3
    assert freed < 1e-14


def test_joints_that_do_not_match_are_listed_on_both_sides(client: int) -> None:
    number = bridge.spawn(chain(), client=client)
    with pytest.raises(BridgeError, match=r"missing: panda_joint1.*those of PyBullet's body 0: q1, q2"):
        bridge.match(panda(), number, client=client)
    with pytest.raises(BridgeError, match=r"floating robot floats, but that of body 0 is fixed.*useFixedBase=False"):
        bridge.match(floating(), number, client=client)
    assert any(
        "'q3' moves in the model" in note for note in bridge.match(chain(2), _three(client), client=client).notes
    )


def test_joints_may_have_other_names_there(tmp_path: Path, client: int) -> None:
    robot, file = chain(), tmp_path / "arm.urdf"
    text = bridge.export(robot).replace('"q1"', '"shoulder"').replace('"q2"', '"elbow"')
    file.write_text(text, encoding="utf-8")
    number = loaded(file, client, useFixedBase=1)
    pybullet.setGravity(0.0, -9.81, 0.0, client)
    found = bridge.match(robot, number, client=client, names={"q1": "shoulder", "q2": "elbow"})
    assert found.mass < 1e-12
    assert found.bias < 1e-12


def test_a_world_or_a_body_that_is_not_there_is_refused(client: int) -> None:
    with pytest.raises(BridgeError, match=rf"world {client} of PyBullet has no body 7; its bodies: \[\]"):
        bridge.match(chain(), 7, client=client)
    with pytest.raises(BridgeError, match="has no world 900"):
        bridge.match(chain(), 0, client=900)


def test_robots_that_pybullet_cannot_have_are_refused(tmp_path: Path) -> None:
    links = [Link(0.3, 1.0, 0.15, 0.01), Link(0.8, 2.0, 0.4, 0.1), Link(0.6, 1.5, 0.3, 0.05)]
    loop = mechanism(planar_manipulator(links), [("tip", (0.9, 0.1))])
    with pytest.raises(BridgeError, match=r"natural constraints \(.*tip.*createConstraint"):
        bridge.export(loop)
    with pytest.raises(BridgeError, match="joint 'plane' is planar"):
        bridge.export(cart())
    leg = exoskeleton([TelescopicLink(1.4, 0.06, 0.45, 0.0, 0.8)])
    with pytest.raises(BridgeError, match=r"fraction of a joint .*require mimic joints"):
        bridge.export(leg)
    assert not list(tmp_path.iterdir())


def test_dry_friction_is_reported_and_is_a_difference(tmp_path: Path, client: int) -> None:
    file = tmp_path / "rubbing.urdf"
    file.write_text(
        '<robot name="rubbing"><link name="root"/><link name="bar"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>'
        '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>'
        '<joint name="pivot" type="continuous"><parent link="root"/><child link="bar"/><axis xyz="0 1 0"/>'
        '<dynamics damping="0.3" friction="0.7"/></joint></robot>'
    )
    robot = load_urdf(file)
    with pytest.warns(BridgeWarning, match="leaves out the dry friction of pivot"):
        number = bridge.spawn(robot, client=client)
    found = bridge.match(robot, number, client=client)
    assert found.mass < 1e-12
    assert "h[pivot]" in found.difference()


def test_without_pybullet_the_error_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pybullet", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'erugin\[pybullet\]'"):
        bridge.spawn(chain())


def test_nothing_is_written_on_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with world() as client:
        bridge.spawn(panda(), client=client)
    print("and what is printed afterwards is seen")
    assert capfd.readouterr() == ("and what is printed afterwards is seen\n", "")
    assert dataclasses.is_dataclass(BulletBody)


def _three(client: int) -> int:
    return bridge.spawn(chain(3), client=client)


def test_differences_of_a_robot_in_a_world_are_reported_by_joint(client: int) -> None:
    robot = floating()
    number = bridge.spawn(robot, client=client, p={"m": 4.0})
    found = bridge.match(robot, number, client=client)
    assert list(found.bodies) == ["free"]
    assert "'free' ('trunk') have 3 kg in the robot and 4 kg in the model" in str(found)


def test_what_is_no_law_and_what_is_no_robot_are_refused(client: int) -> None:
    number = bridge.spawn(chain(), client=client)
    with pytest.raises(BridgeError, match="controller must be a Controller, got Robot"):
        bridge.drive(chain(), number, client=client)  # type: ignore[arg-type]
    with pytest.raises(BridgeError, match="expected a Robot, got <"):
        bridge.export(tracking(chain()))  # type: ignore[arg-type]
