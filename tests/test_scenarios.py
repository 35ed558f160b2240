"""Numbers of the ready scenarios."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.scenarios import SimulationError
from erugin.scenarios.catalogue import TwoLinkArmMovingObstacle
from erugin.symbolic import ModelError, ParameterError


def test_the_arm_goes_round_the_disc_and_reaches_the_end() -> None:
    scenario = TwoLinkArmMovingObstacle()
    trajectory = scenario.prepare({}).run()
    tip = trajectory.evaluate(scenario.robot.points["tip"])
    assert trajectory.ending.startswith("the stop condition")
    assert 8.0 < trajectory.t[-1] < 11.0
    np.testing.assert_allclose(tip[0], scenario.path.at(0.0), atol=1e-12)
    assert np.linalg.norm(tip[-1] - scenario.path.at(scenario.path.length)) < 1e-3
    disc = scenario.disc.parameters.nominal
    center = [disc["disc.x"], disc["disc.y"]] + trajectory.t[:, None] * [disc["disc.vx"], disc["disc.vy"]]
    clearance = np.linalg.norm(tip - center, axis=1) - disc["disc.radius"]
    assert 0.05 <= clearance.min() < 0.055
    off = trajectory.evaluate(scenario.path.functions(scenario.robot.points["tip"], scenario.robot.t))
    assert 0.05 < np.abs(off).max() < 0.15
    assert np.abs(off[-1]) < 1e-4
    # At rest at the start: the deviation is the cruise speed there, and decays.
    assert np.linalg.norm(trajectory.deviation[0]) == pytest.approx(0.18, rel=1e-3)
    assert np.abs(trajectory.deviation[trajectory.t > 4.0]).max() < 1e-8
    assert np.abs(trajectory.u).max() < 40.0


def test_without_the_field_avoiding_it_the_disc_would_be_hit() -> None:
    scenario = TwoLinkArmMovingObstacle()
    trajectory = scenario.prepare({"disc.x": "5", "disc.vx": "0", "disc.vy": "0"}).run()
    tip = trajectory.evaluate(scenario.robot.points["tip"])
    disc = scenario.disc.parameters.nominal
    center = [disc["disc.x"], disc["disc.y"]] + trajectory.t[:, None] * [disc["disc.vx"], disc["disc.vy"]]
    assert (np.linalg.norm(tip - center, axis=1) - disc["disc.radius"]).min() < 0.0


@pytest.mark.parametrize(("given", "sign"), [("left", -1), ("right", 1)])
def test_the_side_can_be_given(given: str, sign: int) -> None:
    scenario = TwoLinkArmMovingObstacle()
    setup = scenario.prepare({"side": given, "duration": "6"})
    assert setup.parameters["field.side"] == sign


def test_ideal_and_actuated_give_one_motion() -> None:
    scenario = TwoLinkArmMovingObstacle()
    one = scenario.prepare({"duration": "2"}).run()
    two = scenario.prepare({"duration": "2", "realization": "ideal"}).run()
    np.testing.assert_allclose(one.q, two.q, atol=1e-11)
    np.testing.assert_allclose(one.u, two.u, atol=1e-8)


def test_what_cannot_be_set_is_refused_with_reasons() -> None:
    scenario = TwoLinkArmMovingObstacle()
    with pytest.raises(
        ParameterError, match=r"unknown setting or parameter .* 'disc.radus'. Did you mean 'disc.radius'"
    ):
        scenario.prepare({"disc.radus": "0.1"})
    with pytest.raises(ParameterError, match="duration must be a number, got 'long'"):
        scenario.prepare({"duration": "long"})
    with pytest.raises(ParameterError, match="realization must be one of actuated, ideal, got 'magic'"):
        scenario.prepare({"realization": "magic"})
    with pytest.raises(ParameterError, match=r"'m1' must be greater than zero, got -1\.0"):
        scenario.prepare({"m1": "-1"})
    with pytest.raises(ModelError, match=r"the start .* lies inside 'disc', 0\.\d+ m deep"):
        scenario.prepare({"disc.x": "0.8", "disc.y": "-0.5"})


def test_a_path_that_leaves_the_reach_stops_with_the_part_before() -> None:
    scenario = TwoLinkArmMovingObstacle()
    # With a shorter link the start can be reached, the way round the far side of the disc cannot.
    with pytest.raises(SimulationError, match=r"follow\[1\]") as caught:
        scenario.prepare({"side": "right", "l2": "0.4"}).run()
    assert len(caught.value.trajectory) > 100


def test_a_disc_too_near_for_a_start_from_rest_is_refused() -> None:
    with pytest.raises(ModelError, match=r"the disc is 0\.01 m from the start, but from rest the tip can slip 0\.02"):
        TwoLinkArmMovingObstacle().prepare({"disc.x": "0.9", "disc.y": "-0.55"})


def test_a_rate_too_fast_for_the_step_is_refused_and_the_side_given_once() -> None:
    with pytest.raises(ModelError, match=r"'follow'.*Take at most 0\.00055 s"):
        TwoLinkArmMovingObstacle().prepare({"follow.rate": "5000"}).run()
    with pytest.raises(ParameterError, match="give one of them"):
        TwoLinkArmMovingObstacle().prepare({"side": "left", "field.side": "1"})
