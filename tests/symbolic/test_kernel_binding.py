"""Bound arrays are read and written in place and kept alive, and loops are many calls."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.symbolic import EruginError, Kernel, ShapeError
from erugin.symbolic.kernel import LONGEST_LOOP

from ..support.kernels import both, column_major, numbers, pair

Array = NDArray[np.float64]


@both
def test_bound_arrays_are_read_and_written_in_place(compiled: bool) -> None:
    kernel = pair(compiled)
    x, A = numbers(1, 3), column_major(numbers(2, 2, 3))
    product, twice = np.zeros(2), np.zeros((3, 2), order="F")
    run = kernel.bind([x, A], [product, twice])
    assert not product.any()
    for seed in range(5):
        x[:], A[:] = numbers(seed, 3), numbers(seed + 10, 2, 3)
        run()
        np.testing.assert_allclose(product, A @ x, rtol=1e-15, atol=1e-15)
        np.testing.assert_array_equal(twice, 2 * A.T)
    # A call in between works on arrays of its own.
    before = product.copy()
    kernel(np.zeros(3), np.zeros((2, 3)))
    np.testing.assert_array_equal(product, before)
    run()
    np.testing.assert_array_equal(product, before)


@both
def test_bound_arrays_live_as_long_as_the_call(compiled: bool) -> None:
    result = np.zeros(2)
    arguments = [np.full(3, 2.0), np.ones((2, 3), order="F")]
    held = [weakref.ref(array) for array in arguments]
    kernel = pair(compiled)
    results = [result, np.zeros((3, 2), order="F")]
    held.append(weakref.ref(results[1]))
    run = kernel.bind(arguments, results)
    del kernel, arguments, results
    gc.collect()
    assert all(array() is not None for array in held)
    clutter = [np.full(3, np.nan) for _ in range(1000)]
    run()
    np.testing.assert_array_equal(result, [6.0, 6.0])
    del run, clutter
    gc.collect()
    assert all(array() is None for array in held)


@both
def test_bound_arrays_live_when_the_callers_lists_change(compiled: bool) -> None:
    arguments, results = [np.full(3, 2.0), np.ones((2, 3), order="F")], [np.zeros(2), np.zeros((3, 2), order="F")]
    held = [weakref.ref(array) for array in (*arguments, *results)]
    run = pair(compiled).bind(arguments, results)
    arguments.clear()
    results[0] = np.zeros(2)
    gc.collect()
    assert all(array() is not None for array in held)
    run()


def ordered(*shape: int) -> Array:
    """An array that a kernel can be bound to."""
    return np.zeros(shape, order="F")


@pytest.mark.parametrize(
    ("arguments", "results"),
    [
        ([ordered(3), np.zeros((2, 3))], [ordered(2), ordered(3, 2)]),
        ([np.zeros(6)[::2], ordered(2, 3)], [ordered(2), ordered(3, 2)]),
        ([ordered(4), ordered(2, 3)], [ordered(2), ordered(3, 2)]),
        ([ordered(3).astype(np.float32), ordered(2, 3)], [ordered(2), ordered(3, 2)]),
        ([ordered(3).astype(np.int64), ordered(2, 3)], [ordered(2), ordered(3, 2)]),
        ([ordered(3), ordered(2, 3)], [ordered(2), np.zeros((3, 2))]),
        ([ordered(3), ordered(2, 3)], [ordered(3), ordered(3, 2)]),
        ([ordered(3), ordered(2, 3)], [ordered(2).astype(np.float32), ordered(3, 2)]),
        ([ordered(3), ordered(2, 3)], [np.broadcast_to(0.0, (2,)), ordered(3, 2)]),
        ([ordered(3)], [ordered(2), ordered(3, 2)]),
        ([ordered(3), ordered(2, 3)], [ordered(2)]),
        ([ordered(3), ordered(2, 3), ordered(1)], [ordered(2), ordered(3, 2)]),
        # As many in all, but not on the right side.
        ([ordered(3)], [ordered(2, 3), ordered(2), ordered(3, 2)]),
    ],
)
def test_arrays_that_cannot_be_bound(arguments: list[Array], results: list[Array]) -> None:
    with pytest.raises(ShapeError):
        pair(False).bind(arguments, results)


def test_read_only_results_cannot_be_bound() -> None:
    product = ordered(2)
    product.setflags(write=False)
    with pytest.raises(ShapeError, match="product"):
        pair(False).bind([ordered(3), ordered(2, 3)], [product, ordered(3, 2)])


def test_results_must_not_share_memory_with_anything_else() -> None:
    # The second operation would read what the first has written.
    x = ca.SX.sym("x", 3)
    kernel = Kernel("turned", {"x": x}, {"y": ca.vertcat(x[1:], x[0] + x[1]), "z": 2 * x}, compiled=False)
    room = np.arange(8.0)
    for arguments, results, message in [
        ([room[:3]], [room[:3], np.zeros(3)], "y shares memory with x"),
        ([room[:3]], [room[2:5], np.zeros(3)], "y shares memory with x"),
        ([room[:3]], [np.zeros(3), room[2:5]], "z shares memory with x"),
        ([room[:3]], [room[3:6], room[5:8]], "z shares memory with y"),
    ]:
        with pytest.raises(ShapeError, match=message):
            kernel.bind(arguments, results)
    kernel.bind([room[:3]], [room[3:6], np.zeros(3)])()
    np.testing.assert_array_equal(room, [0.0, 1.0, 2.0, 1.0, 2.0, 1.0, 6.0, 7.0])
    # Arguments are only read.
    a, b = ca.SX.sym("a", 2), ca.SX.sym("b", 2)
    product = np.zeros(2)
    Kernel("times", {"a": a, "b": b}, {"y": a * b}, compiled=False).bind([room[1:3], room[1:3]], [product])()
    np.testing.assert_array_equal(product, [1.0, 4.0])


def test_arrays_that_are_not_aligned_cannot_be_bound() -> None:
    shifted = np.zeros(25, dtype=np.uint8)[1:].view(np.float64)
    for arguments, results in (([shifted], [np.zeros(3)]), ([np.zeros(3)], [shifted])):
        x = ca.SX.sym("x", 3)
        with pytest.raises(ShapeError, match="column-major float64 array of 3 numbers"):
            Kernel("aligned", {"x": x}, {"y": 2 * x}, compiled=False).bind(arguments, results)


@both
def test_each_thread_may_have_a_separate_call(compiled: bool) -> None:
    x = ca.SX.sym("x", 4)
    y = x
    for _ in range(100):
        y = 0.9 * ca.sin(y) + 0.1 * ca.vertcat(y[1:], y[0])
    kernel = Kernel("threads", {"x": x}, {"y": y}, compiled=compiled)
    places = [numbers(seed, 4) for seed in range(8)]
    expected, results = [kernel(place)[0] for place in places], [np.zeros(4) for _ in places]
    calls = [kernel.bind([place], [result]) for place, result in zip(places, results, strict=True)]

    def agree(i: int) -> bool:
        found = []
        for _ in range(300):
            results[i][:] = np.nan
            calls[i]()
            found.append(np.array_equal(results[i], expected[i]))
        return all(found)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(agree, range(8))) == [True] * 8


def pendulum(compiled: bool) -> Kernel:
    """One step of a driven map; the index counts along, the energy is not fed back."""
    k, x, u = ca.SX.sym("k"), ca.SX.sym("x", 2), ca.SX.sym("u")
    after = ca.vertcat(x[0] + 0.1 * x[1], x[1] - 0.1 * ca.sin(x[0]) + u)
    return Kernel("pendulum", {"k": k, "x": x, "u": u}, {"k": k + 1, "x": after, "e": k + x[1] ** 2}, compiled=compiled)


@both
def test_loop_is_many_calls(compiled: bool) -> None:
    count = 25
    kernel = pendulum(compiled)
    k, x, u = np.array([3.0]), np.array([1.0, 0.2]), column_major(numbers(0, 1, count))
    outputs = [ordered(1, count), ordered(2, count), ordered(1, count)]
    run = kernel.loop(count, 2, [k, x, u], outputs)
    for start in (1.0, 0.5):
        x[0] = start
        run()
        index, state = 3.0, x.copy()
        for i in range(count):
            after, state_after, energy = kernel(index, state, u[0, i])
            assert outputs[2][0, i] == energy
            index, state = float(after), state_after
            assert outputs[0][0, i] == index == 4.0 + i
            np.testing.assert_array_equal(outputs[1][:, i], state)
    # The start is read, not overwritten.
    assert k[0] == 3.0
    np.testing.assert_array_equal(x, [0.5, 0.2])


@both
def test_loop_without_feedback_maps(compiled: bool) -> None:
    x, A = column_major(numbers(1, 3, 4)), column_major(numbers(2, 2, 12))
    products, twice = ordered(2, 4), ordered(3, 8)
    kernel = pair(compiled)
    kernel.loop(4, 0, [x, A], [products, twice])()
    for i in range(4):
        product, two = kernel(x[:, i], A[:, 3 * i : 3 * i + 3])
        np.testing.assert_array_equal(products[:, i], product)
        np.testing.assert_array_equal(twice[:, 2 * i : 2 * i + 2], two)


@pytest.mark.parametrize(
    ("count", "accumulated", "columns"), [(0, 2, 0), (-1, 2, 1), (3, 4, 3), (3, -1, 3), (3, 2, 2), (3, 1, 3)]
)
def test_loops_that_do_not_fit(count: int, accumulated: int, columns: int) -> None:
    arrays = [ordered(1), ordered(2), ordered(1, columns)], [ordered(n, columns) for n in (1, 2, 1)]
    with pytest.raises(EruginError):
        pendulum(False).loop(count, accumulated, *arrays)


def test_loop_feeds_back_only_what_has_the_same_shape() -> None:
    with pytest.raises(EruginError):
        pair(False).loop(2, 1, [ordered(3), ordered(2, 6)], [ordered(2, 2), ordered(3, 4)])


@both
def test_loop_of_any_length(compiled: bool) -> None:
    count = 2 * LONGEST_LOOP + 7
    kernel = pendulum(compiled)
    k, x, u = np.array([3.0]), np.array([1.0, 0.2]), column_major(1e-3 * numbers(4, 1, count))
    outputs = [ordered(1, count), ordered(2, count), ordered(1, count)]
    kernel.loop(count, 2, [k, x, u], outputs)()
    np.testing.assert_array_equal(outputs[0][0], 4.0 + np.arange(count))
    for i in (0, LONGEST_LOOP - 1, LONGEST_LOOP, 2 * LONGEST_LOOP - 1, 2 * LONGEST_LOOP, count - 1):
        before = x if i == 0 else outputs[1][:, i - 1]
        _, after, energy = kernel(3.0 + i, before, u[0, i])
        np.testing.assert_array_equal(outputs[1][:, i], after)
        assert outputs[2][0, i] == energy


def test_loop_that_its_arrays_do_not_fit_is_refused_before_it_is_built() -> None:
    arrays = [ordered(1), ordered(2), ordered(1, 3)], [ordered(n, 3) for n in (1, 2, 1)]
    with pytest.raises(ShapeError, match=r"100000000000 evaluations .* \(7.63e\+05 MiB\)"):
        pendulum(False).loop(10**11, 2, *arrays)
    with pytest.raises(ShapeError, match=r"at least one evaluation, got 3\.0"):
        pendulum(False).loop(cast(int, 3.0), 2, *arrays)
