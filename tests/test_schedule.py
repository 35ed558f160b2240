"""The order of operations: whatever is long in coming is begun first, and nothing is lost or changed."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erugin.symbolic.codegen import Tape
from erugin.symbolic.codegen.optimizations import LATENCY, schedule_operations

from .random_graphs import Graph, bits, graphs, interpret, large_graph

FREE = (ca.OP_INPUT, ca.OP_CONST)


def lines(tape: Tape) -> list[float]:
    """Cycles of the longest line of operations from each value to an end, by relaxation."""
    length = [0.0] * len(tape.entries)
    changed = True
    while changed:
        changed = False
        for k, (operation, a, b) in enumerate(tape.entries):
            if operation not in FREE:
                for operand in {int(a), b}:
                    after = length[k] + LATENCY.get(operation, 4)
                    if after > length[operand]:
                        length[operand], changed = after, True
    return length


def finished(tape: Tape, width: int = 4, window: int = 64) -> int:
    """Cycles that a processor needs that begins ``width`` operations at a time and looks ``window`` of them ahead."""
    ready: dict[int, int] = {k: 0 for k, entry in enumerate(tape.entries) if entry[0] in FREE}
    waiting = [k for k, entry in enumerate(tape.entries) if entry[0] not in FREE]
    cycle = 0
    while waiting:
        begun: list[int] = []
        for k in waiting[:window]:
            operation, a, b = tape.entries[k]
            if len(begun) < width and max(ready.get(int(a), 1 << 30), ready.get(b, 1 << 30)) <= cycle:
                ready[k] = cycle + LATENCY.get(operation, 4)
                begun.append(k)
        waiting = [k for k in waiting if k not in begun] if begun else waiting
        cycle += 1
    return max(ready.values(), default=0)


def drawn(graph: Graph, data: st.DataObject) -> list[list[float]]:
    numbers = st.floats(-3.0, 3.0)
    return [data.draw(st.lists(numbers, min_size=size, max_size=size)) for size in graph.sizes]


@settings(deadline=None)
@given(graphs(2, 3, 60), st.data())
def test_order_can_be_run_and_gives_the_same_bits(graph: Graph, data: st.DataObject) -> None:
    inputs, tape = drawn(graph, data), Tape.of(graph.function())
    moved = schedule_operations(tape)
    for k, (operation, a, b) in enumerate(moved.entries):
        assert operation in FREE or max(int(a), b) < k
    assert sorted(e[0] for e in moved.entries) == sorted(e[0] for e in tape.entries)
    assert bits(interpret(moved, inputs)) == bits(interpret(tape, inputs))


@pytest.mark.parametrize("seed", range(3))
def test_large_graphs(seed: int) -> None:
    tape = Tape.of(large_graph(seed, 3000).function())
    moved = schedule_operations(tape)
    x = np.random.default_rng(seed).uniform(-2.0, 2.0, 4).tolist()
    assert bits(interpret(moved, [x])) == bits(interpret(tape, [x]))
    assert sorted(lines(moved)) == sorted(lines(tape))


def late_line(others: int, length: int) -> Tape:
    """A long line of divisions, written down behind many sums that wait for nothing."""
    x = ca.SX.sym("x", others + 1)
    line = x[others]
    for _ in range(length):
        line = 1 / (1 + line)
    sums = [x[i] + x[i + 1] for i in range(others)]
    return Tape.of(ca.Function("f", [x], [ca.densify(ca.vertcat(*sums, line))]))


def test_longest_line_comes_early() -> None:
    tape = late_line(400, 20)
    moved = schedule_operations(tape)
    line, sums = (
        [k for k, entry in enumerate(moved.entries) if entry[0] in kinds]
        for kinds in ((ca.OP_INV, ca.OP_DIV), (ca.OP_ADD,))
    )
    free = [k for k in sums if all(moved.entries[int(a)][0] == ca.OP_INPUT for a in moved.entries[k][1:])]
    assert (len(line), len(free)) == (20, 400)
    # All but the end, for which no more waits than for the sums.
    assert line[15] < free[0]


def test_processor_that_looks_a_little_ahead_waits_less() -> None:
    tape = late_line(400, 20)
    before, after, least = finished(tape), finished(schedule_operations(tape)), max(lines(tape))
    assert least <= after < 0.8 * before


def test_chain_of_links_waits_less() -> None:
    q = ca.SX.sym("q", 40)
    inertia, bias, angle = ca.SX(0), ca.SX(0), ca.SX(0)
    wide = []
    for i in range(40):
        angle = angle + q[i]
        wide += [ca.cos(angle) * q[i], ca.sin(angle) * q[i] ** 2]
    for i in reversed(range(40)):
        pivot = 1.0 + inertia * q[i] ** 2
        inertia, bias = 1.0 + inertia / pivot, bias + q[i] * inertia / pivot + wide[2 * i]
    tape = Tape.of(ca.Function("f", [q], [ca.densify(ca.vertcat(*wide, inertia, bias))]))
    assert finished(schedule_operations(tape)) <= finished(tape)


def test_nothing_stays_nothing() -> None:
    for tape in (Tape((), (), ()), Tape((0, 3), (), ((), ()))):
        moved = schedule_operations(tape)
        assert (moved.inputs, moved.entries, moved.outputs) == (tape.inputs, (), tape.outputs)


def test_outputs_that_are_inputs_or_constants() -> None:
    x = ca.SX.sym("x", 2)
    tape = Tape.of(ca.Function("f", [x], [ca.densify(ca.vertcat(x[1], 3.0, x[0] * x[1], x[0]))]))
    assert interpret(schedule_operations(tape), [[2.0, 5.0]]) == [[5.0, 3.0, 10.0, 2.0]]
