"""Batches: every lane is the run that it would be by itself, whatever is recorded."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from erugin.constraints import EruginField, FirstOrder, follow, line
from erugin.controllers import Controller, Program, ProgramController, Status, Tick, start_on
from erugin.robots import Robot, assemble, assemble_velocities
from erugin.scenarios import simulate
from erugin.simulation import (
    DOP853,
    RK4,
    Final,
    Integral,
    Integrator,
    Largest,
    Mean,
    Metric,
    Projected,
    Reduced,
    RootMeanSquare,
    Simulator,
    Trajectories,
    Trajectory,
)
from erugin.simulation.closed_loop import ClosedLoop
from erugin.simulation.record import Record, RunSettings

from ...support.arms import ELBOW, START, disc_program, two_link_arm
from ...support.called_controller import Called
from ...support.mechanisms import crank_rocker
from ...support.motions import alone, assert_same
from ...support.remembering_controllers import Recorder, Troubled

Array = NDArray[np.float64]


@pytest.mark.parametrize("integrator", [RK4(), DOP853()])
@pytest.mark.parametrize("called", [False, True])
def test_lanes_are_the_runs_by_themselves(called: bool, integrator: Integrator) -> None:
    program = disc_program()
    inner = ProgramController(program, realization="actuated")
    controller: Controller = Called(inner) if called else inner
    q0 = start_on(program, ELBOW, at=[(program.robot.points["tip"], START)])[0]
    rng = np.random.default_rng(3)
    q, v = q0 + 0.05 * rng.normal(size=(4, 2)), 0.1 * rng.normal(size=(4, 2))
    masses, radii = [1.0, 1.5, 2.0, 2.5], [0.1, 0.15, 0.2, 0.25]
    metrics = {"effort": Integral(program.robot.u[0] ** 2)}
    simulator = Simulator(program.robot, controller, integrator=integrator, metrics=metrics)
    motions = simulator.run_batch(
        q, v, 0.26, step=2e-3, p={"m2": masses}, controller_p={"disc.radius": radii, "g": 9.7}
    )
    assert motions.q.shape == (4, 131, 2)
    assert motions.ok.all()
    for i in range(4):
        controller_p = {"disc.radius": radii[i], "g": 9.7}
        assert_same(
            motions[i], simulator.run(q[i], v[i], 0.26, step=2e-3, p={"m2": masses[i]}, controller_p=controller_p)
        )
    assert motions.metrics["effort"].shape == (4,)
    assert np.ptp(motions.metrics["effort"]) > 0.1
    if isinstance(controller, Called):
        assert controller.resets == 8


def outward() -> tuple[Program, Array, Array]:
    """Tips sent along a line that leaves the reach of the arm, from four places, one of them beyond help."""
    robot = two_link_arm()
    field = EruginField(line((0.5, 0.3), (1.5, 0.5)), speed=0.2)
    program = Program(robot, follow(field, robot.points["tip"], perturbation=FirstOrder(10.0)))
    places = [(0.5, 0.3), (0.7, 0.34), (0.9, 0.38)]
    q = [start_on(program, [-0.5, 1.4], at=[(robot.points["tip"], place)])[0] for place in places]
    # The fourth is wildly fast: its numbers leave every bound.
    return program, np.array([*q, q[0]]), np.array([[0.0, 0.0]] * 3 + [[1e100, 0.0]])


def test_a_lane_that_fails_is_alone_with_it() -> None:
    program, q, v = outward()
    tip = program.robot.points["tip"]
    stop = tip[0] - 1.02 + 1e3 * (program.robot.parameters["m1"] - 3.0)
    simulator = Simulator(program.robot, ProgramController(program), stop=stop)
    masses = {"m1": [2.0, 2.0, 3.0, 2.0]}
    motions = simulator.run_batch(q, v, 5.0, step=1e-3, p=masses)
    kept = [alone(simulator, q[i], v[i], 5.0, step=1e-3, p={"m1": masses["m1"][i]}) for i in range(4)]
    for lane, other in zip(motions, kept, strict=True):
        assert_same(lane, other)
    assert motions.failure.tolist() == [Status.SINGULAR, Status.SINGULAR, Status.OK, Status.NOT_FINITE]
    assert motions.count.tolist() == [len(other) for other in kept]
    assert len(set(motions.count.tolist())) == 4
    np.testing.assert_array_equal(motions.end_time, [other.t[-1] for other in kept])
    np.testing.assert_array_equal(motions.final_q, [other.q[-1] for other in kept])
    np.testing.assert_array_equal(motions.final_v, [other.v[-1] for other in kept])
    np.testing.assert_array_equal(motions.ok, [False, False, True, False])
    assert "stop condition" in motions.ending(2)
    for i, n in enumerate(motions.count):
        for name in ("t", "q", "v", "u", "deviation", "energy", "pivots"):
            assert np.isnan(getattr(motions, name)[i, n:]).all()
        assert (motions.status[i, n - 1 :] == motions.failure[i]).all()


def test_the_result_is_read_like_a_row_of_trajectories() -> None:
    robot = two_link_arm()
    q = np.array([[0.3, 0.8], [0.1, 0.2], [-0.5, 0.1]])
    motions: Any = simulate(robot, None, q, [0.0, 0.0], 0.05, step=1e-3, stop=robot.q[1] - 0.8 + 2 * robot.t)
    assert isinstance(motions, Trajectories)
    assert len(motions) == len(list(motions)) == 3
    assert [len(part) for part in motions[1:]] == [51, 51]
    assert len(motions[-3]) == motions.count[0] < 51
    with pytest.raises(IndexError):
        motions[3]
    with pytest.raises(ValueError, match="read-only"):
        motions.q[0, 0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        motions[1].q[0, 0] = 1.0
    tip = motions.evaluate(robot.points["tip"])
    assert tip.shape == (3, 51, 2)
    assert np.isnan(tip[0, motions.count[0] :]).all()
    for i, motion in enumerate(motions):
        np.testing.assert_array_equal(tip[i, : len(motion)], motion.evaluate(robot.points["tip"]))
    assert motions.evaluate(robot.potential_energy).shape == (3, 51)
    q1, q2, lengths = motions.q[1, :, 0], motions.q[1, :, 1], (0.6, 0.5)
    np.testing.assert_allclose(tip[1, :, 0], lengths[0] * np.cos(q1) + lengths[1] * np.cos(q1 + q2), atol=1e-14)


def test_expressions_see_the_parameters_of_their_lane() -> None:
    robot = two_link_arm()
    simulator = Simulator(robot)
    motions = simulator.run_batch([0.3, 0.8], [0.0, 0.0], 0.01, step=1e-3, p={"l2": [0.5, 0.6]})
    np.testing.assert_array_equal(motions.evaluate(robot.parameters["l2"]), [[0.5] * 11, [0.6] * 11])
    np.testing.assert_array_equal(motions.p[:, robot.parameters.names.index("l2")], [0.5, 0.6])


@settings(max_examples=20)
@given(shapes=st.tuples(*[st.booleans()] * 4), vector=st.booleans())
def test_what_has_no_batch_axis_is_the_same_in_all_lanes(shapes: tuple[bool, ...], vector: bool) -> None:
    """In every combination; parameters by name or as vectors."""
    simulator, values = BROADCAST, np.array([1.0, 1.1, 1.2])
    q, v = np.array([[0.3, 0.8]] * 3) + values[:, None], np.array([[0.1, 0.0]] * 3) * values[:, None]
    names = simulator.robot.parameters.names
    own = np.tile(simulator.robot.parameters.values(), (3, 1))
    own[:, names.index("m2")] = values
    law = np.tile(simulator.controller_parameters.values(), (3, 1))
    law[:, simulator.controller_parameters.names.index("disc.radius")] = values / 10.0
    given_p: Any = own if vector else {"m2": values}
    given_law: Any = law if vector else {"disc.radius": values / 10.0}
    if not shapes[2]:
        given_p = own[0] if vector else {"m2": values[0]}
    if not shapes[3]:
        given_law = law[0] if vector else {"disc.radius": values[0] / 10.0}
    start = (q if shapes[0] else q[0], v if shapes[1] else v[0])
    motions: Any = simulator.run(*start, 0.02, step=5e-3, p=given_p, controller_p=given_law)
    if not any(shapes):
        assert isinstance(motions, Trajectory)
        return
    assert isinstance(motions, Trajectories)
    assert len(motions) == 3
    for i in range(3):
        chosen = [i if batched else 0 for batched in shapes]
        other = simulator.run(
            q[chosen[0]], v[chosen[1]], 0.02, step=5e-3, p=own[chosen[2]], controller_p=law[chosen[3]]
        )
        assert_same(motions[i], other)


BROADCAST = Simulator(two_link_arm(), ProgramController(disc_program(), realization="actuated"))


def test_a_controller_forgets_between_lanes() -> None:
    robot = two_link_arm()
    recorder = Recorder(robot, np.cos)
    motions = Simulator(robot, recorder).run_batch([[0.3, 0.8]] * 3, [0.0, 0.0], 0.1, step=1e-2)
    np.testing.assert_array_equal(motions.q[0], motions.q[2])
    np.testing.assert_allclose(motions.u[:, :, 0], np.cos(motions.t), atol=1e-15)
    troubled = Troubled(robot, limited=0.03, held=0.05, lost=0.08)
    batch = Simulator(robot, troubled).run_batch([[0.3, 0.8]] * 2, [0.0, 0.0], 0.1, step=1e-2)
    assert batch.notes[0] == batch.notes[1] != ()
    assert batch.failure.tolist() == [Status.NOT_CONVERGED] * 2
    assert batch.status[0].tolist() == [0] * 3 + [Status.LIMITED] * 2 + [Status.HELD] * 2 + [Status.NOT_CONVERGED] * 4


@pytest.mark.parametrize("integrator", [RK4(), Projected(), Reduced()])
def test_mechanisms_side_by_side(integrator: Integrator) -> None:
    robot = crank_rocker()
    q = np.array([assemble(robot, [angle, 0.5, 1.5], fixed=["crank"]).q for angle in (0.3, 0.6, 0.9)])
    v = np.array([assemble_velocities(robot, x, fixed={"crank": 2.0}) for x in q])
    simulator = Simulator(robot, integrator=integrator, metrics={"speed": Largest(robot.v[0])})
    motions = simulator.run_batch(q, v, 0.3, step=1e-3)
    assert motions.ok.all()
    for i in range(3):
        assert_same(motions[i], simulator.run(q[i], v[i], 0.3, step=1e-3))


def test_few_samples_are_kept_of_many() -> None:
    robot = two_link_arm()
    simulator = Simulator(robot, stop=robot.q[0] - 0.8, metrics={"way": Integral(robot.v[0])})
    q, v = [[0.3, 0.8], [0.7, 0.8]], [0.0, 2.0]
    whole, some = (simulator.run_batch(q, v, 0.5, step=1e-3, every=every) for every in (1, 64))
    assert some.t.shape == (2, 9)
    for i, motion in enumerate(whole):
        places = sorted({*range(0, len(motion), 64), len(motion) - 1})
        np.testing.assert_array_equal(some[i].q, motion.q[places])
        np.testing.assert_array_equal(some[i].t, motion.t[places])
        assert some[i].ending == motion.ending
    assert dict(some.metrics.items()).keys() == {"way"}
    np.testing.assert_array_equal(some.metrics["way"], whole.metrics["way"])
    np.testing.assert_array_equal(some.end_time, whole.end_time)


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

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        return Tick(np.zeros(0))


@dataclass(frozen=True)
class Loop:
    """As much of a closed loop."""

    robot: Robot
    nx: int
    sizes: dict[str, int]

    def symbolic(self) -> None:
        """Without expressions."""


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
            part.monitor(window)
            at, turn = at + window.n, turn + 1
            going = going[~part.ended[going]]
    return record


def outcome(record: Record) -> list[tuple[object, ...]]:
    return [
        (int(record.count[i]), Status(record.failure[i]), record.ending[i], record.metrics[i].tobytes())
        for i in range(LANES)
    ]


@pytest.mark.slow
@given(
    seed=st.integers(0, 400),
    switches=st.booleans(),
    groups=st.sets(st.integers(1, LANES - 1)).map(sorted),
    blocks=st.lists(st.integers(1, 100), min_size=1, max_size=4),
)
def test_lanes_and_blocks_make_no_difference(seed: int, switches: bool, groups: list[int], blocks: list[int]) -> None:
    data = samples(seed, switches)
    whole, other = (replay(data, switches, *ways) for ways in ((range(1, LANES), [100]), (groups, blocks)))
    assert outcome(other) == outcome(whole)
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
        assert outcome(sparse) == outcome(whole)
        times = sparse.times()
        for lane, count in enumerate(whole.count.tolist()):
            places = sorted({*range(0, count, every), count - 1})
            assert sparse.stored[lane] == len(places) <= sparse.run.capacity
            np.testing.assert_array_equal(sparse.states[lane, : len(places)], data["states"][lane, places])
            np.testing.assert_array_equal(sparse.data["output"][lane, : len(places)], data["output"][lane, places])
            np.testing.assert_allclose(times[lane, : len(places)], 0.5 + 1e-2 * np.array(places), rtol=1e-15)
