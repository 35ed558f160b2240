"""The analysis of programs: known singular places, the conditions by name, and what a user reads."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Constraint, holonomic, nonholonomic, second_order
from erugin.controllers import Analysis, Program, ProgramController, Status, analyse
from erugin.controllers.multipliers import LeastNormMultipliers
from erugin.robots import Link, Robot, lagrangian_system
from erugin.robots.examples import heavy_top, iftomm_four_bars, quaternion_body, redundant_chain, torn_oscillator
from erugin.symbolic import ModelError, NotFiniteError, Parameters, ShapeError

from ...support.arms import disc_program, three_link_arm, two_link_arm
from ...support.mechanisms import crank_rocker

Array = NDArray[np.float64]

CONDITIONS = (
    "positive definite inertia",
    "independent rows",
    "regular case (1.16)-(1.19)",
    "consistent rows (1.14)",
    "way I (1.20)-(1.23)",
    "way II (1.19)",
    "full column rank of [M; Θ]",
    "augmented inertia M + cΘᵀΘ",
    "balanced forces",
    "solvable",
    "unique multipliers",
    "whole system (1.15) regular",
    "actuators",
    "actuators, whatever β",
)


def fails(report: Analysis) -> set[str]:
    """Names of the conditions that do not hold."""
    assert tuple(report.conditions) == CONDITIONS
    return {name for name, condition in report.conditions.items() if not condition.holds}


def test_a_regular_place_and_the_controller_agree() -> None:
    program, rng = disc_program(), np.random.default_rng(2)
    for _ in range(20):
        q, v = rng.uniform(0.2, 1.2, (2, 2))
        report = analyse(program, t=0.4, q=q, v=v)
        solution = ProgramController(program).solve(0.4, q, v)
        assert report.rank == 2
        assert report.dependent_rows == ()
        assert fails(report) == set()
        assert report.realizable
        assert report.unique_multipliers == program.rows
        size = max(1.0, float(np.abs(solution.acceleration).max()))
        np.testing.assert_allclose(report.acceleration, solution.acceleration, rtol=0, atol=1e-10 * size)
        size = max(1.0, float(np.abs(solution.multipliers).max()))
        np.testing.assert_allclose(report.multipliers, solution.multipliers, rtol=0, atol=1e-10 * size)
        np.testing.assert_allclose(report.force, solution.force, rtol=0, atol=1e-9 * size)


def test_a_stretched_arm() -> None:
    """There the tip moves along the normal only: ẋ sin φ… the row of y is −cot φ times that of x."""
    program = disc_program()
    report = analyse(program, t=0.0, q=[0.4, 0.0], v=[0.1, 0.2])
    assert report.rank == 1
    assert report.dependent_rows == ("follow[1]",)
    assert report.dependences[0].coefficients == pytest.approx({"follow[0]": -1.0 / np.tan(0.4)})
    assert not report.consistent
    assert not report.solvable
    assert not report.realizable
    assert report.acceleration_unique
    assert report.unique_multipliers == ()
    beta = program.robot.evaluate(
        ca.substitute(program.beta, program.p, ca.DM(list(program.nominal.values()))),
        q=[0.4, 0.0],
        v=[0.1, 0.2],
    )
    contradiction = beta[1] + beta[0] / np.tan(0.4)
    assert report.contradictions == pytest.approx({"follow[1]": contradiction})
    assert np.isnan(report.acceleration).all()
    assert {"independent rows", "consistent rows (1.14)", "way I (1.20)-(1.23)", "solvable"} <= fails(report)
    assert "full column rank of [M; Θ]" not in fails(report)


def test_margins_measure_the_distance_to_a_singular_position() -> None:
    """The smallest singular value of a nearly stretched arm falls in proportion to the bend."""
    program = disc_program()
    kept = [
        analyse(program, t=0.0, q=[0.4, bend], v=[0.1, 0.2]).ranks["theta"].smallest_kept for bend in (1e-2, 1e-4, 1e-6)
    ]
    assert kept[0] / kept[1] == pytest.approx(100.0, rel=2e-2)
    assert kept[1] / kept[2] == pytest.approx(100.0, rel=1e-3)
    near, far = (analyse(program, t=0.0, q=[0.4, bend], v=[0.1, 0.2]) for bend in (1e-6, 1e-2))
    assert "nearly dependent: the smallest singular value" in str(near)
    assert "nearly dependent" not in str(far)
    assert analyse(program, t=0.0, q=[0.4, 1e-6], v=[0.1, 0.2], tolerance=1e-4).rank == 1


def test_a_single_row_that_vanishes_but_for_rounding() -> None:
    """sin(1e-17) has nothing to be compared with at this place, but is a sine at the places around."""
    robot = two_link_arm()
    program = Program(robot, holonomic(ca.cos(robot.q[0]) - 1.0, name="cosine"))
    for angle in (0.0, 1e-17, 2 * np.pi):
        report = analyse(program, t=0.0, q=[angle, 1.0], v=[0.1, 0.2])
        assert report.rank == 0
        assert report.dependent_rows == ("cosine",)
        assert report.contradictions["cosine"] == pytest.approx(0.1**2, rel=1e-9)
    assert analyse(program, t=0.0, q=[0.2, 1.0], v=[0.1, 0.2]).rank == 1


def test_more_rows_than_velocities() -> None:
    robot = two_link_arm()
    y = robot.q - ca.vertcat(0.3, 0.8)
    rows = [holonomic(y[0], name="one"), holonomic(y[1], name="two"), holonomic(2 * y[0] - 3 * y[1], name="three")]
    report = analyse(Program(robot, rows), t=0.0, q=[0.3, 0.8], v=[0.0, 0.0])
    assert (report.rank, report.dependent_rows) == (2, ("three",))
    assert report.dependences[0].coefficients == pytest.approx({"one": 2.0, "two": -3.0})
    assert report.consistent
    assert report.realizable
    assert report.unique_multipliers == ()
    np.testing.assert_allclose(report.acceleration, 0.0, atol=1e-12)
    assert fails(report) == {
        "independent rows",
        "regular case (1.16)-(1.19)",
        "unique multipliers",
        "whole system (1.15) regular",
        "actuators, whatever β",
    }


def test_two_multipliers_that_share_a_load_and_one_that_does_not() -> None:
    robot = three_link_arm()
    rows = [holonomic(robot.q[i] - 0.3, name=f"q{i}") for i in (0, 1, 0)]
    report = analyse(Program(robot, rows), t=0.0, q=[0.3, 0.3, 0.1], v=np.zeros(3))
    assert report.dependent_rows == ("q02",)
    assert report.unique_multipliers == ("q1",)
    assert report.multipliers[0] == pytest.approx(report.multipliers[2])


SINGULAR: dict[str, tuple[Robot, Array, int]] = {
    "body": (
        quaternion_body(2.0, np.diag([0.1, 0.2, 0.25]), center=(0.1, 0.05, -0.03)),
        np.array([0.1, 0.2, 0.3, 0.5, -0.5, 0.5, 0.5]),
        6,
    ),
    "top": (heavy_top(1.0, np.diag([0.1, 0.1, 0.05]), center=(0.0, 0.0, 0.2)), np.array([0.6, 0.0, 0.8, 0.0]), 3),
    "chain": (
        redundant_chain([Link(0.5, 2.0, 0.2, 0.03), Link(0.4, 1.5, 0.25, 0.02)]),
        np.array([0.12, 0.16, 0.6, 0.8, 0.3, 0.65, 0.0, 1.0]),
        6,
    ),
    "torn": (torn_oscillator((2.0, 0.7), (30.0, 11.0), (0.5, 0.4), width=0.1), np.array([0.6, 0.7, 0.3]), 2),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_singular_mass_matrices(name: str) -> None:
    robot, q, rank = SINGULAR[name]
    nv = robot.coordinates.nv
    program = Program(robot, second_order(robot.coordinates.a[0] - 0.5, name="first"))
    report = analyse(program, t=0.0, q=q, v=np.zeros(nv))
    assert report.ranks["M"].value == rank < nv
    assert report.ranks["M; A"].value == report.ranks["M; A; theta"].value == nv
    assert report.acceleration_unique
    assert report.solvable
    assert fails(report) & {"positive definite inertia", "way I (1.20)-(1.23)", "solvable"} == {
        "positive definite inertia",
        "way I (1.20)-(1.23)",
    }
    if report.dependent_rows == ():
        truth = ProgramController(program).solve(0.0, q, np.zeros(nv))
        assert truth.status is Status.OK
        np.testing.assert_allclose(report.acceleration, truth.acceleration, atol=1e-9)
        np.testing.assert_allclose(report.reactions, truth.reactions, atol=1e-8)
    without = dataclasses.replace(robot, natural=())
    alone = analyse(
        Program(without, second_order(without.coordinates.a[0] - 0.5, name="first")), t=0.0, q=q, v=np.zeros(nv)
    )
    assert alone.ranks["M; A"].value == rank
    assert alone.acceleration_unique == (alone.ranks["M; theta"].value == nv)
    if not alone.acceleration_unique:
        assert alone.loose
        assert "not unique: " + ", ".join(alone.loose) in str(alone)


def test_natural_constraints_come_before_the_program() -> None:
    robot = crank_rocker()
    pin = robot.natural[0].residual(robot.coordinates)
    rows: list[Constraint] = [holonomic(3 * pin[0], name="coupler pin"), holonomic(robot.q[0] - 0.7, name="crank")]
    report = analyse(Program(robot, rows), t=0.0, q=[0.7, 0.5, 1.3], v=np.zeros(3))
    assert report.dependent_rows == ("coupler pin",)
    assert report.dependences[0].coefficients == pytest.approx({"coupler pin[0]": 3.0})
    assert report.rank == 2
    assert report.unique_reactions == ("coupler pin[1]",)
    assert report.unique_multipliers == ("crank",)
    same = Program(robot, holonomic(pin, name="coupler pin"))
    assert analyse(same, t=0.0, q=[0.7, 0.5, 1.3], v=np.zeros(3)).dependences[0].coefficients == pytest.approx(
        {"natural coupler pin[0]": 1.0}
    )


def test_a_linkage_that_lies_flat() -> None:
    """IFToMM's windows: where all bars lie flat each window loses a row, and one freedom becomes N + 1."""
    for windows in (1, 2, 3):
        robot = iftomm_four_bars(windows)
        nv = robot.coordinates.nv
        crank = Program(robot, second_order(robot.coordinates.a[0] - 1.0, name="crank"))
        flat = analyse(crank, t=0.0, q=np.zeros(nv), v=np.zeros(nv))
        assert flat.ranks["A"].value == windows
        assert len(flat.dependent_natural_rows) == windows
        upright = np.zeros(nv)
        upright[[robot.coordinates.names.index(f"crank{k}") for k in range(windows + 1)]] = np.pi / 2
        assert analyse(crank, t=0.0, q=upright, v=np.zeros(nv)).ranks["A"].value == 2 * windows


def test_rows_that_are_off_are_left_out() -> None:
    robot = two_link_arm()
    rows = [holonomic(robot.q[0] - 0.3, name="one"), holonomic(robot.q[0] - 0.9, name="later", when=robot.t - 1.0)]
    program = Program(robot, rows)
    off, on = (analyse(program, t=t, q=[0.3, 0.8], v=np.zeros(2)) for t in (0.0, 2.0))
    assert off.consistent
    assert off.dependent_rows == ()
    assert on.dependent_rows == ("later",)
    assert not on.consistent


def test_what_a_user_reads() -> None:
    text = str(analyse(disc_program(), t=0.0, q=[0.4, 0.0], v=[0.1, 0.2]))
    assert text.splitlines()[0].endswith(
        "not solvable, contradictory, acceleration unique, not realizable by the inputs"
    )
    assert "rank of [M; A; theta]: 2 of 2" in text
    assert "'follow[1]' = -2.365·'follow[0]': contradictory by" in text
    for name in CONDITIONS:
        assert name in text


def test_the_report_follows_parameters_and_cannot_be_written() -> None:
    program = disc_program()
    q, v = [0.3, 0.8], [0.1, 0.2]
    light, heavy = analyse(program, t=0.0, q=q, v=v), analyse(program, t=0.0, q=q, v=v, p={"m2": 40.0})
    assert np.abs(heavy.multipliers).max() > 3 * np.abs(light.multipliers).max()
    with pytest.raises(ValueError, match="read-only"):
        light.force[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        light.rank = 3  # type: ignore[misc]


def test_least_norm_multipliers_are_those_of_the_controller() -> None:
    robot = three_link_arm()
    rows = [holonomic(robot.q[i] - 0.3, name=f"q{i}") for i in (0, 1, 0)]
    program = Program(robot, rows)
    report = analyse(program, t=0.0, q=[0.3, 0.3, 0.1], v=[0.4, -0.2, 0.1])
    solution = ProgramController(program, method=LeastNormMultipliers()).solve(0.0, [0.3, 0.3, 0.1], [0.4, -0.2, 0.1])
    np.testing.assert_allclose(report.multipliers, solution.multipliers, rtol=1e-10, atol=1e-10)


def test_rows_nonlinear_in_velocities_and_quasi_velocities() -> None:
    robot = two_link_arm()
    speed = ca.sumsqr(robot.coordinates.rate(robot.points["tip"])) - 0.04
    moving = analyse(Program(robot, nonholonomic(speed, name="speed")), t=0.0, q=[0.3, 0.8], v=[0.2, 0.1])
    resting = analyse(Program(robot, nonholonomic(speed, name="speed")), t=0.0, q=[0.3, 0.8], v=[0.0, 0.0])
    assert moving.rank == 1
    assert resting.rank == 0
    assert resting.dependent_rows == ("speed",)


def test_bad_input() -> None:
    program = disc_program()
    with pytest.raises(ModelError, match="analyse requires a Program, got 3"):
        analyse(3, t=0.0, q=[0.0, 0.0], v=[0.0, 0.0])  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r"q must have shape \(2,\), got shape \(3,\)"):
        analyse(program, t=0.0, q=[0.0, 0.0, 1.0], v=[0.0, 0.0])
    with pytest.raises(ShapeError, match=r"v\[1\] is nan"):
        analyse(program, t=0.0, q=[0.0, 0.0], v=[0.0, np.nan])
    with pytest.raises(ModelError, match="tolerance must be greater than zero"):
        analyse(program, t=0.0, q=[0.0, 0.0], v=[0.0, 0.0], tolerance=0.0)
    with pytest.raises(ModelError, match="consistency must be greater than zero"):
        analyse(program, t=0.0, q=[0.0, 0.0], v=[0.0, 0.0], consistency=-1.0)
    q, v = ca.SX.sym("x"), ca.SX.sym("vx")
    robot = lagrangian_system(q=q, v=v, T=v**2 / 2)
    root = Program(robot, holonomic(ca.sqrt(robot.q[0]) - 1.0, name="root"))
    with pytest.raises(NotFiniteError, match=r"the program rows theta of .* is not finite at t = 0, q = "):
        analyse(root, t=0.0, q=[-1.0], v=[0.0])
    light = lagrangian_system(
        q=ca.SX.sym("y"), v=(w := ca.SX.sym("vy")), p=(p := Parameters.declare({"m": 1.0})), T=p["m"] * w**2 / 2
    )
    with pytest.raises(ModelError, match="must be positive semidefinite"):
        analyse(Program(light, holonomic(light.q[0] - 1.0)), t=0.0, q=[0.0], v=[0.0], p={"m": -1.0})
