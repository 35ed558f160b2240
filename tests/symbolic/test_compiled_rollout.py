"""Compiled loops over steps: values, orders, corrections, and independent lanes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.symbolic.compiled_rollout import RolloutLoop
from erugin.symbolic.compiler import vector_width
from erugin.symbolic.runge_kutta import CLASSICAL, Tableau

from ..support.compiled_rollouts import (
    EULER,
    HEUN,
    LANES,
    THREE_EIGHTHS,
    Run,
    by_machine,
    compile_march,
    compiled,
    pendulum,
    run,
    starts,
)
from ..support.project import ROOT

pytestmark = pytest.mark.compiled
each_lanes = pytest.mark.parametrize("lanes", LANES)

Array = NDArray[np.float64]


def exact(x: Array, p: Array, t0: float, duration: float) -> Array:
    """Final states of the pendulums, by SciPy."""

    def rate(t: float, state: Array, gravity: float, friction: float, shaking: float) -> list[float]:
        angle, speed = state
        return [speed, -(gravity + shaking * np.cos(3 * t)) * np.sin(angle) - friction * speed]

    ends = []
    for state, numbers in zip(x, p, strict=True):
        solution = solve_ivp(rate, (t0, t0 + duration), state, "DOP853", args=tuple(numbers), rtol=1e-13, atol=1e-13)
        ends.append(solution.y[:, -1])
    return np.array(ends)


@each_lanes
@pytest.mark.parametrize(
    ("tableau", "order"),
    [(EULER, 1), (HEUN, 2), (CLASSICAL, 4), (THREE_EIGHTHS, 4)],
    ids=["Euler", "Heun", "RK4", "3/8"],
)
def test_order(lanes: int, tableau: Tableau, order: int) -> None:
    x, p = starts(3)
    end = exact(x, p, 0.3, 2.0)
    errors = [np.abs(run(compiled(lanes, tableau), x, p, n, h=2.0 / n).x - end).max() for n in (200, 400)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)
    assert errors[1] < 20.0 * 0.005**order * 10


@each_lanes
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("tableau", [EULER, HEUN, CLASSICAL, THREE_EIGHTHS])
def test_values_are_those_of_the_virtual_machine(lanes: int, tableau: Tableau, corrected: bool) -> None:
    x, p = starts(5)
    x[0], x[1] = [3.9, 4.0], [-3.95, -3.0]
    found = run(compiled(lanes, tableau, corrected=corrected), x, p, 150)
    expected = by_machine(pendulum(tableau, corrected=corrected), x, p, 150)
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-9, atol=1e-10)
    for ours, theirs in zip(found.outputs, expected.outputs, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)


def test_correction_is_felt() -> None:
    x, p = np.array([[3.9, 4.0]]), np.array([[1.0, 0.0, 0.0]])
    free, held = (run(compiled(1, corrected=corrected), x, p, 40).outputs[0][0, :, 0] for corrected in (False, True))
    assert free.max() > 4.02
    assert held.max() <= 4.0


@each_lanes
def test_steps_in_parts_have_the_same_bits(lanes: int) -> None:
    loop = compiled(lanes, corrected=True)
    x, p = starts(11)
    whole, after = run(loop, x, p, 60), x.copy()
    outputs = [np.zeros((11, 60, size)) for size in loop.sizes]
    for first, last in ((0, 1), (1, 24), (24, 24), (24, 60)):
        loop.run(np.arange(11), first, 0.3, 0.01, after, p, [output[:, first:last] for output in outputs])
    np.testing.assert_array_equal(after, whole.x)
    for part, output in zip(outputs, whole.outputs, strict=True):
        np.testing.assert_array_equal(part, output)


@each_lanes
def test_time_comes_from_the_index(lanes: int) -> None:
    found = run(compiled(lanes), *starts(1), 1000, t0=0.1, h=0.1)
    np.testing.assert_array_equal(found.outputs[3][0, :, 3], 0.1 + np.arange(1000) * 0.1)


@each_lanes
def test_one_state_and_no_parameters(lanes: int) -> None:
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x"), ca.SX.sym("p", 0)
    loop = compile_march(RolloutLoop(t, x, p, -x, {}, None, CLASSICAL), lanes)
    start = np.linspace(-1.0, 1.0, 5)[:, None]
    found = run(loop, start, np.zeros((1, 0)), 100)
    np.testing.assert_allclose(found.x, start * np.exp(-1.0), rtol=1e-9)
    np.testing.assert_array_equal(found.x, run(loop, start, np.zeros((5, 0)), 100).x)
    assert found.outputs[0].shape == (5, 100, 1)


@each_lanes
def test_rate_that_is_constant_or_a_parameter(lanes: int) -> None:
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 3), ca.SX.sym("p", 1)
    rate = ca.vertcat(ca.SX(0), p, ca.SX(2))
    loop = compile_march(RolloutLoop(t, x, p, rate, {"all": ca.vertcat(x, p)}, None, HEUN), lanes)
    found = run(loop, np.zeros((3, 3)), np.array([[1.0], [2.0], [-4.0]]), 8, h=0.125)
    np.testing.assert_array_equal(found.x, [[0.0, 1.0, 2.0], [0.0, 2.0, 2.0], [0.0, -4.0, 2.0]])
    np.testing.assert_array_equal(found.outputs[1][:, 4, :], [[0, 0.5, 1, 1], [0, 1, 1, 2], [0, -2, 1, -4]])


def test_sparse_rate() -> None:
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 4), ca.SX.sym("p", 1)
    rate = ca.SX(4, 1)
    rate[2] = p * t
    found = run(
        compile_march(RolloutLoop(t, x, p, rate, {}, None, CLASSICAL), 1),
        np.ones((2, 4)),
        np.full((1, 1), 3.0),
        4,
        t0=0.0,
    )
    np.testing.assert_allclose(found.x, [[1.0, 1.0, 1.0 + 1.5 * 0.04**2, 1.0]] * 2, rtol=1e-15)


def assert_same_bits(first: Run, second: Run) -> None:
    """Both runs, to the last bit."""
    np.testing.assert_array_equal(first.x, second.x)
    for one, other in zip(first.outputs, second.outputs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("count", range(1, 18))
def test_any_number_of_systems_has_the_bits_of_single_runs(count: int) -> None:
    x, p = starts(count, seed=count)
    together = run(compiled(vector_width(), corrected=True), x, p, 50)
    assert_same_bits(together, run(compiled(1, corrected=True), x, p, 50))
    for i in range(count):
        alone = run(compiled(vector_width(), corrected=True), x[i : i + 1], p[i : i + 1], 50)
        np.testing.assert_array_equal(alone.x[0], together.x[i])


@pytest.mark.parametrize("lanes", LANES)
def test_order_of_systems_does_not_count(lanes: int) -> None:
    x, p = starts(19)
    order = np.random.default_rng(1).permutation(19)
    straight, mixed = run(compiled(lanes), x, p, 50), run(compiled(lanes), x[order], p[order], 50)
    assert_same_bits(mixed, Run(straight.x[order], [output[order] for output in straight.outputs]))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300, 1e6, -823549.5])
def test_a_diverging_lane_disturbs_no_other(lanes: int, bad: float) -> None:
    x, p = starts(16)
    well = run(compiled(lanes, corrected=True), x, p, 50)
    x[[3, 9], 0] = bad
    ill = run(compiled(lanes, corrected=True), x, p, 50)
    others = np.setdiff1d(np.arange(16), [3, 9])
    np.testing.assert_array_equal(ill.x[others], well.x[others])
    for one, other in zip(ill.outputs, well.outputs, strict=True):
        np.testing.assert_array_equal(one[others], other[others])
    assert_same_bits(ill, run(compiled(1, corrected=True), x, p, 50))
    assert np.isnan(ill.x[[3, 9], 1]).all() == (not np.isfinite(bad))


@pytest.mark.parametrize("lanes", LANES)
def test_only_named_systems_are_advanced(lanes: int) -> None:
    loop = compiled(lanes)
    x, p = starts(23)
    whole, after = run(loop, x, p, 30), x.copy()
    named = np.array([22, 4, 5, 0, 13, 7, 8, 2, 21, 17, 1])
    outputs = [np.full((23, 30, size), -7.0) for size in loop.sizes]
    loop.run(named, 0, 0.3, 0.01, after, p, outputs)
    others = np.setdiff1d(np.arange(23), named)
    np.testing.assert_array_equal(after[named], whole.x[named])
    np.testing.assert_array_equal(after[others], x[others])
    for part, output in zip(outputs, whole.outputs, strict=True):
        np.testing.assert_array_equal(part[named], output[named])
        assert (part[others] == -7.0).all()


@pytest.mark.parametrize("lanes", LANES)
def test_outputs_may_have_any_strides(lanes: int) -> None:
    loop = compiled(lanes)
    x, p = starts(9)
    plain, after = run(loop, x, p, 20), x.copy()
    room = [np.full((40, 27, 2 * size + 1), -7.0) for size in loop.sizes]
    # Time runs backwards along the first axis, and every third column belongs to a system.
    views = [array[38::-2, ::3, 1 : size + 1].transpose(1, 0, 2) for array, size in zip(room, loop.sizes, strict=True)]
    loop.run(np.arange(9), 0, 0.3, 0.01, after, p, views)
    for array, view, output, size in zip(room, views, plain.outputs, loop.sizes, strict=True):
        np.testing.assert_array_equal(view, output)
        assert (array == -7.0).sum() == array.size - 9 * 20 * size


@pytest.mark.parametrize("lanes", LANES)
def test_parameters_may_be_shared(lanes: int) -> None:
    x, p = starts(10)
    shared = run(compiled(lanes), x, p[:1], 30)
    assert_same_bits(shared, run(compiled(lanes), x, np.repeat(p[:1], 10, axis=0), 30))


@pytest.mark.parametrize("lanes", LANES)
def test_threads_have_the_bits_of_one(lanes: int) -> None:
    loop = compiled(lanes, corrected=True)
    x, p = starts(64)
    alone, after = run(loop, x, p, 400), x.copy()
    outputs = [np.zeros((64, 400, size)) for size in loop.sizes]
    shares = np.array_split(np.random.default_rng(2).permutation(64), 7)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda share: loop.run(share, 0, 0.3, 0.01, after, p, outputs), shares))
    assert_same_bits(Run(after, outputs), alone)


def test_the_interpreter_runs_beside_a_loop() -> None:
    loop = compiled(1)
    x, p = starts(1)
    # Outputs that overlap themselves, so that a long run takes no memory.
    steps = 1_000_000
    outputs = [
        np.lib.stride_tricks.as_strided(np.zeros((1, 1, size)), (1, steps, size), (0, 0, 8), writeable=True)
        for size in loop.sizes
    ]
    begun, done, counted = threading.Event(), threading.Event(), 0

    def march() -> None:
        begun.set()
        loop.run(np.arange(1), 0, 0.0, 1e-3, x, p, outputs)
        done.set()

    # With the lock held by the loop, this thread would stand still until its end.
    thread = threading.Thread(target=march)
    thread.start()
    begun.wait()
    while not done.is_set():
        counted += 1
        done.wait(1e-4)
    thread.join()
    assert counted > 50


PROGRAM = """
import sys
from tests.support.compiled_rollouts import compiled, run, starts
from erugin.symbolic.compiler import vector_width
x, p = starts(13)
found = run(compiled(vector_width(), corrected=True), x, p, 40)
print(vector_width(), *(float(number).hex() for array in (found.x, *found.outputs) for number in array.flat))
"""


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_every_width_has_the_same_bits(width: int) -> None:
    x, p = starts(13)
    here = run(compiled(1, corrected=True), x, p, 40)
    expected = [str(width), *(float(number).hex() for array in (here.x, *here.outputs) for number in array.flat)]
    variables = os.environ | {
        "ERUGIN_LANES": str(width),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    answer = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM], env=variables, capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == expected
