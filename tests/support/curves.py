"""Curves of every kind, where they are by plain geometry, and their functions at numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import circle, implicit, line, parametric, spline
from erugin.constraints.curves import Curve, Line, Spline
from erugin.constraints.curves.path_geometry import path_tangent
from erugin.symbolic import Kernel, Parameters

Array = NDArray[np.float64]

SAMPLES = 40


@dataclass(frozen=True)
class Case:
    """A curve and, from plain geometry, where it is."""

    label: str
    curve: Curve
    on: Callable[[float, float], Array]
    """A point on the curve for a share in [0, 1] and a time; with growing share a path runs in its direction."""
    path: bool = True


def polar(share: float) -> Array:
    """The unit circle, counter-clockwise."""
    return np.array([math.cos(2 * math.pi * share), math.sin(2 * math.pi * share)])


def along(start: Array, end: Array) -> Callable[[float, float], Array]:
    """Straight from one length before the start to one length behind the end."""
    return lambda share, _: start + (3 * share - 1) * (end - start)


def along_spline(curve: Spline) -> Callable[[float, float], Array]:
    """From 1 m before the first point to 1 m behind the last."""
    return lambda share, _: curve.at((curve.length + 2) * share - 1)


def any_direction(n: int, share: float) -> Array:
    """A unit vector that jumps about with the share."""
    vector = np.random.default_rng(int(1e6 * share)).normal(size=n)
    return vector / np.linalg.norm(vector)


def floats(x: Array) -> tuple[float, ...]:
    """A point as the constructors want it."""
    return tuple(float(value) for value in x)


def coil(s: float, t: float) -> Array:
    """A helix about an axis that drifts."""
    return np.array([np.cos(s), np.sin(s) - 0.1 * t, 0.4 * s])


def parabola(k: ca.SX) -> Callable[[ca.SX, ca.SX], ca.SX]:
    """y = k (x - 0.3 t)², growing upwards and therefore followed to the left."""
    return lambda x, t: x[1] - k * (x[0] - 0.3 * t) ** 2


WAVE = spline([(0.0, 0.0), (1.0, 0.8), (2.0, 0.4), (3.2, 0.0)], name="wave")
HELIX = spline([(math.cos(0.5 * i), math.sin(0.5 * i), 0.3 * i) for i in range(7)], name="helix")
STRANGE = spline([(0, 0, 0, 0), (1, 0.3, 0.1, -0.2), (2, 0.2, 0.5, 0.0), (3, 0, 0, 0.4)], name="strange")
OVAL = parametric(lambda s, t: ca.vertcat(2.0 * ca.cos(s) + 0.3 * t, 1.4 * ca.sin(s)), 0.0, 2 * math.pi, name="oval")
COIL = parametric(lambda s, t: ca.vertcat(ca.cos(s), ca.sin(s) - 0.1 * t, 0.4 * s), -2.0, 8.0, samples=80, name="coil")
SPLINES = (WAVE, HELIX, STRANGE)
CURVATURE = Parameters.declare({"curvature": 0.4}, "parabola")

A2, B2 = np.array([0.3, -0.5]), np.array([-0.8, 1.1])
A3, B3 = np.array([0.3, -0.5, 0.2]), np.array([-0.8, 1.1, 2.0])
A4, B4 = np.array([0.3, -0.5, 0.2, 0.0]), np.array([-0.8, 1.1, 2.0, -0.7])

CASES: tuple[Case, ...] = (
    Case("line-2", line(floats(A2), floats(B2)), along(A2, B2)),
    Case("line-3", line(floats(A3), floats(B3)), along(A3, B3)),
    Case("line-4", line(floats(A4), floats(B4)), along(A4, B4)),
    Case("spline-2", WAVE, along_spline(WAVE)),
    Case("spline-3", HELIX, along_spline(HELIX)),
    Case("spline-4", STRANGE, along_spline(STRANGE)),
    Case("parametric-2", OVAL, lambda s, t: np.array([0.3 * t, 0.0]) + np.array([2.0, 1.4]) * polar(s)),
    Case("parametric-3", COIL, lambda s, t: coil(4.0 * s, t)),
    Case("circle", circle((0.4, -0.2), 0.7), lambda s, _: np.array([0.4, -0.2]) + 0.7 * polar(s)),
    Case(
        "drifting-circle",
        circle((0.4, -0.2), 0.7, velocity=(0.3, -0.1), name="disc"),
        lambda s, t: np.array([0.4 + 0.3 * t, -0.2 - 0.1 * t]) + 0.7 * polar(s),
    ),
    Case(
        "drifting-sphere",
        circle((0.4, -0.2, 1.0), 0.7, velocity=(0.3, -0.1, 0.2), name="ball"),
        lambda s, t: np.array([0.4 + 0.3 * t, -0.2 - 0.1 * t, 1.0 + 0.2 * t]) + 0.7 * any_direction(3, s),
        path=False,
    ),
    Case("sphere-4", circle((0, 0, 0, 1), 0.5), lambda s, _: np.eye(4)[3] + 0.5 * any_direction(4, s), path=False),
    Case(
        "ellipse",
        implicit(lambda x, _: (x[0] / 2) ** 2 + x[1] ** 2 - 1, 2, length=1.0, name="ellipse"),
        lambda s, _: np.array([2.0, 1.0]) * polar(s),
    ),
    Case(
        "drifting-parabola",
        implicit(parabola(CURVATURE.symbols), 2, length=2.0, parameters=CURVATURE, name="bowl"),
        lambda s, t: np.array([1 - 2 * s + 0.3 * t, 0.4 * (1 - 2 * s) ** 2]),
    ),
    Case(
        "ring-in-space",  # ∇f₁ × ∇f₂ runs clockwise here
        implicit(lambda x, _: ca.vertcat(x[0] ** 2 + x[1] ** 2 - 1, x[2]), 3, length=1.0, name="ring"),
        lambda s, _: np.append(polar(-s), 0.0),
    ),
    Case(
        "ellipsoid",
        implicit(lambda x, _: ca.sumsqr(x / ca.DM([2.0, 1.0, 0.5])) - 1, 3, length=1.0, name="ellipsoid"),
        lambda s, _: np.array([2.0, 1.0, 0.5]) * any_direction(3, s),
        path=False,
    ),
)
PATHS = tuple(case for case in CASES if case.path)
ALL = pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
ALL_PATHS = pytest.mark.parametrize("case", PATHS, ids=lambda case: case.label)


@functools.cache
def kernel(curve: Curve) -> Kernel:
    """Functions and Jacobian at numbers."""
    x, t = ca.SX.sym("x", curve.dimension), ca.SX.sym("t")
    outputs = {"f": curve.functions(x, t), "J": curve.jacobian(x, t)}
    return Kernel("curve", {"x": x, "t": t, "p": curve.parameters.symbols}, outputs, compiled=False)


def functions(curve: Curve, x: Array, t: float = 0.0) -> Array:
    """f, shape (k,), with the nominal parameters."""
    return np.atleast_1d(kernel(curve)(x, t, curve.parameters.values())[0])


def jacobian(curve: Curve, x: Array, t: float = 0.0) -> Array:
    """∂f/∂x, shape (k, n), as the curve says."""
    return kernel(curve)(x, t, curve.parameters.values())[1].reshape(-1, curve.dimension)


def difference(f: Callable[[float], Array], h: float = 1e-3) -> Array:
    """f′(0) by central differences of sixth order."""
    sides = [f(i * h) - f(-i * h) for i in (1, 2, 3)]
    return (45 * sides[0] - 9 * sides[1] + sides[2]) / (60 * h)


def slopes(curve: Curve, x: Array, t: float) -> Array:
    """∂f/∂x, shape (k, n), by differences of the functions."""

    def along_axis(axis: Array) -> Array:
        return difference(lambda s: functions(curve, x + s * axis, t))

    return np.column_stack([along_axis(axis) for axis in np.eye(curve.dimension)])


def course(f: Callable[[float], Array], s: float) -> Array:
    """f′(s) by differences."""
    return difference(lambda h: f(s + h))


def places(case: Case) -> Iterator[tuple[Array, float]]:
    """Points on the curve all over it, and times."""
    rng = np.random.default_rng(7)
    for share in (np.arange(SAMPLES) + rng.uniform(0.0, 1.0, SAMPLES)) / SAMPLES:
        t = float(rng.uniform(-2.0, 2.0))
        yield case.on(float(share), t), t


def tangent_of_numbers(J: Array) -> Array:
    """``path_tangent`` of a numeric Jacobian."""
    slot = ca.SX.sym("J", J.shape[0], J.shape[1])
    return Kernel("tangent", {"J": slot}, {"t": path_tangent(slot)}, compiled=False)(
        J if J.shape[0] > 1 else J.reshape(1, -1)
    )[0]


def progress(curve: Line | Spline, x: Array) -> float:
    """``progress`` at a numeric place."""
    return float(progress_kernel(curve)(x, curve.parameters.values())[0])


@functools.cache
def progress_kernel(curve: Line | Spline) -> Kernel:
    """``progress``, compiled once per curve."""
    x = ca.SX.sym("x", curve.dimension)
    return Kernel("progress", {"x": x, "p": curve.parameters.symbols}, {"s": curve.progress(x)}, compiled=False)


def subclasses(base: type) -> Iterator[type]:
    """All classes below ``base``, however deep."""
    children: list[type] = base.__subclasses__()
    for child in children:
        yield child
        yield from subclasses(child)
