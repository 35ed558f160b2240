"""A field has parameters of its own, answers at any expressions, and what cannot be one is refused with numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import cast

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import EruginField, circle, line
from erugin.constraints.curves import Curve
from erugin.symbolic import Kernel, ModelError, ParameterError

from .fields import ALL, IN_SPACE, LINE, PLANE, SPACE, Scene


@pytest.mark.parametrize("scene", [PLANE[2], PLANE[6], SPACE[2], SPACE[4]], ids=lambda s: s.label)
def test_expressions_may_stand_for_place_and_time(scene: Scene) -> None:
    """At the point of a robot, an expression in its coordinates, the field is what it is at the numeric place."""
    w, n = scene.field, scene.field.dimension
    q, s = ca.SX.sym("q", 3), ca.SX.sym("s")
    place = ca.vertcat(2 + ca.cos(q[0]) + ca.cos(q[0] + q[1]), ca.sin(q[0]) + ca.sin(q[1]), q[2] * q[0])[:n]
    P, S, f = w.structure(place, 2 * s)
    outputs = {"w": w.velocity(place, 2 * s), "f": w.functions(place, 2 * s), "P": P, "S": S, "product": f}
    kernel = Kernel("robot", {"q": q, "s": s, "p": w.parameters.symbols}, outputs, compiled=False)
    rng = np.random.default_rng(5)
    for _ in range(20):
        numbers, time = rng.uniform(-2.0, 2.0, 3), float(rng.uniform(-0.5, 1.0))
        x = np.array(
            [
                2 + np.cos(numbers[0]) + np.cos(numbers[0] + numbers[1]),
                np.sin(numbers[0]) + np.sin(numbers[1]),
                numbers[2] * numbers[0],
            ]
        )[:n]
        expected = scene.at(x, 2 * time)
        for key, value in zip(outputs, kernel(numbers, time, w.parameters.values()), strict=True):
            np.testing.assert_allclose(np.atleast_1d(value), expected[key], rtol=1e-11, atol=1e-11)


def test_the_order_and_number_of_functions() -> None:
    for scene in ALL:
        n, k = scene.field.dimension, len(scene.field.obstacles)
        numbers = scene.at(np.full(n, 0.3), 0.2)
        assert numbers["w"].shape == (n,)
        assert numbers["f"].shape == (n - 1 + k,)
        for j, obstacle in enumerate(scene.field.obstacles):
            x, t = ca.SX(ca.DM(np.full(n, 0.3))), ca.SX(0.2)
            own = Kernel("own", {"p": scene.field.parameters.symbols}, {"f": obstacle.functions(x, t)}, compiled=False)(
                scene.field.parameters.values()
            )[0]
            assert numbers["f"][n - 1 + j] == pytest.approx(float(own))


def test_parameters_of_a_field() -> None:
    disc = circle((1.0, 1.0), 0.2, name="disc")
    bare = EruginField(LINE, speed=0.4, attraction=3.0, name="flow")
    assert bare.parameters.names == (*LINE.parameters.names, "flow.speed", "flow.attraction")
    w = EruginField(LINE, [disc], speed=0.4, margin=0.2, side=-1, name="flow")
    own = tuple(f"flow.{key}" for key in ("speed", "attraction", "side", "margin", "rounding", "limit", "side_disc"))
    assert w.parameters.names == (*LINE.parameters.names, *disc.parameters.names, *own)
    assert [w.parameters.nominal[name] for name in own] == [0.4, 2.0, -1.0, 0.2, 0.1, pytest.approx(0.6), 1.0]
    custom = EruginField(LINE, [disc], speed=0.4, margin=0.2, rounding=0.03)
    assert custom.parameters.nominal["field.rounding"] == 0.03
    for name, bad in itertools.product(("speed", "attraction", "margin", "rounding"), (0.0, -0.1, math.nan, math.inf)):
        with pytest.raises(ParameterError, match=rf"'flow\.{name}' must be (greater than zero|finite), got {bad}"):
            w.parameters.values({f"flow.{name}": bad})
    for side in (0.0, 0.5, 2.0):
        with pytest.raises(ParameterError, match=rf"'flow\.side' must be \+1 or -1, got {side}"):
            w.parameters.values({"flow.side": side})


def surface() -> Curve:
    return circle((0.0, 0.0, 0.0), 1.0, name="ball")


def disc() -> Curve:
    return circle((0.0, 0.0), 1.0, name="disc")


BAD: tuple[tuple[str, Callable[[], object], str], ...] = (
    ("no speed", lambda: EruginField(LINE, speed=0.0), r"speed must be greater than zero, got 0\.0"),
    ("negative speed", lambda: EruginField(LINE, speed=-0.5), r"speed must be greater than zero, got -0\.5"),
    ("speed nan", lambda: EruginField(LINE, speed=math.nan), r"speed must be finite, got nan"),
    ("speed a word", lambda: EruginField(LINE, speed=cast(float, "fast")), r"speed must be a number, got 'fast'"),
    ("attraction", lambda: EruginField(LINE, speed=1, attraction=0.0), r"attraction must be greater than.*got 0\.0"),
    ("no margin", lambda: EruginField(LINE, [disc()], speed=1), r"margin= is required with obstacles"),
    ("margin", lambda: EruginField(LINE, [disc()], speed=1, margin=-0.1), r"margin must be greater.*got -0\.1"),
    ("rounding", lambda: EruginField(LINE, [disc()], speed=1, margin=1, rounding=0), r"rounding must be.*got 0"),
    ("side", lambda: EruginField(LINE, [disc()], speed=1, margin=1, side=2), r"side must be \+1 or -1, got 2"),
    ("no side", lambda: EruginField(LINE, speed=1, side=0), r"side must be \+1 or -1, got 0"),
    (
        "dimensions",
        lambda: EruginField(LINE, [surface()], speed=1, margin=1),
        r"'ball' has dimension 3, the path has 2",
    ),
    ("a surface for a path", lambda: EruginField(surface(), speed=1), r"a path in 3 dimensions needs 2 functions.*1"),
    (
        "one name twice",
        lambda: EruginField(LINE, [disc(), disc()], speed=1, margin=1),
        r"two different parameters are called 'disc\.x'",
    ),
    (
        "a place in space",
        lambda: ALL[0].field.velocity(ca.SX.sym("x", 3), ca.SX.sym("t")),
        r"the field lives in 2 dimensions, the place has shape \(3, 1\)",
    ),
    (
        "a row for a place",
        lambda: ALL[0].field.functions(ca.SX.sym("x", 1, 2), ca.SX.sym("t")),
        r"the field lives in 2 dimensions, the place has shape \(1, 2\)",
    ),
    (
        "structure in space",
        lambda: ALL[0].field.structure(ca.SX.sym("x", 3), ca.SX.sym("t")),
        r"the field lives in 2 dimensions",
    ),
    (
        "a path for an obstacle",
        lambda: EruginField(IN_SPACE, [line((5, 1, 0), (5, 1, 1), name="pole")], speed=1, margin=1),
        r"'pole'.*2",
    ),
    (
        "two times",
        lambda: ALL[0].field.velocity(ca.SX.sym("x", 2), ca.SX.sym("t", 2)),
        r"time.*\(2, 1\)",
    ),
    (
        "a number for a path",
        lambda: EruginField(cast(Curve, 3.25), speed=1),
        r"3\.25",
    ),
)


@pytest.mark.parametrize(
    ("make", "message"),
    [pytest.param(make, message, id=label) for label, make, message in BAD],
)
def test_bad_input_is_refused_with_numbers(make: Callable[[], object], message: str) -> None:
    with pytest.raises((ModelError, ParameterError), match=message):
        make()


def test_obstacles_may_come_from_a_generator() -> None:
    field = EruginField(
        line((0.0, 0.0), (1.0, 0.0)), (circle((0.5, y), 0.1, name=f"d{y}") for y in (1, 2)), speed=1, margin=0.1
    )
    assert len(field.obstacles) == 2
    with pytest.raises(ModelError, match="obstacles must be a list of curves"):
        EruginField(line((0.0, 0.0), (1.0, 0.0)), cast(list[Curve], circle((0.5, 0.0), 0.1)), speed=1.0, margin=0.1)
