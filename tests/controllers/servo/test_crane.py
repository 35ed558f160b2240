"""The overhead crane of Altmann & Heiland: two drives, a load that swings, and a program for the load alone."""

from __future__ import annotations

import functools
from typing import Literal

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic
from erugin.controllers import Program, Status, transition
from erugin.controllers.servo import ServoController, Stability, internal_dynamics
from erugin.robots import Robot
from erugin.robots.examples import altmann_heiland_crane, overhead_crane
from erugin.scenarios import simulate
from erugin.simulation import SimulationError
from erugin.symbolic import ModelError, SingularProgramError

from ...support.servo_models import crane_by_flatness

Array = NDArray[np.float64]
Extension = Literal["quasi-static", "integrators"]

DURATION = 6.0
START, END = (0.0, -4.0), (1.0, -5.0)
FAST = ((0.0, -4.0), (5.0, -1.0), 3.0)


@functools.cache
def crane(form: Literal["angle", "rope"] = "angle") -> Robot:
    return altmann_heiland_crane(form=form)


def program(robot: Robot, start: tuple[float, float], end: tuple[float, float], duration: float, k: int) -> Program:
    s = transition(robot.t, duration, smoothness=k)
    target = ca.vertcat(start[0] + (end[0] - start[0]) * s, start[1] + (end[1] - start[1]) * s)
    return Program(robot, holonomic(robot.points["load"] - target, name="load"))


@functools.cache
def controller(extension: Extension = "quasi-static", fast: bool = True) -> ServoController:
    path = program(crane(), *FAST, 4) if fast else program(crane(), START, END, DURATION, 6)
    return ServoController(path, near=[0.0, 4.0, 0.0], rates=4.0, extension=extension)


def test_the_load_is_a_flat_output_with_two_integrators() -> None:
    found = controller().relative_degree
    assert found.degrees == (2, 2)
    # Both forces reach the load through the rope alone: the pattern does not show it, the numbers do.
    assert (found.rank, found.structural_rank) == (1, 2)
    assert found.integrators == (0, 2)
    assert found.extended == (4, 4)
    assert found.orders == (4, 2)
    assert (found.state_dimension, found.internal_dimension) == (6, 0)
    assert found.is_flat
    assert "'load[1]' 2; with them the degrees are 4, 4. The outputs are flat" in str(found)
    assert controller().internal is not None
    assert internal_dynamics(controller()).stability is Stability.NONE


@pytest.mark.parametrize(
    ("fast", "path", "smoothness"), [(False, (START, END, DURATION), 6), (True, FAST, 4)], ids=["published", "fast"]
)
def test_feedforward_is_that_of_flatness(
    fast: bool, path: tuple[tuple[float, float], tuple[float, float], float], smoothness: int
) -> None:
    """Over the whole manoeuvre of the authors' code, and over one with more than 30° of swing."""
    law, times = controller(fast=fast), np.linspace(0.0, path[2], 61)
    q, v, u = crane_by_flatness(*path, smoothness, times)
    state: tuple[Array | None, Array | None] = (None, None)
    found: list[Array] = []
    for t in times:
        reported = law.feedforward(float(t), *state)
        state = (reported.q, reported.v)
        found.append(np.concatenate([reported.q, reported.v, reported.input]))
        assert reported.residual < 1e-10
    np.testing.assert_allclose(np.array(found), np.hstack([q, v, u]), rtol=1e-8, atol=1e-8)
    if fast:
        assert np.abs(q[:, 2]).max() > 0.5
    else:
        # The exact solution at 1.5, 3.3 and 4.5 s as computed by the authors' code: N and N m.
        exact = [[25.2645592, -95.5710597], [-17.8602834, -100.1533751], [-24.7225147, -100.6741575]]
        np.testing.assert_allclose(np.array(found)[[15, 33, 45], 6:], exact, rtol=1e-8)


def test_the_law_on_the_program_is_the_feedforward() -> None:
    times = np.linspace(0.0, FAST[2], 13)
    q, v, u = crane_by_flatness(*FAST, 4, times)
    given = [controller().control(float(t), a, b) for t, a, b in zip(times, q, v, strict=True)]
    np.testing.assert_allclose(given, u, rtol=1e-8, atol=1e-8)


def test_natural_constraints_have_part_in_the_derivatives() -> None:
    """The load's own coordinates and a rope that holds them: the same forces."""
    robot = crane("rope")
    law = ServoController(program(robot, *FAST, 4), near=[0.0, 4.0, 0.0, -4.0])
    assert law.relative_degree.orders == (4, 2)
    assert (law.relative_degree.state_dimension, law.relative_degree.internal_dimension) == (6, 0)
    times = np.linspace(0.0, FAST[2], 7)
    q, _, u = crane_by_flatness(*FAST, 4, times)
    for t, (s, l, phi), expected in zip(times, q, u, strict=True):
        place = [s, l, s + l * np.sin(phi), -l * np.cos(phi)]
        np.testing.assert_allclose(law.feedforward(float(t), place).input, expected, rtol=1e-8, atol=1e-8)
    # The reaction is minus the tension over 2 l.
    reactions = robot.evaluate(robot.reactions, q=[0, 4, 0, -4], v=[0] * 4, u=[0.0, -98.1])
    assert float(reactions) == pytest.approx(-981.0 / 8.0)


@pytest.mark.parametrize("extension", ["quasi-static", "integrators"])
def test_the_load_keeps_to_its_path_from_a_start_on_it(extension: Extension) -> None:
    law = controller(extension)
    assert (law.law is None) is (extension == "integrators")
    motion = simulate(crane(), law, [0.0, 4.0, 0.0], np.zeros(3), FAST[2], step=4e-3)
    # The integrators' rule is of order 3, the law without them as exact as the simulation.
    assert np.abs(motion.deviation).max() < (1e-8 if extension == "quasi-static" else 1e-6)
    _, _, u = crane_by_flatness(*FAST, 4, motion.t[::75])
    np.testing.assert_allclose(motion.u[::75], u, atol=1e-4)


@pytest.mark.parametrize("extension", ["quasi-static", "integrators"])
def test_off_the_path_the_load_returns_by_the_poles(extension: Extension) -> None:
    """Both rows from rest beside the path, each against the solution of its own equation."""
    orders = (4, 2) if extension == "quasi-static" else (4, 4)
    poles = [[-2.0, -3.0, -5.0, -7.0], [-2.5, -4.0, -6.0, -8.0][: orders[1]]]
    robot = crane()
    hold = Program(robot, holonomic(robot.points["load"] - ca.vertcat(0.0, -4.0), name="load"))
    law = ServoController(hold, near=[0.0, 4.0, 0.0], poles=poles, extension=extension)
    assert law.relative_degree.orders == (4, 2)
    motion = simulate(robot, law, [0.2, 4.3, 0.0], np.zeros(3), 5.0, step=5e-3)
    late = motion.t > 4.0
    for i, slowest in enumerate((2.0, 2.5)):
        rate = np.polyfit(motion.t[late], np.log(np.abs(motion.deviation[late, i])), 1)[0]
        assert rate == pytest.approx(-slowest, rel=0.01)
    # The whole of the first row: y = Σ c_i exp(s_i t) with y = 0.2 and no derivatives at rest, φ = 0.
    s = np.array(poles[0])
    c = np.linalg.solve(np.vander(s, 4, increasing=True).T, [0.2, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(motion.deviation[:, 0], np.exp(np.outer(motion.t, s)) @ c, atol=1e-6)


@pytest.mark.parametrize("extension", ["quasi-static", "integrators"])
def test_a_rope_that_would_have_to_push_is_singular(extension: Extension) -> None:
    """When the load is to fall freely, at 6 t = g, the rope pulls nothing, and its direction acts on nothing."""
    robot = crane()
    falling = holonomic(robot.points["load"] - ca.vertcat(0.0, -4.0 - robot.t**3), name="load")
    law = ServoController(Program(robot, falling), near=[0.0, 4.0, 0.0], extension=extension)
    with pytest.raises(SimulationError, match=r"'load\[\d\]' (depends|vanishes)") as caught:
        simulate(robot, law, [0.0, 4.0, 0.0], np.zeros(3), 2.0, step=5e-3)
    assert caught.value.status is Status.SINGULAR
    assert caught.value.trajectory.t[-1] == pytest.approx(9.81 / 6, abs=0.02)


def test_a_tick_at_a_singular_place_names_the_row() -> None:
    robot = crane()
    falling = holonomic(robot.points["load"] - ca.vertcat(0.0, -4.0 - 9.81 / 2 * robot.t**2), name="load")
    law = ServoController(Program(robot, falling), near=[0.0, 4.0, 0.0])
    with pytest.raises(SingularProgramError, match=r"'load\[0\]' vanishes.*loses its relative degree here"):
        law.control(0.0, [0.0, 4.0, 0.0], [0.0, 0.0, 0.0])
    assert law.observe(0.0, [0.0, 4.0, 0.0], [0.0, 0.0, 0.0]).relative_pivots[0] < 1e-20


def test_other_outputs_leave_the_pendulum_inside() -> None:
    """Trolley and rope held: the load swings with ±i √(g/l)."""
    robot = crane()
    held = Program(robot, holonomic(robot.q[:2] - ca.vertcat(0.0, 4.0), name="drives"))
    law = ServoController(held, near=[0.0, 4.0, 0.1])
    assert law.relative_degree.rank == 2
    assert law.internal is not None
    assert law.internal.stability is Stability.MARGINAL
    np.testing.assert_allclose(sorted(law.internal.zeros.imag), [-np.sqrt(9.81 / 4), np.sqrt(9.81 / 4)], rtol=1e-9)
    assert "marginal, zeros" in str(law.internal)


def test_bad_cranes_are_refused() -> None:
    with pytest.raises(ModelError, match=r"winch_radius \[m\] must be greater than zero"):
        overhead_crane(trolley_mass=1.0, winch_inertia=1.0, winch_radius=0.0, load_mass=1.0)
    with pytest.raises(ModelError, match="form must be 'angle' or 'rope', got 'cable'"):
        altmann_heiland_crane(form="cable")  # type: ignore[arg-type]
