"""Straight lists of operations: numbering of values, and what changes rarely split off."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erugin.symbolic import ModelError
from erugin.symbolic.codegen import Tape
from erugin.symbolic.codegen.optimizations import schedule_operations

from .random_graphs import CONSTANTS, Graph, bits, graphs, interpret, large_graph

NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.5, 0.3, 7.0, 1e9, float("inf"), float("nan")])


def arguments(graph: Graph, data: st.DataObject) -> list[list[float]]:
    """Numbers for the inputs."""
    return [data.draw(st.lists(NUMBERS, min_size=size, max_size=size)) for size in graph.sizes]


def by_machine(function: ca.Function, inputs: list[list[float]]) -> list[list[float]]:
    """Outputs by CasADi's virtual machine."""
    outputs = function.call([ca.DM(row) if row else ca.DM(0, 1) for row in inputs])
    return [np.array(ca.densify(output)).ravel(order="F").tolist() for output in outputs]


@settings(deadline=None)
@given(graphs(3, 3, 40), st.data())
def test_tape_has_the_bits_of_the_function(graph: Graph, data: st.DataObject) -> None:
    inputs = arguments(graph, data)
    function = graph.function()
    assert bits(interpret(Tape.of(function), inputs)) == bits(by_machine(function, inputs))


@settings(deadline=None)
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


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 150))
def test_another_order_has_the_same_bits(seed: int, steps: int) -> None:
    inputs, tape = [[0.3, -1.5, 7.0, 2.0]], Tape.of(large_graph(seed, steps).function())
    moved = schedule_operations(tape)
    assert bits(interpret(moved, inputs)) == bits(interpret(tape, inputs))
    assert (moved.inputs, moved.operations, len(moved.entries)) == (tape.inputs, tape.operations, len(tape.entries))
    for k, (operation, a, b) in enumerate(moved.entries):
        assert operation in (ca.OP_INPUT, ca.OP_CONST) or max(int(a), b) < k


def test_the_longest_line_is_begun_first() -> None:
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


def test_constants_are_told_apart() -> None:
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
    with pytest.raises(ModelError, match="no function of SX"):
        Tape.of(ca.Function("f", [matrix], [matrix * 2]))
    with pytest.raises(ModelError, match=r"free symbols.*y"):
        Tape.of(ca.Function("f", [x], [x + y], {"allow_free": True}))
