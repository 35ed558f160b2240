"""Erugin's field: its curves are integral curves, its parameters, and what cannot be a field."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, cast

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import EruginField, circle, line
from erugin.constraints.curves import Curve
from erugin.symbolic import Kernel, ModelError, ParameterError

from ...support.fields import (
    ALL,
    DETOURS,
    IN_SPACE,
    KAPPA,
    LENGTH,
    LIMIT,
    LINE,
    MARGIN,
    OBSTRUCTED,
    PLANE,
    SCENES,
    SPACE,
    SPEED,
    WAVE,
    Scene,
    boundary_points,
    held,
    on_program_curve,
    program_points,
    random_places,
    scene,
    yields,
)

# Integral curves -----------------------------------------------------------------------------------------------------


@OBSTRUCTED
def test_boundaries_are_integral_curves(scene: Scene) -> None:
    """df_j/dt = ∇f_j·w + f_j,t = 0 on f_j = 0, moving or not."""
    n, biggest = scene.field.dimension, 0.0
    for j, x, t in boundary_points(scene):
        numbers = scene.at(x, t)
        row = n - 1 + j
        assert abs(numbers["f"][row]) < 1e-14
        assert numbers["f_x"][row] @ numbers["w"] + numbers["f_t"][row] == pytest.approx(0.0, abs=1e-10)
        assert np.linalg.norm(numbers["f_x"][row]) == pytest.approx(1.0)
        biggest = max(biggest, float(np.linalg.norm(numbers["w"])))
    assert biggest > 0.1


@SCENES
def test_the_program_curve_is_an_integral_curve(scene: Scene) -> None:
    """dF/dt = 0 on F = 0 for each of the n - 1 functions, wherever the barriers leave it the room."""
    k, counted = scene.field.dimension - 1, 0
    for x, t in program_points(scene):
        numbers = scene.at(x, t)
        assert np.linalg.norm(numbers["w"]) <= LIMIT * (1 + 1e-12) or not scene.field.barriers
        if not held(scene, x, t):
            continue
        counted += 1
        np.testing.assert_allclose(numbers["f_x"][:k] @ numbers["w"] + numbers["f_t"][:k], 0.0, atol=1e-10)
        assert np.linalg.norm(numbers["w"]) > 0.4 * SPEED
    assert counted >= 0.6 * len(program_points(scene))


@SCENES
def test_the_literal_structure(scene: Scene) -> None:
    """w = P + S ∇f − ∇f f_t / |∇f|² at any place, S skew, f the product of all functions."""
    attracting = 0
    for x, t in random_places(scene, 60):
        numbers = scene.at(x, t)
        slope, S, P = numbers["product_x"], numbers["S"], numbers["P"]
        np.testing.assert_array_equal(S, -S.T)
        assert numbers["product"] == pytest.approx([np.prod(numbers["f"])], rel=1e-12, abs=1e-15)
        rebuilt = P + S @ slope - slope * numbers["product_t"] / (slope @ slope)
        np.testing.assert_allclose(rebuilt, numbers["w"], atol=1e-12 * max(1.0, float(np.abs(P).max())))
        # P is along the gradient: it alone changes f, and off the curves it does.
        np.testing.assert_allclose(P, slope * (slope @ P) / (slope @ slope), atol=1e-12 * max(1.0, np.abs(P).max()))
        attracting += bool(np.linalg.norm(P) > 1e-3)
    assert attracting > 30


@SCENES
def test_p_vanishes_on_every_curve(scene: Scene) -> None:
    """|P| → 0 in proportion to the distance from the curve, and is rounding error on it."""
    n = scene.field.dimension
    places = [(x, t) for _, x, t in boundary_points(scene, each=6)]
    if n == 2:  # In space a program curve is where two functions vanish, and the product's gradient with them.
        places += [(x, t) for x, t in program_points(scene) if held(scene, x, t, room=2e-3)]
    for x, t in places:
        assert np.linalg.norm(scene.at(x, t)["P"]) < 1e-10
        normal = scene.at(x, t)["product_x"]
        off = x + 1e-3 * normal / np.linalg.norm(normal)
        assert 0.0 < np.linalg.norm(scene.at(off, t)["P"]) < 0.1


@SCENES
def test_distances_decay_at_the_rate_of_attraction(scene: Scene) -> None:
    """dF/dt = -κF to first order: the error is bounded by the square of the distance."""
    k, counted = scene.field.dimension - 1, 0
    rng = np.random.default_rng(4)
    for x, t in program_points(scene):
        if not held(scene, x, t, room=2e-3):
            continue
        counted += 1
        J = scene.at(x, t)["f_x"][:k]
        direction = rng.normal(size=k)
        aside = np.linalg.pinv(J) @ direction / np.linalg.norm(direction)
        for size in (1e-3, 1e-4, 1e-5):
            numbers = scene.at(x + size * aside, t)
            F = numbers["f"][:k]
            rate = numbers["f_x"][:k] @ numbers["w"] + numbers["f_t"][:k]
            assert np.linalg.norm(F) == pytest.approx(size, rel=0.1)
            assert np.abs(rate + KAPPA * F).max() < 20 * size**2
    assert counted >= 0.5 * len(program_points(scene))


@pytest.mark.parametrize("scene", [s for s in ALL if not s.field.obstacles], ids=lambda s: s.label)
def test_speed_along_the_path(scene: Scene) -> None:
    """Without obstacles, a point on a path at rest has the cruise speed; far away it is not much faster."""
    still = "drifting" not in scene.label
    for x, t in program_points(scene):
        numbers = scene.at(x, t)
        slope = numbers["f_x"][: scene.field.dimension - 1]
        drift = np.linalg.lstsq(slope, -numbers["f_t"][: scene.field.dimension - 1], rcond=None)[0]
        assert np.linalg.norm(numbers["w"] - drift) == pytest.approx(SPEED, abs=1e-12)
        assert still == (np.abs(drift).max() == 0.0)
    if still:
        for x, t in random_places(scene, 60):
            assert np.linalg.norm(scene.at(x, t)["w"]) < 1.1 * SPEED


@pytest.mark.parametrize("kappa", [0.5, 2.0, 8.0])
def test_attraction_is_a_parameter(kappa: float) -> None:
    place = np.array([1.0, 1e-5])
    velocity = scene("line", LINE, []).at(place, 0.0, {"field.attraction": kappa, "field.speed": 0.3})["w"]
    np.testing.assert_allclose(velocity, [0.3, -kappa * 1e-5], rtol=1e-6)


# The program curve ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scene", [s for s in DETOURS if s.field.obstacles], ids=lambda s: s.label)
def test_the_program_curve_of_a_detour_keeps_the_margin(scene: Scene) -> None:
    """Every obstacle that does not yield the path is at least the margin away from F = 0."""
    n = scene.field.dimension
    points = [(x, t) for x, t in program_points(scene) if not yields(scene, t)]
    nearest = min((float(scene.at(x, t)["f"][n - 1 :].min()) for x, t in points), default=MARGIN)
    assert nearest >= MARGIN - 1e-12


def test_the_margin_is_used_and_not_wasted() -> None:
    """The curve passes a disc on the way at the margin and a rounding that fades; without the disc it would hit it."""
    sides = {side: scene("one", LINE, [circle((3.0, 0.05), 0.4, name="disc0")], side) for side in (1, -1)}
    for side, one in sides.items():
        place = on_program_curve(one, np.array([3.0, -0.7 * side]), 0.0)
        assert place is not None
        gap = math.hypot(place[0] - 3.0, place[1] - 0.05) - 0.4
        assert MARGIN <= gap < MARGIN + 0.05
        assert np.sign(place[1]) == -side  # +1 is the right-hand side


@pytest.mark.parametrize("path", [LINE, WAVE, IN_SPACE], ids=["line", "spline", "space"])
@pytest.mark.parametrize("side", [1, -1])
def test_far_from_obstacles_the_program_curve_is_the_path(path: Curve, side: int) -> None:
    """0 ≤ σ(φ₁ − F₁) ≤ ε exp(−(O − δ − σφ₁)/ε): it fades exponentially."""
    n = path.dimension
    center = (3.0, 0.8 if path is WAVE else 0.2, 0.0)[:n]
    one = scene("one", path, [circle(center, 0.4, name="disc0")], side)
    epsilon = one.field.parameters.nominal["field.rounding"]
    assert epsilon == MARGIN / 2
    differences: list[float] = []
    for along in (3.6, 4.0, 4.4, 4.8, 6.0):
        aside = WAVE.at(along * WAVE.length / LENGTH)[1] if path is WAVE else 0.0
        x = np.array([along, 0.02 + aside, 0.03][:n])
        numbers = one.at(x, 0.0)
        gap = float(np.linalg.norm(x - np.array(center)) - 0.4)
        difference = side * float(numbers["phi"][0] - numbers["f"][0])
        assert difference >= 0.0
        bound = epsilon * math.exp(-(gap - MARGIN - side * float(numbers["phi"][0])) / epsilon)
        assert difference <= bound + 1e-15
        assert difference >= bound / 2 or bound > epsilon or difference < 1e-12
        np.testing.assert_array_equal(numbers["f"][1 : n - 1], numbers["phi"][1:])
        differences.append(difference)
    assert differences[0] > 1e-5
    assert differences[-1] < 1e-12


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
    for one in ALL:
        n, k = one.field.dimension, len(one.field.obstacles)
        numbers = one.at(np.full(n, 0.3), 0.2)
        assert numbers["w"].shape == (n,)
        assert numbers["f"].shape == (n - 1 + k,)
        for j, obstacle in enumerate(one.field.obstacles):
            x, t = ca.SX(ca.DM(np.full(n, 0.3))), ca.SX(0.2)
            own = Kernel("own", {"p": one.field.parameters.symbols}, {"f": obstacle.functions(x, t)}, compiled=False)(
                one.field.parameters.values()
            )[0]
            assert numbers["f"][n - 1 + j] == pytest.approx(float(own))


def test_parameters_of_a_field() -> None:
    disc = circle((1.0, 1.0), 0.2, name="disc")
    bare = EruginField(LINE, speed=0.4, attraction=3.0, name="flow")
    assert bare.parameters.names == (*LINE.parameters.names, "flow.speed", "flow.attraction")
    w = EruginField(LINE, [disc], speed=0.4, margin=0.2, side=-1, name="flow")
    keys = ("speed", "attraction", "side", "margin", "approach", "swirl", "limit", "side_disc")
    own = tuple(f"flow.{key}" for key in keys)
    assert w.avoidance == "hug"
    assert w.parameters.names == (*LINE.parameters.names, *disc.parameters.names, *own)
    assert [w.parameters.nominal[name] for name in own] == [0.4, 2.0, -1.0, 0.2, 4.0, 1.0, pytest.approx(0.6), 0.0]
    custom = EruginField(LINE, [disc], speed=0.4, margin=0.2, rounding=0.03)
    assert custom.avoidance == "detour"
    assert custom.parameters.nominal["field.rounding"] == 0.03
    assert "field.approach" not in custom.parameters.names
    plain = EruginField(LINE, [disc], speed=0.4, margin=0.2, avoidance="detour")
    assert plain.parameters.nominal["field.rounding"] == 0.1
    with pytest.raises(ParameterError, match=r"'flow\.swirl' must be at least zero, got -0\.1"):
        w.parameters.values({"flow.swirl": -0.1})
    for name, bad in itertools.product(("speed", "attraction", "margin", "approach"), (0.0, -0.1, math.nan, math.inf)):
        with pytest.raises(ParameterError, match=rf"'flow\.{name}' must be (greater than zero|finite), got {bad}"):
            w.parameters.values({f"flow.{name}": bad})
    for side in (0.5, 2.0):
        with pytest.raises(ParameterError, match=rf"'flow\.side' must be \+1, -1 or 0, got {side}"):
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
    ("swirl", lambda: EruginField(LINE, [disc()], speed=1, margin=1, swirl=-1), r"swirl must not be negative, got -1"),
    ("approach", lambda: EruginField(LINE, [disc()], speed=1, margin=1, approach=0), r"approach must be.*got 0"),
    ("way", lambda: EruginField(LINE, [disc()], speed=1, margin=1, avoidance=cast(Any, "left")), r"'hug' or 'detour'"),
    (
        "rounding of a hug",
        lambda: EruginField(LINE, [disc()], speed=1, margin=1, avoidance="hug", rounding=0.1),
        r"rounding= is the length over which a detour leaves the path: use avoidance='detour'",
    ),
    ("side", lambda: EruginField(LINE, [disc()], speed=1, margin=1, side=2), r"side must be \+1, -1 or 'auto', got 2"),
    ("no side", lambda: EruginField(LINE, speed=1, side=0), r"side must be \+1, -1 or 'auto', got 0"),
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
        r"x must be a position in 2 dimensions, got shape \(3, 1\)",
    ),
    (
        "a row for a place",
        lambda: ALL[0].field.functions(ca.SX.sym("x", 1, 2), ca.SX.sym("t")),
        r"x must be a position in 2 dimensions, got shape \(1, 2\)",
    ),
    (
        "structure in space",
        lambda: ALL[0].field.structure(ca.SX.sym("x", 3), ca.SX.sym("t")),
        r"x must be a position in 2 dimensions",
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
