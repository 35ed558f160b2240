"""Motions that Drake integrates, with laws here, beside those of a simulation here."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges import drake
from erugin.bridges.drake.log_capture import drake_errors
from erugin.controllers import Controller, Status
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.scenarios.catalogue import two_link_arm_moving_obstacle
from erugin.simulation import SimulationError
from erugin.symbolic import BridgeError, EruginError, ModelError, SingularProgramError

from .bridge_simulators import (
    ROBOTS,
    Called,
    Shaken,
    adaptive,
    apart,
    chain,
    floating,
    panda,
    start,
    tracking,
    true_motion,
)

Array = NDArray[np.float64]


def test_the_scenario_of_the_moving_obstacle_runs_as_here() -> None:
    setup = two_link_arm_moving_obstacle()
    state, p, controller_p = (np.array(setup.q0), np.array(setup.v0)), setup.p, setup.controller_p
    here = true_motion(setup.robot, setup.controller, 0.6, 0.01, state=state, p=p, controller_p=controller_p)
    there = drake.simulate(
        setup.robot, setup.controller, *state, 0.6, step=0.01, substeps=2, p=p, controller_p=controller_p
    )
    assert apart(here, there) < 1e-8
    np.testing.assert_allclose(there.u, here.u, atol=1e-7)
    np.testing.assert_allclose(there.deviation, here.deviation, atol=1e-8)
    np.testing.assert_allclose(there.energy, here.energy, atol=1e-7)
    assert np.abs(here.q[-1] - here.q[0]).max() > 0.05
    assert there.ok


@pytest.mark.slow
def test_the_scenario_runs_as_here_to_its_end() -> None:
    setup = two_link_arm_moving_obstacle()
    state, p, controller_p = (np.array(setup.q0), np.array(setup.v0)), setup.p, setup.controller_p
    here = true_motion(setup.robot, setup.controller, 8.0, 0.01, state=state, p=p, controller_p=controller_p)
    there = drake.simulate(
        setup.robot, setup.controller, *state, 8.0, step=0.01, substeps=2, p=p, controller_p=controller_p
    )
    assert apart(here, there) < 1e-9


@pytest.mark.parametrize("make", ROBOTS.values(), ids=ROBOTS)
def test_a_law_of_forces_moves_the_plant_as_the_robot(make: Callable[[], Robot]) -> None:
    robot = make()
    law = Shaken(robot)
    here = true_motion(robot, law, 0.2, 0.02)
    there = drake.simulate(robot, law, *start(robot), 0.2, step=0.02, substeps=20)
    assert apart(here, there) < 1e-8
    assert np.abs(here.q[-1] - here.q[0]).max() > 0.05


@pytest.mark.parametrize("robot", [chain(3, absolute=True), panda()], ids=["three links, absolute", "panda"])
def test_a_program_law_of_torques_moves_the_plant_as_the_robot(robot: Robot) -> None:
    law = tracking(robot)
    here = true_motion(robot, law, 0.4, 0.02)
    there = drake.simulate(robot, law, *start(robot), 0.4, step=0.02, substeps=4)
    assert apart(here, there) < 1e-8
    np.testing.assert_allclose(there.u, here.u, atol=1e-6)


def test_a_free_motion_needs_no_law() -> None:
    robot = floating()
    here = true_motion(robot, None, 0.3, 0.01)
    there = drake.simulate(robot, None, *start(robot), 0.3, step=0.01, substeps=4)
    assert apart(here, there) < 1e-8
    assert there.u.shape == (31, 0)


def test_the_error_of_equal_steps_falls_with_the_order_of_drakes_integrator() -> None:
    robot = chain()
    law = Shaken(robot)
    true = true_motion(robot, law, 0.5, 0.05)
    errors = [
        apart(true, drake.simulate(robot, law, *start(robot), 0.5, step=h, integrator="runge_kutta3"))
        for h in (0.0125, 0.00625, 0.003125)
    ]
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(orders > 2.8)
    assert np.all(orders < 3.4)


def test_an_accuracy_is_kept_by_an_integrator_that_controls_its_error() -> None:
    robot = chain()
    law = Shaken(robot)
    true = true_motion(robot, law, 0.2, 0.02)
    rough, fine = (
        drake.simulate(robot, law, *start(robot), 0.2, step=0.02, integrator="runge_kutta3", accuracy=a)
        for a in (1e-4, 1e-8)
    )
    assert apart(true, fine) < 1e-8 < apart(true, rough)


def test_a_discrete_plant_comes_nearer_with_its_step() -> None:
    robot = chain()
    law = Shaken(robot)
    true = true_motion(robot, law, 0.4, 0.02)
    errors = [apart(true, drake.simulate(robot, law, *start(robot), 0.4, step=0.02, time_step=h)) for h in (2e-3, 1e-3)]
    assert 1.7 < errors[0] / errors[1] < 2.3


def test_parameters_and_time_are_those_that_were_given() -> None:
    robot = chain()
    law = Shaken(robot)
    p, controller_p = {"m1": 3.0, "g": 2.0}, {"f": 3.0}
    here = true_motion(robot, law, 0.4, 0.02, p=p, controller_p=controller_p, t0=5.0)
    there = drake.simulate(
        robot, law, *start(robot), 0.4, step=0.02, p=p, controller_p=controller_p, t0=5.0, substeps=4
    )
    assert apart(here, there) < 1e-8
    assert there.t[0] == 5.0


def test_a_law_that_remembers_runs_as_here() -> None:
    law = adaptive()
    robot = law.robot
    p = {"m2": 2.5}
    here = simulate(robot, law, *start(robot), 0.3, step=0.0025, p=p)
    estimate = law.estimates["m2"]
    there = drake.simulate(robot, law, *start(robot), 0.3, step=0.0025, p=p)
    assert apart(here, there) < 1e-8
    assert law.estimates["m2"] == pytest.approx(estimate, abs=1e-8)
    assert abs(estimate - 1.5) > 1e-3


def test_a_law_that_has_to_stop_ends_the_run_with_its_log() -> None:
    robot = chain()

    def law(t: float, q: Array, v: Array) -> Array:
        if t > 0.055:
            raise SingularProgramError("the arm is stretched out")
        return np.zeros(2)

    with pytest.raises(SimulationError, match=r"after t = 0.05 s: the arm is stretched out.*q = \[") as caught:
        drake.simulate(robot, Called(robot, law), *start(robot), 1.0, step=0.01)
    assert caught.value.status is Status.SINGULAR
    assert len(caught.value.trajectory) == 6


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_a_motion_that_diverges_ends_with_its_log() -> None:
    robot = chain()
    law: Controller = Called(robot, lambda t, q, v: 50.0 * v**3 + 1.0, force=True)
    with pytest.raises(SimulationError, match=r"t = .*The last state: q = ") as caught:
        drake.simulate(robot, law, *start(robot), 1.0, step=0.01)
    assert 1 <= len(caught.value.trajectory) < 50
    assert np.isfinite(caught.value.trajectory.q[0]).all()


def test_an_integrator_that_drake_does_not_have_is_refused() -> None:
    robot = chain()
    with pytest.raises(BridgeError, match=r"no integrator 'rk9'.*runge_kutta5"):
        drake.simulate(robot, None, *start(robot), 0.1, step=0.01, integrator="rk9")  # type: ignore[arg-type]
    with pytest.raises(BridgeError, match="accuracy=None"):
        drake.simulate(robot, None, *start(robot), 0.1, step=0.01, integrator="explicit_euler", accuracy=1e-6)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"time_step": -1.0}, "time_step must not be negative"),
        ({"time_step": -1e-12}, "time_step must not be negative"),
        ({"time_step": 1e-17}, "steps of Drake in one interval of 0.01 s are more than 1,000,000"),
        ({"time_step": 1e-300}, "more than float64 can count"),
        ({"substeps": 10**9}, "1,000,000,000 steps of Drake in one interval"),
        ({"accuracy": 1e-17}, "accuracy must be at least 1e-13, below which lies rounding"),
        ({"accuracy": -1.0}, "accuracy must be greater than zero"),
        ({"t0": np.nan}, "t0 must be finite"),
        ({"step": -0.1}, "step must be greater than zero"),
        ({"integrator": "cenic"}, "Drake refuses the integrator 'cenic' for this plant"),
    ],
)
def test_a_number_that_would_end_the_process_or_never_end_is_refused(wrong: dict[str, Any], said: str) -> None:
    """Drake answers some of these by SystemExit, and others by steps that it takes without end."""
    with pytest.raises(EruginError, match=said):
        drake.simulate(chain(), None, [0.2, 0.9], [0.0, 0.0], 0.05, **{"step": 1e-2, **wrong})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("time_step", [-1.0, -1e-300, np.nan, -np.inf])
def test_a_plant_is_not_made_with_a_time_step_that_drake_asserts_against(time_step: float) -> None:
    for robot in (chain(), chain(3, absolute=True)):
        with pytest.raises(ModelError, match="time_step must"):
            drake.export(robot, time_step=time_step)


@pytest.mark.parametrize("mass", [1e-320, 1e300])
def test_bodies_that_drake_refuses_are_told_with_the_robot(mass: float) -> None:
    with pytest.raises(BridgeError, match=f"Drake refuses the bodies of {chain().name}"):
        drake.export(chain(), p={"m1": mass})


def test_an_assertion_of_drake_becomes_an_error_of_this_library() -> None:
    multibody: Any = importlib.import_module("pydrake.multibody.plant")
    with pytest.raises(BridgeError, match=r"Drake refuses a plant: .*time_step >= 0"), drake_errors("a plant"):
        multibody.MultibodyPlant(-1.0)


def test_a_model_instance_that_the_plant_does_not_have_is_refused() -> None:
    tree: Any = importlib.import_module("pydrake.multibody.tree")
    plant = drake.export(chain())
    for wrong in (0, -1, "chain", tree.ModelInstanceIndex(99)):
        with pytest.raises(BridgeError, match="model_instance must be one that the plant has"):
            drake.match(chain(), plant, model_instance=wrong)
