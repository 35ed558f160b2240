"""Names and units of what a motion consists of, for robots of all kinds."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import holonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Robot, lagrangian_system, load_urdf
from erugin.robots.examples import (
    altmann_heiland_crane,
    butterworth_ladder,
    growth_model,
    quaternion_body,
    turtlebot3_burger,
)
from erugin.scenarios import simulate
from erugin.simulation import Columns, Labels
from erugin.symbolic import NO_PARAMETERS, ModelError

from ..support.motions import arm, law, single

FLOATING = """<robot name="pair">
  <link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="arm"/><axis xyz="1 0 0"/>
  <limit lower="-1" upper="1" effort="5" velocity="5"/></joint>
</robot>"""


def growth() -> Robot:
    return growth_model(
        productivity=1.0,
        capital_share=0.3,
        labour_share=0.5,
        rental=0.1,
        wage=0.2,
        capital_inertia=1.0,
        labour_inertia=1.0,
        capital_friction=0.5,
        labour_friction=0.5,
    )


def test_velocities_have_the_names_and_units_of_rates() -> None:
    labels = Labels.of(arm())
    assert labels.coordinates == Columns(("q1", "q2"), ("rad", "rad"))
    assert labels.velocities == Columns(("q1", "q2"), ("rad/s", "rad/s"))
    assert labels.inputs == Columns()
    assert (labels.controller, labels.rows, labels.controller_parameters) == ("", (), ())
    crane = Labels.of(altmann_heiland_crane())
    assert dict(crane.velocities) == {"s": "m/s", "l": "m/s", "phi": "rad/s"}


def test_units_of_currents_and_of_what_is_no_machine() -> None:
    ladder = Labels.of(butterworth_ladder(3, resistance=50.0, cutoff=1e3))
    assert set(ladder.velocities.units) == {"A"}
    assert ladder.energy_unit == "J"
    economy = Labels.of(growth())
    assert economy.velocities.units == ("goods/s", "workers/s")
    assert economy.energy_unit == ""


def test_quasi_velocities_have_separate_names() -> None:
    robot = turtlebot3_burger(form="reduced")
    labels = Labels.of(robot)
    assert labels.velocities.names == ("speed", "turning_rate")
    # θ' is the turning rate itself; the speed is the rate of nothing.
    assert labels.velocities.units == ("", "rad/s")
    assert len(labels.coordinates) == 5


def test_joints_of_a_tree_know_their_units(tmp_path: Path) -> None:
    (tmp_path / "pair.urdf").write_text(FLOATING)
    robot = load_urdf(tmp_path / "pair.urdf", base="floating")
    labels = Labels.of(robot)
    assert labels.velocities.units == ("m/s",) * 3 + ("rad/s",) * 3 + ("m/s",)
    assert labels.velocities.names[-1] == "slide"
    assert len(set(labels.velocities.names)) == 7
    assert not any(name.startswith("v_") for name in labels.velocities.names)


def test_forces_have_units_of_work_per_coordinate() -> None:
    robot = altmann_heiland_crane()
    program = Program(robot, [holonomic(robot.q[0], name="stay")])
    labels = Labels.of(robot, ProgramController(program))
    assert labels.inputs.legend == ("R (s) [N]", "R (l) [N]", "R (phi) [N m]")
    assert labels.controller == "ProgramController"
    assert labels.rows == ("stay",)


def test_forces_on_quasi_velocities_are_as_many_as_these() -> None:
    robot = turtlebot3_burger(form="reduced")
    program = Program(robot, [holonomic(robot.q[2] - 0.1 * robot.t, name="turn")])
    run = simulate(robot, ProgramController(program), [0.0] * 5, [0.0, 0.0], 0.05, step=0.01)
    assert run.u.shape == (6, 2)
    assert run.input_labels == ("R (speed)", "R (turning_rate) [N m]")
    assert len(run.plot().axes) >= 4


def test_a_motion_has_its_labels() -> None:
    robot = arm()
    run = single(robot, law(robot))
    assert run.labels == Labels.of(robot, run.controller)
    assert run.rows == ("line[0]", "line[1]")
    assert run.input_labels == ("M1 [N m]", "M2 [N m]")
    assert run.labels.parameters == robot.parameters.names
    assert len(run.labels.controller_parameters) == len(run.controller_p)


def test_symbols_without_units_are_named_alone() -> None:
    q, v = ca.SX.sym("z"), ca.SX.sym("w")
    labels = Labels.of(lagrangian_system(q=q, v=v, p=NO_PARAMETERS, T=v**2 / 2))
    assert labels.coordinates.legend == labels.velocities.legend == ("z",)
    body = Labels.of(quaternion_body(1.0, np.eye(3), center=[0.0, 0.0, 0.1]))
    assert body.velocities.units == ("m/s",) * 3 + ("",) * 4


def test_names_and_units_belong_together() -> None:
    with pytest.raises(ModelError, match="2 names require as many units"):
        Columns(("a", "b"), ("m",))
