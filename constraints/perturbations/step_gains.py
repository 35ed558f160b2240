"""Gains for a given integrator and step: eigenvalues with which a deviation contracts fastest."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Protocol

from ...symbolic.errors import ModelError
from ...symbolic.validation import finite, positive

LARGEST_PRODUCT = 12.0
"""Largest modulus of each part of λ h that is searched: no explicit method of four stages is stable beyond."""
GRID = 0.1
TIE = 1e-6
"""Contractions that differ by less count as equal; then the eigenvalue of least modulus requires the least force."""


class SupportsAmplification(Protocol):
    """An integrator whose step multiplies a solution by a known factor, as every integrator with a fixed step does."""

    def amplification(self, z: complex) -> float:
        """|R(z)|, the factor by which one step h multiplies a solution of ẏ = λ y, with z = λ h."""
        ...


def fastest_pair(step: float, integrator: SupportsAmplification) -> complex:
    """λ, Im λ ≥ 0, for which max(|R(λ h)|, |R(λ̄ h)|) is least: that of a pair of eigenvalues, double if it is real.

    For the classical Runge–Kutta method λ h = −1.7294 + 0.8890i is a zero of R, and so is its conjugate; then R(h A)
    vanishes by the theorem of Cayley and Hamilton, and a deviation vanishes after one step. It has another such pair,
    −0.2706 ± 2.5048i, that would require larger forces.

    Args:
        step: h [s].
        integrator: integrator with a fixed step.

    Returns:
        λ [1/s].

    Raises:
        ModelError: if the integrator chooses its own steps, or stronger gains always contract faster.
    """
    h = _checked_step(step, integrator)

    def growth(x: float, y: float) -> float:
        return integrator.amplification(complex(-x, y))

    count = round(LARGEST_PRODUCT / GRID)
    table = [[growth(GRID * (i + 1), GRID * j) for j in range(count)] for i in range(count)]
    starts = [
        (GRID * (i + 1), GRID * j)
        for i, j in itertools.product(range(count - 1), range(count - 1))
        if all(
            table[i][j] <= table[k][m]
            for k, m in itertools.product((i - 1, i, i + 1), (j - 1, j, j + 1))
            if k >= 0 and m >= 0
        )
    ]
    x, y = _best_minimum(growth, starts, min(map(min, table)), integrator)
    return complex(-x, y) / h


def fastest_rate(step: float, integrator: SupportsAmplification) -> float:
    """k > 0 with the least |R(−k h)|, of a single real eigenvalue −k: 1.5961/h for the classical Runge–Kutta method.

    Args:
        step: h [s].
        integrator: integrator with a fixed step.

    Returns:
        k [1/s].

    Raises:
        ModelError: if the integrator chooses its own steps, or stronger gains always contract faster.
    """
    h = _checked_step(step, integrator)

    return _fastest(lambda x: integrator.amplification(complex(-x, 0.0)), integrator) / h


def fastest_scale(step: float, integrator: SupportsAmplification, eigenvalues: list[complex]) -> float:
    """s > 0 for which max |R(s λ h)| over given eigenvalues λ is least.

    Args:
        step: h [s].
        integrator: integrator with a fixed step.
        eigenvalues: λ, with negative real parts; only their ratios matter.

    Raises:
        ModelError: as :func:`fastest_rate`.
    """
    h = _checked_step(step, integrator)
    unit = max(abs(value) for value in eigenvalues)
    directions = [value / unit for value in eigenvalues]
    scale = _fastest(lambda x: max(integrator.amplification(x * direction) for direction in directions), integrator)
    return scale / (h * unit)


def require_share(share: float) -> float:
    """Return ``share`` as a float; raise ModelError unless 0 < share ≤ 1."""
    number = finite("share", share)
    if not 0.0 < number <= 1.0:
        raise ModelError(f"share must be greater than zero and at most 1, got {share!r}")
    return number


def require_amplification(integrator: SupportsAmplification) -> None:
    """Raise ModelError unless it is an integrator with a fixed step, |R(0)| = 1."""
    if isinstance(integrator, type) or not callable(getattr(integrator, "amplification", None)):
        raise ModelError(f"integrator must be an object with an amplification, such as RK4(), got {integrator!r}")
    if abs(integrator.amplification(0j) - 1.0) > 1e-9:
        raise ModelError(
            f"{type(integrator).__name__} has no amplification, |R(0)| = {integrator.amplification(0j):g} instead of "
            f"1: it chooses its own steps, so that no gains are best for one; use a fixed step, such as RK4"
        )


def _checked_step(step: float, integrator: SupportsAmplification) -> float:
    h = positive("step", step)
    require_amplification(integrator)
    return h


def _fastest(growth: Callable[[float], float], integrator: SupportsAmplification) -> float:
    table = [growth(GRID * (i + 1)) for i in range(round(LARGEST_PRODUCT / GRID))]
    starts = [
        (GRID * (i + 1), 0.0)
        for i in range(len(table) - 1)
        if table[i] <= table[i + 1] and (i == 0 or table[i] <= table[i - 1])
    ]
    return _best_minimum(lambda x, _: growth(x), starts, min(table), integrator)[0]


def _best_minimum(
    growth: Callable[[float, float], float],
    starts: list[tuple[float, float]],
    least: float,
    integrator: SupportsAmplification,
) -> tuple[float, float]:
    found = sorted((growth(*point), point) for point in (_descend(growth, start) for start in starts))
    if not found or found[0][0] > least + TIE:
        raise ModelError(
            f"{type(integrator).__name__} contracts a deviation ever faster as its gains grow, down to {least:.3g} per "
            f"step at |λ h| = {LARGEST_PRODUCT:g}: there are no fastest gains; choose them by the forces that they "
            "require"
        )
    return min((point for value, point in found if value <= found[0][0] + TIE), key=lambda p: p[0] ** 2 + p[1] ** 2)


def _descend(growth: Callable[[float, float], float], start: tuple[float, float]) -> tuple[float, float]:
    """Return a minimum near ``start`` by pattern search, which needs no slope: |R| has a corner at each zero of R."""
    (x, y), size = start, GRID / 2
    best = growth(x, y)
    while size > 1e-16:
        for dx, dy in itertools.product((-size, 0.0, size), repeat=2):
            trial = growth(x + dx, abs(y + dy)) if x + dx > 0.0 else best
            if trial < best:
                best, x, y = trial, x + dx, abs(y + dy)
                break
        else:
            size /= 2
    return x, y
