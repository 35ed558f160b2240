"""Metrics against sums over full records by SciPy and NumPy."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import trapezoid

from erugin.controllers import Controller, ProgramController, Status, start_on
from erugin.robots import lagrangian_system
from erugin.scenarios import simulate
from erugin.simulation import (
    DOP853,
    RK4,
    Final,
    Integral,
    Integrator,
    Largest,
    Least,
    Mean,
    Metric,
    RecordedSignal,
    RootMeanSquare,
    SettlingTime,
    SimulationError,
    Simulator,
    TotalVariation,
)
from erugin.symbolic import ModelError, Parameters

from ..support.arms import ELBOW, START, disc_program, two_link_arm
from ..support.called_controller import Called
from ..support.comparison_setup import program_control, swing, swinging_arm

Array = NDArray[np.float64]


def every_kind(expression: ca.SX) -> dict[str, Metric]:
    kinds = (Integral, Mean, RootMeanSquare, Largest, Least, Final)
    return {kind.__name__: kind(expression) for kind in kinds}


def expected(t: Array, g: Array) -> dict[str, float]:
    span = t[-1] - t[0]
    return {
        "Integral": trapezoid(g, t),
        "Mean": trapezoid(g, t) / span,
        "RootMeanSquare": np.sqrt(trapezoid(g**2, t) / span),
        "Largest": g.max(),
        "Least": g.min(),
        "Final": g[-1],
    }


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("integrator", [RK4(), DOP853()])
@pytest.mark.parametrize("every", [1, 30])
def test_against_scipy_on_the_full_record(called: bool, integrator: Integrator, every: int) -> None:
    """Power of the drives: state, inputs, and a parameter of the controller; 251 samples are two blocks and a half."""
    program = disc_program()
    inner = ProgramController(program, realization="actuated")
    controller: Controller = Called(inner) if called else inner
    robot, q0 = program.robot, start_on(program, ELBOW, at=[(program.robot.points["tip"], START)])[0]
    power = ca.dot(robot.u, robot.v) * program.parameters["disc.radius"] + robot.t
    options: dict[str, Any] = {"step": 2e-3, "integrator": integrator, "controller_p": {"disc.radius": 0.17}}
    motion = simulate(robot, controller, q0, 0 * q0, 0.5, metrics=every_kind(power), every=every, t0=1.0, **options)
    whole = simulate(robot, controller, q0, 0 * q0, 0.5, t0=1.0, **options)
    g = (whole.u * whole.v).sum(axis=1) * 0.17 + whole.t
    assert np.ptp(g) > 0.1
    assert dict(motion.metrics) == pytest.approx(expected(whole.t, g), rel=1e-12)
    assert len(motion) == len(range(0, 251, every)) + (250 % every > 0)
    np.testing.assert_array_equal(motion.q[-1], whole.q[-1])


def test_the_trapezoidal_rule_is_exact_for_what_is_affine_in_time() -> None:
    """A free fall: ∫ v dt = v₀ T − g T²/2 with any step."""
    q, v, p = ca.SX.sym("y"), ca.SX.sym("v"), Parameters.declare({"g": 9.81})
    mass = lagrangian_system(q=q, v=v, p=p, T=v**2 / 2, V=p["g"] * q)
    metrics = {"way": Integral(mass.v[0]), "speed": Mean(mass.v[0])}
    motion = simulate(mass, None, [0.0], [3.0], 2.0, step=0.5, metrics=metrics)
    way = 3.0 * 2.0 - 9.81 * 2.0**2 / 2
    assert motion.metrics == pytest.approx({"way": way, "speed": way / 2.0}, rel=1e-14)


def test_a_run_that_ends_early_counts_up_to_its_end() -> None:
    arm = two_link_arm()
    metrics = every_kind(arm.v[1])
    motion = simulate(arm, None, [0.3, 0.8], [0.0, 0.0], 5.0, step=1e-3, stop=-arm.q[0], metrics=metrics)
    assert 0.1 < motion.t[-1] < 4.0
    assert dict(motion.metrics) == pytest.approx(expected(motion.t, motion.v[:, 1]), rel=1e-12)


def test_a_start_that_is_the_end_has_a_mean_all_the_same() -> None:
    arm = two_link_arm()
    metrics = every_kind(arm.q[1])
    motion = simulate(arm, None, [0.3, -0.8], [0.0, 0.0], 5.0, step=1e-3, stop=arm.q[0], metrics=metrics)
    assert len(motion) == 1
    assert dict(motion.metrics) == {
        **dict.fromkeys(("Mean", "Largest", "Least", "Final"), -0.8), "Integral": 0.0, "RootMeanSquare": 0.8
    }  # fmt: skip


def test_measures_of_a_run_that_runs_away_end_with_it() -> None:
    q, v = ca.SX.sym("x"), ca.SX.sym("v")
    runaway = lagrangian_system(q=q, v=v, T=v**2 / 2, V=-(q**4) / 4, name="runaway")
    with pytest.raises(SimulationError) as caught:
        simulate(
            runaway, None, [2.0], [0.0], 5.0, step=1e-3, metrics={"end": Final(runaway.q[0]), "t": Final(runaway.t)}
        )
    assert caught.value.trajectory.status[-1] == Status.DIVERGED
    assert caught.value.trajectory.metrics["end"] == caught.value.trajectory.q[-1, 0] > 1e6
    assert caught.value.trajectory.metrics["t"] == caught.value.trajectory.t[-1]


def test_what_is_no_metric_is_refused() -> None:
    arm, program = two_link_arm(), disc_program()
    start: tuple[Any, ...] = ([0.3, 0.8], [0.0, 0.0], 0.1)
    wrong: list[tuple[str, Any]] = [
        ("must have a scalar expression", {"it": Integral(arm.q)}),
        ("uses alien", {"it": Integral(ca.SX.sym("alien"))}),
        ("not accelerations", {"it": Integral(arm.coordinates.a[0])}),
        ("must be a Metric", {"it": arm.q[0]}),
        ("must be a mapping from names", [Integral(arm.q[0])]),
    ]
    for message, metrics in wrong:
        with pytest.raises(ModelError, match=message):
            simulate(arm, None, *start, step=1e-2, metrics=metrics)
    effort = {"effort": Integral(ca.sumsqr(program.robot.u))}
    with pytest.raises(ModelError, match=r"'effort' uses inputs, but ProgramController applies generalized forces"):
        simulate(program.robot, ProgramController(program), *start, step=1e-2, metrics=effort)


def test_inputs_are_zero_without_a_controller() -> None:
    arm = two_link_arm()
    motion = simulate(arm, None, [0.3, 0.8], [0.1, 0.0], 0.1, step=1e-2, metrics={"u": Largest(arm.u[0] + arm.t)})
    assert motion.metrics["u"] == motion.t[-1]


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
    with pytest.raises(ModelError, match="a recorded signal must be one of deviation, energy, not_ok; got 'power'"):
        RecordedSignal("power")  # type: ignore[arg-type]
    metrics = {"deviation": Final(RecordedSignal("deviation"))}
    with pytest.raises(ModelError, match="'deviation' requires deviations, but nothing drives the motion"):
        Simulator(arm, metrics=metrics)
    with pytest.raises(ModelError, match="'deviation' requires deviations, but Called has no rows"):
        Simulator(arm, Called(program_control(arm)), metrics=metrics)
