"""Bad arguments of baseline laws, and the table of what each law supports."""

from __future__ import annotations

import re

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, circle, line, tracking
from erugin.controllers import Controller, Program, Reference, Status, Trait, baselines, reference_of
from erugin.controllers.baselines import (
    BarrierFunction,
    CbfFilter,
    ComputedTorque,
    PDGravity,
    PotentialField,
    SlidingMode,
    SlotineLi,
    quadratic_cost,
    tune,
)
from erugin.controllers.wrappers import Wrapper
from erugin.robots import Robot
from erugin.symbolic import ModelError, NotConvergedError, NotFiniteError, NotFiniteInputError, ShapeError

from ...support.arms import two_link_arm
from ...support.controller_cases import BUILDERS
from ...support.controller_cases.robots import robot_case
from ...support.point_masses import point_mass
from ...support.project import ROOT
from ...support.urdf import seven_joint_arm

PAGE = ROOT / "docs" / "controllers.md"
COLUMNS = (
    Trait.CLOSED_LOOPS,
    Trait.NONHOLONOMIC,
    Trait.UNDERACTUATED,
    Trait.OVERACTUATED,
    Trait.QUASI_VELOCITIES,
    Trait.SINGULAR_INERTIA,
)


def test_the_table_of_laws_and_robots_is_that_of_the_code() -> None:
    classes = {cls.__name__: cls for cls in BUILDERS}
    rows = re.findall(r"^\| `(\w+)` ((?:\| (?:yes|–) ){6})\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {"ProgramController", "ComputedTorque", "CbfFilter"} <= {name for name, _ in rows}
    for name, cells in rows:
        message = [cell == "yes" for cell in re.findall(r"yes|–", cells)]
        assert message == [trait in classes[name].supports for trait in COLUMNS], name
    # Wrappers share a row, but for the filter.
    assert {name for name, cls in classes.items() if not issubclass(cls, Wrapper)} <= {name for name, _ in rows}


def test_every_baseline_has_a_row_of_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    output = page[page.index("## Baseline controllers") : page.index("**The rule**")]
    for cls in BUILDERS:
        if cls.__module__.startswith(baselines.__name__):
            assert f"`{cls.__name__}`" in output, cls


Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def arm() -> Robot:
    return two_link_arm()


@pytest.fixture(scope="module")
def field(arm: Robot) -> PotentialField:
    """One obstacle need not stand in a list."""
    disc = circle((0.7, 0.3), 0.1, name="disc")
    return PotentialField(
        arm, arm.points["tip"], [0.0, 0.6], disc, around=[0.0, 1.0], speed=0.1, reach=0.3, clearance=0.1
    )


@pytest.mark.parametrize("law", [ComputedTorque, PDGravity, SlidingMode, SlotineLi])
def test_a_joint_space_law_requires_a_reference(arm: Robot, law: type[Controller]) -> None:
    for given in (None, np.zeros(2)):
        with pytest.raises(ModelError, match=r"must be a Reference, such as Reference.at_rest\(robot, q\), got"):
            law(arm, given)  # type: ignore[call-arg]


def test_a_reference_requires_a_robot_and_enough_samples(arm: Robot) -> None:
    with pytest.raises(ModelError, match="a Reference requires a Robot, got str"):
        Reference.of("arm", ca.SX(2, 1))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="a Reference requires a Robot, got str"):
        Reference.at_rest("arm", [0.0, 0.0])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="at least 13 times are required, got 12"):
        Reference.sampled(arm, np.linspace(0.0, 1.0, 12), np.zeros((12, 2)))
    t = np.linspace(0.0, 1.0, 40)
    for pieces in (0, 2.5, True):
        with pytest.raises(ModelError, match=r"pieces (of .*sampled )?must be a whole number( of at least 1)?, got"):
            Reference.sampled(arm, t, np.zeros((40, 2)), pieces=pieces)  # type: ignore[arg-type]
    # Few pieces are used where they do, and no more than are allowed.
    with pytest.raises(ModelError, match=r"2 pieces of degree 5 do not fit .*larger pieces="):
        Reference.sampled(arm, t, np.column_stack([np.sin(20 * t), t]), pieces=2)


def test_a_program_that_leads_to_a_singular_position_has_no_motion(arm: Robot) -> None:
    program = Program(arm, tracking(arm.points["tip"], [1.5, 0.0], perturbation=Baumgarte(3.0), name="out of reach"))
    with pytest.raises(NotConvergedError, match=r"cannot be integrated beyond t = 0\.\d+ s of 2 s: .* rows depend"):
        reference_of(program, [-0.6, 1.2], [0.0, 0.0], 2.0)
    with pytest.raises(ModelError, match="accuracy must be greater than zero"):
        reference_of(program, [0.0, 1.0], [0.0, 0.0], 3.0, accuracy=0.0)


@pytest.mark.foreign
def test_a_potential_has_no_law_for_a_clearance_beyond_its_reach(arm: Robot, field: PotentialField) -> None:
    near = [0.2, 0.3]
    assert np.isfinite(field.control(0.0, near, [0.0, 0.0], {"potential.clearance": 0.29})).all()
    for clearance in (0.3, 0.5):
        with pytest.raises(NotFiniteError):
            field.control(0.0, near, [0.0, 0.0], {"potential.clearance": clearance})
    # A curve in space is the meeting of two surfaces, and has no inside.
    panda = seven_joint_arm()
    rope = line((0.0, 0.0, 0.5), (1.0, 0.0, 0.5), name="rope")
    with pytest.raises(ModelError, match="the boundary of a solid in 3 dimensions, with one function, got"):
        PotentialField(panda, panda.points["panda_hand_tcp"], [0.4, 0.0, 0.4], rope, around=np.zeros(7), speed=0.1)


@pytest.mark.foreign
def test_a_filter_requires_barriers_and_a_solver() -> None:
    mass = point_mass()
    nominal = PDGravity(mass, Reference.at_rest(mass, [0.0, 0.0]))
    for given in ("ab", [1.0]):
        with pytest.raises(ModelError, match="barriers must be BarrierFunctions, such as"):
            CbfFilter(nominal, given)  # type: ignore[arg-type]
    wall = BarrierFunction("wall", 1.0 - mass.q[0])
    with pytest.raises(ModelError, match="solver must be a QpSolver, such as"):
        CbfFilter(nominal, wall, solver="daqp")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"must be a Curve such as circle\(...\), got None"):
        BarrierFunction.outside(mass, mass.q, None)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="the point must be a column"):
        BarrierFunction.outside(mass, mass.q.T, circle((0.0, 0.0), 1.0))
    with pytest.raises(ModelError, match=r"margin must not be negative, got -0\.1"):
        BarrierFunction.joint_limits(seven_joint_arm(), margin=-0.1)


def test_a_message_names_a_barrier_as_its_owner_does() -> None:
    mass = point_mass()
    law = CbfFilter(PDGravity(mass, Reference.at_rest(mass, [0.0, 0.0])), BarrierFunction("Door A", -1.0 - mass.q[0]))
    reported = law.observe(0.0, [0.0, 0.0], [0.0, 0.0])
    assert reported.status is Status.LIMITED
    assert reported.message == "Barrier 'Door A' is violated: -1."


def test_one_coordinate_of_a_loop_needs_no_list() -> None:
    case = robot_case("four-bar linkage")
    law = ComputedTorque(case.robot, Reference.at_rest(case.robot, case.q0), coordinates="rocker")
    assert law.errors == ("rocker",)


def test_a_search_and_a_cost_ask_for_numbers_that_mean_something(arm: Robot) -> None:
    law = PDGravity(arm, Reference.at_rest(arm, [0.0, 0.0]))
    for refinements in (-1, 2.5, True):
        with pytest.raises(ModelError, match=r"refinements (of tune )?must be a whole number( of at least 0)?, got"):
            tune(lambda _: law, lambda _: 1.0, [1.0, 2.0, 3.0], refinements=refinements)  # type: ignore[arg-type]
    errors, inputs = np.ones((2, 1)), np.zeros((2, 1))
    for times in ([1.0, 0.0], [1.0, 1.0]):
        with pytest.raises(ModelError, match="times must increase"):
            quadratic_cost(times, errors, inputs, allowed=1.0, effort=1.0)
    with pytest.raises(NotFiniteInputError, match=r"errors must be finite, but errors\[1\] is nan"):
        quadratic_cost([0.0, 1.0], [[1.0], [np.nan]], inputs, allowed=1.0, effort=1.0)
    with pytest.raises(ShapeError, match=r"what is allowed of errors must be a number or \(1,\)"):
        quadratic_cost([0.0, 1.0], errors, inputs, allowed=[1.0, 1.0], effort=1.0)
    # A run that went wrong costs without bound, and the table says why.
    found = tune(
        lambda _: law, lambda _: quadratic_cost([0.0, 1.0], errors, inputs, allowed=1.0, effort=1.0), [1.0, 2.0, 3.0]
    )
    assert found.cost == pytest.approx(1.0)
