"""Limits and orders that make no sense, and limits that leave a robot no place to stand still."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from erugin.constraints import Baumgarte, holonomic, second_order
from erugin.controllers import ControlLimits, Program, ProgramController, Status
from erugin.controllers.bounded import ConicSolver
from erugin.robots import with_inputs
from erugin.symbolic import ModelError

from .arms import two_link_arm
from .bounded_cases import bounded_case, posture_case


@functools.cache
def pose() -> Program:
    arm = two_link_arm()
    return Program(arm, [holonomic(arm.q[0] - 0.1, name="first"), holonomic(arm.q[1] - 0.2, name="second")])


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"effort": [1.0, 2.0, 3.0]}, r"effort must be one number or have shape \(2,\), got shape \(3,\)"),
        ({"effort": -1.0}, "effort must not be negative"),
        ({"effort": math.nan}, "effort must not be NaN"),
        ({"effort": 1.0, "lower": -2.0}, "but not both"),
        ({"effort": "strong"}, "effort must be numbers"),
        ({"lower": 3.0, "upper": 2.0}, "lower must not be above upper"),
        ({"lower": math.inf, "upper": math.inf}, "lower must not be above upper"),
        ({"rate": 0.0}, "rate must be greater than zero"),
        ({"power": [1.0, -1.0]}, "power must not be negative"),
        ({"total_power": -5.0}, "total_power must not be negative"),
        ({"total_power": math.nan}, "total_power must not be NaN"),
        ({"total_power": [5.0, 5.0]}, r"total_power of ControlLimits.of must be a number, got \[5.0, 5.0\]"),
        ({"joint_lower": 1.0, "joint_upper": -1.0}, "joint_lower must not be above joint_upper"),
        ({"speed": -1.0}, "speed must not be negative"),
        ({"speed": [1.0]}, r"speed must be one number or have shape \(2,\)"),
        ({"approach": 0.0}, "approach must be greater than zero"),
        ({"speed_approach": math.inf}, "speed_approach must be finite"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limits: dict[str, float], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        ControlLimits.of(two_link_arm(), **limits)


def test_arguments_that_cannot_serve_are_refused() -> None:
    program, arm = pose(), pose().robot
    with pytest.raises(
        ModelError, match=r"unknown constraint of the program in priorities 'frist'. Did you mean 'first"
    ):
        ProgramController(program, realization="bounded", priorities=["frist"])
    with pytest.raises(ModelError, match="'first' is named twice"):
        ProgramController(program, realization="bounded", priorities=["first", ["second", "first"]])
    with pytest.raises(ModelError, match="an empty one"):
        ProgramController(program, realization="bounded", priorities=[[]])
    for wrong in ("first", 3):
        with pytest.raises(ModelError, match="sequence of names"):
            ProgramController(program, realization="bounded", priorities=wrong)  # type: ignore[arg-type]
    for groups in ([3], [["first", 3]], [[["first"]]]):
        with pytest.raises(
            ModelError, match=r"a group must be a name of a constraint or several, got|each a text or a sequence"
        ):
            ProgramController(program, realization="bounded", priorities=groups)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="limits are those of a Robot, got Program"):
        ControlLimits.of(program)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="need realization='bounded', got 'actuated'"):
        ProgramController(program, realization="actuated", limits=ControlLimits.of(arm, effort=1.0))
    with pytest.raises(ModelError, match="limits must be ControlLimits"):
        ProgramController(program, realization="bounded", limits=arm.limits)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="solver must be a QpSolver"):
        ProgramController(program, realization="bounded", solver="daqp")  # type: ignore[arg-type]
    other = ControlLimits.of(posture_case().program.robot)
    with pytest.raises(ModelError, match="lower needs 2 values"):
        ProgramController(program, realization="bounded", limits=other)
    a = arm.coordinates.a
    curved = Program(arm, second_order(a[0] ** 2 + a[0] * a[1] - 2.0, name="curved"))
    with pytest.raises(ModelError, match="affine in the accelerations"):
        ProgramController(curved, realization="bounded")
    passive = with_inputs(arm, [])
    idle = Program(passive, holonomic(passive.q[0]))
    with pytest.raises(ModelError, match="has no inputs"):
        ProgramController(idle, realization="bounded")
    with pytest.raises(ModelError, match=r"unknown solver of quadratic programmes 'dapq'. Did you mean 'daqp'"):
        ConicSolver("dapq")
    with pytest.raises(ModelError, match="only realization='bounded' has limits"):
        ProgramController(program, realization="actuated").holding(0.0, [0.0, 0.0])


def test_limits_that_exclude_equilibrium_say_so() -> None:
    """A stretched arm, held level: the torques are weights times levers."""
    arm = two_link_arm()
    needed = np.array([9.81 * (2.5 * 0.6 + 1.8 * 1.1), 9.81 * 1.8 * 0.5])
    program = Program(arm, holonomic(arm.q, perturbation=Baumgarte(5.0), name="level"))
    weak = ControlLimits.of(arm, effort=[25.0, 9.0])
    controller = ProgramController(program, realization="bounded", limits=weak)
    holding = controller.holding(0.0, [0.0, 0.0])
    assert not holding.possible
    np.testing.assert_allclose(holding.needed, needed, rtol=1e-12)
    unit = arm.input_units[0]
    assert f"{arm.input_names[0]} would need {needed[0]:.6g} {unit} of 25" in holding.message
    assert arm.input_names[1] not in holding.message
    told = controller.observe(0.0, [0.0, 0.0], [0.0, 0.0])
    assert told.status is Status.LIMITED
    assert holding.message in told.message
    assert told.output[0] == 25.0
    hanging = controller.holding(0.0, [-np.pi / 2, 0.0])
    assert hanging.possible
    np.testing.assert_allclose(hanging.input, 0.0, atol=1e-12)
    # One drive for two joints holds no arm that is not hanging.
    one = with_inputs(arm, [arm.input_names[1]])
    elbow = Program(one, holonomic(one.q[1], perturbation=Baumgarte(5.0), name="elbow"))
    passive = ProgramController(elbow, realization="bounded").holding(0.0, [0.3, 0.2])
    assert not passive.possible
    assert "too few drives" in passive.message


def test_drives_that_share_hold_what_one_alone_could_not() -> None:
    """A four-bar linkage: one drive would have to do more than its bound, all of them together need not."""
    case = bounded_case("four-bar linkage")
    robot = case.program.robot
    assert robot.u.numel() > 1
    strongest = ProgramController(case.program, realization="bounded").holding(0.0, case.q)
    bound = 0.9 * float(np.abs(strongest.needed).max())
    shared = ProgramController(
        case.program, realization="bounded", limits=ControlLimits.of(robot, effort=bound)
    ).holding(0.0, case.q)
    assert shared.possible
    assert (np.abs(shared.input) <= bound).all()
    assert np.abs(shared.acceleration).max() < 1e-8
