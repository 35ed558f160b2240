"""One constrained tick beside Pinocchio: multipliers, forces and accelerations of robots that are held at a point.

A planar chain of n links held at its tip, the same held at several links, a seven-joint arm held at its tool in space,
and an exoskeleton of telescopic links whose foot is closed on the ground. Each call is one of a control loop: another
state goes in, and the acceleration comes out into an array of the caller's. Erugin's kernel is called through its
buffers, into which q and v are written; Pinocchio's ``constraintDynamics`` takes them as they are, with constraints,
data and settings made once. "empty" is the loop that writes and reads and calls nothing; "kernel" is Erugin's call
alone, again and again at one state; "`control()`" is the method of the law, which checks its arguments and result. Both
correct deviations by Baumgarte's equation, and agree to 1e-9 of the largest acceleration at all states before anything
is timed. ``lcaba`` is Pinocchio's recursion for closed loops, timed without corrections, with which its results are
others.

    python benchmarks/bench_tick.py [--rounds N] [--small] [--write]
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from harness.plots import Line, Panel
from harness.reach import Reach
from harness.rounds import Timing, number, side_by_side
from harness.script import Options, conclude, options
from harness.table import Cell, Column, Table
from models import pinocchio_models as rival
from models.sizes import State, arm_state, chain_state, rods_state
from models.ticks import Tick, arm_tick, chain_law, chain_tick, rods_tick
from numpy.typing import NDArray

from erugin.controllers import Controller

Array = NDArray[np.float64]
CHAINS = (2, 3, 5, 7, 12, 20, 30, 60, 100)
HELD, HELD_LINKS = (1, 2, 4, 8), 32
RODS = (2, 4, 7, 11)
ALONE = 7
STATES, SPREAD = 16, 1e-3
"""States that go in by turns, and how far they are from the first [rad, m, rad/s, m/s]."""
AGREEMENT, LCABA_AGREEMENT = 1e-9, 1e-5
PICTURE = "![Time of a tick over links, rows and telescopic links](pictures/benchmark_ticks.png)"


@dataclass(frozen=True, eq=False)
class Measured:
    """One robot of both sides.

    Attributes:
        name: of the robot.
        size: n or m, the horizontal axis of a picture.
        tick: ours.
        times: by side.
        apart: largest difference of accelerations over the largest acceleration.
    """

    name: str
    size: int
    tick: Tick
    times: dict[str, Timing]
    apart: float

    @property
    def ratio(self) -> float:
        """Pinocchio's time over ours."""
        return self.times["Pinocchio"].over(self.times["Erugin"])


def measure(
    name: str,
    size: int,
    tick: Tick,
    state: State,
    theirs: rival.Held,
    rounds: int,
    *,
    tree: Callable[[Array], Array] = np.asarray,
    force: Array | None = None,
    back: Callable[[Array], Array] = np.asarray,
    law: Controller | None = None,
    lcaba: rival.Held | None = None,
) -> Measured:
    """Compare results, then time both.

    Args:
        name: of the robot.
        size: n or m.
        tick: ours.
        state: about which both are called.
        theirs: the model of the other library.
        rounds: interleaved.
        tree: makes coordinates and rates of Pinocchio's of ours.
        force: on its joints; lengths of springs then do not change from state to state.
        back: makes our accelerations of its own.
        law: whose ``control`` is timed too, if given.
        lcaba: the same without corrections, if ``lcaba`` is to be timed too.
    """
    states = _about(state, still=force is not None)
    pairs = [(tree(q), tree(v)) for q, v in states]
    ours, results = tick.bound(state)
    dynamics, acceleration = theirs.dynamics(force), results[-1]
    apart = 0.0
    for (q, v), there in zip(states, pairs, strict=True):
        state.q[:], state.v[:] = q, v
        ours()
        expected = back(dynamics(*there))
        apart = max(apart, float(np.abs(acceleration - expected).max() / np.abs(expected).max()))
    if not apart <= AGREEMENT:
        raise ArithmeticError(f"{name}: accelerations differ by {apart:.1e} of the largest, more than {AGREEMENT:g}")
    calls: dict[str, Callable[[], object]] = {
        "Erugin": _written(ours, state, states, acceleration),
        "Pinocchio": _given(dynamics, pairs),
        "empty": _written(_nothing, state, states, acceleration),
        "kernel": ours,
    }
    if law is not None:
        control = law.control
        calls["control"] = _given(lambda q, v: control(0.0, q, v), states)
    if lcaba is not None:
        recursion, free = lcaba.lcaba(), lcaba.dynamics()
        calls["lcaba"] = _given(recursion, pairs)
        off = float(np.abs(recursion(*pairs[0]) - free(*pairs[0])).max() / np.abs(free(*pairs[0])).max())
        if not off <= LCABA_AGREEMENT:
            raise ArithmeticError(f"{name}: lcaba differs by {off:.1e} of the largest acceleration")
    return Measured(name, size, tick, side_by_side(calls, rounds), apart)


def _about(state: State, *, still: bool) -> list[State]:
    """States near one; of the same coordinates if ``still``."""
    rng = np.random.default_rng(1)
    shifts = SPREAD * rng.uniform(-1.0, 1.0, (STATES, 2, len(state.q)))
    shifts[0] = 0.0
    return [State(state.q + (0.0 if still else one[0]), state.v + one[1]) for one in shifts]


def _written(call: Callable[[], object], buffers: State, states: Sequence[State], result: Array) -> Callable[[], None]:
    """A call between a state that is written into buffers and a result that is read out of one."""
    turn, (q, v), out = itertools.cycle(states).__next__, buffers, np.zeros_like(result)

    def tick() -> None:
        q[:], v[:] = turn()
        call()
        out[:] = result

    return tick


def _given(call: Callable[[Array, Array], Array], states: Sequence[tuple[Array, Array]]) -> Callable[[], None]:
    """A call with another state each time, its result read out."""
    turn, out = itertools.cycle(states).__next__, np.zeros_like(call(*states[0]))

    def tick() -> None:
        q, v = turn()
        out[:] = call(q, v)

    return tick


def chains(sizes: Sequence[int], rounds: int) -> list[Measured]:
    """Planar chains held at the tip."""
    return [
        measure(
            f"chain, n = {n}",
            n,
            chain_tick(n),
            chain_state(n),
            rival.held_chain(n),
            rounds,
            law=chain_law(n),
            lcaba=rival.held_chain(n, corrected=False),
        )
        for n in sizes
    ]


def held_chains(sizes: Sequence[int], links: int, rounds: int) -> list[Measured]:
    """A chain held at the ends of more and more of its links, evenly spread."""
    found: list[Measured] = []
    for count in sizes:
        ends = [round(links * (k + 1) / count) for k in range(count)]
        tick, theirs = chain_tick(links, ends), rival.held_chain(links, ends)
        found.append(measure(f"chain, m = {2 * count}", 2 * count, tick, chain_state(links), theirs, rounds))
    return found


def exoskeletons(sizes: Sequence[int], rounds: int) -> list[Measured]:
    """Telescopic links whose foot is closed on the ground."""
    found: list[Measured] = []
    for n in sizes:
        state = rods_state(n)
        force, tick, theirs = rival.springs(state.q[n:]), rods_tick(n), rival.held_rods(n)
        tree, back = rival.rods_in_tree, rival.rods_from_tree
        one = measure(f"exoskeleton, n = {n}", n, tick, state, theirs, rounds, tree=tree, force=force, back=back)
        found.append(one)
    return found


def rival_alone(rounds: int) -> Timing:
    """Pinocchio's chain with as many links as the arm has joints."""
    call = rival.held_chain(ALONE).bound(chain_state(ALONE))
    return side_by_side({"Pinocchio": call}, rounds)["Pinocchio"]


def main(given: Options) -> None:
    before = rival_alone(given.rounds)
    chained = chains((2, 3) if given.small else CHAINS, given.rounds)
    rows = held_chains((1, 2) if given.small else HELD, 8 if given.small else HELD_LINKS, given.rounds)
    arm = measure("seven-joint arm", 7, arm_tick(), arm_state(), rival.held_arm(), given.rounds)
    rods = exoskeletons((2,) if given.small else RODS, given.rounds)
    slower = rival_alone(given.rounds).median / before.median
    tables = [
        table("tick-chain", chained, PICTURE),
        table("tick-rows", rows),
        table("tick-robots", [arm, *rods], f"Pinocchio alone, after all this: {number(slower)} of its time before it."),
    ]
    conclude(given, tables, reach(chained, arm, rods), [("benchmark_ticks.png", panels(chained, rows, rods))])


def table(name: str, measured: Sequence[Measured], caption: str = "") -> Table:
    """One row for each robot."""
    more = "control" in measured[0].times
    heads = [Column("robot"), Column("Erugin [µs]"), Column("Pinocchio [µs]"), Column("ratio", number)]
    heads += [Column("`control()` [µs]"), Column("its ratio", number), Column("`lcaba` [µs]")] * more
    heads += [Column("empty [µs]"), Column("kernel [µs]")]
    heads += [Column("operations"), Column("per joint", number), Column("per ns", number)]
    heads += [Column("difference", "{:.0e}".format)]
    rows: list[tuple[Cell, ...]] = []
    for one in measured:
        operations = one.tick.operations
        cells: list[Cell] = [one.name, one.times["Erugin"].show(), one.times["Pinocchio"].show(), one.ratio]
        if more:
            control = one.times["control"]
            cells += [control.show(), one.times["Pinocchio"].over(control), one.times["lcaba"].show()]
        cells += [number(one.times[key].median * 1e6) for key in ("empty", "kernel")]
        cells += [operations, operations / one.tick.inputs["q"].numel()]
        rows.append((*cells, operations / one.times["kernel"].median * 1e-9, one.apart))
    return Table(name, tuple(heads), tuple(rows), caption)


def reach(chained: Sequence[Measured], arm: Measured, rods: Sequence[Measured]) -> list[Reach]:
    """The rows of the table of targets."""
    worst = min(chained, key=lambda one: one.ratio)
    sizes = f"n = {chained[0].size}…{chained[-1].size}"
    cases = [(f"constrained tick, planar chain, {sizes}", worst, 10.0, f"least ratio, at n = {worst.size}")]
    cases += [("constrained tick, seven-joint arm held in space", arm, 5.0, "")]
    cases += [(f"constrained tick, exoskeleton of {rods[-1].size} telescopic links, foot closed", rods[-1], 5.0, "")]
    against = "Pinocchio `constraintDynamics`"
    return [
        Reach.of(what, against, one.times["Erugin"], one.times["Pinocchio"], target, note)
        for what, one, target, note in cases
    ]


def panels(chained: Sequence[Measured], rows: Sequence[Measured], rods: Sequence[Measured]) -> list[Panel]:
    """Growth with links, rows and telescopic links."""

    def lines(measured: Sequence[Measured], sides: Sequence[str]) -> dict[str, Line]:
        sizes = [one.size for one in measured]
        return {
            side: Line(sizes, [one.times[side] for one in measured], side in ("Pinocchio", "lcaba")) for side in sides
        }

    time, both = "time of a tick [µs]", ("Erugin", "Pinocchio")
    return [
        Panel(lines(chained, (*both, "lcaba", "kernel")), "links n of a chain held at its tip", time),
        Panel(lines(rows, both), f"rows m of a chain of {HELD_LINKS} links", time, slope=None),
        Panel(lines(rods, both), "telescopic links, foot closed", time),
    ]


def _nothing() -> None:
    return None


if __name__ == "__main__":
    main(options(__doc__ or ""))
