"""What integrators before inputs hold, and how they move on."""

from __future__ import annotations

import functools
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import holonomic
from erugin.controllers import Program
from erugin.controllers.servo import ServoController
from erugin.controllers.servo.servo_controller import IntegratorMemory
from erugin.robots import Robot, lagrangian_system
from erugin.robots.examples import fukao_robot
from erugin.symbolic import ModelError, NotFiniteInputError

from .servo_models import cascade, spatial_crane

RATE = 3.0


@pytest.mark.parametrize("make", [cascade, spatial_crane, lambda: fukao_robot(form="reduced")], ids=["a", "b", "c"])
def test_integrators_leave_as_much_inside_as_the_law_without_them(make: Callable[[], Robot]) -> None:
    """The dimension of the zero dynamics is the program's: state and integrators less the orders of all rows."""
    robot = make()
    rows, near = {
        "cascade": (robot.q[:3], np.array([0.0, 0.0, 0.0, 0.5, 0.2])),
        "spatial crane": (robot.points.get("load", robot.q), np.array([0.0, 0.0, 4.0, 0.0, 0.0])),
    }.get(robot.name, (robot.q[:2], np.zeros(5)))
    v = np.array([1.0, 0.5]) if robot.v.numel() == 2 else np.zeros(robot.v.numel())
    law = ServoController(
        Program(robot, holonomic(rows, name="y")),
        near=near,
        near_velocity=v,
        extension="integrators",
        allow_unstable_internal=True,
    )
    memory, found = law.memory, law.relative_degree
    assert isinstance(memory, IntegratorMemory)
    assert memory.held.size > 0
    assert found.state_dimension + memory.held.size - sum(law.orders) == found.internal_dimension


def pair_law() -> tuple[Robot, ServoController]:
    robot = cascade_pair()
    program = Program(robot, holonomic(robot.q[:2], name="x"))
    return robot, ServoController(program, near=[0.0, 0.0, 1.0], rates=RATE, extension="integrators")


@functools.cache
def cascade_pair() -> Robot:
    """ẍ₁ = u₁ + 1, ẍ₂ = x₃ (u₁ + 1), ẍ₃ = u₂."""
    q, v, u = (ca.SX.sym(name, n) for name, n in (("q", 3), ("v", 3), ("u", 2)))
    Q = ca.vertcat(u[0] + 1.0, q[2] * (u[0] + 1.0), u[1])
    return lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, Q=Q, u=u, name="pair")


def test_only_a_sample_changes_what_the_integrators_hold() -> None:
    _, law = pair_law()
    assert law.law is None
    state = ([0.1, 0.2, 0.9], [0.0, 0.1, 0.0])
    before = law.memory
    first = law.control(0.0, *state)
    np.testing.assert_array_equal(law.control(0.0, *state), first)
    assert law.memory is before
    law.advance(0.0, *state)
    after = law.memory
    assert after is not before
    np.testing.assert_allclose(law.control(0.0, *state), first, rtol=1e-12)
    law.control(0.005, *state)
    assert law.memory is after
    with pytest.raises(NotFiniteInputError):
        law.advance(0.01, [np.nan, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert law.memory is after
    law.advance(0.01, *state)
    assert law.memory is not after
    after = law.memory
    with pytest.raises(ModelError, match=r"taken in a sample of t = 0.01 s and now gets one of t = 0 s.*reset\(\)"):
        law.advance(0.0, *state)
    assert law.memory is after
    law.reset()
    assert law.memory is before
    np.testing.assert_allclose(law.control(0.0, *state), first, rtol=1e-12)


def test_integrators_are_exact_for_rates_in_a_straight_line() -> None:
    """Contents whose rate is 1 + 2 t, against the integral; and the order of the rule where it is what is held."""
    memory = IntegratorMemory.empty(1).advanced(0.0, lambda _: np.array([1.0]), np.array([-1.0]))
    for time in (0.1, 0.3, 0.35, 1.0):
        memory = memory.advanced(time, lambda _, time=time: np.array([1.0 + 2.0 * time]), None)  # type: ignore[misc]
        np.testing.assert_allclose(memory.held, [-1.0 + time + time**2], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(memory.slope, [2.0], rtol=1e-9)
    np.testing.assert_allclose(memory.at(1.5), [-1.0 + 1.5 + 1.5**2], rtol=1e-9)
    misses: list[float] = []
    for count in (100, 200):
        times = np.linspace(0.0, 1.0, count + 1)
        memory = IntegratorMemory.empty(1).advanced(0.0, lambda x: x, np.ones(1))
        for time in times[1:]:
            memory = memory.advanced(float(time), lambda x: x, None)
        misses.append(abs(float(memory.held[0]) - np.e))
    assert np.log2(misses[0] / misses[1]) == pytest.approx(3.0, abs=0.15)
