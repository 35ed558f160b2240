"""What linearization about a state, or along a motion, gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Linearization:
    """ξ̇ = A ξ + B δu and δy = C ξ + D δu about a state, with δx = (δq, δv) = T ξ.

    ξ are entries of (δq, δv) themselves, as many as natural constraints leave free; all without constraints.

    Attributes:
        A: shape (n, n).
        B: shape (n, nu).
        C: shape (ny, n).
        D: shape (ny, nu).
        T: shape (nq + nv, n).
        independent: places of ξ in (q, v), n of them.
        t: time of the state [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        u: inputs, shape (nu,); added to the law's where there is a controller.
        rate: (q̇, v̇) at the state itself, shape (nq + nv,): zero where it is an equilibrium.
        states: name of each entry of ξ.
        inputs: name of each input.
        outputs: name of each output.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    T: Array
    independent: tuple[int, ...]
    t: float
    q: Array
    v: Array
    u: Array
    rate: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for array in (self.A, self.B, self.C, self.D, self.T, self.q, self.v, self.u, self.rate):
            array.setflags(write=False)

    @property
    def poles(self) -> NDArray[np.complex128]:
        """Eigenvalues of A [1/s], by falling real part."""
        values = np.linalg.eigvals(self.A).astype(np.complex128)
        return values[np.lexsort((-values.imag, -values.real))]


@dataclass(frozen=True, eq=False)
class LinearizedMotion:
    """ξ̇ = A(t) ξ + B(t) δu along a motion, sample by sample.

    Attributes:
        t: times, shape (N,) [s].
        A: shape (N, n, n).
        B: shape (N, n, nu).
        T: shape (N, nq + nv, n).
        independent: places of ξ in (q, v), the same all along.
        states: name of each entry of ξ.
        inputs: name of each input.
    """

    t: Array
    A: Array
    B: Array
    T: Array
    independent: tuple[int, ...]
    states: tuple[str, ...]
    inputs: tuple[str, ...]

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for array in (self.t, self.A, self.B, self.T):
            array.setflags(write=False)
