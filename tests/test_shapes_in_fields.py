"""Erugin's field accepts every solid as an obstacle: its boundary is an integral curve, and nothing enters."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import EruginField, line
from erugin.symbolic import Kernel

from .fields import step_kernel, travel
from .geometry import Array
from .shapes import SOLID, Solid, boundary, evaluate, extent_of, reference_of, samples

SPEED, MARGIN, LIMIT = 2.0, 0.15, 4.0


@functools.cache
def field_about(solid: Solid) -> tuple[EruginField, Array]:
    """A field whose path runs straight through the solid, and a place on the path well before it."""
    center, extent = reference_of(solid.curve, 0.0), extent_of(solid.curve, 0.0)
    if solid.label == "room":
        start, ahead = center, np.eye(solid.n)[0]
    elif extent is None:
        ahead = -evaluate(solid.curve, center[None], 0.0)[1][0]
        start = center - 1.5 * ahead
    else:
        ahead = np.eye(solid.n)[0]
        start = center - (extent + 1.0) * ahead
    path = line(tuple(map(float, start)), tuple(map(float, start + 6.0 * ahead)), name="path")
    return EruginField(path, [solid.curve], speed=SPEED, margin=MARGIN, limit=LIMIT), start


@SOLID
def test_the_boundary_of_every_solid_is_an_integral_curve(solid: Solid) -> None:
    """∇f·w + f_t = 0 on it, with f's derivatives by the shape and w by the field, at places found by geometry."""
    field, _ = field_about(solid)
    x, t = ca.SX.sym("x", solid.n), ca.SX.sym("t")
    kernel = Kernel("w", {"x": x, "t": t, "p": field.parameters.symbols}, {"w": field.velocity(x, t)}, compiled=False)
    checked = 0
    fastest = 0.0
    for places, time in boundary(solid, each=10):
        _, gradient, rate, *_ = evaluate(solid.curve, places, time)
        for place, slope, drift in zip(places, gradient, rate, strict=True):
            if abs(drift) < 0.9 * LIMIT:
                (w,) = kernel(place, time, field.parameters.values())
                accuracy = 1e-6 if "tube" in solid.label else 1e-9  # the places are on tubes to 1e-10 m only
                assert abs(slope @ w + drift) < accuracy
                assert np.linalg.norm(w) < LIMIT * (1 + 1e-9)
                fastest = max(fastest, float(np.linalg.norm(w)))
                checked += 1
    assert checked >= 20
    assert fastest > 0.2 * SPEED


@pytest.mark.slow
@SOLID
def test_the_acceleration_along_the_field_is_finite(solid: Solid) -> None:
    """What follows the field needs ∂w/∂x and ∂w/∂t, third derivatives of solids: on boundaries and everywhere else."""
    field, start = field_about(solid)
    x, t, p = ca.SX.sym("x", solid.n), ca.SX.sym("t"), field.parameters
    f = ca.Function("J", [x, t, p.symbols], [ca.jacobian(field.velocity(x, t), ca.vertcat(x, t))], {"cse": True})
    places, time = boundary(solid, each=10)[0]
    random, other = samples(solid, 50, 9)
    for x_at, t_at in ((places, time), (random, other), (start[None], 0.0), (1e4 * random, 0.0)):
        count = len(x_at)
        values = np.tile(p.values()[:, None], (1, count))
        assert np.isfinite(f.call([x_at.T, np.full((1, count), t_at), values])[0].full()).all()


def lowest(solid: Solid, first: Array, duration: float, step: float) -> float:
    """The least f on the way from a place; that f > 0 is outside is checked by plain geometry."""
    field, _ = field_about(solid)
    t, x, w = travel(field, stepper(solid), first, duration, step, field.parameters.values())
    assert np.isfinite(x).all()
    assert np.isfinite(w).all()
    each = range(0, len(t), 5)
    f = np.array([evaluate(solid.curve, x[:, [i]].T, float(t[i]))[0][0] for i in each])
    level = np.array([solid.level(x[:, [i]].T, float(t[i]))[0] for i in each])
    np.testing.assert_array_equal(level[np.abs(f) > 1e-6] > 0, f[np.abs(f) > 1e-6] > 0)
    return float(f.min())


@functools.cache
def stepper(solid: Solid) -> Kernel:
    return step_kernel(field_about(solid)[0])


@pytest.mark.slow
@SOLID
def test_nothing_that_follows_the_path_enters(solid: Solid) -> None:
    least = lowest(solid, field_about(solid)[1], 5.0, 0.002)
    assert least > 0
    assert least < MARGIN + 0.1, "the solid must be in the way"


@pytest.mark.slow
@SOLID
def test_nothing_near_the_boundary_enters(solid: Solid) -> None:
    """From 10 mm before it. In a notch the step must be short beside that distance: here it makes 2 mm at most."""
    x, _ = boundary(solid, each=10)[0]
    for _ in range(20):
        f, gradient, *_ = evaluate(solid.curve, x, 0.0)
        x = x - ((f - 0.01) / (gradient**2).sum(axis=1))[:, None] * gradient
    starts = x[np.abs(evaluate(solid.curve, x, 0.0)[0] - 0.01) < 1e-9]
    assert len(starts) >= 5
    for first in starts[:5]:
        assert lowest(solid, first, 0.5, 0.001) > 0
