"""What episodes begin with: each seed draws what it draws in a comparison, whenever it is drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from erugin.bridges.gymnasium import export, export_vector
from erugin.bridges.gymnasium.episode_starts import BUFFER_DEPTH, later_seeds
from erugin.scenarios import Normal, Setup, Trial, sample
from erugin.symbolic import ParameterError

from .compared import swing


@pytest.fixture(scope="module")
def setup() -> Setup:
    return swing(0.02)


def test_episodes_that_follow_a_seed_differ_and_come_again(setup: Setup) -> None:
    env = export(setup)
    first = [env.reset(seed=3)[1]["seed"], *(env.reset()[1]["seed"] for _ in range(3))]
    again = [env.reset(seed=3)[1]["seed"], *(env.reset()[1]["seed"] for _ in range(3))]
    assert first == again
    assert first[0] == 3
    assert len(set(first)) == 4
    assert env.reset(seed=4)[1]["seed"] == 4
    assert env.reset()[1]["seed"] not in first


def test_seeds_of_later_episodes_are_all_different() -> None:
    seeds, episodes = (x.ravel() for x in np.meshgrid(np.arange(300), np.arange(300)))
    later = later_seeds(seeds, episodes)
    assert np.array_equal(later[episodes == 0], seeds[episodes == 0])
    assert len(np.unique(later)) == len(later)
    assert later.min() >= 0


def test_starts_that_were_drawn_ahead_are_those_of_their_seeds(setup: Setup) -> None:
    env, nominal = export(setup, dictionary=True), Trial.of(setup, "law", setup.controller).nominal
    seen, info = env.reset(seed=11)
    for _ in range(2 * BUFFER_DEPTH + 3):
        assert seen["q"][0] == sample(setup.varied, [info["seed"]], nominal)["q0.q1"][0]
        seen, info = env.reset()


def test_lanes_that_end_apart_draw_apart(setup: Setup) -> None:
    """Each lane's starts, in their order, are those of a single environment of its seed."""
    apart = replace(setup, stop=setup.robot.q[0] - 0.36)
    many, one = export_vector(apart, 5), export(apart)
    many.reset(seed=3)
    starts: list[list[float]] = [[] for _ in range(5)]
    for _ in range(150):
        seen, _, _, _, info = many.step(np.zeros((5, 2)))
        for lane in np.flatnonzero(info.get("_seed", np.zeros(5))).tolist():
            starts[lane].append(float(seen[lane, 0]))
    counts = [len(each) for each in starts]
    assert min(counts) > BUFFER_DEPTH / 2
    assert max(counts) > BUFFER_DEPTH
    assert len(set(counts)) > 1
    for lane, found in enumerate(starts):
        one.reset(seed=3 + lane)
        assert found == [float(one.reset()[0][0]) for _ in found]


def test_a_value_out_of_its_range_stops_the_episode_that_has_it_and_no_other(setup: Setup) -> None:
    varied = {"plant.m1": Normal(1.0, 0.7)}
    drawn = sample(varied, later_seeds(np.full(60, 5), np.arange(60)))["plant.m1"]
    bad = int(np.argmax(drawn <= 0.0))
    assert bad > 1
    env = export(setup, varied=varied)
    env.reset(seed=5)
    for _ in range(1, bad):
        env.reset()
    with pytest.raises(ParameterError, match="m1"):
        env.reset()
