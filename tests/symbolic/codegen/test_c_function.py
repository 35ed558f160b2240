"""C text in pieces: values that outlive their piece, sines of sines, and lengths that grow with the function alone."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from types import ModuleType

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from erugin.symbolic import Kernel, ModelError
from erugin.symbolic.codegen import Tape, c_function

from ...support.c_text import SHAPES, by_machine, emitted
from ...support.random_graphs import bits, interpret, large_graph

pytestmark = pytest.mark.compiled

Array = NDArray[np.float64]

ARGUMENTS = np.array(
    [
        [0.3, -1.5, 7.0, 2.0],
        [0.0, -0.0, 1e9, 1e-9],
        [np.inf, np.nan, -3.0, 1.0],
        [1.0, 1.0, 1.0, 1.0],
        [5.0, 4.0, 3.0, 2.0],
    ]
)


def module() -> ModuleType:
    """The module; its package has the function under the same name."""
    return sys.modules["erugin.symbolic.codegen.c_function"]


@functools.cache
def sines() -> Callable[[Array], Array]:
    """Sine and cosine as compiled functions take them; their errors are tested elsewhere."""
    x = ca.SX.sym("x")
    return emitted(Tape.of(ca.Function("sines", [x], [ca.vertcat(ca.sin(x), ca.cos(x))])), 1, 1)


def sine(angle: float) -> float:
    return float(sines()(np.array([[angle]]))[0, 0])


def cosine(angle: float) -> float:
    return float(sines()(np.array([[angle]]))[0, 1])


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 120), st.sampled_from(SHAPES), st.sampled_from([1, 2, 3, 5, 17]))
def test_pieces_have_the_bits_of_the_whole(seed: int, steps: int, shape: tuple[int, int], piece: int) -> None:
    tape, rows = Tape.of(large_graph(seed, steps).function()), ARGUMENTS
    expected = [interpret(tape, [row], sine, cosine)[0] for row in rows.tolist()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module(), "PIECE_LENGTH", piece)
        found = emitted(tape, *shape)(rows)
    assert bits(found.tolist()) == bits(expected)


def nested(depth: int) -> ca.Function:
    """Sines of sines, all of which are needed at the end."""
    x = ca.SX.sym("x", 3)
    kept = [x]
    for k in range(depth):
        last = kept[-1]
        kept.append(ca.sin(last + 0.1 * k) * ca.cos(last[[1, 2, 0]]) + kept[max(0, k - 3)])
    return ca.Function("nested", [x], [ca.vertcat(*kept, sum(ca.sumsqr(value) for value in kept))])


@pytest.mark.parametrize("piece", [1, 4, 11, 500])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 4)])
def test_sines_of_sines(shape: tuple[int, int], piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module(), "PIECE_LENGTH", piece)
    rows = np.random.default_rng(3).normal(size=(16, 3))
    found = emitted(Tape.of(nested(12)), *shape)(rows)
    np.testing.assert_allclose(found, by_machine(nested(12), rows), rtol=1e-13, atol=1e-14)


def long_chain(length: int) -> ca.Function:
    """A recursion with one sine at a time, of which only the last two values live on."""
    x = ca.SX.sym("x", 2)
    a, b = x[0], x[1]
    for _ in range(length):
        a, b = b, ca.sin(a) + a * b + 0.5
    return ca.Function("chain", [x], [ca.vertcat(a, b)])


def rational_chain(length: int) -> ca.Function:
    """A recursion of which only the last two values live on."""
    x = ca.SX.sym("x", 2)
    a, b = x[0], x[1]
    for _ in range(length):
        a, b = b, a / (1 + b**2) + 0.5
    return ca.Function("chain", [x], [ca.vertcat(a, b)])


def test_room_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module(), "PIECE_LENGTH", 3)
    tape = Tape.of(rational_chain(1000))
    assert c_function("f", tape, 1, 4).work_size < 10
    rows = np.random.default_rng(4).normal(size=(4, 2))
    np.testing.assert_array_equal(emitted(tape, 1, 4)(rows), by_machine(rational_chain(1000), rows))


@pytest.mark.parametrize("build", [long_chain, rational_chain, nested])
@pytest.mark.parametrize("lanes", [1, 4])
def test_text_grows_with_the_length_alone(build: Callable[[int], ca.Function], lanes: int) -> None:
    lines, sizes = zip(*(measured(Tape.of(build(length)), lanes) for length in (200, 400, 800)), strict=True)
    for short, middle, long in (lines, sizes):
        # Numbers of values gain a digit now and then.
        assert long - middle == pytest.approx(2 * (middle - short), rel=0.1)


def measured(tape: Tape, lanes: int) -> tuple[int, int]:
    """Statements and characters of the C text."""
    text = c_function("f", tape, lanes, 4).text
    return text.count(";\n"), len(text)


def test_pieces_are_short() -> None:
    text = c_function("f", Tape.of(rational_chain(3000)), 1, 4).text
    pieces = text.split("static ")
    assert len(pieces) > 10
    assert max(piece.count(";\n") for piece in pieces) < 2 * module().PIECE_LENGTH


def test_results_may_be_arguments_constants_or_nothing() -> None:
    x = ca.SX.sym("x", 2)
    numbers = [ca.SX(number) for number in (3.0, -math.inf, math.nan, 1e-310, 0.1)]
    outputs = [x[1], numbers[0], x[1], ca.sin(x[0]), ca.sin(x[0]), *numbers]
    for columns in (outputs, outputs[:1], outputs[1:2], []):
        function = ca.Function("f", [x], [ca.densify(ca.vertcat(ca.SX(0, 1), *columns))])
        rows = np.array([[0.25, -0.0], [1.0, np.nan]])
        for shape in SHAPES:
            found = emitted(Tape.of(function), *shape)(rows)
            assert bits(found.tolist()) == bits(by_machine(function, rows).tolist())


def remembering(x: ca.SX, y: ca.SX, length: int) -> list[ca.SX]:
    """A recursion that needs what was computed long before."""
    values = [x, y]
    for k in range(length):
        values.append(values[-1] / (1 + values[-2][[1, 2, 0]] ** 2) + values[k // 2] * 0.1)
    return values


def test_kernel_of_many_pieces_runs_in_a_loop() -> None:
    x, kept = ca.SX.sym("x", 3), ca.SX.sym("kept", 3)
    values = remembering(x, kept, 250)
    inputs, outputs = {"x": x, "kept": kept}, {"next": values[-1], "all": ca.vertcat(*values)}
    results = []
    for compiled in (True, False):
        kernel = Kernel("many", inputs, outputs, compiled=compiled)
        assert kernel.operations > 6 * module().PIECE_LENGTH
        arguments = [np.array([0.3, -0.2, 1.0]), np.asfortranarray(np.arange(15.0).reshape(3, 5) / 7)]
        found = [np.zeros((3, 5), order="F"), np.zeros((3 * len(values), 5), order="F")]
        kernel.loop(5, 1, arguments, found)()
        results.append(found)
    # The kernel rounds quotients twice, the virtual machine once.
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_what_nobody_gives_is_zero_and_what_nobody_wants_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module(), "PIECE_LENGTH", 5)
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y", 3)
    values = remembering(x + y, x - y, 30)
    kernel = Kernel("partly", {"x": x, "y": y}, {"many": ca.vertcat(*values), "last": values[-1]}, compiled=True)
    given, wanted = np.array([0.7, -0.4, 1.3]), np.zeros(3)
    buffer, evaluate = kernel.function.buffer()
    buffer.set_arg(0, given.data)
    buffer.set_res(1, wanted.data)
    evaluate()
    plain = ca.Function("plain", [x], [remembering(x, x, 30)[-1]])
    np.testing.assert_allclose(wanted, by_machine(plain, given[None])[0], rtol=1e-14)


def test_operation_without_text_is_named() -> None:
    x = ca.SX.sym("x")
    with pytest.raises(ModelError, match="OP_ERFINV"):
        c_function("f", Tape.of(ca.Function("f", [x], [ca.erfinv(x)])), 1, 4)
