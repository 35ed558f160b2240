"""Wrong arguments, symbols and names are refused by name."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.symbolic import Kernel, ModelError, ShapeError

from .kernels import both, pair

Array = NDArray[np.float64]


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
    said = repr(name)
    try:
        np.testing.assert_array_equal(Kernel(name, {"x": X}, {"y": 2 * X}, compiled=compiled)([1, 2])[0], [2, 4])
    except ModelError as error:
        said = str(error)
    assert repr(name) in said
    assert "cannot be compiled" not in said
