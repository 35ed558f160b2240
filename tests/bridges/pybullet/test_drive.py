"""Laws that drive bodies of PyBullet, beside a simulation here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges import pybullet as bridge
from erugin.bridges.pybullet.client import world
from erugin.controllers import Status
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.scenarios.catalogue import two_link_arm_moving_obstacle
from erugin.simulation import SimulationError
from erugin.symbolic import BridgeError, NotFiniteError, SingularProgramError

from ...support.simulator_cases import (
    ROBOTS,
    Called,
    Shaken,
    adaptive,
    apart,
    chain,
    panda,
    start,
    tracking,
    true_motion,
)

pybullet: Any = pytest.importorskip("pybullet")  # it has no wheels for Python 3.12 and later

# Which has no wheels for Python 3.12 and later.


Array = NDArray[np.float64]


def test_the_scenario_of_the_moving_obstacle_comes_nearer_with_the_step() -> None:
    setup = two_link_arm_moving_obstacle()
    state = np.array(setup.q0), np.array(setup.v0)
    here = true_motion(
        setup.robot, setup.controller, 0.8, 0.01, state=state, p=setup.p, controller_p=setup.controller_p
    )
    errors = [
        apart(
            here,
            bridge.simulate(
                *(setup.robot, setup.controller, *state, 0.8),
                step=0.01,
                p=setup.p,
                controller_p=setup.controller_p,
                substeps=parts,
            ),
        )
        for parts in (4, 8, 16)
    ]
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    assert errors[-1] < 2e-2
    assert np.all(ratios > 1.8)
    assert np.all(ratios < 2.2)


@pytest.mark.slow
def test_steps_of_half_a_millisecond_keep_the_scenario_to_a_milliradian_and_pybullets_damping_does_not() -> None:
    setup = two_link_arm_moving_obstacle()
    state, p, controller_p = (np.array(setup.q0), np.array(setup.v0)), setup.p, setup.controller_p
    here = true_motion(setup.robot, setup.controller, 5.0, 0.01, state=state, p=p, controller_p=controller_p)
    free, damped = (
        bridge.simulate(
            *(setup.robot, setup.controller, *state, 5.0),
            step=0.01,
            substeps=20,
            p=p,
            controller_p=controller_p,
            damping=damping,
        )
        for damping in (0.0, 0.04)
    )
    assert apart(here, free) < 1e-3
    assert apart(here, damped) > 5e-3


@pytest.mark.parametrize("make", ROBOTS.values(), ids=ROBOTS)
def test_the_error_of_a_law_of_forces_is_of_the_first_order(make: Callable[[], Robot]) -> None:
    robot = make()
    law = Shaken(robot)
    here = true_motion(robot, law, 0.2, 0.02)
    errors = [
        apart(here, bridge.simulate(robot, law, *start(robot), 0.2, step=0.02, substeps=parts))
        for parts in (25, 50, 100)
    ]
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    assert errors[-1] < 1e-2
    assert np.all(ratios > 1.85)
    assert np.all(ratios < 2.15)


@pytest.mark.parametrize("robot", [chain(3, absolute=True), panda()], ids=["three links, absolute", "panda"])
def test_the_error_of_a_program_law_is_of_the_first_order(robot: Robot) -> None:
    law = tracking(robot)
    here = true_motion(robot, law, 0.2, 0.02)
    coarse, fine = (
        apart(here, bridge.simulate(robot, law, *start(robot), 0.2, step=0.02, substeps=n)) for n in (20, 40)
    )
    assert 1.85 < coarse / fine < 2.15
    assert fine < 5e-3


def test_a_motion_is_that_of_semi_implicit_euler_steps_here() -> None:
    robot = chain()
    law = Shaken(robot)
    there = bridge.simulate(robot, law, *start(robot), 0.1, step=0.002)
    q, v = start(robot)
    for k in range(50):
        R = law.control(0.002 * k, q, v)
        M, h = robot.evaluate(robot.mass_matrix, q=q), robot.evaluate(robot.bias, q=q, v=v)
        v = v + 0.002 * np.linalg.solve(M, R - h)
        q = q + 0.002 * v
    np.testing.assert_allclose(there.q[-1], q, atol=1e-12)
    np.testing.assert_allclose(there.v[-1], v, atol=1e-12)


def test_pybullets_own_damping_is_an_error_that_stays() -> None:
    robot = chain()
    here = true_motion(robot, None, 0.4, 0.02)
    free, damped = (
        apart(here, bridge.simulate(robot, None, *start(robot), 0.4, step=0.02, substeps=400, damping=d))
        for d in (0.0, 0.04)
    )
    assert free < 2e-3
    assert damped > 10 * free


def test_a_law_that_remembers_takes_in_one_sample_per_step() -> None:
    law = adaptive()
    robot = law.robot
    here = simulate(robot, law, *start(robot), 0.4, step=0.01, p={"m2": 2.5})
    estimate = law.estimates["m2"]
    errors: list[float] = []
    for parts in (10, 20):
        there = bridge.simulate(robot, law, *start(robot), 0.4, step=0.01, p={"m2": 2.5}, substeps=parts)
        errors.append(apart(here, there))
        assert law.estimates["m2"] == pytest.approx(estimate, abs=1e-2)
    assert 1.7 < errors[0] / errors[1] < 2.3


def test_a_body_in_a_users_world_is_driven_step_by_step() -> None:
    robot = chain(3, absolute=True)
    law = tracking(robot)
    with world() as client:
        number = bridge.spawn(robot, client=client)
        driven = bridge.drive(law, number, client=client)
        driven.body.write(*driven.body.states.to_model(*start(robot)))
        pybullet.setTimeStep(1e-3, client)
        output = driven.step(200)
        q, v = driven.state
    there = bridge.simulate(robot, law, *start(robot), 0.2, step=1e-3)
    np.testing.assert_allclose(q, there.q[-1], atol=1e-10)
    np.testing.assert_allclose(v, there.v[-1], atol=1e-10)
    np.testing.assert_allclose(output, there.u[-2], atol=1e-8)
    assert driven.t == pytest.approx(0.2, abs=1e-12)


def test_parameters_measured_in_the_world_become_the_laws() -> None:
    robot = chain()
    with world() as client:
        driven = bridge.drive(Shaken(robot), bridge.spawn(robot, client=client), client=client, p={"f": 2.0})
        first = driven.tick()
        driven.observed({"f": 5.0})
        second = driven.tick()
    np.testing.assert_allclose(first, 2.0 * np.cos([0.0, 1.0]))
    np.testing.assert_allclose(second, 5.0 * np.cos([0.0, 1.0]))


def test_a_law_is_not_given_to_another_body_unless_it_is_meant() -> None:
    robot = chain()
    with world() as client:
        number = bridge.spawn(robot, client=client, p={"m2": 9.0})
        with pytest.raises(BridgeError, match="not the same robot"):
            bridge.drive(tracking(robot), number, client=client)
        assert bridge.drive(tracking(robot), number, client=client, p={"m2": 9.0}).t == 0.0
        assert bridge.drive(tracking(robot), number, client=client, tolerance=None, t0=2.0).t == 2.0


def test_a_body_that_is_the_robot_to_six_digits_is_driven_with_that_tolerance() -> None:
    robot = chain()
    with world() as client:
        number = bridge.spawn(robot, client=client, p={"m2": 1.5000004})
        with pytest.raises(BridgeError, match="not the same robot"):
            bridge.drive(tracking(robot), number, client=client)
        assert bridge.drive(tracking(robot), number, client=client, tolerance=1e-6).body.number == number


def test_a_law_that_has_to_stop_ends_the_run_with_its_log() -> None:
    robot = chain()

    def law(t: float, q: Array, v: Array) -> Array:
        if t > 0.055:
            raise SingularProgramError("the arm is stretched out")
        return np.zeros(2)

    with pytest.raises(SimulationError, match=r"after t = 0.05 s: the arm is stretched out.*q = \[") as caught:
        bridge.simulate(robot, Called(robot, law), *start(robot), 1.0, step=0.01, substeps=2)
    assert caught.value.status is Status.SINGULAR
    assert len(caught.value.trajectory) == 6


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_a_motion_that_diverges_ends_with_its_log() -> None:
    robot = chain()
    law = Called(robot, lambda t, q, v: 50.0 * v**3 + 1.0, force=True)
    with pytest.raises(SimulationError, match=r"after t = .*has diverged: v = .*The last state: q = ") as caught:
        bridge.simulate(robot, law, *start(robot), 1.0, step=0.01)
    assert caught.value.status is Status.NOT_FINITE
    assert 1 <= len(caught.value.trajectory) < 50
    assert np.isfinite(caught.value.trajectory.q).all()
    with world() as client:
        driven = bridge.drive(law, bridge.spawn(robot, client=client), client=client)
        driven.body.write(*start(robot))
        with pytest.raises(NotFiniteError, match="has diverged"):
            driven.step(100)


def test_no_world_is_left_open() -> None:
    robot = chain()
    with world() as before:
        pass
    bridge.simulate(robot, None, *start(robot), 0.02, step=0.01)
    with pytest.raises(SimulationError, match="not finite"):
        bridge.simulate(robot, Called(robot, lambda t, q, v: [np.nan, 0.0]), *start(robot), 0.02, step=0.01)
    with world() as after:
        assert after == before
