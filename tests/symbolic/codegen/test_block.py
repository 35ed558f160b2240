"""Kernels that end with C code of their own."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np
import pytest

from erugin.symbolic import Kernel, ModelError
from erugin.symbolic.codegen import CBlock

pytestmark = pytest.mark.compiled

# The index of the largest of three numbers, by a branch that no expression has, and twice the product.
TEXT = """
static void largest(const double *const *in, double *const *out) {
  int at = 0;
  for (int i = 1; i < 3; ++i)
    if (in[0][i] > in[0][at]) at = i;
  out[0][0] = at;
  out[1][0] = 2. * in[1][0];
  out[1][1] = in[0][at];
}
"""
BLOCK = CBlock(TEXT, "largest", {"index": 1, "pair": 2})
X = ca.SX.sym("x", 3)


def kernel(block: CBlock | None = BLOCK) -> Kernel:
    return Kernel("ends", {"x": X}, {"y": ca.sin(X), "product": X[0] * X[1] * X[2]}, compiled=True, block=block)


@pytest.mark.parametrize("x", [[0.1, 0.3, 0.2], [-1.0, -2.0, -3.0], [0.4, 0.5, 1.5]])
def test_the_block_reads_what_the_expressions_give(x: list[float]) -> None:
    y, product, index, pair = kernel()(np.array(x))
    np.testing.assert_allclose(y, np.sin(x), rtol=1e-14)
    assert product == pytest.approx(np.prod(x))
    assert index == np.argmax(np.sin(x))
    np.testing.assert_allclose(pair, [2.0 * np.prod(x), np.sin(x).max()], rtol=1e-14)


def test_outputs_that_nobody_wants_are_still_read_by_the_block() -> None:
    """CasADi passes null pointers for them."""
    function, x = kernel().function, np.array([0.2, -0.1, 0.9])
    buffer, evaluate = function.buffer()
    pair = np.zeros(2)
    buffer.set_arg(0, x.data)
    buffer.set_res(3, pair.data)
    evaluate()
    np.testing.assert_allclose(pair, [2.0 * np.prod(x), np.sin(0.9)], rtol=1e-14)


def test_another_block_is_another_library() -> None:
    other = CBlock(TEXT.replace("2. *", "3. *"), "largest", BLOCK.outputs)
    x = np.array([1.0, 2.0, 3.0])
    assert kernel(other)(x)[3][0] == pytest.approx(1.5 * kernel()(x)[3][0])
    assert list(kernel(None).outputs) == ["y", "product"]


def test_a_pickled_kernel_has_its_block() -> None:
    x = np.array([1.0, 2.0, 1.5])
    for found, expected in zip(pickle.loads(pickle.dumps(kernel()))(x), kernel()(x), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_virtual_machine_has_no_block() -> None:
    interpreted = Kernel("ends", {"x": X}, {"y": ca.sin(X)}, compiled=False, block=BLOCK)
    assert not interpreted.compiled
    assert list(interpreted.outputs) == ["y"]


def test_a_block_that_does_not_compile_is_an_error() -> None:
    with pytest.raises(ModelError, match="cannot be compiled"):
        kernel(CBlock("static void largest(int) {", "largest", BLOCK.outputs))
