"""A start inside what is to be kept clear of is refused, with the depth."""

from __future__ import annotations

import pytest

from erugin.constraints import EruginField, circle, follow, line
from erugin.controllers import Program, start_on
from erugin.robots import Link, planar_manipulator
from erugin.simulation import move_along
from erugin.symbolic import ModelError

PATH = line((0.6, -0.4), (0.6, 0.4))


def field(x: float) -> EruginField:
    disc = circle((x, 0.0), 0.1, velocity=(0.2, 0.0), name="disc")
    return EruginField(PATH, [disc], inside=[circle((0.5, 0.0), 0.8, name="room")], speed=0.2, margin=0.03)


def test_a_tip_inside_an_obstacle_is_no_start() -> None:
    arm = planar_manipulator([Link(0.5, 1.0, 0.25, 0.03)] * 2)
    tip = arm.points["tip"]
    at = [(tip, (0.6, 0.0))]
    q, _ = start_on(Program(arm, follow(field(0.3), tip)), [-0.9, 1.8], at=at)
    assert arm.evaluate(tip, q=q) == pytest.approx([0.6, 0.0], abs=1e-10)
    with pytest.raises(ModelError, match=r"the start of 'follow' lies beyond the boundary of 'disc', 0\.06 m deep"):
        start_on(Program(arm, follow(field(0.64), tip)), [-0.9, 1.8], at=at)
    # The disc drifts onto the place; what counts is where it is at the start.
    with pytest.raises(ModelError, match=r"'disc', 0\.1 m deep"):
        start_on(Program(arm, follow(field(0.3), tip)), [-0.9, 1.8], at=at, t=1.5)
    with pytest.raises(ModelError, match=r"'room', 0\.1 m deep"):
        start_on(Program(arm, follow(field(0.3), tip)), [2.5, 0.5], at=[(tip, (-0.4, 0.0))])


def test_a_point_inside_an_obstacle_is_no_start() -> None:
    with pytest.raises(ModelError, match=r"lies inside 'disc', 0\.06 m deep"):
        move_along(field(0.64), (0.6, 0.0), 1.0, step=0.01)
    assert len(move_along(field(0.3), (0.6, 0.0), 0.1, step=0.01)) == 11
