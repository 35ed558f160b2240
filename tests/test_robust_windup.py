"""The integral of a deviation does not wind up: beyond its bound, under limits, or while its row is off."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import Baumgarte, Schedule, holonomic
from erugin.controllers import ControlLimits, Program, Status
from erugin.controllers.robust import IntegralMemory, IntegralProgramController
from erugin.scenarios import simulate

from .robust import pushed, sampled_run
from .test_robust_integral import cart


def test_the_integral_stops_at_its_bound_and_comes_back_sooner() -> None:
    """A push beyond the bound for 6 s, and then none."""
    program = cart(Baumgarte(3.0))
    robot = program.robot
    plant = pushed(robot, ca.if_else(robot.t < 6.0, 40.0, 0.0))
    overshoot: list[float] = []
    for bound in (None, 5.0):
        controller = IntegralProgramController(program, bound=bound)
        gain = controller.parameters.nominal["place.integral"]
        run = sampled_run(
            plant,
            controller,
            np.zeros(1),
            np.zeros(1),
            12.0,
            1e-2,
            lambda t, q, v, c=controller, k=gain: k * c.integrals["place"],  # type: ignore[misc]
        )
        largest = np.abs(run.told).max()
        assert largest == pytest.approx(5.0) if bound else largest > 15.0
        overshoot.append(float(-run.q[run.t > 6.0].min()))
    assert 0.0 < overshoot[1] < 0.5 * overshoot[0]


def test_limits_freeze_the_integral_but_let_it_fall() -> None:
    """The cart with 5 N against a push of 8 N for 1 s: there is no room, and nothing to wind up for."""
    program = cart(Baumgarte(3.0))
    robot = program.robot
    limits = ControlLimits.of(robot, upper=[5.0], lower=[-5.0])
    plant = pushed(robot, ca.if_else(robot.t < 1.0, -8.0, 0.0))
    controller = IntegralProgramController(program, realization="bounded", limits=limits)
    run = sampled_run(
        plant, controller, np.zeros(1), np.zeros(1), 7.0, 1e-2, lambda t, q, v: controller.integrals["place"]
    )
    assert np.abs(run.u).max() <= 5.0
    pressed = (run.t > 0.4) & (run.t < 1.0)
    np.testing.assert_allclose(run.u[pressed], 5.0, atol=1e-6)
    free = sampled_run(
        plant,
        IntegralProgramController(program, realization="actuated"),
        np.zeros(1),
        np.zeros(1),
        0.5,
        1e-2,
        lambda t, q, v: 0.0,
    )
    assert np.abs(free.u).max() > 5.0
    # Frozen while pressed, although the deviation goes on growing; it falls once there is room again.
    assert np.ptp(run.told[pressed]) == 0.0
    assert np.ptp(run.q[pressed]) > 0.3
    assert abs(run.q[-1, 0]) < 0.05 * np.abs(run.q).max()
    motion = simulate(plant, controller, [0.0], [0.0], 0.8, step=1e-2)
    assert Status(int(motion.status[-1])) is Status.LIMITED


def test_without_room_the_integral_falls_to_zero_at_most_and_does_not_grow() -> None:
    """5 N for 2 kg at ÿ = −6 ẏ − 9 y: at 0.1 m there is room, at 2 m none."""
    program = cart(Baumgarte(3.0))
    limits = ControlLimits.of(program.robot, upper=[5.0], lower=[-5.0])
    controller = IntegralProgramController(program, realization="bounded", limits=limits)
    kept: list[tuple[float, float]] = []
    for t, y in ((0.0, 0.1), (1.0, 0.1), (1.1, 2.0), (1.2, 2.0), (1.3, -2.0), (1.31, -2.0), (1.4, -2.0)):
        controller.advance(t, [y], [0.0])
        assert isinstance(controller.memory, IntegralMemory)
        kept.append((float(controller.memory.values[0]), float(controller.memory.slope[0])))
    expected = [(0.0, 0.1), (0.1, 0.1), (0.1, 0.0), (0.1, 0.0), (0.1, -2.0), (0.08, -2.0), (0.0, 0.0)]
    np.testing.assert_allclose(kept, expected, atol=1e-12)


def test_a_row_that_is_off_is_not_integrated() -> None:
    robot = cart(Baumgarte(3.0)).robot
    constraint = holonomic(robot.q, perturbation=Baumgarte(3.0), name="place", when=Schedule(((1.0, 2.0),)))
    controller = IntegralProgramController(Program(robot, constraint))
    past: list[float] = []
    for t in (0.0, 0.5, 0.9, 1.1, 1.5, 2.1, 3.0):
        controller.advance(t, [0.1], [0.0])
        past.append(controller.integrals["place"])
    np.testing.assert_allclose(past, [0.0, 0.0, 0.0, 0.01, 0.05, 0.08, 0.08], atol=1e-12)
