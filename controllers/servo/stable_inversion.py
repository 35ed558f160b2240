"""Stable inversion: bounded motions despite unstable internal dynamics, as boundary value problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError, NotConvergedError
from ...symbolic.validation import finite, positive, require_memory, whole
from .servo_controller import ServoController

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class InvertedMotion:
    """A bounded motion on which every row is satisfied.

    Attributes:
        t: times, shape (N,) [s].
        q: coordinates, shape (N, nq).
        v: velocities, shape (N, nv).
        u: inputs, shape (N, nu).
        residual: largest relative residual of the equations of motion between the times.
    """

    t: Array
    q: Array
    v: Array
    u: Array
    residual: float

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for array in (self.t, self.q, self.v, self.u):
            array.setflags(write=False)


def stable_inversion(
    controller: ServoController,
    start: float,
    end: float,
    *,
    nodes: int = 201,
    tolerance: float = 1e-8,
    p: Mapping[str, float] | ArrayLike | None = None,
) -> InvertedMotion:
    """Find the bounded motion of a program from rest to rest [DevasiaChenPaden1996]_.

    Unstable internal dynamics are bounded only if they start on their unstable manifold and end on their stable one:
    the motion starts before the program does. With sufficient time on both sides, ẋ = F(t, x) is a boundary value
    problem: at the start all rows satisfied and no component along stable zeros, at the end none along unstable ones.

    Args:
        controller: servo-controller of the program, built with ``allow_unstable_internal=True``.
        start: start time [s], several times 1/|zero| before the program starts to move.
        end: end time [s], several times 1/|zero| after the program has come to rest.
        nodes: number of nodes of the first mesh, at least 2; it may be refined up to 50 times.
        tolerance: greatest relative residual, at least 1e-13.
        p: parameters of the controller: nominal, overridden by name, or the whole vector.

    Raises:
        ModelError: if the program is not at rest at start and end, a zero has no real part, or the numbers of stable
            and unstable zeros differ between the two; for a mesh or a tolerance out of range.
        NotConvergedError: if the boundary value problem is not solved.
    """
    from scipy.integrate import solve_bvp  # takes a second to load, which few programs need

    if not isinstance(controller, ServoController):
        raise ModelError(f"stable_inversion needs a ServoController, got {type(controller).__name__}")
    first, last = finite("start", start), finite("end", end)
    if not last > first:
        raise ModelError(f"end must be after start, got {start!r} and {end!r}")
    nodes = whole("nodes", nodes, 2)
    if positive("tolerance", tolerance) < 1e-13:
        raise ModelError(f"tolerance must be at least 1e-13, below which lies rounding, got {tolerance!r}")
    motion, nq = controller.motion, controller.robot.coordinates.nq
    own = controller.arguments(first, motion.q, motion.v, p)[3][: len(motion.parameters)]
    place = np.concatenate([motion.q, np.zeros(motion.v.size)])
    rests: list[Array] = []
    for time in (first, last):
        rest = motion.rest(time, place, own)
        if rest is None:
            raise ModelError(
                f"no state of rest was found on the program at t = {time:g} s: choose start and end at which it rests"
            )
        rests.append(rest)
        place = rest
    before, after = (
        _boundary_rows(controller, time, rest, own) for time, rest in zip((first, last), rests, strict=True)
    )
    inside = controller.relative_degree.internal_dimension or 0
    if len(before[0]) + len(after[1]) != inside or len(before[0]) != len(after[0]):
        raise ModelError(
            f"the program has {len(before[0])} stable zeros at the start and {len(after[1])} unstable ones at the "
            f"end, but {inside} internal dimensions: zeros without real part are not supported"
        )
    # The equations of motion preserve natural constraints, so their rows at the start suffice.
    rows = motion.independent_errors(first, rests[0], own)

    def field(t: Array, x: Array) -> Array:
        return np.array([motion.field(float(s), column, own)[0] for s, column in zip(t, x.T, strict=True)]).T

    def slope(t: Array, x: Array) -> Array:
        each = [motion.field(float(s), column, own)[1] for s, column in zip(t, x.T, strict=True)]
        return np.stack(each, axis=2)

    def ends(a: Array, b: Array) -> Array:
        return np.concatenate([rows(a), before[0] @ (a - rests[0]), after[1] @ (b - rests[1])])

    with require_memory(
        50.0 * nodes * place.size * (place.size + 4), f"meshes of up to {50 * nodes:,} nodes", "use fewer nodes"
    ):
        mesh = np.linspace(first, last, nodes)
    share = (mesh - first) / (last - first)
    guess = rests[0][:, None] + (rests[1] - rests[0])[:, None] * share
    found = solve_bvp(field, ends, mesh, guess, fun_jac=slope, tol=tolerance, max_nodes=50 * nodes)
    if not found.success:
        raise NotConvergedError(
            f"the boundary value problem was not solved: {found.message} Use more nodes, more time before and after, "
            "or a slower motion, since a row may lose its relative degree on the way"
        )
    t, x = np.asarray(found.x, dtype=np.float64), np.asarray(found.y, dtype=np.float64).T
    u = np.array([motion.output(float(s), state, own) for s, state in zip(t, x, strict=True)])
    return InvertedMotion(t, x[:, :nq].copy(), x[:, nq:].copy(), u, float(np.max(found.rms_residuals)))


def _boundary_rows(controller: ServoController, t: float, x: Array, p: Array) -> tuple[Array, Array]:
    """Return real rows that extract from x − x₀ its components along stable and along unstable zeros."""
    motion = controller.motion
    Z, slope = motion.tangent(t, x, p), motion.field(t, x, p)[1]
    found = np.linalg.eig((Z.T @ slope @ Z).T)
    values, vectors = np.asarray(found[0], dtype=np.complex128), np.asarray(found[1], dtype=np.complex128)
    real = np.asarray(np.real(values), dtype=np.float64)
    limit = 1e-6 * float(np.abs(values).max(initial=0.0))
    parts: list[Array] = []
    for chosen in (real < -limit, real > limit):
        spanned = vectors[:, chosen]
        both: Array = np.hstack([np.real(spanned), np.imag(spanned)])
        left, sizes, _ = np.linalg.svd(both, full_matrices=False)
        parts.append((left[:, sizes > 1e-9 * sizes.max(initial=0.0)].T) @ Z.T)
    return parts[0], parts[1]
