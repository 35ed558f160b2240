"""Reports of `verify` against closed forms, plain geometry and motions along the field."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import EruginField, FieldReport, box, circle, implicit, line, parametric, spline, verify
from erugin.constraints.curves import Curve
from erugin.symbolic import ModelError
from erugin.symbolic.runge_kutta import rk4_step

from ...support.fields import ALL, IN_SPACE, KAPPA, LINE, MARGIN, SPEED, Scene, discs
from ...support.plain_fields import PlainCurve, PlainField, orbit, ring

Array = NDArray[np.float64]


def look(scene: Scene, samples: int = 120) -> FieldReport:
    n = scene.field.dimension
    return verify(
        scene.field,
        low=[-0.5, *[-2.0] * (n - 1)],
        high=[7.0, *[2.0] * (n - 1)],
        times=[0.0, 0.7, 1.5],
        samples=samples,
        start=[0.0] * n,
    )


CHOSEN = [s for s in ALL if s.label in ("line-3+", "spline-1-", "drifting-circle-0+", "implicit-2", "line-3d-3")]


@pytest.mark.sampled
@pytest.mark.parametrize("scene", CHOSEN, ids=lambda s: s.label)
def test_a_sound_field_passes(scene: Scene) -> None:
    report = look(scene)
    assert report.ok, str(report)
    assert len(report.rows) == 1 + len(scene.field.obstacles)
    for row in report.rows:
        assert row.points > 20
        assert row.drift.value < 1e-11
        assert row.faulty == 0
        # The worst place is on the curve, by the scene's own evaluation of the functions.
        numbers, n = scene.at(row.drift.position, row.drift.time), scene.field.dimension
        chosen = list(range(n - 1)) if row.program else [n - 2 + report.rows.index(row)]
        np.testing.assert_allclose(numbers["f"][chosen], 0.0, atol=1e-12)
        assert row.slope.value > 0.05
    path = report.rows[0]
    assert [a.behaviour for a in path.approaches] == ["attracts"] * len(path.approaches)
    for approach in path.approaches:
        np.testing.assert_allclose(approach.rate, -KAPPA, rtol=30 * abs(approach.offset))
    for row in report.rows[1:]:
        # Outside and near a boundary the distance changes slowly, inside it the point is led out.
        outer = [a for a in row.approaches if a.offset > 0.0]
        assert abs(outer[0].rate[0]) < 0.1 * SPEED / outer[0].offset
        assert "attracts" in {a.behaviour for a in row.approaches if a.offset < 0.0}


def test_the_rates_of_a_closed_form() -> None:
    """df/dt = −κ f |∇f|², and |∇f|² = 1 + 2f: at f the distance changes at the rate −κ (1 + 2f) to all digits."""
    for drift in ((0.0, 0.0), (0.3, -0.2)):
        report = verify(orbit(3.0, drift), low=(-3, -3), high=(3, 3), times=[0.0, 0.5], offsets=(1e-3, 0.1))
        row = report["circle"]
        assert row.points > 200
        assert row.drift.value < 1e-13
        assert row.slope.value == pytest.approx(1.0, abs=1e-12)
        assert [a.offset for a in row.approaches] == [1e-3, 0.1, -1e-3, -0.1]
        for approach in row.approaches:
            f = ((1 + approach.offset) ** 2 - 1) / 2
            np.testing.assert_allclose(approach.rate, -3.0 * (1 + 2 * f), rtol=1e-9)
            # One curve is all there is, so that f is the product of all.
            np.testing.assert_allclose(approach.product, -3.0 * (1 + 2 * f), rtol=1e-9)
            assert approach.behaviour == "attracts"
        assert report.ok


def test_behaviours() -> None:
    repelling = verify(orbit(-1.0), low=(-3, -3), high=(3, 3), times=[0.0])["circle"]
    assert {a.behaviour for a in repelling.approaches} == {"repels"}
    idle = verify(orbit(0.0), low=(-3, -3), high=(3, 3), times=[0.0])["circle"]
    assert {a.behaviour for a in idle.approaches} == {"neutral"}
    tidal = orbit(0.0, extra=lambda x, t: x[0] * x * (ca.sumsqr(x) - 1))
    mixed = verify(tidal, low=(-3, -3), high=(3, 3), times=[0.0])["circle"]
    assert {a.behaviour for a in mixed.approaches} == {"mixed"}
    assert mixed.drift.value < 1e-13


@pytest.mark.slow
def test_speed_and_acceleration_are_those_of_a_motion() -> None:
    """The acceleration where it is largest, by second differences of a motion along the field."""
    field = EruginField(LINE, discs(3), speed=SPEED, attraction=KAPPA, margin=MARGIN)
    scene = Scene("three", field)
    report = verify(field, low=(0, -2), high=(7, 2), times=[0.0, 1.0], samples=400)
    place, time, h = report.acceleration.position, report.acceleration.time, 1e-4

    def rate(t: float, x: Array) -> Array:
        return scene.at(x, t)["w"]

    after, before = rk4_step(rate, time, place, h), rk4_step(rate, time, place, -h)
    assert report.acceleration.value == pytest.approx(np.linalg.norm(after - 2 * place + before) / h**2, rel=1e-4)
    assert report.acceleration.value > 1.0
    fastest = rate(report.speed.time, report.speed.position)
    assert report.speed.value == pytest.approx(float(np.linalg.norm(fastest)))
    slowest = rate(report.slowest.time, report.slowest.position)
    assert report.slowest.value == pytest.approx(float(np.linalg.norm(slowest)))
    rng = np.random.default_rng(3)
    speeds = [
        float(np.linalg.norm(numbers["w"]))
        for x in rng.uniform([0, -2], [7, 2], (300, 2))
        if (numbers := scene.at(x, 1.0))["f"][1:].min() > 0
    ]
    # Random places of another seed hardly find more than the report did.
    assert max(speeds) < 1.25 * report.speed.value
    assert min(speeds) > 0.5 * report.slowest.value
    assert 0.99 * SPEED < report.speed.value <= field.parameters.nominal["field.limit"] + 1e-12


def test_places_that_another_obstacle_covers_are_counted_apart() -> None:
    """Geometry says how many: Newton's steps lead radially, so that the share is that of the covered angle."""
    one, two = circle((3.0, 0.0), 0.5, velocity=(0.1, 0.0), name="one"), circle((3.6, 0.3), 0.4, name="two")
    field = EruginField(LINE, [one, two], speed=SPEED, margin=MARGIN)
    report = verify(field, low=(1, -2), high=(6, 2), times=[0.0], samples=300)
    assert report.ok, str(report)
    apart = np.hypot(0.6, 0.3)
    covered = np.arccos((0.5**2 + apart**2 - 0.4**2) / (2 * 0.5 * apart))
    toward = np.arctan2(0.3, 0.6)
    places = np.random.default_rng(1952).uniform([1, -2], [6, 2], (300, 2)) - [3.0, 0.0]
    expected = int((np.abs(np.arctan2(places[:, 1], places[:, 0]) - toward) < covered).sum())
    assert report["one"].covered == expected
    assert report["one"].points == 300 - expected
    for name in ("one", "two"):
        assert report[name].drift.value < 1e-11
        assert report[name].covered > 10


def test_a_covered_boundary_is_reported_and_is_not_a_fault() -> None:
    """A flow round the unit disc cuts through a small ring within it; who is outside never sees it."""
    hidden = PlainCurve("hidden", 2, ring((0.4, 0.0), 0.3))
    field = PlainField(
        PlainCurve("path", 2, ring((0.0, 0.0), 2.0)),
        (PlainCurve("disc", 2, ring((0.0, 0.0), 1.0)), hidden),
        lambda x, t: ca.vertcat(-x[1], x[0]) - x * (ca.sumsqr(x) - 4) * (ca.sumsqr(x) - 1) ** 2,
    )
    report = verify(field, low=(-3, -3), high=(3, 3), times=[0.0])
    assert report["hidden"].points == 0
    assert report["hidden"].covered > 100
    assert report["hidden"].covered_drift > 0.1
    assert report["hidden"].faulty == 0
    assert any("'hidden' lie beyond another barrier" in note for note in report.notes)
    assert report.ok, str(report)
    bare = verify(dataclasses.replace(field, obstacles=(hidden,)), low=(-3, -3), high=(3, 3), times=[0.0])
    assert bare["hidden"].faulty > 100
    assert not bare.ok


def test_where_barriers_come_first_the_program_curve_is_only_aimed_at() -> None:
    """Two discs that leave the path less than twice the margin: the curve between them is reported apart."""
    discs = [circle((3.0, 0.55), 0.45, name="left"), circle((3.0, -0.55), 0.45, name="right")]
    sides = {"left": 1, "right": -1}
    field = EruginField(LINE, discs, speed=SPEED, margin=MARGIN, side=sides, avoidance="detour")
    report = verify(field, low=(1, -0.09), high=(5, 0.09), times=[0.0], samples=200)
    assert report["path"].covered > 5
    assert report["path"].points > 50
    assert report["path"].drift.value < 1e-11
    # Between the discs the gap falls below the margin over a length that plain geometry gives.
    half = np.sqrt((0.45 + MARGIN) ** 2 - 0.55**2)
    assert 0.5 < report["path"].covered / (200 * 2 * half / 4.0) < 2.0
    assert any("a barrier has precedence, because it is nearer than the margin" in note for note in report.notes)


def test_a_region_to_be_kept_inside() -> None:
    fence = circle((2.0, 0.0), 1.5, velocity=(0.1, 0.0), name="fence")
    field = EruginField(LINE, inside=[fence], speed=SPEED, margin=MARGIN)
    report = verify(field, low=(0, -2), high=(4, 2), times=[0.0, 1.0], start=(0.2, 0.0))
    row = report["fence"]
    assert (row.role, row.program) == ("region", False)
    assert row.points > 100
    assert row.drift.value < 1e-11
    # The region's function is positive within, so that the side +offset is the inner one.
    assert report.problems == ("the start lies outside of the region 'fence', 0.3 m deep",)
    assert verify(field, low=(0, -2), high=(4, 2), times=[0.0], start=(1.0, 0.0)).ok


@pytest.mark.slow
def test_a_report_is_repeatable_and_readable() -> None:
    field = EruginField(LINE, discs(2), speed=SPEED, margin=MARGIN)
    first, again, other = (
        str(verify(field, low=(-1, -2), high=(8, 2), times=[0.0, 1.0], samples=60, seed=seed)) for seed in (1, 1, 2)
    )
    assert first == again != other
    lines = first.splitlines()
    assert "field 'field', n = 2: 60 points in [-1, 8] × [-2, 2] m at t = 0, 1 s" in lines[0]
    assert lines[2].split()[0] == "path"
    assert [text.split()[0] for text in lines[3:5]] == ["disc0", "disc1"]
    assert lines[-1] == "ok: nothing wrong was found"
    assert any(text.startswith("largest acceleration") and "m/s²" in text for text in lines)


def test_parameters_are_those_given() -> None:
    field = EruginField(LINE, discs(1), speed=SPEED, margin=MARGIN)
    region = {"low": (-1.0, -2.0), "high": (7.0, 2.0)}
    slow = verify(field, times=[0.0], p={"field.speed": 0.1, "field.attraction": 5.0}, samples=50, **region)  # type: ignore[arg-type]
    assert slow["path"].approaches[0].rate[1] == pytest.approx(-5.0, rel=0.05)
    moved = verify(field, times=[0.0], p={"disc0.x": 40.0}, samples=50, **region)  # type: ignore[arg-type]
    assert moved["disc0"].points == 0
    assert any("no free point on the boundary of 'disc0'" in note for note in moved.notes)
    assert moved.ok


@pytest.mark.parametrize("dimension", [4, 5])
def test_in_more_dimensions(dimension: int) -> None:
    axis = np.eye(dimension)[0]
    path = line(tuple(0 * axis), tuple(3 * axis), name="path")
    ball = circle(tuple(1.5 * axis + 0.1), 0.4, velocity=tuple(0.1 * axis), name="ball")
    field = EruginField(path, [ball], speed=SPEED, margin=MARGIN)
    report = verify(field, low=[-1.0] * dimension, high=[2.5] * dimension, times=[0.0, 1.0], samples=80)
    assert report.dimension == dimension
    assert report["path"].drift.value < 1e-12
    assert report["ball"].drift.value < 1e-12
    assert report["path"].points > 40
    assert report["ball"].points > 20
    assert report.ok, str(report)


def test_a_spatial_path_attracts_from_every_side() -> None:
    report = verify(EruginField(IN_SPACE, speed=SPEED), low=(0, -1, -1), high=(5, 1, 1), times=[0.0], offsets=(0.01,))
    (approach,) = report["path"].approaches
    # κF/√(1 + κ²F²/c²): exactly that at the offset, whatever the direction.
    np.testing.assert_allclose(approach.rate, -2.0 / np.sqrt(1 + (2.0 * 0.01 / SPEED) ** 2), rtol=1e-3)


@pytest.mark.parametrize(
    ("path", "low", "high"),
    [
        (line((0.0, 1.0), (6.0, 1.0), name="path"), [0.0, 0.5], [6.0, 2.5]),
        (spline([(0.0, 0.0), (2.0, 1.0), (5.0, 0.0)], name="path"), [0.0, 0.0], [5.0, 2.5]),
        (circle((1.0, 0.0), 2.0, name="path"), [-1.0, -2.0], [3.0, 2.5]),
        (parametric(lambda s, t: ca.vertcat(s, 0.1 * s**2), 0.0, 4.0, name="path"), [0.0, 0.0], [4.0, 2.5]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Curve) else "",
)
def test_a_field_knows_where_to_look(path: Curve, low: list[float], high: list[float]) -> None:
    """Round the path and the disc at (2, 1.5) of radius 1, for as long as the way through takes."""
    field = EruginField(path, [circle((2.0, 1.5), 1.0, name="disc")], speed=0.5, margin=0.1)
    report = verify(field, samples=60)
    assert (report.low < low).all()
    assert (report.high > high).all()
    assert report.times[0] == 0.0
    assert report.times[2] * 0.5 == pytest.approx(np.linalg.norm(report.high - report.low) / 1.3, rel=0.1)
    assert report["disc"].drift.value < 1e-9


def test_a_curve_without_landmarks_or_extent_requires_a_region() -> None:
    field = EruginField(implicit(lambda x, t: x[1] - ca.sin(x[0]), 2, length=1.0, name="wave"), speed=0.5)
    with pytest.raises(ModelError, match=r"'wave' has neither landmarks nor an extent.*low= and high="):
        verify(field)


def test_a_sharp_corner_is_noted_and_does_not_drown_the_accelerations() -> None:
    """Random places on a square fall on its corners, where rounding decides the direction of the boundary."""
    crates = {
        key: box((2.0, 0.1), (0.6, 0.6), rounding=size, name="crate") for key, size in (("sharp", 0.0), ("round", 0.1))
    }
    reports = {
        key: verify(
            EruginField(line((0.0, 0.0), (6.0, 0.0)), [crate], speed=0.8, margin=0.15, attraction=2.0),
            low=(-0.5, -1.4),
            high=(6.5, 1.4),
        )
        for key, crate in crates.items()
    }
    assert reports["sharp"].corners > 0 == reports["round"].corners
    assert [note for note in reports["sharp"].notes if "billionth" in note]
    assert not [note for note in reports["round"].notes if "billionth" in note]
    assert 0.1 < reports["round"].acceleration.value < reports["sharp"].acceleration.value < 1e9
