"""Machine code rounds after every operation: products and sums are not fused, whatever stands beside them."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.symbolic import Kernel
from erugin.symbolic.compiled_rollout import RolloutLoop
from erugin.symbolic.runge_kutta import CLASSICAL

from .marches import LANES, compile_march

COUNT = 200


def products(a: ca.SX, b: ca.SX, c: ca.SX, d: ca.SX) -> ca.SX:
    """Of complex numbers (a, b) and (c, d): a difference and a sum of products, side by side."""
    return ca.vertcat(*(ca.vertcat(a[i] * c[i] - b[i] * d[i], a[i] * d[i] + b[i] * c[i]) for i in range(2)))


@pytest.mark.compiled
def test_complex_products_are_rounded_as_by_numpy() -> None:
    a, b, c, d = (ca.SX.sym(name, 2) for name in "abcd")
    kernel = Kernel("complex", {"a": a, "b": b, "c": c, "d": d}, {"e": products(a, b, c, d)}, compiled=True)
    rng = np.random.default_rng(0)
    for _ in range(COUNT):
        p, q, r, s = rng.normal(size=(4, 2))
        expected = np.column_stack([p * r - q * s, p * s + q * r]).ravel()
        np.testing.assert_array_equal(kernel(p, q, r, s)[0], expected)


@pytest.mark.compiled
@pytest.mark.parametrize("lanes", LANES)
def test_runs_round_them_likewise(lanes: int) -> None:
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 4), ca.SX.sym("p", 4)
    told = {"e": products(x[:2], x[2:], p[:2], p[2:])}
    march = compile_march(RolloutLoop(t, x, p, ca.SX.zeros(4), told, None, CLASSICAL), lanes)
    rng = np.random.default_rng(1)
    states, numbers = rng.normal(size=(2, COUNT, 4))
    outputs = [np.zeros((COUNT, 1, 4)) for _ in range(2)]
    march.run(np.arange(COUNT), 0, 0.0, 1e-3, states, numbers, outputs)
    a, b, c, d = states[:, :2], states[:, 2:], numbers[:, :2], numbers[:, 2:]
    expected = np.stack([a * c - b * d, a * d + b * c], axis=2).reshape(COUNT, 4)
    np.testing.assert_array_equal(outputs[1][:, 0], expected)
