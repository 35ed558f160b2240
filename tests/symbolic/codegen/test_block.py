"""C functions as operations among expressions."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.symbolic import Kernel, ModelError
from erugin.symbolic.codegen import CBlock, SymbolicFunction, Tape
from erugin.symbolic.compiled_rollout import RolloutLoop
from erugin.symbolic.compiler import vector_width
from erugin.symbolic.runge_kutta import Tableau

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
BLOCK = CBlock("largest", TEXT, {"y": 3, "product": 1}, {"index": 1, "pair": 2})
X = ca.SX.sym("x", 3)


def outputs(x: ca.SX = X) -> dict[str, ca.SX]:
    """Expressions before, in and after the block, which is called twice."""
    y = ca.sin(x)
    first = BLOCK({"y": y, "product": x[0] * x[1] * x[2]})
    second = BLOCK({"y": y + ca.vertcat(first["pair"], 0), "product": ca.cos(first["index"])})
    return {"first": ca.vertcat(first["index"], first["pair"]), "after": second["pair"] * x[0] + first["pair"][1]}


def expected(x: np.ndarray) -> np.ndarray:
    y, product = np.sin(x), np.prod(x)
    z = y + np.array([2.0 * product, y.max(), 0.0])
    pair = np.array([2.0 * np.cos(y.argmax()), z.max()])
    return np.array([y.argmax(), 2.0 * product, y.max(), *(pair * x[0] + y.max())])


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("x", [[0.1, 0.3, 0.2], [-1.0, -2.0, -3.0], [0.4, 0.5, 1.5]])
def test_expressions_go_on_after_a_block(x: list[float], compiled: bool) -> None:
    found = Kernel("calls", {"x": X}, outputs(), compiled=compiled)(np.array(x))
    np.testing.assert_allclose(np.concatenate(found), expected(np.array(x)), rtol=1e-14)


def test_equal_calls_are_one() -> None:
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y", 3)
    both = [ca.substitute(e, X, x) for e in (*outputs().values(), *outputs().values())]
    tape = Tape.of(SymbolicFunction("f", {"x": x, "y": y}, {"both": ca.vertcat(*both)}).function())
    assert len(tape.blocks) == 2


@pytest.mark.parametrize("systems", [1, 3, 11])
def test_a_lane_has_the_bits_of_a_system_alone(systems: int) -> None:
    t, p = ca.SX.sym("t"), ca.SX.sym("p", 2)
    found = outputs(ca.vertcat(X[0] * p[0], X[1], X[2] + t))
    rate = ca.vertcat(found["after"], p[1] * found["first"][0]) - X
    fixed = BLOCK({"y": ca.vertcat(p, 1), "product": ca.exp(p[0])})
    tableau = Tableau(((0.0, 0.0), (0.5, 0.0)), (0.0, 1.0), (0.0, 0.5))
    loop = RolloutLoop(t, X, p, rate, {"first": found["first"], "fixed": fixed["pair"]}, None, tableau)
    rng = np.random.default_rng(1)
    start, numbers = rng.normal(size=(systems, 3)), rng.normal(size=(systems, 2))
    runs = []
    for lanes in dict.fromkeys((1, vector_width())):
        rollout = loop.compile(lanes)
        assert not isinstance(rollout, str)
        x, seen = start.copy(), [np.zeros((systems, 20, size)) for size in rollout.sizes]
        rollout.run(np.arange(systems), 0, 0.0, 0.05, x, numbers, seen)
        runs.append([x, *seen])
    for one, other in zip(runs[0], runs[-1], strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(runs[0][3][:, 0, 0], 2.0 * np.exp(numbers[:, 0]), rtol=1e-14)
    assert np.abs(np.diff(runs[0][2][:, :, 0], axis=1)).max() > 0.0


def test_a_block_without_some_argument_is_refused() -> None:
    with pytest.raises(ModelError, match="largest takes arguments of the sizes"):
        BLOCK({"y": X})
    with pytest.raises(ModelError, match="largest takes arguments of the sizes"):
        BLOCK({"y": X, "product": X})


def test_another_block_of_the_same_name_is_refused() -> None:
    outputs()
    other = CBlock(BLOCK.name, TEXT.replace("2. *", "3. *"), BLOCK.inputs, BLOCK.outputs)
    with pytest.raises(ModelError, match="there is another block called largest"):
        other({"y": X, "product": X[0]})


def test_a_block_that_does_not_compile_is_an_error() -> None:
    broken = CBlock("broken", "static void broken(int) {", BLOCK.inputs, BLOCK.outputs)
    with pytest.raises(ModelError, match="broken cannot be compiled"):
        broken({"y": X, "product": X[0]})


def test_a_function_that_is_no_block_is_named() -> None:
    square = ca.Function("square", [X], [X**2], {"never_inline": True})
    with pytest.raises(ModelError, match="calls another function, square, which is not made of scalar operations"):
        Tape.of(ca.Function("f", [X], square.call([X])))


def test_a_block_has_no_derivative() -> None:
    with pytest.raises(RuntimeError, match="Derivatives cannot be calculated for block_largest"):
        ca.jacobian(outputs()["after"], X)
