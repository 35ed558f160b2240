"""Kernels: right values in the right order, arguments checked, arrays kept alive, with and without a compiler."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.symbolic import EruginError, Kernel, ModelError, ShapeError
from erugin.symbolic.toolchain import find_toolchain

Array = NDArray[np.float64]

needs_compiler = pytest.mark.skipif(isinstance(find_toolchain(), str), reason="no C compiler")
both = pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_compiler)], ids=["vm", "c"])


def numbers(seed: int, *shape: int) -> Array:
    """Random numbers of order one, none near zero."""
    rng = np.random.default_rng(seed)
    return np.array(rng.uniform(0.5, 2.0, shape) * rng.choice([-1.0, 1.0], shape))


def column_major(array: Array) -> Array:
    """A copy in the order that kernels are bound to."""
    return np.array(array, order="F")


def mixed(compiled: bool | None = None) -> Kernel:
    """Inputs and outputs of every kind of shape; no matrix is square."""
    s, x, A, B = ca.SX.sym("s"), ca.SX.sym("x", 3), ca.SX.sym("A", 2, 3), ca.SX.sym("B", 3, 4)
    return Kernel(
        "mixed",
        {"s": s, "x": x, "A": A, "B": B},
        {
            "scalar": s * ca.sumsqr(x),
            "column": A @ x,
            "row": x.T * s,
            "matrix": A @ B,
            "transposed": (A @ B).T,
            "nonlinear": ca.sin(A) * ca.exp(s) + ca.sqrt(ca.fabs(A)),
        },
        compiled=compiled,
    )


def expected(s: float, x: Array, A: Array, B: Array) -> tuple[Array, ...]:
    """The same by NumPy."""
    return (
        np.array(s * x @ x),
        A @ x,
        (x * s)[None, :],
        A @ B,
        (A @ B).T,
        np.sin(A) * np.exp(s) + np.sqrt(np.abs(A)),
    )


def pair(compiled: bool | None = None, name: str = "pair") -> Kernel:
    """x, A → A x and 2 Aᵀ; A has shape (2, 3)."""
    x, A = ca.SX.sym("x", 3), ca.SX.sym("A", 2, 3)
    return Kernel(name, {"x": x, "A": A}, {"product": A @ x, "twice": 2 * A.T}, compiled=compiled)


# Values and shapes ---------------------------------------------------------------------------------------------------


@both
def test_values_are_those_of_numpy(compiled: bool) -> None:
    kernel = mixed(compiled)
    assert kernel.compiled is compiled
    for seed in range(20):
        arguments = (float(numbers(seed)), numbers(seed, 3), numbers(seed, 2, 3), numbers(seed, 3, 4))
        results = kernel(*arguments)
        for result, value in zip(results, expected(*arguments), strict=True):
            assert result.dtype == np.float64
            assert result.shape == value.shape
            np.testing.assert_allclose(result, value, rtol=1e-13, atol=1e-13)


@both
def test_values_are_those_of_casadi(compiled: bool) -> None:
    x, A = ca.SX.sym("x", 3), ca.SX.sym("A", 2, 3)
    expressions = [
        ca.sin(A @ x),
        ca.jacobian(ca.exp(A @ ca.cos(x)), x),
        ca.norm_2(x),
        ca.hessian(ca.sumsqr(A @ x), x)[0],
    ]
    kernel = Kernel("direct", {"x": x, "A": A}, {f"e{i}": e for i, e in enumerate(expressions)}, compiled=compiled)
    direct = ca.Function("direct", [x, A], expressions)
    for seed in range(20):
        arguments = numbers(seed, 3), numbers(seed + 100, 2, 3)
        for result, value in zip(kernel(*arguments), direct.call([ca.DM(a) for a in arguments]), strict=True):
            full = np.array(ca.densify(value), dtype=np.float64)
            np.testing.assert_allclose(result, full.reshape(result.shape), rtol=1e-15, atol=0.0)
            assert np.abs(full).max() > 1e-3


def test_shapes_are_known() -> None:
    kernel = mixed(False)
    assert kernel.inputs == {"s": (1, 1), "x": (3, 1), "A": (2, 3), "B": (3, 4)}
    assert kernel.outputs["row"] == (1, 3)
    assert [r.shape for r in kernel(1.0, np.ones(3), np.ones((2, 3)), np.ones((3, 4)))] == [
        (),
        (2,),
        (1, 3),
        (2, 4),
        (4, 2),
        (2, 3),
    ]


@both
def test_sparse_outputs_come_full(compiled: bool) -> None:
    x = ca.SX.sym("x", 3)
    (result,) = Kernel("sparse", {"x": x}, {"diagonal": ca.diag(x)}, compiled=compiled)([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(result, np.diag([1.0, 2.0, 3.0]))


@both
def test_nothing_is_something(compiled: bool) -> None:
    none, wide, x = ca.SX.sym("none", 0), ca.SX.sym("wide", 0, 3), ca.SX.sym("x", 2)
    outputs = {"none": ca.SX(0, 1), "wide": ca.SX(0, 3), "tall": ca.SX(2, 0), "y": 2 * x}
    kernel = Kernel("empty", {"none": none, "x": x, "wide": wide}, outputs, compiled=compiled)
    *empty, y = kernel(np.zeros(0), [1.0, 2.0], np.zeros((0, 3)))
    assert [e.shape for e in empty] == [(0,), (0, 3), (2, 0)]
    np.testing.assert_array_equal(y, [2.0, 4.0])
    assert Kernel("constant", {}, {"y": ca.SX(2)}, compiled=compiled)()[0] == 2.0
    assert Kernel("silent", {"x": x}, {}, compiled=compiled)([1.0, 2.0]) == ()
    with pytest.raises(ShapeError, match=r"wide must have shape \(0, 3\), got \(0,\)"):
        kernel(np.zeros(0), [1.0, 2.0], np.zeros(0))


@both
def test_arguments_of_any_layout(compiled: bool) -> None:
    kernel = pair(compiled)
    x, A = numbers(1, 3), numbers(2, 2, 3)
    double = np.repeat(np.repeat(A, 2, axis=0), 2, axis=1)
    for given in (A, np.asfortranarray(A), double[::2, ::2], A.tolist()):
        product, twice = kernel(x[::-1][::-1], given)
        np.testing.assert_allclose(product, A @ x, rtol=1e-15, atol=1e-15)
        np.testing.assert_array_equal(twice, 2 * A.T)
    np.testing.assert_array_equal(kernel([1, 2, 3], [[1, 0, 0], [0, 0, 1]])[0], [1.0, 3.0])


@pytest.mark.parametrize("one", [3, 3.0, np.float32(3), np.array(3.0), [3.0], [[3.0]]])
def test_numbers_of_any_kind(one: float) -> None:
    x = ca.SX.sym("x")
    (result,) = Kernel("square", {"x": x}, {"y": x**2}, compiled=False)(one)
    assert result.shape == ()
    assert result == 9.0


@both
def test_results_are_fresh(compiled: bool) -> None:
    kernel = pair(compiled)
    first = kernel(np.ones(3), np.ones((2, 3)))
    kept = [result.copy() for result in first]
    second = kernel(np.full(3, 2.0), np.full((2, 3), 5.0))
    for one, two, old in zip(first, second, kept, strict=True):
        np.testing.assert_array_equal(one, old)
        assert not np.array_equal(one, two)
        assert not np.shares_memory(one, two)
        two[...] = np.nan
    np.testing.assert_array_equal(kernel(np.ones(3), np.ones((2, 3)))[0], kept[0])


@both
def test_arguments_are_not_changed(compiled: bool) -> None:
    x, A = numbers(1, 3), numbers(2, 2, 3)
    x.setflags(write=False)
    A.setflags(write=False)
    pair(compiled)(x, A)
    np.testing.assert_array_equal(x, numbers(1, 3))


@needs_compiler
def test_machine_code_rounds_like_the_virtual_machine() -> None:
    x = ca.SX.sym("x", 4)
    # Sums of products, where fused multiply-adds would round differently, and cancellation, which would show it.
    total = ca.SX(0)
    for i, j, k in itertools.product(range(4), repeat=3):
        total = total + x[i] * x[j] - x[k] / (1 + x[i] ** 2) * x[j]
    outputs = {"total": total, "root": ca.sqrt(ca.sumsqr(x)), "product": x[0] * x[1] - x[2] * x[3]}
    machine, virtual = (Kernel("rounding", {"x": x}, outputs, compiled=c) for c in (True, False))
    for seed in range(100):
        for one, two in zip(machine(numbers(seed, 4)), virtual(numbers(seed, 4)), strict=True):
            assert one == two != 0.0


@needs_compiler
def test_functions_agree_with_the_virtual_machine() -> None:
    x = ca.SX.sym("x", 3)
    functions: dict[str, Callable[[ca.SX], ca.SX]] = {
        "sin": ca.sin,
        "cos": ca.cos,
        "tan": ca.tan,
        "exp": ca.exp,
        "log": lambda e: ca.log(ca.fabs(e)),
        "root": lambda e: ca.sqrt(ca.fabs(e)),
        "power": lambda e: ca.fabs(e) ** 1.7,
        "least": lambda e: ca.fmin(e, 0.3),
    }
    outputs = {name: function(x) for name, function in functions.items()}
    machine, virtual = (Kernel("functions", {"x": x}, outputs, compiled=c) for c in (True, False))
    for seed in range(50):
        for one, two in zip(machine(numbers(seed, 3)), virtual(numbers(seed, 3)), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-15, atol=0.0)


# Errors --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), r"expected 2 arguments \['x', 'A'\], got 0"),
        ((np.ones(3),), r"expected 2 arguments \['x', 'A'\], got 1"),
        ((np.ones(3), np.ones((2, 3)), 1.0), "got 3"),
        ((np.ones(2), np.ones((2, 3))), r"x must have shape \(3,\), got \(2,\)"),
        ((np.ones((3, 1)), np.ones((2, 3))), r"x must have shape \(3,\), got \(3, 1\)"),
        ((1.0, np.ones((2, 3))), r"x must have shape \(3,\), got \(\)"),
        ((np.ones(3), np.ones((3, 2))), r"A must have shape \(2, 3\), got \(3, 2\)"),
        ((np.ones(3), np.ones(6)), r"A must have shape \(2, 3\), got \(6,\)"),
        (("abc", np.ones((2, 3))), "x must"),
        (([[1.0], [2.0, 3.0]], np.ones((2, 3))), "x must"),
        ((np.ones(3) * 1j, np.ones((2, 3))), "x must"),
    ],
)
def test_wrong_arguments(arguments: tuple[Array, ...], message: str) -> None:
    kernel = pair(False)
    with pytest.raises(ShapeError, match=message):
        kernel(*arguments)
    # The kernel is none the worse for it.
    np.testing.assert_array_equal(kernel(np.ones(3), np.ones((2, 3)))[0], [3.0, 3.0])


X, Y = ca.SX.sym("x", 2), ca.SX.sym("elsewhere", 2)
DIAGONAL = ca.SX.sym("d", ca.Sparsity.diag(2))


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ({"place": 2 * X}, {"y": X}, "input 'place' of kernel 'bad' is not purely symbolic"),
        ({"place": ca.SX(1.0)}, {"y": ca.SX(1.0)}, "input 'place' of kernel 'bad' is not purely symbolic"),
        ({"x": X}, {"speed": X + Y}, r"output 'speed' of kernel 'bad' uses elsewhere_0, elsewhere_1, not .*\['x'\]"),
        ({"x": X[0]}, {"y": X}, "output 'y' of kernel 'bad' uses x_1"),
        # Of equal name, and yet another symbol.
        ({"x": ca.SX.sym("x", 2)}, {"y": X}, "output 'y' of kernel 'bad' uses x_0, x_1"),
        ({"x": X, "again": X}, {"y": X}, "again"),
        ({"twins": ca.vertcat(X[0], X[0])}, {"y": X[0]}, "twins"),
        ({"thin": DIAGONAL}, {"y": ca.SX(1.0)}, "thin"),
    ],
)
def test_wrong_symbols(inputs: Mapping[str, ca.SX], outputs: Mapping[str, ca.SX], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Kernel("bad", inputs, outputs, compiled=False)


@pytest.mark.parametrize("name", ["", "1a", "a b", "a.b", "a-b", "_a", "a__b", "a_", "é", "a\n", "a;b"])
def test_wrong_names(name: str) -> None:
    with pytest.raises(ModelError, match="kernel's name") as caught:
        Kernel(name, {"x": X}, {"y": X}, compiled=False)
    assert repr(name) in str(caught.value)


@both
@pytest.mark.parametrize("name", ["double", "for", "sin", "main", "null", "jac"])
def test_names_that_mean_something_in_c(name: str, compiled: bool) -> None:
    # Refused because of its name or none the worse for it, but never left to the C compiler to find out.
    said = repr(name)
    try:
        np.testing.assert_array_equal(Kernel(name, {"x": X}, {"y": 2 * X}, compiled=compiled)([1, 2])[0], [2, 4])
    except ModelError as error:
        said = str(error)
    assert repr(name) in said
    assert "cannot be compiled" not in said


# Binding and loops ---------------------------------------------------------------------------------------------------


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


# With and without a compiler: each in a process of its own ----------------------------------------------------------

PROGRAM = """
import sys, warnings
import casadi as ca
from erugin.symbolic import Kernel, CompilerWarning
x = ca.SX.sym("x", 2)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    kernels = [Kernel(f"k{i}", {"x": x}, {"y": (i + 2) * ca.sin(x) + x[0] * x[1]}) for i in range(int(sys.argv[1]))]
print(*(kernel.compiled for kernel in kernels))
print(*(float(number).hex() for kernel in kernels for number in kernel([0.3, -1.7])[0]))
for warning in caught:
    print(issubclass(warning.category, CompilerWarning), *str(warning.message).split())
"""


def environment(cache: Path, **variables: str | Path) -> dict[str, str]:
    """The variables of this process, with another cache and without a chosen compiler."""
    kept = {key: value for key, value in os.environ.items() if key not in {"CC", "ERUGIN_CC"}}
    return kept | {"ERUGIN_CACHE_DIR": str(cache)} | {key: str(value) for key, value in variables.items()}


def start(variables: Mapping[str, str], kernels: int = 1, code: str = PROGRAM) -> subprocess.Popen[str]:
    """A process that builds and evaluates some kernels."""
    command = [sys.executable, "-P", "-c", code, str(kernels)]
    return subprocess.Popen(command, env=dict(variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[list[str], list[str], list[str]]:
    """Whether each kernel is compiled, the numbers, and the warnings, each a line."""
    output, errors = process.communicate(timeout=120.0)
    assert process.returncode == 0, errors
    assert errors == ""
    compiled, values, *warned = output.splitlines()
    return compiled.split(), values.split(), warned


def build(cache: Path, kernels: int = 1, **variables: str | Path) -> tuple[list[str], list[str], list[str]]:
    """What a process says that builds some kernels with this cache."""
    return finish(start(environment(cache, **variables), kernels))


def values_here(kernels: int) -> list[str]:
    """What such a process should compute."""
    x = ca.SX.sym("x", 2)
    found = [
        Kernel(f"k{i}", {"x": x}, {"y": (i + 2) * ca.sin(x) + x[0] * x[1]}, compiled=False) for i in range(kernels)
    ]
    return [float(number).hex() for kernel in found for number in kernel([0.3, -1.7])[0]]


def write_script(path: Path, text: str) -> Path:
    """A shell script that can be run."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    """A compiler that writes down each of its calls; those that compile have the word -shared."""
    toolchain = find_toolchain()
    if isinstance(toolchain, str):
        pytest.skip(toolchain)
    command = " ".join(f"'{word}'" for word in toolchain.command)
    return write_script(tmp_path / "counting-cc", f'echo "$@" >> \'{tmp_path}/calls\'\nexec {command} "$@"')


def count_calls(compiler: Path) -> int:
    """How often it has compiled."""
    log = compiler.parent / "calls"
    return sum("-shared" in line for line in log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0


def libraries(cache: Path) -> list[Path]:
    """What the cache holds; nothing but whole libraries."""
    found = sorted(cache.iterdir())
    assert all(file.suffix == ".so" and not file.name.startswith("building-") for file in found)
    return found


@pytest.mark.parametrize("word", ["none", " None "])
def test_without_a_compiler_there_is_one_warning(tmp_path: Path, word: str) -> None:
    compiled, values, warned = build(tmp_path / "cache", 5, ERUGIN_CC=word)
    assert compiled == ["False"] * 5
    assert values == values_here(5)
    assert len(warned) == 1
    assert warned[0].startswith("True kernels run in CasADi's virtual machine")
    assert "compiler" in warned[0]
    assert not (tmp_path / "cache").exists()


@needs_compiler
def test_with_a_compiler_there_is_no_warning(tmp_path: Path) -> None:
    compiled, values, warned = build(tmp_path / "cache", 3)
    assert compiled == ["True"] * 3
    np.testing.assert_allclose([*map(float.fromhex, values)], [*map(float.fromhex, values_here(3))], rtol=1e-15)
    assert warned == []
    assert len(libraries(tmp_path / "cache")) == 3


def test_compiler_that_does_not_exist(tmp_path: Path) -> None:
    compiled, values, warned = build(tmp_path / "cache", 2, ERUGIN_CC="/nonexistent/cc")
    assert (compiled, values) == (["False", "False"], values_here(2))
    assert len(warned) == 1
    assert "/nonexistent/cc" in warned[0]


@pytest.mark.parametrize("text", ["exit 1", "echo 'out of order' >&2; exit 1"])
def test_compiler_that_always_fails(tmp_path: Path, text: str) -> None:
    script = write_script(tmp_path / "broken-cc", text)
    compiled, values, warned = build(tmp_path / "cache", 2, ERUGIN_CC=script)
    assert (compiled, values) == (["False", "False"], values_here(2))
    assert len(warned) == 1
    assert str(script) in warned[0]


def test_compiler_that_cannot_compile(tmp_path: Path) -> None:
    text = 'if [ "$1" = --version ]; then echo 1.0; exit 0; fi\ncat > /dev/null; echo "disk on fire" >&2; exit 1'
    script = write_script(tmp_path / "broken-cc", text)
    compiled, values, warned = build(tmp_path / "cache", 2, ERUGIN_CC=script)
    assert (compiled, values) == (["False", "False"], values_here(2))
    assert len(warned) == 1
    assert f"{script} failed: disk on fire" in warned[0]
    assert libraries(tmp_path / "cache") == []


def test_compiler_that_makes_rubbish(tmp_path: Path) -> None:
    script = write_script(tmp_path / "rubbish-cc", "cat > /dev/null; echo 1.0; exit 0")
    compiled, values, warned = build(tmp_path / "cache", 1, ERUGIN_CC=script)
    assert (compiled, values) == (["False"], values_here(1))
    assert len(warned) == 1
    assert str(script) in warned[0]
    assert len(warned[0]) < 500, "the reason is a sentence, not a page"


def test_words_for_a_compiler_that_cannot_be_split(tmp_path: Path) -> None:
    compiled, _, warned = build(tmp_path / "cache", 1, ERUGIN_CC="cc '")
    assert compiled == ["False"]
    assert len(warned) == 1


@needs_compiler
def test_compiler_may_have_words(tmp_path: Path, compiler: Path) -> None:
    compiled, _, warned = build(tmp_path / "cache", 1, ERUGIN_CC=f"'{compiler}' -DWORDS=1")
    assert (compiled, warned) == (["True"], [])
    assert "-DWORDS=1" in (tmp_path / "calls").read_text(encoding="utf-8")


INSISTENT = PROGRAM.replace("x[1]})", "x[1]}, compiled=True)")


def test_insisting_on_machine_code_without_a_compiler(tmp_path: Path) -> None:
    assert INSISTENT != PROGRAM
    process = start(environment(tmp_path / "cache", ERUGIN_CC="none"), 1, INSISTENT)
    _, errors = process.communicate(timeout=120.0)
    assert process.returncode == 1
    assert "ModelError: kernel 'k0' cannot be compiled: no C compiler" in errors.splitlines()[-1]


# The cache -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_cache_is_private(tmp_path: Path, compiler: Path, mask: int) -> None:
    cache = tmp_path / "some" / "where"
    before = os.umask(mask)
    try:
        build(cache, 1, ERUGIN_CC=compiler)
    finally:
        os.umask(before)
    assert cache.stat().st_mode & 0o777 == 0o700
    assert len(libraries(cache)) == 1
    assert libraries(cache)[0].stat().st_mode & 0o022 == 0


def test_cache_saves_compiling(tmp_path: Path, compiler: Path) -> None:
    first = build(tmp_path / "cache", 2, ERUGIN_CC=compiler)
    assert count_calls(compiler) == 2
    second = build(tmp_path / "cache", 2, ERUGIN_CC=compiler)
    assert count_calls(compiler) == 2
    assert first == second
    assert first[0] == ["True", "True"]
    # A kernel that is not the same is compiled.
    build(tmp_path / "cache", 3, ERUGIN_CC=compiler)
    assert count_calls(compiler) == 3
    assert len(libraries(tmp_path / "cache")) == 3


def test_cache_serves_one_compiler_only(tmp_path: Path, compiler: Path) -> None:
    build(tmp_path / "cache", 1, ERUGIN_CC=compiler)
    build(tmp_path / "cache", 1, ERUGIN_CC=f"{compiler} -DOTHER=1")
    assert count_calls(compiler) == 2
    assert len(libraries(tmp_path / "cache")) == 2


@pytest.mark.parametrize("length", [0, 1000])
def test_truncated_library_is_made_anew(tmp_path: Path, compiler: Path, length: int) -> None:
    whole = build(tmp_path / "cache", 1, ERUGIN_CC=compiler)
    (library,) = libraries(tmp_path / "cache")
    good = library.read_bytes()
    assert len(good) > length
    library.write_bytes(good[:length])
    assert build(tmp_path / "cache", 1, ERUGIN_CC=compiler) == whole
    assert count_calls(compiler) == 2
    for again in libraries(tmp_path / "cache"):
        assert again.stat().st_size > length


def test_foreign_library_is_removed(tmp_path: Path, compiler: Path) -> None:
    whole = build(tmp_path / "cache", 1, ERUGIN_CC=compiler)
    (library,) = libraries(tmp_path / "cache")
    key, _, digest = library.stem.partition("-")
    # It is a library that could be loaded, of another function; its name claims the right key.
    foreign = library.with_name(f"{key}-{'0' * len(digest)}.so")
    library.unlink()
    source = (
        "int k0(const double** a, double** r, long long* i, double* w, int m) { r[0][0] = r[0][1] = 42; return 0; }"
    )
    toolchain = find_toolchain()
    assert not isinstance(toolchain, str)
    toolchain.compile(source, foreign)
    assert build(tmp_path / "cache", 1, ERUGIN_CC=compiler) == whole
    assert not foreign.exists()
    assert libraries(tmp_path / "cache") == [library]


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_cache_that_others_can_write_to_is_not_used(tmp_path: Path, compiler: Path, mode: int) -> None:
    cache, temporary = tmp_path / "cache", tmp_path / "tmp"
    cache.mkdir()
    temporary.mkdir()
    cache.chmod(mode)
    for calls in (1, 2):
        compiled, _, warned = build(cache, 1, ERUGIN_CC=compiler, TMPDIR=temporary)
        assert (compiled, warned) == (["True"], [])
        assert count_calls(compiler) == calls
        assert list(cache.iterdir()) == []
        assert list(temporary.iterdir()) == []


def test_cache_that_cannot_be_made_is_not_used(tmp_path: Path, compiler: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir()
    compiled, _, warned = build(tmp_path / "file" / "cache", 1, ERUGIN_CC=compiler, TMPDIR=tmp_path / "tmp")
    assert (compiled, warned) == (["True"], [])
    assert list((tmp_path / "tmp").iterdir()) == []


def test_cache_that_is_a_link_is_not_used(tmp_path: Path, compiler: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "cache").symlink_to(tmp_path / "elsewhere")
    compiled, _, _ = build(tmp_path / "cache", 1, ERUGIN_CC=compiler)
    assert compiled == ["True"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_two_processes_compile_one_kernel_at_once(tmp_path: Path, compiler: Path) -> None:
    # Each waits, while it compiles, until the other does too.
    (tmp_path / "met").mkdir()
    wait = f"""
        case " $* " in *-shared*)
            touch '{tmp_path}/met/'$$
            for i in $(seq 600); do [ "$(ls '{tmp_path}/met' | wc -l)" -ge 2 ] && break; sleep 0.1; done;;
        esac
        exec '{compiler}' "$@"
    """
    meeting = write_script(tmp_path / "meeting-cc", wait)
    processes = [start(environment(tmp_path / "cache", ERUGIN_CC=meeting)) for _ in range(2)]
    one, two = [finish(process) for process in processes]
    assert one == two
    assert (one[0], one[2]) == (["True"], [])
    assert count_calls(compiler) == len(list((tmp_path / "met").iterdir())) == 2
    assert 1 <= len(libraries(tmp_path / "cache")) <= 2
    assert build(tmp_path / "cache", 1, ERUGIN_CC=meeting) == one
    assert count_calls(compiler) == 2
