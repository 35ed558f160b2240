"""Settling, variation and what is recorded anyway, against NumPy on full records."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import Controller
from erugin.robots import lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import (
    Final,
    Largest,
    Mean,
    Metric,
    RecordedSignal,
    RootMeanSquare,
    SettlingTime,
    Simulator,
    TotalVariation,
)
from erugin.symbolic import ModelError

from .called import Called
from .compared import program_control, swing, swinging_arm

Array = NDArray[np.float64]
BELOW = 0.4


def settled(t: Array, g: Array, below: float) -> float:
    above = np.flatnonzero(~(g <= below))
    if not len(above):
        return 0.0
    return np.inf if above[-1] == len(g) - 1 else float(t[above[-1] + 1] - t[0])


@pytest.mark.parametrize("below", [-2.0, 0.02, 0.1, 0.4, 0.7, 2.0])
@pytest.mark.parametrize("samples", [2, 100, 101, 102, 700])
def test_settling_and_variation_of_an_oscillation(below: float, samples: int) -> None:
    """100 samples are a block: that of the end, of the start and of the last crossing may all differ."""
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    robot = lagrangian_system(q=x, v=v, T=v**2 / 2, V=2 * x**2, D=0.15 * v**2)
    metrics: dict[str, Metric] = {"settling": SettlingTime(robot.q[0], below), "way": TotalVariation(robot.q[0])}
    motion = simulate(robot, None, [1.0], [0.0], 0.03 * (samples - 1), step=0.03, metrics=metrics, every=1000)
    whole = simulate(robot, None, [1.0], [0.0], 0.03 * (samples - 1), step=0.03)
    g = whole.q[:, 0]
    assert len(g) == samples
    assert motion.metrics["settling"] == pytest.approx(settled(whole.t, g, below), abs=1e-12)
    assert motion.metrics["way"] == pytest.approx(np.abs(np.diff(g)).sum(), rel=1e-13)


def test_a_number_that_is_not_finite_is_not_settled() -> None:
    x, v = ca.SX.sym("x"), ca.SX.sym("v")
    robot = lagrangian_system(q=x, v=v, T=v**2 / 2)
    g = ca.sqrt(robot.t - 0.5)
    metrics: dict[str, Metric] = {"late": SettlingTime(g, 2.0), "never": SettlingTime(-ca.log(0.5 - robot.t), 5.0)}
    motion = simulate(robot, None, [0.0], [1.0], 1.0, step=0.125, metrics=metrics)
    assert motion.metrics["late"] == 0.5
    assert motion.metrics["never"] == np.inf


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("realization", ["actuated", "ideal"])
def test_what_is_recorded_anyway_is_that_of_the_full_record(called: bool, realization: str) -> None:
    inner = program_control(swinging_arm(), realization)
    controller: Controller = Called(inner) if called else inner
    metrics: dict[str, Metric] = {"energy": Final(RecordedSignal("energy")), "not_ok": Mean(RecordedSignal("not_ok"))}
    if not called:
        deviation = RecordedSignal("deviation")
        metrics |= {"largest": Largest(deviation), "clear": Final(inner.robot.q[0]), "rms": RootMeanSquare(deviation)}
    setup = swing(0.5)
    start = setup.q0, np.zeros(2), 0.5
    motion = simulate(inner.robot, controller, *start, step=2e-3, metrics=metrics, every=90)
    whole = simulate(inner.robot, controller, *start, step=2e-3)
    assert motion.metrics["energy"] == whole.energy[-1]
    assert motion.metrics["not_ok"] == 0.0
    if not called:
        norm = np.linalg.norm(whole.deviation, axis=1)
        assert norm.max() > 0.03
        assert motion.metrics["largest"] == pytest.approx(norm.max(), rel=1e-14)
        assert motion.metrics["clear"] == whole.q[-1, 0]
        mean = np.trapezoid(norm**2, whole.t) / whole.t[-1]
        assert motion.metrics["rms"] == pytest.approx(np.sqrt(mean), rel=1e-12)


def test_they_are_the_same_in_a_batch_of_which_some_lanes_end_early() -> None:
    controller = program_control(swinging_arm())
    metrics: dict[str, Metric] = {
        "deviation": RootMeanSquare(RecordedSignal("deviation")),
        "energy": Final(RecordedSignal("energy")),
        "settling": SettlingTime(ca.norm_2(controller.robot.q - ca.DM([0.4, 1.0])), 0.3),
        "variation": TotalVariation(controller.robot.u[0]),
    }
    simulator = Simulator(controller.robot, controller, metrics=metrics, stop=controller.robot.q[0] - 0.6)
    q0 = np.array([[0.3, 1.1], [0.55, 1.0], [0.1, 0.8], [0.7, 1.0], [0.45, 1.2]])
    batch = simulator.run_batch(q0, np.zeros(2), 0.7, step=1e-3, every=10_000)
    assert len(set(batch.end_time.tolist())) > 2
    for lane, start in enumerate(q0):
        alone = simulator.run(start, np.zeros(2), 0.7, step=1e-3)
        assert {name: batch.metrics[name][lane] for name in metrics} == dict(alone.metrics)


def test_what_is_not_recorded_is_refused() -> None:
    arm = swinging_arm()
    with pytest.raises(ModelError, match="what is recorded must be one of deviation, energy, not_ok; got 'power'"):
        RecordedSignal("power")  # type: ignore[arg-type]
    metrics = {"deviation": Final(RecordedSignal("deviation"))}
    with pytest.raises(ModelError, match="'deviation' is of deviations, but nothing drives the motion"):
        Simulator(arm, metrics=metrics)
    with pytest.raises(ModelError, match="'deviation' is of deviations, but Called tells of no rows"):
        Simulator(arm, Called(program_control(arm)), metrics=metrics)
