"""Contacts that make no sense: each is refused, and the message names it."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import FirstOrder
from erugin.robots import (
    Contact,
    Link,
    TelescopicLink,
    contact_force,
    contact_positions,
    exoskeleton,
    planar_manipulator,
    required_friction,
    with_contacts,
    without_rows,
)
from erugin.symbolic import ModelError, ParameterError

LINK = TelescopicLink(2.0, 0.1, 0.4, 100.0, 0.9)
ROBOT = exoskeleton([LINK, LINK], base="floating", pole_mass=0.5)
UP = (0.0, 1.0)
POLE = Contact("pole", UP)
Q = [0.0, 0.0, 1.0, 2.0, 0.9, 0.9]


@pytest.mark.parametrize(
    ("normal", "message"),
    [
        ((0.0, 0.0), r"normal of a contact must not be zero, got \(0.0, 0.0\)"),
        ((0.0, np.nan), r"normal of a contact\[1\] must be finite, got nan"),
        ((0.0, np.inf), r"normal of a contact\[1\] must be finite, got inf"),
        ((1.0,), "at least two coordinates"),
        (("up", 1.0), r"normal of a contact\[0\] must be a number, got 'up'"),
        (1.0, "must be a sequence"),
    ],
)
def test_bad_normals(normal: Any, message: str) -> None:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(ModelError, match=message):
        Contact("pole", normal)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200, 4e307])
def test_the_normal_is_a_direction(size: float) -> None:
    """Of any length that a float can have."""
    assert Contact("pole", (3.0 * size, -4.0 * size)).normal == pytest.approx((0.6, -0.8), rel=1e-15)


@pytest.mark.parametrize(
    ("contacts", "message"),
    [
        ([], "at least one contact must be given, got none"),
        (POLE, "contacts must be a list of Contact, got Contact"),
        (["pole"], r"contacts must be a list of Contact, got \['pole'\]"),
        ([Contact("foot", UP)], "unknown point .*'foot'.*Known: .*end1, .*pole, tip"),
        ([Contact("pole", (0.0, 0.0, 1.0))], "normal of 'pole' must have 2 components"),
        ([POLE, POLE], "'pole' is on already"),
    ],
)
def test_bad_contacts(contacts: Any, message: str) -> None:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(ModelError, match=message):
        with_contacts(ROBOT, contacts)


def test_a_point_that_does_not_move() -> None:
    arm = planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)])
    with pytest.raises(ModelError, match="'joint1' does not move along x, y"):
        with_contacts(arm, [Contact("joint1", UP)])


def test_a_contact_that_is_on_already() -> None:
    with pytest.raises(ModelError, match="'pole' is on already"):
        with_contacts(with_contacts(ROBOT, [POLE]), [POLE])


def test_a_perturbation_of_another_order() -> None:
    with pytest.raises(ModelError, match="order"):
        with_contacts(ROBOT, [POLE], perturbation=FirstOrder())


def test_a_force_that_is_not_there() -> None:
    for ask in (contact_force, required_friction):
        with pytest.raises(ModelError, match="'pole' is not on; its natural constraints are none"):
            ask(ROBOT, POLE)
    robot = with_contacts(ROBOT, [POLE])
    with pytest.raises(ModelError, match="has 1 inputs, but u has shape"):
        contact_force(robot, POLE, u=ca.SX.zeros(2))
    with pytest.raises(ModelError, match="'pole' has a normal of 2 components, but only 1 rows are on"):
        contact_force(without_rows(robot, ["pole[0]"]), POLE)


def test_a_place_that_nobody_has_told() -> None:
    """There is no nominal place: what is not given is not guessed."""
    robot = with_contacts(ROBOT, [POLE])
    with pytest.raises(ParameterError, match=r"no value for pole\.x, pole\.y"):
        robot.evaluate(robot.acceleration, q=Q, v=np.zeros(6), u=[0.0])


def test_places_of_what_is_not_there() -> None:
    with pytest.raises(ModelError, match=r"unknown point .*'foot'"):
        contact_positions(ROBOT, [Contact("foot", UP)], Q)
    with pytest.raises(ModelError, match="must have 2 components"):
        contact_positions(ROBOT, [Contact("pole", (1.0, 0.0, 0.0))], Q)


def test_old_places_are_replaced_and_other_parameters_kept() -> None:
    """What was p before a step is p after it, but for the foot that has moved."""
    both = [POLE, Contact("end2", UP)]
    robot = with_contacts(ROBOT, both)
    first = contact_positions(robot, both, Q)
    assert list(first) == ["pole.x", "pole.y", "end2.x", "end2.y"]
    moved = contact_positions(robot, both[1:], [1.0, 0.0, *Q[2:]], p=first | {"L1": 0.8})
    assert moved == pytest.approx({"end2.x": first["end2.x"] + 1.0, "end2.y": first["end2.y"]})
    # The robot in flight has no such parameters, and need not have them.
    assert contact_positions(ROBOT, both, Q, p=first | {"L1": 0.8}) == first
    with pytest.raises(ParameterError, match=r"unknown parameter 'pole\.z'"):
        contact_positions(robot, both, Q, p={"pole.z": 0.0})
