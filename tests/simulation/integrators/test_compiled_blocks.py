"""Compiled blocks of the implicit integrators: the same motions as step by step, and by steps where they do not do."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic
from erugin.controllers import Program, ProgramController, Status
from erugin.robots import Robot, lagrangian_system, with_inputs
from erugin.simulation import GeneralizedAlpha, Integrator, SimulationError, Simulator, Trajectory, Variational
from erugin.simulation.integrators import implicit_step as implicit_blocks
from erugin.simulation.integrators.generalized_alpha import AlphaMotion
from erugin.simulation.integrators.variational import VariationalMotion
from erugin.symbolic import Parameters

from ...support.arms import two_link_arm
from ...support.convergence import linkage, swinging
from ...support.kernels import use_no_compiler
from ...support.systems import unicycle

Array = NDArray[np.float64]
BOTH = pytest.mark.parametrize("method", [Variational(), GeneralizedAlpha()], ids=["variational", "alpha"])


@pytest.fixture
def steps_from_python(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Times of the steps that are taken from Python while a test runs."""
    taken: list[float] = []

    def counted(follow: Callable[..., Array]) -> Callable[..., Array]:
        def counting(motion: VariationalMotion | AlphaMotion, t: float, x: Array) -> Array:
            taken.append(t)
            return follow(motion, t, x)

        return counting

    for kind in (VariationalMotion, AlphaMotion):
        monkeypatch.setattr(kind, "follow", counted(kind.follow))
    return taken


def both(
    monkeypatch: pytest.MonkeyPatch, method: Integrator, robot: Robot, q: Array, v: Array, duration: float, step: float
) -> tuple[Trajectory, Trajectory]:
    """A motion by compiled blocks, and step by step."""
    blocks = Simulator(robot, integrator=method).run(q, v, duration, step=step)
    monkeypatch.setattr(implicit_blocks, "WORTH_FUSING", 0)
    return blocks, Simulator(robot, integrator=method).run(q, v, duration, step=step)


@BOTH
@pytest.mark.parametrize("system", [linkage, swinging], ids=["linkage", "pendulum"])
def test_blocks_and_steps_give_the_same_motion(
    method: Integrator,
    system: Callable[[], tuple[Robot, Array, Array]],
    monkeypatch: pytest.MonkeyPatch,
    steps_from_python: list[float],
) -> None:
    blocks, steps = both(monkeypatch, method, *system(), 0.555, 1e-3)
    # Those of the second run alone.
    assert len(steps_from_python) == len(steps) - 1 == 555
    for key in ("t", "q", "v", "energy"):
        np.testing.assert_allclose(getattr(blocks, key), getattr(steps, key), rtol=0.0, atol=2e-11)


def test_quasi_velocities_go_in_blocks_too(monkeypatch: pytest.MonkeyPatch, steps_from_python: list[float]) -> None:
    robot = with_inputs(unicycle().robot, ())
    blocks, steps = both(monkeypatch, GeneralizedAlpha(), robot, np.zeros(3), np.array([0.6, 1.5]), 0.5, 5e-3)
    assert len(steps_from_python) == 100
    np.testing.assert_allclose(blocks.q, steps.q, atol=1e-12)


@BOTH
def test_where_three_iterations_do_not_do_steps_are_taken_from_python(
    method: Integrator, monkeypatch: pytest.MonkeyPatch, steps_from_python: list[float]
) -> None:
    """A linkage at 30 ms and 9 rad/s needs more of them now and then."""
    blocks, steps = both(monkeypatch, method, *linkage(), 3.0, 0.03)
    assert 100 < len(steps_from_python) <= 200
    np.testing.assert_allclose(blocks.q, steps.q, atol=1e-9)


@BOTH
def test_a_stop_within_a_block_is_the_end(method: Integrator) -> None:
    robot, q, v = swinging()
    simulator = Simulator(robot, integrator=method, stop=0.5 - robot.q[0])
    motion = simulator.run(q, v, 5.0, step=1e-3)
    assert motion.q[-1, 0] < 0.5 <= motion.q[-2, 0]
    assert motion.ending.startswith("the stop condition holds")


@BOTH
def test_a_motion_into_infinity_keeps_what_it_has(method: Integrator) -> None:
    """ẍ = 6 x² is x = 1/(1 − t)² from x = 1, ẋ = 2."""
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    robot = lagrangian_system(q=x, v=v, p=Parameters.declare({}), T=v**2 / 2, V=-2 * x**3)
    with pytest.raises(SimulationError, match="Newton's method") as caught:
        Simulator(robot, integrator=method).run([1.0], [2.0], 2.0, step=1e-3)
    assert caught.value.status is Status.NOT_CONVERGED
    kept = caught.value.trajectory
    assert kept.t[-1] == pytest.approx(1.0, abs=0.03)
    early = kept.t < 0.5
    np.testing.assert_allclose(kept.q[early, 0], 1.0 / (1.0 - kept.t[early]) ** 2, rtol=1e-4)


@BOTH
def test_a_program_runs_in_blocks(method: Integrator, steps_from_python: list[float]) -> None:
    robot = two_link_arm()
    program = Program(robot, [holonomic(robot.q - 0.5 * ca.sin(robot.t), name="swing")])
    simulator = Simulator(robot, ProgramController(program), integrator=method)
    motion = simulator.run([0.0, 0.0], [0.5, 0.5], 0.5, step=1e-3)
    assert motion.ok
    np.testing.assert_allclose(motion.q[-1], 0.5 * np.sin(0.5), atol=1e-6)
    assert not steps_from_python


@BOTH
def test_without_a_compiler_it_is_the_same(method: Integrator, monkeypatch: pytest.MonkeyPatch) -> None:
    robot, q, v = swinging()
    compiled = Simulator(robot, integrator=method).run(q, v, 0.2, step=1e-3)
    use_no_compiler(monkeypatch)
    alone = Simulator(robot, integrator=method).run(q, v, 0.2, step=1e-3)
    np.testing.assert_allclose(compiled.q, alone.q, atol=1e-12)
