"""Numbers of the ready scenarios."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys

import numpy as np
import pytest

from erugin.scenarios import Scenario, Setup, catalogue
from erugin.scenarios.catalogue import two_link_arm_moving_obstacle as scenario
from erugin.scenarios.catalogue.two_link_arm import DISC, PATH
from erugin.scenarios.scenario import find
from erugin.simulation import SimulationError, Trajectory
from erugin.symbolic import EruginError, ModelError, ParameterError


def ran(setup: Setup) -> Trajectory:
    """The motion of a setup without phases."""
    motion = setup.run()
    assert isinstance(motion, Trajectory)
    return motion


def test_the_arm_avoids_the_disc_and_reaches_the_end() -> None:
    setup = scenario.prepare({})
    trajectory = ran(setup)
    tip = trajectory.evaluate(setup.robot.points["tip"])
    assert trajectory.ending.startswith("the stop condition")
    assert 8.0 < trajectory.t[-1] < 11.0
    np.testing.assert_allclose(tip[0], PATH.at(0.0), atol=1e-12)
    assert np.linalg.norm(tip[-1] - PATH.at(PATH.length)) < 1e-3
    disc = DISC.parameters.nominal
    center = [disc["disc.x"], disc["disc.y"]] + trajectory.t[:, None] * [disc["disc.vx"], disc["disc.vy"]]
    clearance = np.linalg.norm(tip - center, axis=1) - disc["disc.radius"]
    assert 0.05 <= clearance.min() < 0.055
    off = trajectory.evaluate(PATH.functions(setup.robot.points["tip"], setup.robot.t))
    assert 0.05 < np.abs(off).max() < 0.15
    assert np.abs(off[-1]) < 1e-4
    # At rest at the start: the deviation is the cruise speed there, and decays.
    assert np.linalg.norm(trajectory.deviation[0]) == pytest.approx(0.18, rel=1e-3)
    assert np.abs(trajectory.deviation[trajectory.t > 4.0]).max() < 1e-8
    assert np.abs(trajectory.u).max() < 40.0


@pytest.mark.slow
def test_without_the_field_avoiding_it_the_disc_would_be_hit() -> None:
    setup = scenario.prepare({"disc.x": "5", "disc.vx": "0", "disc.vy": "0"})
    trajectory = ran(setup)
    tip = trajectory.evaluate(setup.robot.points["tip"])
    disc = DISC.parameters.nominal
    center = [disc["disc.x"], disc["disc.y"]] + trajectory.t[:, None] * [disc["disc.vx"], disc["disc.vy"]]
    assert (np.linalg.norm(tip - center, axis=1) - disc["disc.radius"]).min() < 0.0


@pytest.mark.parametrize(("given", "sign"), [("left", -1), ("right", 1)])
def test_the_side_can_be_given(given: str, sign: int) -> None:
    setup = scenario.prepare({"side": given, "duration": "6"})
    assert setup.nominal["field.side"] == sign


@pytest.mark.slow
def test_ideal_and_actuated_give_one_motion() -> None:
    one = ran(scenario.prepare({"duration": "2"}))
    two = ran(scenario.prepare({"duration": "2", "realization": "ideal"}))
    np.testing.assert_allclose(one.q, two.q, atol=1e-11)
    np.testing.assert_allclose(one.u, two.u, atol=1e-8)


def test_what_cannot_be_set_is_refused_with_reasons() -> None:
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
    with pytest.raises(ModelError, match=r"the start of 'follow' lies 0\.\d+ m beyond the boundary of 'disc'"):
        scenario.prepare({"disc.x": "0.8", "disc.y": "-0.5"})


def test_a_path_that_leaves_the_reach_stops_with_the_part_before() -> None:
    # With a shorter link the start can be reached, the way round the far side of a disc that stays cannot.
    with pytest.raises(SimulationError, match=r"follow\[0\]") as caught:
        scenario.prepare({"side": "right", "l2": "0.4", "disc.x": "0.9", "disc.vx": "0"}).run()
    assert len(caught.value.trajectory) > 100


def test_a_disc_too_near_for_a_start_from_rest_is_refused() -> None:
    with pytest.raises(ModelError, match=r"the disc is 0\.01 m from the start, but from rest the tip can slip 0\.0588"):
        scenario.prepare({"disc.x": "0.9", "disc.y": "-0.55"})


def test_a_rate_too_fast_for_the_step_is_refused_and_the_side_given_once() -> None:
    with pytest.raises(ModelError, match=r"'follow'.*Use at most 0\.00055 s"):
        scenario.prepare({"follow.rate": "5000"}).run()
    with pytest.raises(ParameterError, match="give one of them"):
        scenario.prepare({"side": "left", "field.side": "1"})


# The catalogue -------------------------------------------------------------------------------------------------------


def scenarios_of_modules() -> dict[str, list[Scenario]]:
    """Those that each module of the catalogue makes itself."""
    found: dict[str, list[Scenario]] = {}
    for module in pkgutil.iter_modules(catalogue.__path__, f"{catalogue.__name__}."):
        values = vars(importlib.import_module(module.name)).values()
        own = [x for x in values if isinstance(x, Scenario) and x.function.__module__ == module.name]
        if own:
            found[module.name] = own
    return found


def test_the_catalogue_lists_every_scenario_once_by_name() -> None:
    made = [each for own in scenarios_of_modules().values() for each in own]
    assert set(made) == set(catalogue.SCENARIOS)
    assert len(made) == len(catalogue.SCENARIOS) == len({each.name for each in made}) >= 19
    assert [each.name for each in catalogue.SCENARIOS] == sorted(each.name for each in catalogue.SCENARIOS)
    exported = {name for name in catalogue.__all__ if name != "SCENARIOS"}
    assert exported == {each.function.__name__ for each in made}


@pytest.mark.parametrize(
    ("module", "own"), scenarios_of_modules().items(), ids=lambda x: x if isinstance(x, str) else ""
)
def test_a_scenario_states_what_to_expect(module: str, own: list[Scenario]) -> None:
    (each,) = own
    assert re.fullmatch(r"[a-z0-9-]+", each.name)
    assert each.summary.endswith(".")
    assert "Expect" in each.description


@pytest.mark.parametrize("each", catalogue.SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scenario_has_expectations_and_what_studies_need_is_in_the_plants_symbols(each: Scenario) -> None:
    setup = each()
    assert any(measure.expected is not None for measure in setup.measures.values())
    for measure in setup.measures.values():
        assert measure.expected is None or measure.expected[0] <= measure.expected[1]
    for expression in (setup.error, setup.clearance):
        if expression is not None:
            assert expression.shape == (1, 1)
            setup.robot.require_own_symbols("it", expression)
    for name in setup.randomization:
        kind, _, rest = name.partition(".")
        law = () if setup.controller is None else setup.controller.parameters.names
        coordinates = setup.robot.coordinates.names
        allowed = {"q0": coordinates, "v0": coordinates, "plant": setup.robot.parameters.names, "law": law}
        assert rest in allowed[kind] if kind in allowed else name in setup.parameters


def test_importing_the_catalogue_brings_no_matplotlib() -> None:
    program = "import sys, erugin.scenarios.catalogue; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("larin-pendulum", {"height": "2"}, "height must be between -1 and 1, on a sphere of 1 m, got 2.0"),
        ("two-wheel-clothoid", {"bend": "0"}, "bend must be greater than zero, got 0.0"),
        ("tumbling-body", {"wobble": "9"}, "wobble must be greater than zero and less than the spin 5, got 9.0"),
        ("n-four-bar", {"cells": "0"}, "cells must be at least 1, got 0"),
        ("standing-up", {"rise": "0"}, "rise must be greater than zero, got 0.0"),
    ],
)
def test_settings_without_such_a_motion_are_refused(name: str, given: dict[str, str], message: str) -> None:
    with pytest.raises(EruginError, match=f"^{re.escape(message)}$"):
        find(name, catalogue.SCENARIOS).prepare(given)
