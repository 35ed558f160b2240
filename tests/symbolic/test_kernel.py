"""Kernels: values, order of arguments, and errors that name the wrong argument."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.symbolic import Kernel, ModelError, ShapeError

from ..support.kernels import both, numbers, pair

Array = NDArray[np.float64]


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


@pytest.mark.compiled
def test_machine_code_rounds_like_the_virtual_machine() -> None:
    x = ca.SX.sym("x", 4)
    # Sums of products, where fused multiply-adds would round differently, and cancellation, which would show it.
    total = ca.SX(0)
    for i, j, k in itertools.product(range(4), repeat=3):
        total = total + x[i] * x[j] - x[k] * (1 + x[i] ** 2) * x[j]
    outputs = {"total": total, "root": ca.sqrt(ca.sumsqr(x)), "product": x[0] * x[1] - x[2] * x[3]}
    machine, virtual = (Kernel("rounding", {"x": x}, outputs, compiled=c) for c in (True, False))
    for seed in range(100):
        for one, two in zip(machine(numbers(seed, 4)), virtual(numbers(seed, 4)), strict=True):
            assert one == two != 0.0


@pytest.mark.compiled
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


@both
def test_operations_are_counted_once(compiled: bool) -> None:
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y", 3)

    def count(**outputs: ca.SX) -> int:
        return Kernel("counted", {"x": x, "y": y}, outputs, compiled=compiled).operations

    assert count(z=ca.dot(x, y)) == 5  # three products, two sums
    assert count(z=ca.dot(x, y), again=ca.dot(y, x) + 0 * x[0]) == 5
    assert count(z=ca.vertcat(x, y, 1.0)) == count() == 0
    assert count(z=x @ y.T) == 9
    assert count(s=ca.sin(x[0] + y[0]), c=ca.cos(y[0] + x[0])) == 3


@pytest.mark.compiled
def test_calls_of_other_functions_run_in_the_virtual_machine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernel, "_warned", True)
    y, z = ca.SX.sym("y"), ca.SX.sym("z", 2)
    whole = ca.Function("whole", [y], [ca.sin(y), y**2], {"never_inline": True})
    outputs = {"one": ca.vertcat(*whole.call([z[0]])) + z[1]}
    with pytest.raises(ModelError, match=r"kernel 'nested' cannot be compiled: .*calls another function"):
        Kernel("nested", {"z": z}, outputs, compiled=True)
    kernel = Kernel("nested", {"z": z}, outputs)
    assert not kernel.compiled
    np.testing.assert_array_equal(kernel([1.5, 10.0])[0], [np.sin(1.5) + 10.0, 12.25])
    with pytest.raises(ModelError, match="calls another function"):
        _ = kernel.operations


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
    # The kernel is unaffected.
    np.testing.assert_array_equal(kernel(np.ones(3), np.ones((2, 3)))[0], [3.0, 3.0])


X, Y = ca.SX.sym("x", 2), ca.SX.sym("elsewhere", 2)
DIAGONAL = ca.SX.sym("d", ca.Sparsity.diag(2))


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ({"place": 2 * X}, {"y": X}, "input 'place' of kernel 'bad' must be full and consist of symbols"),
        ({"place": ca.SX(1.0)}, {"y": ca.SX(1.0)}, "input 'place' of kernel 'bad' must be full and consist of symbols"),
        ({"x": X}, {"speed": X + Y}, r"output 'speed' of kernel 'bad' uses elsewhere_0, elsewhere_1, not .*\['x'\]"),
        ({"x": X[0]}, {"y": X}, "output 'y' of kernel 'bad' uses x_1"),
        # Of equal name, and yet another symbol.
        ({"x": ca.SX.sym("x", 2)}, {"y": X}, "output 'y' of kernel 'bad' uses x_0, x_1"),
        ({"x": X, "again": X}, {"y": X}, "again"),
        ({"twins": ca.vertcat(X[0], X[0])}, {"y": X[0]}, "twins"),
        ({"thin": DIAGONAL}, {"y": ca.SX(1.0)}, "thin"),
    ],
)
@pytest.mark.parametrize("compiled", [False, True, None])
def test_wrong_symbols(
    inputs: Mapping[str, ca.SX], outputs: Mapping[str, ca.SX], message: str, compiled: bool | None
) -> None:
    with pytest.raises(ModelError, match=message):
        Kernel("bad", inputs, outputs, compiled=compiled)


@pytest.mark.parametrize("name", ["", "1a", "a b", "a.b", "a-b", "_a", "a__b", "a_", "é", "a\n", "a;b"])
def test_wrong_names(name: str) -> None:
    with pytest.raises(ModelError, match="kernel's name") as caught:
        Kernel(name, {"x": X}, {"y": X}, compiled=False)
    assert repr(name) in str(caught.value)


@both
@pytest.mark.parametrize("name", ["double", "for", "sin", "main", "null", "jac"])
def test_names_that_mean_something_in_c(name: str, compiled: bool) -> None:
    # Refused because of its name or none the worse for it, but never left to the C compiler to find out.
    message = repr(name)
    try:
        np.testing.assert_array_equal(Kernel(name, {"x": X}, {"y": 2 * X}, compiled=compiled)([1, 2])[0], [2, 4])
    except ModelError as error:
        message = str(error)
    assert repr(name) in message
    assert "cannot be compiled" not in message
