"""Straight lists of operations, and the order in which they are scheduled."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erugin.symbolic import ModelError
from erugin.symbolic.codegen import Tape
from erugin.symbolic.codegen.c_function import LATENCY, schedule_operations

from ...support.random_graphs import CONSTANTS, NUMBERS, Graph, bits, graphs, interpret, large_graph

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


def arguments(graph: Graph, data: st.DataObject) -> list[list[float]]:
    """Numbers for the inputs."""
    return [data.draw(st.lists(NUMBERS, min_size=size, max_size=size)) for size in graph.sizes]


def by_machine(function: ca.Function, inputs: list[list[float]]) -> list[list[float]]:
    """Outputs by CasADi's virtual machine."""
    outputs = function.call([ca.DM(row) if row else ca.DM(0, 1) for row in inputs])
    return [np.array(ca.densify(output)).ravel(order="F").tolist() for output in outputs]


@given(graphs(3, 3, 40), st.data())
def test_tape_has_the_bits_of_the_function(graph: Graph, data: st.DataObject) -> None:
    inputs = arguments(graph, data)
    function = graph.function()
    assert bits(interpret(Tape.of(function), inputs)) == bits(by_machine(function, inputs))


@given(graphs(3, 3, 40), st.sets(st.integers(0, 2)), st.data())
def test_split_tape_has_the_bits_of_the_whole(graph: Graph, fixed: set[int], data: st.DataObject) -> None:
    inputs = arguments(graph, data)
    whole = Tape.of(graph.function())
    setup, main = whole.split(fixed)
    # What changes often is not known yet when the rest is set up.
    early = [row if i in fixed else [float("nan")] * len(row) for i, row in enumerate(inputs)]
    (kept,) = interpret(setup, early)
    assert bits(interpret(main, [*inputs, kept])) == bits(interpret(whole, inputs))
    assert main.inputs == (*setup.inputs, len(kept))
    assert setup.inputs == whole.inputs
    assert all(a in fixed for operation, a, _ in setup.entries if operation == ca.OP_INPUT)
    assert setup.operations + main.operations == _needed(whole)


def _needed(tape: Tape) -> int:
    """Operations that an output depends on."""
    needed = {value for output in tape.outputs for value in output}
    for k in reversed(range(len(tape.entries))):
        operation, a, b = tape.entries[k]
        if k in needed and operation not in (ca.OP_INPUT, ca.OP_CONST):
            needed |= {int(a), b}
    return sum(tape.entries[k][0] not in (ca.OP_INPUT, ca.OP_CONST) for k in needed)


@given(st.integers(0, 2**32), st.integers(0, 150))
def test_another_order_has_the_same_bits(seed: int, steps: int) -> None:
    inputs, tape = [[0.3, -1.5, 7.0, 2.0]], Tape.of(large_graph(seed, steps).function())
    moved = schedule_operations(tape)
    assert bits(interpret(moved, inputs)) == bits(interpret(tape, inputs))
    assert (moved.inputs, moved.operations, len(moved.entries)) == (tape.inputs, tape.operations, len(tape.entries))
    for k, (operation, a, b) in enumerate(moved.entries):
        assert operation in (ca.OP_INPUT, ca.OP_CONST) or max(int(a), b) < k


def test_the_longest_line_is_started_first() -> None:
    x = ca.SX.sym("x", 41)
    line = x[40]
    for _ in range(30):
        line = 1 / (1 + line)
    tape = Tape.of(ca.Function("f", [x], [column(*(x[i] * x[i + 1] for i in range(40)), line)]))
    products = [k for k, entry in enumerate(schedule_operations(tape).entries) if entry[0] == ca.OP_MUL]
    divisions = [k for k, entry in enumerate(schedule_operations(tape).entries) if entry[0] in (ca.OP_INV, ca.OP_DIV)]
    assert divisions[15] < products[0]


def column(*expressions: ca.SX | float) -> ca.SX:
    return ca.densify(ca.vertcat(*expressions))


def test_equal_operations_are_kept_once() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    tape = Tape.of(ca.Function("f", [x, y], [column(x * y + 1, y * x + 1, 1 + x * y)]))
    assert tape.operations == 2
    assert len(set(tape.outputs[0])) == 1


def test_order_of_operands_is_kept_where_it_counts() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    pairs = [x - y, y - x, x / y, y / x, x < y, y < x, ca.atan2(x, y), ca.atan2(y, x), ca.fmod(x, y), ca.fmod(y, x)]
    tape = Tape.of(ca.Function("f", [x, y], [column(*pairs)]))
    assert len(set(tape.outputs[0])) == len(pairs)


def test_constants_are_distinguished() -> None:
    tape = Tape.of(ca.Function("f", [ca.SX.sym("x")], [column(*CONSTANTS, *CONSTANTS)]))
    assert bits(interpret(tape, [[0.0]])) == bits([[*CONSTANTS, *CONSTANTS]])
    assert len({float(a).hex() for _, a, _ in tape.entries}) == len(CONSTANTS)


def test_outputs_may_be_inputs_constants_repeated_or_empty() -> None:
    x, y = ca.SX.sym("x", 2), ca.SX.sym("y", 2)
    whole = Tape.of(ca.Function("f", [x, y], [column(x[1], 3.0, x[1], 2 * x[0]), ca.SX(0, 1), y, column(y[0] + 3)]))
    expected = [[5.0, 3.0, 5.0, 8.0], [], [1.0, 2.0], [4.0]]
    assert interpret(whole, [[4.0, 5.0], [1.0, 2.0]]) == expected
    setup, main = whole.split([0])
    (kept,) = interpret(setup, [[4.0, 5.0], [np.nan, np.nan]])
    assert kept == [8.0]  # an input or a constant need not be kept
    assert interpret(main, [[4.0, 5.0], [1.0, 2.0], kept]) == expected


def test_function_of_nothing_is_empty() -> None:
    tape = Tape.of(ca.Function("f", [ca.SX.sym("x", 0)], [ca.SX(0, 1)]))
    assert (tape.inputs, tape.entries, tape.outputs, tape.operations) == ((0,), (), ((),), 0)
    setup, main = tape.split([])
    assert (setup.entries, setup.outputs, main.entries, main.outputs) == ((), ((),), (), ((),))


def test_length_grows_with_the_number_of_links() -> None:
    def length(links: int) -> int:
        q = ca.SX.sym("q", links)
        place, angle = ca.SX.zeros(2), ca.SX(0)
        for i in range(links):
            angle = angle + q[i]
            place = place + column(ca.cos(angle), ca.sin(angle))
        return len(Tape.of(ca.Function("f", [q], [column(place, ca.sumsqr(place))])).entries)

    assert length(100) - length(50) == 50 * (length(3) - length(2))


def test_what_is_no_tape_is_refused() -> None:
    x, y, matrix = ca.SX.sym("x"), ca.SX.sym("y"), ca.MX.sym("x")
    with pytest.raises(ModelError, match="not a function of SX"):
        Tape.of(ca.Function("f", [matrix], [matrix * 2]))
    with pytest.raises(ModelError, match=r"free symbols.*y"):
        Tape.of(ca.Function("f", [x], [x + y], {"allow_free": True}))
