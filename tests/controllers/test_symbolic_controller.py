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
from erugin.controllers import Controller, Law, Status, Tick
from erugin.controllers.traits import Trait
from erugin.controllers.wrappers import Delay
from erugin.robots import Robot
from erugin.simulation import SimulationError, Simulator
from erugin.symbolic import NO_PARAMETERS, ModelError, NotConvergedError

from ..support.sampled_laws import ROBOT, STEP, WRAPPERS, Integrator, in_python, samples

Array = NDArray[np.float64]


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


class Wrong(Integrator):
    """Reports a number that is no status."""

    def build_law(self) -> Law:
        return dataclasses.replace(super().build_law(), status=ca.SX(42))


class Random(Integrator):
    """Draws a number."""

    def build_law(self) -> Law:
        law = super().build_law()
        assert law.memory is not None
        return dataclasses.replace(law, memory=dataclasses.replace(law.memory, random=ca.SX.sym("w")))


def test_failures_and_random_numbers_are_named() -> None:
    with pytest.raises(NotConvergedError, match=r"at t = 0\.2"):
        Failing(ROBOT).control(0.2, [1.5, 0.0], [0.0, 0.0])
    with pytest.raises(ModelError, match="the status of Wrong must be the number of a Status, got 42"):
        Wrong(ROBOT).control(0.2, [0.5, 0.0], [0.0, 0.0])
    with pytest.raises(ModelError, match="memory must be a memory of Integrator"):
        Integrator(ROBOT).remember(np.zeros(2))
    with pytest.raises(ModelError, match="Random draws random numbers: wrap a law without them in Noise or Dropout"):
        Random(ROBOT).control(0.2, [0.5, 0.0], [0.0, 0.0])


@pytest.mark.compiled
def test_a_run_ends_where_the_status_says_that_there_is_no_output() -> None:
    with pytest.raises(SimulationError, match="at t = 0 s") as caught:
        Simulator(ROBOT, Failing(ROBOT)).run([1.5, 0.2], [0.3, 0.4], 0.02, step=STEP)
    assert caught.value.status is Status.NOT_CONVERGED


@pytest.mark.compiled
@pytest.mark.parametrize("wrapper", ["zero", "spare", "lost encoders"])
def test_a_reading_that_fails_reaches_neither_output_nor_memory(wrapper: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A law that clips its output would turn NaN into a number."""
    law = WRAPPERS[wrapper](Integrator(ROBOT))
    one = Simulator(ROBOT, law).run([0.3, 0.5], [0.0, 0.0], 0.1, step=STEP)
    monkeypatch.setattr(type(law), "sampled_law", lambda self, period: None)
    other = Simulator(ROBOT, law).run([0.3, 0.5], [0.0, 0.0], 0.1, step=STEP)
    np.testing.assert_allclose(one.u, other.u, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(one.status, other.status)
