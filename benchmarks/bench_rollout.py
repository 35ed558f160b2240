"""Thousands of closed loops at once beside ``mujoco.rollout``: throughput over the batch, threads, memory.

A planar chain of seven links, RK4 at 1 ms. Erugin's chains are controlled: their tip is held at a point by a program,
with λ and R computed in each of the four stages, and all that a trajectory has is recorded at each step. MuJoCo's
chains are free, without contacts, and its states are recorded: it has less to do. Before anything is timed, free
motions of both are compared after 0.5 s. Times are per step of one chain; ``mj_step`` is called in a loop of Python.

    python benchmarks/bench_rollout.py [--rounds N] [--small] [--write]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
from harness import callgrind
from harness.machine import LANES, bound, cores, peak_memory
from harness.operations import operations
from harness.plots import Line, Panel
from harness.reach import Reach, duration
from harness.rounds import Timing, number, side_by_side
from harness.script import Options, conclude, options
from harness.table import Cell, Column, Table
from models import mujoco_models
from models.sizes import State
from models.ticks import chain, chain_tick, held
from numpy.typing import NDArray

from erugin.controllers import Program, ProgramController
from erugin.simulation import Simulator
from erugin.symbolic.compiler import vector_width

Array = NDArray[np.float64]
LINKS, STEP, STEPS = 7, 1e-3, 200
BATCHES = (1, 4, 16, 64, 256, 1024, 4096)
LARGE = 1024
"""Chains side by side for the figures of one core and of two."""
PICTURE = "![Time of a step of one chain over the batch](pictures/benchmark_rollouts.png)"
FREE_SPAN, AGREEMENT = 0.5, 1e-9
POSE = np.array([0.9, -0.6, 0.5, -0.7, 0.4, -0.5, 0.3])
OURS, THEIRS, LOOP = "Erugin", "mujoco.rollout", "mj_step"
TARGETS = {8: 30.0, 4: 15.0}
"""Ratio to reach by the number of doubles in a vector."""


def starts(batch: int) -> State:
    """Chains at rest about one pose, far from where their tips are not free to move."""
    rng = np.random.default_rng(3)
    return State(POSE + rng.uniform(-0.1, 0.1, (batch, LINKS)), np.zeros((batch, LINKS)))


def controlled() -> Simulator:
    """The chain whose tip is held."""
    robot = chain(LINKS)
    at = robot.evaluate(robot.points["tip"], q=POSE)
    program = Program(robot, held(robot.points["tip"], at.tolist(), "tip"))
    return Simulator(robot, ProgramController(program))


def erugin_batch(simulator: Simulator, batch: int, steps: int, threads: int = 1) -> Callable[[], object]:
    """All chains of a batch."""
    q, v = starts(batch)
    return lambda: simulator.run(q, v, steps * STEP, step=STEP, threads=threads)


def mujoco_batch(batch: int, steps: int, threads: int = 0) -> mujoco_models.Rollouts:
    """The same number of free chains."""
    return mujoco_models.Rollouts(mujoco_models.chain_model(LINKS, STEP), starts(batch), steps, threads)


def agreement() -> float:
    """Largest difference of angles and rates of a free motion."""
    steps, start = round(FREE_SPAN / STEP), starts(1)
    ours = Simulator(chain(LINKS)).run(start.q[0], start.v[0], FREE_SPAN, step=STEP)
    theirs = mujoco_batch(1, steps)()[0, -1, 1:]
    apart = float(np.abs(np.concatenate([ours.q[-1], ours.v[-1]]) - theirs).max())
    if not apart <= AGREEMENT:
        raise ArithmeticError(f"free motions differ by {apart:.1e} after {FREE_SPAN:g} s, more than {AGREEMENT:g}")
    return apart


def throughput(simulator: Simulator, batches: Sequence[int], steps: int, rounds: int) -> dict[int, dict[str, Timing]]:
    """Seconds for a step of one chain, each side on one thread, over the batch."""
    found: dict[int, dict[str, Timing]] = {}
    one = State(*(x[0] for x in starts(1)))
    loop = mujoco_models.stepping(mujoco_models.chain_model(LINKS, STEP), one)
    for batch in batches:
        calls: dict[str, Callable[[], object]] = {
            OURS: erugin_batch(simulator, batch, steps),
            THEIRS: mujoco_batch(batch, steps),
        }
        times = {name: time.per(batch * steps) for name, time in side_by_side(calls, rounds).items()}
        found[batch] = times
    found[batches[0]][LOOP] = side_by_side({LOOP: loop}, rounds)[LOOP]
    return found


def threads(simulator: Simulator, batch: int, steps: int, rounds: int) -> dict[str, Timing]:
    """One thread and as many as there are cores, of both sides."""
    many = cores()
    calls: dict[str, Callable[[], object]] = {
        f"{OURS}, 1": erugin_batch(simulator, batch, steps, 1),
        f"{OURS}, {many}": erugin_batch(simulator, batch, steps, many),
        f"{THEIRS}, 1": mujoco_batch(batch, steps, 0),
        f"{THEIRS}, {many}": mujoco_batch(batch, steps, many),
    }
    return {name: time.per(batch * steps) for name, time in side_by_side(calls, rounds).items()}


def memory(side: str, batch: int, steps: int) -> float:
    """MiB that one run of a batch adds to the peak of a process of its own."""
    command = [sys.executable, __file__, "--memory", side, str(batch), str(steps)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(answer.stdout.splitlines()[-1]))


def added(side: str, batch: int, steps: int) -> float:
    """The same in this process, after a small run has loaded whatever is needed."""
    if side == OURS:
        simulator = controlled()
        erugin_batch(simulator, 1, 2)()
        run: Callable[[], object] = erugin_batch(simulator, batch, steps)
        before = peak_memory()
        run()
    else:
        mujoco_batch(1, 2)()
        before = peak_memory()
        mujoco_batch(batch, steps)()
    return peak_memory() - before


def narrower(batch: int, steps: int, rounds: int) -> tuple[Timing, Timing]:
    """Both sides with half as wide vectors, in a process of its own, whose kernels are made for AVX2."""
    command = [sys.executable, __file__, "--both", str(batch), str(steps), str(rounds)]
    environment = {**os.environ, **callgrind.SETTINGS}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    ours, theirs = (Timing(np.array(seconds)) for seconds in json.loads(answer.stdout.splitlines()[-1]))
    return ours, theirs


def main(given: Options) -> None:
    apart = agreement()
    batches, steps, large = ((1, 8), 20, 16) if given.small else (BATCHES, STEPS, LARGE)
    simulator = controlled()
    times = throughput(simulator, batches, steps, given.rounds)
    threaded = threads(simulator, large, steps, given.rounds)
    used = {side: memory(side, large, steps) for side in (OURS, THEIRS)}
    print(f"free motions of both agree within {apart:.1e} after {FREE_SPAN:g} s")
    tables = [table(times), threads_table(threaded, used, large, steps)]
    rows = [*reach(times, vector_width()), threads_reach(threaded)]
    if vector_width() == 8:
        size = fastest(times)
        ours, theirs = narrower(size, steps, given.rounds)
        rows[1:1] = reach({size: {OURS: ours, THEIRS: theirs}}, 4)
    conclude(given, tables, rows, [("benchmark_rollouts.png", panels(times))])


def table(times: dict[int, dict[str, Timing]]) -> Table:
    """One row for each batch; how many chains one thread moves as fast as they would move."""
    heads = ("batch", "Erugin, controlled [µs]", "chains in real time", "`mujoco.rollout`, free [µs]", "ratio")
    rows: list[tuple[Cell, ...]] = []
    for batch, one in times.items():
        real = STEP / one[OURS].median
        rows.append((batch, one[OURS].show(), number(real), one[THEIRS].show(), number(one[THEIRS].over(one[OURS]))))
    loop = next(iter(times.values()))[LOOP]
    rows.append(("`mj_step`", "", "", loop.show(), ""))
    return Table("rollout", tuple(map(Column, heads)), tuple(rows), PICTURE)


def threads_table(times: dict[str, Timing], used: dict[str, float], batch: int, steps: int) -> Table:
    """One row for each side."""
    many = cores()
    heads = ("library", "one thread [µs]", f"{many} threads [µs]", "speed-up", "peak memory [MiB]")
    rows: list[tuple[Cell, ...]] = []
    for side, mebi in used.items():
        one, more = times[f"{side}, 1"], times[f"{side}, {many}"]
        rows.append((side, one.show(), more.show(), number(one.over(more)), number(mebi)))
    return Table("rollout-threads", tuple(map(Column, heads)), tuple(rows))


def fastest(times: dict[int, dict[str, Timing]]) -> int:
    """The batch in which a step of ours takes least."""
    return min(times, key=lambda batch: times[batch][OURS].median)


def reach(times: dict[int, dict[str, Timing]], width: int) -> list[Reach]:
    """The row of the table of targets for this width of vectors."""
    size = fastest(times)
    one, name = times[size], next(name for _, count, name in LANES if count == width)
    rate = sum(operations(rate_function()).values())
    limit = f"{duration(bound(4 * rate, width))} at peak rate, 4 × {rate} operations"
    what = f"closed-loop rollouts, n = {LINKS} chain, RK4, at the best batch, per core, {name}"
    note = f"batches of {size}; ours are controlled, theirs free; {limit}"
    return [Reach.of(what, "`mujoco.rollout`", one[OURS], one[THEIRS], TARGETS.get(width, 1.0), note)]


def rate_function() -> ca.Function:
    """The acceleration of the chain whose tip is held: what each stage needs."""
    tick = chain_tick(LINKS)
    return ca.Function("rate", [*tick.inputs.values()], [tick.outputs["acceleration"]], {"cse": True})


def threads_reach(times: dict[str, Timing]) -> Reach:
    """The row of threads: at most twice the speed on two cores, 1.9 of 2."""
    many = cores()
    one, more = times[f"{OURS}, 1"], times[f"{OURS}, {many}"]
    return Reach.of(f"closed-loop rollouts, {many} threads", "one thread", more, one, 0.95 * many)


def panels(times: dict[int, dict[str, Timing]]) -> list[Panel]:
    """Time of a step over the batch."""
    lines = {
        "Erugin, controlled": Line([*times], [one[OURS] for one in times.values()]),
        "mujoco.rollout, free": Line([*times], [one[THEIRS] for one in times.values()], dashed=True),
    }
    return [Panel(lines, f"chains of {LINKS} links in a batch, one thread", "a step of one chain [µs]", slope=None)]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        print(json.dumps(added(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
    elif sys.argv[1:2] == ["--both"]:
        batch, steps, rounds = map(int, sys.argv[2:5])
        both = throughput(controlled(), [batch], steps, rounds)[batch]
        print(json.dumps([both[side].seconds.tolist() for side in (OURS, THEIRS)]))
    else:
        main(options(__doc__ or "", rounds=7))
