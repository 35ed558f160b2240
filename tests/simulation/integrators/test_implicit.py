"""Purposes of implicit methods: stiff motions in few steps, singular mass matrices; and refusals of IDAS."""

from __future__ import annotations

import dataclasses
import sys
import threading

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic
from erugin.controllers import Controller, Tick
from erugin.robots import Robot, assemble, assemble_velocities, lagrangian_system
from erugin.robots.examples import iftomm_four_bars
from erugin.scenarios import simulate
from erugin.simulation import (
    CVODES,
    DOP853,
    IDAS,
    GeneralizedAlpha,
    Integrator,
    Radau,
    Reduced,
    SimulationError,
    Simulator,
    Variational,
)
from erugin.simulation.integrators import generalized_alpha, variational
from erugin.simulation.integrators.sundials import silenced_stderr

from ...support.kernels import use_no_compiler
from ...support.mechanisms import crank_rocker

Array = NDArray[np.float64]
STIFF: tuple[Integrator, ...] = (Radau(1e-9, 1e-11), CVODES(1e-9, 1e-11), IDAS(1e-9, 1e-11))
EACH = pytest.mark.parametrize("method", STIFF, ids=lambda m: type(m).__name__)
RATE = 1e6


class Damper(Controller):
    """Pulls the speed to cos t at a rate of a million per second, and counts its calls."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.calls = robot, 0

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        self.calls += 1
        return Tick(np.array([RATE * (np.cos(t) - np.asarray(v)[0])]))


def slider() -> Robot:
    q, v, u = ca.SX.sym("q"), ca.SX.sym("v"), ca.SX.sym("u")
    return lagrangian_system(q=q, v=v, u=u, Q=u, T=v**2 / 2, name="slider")


@EACH
def test_a_stiff_law_costs_no_more_than_the_slow_motion(method: Integrator) -> None:
    """v̇ = −λ (v − cos t): v = (λ² cos t + λ sin t)/(λ² + 1) from there on; λ h = 10⁴ at h = 10 ms."""
    law = Damper(slider())
    start = RATE**2 / (RATE**2 + 1)
    motion = simulate(law.robot, law, [0.0], [start], 1.0, step=0.01, integrator=method)
    expected = (RATE**2 * np.cos(motion.t) + RATE * np.sin(motion.t)) / (RATE**2 + 1)
    np.testing.assert_allclose(motion.v[:, 0], expected, atol=1e-7)
    # An explicit method is bound to steps of about 5/λ: two million calls.
    assert law.calls < 60_000


@EACH
def test_a_stiff_transient_is_followed_and_left_behind(method: Integrator) -> None:
    """In expressions, so that Newton's matrix is exact: a mass on a damper that stops it within a microsecond."""
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    robot = lagrangian_system(q=x, v=v, T=v**2 / 2, V=x, D=RATE * v**2 / 2, name="damped")
    motion = simulate(robot, None, [0.0], [1.0], 10.0, step=0.1, integrator=method)
    exact = (1.0 + 1.0 / RATE) * np.exp(-RATE * motion.t) - 1.0 / RATE
    np.testing.assert_allclose(motion.v[:, 0], exact, atol=1e-9)


@EACH
def test_a_closed_loop_moves_as_with_an_explicit_method(method: Integrator) -> None:
    robot = crank_rocker()
    q = assemble(robot, [0.3, 0.5, 1.5], fixed=["crank"]).q
    v = assemble_velocities(robot, q, fixed={"crank": 2.0})
    ends = [simulate(robot, None, q, v, 0.5, step=0.01, integrator=i) for i in (method, DOP853(1e-12, 1e-12))]
    np.testing.assert_allclose(ends[0].q, ends[1].q, atol=2e-7)
    np.testing.assert_allclose(ends[0].v, ends[1].v, atol=2e-6)


@EACH
def test_a_mass_matrix_may_be_singular_where_constraints_take_its_place(method: Integrator) -> None:
    """A pointer without mass that is geared to a mass falls with it: x = z, and z = −g t²/2."""
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    robot = lagrangian_system(
        q=q, v=v, T=v[0] ** 2 / 2, V=9.81 * q[0], natural=[holonomic(q[0] - q[1], name="gear")], name="geared"
    )
    motion = simulate(robot, None, [0.0, 0.0], [0.0, 0.0], 1.0, step=0.1, integrator=method)
    np.testing.assert_allclose(motion.q, -9.81 / 2 * np.tile(motion.t[:, None] ** 2, (1, 2)), atol=1e-7)


def test_idas_names_the_integrator_for_redundant_constraints() -> None:
    once = crank_rocker()
    again = tuple(dataclasses.replace(row, name="again") for row in once.natural)
    twice = dataclasses.replace(once, natural=once.natural + again, redundant="least-norm")
    with pytest.raises(ValueError, match="use CVODES, Radau or Reduced, or omit the dependent rows"):
        Simulator(twice, integrator=IDAS())


def test_what_a_law_prints_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    class Loud(Damper):
        def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
            if self.calls == 3:
                print("here", file=sys.stderr)
            return super().evaluate(t, q, v, p, memory)

    law = Loud(slider())
    with pytest.raises(SimulationError):
        simulate(law.robot, law, [0.0], [0.0], 1.0, step=1.0, integrator=IDAS(max_steps=5))
    assert capsys.readouterr().err == "here\n"


def test_only_the_requesting_thread_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    def say() -> None:
        print("other", file=sys.stderr)

    with silenced_stderr():
        print("own", file=sys.stderr)
        thread = threading.Thread(target=say)
        thread.start()
        thread.join()
    print("after", file=sys.stderr)
    assert capsys.readouterr().err == "other\nafter\n"


@pytest.mark.parametrize("integrator", [Variational(), GeneralizedAlpha()], ids=lambda one: type(one).__name__)
def test_a_large_step_is_taken_from_python_and_never_written_down(
    integrator: Integrator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Raised for the equations of one iteration, before elimination makes the graph grow with the unknowns cubed."""
    use_no_compiler(monkeypatch)

    def built(*_: object) -> None:
        raise AssertionError("the step was built")

    robot = iftomm_four_bars(8)
    q, v = np.zeros(17), np.zeros(17)
    q[::2], v[::2] = 1.2, -1.0
    for module in (variational, generalized_alpha):
        monkeypatch.setattr(module, "ImplicitBlocks", built)
    motion = simulate(robot, None, q, v, 0.02, step=1e-3, integrator=integrator)
    exact = simulate(robot, None, q, v, 0.02, step=1e-3, integrator=Reduced())
    np.testing.assert_allclose(motion.q, exact.q, atol=1e-6)
    with pytest.raises(AssertionError, match="was built"):
        Simulator(crank_rocker(), integrator=integrator)
