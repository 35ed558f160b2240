"""Errors in a batch are reported before anything runs, with the lane; and an interrupted run is not lost."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import FirstOrder, nonholonomic
from erugin.controllers import Program, ProgramController, Tick
from erugin.robots import assemble
from erugin.robots.examples import four_bar
from erugin.simulation import RK4, Largest, SimulationInterrupted, Simulator, Trajectories
from erugin.symbolic import ModelError, ParameterError, ShapeError, StartWarning

from ...support.arms import disc_program, two_link_arm
from ...support.constant_controller import Constant
from ...support.mechanisms import bar, crank_rocker
from ...support.remembering_controllers import Troubled

Array = NDArray[np.float64]
Q, V = [[0.3, 0.8], [0.4, 0.7], [0.5, 0.6]], [0.0, 0.0]
SIMULATOR = Simulator(two_link_arm(), ProgramController(disc_program(), realization="actuated"))


@pytest.mark.parametrize(
    ("kind", "message", "changed"),
    [
        (ShapeError, r"q0 must have shape \(2,\) or \(batch, 2\), got shape \(2, 3\)", {"q0": np.zeros((2, 3))}),
        (ShapeError, r"q0 must have shape .* got shape \(0, 2\)", {"q0": np.zeros((0, 2))}),
        (ShapeError, r"v0 must have shape \(2,\) or \(batch, 2\), got shape \(1, 2, 2\)", {"v0": np.zeros((1, 2, 2))}),
        (ShapeError, r"v0 must be numbers of shape .* got \[\[0, 0\], \[0\]\]", {"v0": [[0, 0], [0]]}),
        (ShapeError, r"v0\[1, 0\] is nan, in lane 1", {"v0": [[0, 0], [np.nan, 0], [0, 0]]}),
        (ShapeError, "q0 has 3, v0 has 2", {"v0": np.zeros((2, 2))}),
        (ShapeError, "q0 has 3, controller_p has 4", {"controller_p": {"disc.radius": [0.1] * 4}}),
        (ShapeError, r"values in p must have the same number.*'m1': 3, 'm2': 2", {"p": {"m1": [1] * 3, "m2": [1, 2]}}),
        (ShapeError, "has no lanes", {"p": {"m1": []}}),
        (ParameterError, r"'m1' must be greater than zero, got -1\.0 in lane 2", {"p": {"m1": [1.0, 2.0, -1.0]}}),
        (ParameterError, r"'m1' must be greater than zero, got nan in lane 0", {"p": {"m1": [np.nan, 2.0, -1.0]}}),
        (ParameterError, r"unknown parameter 'm3'\. Did you mean", {"p": {"m3": [1.0, 2.0, 3.0]}}),
        (ParameterError, r"'disc\.radius' is a parameter of the controller", {"p": {"disc.radius": [0.1] * 3}}),
        (ParameterError, r"'m1' must be .* numbers of shape \(batch,\)", {"p": {"m1": ["heavy", "light", "none"]}}),
        (ParameterError, r"'m1' must be .* \(batch,\), got \[\[1\], \[1, 2\]\]", {"p": {"m1": [[1], [1, 2]]}}),
        (ParameterError, r"'m1' must be .* \(batch,\), got shape \(3, 1\)", {"p": {"m1": [[1], [1], [1]]}}),
        (
            ShapeError,
            r"controller_p must have shape \(26,\) or \(batch, 26\), got shape \(2,\)",
            {"controller_p": [1.0, 2.0]},
        ),
        (ShapeError, r"p must be numbers of shape .* got \[\[1\], \[1, 2\]\]", {"p": [[1], [1, 2]]}),
        (ShapeError, r"p must have shape \(9,\) or \(batch, 9\)", {"p": np.ones((3, 4))}),
        (ParameterError, "must be greater than zero, got 0.0 in lane 1", {"p": [[1.0] * 9, [0.0] * 9, [1.0] * 9]}),
        (ModelError, "threads must be a whole number of at least 1, got 0", {"threads": 0}),
        (ModelError, "every must be a whole number of at least 1, got 1.5", {"every": 1.5}),
        (ModelError, "cannot continue another run", {"restart": False}),
        (ModelError, "progress must be a function of one number.*, got 3", {"progress": 3}),
    ],
)
def test_bad_input_is_reported_with_its_lane(kind: type[Exception], message: str, changed: dict[str, Any]) -> None:
    start: dict[str, Any] = {"q0": Q, "v0": V, "duration": 0.1, "step": 1e-3} | changed
    with pytest.raises(kind, match=message):
        SIMULATOR.run(**start)


@pytest.mark.parametrize(
    ("message", "given"),
    [
        ("the plant must be a Robot, got 'arm'", {"robot": "arm"}),
        ("controller must be a Controller, got 'pd'", {"controller": "pd", "stop": ca.SX(1)}),
        (r"integrator must be an Integrator, such as RK4\(\).*, got 'rk4'", {"integrator": "rk4"}),
        ("integrator must be an Integrator, .*, got <class", {"integrator": RK4}),
        ("stop must be a scalar expression, got 0.5", {"stop": 0.5}),
        ("the name of a metric must be text, got 3", {"metrics": {3: Largest(ca.SX(1))}}),
    ],
)
def test_what_cannot_be_simulated_is_refused(message: str, given: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match=message):
        Simulator(**dict[str, Any](robot=two_link_arm()) | given)


def test_gains_that_are_too_fast_are_reported_with_their_lane() -> None:
    robot = two_link_arm()
    still = nonholonomic(robot.v, perturbation=FirstOrder(10.0), name="still")
    simulator = Simulator(robot, ProgramController(Program(robot, still)))
    rates = {"still.rate": [10.0, 20.0, 1000.0, 2000.0]}
    with pytest.raises(ModelError, match=r"lane 2: a step of 0\.01 s is too long .* 'still': RK4 multiplies"):
        simulator.run(Q[0], [0.1, 0.0], 0.1, step=1e-2, controller_p=rates)


def test_a_start_off_natural_constraints_is_reported_with_its_lane() -> None:
    robot = crank_rocker()
    q = assemble(robot, [0.5, 0.5, 1.5], fixed=["crank"]).q
    starts = np.array([q, q, q]) + np.outer([0.0, 1e-3, 1e-2], [0.0, 1.0, 0.0])
    with pytest.warns(StartWarning, match="lane 1, first of 2 such: .* violates its natural constraint"):
        Simulator(robot).run(starts, np.zeros(3), 0.01, step=1e-3)


def test_a_start_with_dependent_rows_is_reported_with_its_lane() -> None:
    """A parallelogram in which all bars lie on the ground."""
    robot = four_bar(bar(0.4, 1.0), bar(1.0, 1.0), bar(0.4, 1.0), ground=(1.0, 0.0), inputs=())
    with pytest.raises(ModelError, match=r"lane 1: four-bar linkage: .* or vanish: 'coupler pin\[0\]'"):
        Simulator(robot).run([[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]], np.zeros(3), 0.01, step=1e-3)


def test_an_interrupt_between_lanes_keeps_the_lanes_before() -> None:
    shares: list[float] = []

    def interrupt(share: float) -> None:
        shares.append(share)
        if share > 0.5:
            raise KeyboardInterrupt

    robot = two_link_arm()
    simulator = Simulator(robot, Constant(robot, 0.1, 0.0))
    with pytest.raises(SimulationInterrupted, match="interrupted after 1 of 3 lanes") as caught:
        simulator.run(Q, V, 1.0, step=1e-3, progress=interrupt)
    kept: Any = caught.value.trajectory
    assert isinstance(kept, Trajectories)
    assert shares == sorted(shares)
    whole = simulator.run_batch(Q, V, 1.0, step=1e-3)
    assert kept.count.tolist() == [1001, 600, 0]
    assert kept.endings == ("the duration is over", "interrupted", "interrupted")
    for i, n in enumerate(kept.count):
        np.testing.assert_array_equal(kept[i].q, whole.q[i, :n])
    assert np.isnan(kept.end_time[2])
    assert np.isnan(kept.final_q[2]).all()


def test_an_interrupt_within_a_controller_is_one_of_the_batch() -> None:
    robot = two_link_arm()
    troubled = Troubled(robot, limited=9.0, held=9.0, stop=0.05)
    with pytest.raises(SimulationInterrupted, match="after 0 of 2 lanes") as caught:
        Simulator(robot, troubled).run(Q[:2], V, 0.1, step=1e-2)
    kept: Any = caught.value.trajectory
    assert kept.count.tolist() == [5, 0]


def test_a_mistake_in_a_controller_is_reported_with_its_lane() -> None:
    """It would be made in every lane: it is raised, not counted among what befell a motion."""

    class Shapeless(Constant):
        def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
            return Tick(np.zeros(2 if np.asarray(q)[0] < 0.45 else 3))

    robot = two_link_arm()
    with pytest.raises(ModelError, match=r"must return an output of shape \(2,\), got shape \(3,\)") as caught:
        Simulator(robot, Shapeless(robot)).run(Q, V, 0.01, step=1e-3)
    assert caught.value.__notes__ == ["in lane 2 of 3"]


def test_progress_is_of_all_lanes() -> None:
    shares: list[float] = []
    robot = two_link_arm()
    Simulator(robot, Constant(robot, 0.1, 0.0)).run(Q, V, 0.25, step=1e-3, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert any(abs(share - 1 / 3) < 1e-12 for share in shares)
