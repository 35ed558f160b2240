"""Differences between a robot and a MuJoCo model by name and number, also for real arms."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

import casadi as ca
import mujoco
import numpy as np
import pytest

from erugin.bridges.mujoco import drive, export, load, match
from erugin.bridges.mujoco.warning_monitor import without_warning_log
from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import (
    Link,
    Robot,
    TelescopicLink,
    assemble,
    exoskeleton,
    lagrangian_system,
    load_urdf,
    planar_manipulator,
)
from erugin.robots.examples import bricard_mechanism, five_bar, four_bar, franka_panda
from erugin.robots.examples.arms import example_file
from erugin.scenarios import simulate as simulate_here
from erugin.symbolic import NO_PARAMETERS, BridgeError, BridgeWarning, ModelError

from ...support.mujoco_arm import ARM, LINKS, arm, model_of, started, swinging
from ...support.mujoco_versions import GROUPS, LIFTED, TENDON_ARMATURE, TOLD, has, needs

pytestmark = TOLD


def four_bars() -> Robot:
    """A loop in the plane."""
    crank, coupler, rocker = (Link(length, 2.0 * length, length / 2, length**3 / 6) for length in (0.3, 0.8, 0.6))
    return four_bar(crank, coupler, rocker, ground=(0.7, 0.0))


def five_bars() -> Robot:
    """Another one."""
    short, long = Link(0.3, 0.6, 0.15, 0.005), Link(0.5, 1.0, 0.25, 0.02)
    return five_bar(short, long, short, long, ground=(0.4, 0.0))


def telescopic() -> Robot:
    """Bodies that a share of a length carries."""
    return exoskeleton([TelescopicLink(5.0, 0.1, 0.4, 2000.0, 0.5), TelescopicLink(4.0, 0.08, 0.45, 1500.0, 0.4)])


@pytest.mark.parametrize("make", [arm, four_bars, five_bars, telescopic, bricard_mechanism, franka_panda])
def test_what_is_exported_is_the_same_robot(make: Callable[[], Robot]) -> None:
    robot = make()
    with needs(TENDON_ARMATURE if make is telescopic else None):
        found = match(robot, model_of(export(robot)))
        assert found.same, str(found)
        assert found.mass < 1e-12
        assert found.bias < 1e-12


def test_absolute_angles_are_the_same_robot_as_a_model_written_by_hand() -> None:
    for angles in ("relative", "absolute"):
        robot = planar_manipulator(LINKS, angles=angles)
        found = match(robot, model_of(ARM)).check()
        assert dict(found.names) == {name: f"q{i + 1}" for i, name in enumerate(robot.coordinates.names)}


def changed(**fields: float) -> mujoco.MjModel:
    """The arm with fields of its compiled model set."""
    model = model_of(ARM)
    for name, value in fields.items():
        getattr(model, name)[:] = value
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (model_of(ARM.replace('mass="1.8"', 'mass="1.81"')), r"'q2' \(body 'fore'\) have mass 1\.8"),
        (model_of(ARM.replace("0.05 0.05 0.05", "0.05 0.05 0.06")), r"'q2' .* moment of inertia 0\.05 .* 0\.06 "),
        (model_of(ARM.replace('pos="0.2 0 0"', 'pos="0.21 0 0"')), r"M\[q\d, q\d\] is .* in the robot and .* in the"),
        (model_of(ARM.replace("-9.81", "-1.62")), r"gravity is \[0\.0, -9\.81, 0\.0\] m/s² in the robot and "),
        (changed(dof_armature=0.01), r"the model has armature: q1 0\.01, q2 0\.01"),
        (changed(dof_damping=0.3), r"the model has damping: q1 0\.3, q2 0\.3"),
        (changed(dof_frictionloss=0.2), r"the model has dry friction \(frictionloss\): q1 0\.2, q2 0\.2"),
        (model_of(ARM.replace('name="fore"', 'name="fore" gravcomp="1"')), r"the gravity of fore \(gravcomp\)"),
        (changed(jnt_stiffness=2.0), r"the model has springs \(stiffness\): q1 2, q2 2"),
        (model_of(ARM.replace('gravity="0', 'viscosity="3" gravity="0')), r"M|h\[q\d\]"),
        (model_of(ARM.replace("<inertial", '<body><joint name="flap"/><inertial pos="0 0 0" mass="1" '
         'diaginertia="1 1 1"/></body><inertial', 1)), "joints on the same bodies that the robot lacks: flap"),
        (model_of(ARM.replace('axis="0 0 1"', 'axis="0 0 1" limited="true" range="-1 1"', 1)),
         r"joint 'q1' has limits \[-inf, inf\] in the robot and \[-1, 1\] in the model"),
        (model_of(ARM.replace("<actuator>", '<equality><connect body1="fore" anchor="0.5 0 0"/></equality><actuator>')),
         r"equality constraints that the robot lacks: 0 \(connect\)"),
    ],
)  # fmt: skip
def test_a_difference_is_reported(model: mujoco.MjModel, message: str) -> None:
    found = match(arm(), model)
    assert not found.same
    with pytest.raises(BridgeError, match=message):
        found.check()


@needs(LIFTED)
def test_gravity_that_drives_compensate_is_reported() -> None:
    lifted = ARM.replace("axis", 'actuatorgravcomp="true" axis').replace('"fore"', '"fore" gravcomp="1"')
    with pytest.raises(BridgeError, match=r"the gravity of fore \(gravcomp\)"):
        match(arm(), model_of(lifted)).check()


def test_a_robot_without_a_tree_is_compared_by_its_coordinates() -> None:
    text = """
    <mujoco model="crane"><compiler angle="radian" inertiafromgeom="false"/><option gravity="0 -9.81 0"/><worldbody>
      <body name="cart"><joint name="x" type="slide" axis="1 0 0"/>
        <inertial pos="0 0 0" mass="4" diaginertia="1 1 1"/>
        <body name="load"><joint name="angle" axis="0 0 1"/>
          <inertial pos="0 -0.7 0" mass="1.5" diaginertia="0.2 0.2 0.2"/></body></body>
    </worldbody></mujoco>"""
    q, v = ca.vertcat(ca.SX.sym("x"), ca.SX.sym("angle")), ca.vertcat(ca.SX.sym("v_x"), ca.SX.sym("v_angle"))
    x_rate, rate, place = v[0] + 0.7 * ca.cos(q[1]) * v[1], v[1], ca.sin(q[1])
    speed = x_rate**2 + (0.7 * place * rate) ** 2
    T = 2.0 * v[0] ** 2 + 0.75 * speed + 0.1 * rate**2
    V = -1.5 * 9.81 * 0.7 * ca.cos(q[1])
    crane = lagrangian_system(q=q, v=v, p=NO_PARAMETERS, T=T, V=V)
    assert match(crane, model_of(text)).check().mass < 1e-14
    with pytest.raises(BridgeError, match=r"M\[angle, angle\] is 0\.935 in the robot and 0\.9351 in the model"):
        match(crane, model_of(text.replace("0.2 0.2 0.2", "0.2 0.2 0.2001"))).check()


def test_degrees_of_a_file_are_compiled_away() -> None:
    text = ARM.replace('angle="radian"', 'angle="degree"')
    assert match(arm(), model_of(text)).same


def test_joints_that_do_not_match_are_listed_on_both_sides() -> None:
    with pytest.raises(BridgeError, match=r"missing: q2\. The robot's: q1, q2; those of .*'arm': q1, elbow"):
        match(arm(), model_of(ARM.replace('"q2"', '"elbow"')))
    with pytest.raises(BridgeError, match=r"missing: q3\. The robot's: q1, q2, q3; .*: q1, q2"):
        match(planar_manipulator([*LINKS, LINKS[0]]), model_of(ARM))


def test_a_slide_is_no_hinge() -> None:
    text = ARM.replace('name="q2" axis', 'name="q2" type="slide" axis')
    with pytest.raises(BridgeError, match=r"'q2' is a hinge joint in .* and 'q2' is a slide joint"):
        match(arm(), model_of(text))


@pytest.mark.parametrize("jacobian", ["dense", "sparse"])
def test_loops_that_connect_other_points_are_reported(jacobian: str) -> None:
    robot = four_bars()
    q = assemble(robot, [0.8, 0.5, 1.6]).q
    text = export(robot, q0=q).replace("<option ", f'<option jacobian="{jacobian}" ')
    assert match(robot, model_of(text), q=q).same
    opened = model_of(re.sub(r"<equality>.*</equality>", "", text, flags=re.DOTALL))
    with pytest.raises(BridgeError, match="natural constraints that the model lacks: coupler pin"):
        match(robot, opened, q=q).check()
    moved = model_of(text)
    is_weld = moved.eq_type[0] == mujoco.mjtEq.mjEQ_WELD  # as an older MuJoCo is given it
    (moved.eq_data[0, :3] if is_weld else moved.site_pos[int(moved.eq_obj2id[0])])[0] += 0.05
    with pytest.raises(
        BridgeError,
        match=r"coupler pin of the robot are closed, coupler pin \((connect|weld)\) of the model are open by",
    ):
        match(robot, moved, q=q).check()
    locked = model_of(text.replace("</equality>", '<joint name="lock" joint1="crank"/></equality>'))
    with pytest.raises(BridgeError, match=r"leave 1 of 3 velocities free, .*, lock \(joint\) of the model leave 0"):
        match(robot, locked, q=q).check()


def test_dry_friction_of_a_loaded_model_is_its_own() -> None:
    text = ARM.replace('axis="0 0 1"', 'axis="0 0 1" frictionloss="0.3" damping="0.1" armature="0.02"')
    assert match(load(text), model_of(text)).same
    assert not match(arm(), model_of(text)).same


def test_contacts_take_no_part_and_no_memory() -> None:
    # Where contacts find no room MuJoCo raises an exception of its own; before 3.9 it warns.
    bodies = "".join(
        f'<body pos="{0.01 * k} 0 0"><joint name="a{k}" axis="0 1 0"/><joint name="b{k}" axis="1 0 0"/>'
        '<geom type="box" size=".1 .1 .1"/></body>'
        for k in range(12)
    )
    model = model_of(f'<mujoco><size memory="20K"/><worldbody>{bodies}</worldbody></mujoco>')
    data = mujoco.MjData(model)
    with pytest.raises(mujoco.FatalError) if has("3.9") else without_warning_log(mujoco):
        mujoco.mj_forward(model, data)
    assert has("3.9") or data.warning.number[mujoco.mjtWarning.mjWARN_CONTACTFULL]
    with pytest.warns(BridgeWarning, match="contacts"):
        own = load(model, ignore=["contacts"])
    assert match(own, model).same


def test_the_least_inertia_that_mujoco_demands_is_no_difference() -> None:
    own = planar_manipulator([Link.point_mass(0.6, 2.0), Link.point_mass(0.5, 1.0)])
    message = str(match(own, model_of(export(own).replace('mass="1"', 'mass="1.5"'))))
    assert "the bodies on joint 'q2' (body 'q2') have mass 1 kg in the robot and 1.5 kg in the model" in message
    assert "moment of inertia" not in message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</actuator>", '<position name="s" joint="q1" kp="9"/></actuator>', "'s' is a position or velocity servo"),
        ("</actuator>", '<velocity name="s" joint="q1" kv="9"/></actuator>', "'s' is a position or velocity servo"),
        (
            "</actuator>",
            '<intvelocity name="s" joint="q1" kp="1" actrange="-1 1"/></actuator>',
            "'s' has internal dynamics",
        ),
        (
            "</actuator>",
            '<damper name="s" joint="q1" kv="1" ctrlrange="0 1"/></actuator>',
            "'s' is an actuator whose force",
        ),
        ("</actuator>", '<motor name="more" joint="q1"/></actuator>', "motors first, more are redundant"),
        ('<motor name="first" joint="q1" gear="2.5"/>', "", "no motor of the MuJoCo model drives q1, .* law's M1 need"),
        ('gear="2.5"', 'gear="0"', "motors first have gear or gain zero"),
        ('integrator="RK4"/>', 'integrator="RK4"><flag actuation="disable"/></option>', "actuation disabled"),
    ],
)
def test_drives_that_are_no_motors_are_refused(old: str, new: str, message: str) -> None:
    assert old in ARM
    with pytest.raises(BridgeError, match=message):
        drive(swinging(arm()), model_of(ARM.replace(old, new)))


def test_servos_act_whatever_way_the_law_takes_unless_they_are_disabled() -> None:
    servo = ARM.replace("</actuator>", '<position name="s" joint="q1" kp="9" group="3"/></actuator>')
    with pytest.raises(BridgeError, match="'s' is a position or velocity servo"):
        drive(swinging(arm()), model_of(servo), apply="qfrc_applied")
    off = servo.replace('integrator="RK4"/>', 'integrator="RK4" actuatorgroupdisable="3"/>')
    with needs(GROUPS):
        drive(swinging(arm()), model_of(off))


def test_other_things_than_a_law_and_a_model_are_refused() -> None:
    law = swinging(arm())
    with pytest.raises(ModelError, match=r"controller must be a Controller, got Robot; .*ProgramController\(program\)"):
        drive(arm(), model_of(ARM))  # type: ignore[arg-type]
    with pytest.raises(BridgeError, match=r"model must be a mujoco\.MjModel, got str"):
        drive(law, ARM)  # type: ignore[arg-type]
    with pytest.raises(BridgeError, match="apply must be 'auto', 'ctrl' or 'qfrc_applied', got 'torque'"):
        drive(law, model_of(ARM), apply="torque")  # type: ignore[arg-type]


def test_the_parameters_of_the_law_are_those_that_are_compared() -> None:
    law = swinging(arm())
    heavy = model_of(ARM.replace('mass="1.8"', 'mass="1.9"'))
    drive(law, heavy, p={"m2": 1.9})
    assert np.isclose(match(arm(), heavy, p={"m2": 1.9}).mass, 0.0, atol=1e-14)


COMPILER = '<mujoco><compiler fusestatic="false" balanceinertia="false"/></mujoco>'


def read_by_both(name: str) -> tuple[Robot, mujoco.MjModel]:
    """The arm here, and as MuJoCo's own reader of URDF has it, without pictures."""
    path = example_file(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of attributes that URDF does not know
        robot = load_urdf(path)
    text = re.sub(r"<(visual|collision)\b.*?</\1>", "", path.read_text(), flags=re.DOTALL)
    text = re.sub(r"(<robot[^>]*>)", rf"\1{COMPILER}", text, count=1)
    return robot, mujoco.MjModel.from_xml_string(text)


@pytest.mark.parametrize("name", ["ur5_robot.urdf", "panda.urdf"])
def test_mujoco_reads_the_same_robot_from_the_file(name: str) -> None:
    robot, model = read_by_both(name)
    if name == "panda.urdf" and not has("3.14"):
        # Its reader of URDF leaves mimic joints free until 3.13, and turns principal axes by some 1e-7.
        message = (
            r"M\[panda" if has("3.13") else r"natural constraints that the model lacks: panda_finger_joint2\.mimic"
        )
        with pytest.raises(BridgeError, match=message):
            match(robot, model).check()
        assert match(robot, model).mass < 1e-7
        return
    found = match(robot, model).check()
    assert found.mass < 1e-13
    assert found.bias < 1e-13


def test_a_link_that_weighs_more_is_found_in_a_real_arm() -> None:
    robot, model = read_by_both("ur5_robot.urdf")
    model.body_mass[model.body("forearm_link").id] *= 1.1
    with pytest.raises(
        BridgeError, match=r"joint 'elbow_joint' \(body 'forearm_link'\) have mass 2\.27\d* kg in the robot"
    ):
        match(robot, model).check()


@pytest.mark.slow
def test_a_law_for_a_real_arm_drives_the_model_that_mujoco_read() -> None:
    robot, model = read_by_both("ur5_robot.urdf")
    start = np.array([0.2, -1.2, 1.5, -0.4, 1.0, 0.3])
    swing = 0.3 * ca.sin(2 * robot.t) * ca.DM([1.0, 0.5, -1.0, 0.7, 1.0, -0.6])
    program = Program(robot, holonomic(robot.q - ca.DM(start) - swing, perturbation=Baumgarte(8.0), name="joints"))
    law = ProgramController(program, realization="actuated")
    with pytest.raises(BridgeError, match=r"no motor of the MuJoCo model drives shoulder_pan_joint, .*qfrc_applied"):
        drive(law, model)
    ours = simulate_here(robot, law, start + 0.05, np.zeros(6), 0.4, step=0.4 / 512)
    misses: list[float] = []
    for count in (32, 64, 128):
        model.opt.timestep, model.opt.integrator = 0.4 / count, mujoco.mjtIntegrator.mjINT_RK4
        acting = drive(law, model, apply="qfrc_applied")
        motion = acting.run(started(acting, start + 0.05, np.zeros(6)), 0.4)
        misses.append(float(np.abs(motion.q[-1] - ours.q[-1]).max()))
    orders = np.log2(np.array(misses[:-1]) / misses[1:])
    assert orders.min() >= 3.9
