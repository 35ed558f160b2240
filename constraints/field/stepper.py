"""Many RK4 steps along a field at once, with measures of each state."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import cast

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.kernel import Kernel, WorkspacePool
from ...symbolic.linear_algebra import Ldl
from ...symbolic.runge_kutta import rk4_step
from ..curves.path_geometry import path_tangent
from .erugin_field import EruginField
from .guidance import FLOOR

Array = NDArray[np.float64]
CHUNK = 200
LARGEST = 20_000
"""Instructions of a step above which compiling it takes longer than running it."""


class FieldStepper:
    """Steps along a field, a number of them at a time, with measures before each."""

    def __init__(self, kernel: Kernel) -> None:
        """Keep the kernel: (time, position, step, parameters) → (time and position after the step, measures)."""
        self._kernel = kernel
        self._loops = WorkspacePool(self._loop)

    def _loop(self) -> tuple[list[Array], list[Array], Callable[[], None]]:
        inputs, outputs = self._kernel.inputs.values(), self._kernel.outputs.values()
        arguments = [np.zeros((rows, 1 if i < 2 else CHUNK), order="F") for i, (rows, _) in enumerate(inputs)]
        results = [np.zeros((rows, CHUNK), order="F") for rows, _ in outputs]
        return arguments, results, self._kernel.loop(CHUNK, 2, arguments, results)

    def measure(self, start: Array, count: int, step: float, values: Array, *, t0: float = 0.0) -> list[Array]:
        """Measures before each of ``count`` steps from ``start`` at ``t0``, shape (rows, count) each."""
        loop = self._loops.acquire()
        arguments, results, advance = loop
        time, position, steps, parameters = arguments
        time[:], position[:, 0], steps[:], parameters[:] = t0, start, step, values[:, None]
        found: list[list[Array]] = [[] for _ in results[2:]]
        for _ in range(0, count, CHUNK):
            advance()
            time[:], position[:] = results[0][:, -1:], results[1][:, -1:]
            for blocks, result in zip(found, results[2:], strict=True):
                blocks.append(result.copy())
        self._loops.release(loop)
        return [np.concatenate(blocks, axis=1)[:, :count] for blocks in found]


@functools.lru_cache(maxsize=16)
def field_stepper(field: EruginField) -> FieldStepper:
    """Stepper along the field: progress, departure, speed and barriers."""
    x, t, p = ca.SX.sym("x", field.dimension), ca.SX.sym("t"), field.parameters.symbols
    velocity = ca.Function("w", [t, x, p], [field.velocity(x, t)], {"cse": True})
    w = cast(ca.SX, velocity(t, x, p))
    J = field.path.jacobian(x, t)
    ahead = path_tangent(J) if J.size1() == field.dimension - 1 else field.unobstructed(x, t)
    measured = {
        "along": ca.dot(ahead, w) / ca.sqrt(ca.sumsqr(ahead) + FLOOR),
        "off": ca.fabs(field.path.functions(x, t)[0]),
        "pace": ca.norm_2(w),
        "gaps": barrier_functions(field, x, t),
        "advance": progress_measures(field, x, t),
    }
    return _stepper("preview", velocity, x, t, p, measured)


@functools.lru_cache(maxsize=16)
def path_stepper(field: EruginField) -> FieldStepper:
    """Stepper along the path alone: the barriers, and the side to which each would be left."""
    x, t, p = ca.SX.sym("x", field.dimension), ca.SX.sym("t"), field.parameters.symbols
    velocity = ca.Function("w", [t, x, p], [field.unobstructed(x, t)], {"cse": True})
    gaps = barrier_functions(field, x, t)
    outward = ca.jacobian(gaps, x) @ field.path.jacobian(x, t)[0, :].T
    return _stepper("unobstructed", velocity, x, t, p, {"gaps": gaps, "outward": outward})


def progress_measures(field: EruginField, x: ca.SX, t: ca.SX) -> ca.SX:
    """Measures of the progress of a point along the path, shape (3n + 4,).

    The position, the foot x − J⁺φ of the perpendicular on the path, the direction of travel τ; the cruise speed there;
    the remaining length of the path, NaN if it has no end; the margin, or a tenth of c/κ without barriers; and the
    radius of the largest barrier.
    """
    path, n = field.path, field.dimension
    phi, J = path.functions(x, t), path.jacobian(x, t)
    foot = x - J.T @ Ldl.of(J @ J.T + FLOOR * ca.SX.eye(phi.numel())).solve(phi)
    ahead = path_tangent(J) if J.size1() == n - 1 else field.unobstructed(x, t)
    remaining = path.remaining(x, t)
    radii = [extent for extent in (obstacle.extent(t) for obstacle in field.obstacles) if extent is not None]
    own, name = field.parameters, field.name
    scale = own[f"{name}.margin"] if field.barriers else 0.1 * own[f"{name}.speed"] / own[f"{name}.attraction"]
    return ca.vertcat(
        *(x, foot, ahead / ca.sqrt(ca.sumsqr(ahead) + FLOOR), field.desired_speed(x, t)),
        ca.SX(float("nan")) if remaining is None else remaining,
        scale,
        functools.reduce(ca.fmax, radii, ca.SX(0)),
    )


def barrier_functions(field: EruginField, x: ca.SX, t: ca.SX) -> ca.SX:
    """The O_j at a position and a time, one per barrier."""
    every, k = field.functions(x, t), field.path.functions(x, t).numel()
    return ca.vertcat(ca.SX(0, 1), *(every[i] for i in range(k, every.numel())))


def _stepper(
    name: str, velocity: ca.Function, x: ca.SX, t: ca.SX, p: ca.SX, measured: Mapping[str, ca.SX]
) -> FieldStepper:
    h = ca.SX.sym("h")
    after = rk4_step(lambda time, position: velocity(time, position, p), t, x, h)
    size = 4 * velocity.n_instructions()
    outputs = {"t": t + h, "x": after, **measured}
    inputs = {"t": t, "x": x, "h": h, "p": p}
    return FieldStepper(Kernel(name, inputs, outputs, compiled=None if size < LARGEST else False))
