"""Every integrator with what it claims: one table for all tests of integrators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from erugin.controllers import Status
from erugin.robots.hamiltonian import Cholesky
from erugin.simulation import (
    CVODES,
    DOP853,
    IDAS,
    RK4,
    CanonicalEuler,
    Euler,
    GeneralizedAlpha,
    Integrator,
    Projected,
    Radau,
    Reduced,
    Variational,
)


@dataclass(frozen=True)
class Row:
    """An integrator and its claims.

    Attributes:
        method: as the tests take it; one that chooses its steps with a tight tolerance.
        order: of coordinates and velocities in the step; 0 if it chooses its own steps.
        error: largest of coordinates and velocities in 2 s of the driven pendulum on a rod, sampled at 10 ms [m, m/s].
        holds: largest miss of the rod's length in that motion [m].
        energy: largest error in 5 s of the free pendulum on a rod, sampled at 10 ms [J].
        called: largest difference that it makes in 0.5 s whether the controller is an expression or called from Python;
            methods that restart at each sample in the second case keep their tolerance, and no more.
        diverges: status of a run into infinity.
        tolerant: the method with a relative and an absolute tolerance; None if it has none.
        amplifies: whether its amplification is measured on ẏ = λ y.
        projected: largest error in the same 2 s when it is projected after each step.
        symmetric: whether its error has even powers of the step only.
        early: how long before a motion goes to infinity its run may end [s].
        reach: status of a run at the end of an arm's reach.
    """

    method: Integrator
    order: int
    error: float
    holds: float
    energy: float
    called: float = 1e-12
    diverges: Status = Status.NOT_FINITE
    tolerant: Callable[[float, float], Integrator] | None = None
    amplifies: bool = True
    projected: float | None = None
    symmetric: bool = False
    early: float = 2e-3
    reach: Status = Status.SINGULAR


ROWS: tuple[Row, ...] = (
    Row(Euler(), 1, error=5e-2, holds=3e-3, energy=5.0, diverges=Status.DIVERGED),
    Row(RK4(), 4, error=6e-7, holds=6e-8, energy=5e-6, diverges=Status.DIVERGED),
    Row(CanonicalEuler(Cholesky()), 1, error=5e-2, holds=3e-3, energy=5.0, diverges=Status.DIVERGED),
    # Its coordinates are chosen again at other instants when it is stepped from Python.
    Row(Reduced(), 4, error=4e-8, holds=1e-15, energy=6e-7, called=2e-8, diverges=Status.DIVERGED),
    Row(
        *(Variational(), 2),
        error=4e-4,
        holds=1e-15,
        energy=2e-3,
        diverges=Status.NOT_CONVERGED,
        symmetric=True,
        early=3e-3,
        # In the middle of a step the target leaves the arm's reach before a sample shows it.
        reach=Status.NOT_CONVERGED,
    ),
    # It is a method of several steps, whose amplification one step does not show.
    Row(
        *(GeneralizedAlpha(), 2),
        error=4e-4,
        holds=1e-15,
        energy=2e-3,
        diverges=Status.NOT_CONVERGED,
        amplifies=False,
        early=3e-3,
    ),
    Row(DOP853(1e-12, 1e-14), 0, error=3e-12, holds=3e-13, energy=1e-11, tolerant=DOP853),
    Row(Radau(1e-11, 1e-13), 0, error=5e-12, holds=1e-12, energy=1e-11, projected=3e-11, tolerant=Radau),
    Row(
        *(CVODES(1e-11, 1e-13), 0),
        error=5e-10,
        holds=5e-11,
        energy=1e-8,
        called=1e-9,
        projected=2e-9,
        diverges=Status.NOT_CONVERGED,
        tolerant=CVODES,
    ),
    Row(
        *(IDAS(1e-11, 1e-13), 0),
        error=6e-10,
        holds=1e-10,
        energy=5e-9,
        called=1e-8,
        projected=3e-8,
        diverges=Status.NOT_CONVERGED,
        tolerant=IDAS,
    ),
)
"""All but Projected, which is another method with its state put back after each step."""


FIXED = tuple(row for row in ROWS if row.order)
ADAPTIVE = tuple(row for row in ROWS if not row.order)


def _pushed(row: Row) -> tuple[Integrator, tuple[float, float]]:
    """A method with how far place and speed may be off after 2.5 s in which they are polynomials of degree 2 and 1."""
    if row.tolerant is not None:
        return row.tolerant(1e-8, 1e-10), (1e-6, 1e-6)
    return row.method, (2e-2 if row.order == 1 else max(1e-11, row.called), max(1e-11, row.called))


METHODS: Mapping[Integrator, tuple[float, float]] = {
    **dict(map(_pushed, ROWS)),
    Projected(): (1e-11, 1e-11),
    Projected(DOP853()): (1e-11, 1e-11),
}
"""Every method, and its errors where the input is constant from one sample to the next."""


def name_of(row: Row) -> str:
    """Of a row's integrator, for the names of tests."""
    return type(row.method).__name__
