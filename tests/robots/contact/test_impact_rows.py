"""Rows of every kind in an impact: redundant, moving, nonholonomic, and those that stand in for missing inertia."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import holonomic, nonholonomic, second_order
from erugin.robots import Contact, Robot, TelescopicLink, exoskeleton, impact, with_contacts
from erugin.symbolic import ModelError, NotFiniteError, ParameterError, ShapeError

from ...support.contacts import exoskeleton_of
from ...support.exoskeletons import Case, random_states
from ...support.references import impact_numpy as known
from ...support.references import telescopic_bodies as truth

MASS, LENGTH = 3.0, 1.4
ROD = TelescopicLink(MASS, MASS * LENGTH**2 / 12.0, 0.5, 100.0, LENGTH)
UP = (0.0, 1.0)
POLE, TIP = Contact("pole", UP), Contact("end1", UP)
LEG = Case((0,), floating=True)
FALLING = np.array([0.3, -2.0, 0.5, 0.0])


def flying(*, pole_mass: float | None = 0.2) -> Robot:
    """A rigid rod in flight."""
    return exoskeleton([ROD], base="floating", rigid=True, pole_mass=pole_mass)


def with_point(robot: Robot, point: ca.SX) -> Robot:
    """One point more, called ``sole``."""
    return dataclasses.replace(robot, points={**robot.points, "sole": point})


@pytest.mark.parametrize("angle", [0.0, 0.4, 0.7, 1.1, 2.0, 2.9])
def test_a_rigid_loop_takes_the_least_impulse(angle: float) -> None:
    """Both ends of a rigid rod: five rows of rank four; of all Λ with AᵀΛ = −M v⁻ that with the least norm."""
    robot = with_contacts(flying(), [POLE, TIP])
    q = np.array([0.0, 0.0, angle, LENGTH])
    found = impact(robot, q, FALLING, [POLE, TIP])
    s = truth.Structure((truth.Rod(MASS, ROD.inertia, 0.5, 0.0, LENGTH),), (0,), True, 0.2)
    none = np.zeros(4)
    A = np.vstack([known.lengths(s, (1,)), *(known.foot(s, q, none, i).jacobian for i in (0, 1))])
    M = truth.mass_matrix(s, q)
    assert found.rank == np.linalg.matrix_rank(A) == 4
    np.testing.assert_allclose(found.velocity, 0.0, atol=1e-13)
    least = np.linalg.lstsq(A.T, -M @ FALLING, rcond=None)[0]
    np.testing.assert_allclose(found.impulses, least, rtol=0.0, atol=1e-12)
    idle = np.linalg.svd(A.T)[2][4]
    np.testing.assert_allclose(A.T @ idle, 0.0, atol=1e-15)
    assert abs(idle @ found.impulses) < 1e-12


def test_the_same_foot_twice() -> None:
    """Under two names: they share the impulse."""
    twin = Contact("joint1", UP)
    one = impact(with_contacts(flying(), [POLE]), [0.0, 0.0, 0.4, LENGTH], FALLING, [POLE])
    two = impact(with_contacts(flying(), [POLE, twin]), [0.0, 0.0, 0.4, LENGTH], FALLING, [POLE, twin])
    assert (one.rank, two.rank, two.impulses.size) == (3, 3, 5)
    np.testing.assert_allclose(two.velocity, one.velocity, rtol=0.0, atol=1e-13)
    for name in ("pole", "joint1"):
        np.testing.assert_allclose(two.by_constraint[name], one.by_constraint["pole"] / 2.0, atol=1e-13)


def test_nearly_redundant_rows_are_all_met() -> None:
    """Links within 1e-6 of a straight line: the loop is hardly a loop, and still A v⁺ = 0 and M (v⁺ − v⁻) = AᵀΛ."""
    case = Case((0, 1), floating=True, hinges=True)
    s = case.structure
    robot = with_contacts(exoskeleton_of(case, (1, 2)), [POLE, Contact("end2", UP)])
    q = np.array([0.0, 0.0, 0.3, 0.3 + 1e-6, s.rods[0].rest, s.rods[1].rest])
    v = np.array([0.1, -1.0, 0.4, -0.3, 0.0, 0.0])
    found = impact(robot, q, v, [POLE, Contact("end2", UP)])
    none = np.zeros(6)
    A = np.vstack([known.lengths(s, (1, 2)), *(known.foot(s, q, none, i).jacobian for i in (0, 2))])
    assert found.rank == 6
    assert np.abs(A @ found.velocity).max() < 1e-8
    change = truth.mass_matrix(s, q) @ (found.velocity - v)
    assert np.abs(A.T @ found.impulses - change).max() < 1e-8 * np.abs(found.impulses).max()


def test_a_foot_without_mass() -> None:
    """M of a leg that is one body is singular in x, y, φ, l, and the contact makes it good: v⁺ as for a tiny mass."""
    s = LEG.structure._replace(pole_mass=0.0)
    rod = s.rods[0]
    link = TelescopicLink(rod.mass, rod.inertia, rod.ratio, rod.stiffness, rod.rest)
    robot = with_contacts(exoskeleton([link], base="floating", pole_mass=1e-9), [POLE])
    for q, v in random_states(LEG, seed=1, count=20):
        found = impact(robot, q, v, [POLE], p={"h0": 0.0})
        M, A = truth.mass_matrix(s, q), known.foot(s, q, v, 0).jacobian
        after, impulses = known.struck(M, A, v)
        np.testing.assert_allclose(found.velocity, after, rtol=0.0, atol=1e-11)
        np.testing.assert_allclose(found.impulses, impulses, rtol=0.0, atol=1e-11)
        np.testing.assert_allclose(found.velocity, impact(robot, q, v, [POLE]).velocity, rtol=0.0, atol=1e-6)
        assert np.linalg.matrix_rank(M, tol=1e-10) == 3


def test_inertia_that_neither_mass_nor_contact_gives() -> None:
    """A massless pole whose link strikes at its centre of mass: nothing says how fast the length changes."""
    contact = Contact("center1", UP)
    soft = exoskeleton([ROD], base="floating", pole_mass=0.2)
    with pytest.raises(ModelError, match=r"mass matrix is singular.*v_l1 can change without inertia"):
        impact(with_contacts(soft, [contact]), [0.0, 0.0, 0.4, 1.3], FALLING, [contact], p={"h0": 0.0})


def test_a_position_without_inertia() -> None:
    """A point mass at length zero cannot be turned."""
    link = TelescopicLink(MASS, 0.0, 1.0, 100.0, LENGTH)
    robot = with_contacts(exoskeleton([link], base="floating", pole_mass=0.2), [POLE])
    with pytest.raises(ModelError, match=r"singular at this position: v_phi1 can change without inertia"):
        impact(robot, [0.0, 0.0, 0.3, 0.0], [0.0, -1.0, 0.0, 0.0], [POLE])


def test_a_moving_ground() -> None:
    """A belt that runs with 0.7 m/s takes the foot along: v⁺ = 0.7 at the pole, as seen by who runs with the belt."""
    still = flying()
    moving = with_point(still, still.points["pole"] - ca.vertcat(0.7 * still.t, 0.0))
    sole = Contact("sole", UP)
    q = [1.0, 0.0, 0.4, LENGTH]
    found = impact(with_contacts(moving, [sole]), q, FALLING, [sole], t=2.0)
    np.testing.assert_allclose(found.velocity[:2], [0.7, 0.0], atol=1e-14)
    wind = np.array([0.7, 0.0, 0.0, 0.0])
    beside = impact(with_contacts(still, [POLE]), q, FALLING - wind, [POLE])
    np.testing.assert_allclose(found.velocity - wind, beside.velocity, atol=1e-13)
    np.testing.assert_allclose(found.impulses, beside.impulses, atol=1e-13)


def test_a_ground_that_is_torn_apart() -> None:
    """A rigid rod on two grounds that part with 0.5 m/s: the rows contradict each other, by a reported amount."""
    robot = flying()
    moving = with_point(robot, robot.points["end1"] - ca.vertcat(0.5 * robot.t, 0.0))
    feet = [POLE, Contact("sole", UP)]
    with pytest.raises(ModelError, match=r"contradict each other.*has the speed -?0\.\d+ instead of 0"):
        impact(with_contacts(moving, feet), [0.0, 0.0, 0.0, LENGTH], np.zeros(4), feet)


def test_a_skate_that_strikes_a_wall() -> None:
    """A nonholonomic row stays: the pole moves only along the rod, while its end strikes a wall."""
    robot = flying()
    x, y, phi = (robot.v[0], robot.v[1], robot.q[2])
    skate = nonholonomic(-ca.sin(phi) * x + ca.cos(phi) * y, name="skate")
    wall = Contact("end1", (-1.0, 0.0))
    skating = with_contacts(dataclasses.replace(robot, natural=(*robot.natural, skate)), [wall])
    s = truth.Structure((truth.Rod(MASS, ROD.inertia, 0.5, 0.0, LENGTH),), (0,), True, 0.2)
    q = np.array([0.0, 0.0, 0.4, LENGTH])
    row = np.array([[-np.sin(0.4), np.cos(0.4), 0.0, 0.0]])
    A = np.vstack([known.lengths(s, (1,)), row, known.foot(s, q, np.zeros(4), 1).jacobian])
    v = np.array([2.0 * np.cos(0.4), 2.0 * np.sin(0.4), 1.0, 0.0])
    found = impact(skating, q, v, [wall])
    after, impulses = known.struck(truth.mass_matrix(s, q), A, v)
    np.testing.assert_allclose(found.velocity, after, atol=1e-12)
    np.testing.assert_allclose(found.impulses, impulses, atol=1e-11)
    assert list(found.by_constraint) == ["rigid link 1", "skate", "end1"]


def test_a_lock_that_strikes_without_any_contact() -> None:
    """A knee that locks: both links go on with one angular velocity, the moment of momentum about the pole is kept."""
    case = Case((0, 1), hinges=True)
    s = case.structure
    robot = exoskeleton_of(case, (1, 2))
    knee = holonomic(robot.q[1] - robot.q[0], name="knee")
    locked = dataclasses.replace(robot, natural=(*robot.natural, knee))
    q = np.array([0.7, 0.7, s.rods[0].rest, s.rods[1].rest])
    v = np.array([0.4, -1.1, 0.0, 0.0])
    found = impact(locked, q, v, [])
    M = truth.mass_matrix(s, q)[:2, :2]
    np.testing.assert_allclose(found.velocity[:2], np.sum(M @ v[:2]) / np.sum(M), rtol=1e-12)
    assert found.friction == {}
    nothing = impact(exoskeleton_of(case), q, v, [])
    np.testing.assert_array_equal(nothing.velocity, v)
    assert (nothing.rank, nothing.energy_loss) == (0, 0.0)


def refused(robot: Robot, message: str, error: type[Exception] = ModelError, **options: object) -> None:
    given: dict[str, object] = {"q": [0.0, 0.0, 0.4, LENGTH], "v": FALLING, "contacts": [POLE]}
    with pytest.raises(error, match=message):
        impact(robot, **{**given, **options})  # type: ignore[arg-type]


def test_bad_arguments() -> None:
    robot = with_contacts(flying(), [POLE])
    refused(
        flying(),
        "'pole' is not active; the robot's natural constraints: 'rigid link 1'. Activate it with with_contacts",
    )
    refused(robot, "'end1' is not active", contacts=[TIP])
    refused(robot, "contacts must be a list of Contact", contacts=POLE)
    refused(robot, "contacts must be a list of Contact", contacts=["pole"])
    refused(robot, r"q must have shape \(4,\)", ShapeError, q=[0.0, 0.0])
    refused(robot, r"v must have shape \(4,\)", ShapeError, v=[0.0, 0.0])
    refused(robot, r"v must be finite, but v\[1\] is nan", ShapeError, v=[0.0, np.nan, 0.0, 0.0])
    refused(robot, "unknown parameter 'mass'", ParameterError, p={"mass": 1.0})
    both = with_contacts(flying(), [POLE, TIP])
    refused(both, "no value for end1.x, end1.y", ParameterError)
    with pytest.raises(ModelError, match=r"unknown natural constraint 'end1'.*Known: pole, rigid link 1"):
        impact(robot, [0.0, 0.0, 0.4, LENGTH], FALLING, [POLE]).required_friction(TIP)


def test_rows_of_unsuitable_form_are_refused_at_an_impact() -> None:
    robot = with_contacts(flying(), [POLE])
    x, y = robot.v[0], robot.v[1]
    uneven = nonholonomic(x**2 + y**2 - 1.0, name="speed")
    refused(dataclasses.replace(robot, natural=(*robot.natural, uneven)), "must be linear in v")
    pushed = second_order(robot.coordinates.a[0] - 1.0, name="push")
    refused(dataclasses.replace(robot, natural=(*robot.natural, pushed)), "'push' is of order 2")


def test_a_position_where_the_model_is_not_defined() -> None:
    robot = flying()
    height = with_point(robot, ca.vertcat(robot.q[0], ca.sqrt(robot.q[1])))
    sole = Contact("sole", UP)
    refused(with_contacts(height, [sole]), "not finite", NotFiniteError, contacts=[sole])
    slow = dataclasses.replace(robot, natural=(nonholonomic(robot.v[0] - ca.sqrt(robot.t), name="pace"),))
    refused(slow, "speeds of natural rows are not finite", NotFiniteError, contacts=[], t=-1.0)


def test_constraints_of_the_same_name() -> None:
    """Both are reported, the second with a number."""
    robot = flying()
    twins = (holonomic(robot.q[0], name="guide"), holonomic(robot.q[2], name="guide"))
    found = impact(dataclasses.replace(robot, natural=twins), [0.0, 0.0, 0.4, LENGTH], FALLING, [])
    assert list(found.by_constraint) == ["guide", "guide 2"]
    np.testing.assert_array_equal(np.concatenate(list(found.by_constraint.values())), found.impulses)
    np.testing.assert_allclose(found.velocity[[0, 2]], 0.0, atol=1e-14)
