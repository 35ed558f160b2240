"""Numbers of the catalogue's arms, wheels and crane: at a reduced length in little time, and in full."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.scenarios import Scenario, Setup
from erugin.scenarios.catalogue import (
    acrobot,
    crane_servo_constraint,
    motor_driven_arm,
    n_link_arm,
    seven_joint_arm_on_a_sphere,
    two_arms_synchronised,
    two_link_arm_moving_obstacle,
    two_wheel_clothoid,
    two_wheel_moving_obstacles,
)
from erugin.scenarios.catalogue.two_wheel_obstacles import PATH, PEOPLE
from erugin.simulation import Trajectory
from erugin.symbolic import ParameterError

EVERY = (
    acrobot,
    crane_servo_constraint,
    motor_driven_arm,
    n_link_arm,
    seven_joint_arm_on_a_sphere,
    two_arms_synchronised,
    two_link_arm_moving_obstacle,
    two_wheel_clothoid,
    two_wheel_moving_obstacles,
)


def ran(setup: Setup) -> Trajectory:
    """The motion of a setup without phases."""
    motion = setup.run()
    assert isinstance(motion, Trajectory)
    return motion


def measured(setup: Setup) -> dict[str, float]:
    """The measures by name, of a motion in which every number is finite."""
    motion = ran(setup)
    assert np.isfinite(motion.q).all()
    return {one.name: one.value for one in setup.measure(motion)}


def assert_as_expected(setup: Setup) -> None:
    """Every measure lies in the range that is expected of it, and some range is."""
    reported = setup.measure(ran(setup))
    assert any(one.expected is not None for one in reported)
    assert [one for one in reported if not one.as_expected] == []


@pytest.mark.slow
@pytest.mark.parametrize("scenario", EVERY, ids=lambda scenario: scenario.name)
def test_in_full_every_measure_is_as_expected(scenario: Scenario) -> None:
    assert_as_expected(scenario())


@pytest.mark.slow
def test_chains_of_two_and_of_thirty_links() -> None:
    assert_as_expected(n_link_arm(links=2))
    setup = n_link_arm(links=30, duration=2.0)
    motion = ran(setup)
    assert motion.q.shape[1] == 30
    reported = {one.name: one.value for one in setup.measure(motion)}
    # Its fastest links swing in a twentieth of a second: at this step Baumgarte's closed form is kept to a micrometre.
    assert reported["tip error, difference from the closed form"] < 2e-3
    assert abs(reported["work of the drives minus energy gained"]) < 1e-4


# At a reduced length ----------------------------------------------------------------------------------------------


def test_a_chain_is_driven_by_its_tip_alone() -> None:
    for links in (2, 5):
        setup = n_link_arm(links=links, duration=0.5)
        reported = measured(setup)
        assert reported["tip error, difference from the closed form"] < 1e-6
        assert abs(reported["work of the drives minus energy gained"]) < 1e-4
    with pytest.raises(ParameterError, match="links must be 2 to 30, got 31"):
        n_link_arm(links=31)


def test_the_clothoid_is_that_of_fresnels_integrals() -> None:
    reported = measured(two_wheel_clothoid(duration=2.0, bend=1.5))
    assert reported["distance of the nose from Euler's spiral"] < 1e-8
    assert reported["speed, error"] < 1e-12


def test_from_a_wrong_start_a_program_of_second_order_draws_beside_its_plan() -> None:
    setup = two_wheel_clothoid(duration=2.0)
    start = np.array(setup.q0) + np.array([0.0, 0.1, 0.0, 0.0, 0.0])
    nose = setup.robot.points["nose"]
    beside = ran(setup).evaluate(nose) + np.array([0.0, 0.1])
    motion = setup.simulator.run(start, setup.v0, 2.0, step=setup.step)
    np.testing.assert_allclose(motion.evaluate(nose), beside, atol=1e-12)


def test_the_crane_needs_the_authors_forces() -> None:
    setup = crane_servo_constraint(duration=2.0)
    reported = measured(setup)
    assert reported["distance of the load from its path"] < 1e-9
    assert reported["force on the trolley, error"] < 1e-6
    assert reported["moment of the winch, error"] < 1e-6
    # And finds back onto the path.
    motion = ran(crane_servo_constraint(duration=2.0, off=0.05, rate=8.0))
    assert np.abs(motion.deviation[0]).max() > 0.04
    assert np.abs(motion.deviation[-1]).max() < 1e-3


def test_electric_work_is_energy_and_heat() -> None:
    reported = measured(motor_driven_arm(duration=1.0, off=0.02))
    assert abs(reported["electric work minus energy and heat"]) < 1e-5
    assert reported["deviation of the joints"] == pytest.approx(0.02 * np.sqrt(2.0), rel=1e-4)
    assert 2.0 < reported["largest voltage"] < 24.0


def test_two_arms_keep_their_distance() -> None:
    reported = measured(two_arms_synchronised(duration=1.0))
    assert reported["error, difference from the closed form"] < 1e-6
    assert reported["distance of the leading tip from its path"] < 1e-6
    still = ran(two_arms_synchronised(duration=0.5, off=0.0))
    assert np.abs(still.deviation).max() < 1e-11


def test_the_acrobot_gains_energy_within_its_limit() -> None:
    motion = ran(acrobot(duration=1.0))
    assert np.abs(motion.u).max() == 5.0
    # It takes 7.6 J to stand up; the run of the leaderboard has more than half of it after a second.
    assert 2.0 < motion.energy[-1] - motion.energy[0] < 12.0


@pytest.mark.slow
def test_the_robot_avoids_the_first_of_two_people() -> None:
    setup = two_wheel_moving_obstacles(duration=7.0)
    assert setup.error is not None
    assert setup.clearance is not None
    motion = ran(setup)
    gap, off = motion.evaluate(setup.clearance), motion.evaluate(setup.error)
    nose, t = motion.evaluate(setup.robot.points["nose"]), motion.t[:, None]
    places = [np.array([p.parameters.nominal[f"{p.name}.{key}"] for key in ("x", "y", "vx", "vy")]) for p in PEOPLE]
    apart = [np.linalg.norm(nose - (place[:2] + t * place[2:]), axis=1) - 0.2 for place in places]
    np.testing.assert_allclose(gap, np.min(apart, axis=0), atol=1e-9)
    assert gap.min() > 0.1
    np.testing.assert_allclose(off[0], 0.0, atol=1e-12)
    assert np.abs(PATH.at(0.0) - nose[0]).max() < 1e-12


@pytest.mark.foreign
def test_the_pen_is_on_the_sphere_until_the_ball_comes() -> None:
    setup = seven_joint_arm_on_a_sphere(duration=1.0)
    motion = ran(setup)
    pen = motion.evaluate(setup.robot.frames["panda_hand_tcp"].position)
    assert np.abs(np.linalg.norm(pen - [0.5, 0.0, 0.35], axis=1) - 0.15).max() < 3e-3
    assert setup.clearance is not None
    assert motion.evaluate(setup.clearance).min() > 0.2
    upright = motion.evaluate(setup.robot.frames["panda_hand_tcp"].rotation[2, 2])
    np.testing.assert_allclose(upright, -1.0, atol=1e-12)
