"""A law of one's own as expressions with a memory, beside the same law in Python."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges.c import export
from erugin.controllers import Controller, Law, LawMemory, Status, SymbolicController, Tick
from erugin.controllers.traits import Trait
from erugin.controllers.wrappers import Delay
from erugin.robots import Robot
from erugin.simulation import Simulator
from erugin.symbolic import NO_PARAMETERS, ModelError, NotConvergedError

from ..support.sampled_laws import ROBOT, STEP, in_python, samples

Array = NDArray[np.float64]


class Integrator(SymbolicController):
    """u = −k ∫q dt − d v by rectangles, within ±8; z: the last sample's time, 1 if there was one, the integral."""

    supports = frozenset(Trait)
    applies_force = False

    def __init__(self, robot: Robot, k: float = 60.0, d: float = 3.0) -> None:
        self.robot, self.parameters, self.k, self.d = robot, NO_PARAMETERS, k, d
        self.reset()

    def build_law(self) -> Law:
        c, z = self.robot.coordinates, ca.SX.sym("z", 4)
        u = -self.k * z[2:] - self.d * c.v
        after = ca.vertcat(c.t, 1, z[2:] + ca.if_else(z[1] > 0, c.t - z[0], 0) * c.q)
        limited = ca.logic_or(*(ca.fabs(u[i]) > 8 for i in range(2)))
        law = Law.of_errors(ca.fmin(ca.fmax(u, -8), 8), c.q, ("q1", "q2"))
        return dataclasses.replace(
            law, status=ca.if_else(limited, int(Status.LIMITED), 0), memory=LawMemory(z, np.zeros(4), after)
        )


class InPython(Controller):
    """The same law."""

    supports = frozenset(Trait)
    applies_force = False

    def __init__(self, robot: Robot) -> None:
        self.robot, self.parameters = robot, NO_PARAMETERS
        self.reset()

    @property
    def initial_memory(self) -> tuple[float | None, Array]:
        return None, np.zeros(2)

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        assert isinstance(memory, tuple)
        before, integral = memory
        u = -60.0 * integral - 3.0 * v
        status = Status.LIMITED if (np.abs(u) > 8.0).any() else Status.OK
        after = t, integral + (0.0 if before is None else t - before) * q
        return Tick(np.clip(u, -8.0, 8.0), status=status, explanation=status.sentence, memory=after)


def test_expressions_and_python_are_the_same_law() -> None:
    times, q, v = samples(200)
    (one, statuses), (other, expected) = (in_python(law, times, q, v) for law in (Integrator(ROBOT), InPython(ROBOT)))
    np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)
    assert statuses == expected
    assert {Status.OK, Status.LIMITED} == set(map(Status, statuses))


@pytest.mark.compiled
def test_it_runs_compiled_behind_a_wrapper_and_leaves_as_c(tmp_path: Path) -> None:
    for wrap in (lambda law: law, lambda law: Delay(law, 0.003)):
        simulators = [Simulator(ROBOT, wrap(law)) for law in (Integrator(ROBOT), InPython(ROBOT))]
        assert [each.is_vectorized(STEP) for each in simulators] == [True, False]
        one, other = (each.run([0.3, 0.5], [0.8, 0.1], 0.2, step=STEP) for each in simulators)
        np.testing.assert_allclose(one.q, other.q, rtol=1e-11)
        np.testing.assert_array_equal(one.status, other.status)
    assert "law_sample" in (export(Integrator(ROBOT), tmp_path / "law", period=STEP).folder / "law.h").read_text()


def test_what_it_says_of_itself() -> None:
    law = Integrator(ROBOT)
    assert law.law is None
    assert law.rows == ("q1", "q2")
    assert law.has_memory
    assert not law.switches
    with pytest.raises(ModelError, match="memory must be a memory of Integrator"):
        law.remember("none")
    again = pickle.loads(pickle.dumps(law))
    np.testing.assert_array_equal(again.control(0.1, [0.1, 0.2], [0.3, 0.4]), law.control(0.1, [0.1, 0.2], [0.3, 0.4]))


class Failing(Integrator):
    """Has no output beyond q1 = 1."""

    def build_law(self) -> Law:
        law = super().build_law()
        return dataclasses.replace(law, status=ca.if_else(self.robot.q[0] > 1, int(Status.NOT_CONVERGED), law.status))


class Random(Integrator):
    """Draws a number."""

    def build_law(self) -> Law:
        law = super().build_law()
        assert law.memory is not None
        return dataclasses.replace(law, memory=dataclasses.replace(law.memory, random=ca.SX.sym("w")))


def test_failures_and_random_numbers_are_named() -> None:
    with pytest.raises(NotConvergedError, match=r"at t = 0\.2"):
        Failing(ROBOT).control(0.2, [1.5, 0.0], [0.0, 0.0])
    with pytest.raises(ModelError, match="Random draws random numbers: wrap a law without them in Noise or Dropout"):
        Random(ROBOT).control(0.2, [0.5, 0.0], [0.0, 0.0])
