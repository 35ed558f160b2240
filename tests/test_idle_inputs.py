"""Inputs that do nothing, or the same as others, are left at rest; a row that no input reaches is refused."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.constraints import holonomic, nonholonomic
from erugin.controllers import Program, ProgramController, Status
from erugin.robots import Robot, TelescopicLink, exoskeleton, with_inputs
from erugin.robots.examples import fukao_robot, maxon_re40
from erugin.symbolic import ModelError

LINK = TelescopicLink(mass=2.0, inertia=0.1, center_ratio=0.5, stiffness=100.0, rest_length=0.5)


def solved(robot: Robot, row: object, q: list[float]) -> np.ndarray:
    """Inputs of an actuated program, after its residuals have been looked at."""
    controller = ProgramController(Program(robot, [holonomic(row)]), realization="actuated")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    solution = controller.solve(0.0, q, [0.0] * robot.coordinates.nv)
    assert solution.status is Status.OK
    assert solution.motion_residual < 1e-10
    assert solution.program_residual < 1e-9
    return solution.input


def test_a_drive_along_a_rigid_link_is_left_at_rest() -> None:
    robot = with_inputs(exoskeleton([LINK] * 2, axial_drives=True, rigid=[1]), ["M1", "F1"])
    torque, force = solved(robot, robot.q[0] - 0.5, [0.4, 0.3, 0.5, 0.8])
    alone = with_inputs(exoskeleton([LINK] * 2, axial_drives=True, rigid=[1]), ["M1"])
    assert torque == pytest.approx(solved(alone, alone.q[0] - 0.5, [0.4, 0.3, 0.5, 0.8])[0], rel=1e-9)
    assert abs(force) < 1e-9 * abs(torque)


def test_drives_of_a_floating_rigid_body_stay_of_the_size_of_the_torques() -> None:
    robot = exoskeleton([LINK] * 3, base="floating", rigid=True, pole_mass=0.4, axial_drives=True)
    u = solved(robot, robot.points["tip"][0] - 0.6, [0.0, 0.0, 0.4, 0.7, 0.9, 0.5, 0.5, 0.5])
    assert np.abs(u).max() < 1e5


def test_a_row_that_no_input_reaches_is_refused() -> None:
    robot = fukao_robot(motors=maxon_re40(gear_ratio=43.0))
    program = Program(robot, nonholonomic(robot.v[0], name="forward"))
    with pytest.raises(ModelError, match=r"no input of .*voltage_r, voltage_l\) acts on 'forward'"):
        ProgramController(program, realization="actuated")
