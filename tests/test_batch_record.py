"""What is said of a lane depends on its samples alone: not on the other lanes, on blocks or on what is kept."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from erugin.controllers import Controller, Status
from erugin.robots import Robot
from erugin.simulation import Final, Integral, Largest, Mean, Metric, RootMeanSquare
from erugin.simulation.closed_loop import ClosedLoop
from erugin.simulation.record import Record, RunSettings

from .mechanisms import crank_rocker

Array = NDArray[np.float64]
LANES, SAMPLES = 6, 230
METRICS: dict[str, Metric] = {
    "work": Integral(crank_rocker().t),
    "mean": Mean(crank_rocker().t),
    "rms": RootMeanSquare(crank_rocker().t),
    "most": Largest(crank_rocker().t),
    "end": Final(crank_rocker().t),
}


class TwoRows(Controller):
    """As much of a controller as a record looks at."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    @property
    def rows(self) -> tuple[str, ...]:
        return ("a", "b")

    @property
    def tolerance(self) -> float:
        return 1e-9

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> Array:
        return np.zeros(0)


@dataclass(frozen=True)
class Loop:
    """As much of a closed loop."""

    robot: Robot
    nx: int
    sizes: dict[str, int]


def loop(switches: bool) -> Loop:
    robot = crank_rocker()
    k, nx = len(robot.natural_rows), robot.coordinates.nq + robot.coordinates.nv
    sizes = {
        "output": 2,
        "deviation": 2,
        "pivots": 2,
        "relative_pivots": 2,
        "active": 2 if switches else 0,
        "status": 0,
    }
    sizes |= {"energy": 1, "stop": 1, "natural_pivots": k, "natural_relative_pivots": k, "metrics": len(METRICS)}
    return Loop(robot, nx, sizes)


@functools.cache
def samples(seed: int, switches: bool) -> dict[str, Array]:
    """Smooth pivots that fall, cross zero, and stay away from it; now and then something that is not finite."""
    rng, of, t = np.random.default_rng(seed), loop(switches), np.linspace(0.0, 1.0, SAMPLES)
    data = {key: rng.normal(size=(LANES, SAMPLES, size)) for key, size in of.sizes.items()}
    data["states"] = rng.normal(size=(LANES, SAMPLES, of.nx))
    for key in ("pivots", "relative_pivots", "natural_pivots", "natural_relative_pivots"):
        size = data[key].shape[2]
        zero, speed = rng.uniform(0.2, 2.5, (LANES, 1, size)), rng.uniform(0.2, 2.0, (LANES, 1, size))
        line = speed * (zero - t[:, None])
        falling = np.where(rng.random((LANES, 1, size)) < 0.4, line, line**2)
        data[key] = np.asarray(falling + rng.choice([0.0, 0.3], (LANES, 1, 1)), dtype=np.float64)
    on = np.sin(9.0 * t[:, None] + rng.uniform(0.0, 9.0, (LANES, 1, of.sizes["active"]))) > -0.7
    data["active"] = on.astype(np.float64)
    data["stop"] = t[None, :, None] - rng.uniform(0.2, 3.0, (LANES, 1, 1))
    for key in ("states", "output", "pivots", "natural_pivots"):
        if rng.random() < 0.4:
            data[key][rng.integers(LANES), rng.integers(SAMPLES) :] = rng.choice([np.nan, np.inf])
    return data


def replay(
    data: dict[str, Array], switches: bool, groups: Sequence[int], blocks: Sequence[int], every: int = 1
) -> Record:
    """A record of the samples, lanes in groups, in blocks of at most these lengths, over and over."""
    of = loop(switches)
    run = RunSettings(cast(ClosedLoop, of), TwoRows(of.robot), SAMPLES, 1e-2, 0.5, every, METRICS)
    first_pivots = data["natural_pivots"][:, 0] * 1.01
    record = Record(run, np.zeros((LANES, len(of.robot.parameters))), first_pivots)
    bounds = [0, *sorted(groups), LANES]
    for start, end in itertools.pairwise(bounds):
        part, going, at, turn = record.part(start, end), np.arange(end - start), 0, 0
        while len(going):
            window = part.window(going, at)
            window = window.cut(min(window.n, blocks[turn % len(blocks)]))
            for lane in going:
                for key, room in (*window.data.items(), ("states", window.states)):
                    room[lane] = data[key][start + lane, at : at + window.n]
            part.judge(window)
            at, turn = at + window.n, turn + 1
            going = going[~part.ended[going]]
    return record


def told(record: Record) -> list[tuple[object, ...]]:
    return [
        (int(record.count[i]), Status(record.failure[i]), record.ending[i], record.metrics[i].tobytes())
        for i in range(LANES)
    ]


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 400),
    switches=st.booleans(),
    groups=st.sets(st.integers(1, LANES - 1)).map(sorted),
    blocks=st.lists(st.integers(1, 100), min_size=1, max_size=4),
)
def test_lanes_and_blocks_make_no_difference(seed: int, switches: bool, groups: list[int], blocks: list[int]) -> None:
    data = samples(seed, switches)
    whole, other = (replay(data, switches, *ways) for ways in ((range(1, LANES), [100]), (groups, blocks)))
    assert told(other) == told(whole)
    for lane, count in enumerate(whole.count):
        np.testing.assert_array_equal(other.states[lane, :count], data["states"][lane, :count])
        np.testing.assert_array_equal(other.data["output"][lane, :count], data["output"][lane, :count])


def test_these_samples_end_in_many_ways() -> None:
    endings = {words for seed in range(60) for words in replay(samples(seed, False), False, [], [100]).ending}
    for start in ("the duration is over", "the stop condition", "at t = "):
        assert any(words.startswith(start) for words in endings)
    for part in ("Row 'a' vanishes within", "Row 'b' depends on 'a'", "not finite", "natural row", "in the next step"):
        assert any(part in words for words in endings), part


@pytest.mark.parametrize("every", [2, 7, 100, 229, 500])
@pytest.mark.parametrize("blocks", [[100], [1], [13, 40]])
def test_what_is_not_kept_is_judged_all_the_same(every: int, blocks: list[int]) -> None:
    for seed in (0, 3, 8):
        data = samples(seed, False)
        whole, sparse = replay(data, False, [], [100]), replay(data, False, [2], blocks, every)
        assert told(sparse) == told(whole)
        times = sparse.times()
        for lane, count in enumerate(whole.count.tolist()):
            places = sorted({*range(0, count, every), count - 1})
            assert sparse.kept[lane] == len(places) <= sparse.run.room
            np.testing.assert_array_equal(sparse.states[lane, : len(places)], data["states"][lane, places])
            np.testing.assert_array_equal(sparse.data["output"][lane, : len(places)], data["output"][lane, places])
            np.testing.assert_allclose(times[lane, : len(places)], 0.5 + 1e-2 * np.array(places), rtol=1e-15)
