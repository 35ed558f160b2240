"""A small kernel, numbers for it, and marks for kernels with and without a compiler."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.symbolic import Kernel, machine_code

Array = NDArray[np.float64]

both = pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.compiled)], ids=["vm", "c"])


def numbers(seed: int, *shape: int) -> Array:
    """Random numbers of order one, none near zero."""
    rng = np.random.default_rng(seed)
    return np.array(rng.uniform(0.5, 2.0, shape) * rng.choice([-1.0, 1.0], shape))


def column_major(array: Array) -> Array:
    """A copy in the order that kernels are bound to."""
    return np.array(array, order="F")


def pair(compiled: bool | None = None, name: str = "pair") -> Kernel:
    """x, A → A x and 2 Aᵀ; A has shape (2, 3)."""
    x, A = ca.SX.sym("x", 3), ca.SX.sym("A", 2, 3)
    return Kernel(name, {"x": x, "A": A}, {"product": A @ x, "twice": 2 * A.T}, compiled=compiled)


def use_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels and loops in CasADi's virtual machine, where compiling would take longer than what is tested."""
    monkeypatch.setattr(machine_code, "find_compiler", lambda: "not wanted")
    monkeypatch.setattr(Kernel, "_warned", True)
