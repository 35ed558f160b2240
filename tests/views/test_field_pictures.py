"""Pictures of fields hold what they should, where it belongs, and are written whole."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from PIL import Image

from erugin.constraints import EruginField, FieldReport, circle, line, verify
from erugin.simulation import FieldMotion, move_along
from erugin.symbolic import ModelError, NotFiniteError, ShapeError
from erugin.views import FieldView, animate_field, draw_field, draw_field_in_space
from erugin.views.plane_field import field_figure
from erugin.views.space_field import boundary_seen_from_within
from erugin.views.style import POINT_COLOR

from ..support.plain_fields import orbit

LOW, HIGH = (-0.5, -1.5), (4.5, 1.5)
CENTER, DRIFT, RADIUS = (2.0, 0.3), (0.0, -0.2), 0.4
TIMES = (0.0, 1.0, 2.0)


def field() -> EruginField:
    disc = circle(CENTER, RADIUS, velocity=DRIFT, name="disc")
    return EruginField(line((0.0, 0.0), (4.0, 0.0), name="path"), [disc], speed=0.8, margin=0.15, attraction=2.0)


def motion() -> FieldMotion:
    return move_along(field(), (0.0, 0.0), 3.0, step=0.02)


@functools.cache
def found() -> FieldReport:
    return verify(field(), low=LOW, high=HIGH, times=TIMES, samples=60)


@functools.cache
def panels(report: bool) -> list[Axes]:
    """The axes of three instants, the colour bar left out."""
    view = FieldView.of(field(), LOW, HIGH)
    figure = field_figure(view, TIMES, motion=motion(), report=found() if report else None)
    return [axes for axes in figure.axes if axes.get_title()]


def test_a_panel_for_every_instant_with_labels_and_units() -> None:
    axes = panels(report=False)
    assert [one.get_title() for one in axes] == ["t = 0 s", "t = 1 s", "t = 2 s"]
    assert [one.get_xlabel() for one in axes] == ["x [m]"] * 3
    assert [one.get_ylabel() for one in axes] == ["y [m]", "", ""]
    for one in axes:
        assert one.get_xlim() == (LOW[0], HIGH[0])
        assert one.get_ylim() == (LOW[1], HIGH[1])
        assert one.get_aspect() == 1.0
        assert [text.get_text() for text in one.texts] == ["disc"]


def test_the_disc_is_drawn_where_it_is_and_no_streamline_enters_it() -> None:
    for one, time in zip(panels(report=False), TIMES, strict=True):
        center = np.array(CENTER) + time * np.array(DRIFT)
        np.testing.assert_allclose(one.texts[0].get_position(), center, atol=0.03)
        streams = np.vstack([c.get_segments() for c in one.collections if isinstance(c, LineCollection)])
        assert len(streams) > 200
        gaps = np.linalg.norm(streams.reshape(-1, 2) - center, axis=1) - RADIUS
        # A cell of the grid is 3 cm wide, which limits the resolution.
        assert -0.05 < gaps.min() < 0.1


def test_the_way_is_drawn_up_to_the_instant() -> None:
    way = motion()
    for one, time in zip(panels(report=False), TIMES, strict=True):
        lines = [k for k in one.lines if to_rgba(k.get_color()) == to_rgba(POINT_COLOR)]
        assert len(lines) == 2
        drawn = np.asarray(lines[0].get_xydata())
        np.testing.assert_array_equal(drawn, way.x[way.t <= time + 1e-12])
        np.testing.assert_array_equal(np.ravel(lines[1].get_xydata()), drawn[-1])


@pytest.mark.slow
def test_critical_points_are_marked_at_their_instant() -> None:
    points = (*found().critical_points, *found().stagnation_points)
    assert len({point.time for point in points}) == 3
    for one, time in zip(panels(report=True), TIMES, strict=True):
        marks = [k for k in one.lines if k.get_linestyle() == "None" and k.get_markeredgecolor() == "black"]
        drawn = sorted(tuple(np.ravel(mark.get_xydata())) for mark in marks)
        assert drawn == sorted(tuple(point.position) for point in points if point.time == time)


def test_the_legend_stands_beside_the_data() -> None:
    own = field()
    figure = field_figure(FieldView.of(own, LOW, HIGH), TIMES[:1], motion=motion(), title="A scene")
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    for axes in figure.axes:
        occupied = axes.get_tightbbox()
        assert occupied is not None
        assert not box.overlaps(occupied)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["path", "program curve F = 0", "beyond a barrier", "point and its way"]
    assert any(axes.get_ylabel() == "speed |w| [m/s]" for axes in figure.axes)


@pytest.mark.slow
def test_files_are_written(tmp_path: Path) -> None:
    own, way = field(), motion()
    view = FieldView.of(own, LOW, HIGH, {"disc.radius": 0.3})
    draw_field(view, TIMES, tmp_path / "field.png", motion=way, columns=2)
    with Image.open(tmp_path / "field.png") as image:
        assert image.size[0] > 1000
    animate_field(view, way, tmp_path / "field.gif", frames=6)
    with Image.open(tmp_path / "field.gif") as image:
        assert getattr(image, "n_frames", 0) == 6
        first = np.asarray(image.convert("RGB"), dtype=float)
        image.seek(5)
        assert np.abs(np.asarray(image.convert("RGB"), dtype=float) - first).mean() > 1.0, "it moves"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["field.gif", "field.png"]


def test_a_picture_in_space(tmp_path: Path) -> None:
    ball = circle((1.0, 0.1, 0.0), 0.3, velocity=(0.0, -0.1, 0.05), name="ball")
    own = EruginField(line((0.0, 0.0, 0.0), (2.0, 0.0, 0.0), name="path"), [ball], speed=0.8, margin=0.1)
    view = FieldView.of(own, (-0.2, -0.8, -0.8), (2.2, 0.8, 0.8))
    surface = boundary_seen_from_within(view, 2, 2.0)
    assert surface is not None
    distance = np.linalg.norm(surface - np.array([1.0, -0.1, 0.1])[:, None, None], axis=0)
    np.testing.assert_allclose(distance, 0.3, atol=1e-8)
    assert boundary_seen_from_within(view, 2, 60.0) is None
    way = move_along(own, (0.0, 0.0, 0.0), 2.6, step=0.02)
    path = np.linspace((0.0, 0.0, 0.0), (2.0, 0.0, 0.0), 20)
    draw_field_in_space(view, way, (0.0, 1.3), tmp_path / "space.png", path=path)
    with Image.open(tmp_path / "space.png") as image:
        colors = image.convert("RGB").quantize(16).getcolors()
        assert colors is not None
        assert len(colors) > 8


def test_a_motion_along_a_field_is_that_of_a_closed_form() -> None:
    """Round the unit circle at speed 1; after 2π it is back."""
    way = move_along(orbit(2.0), (1.0, 0.0), 2 * np.pi, step=0.005)
    np.testing.assert_allclose(way.x, np.column_stack([np.cos(way.t), np.sin(way.t)]), atol=1e-9)
    np.testing.assert_allclose(way.w, np.column_stack([-np.sin(way.t), np.cos(way.t)]), atol=1e-9)
    np.testing.assert_allclose(way.f, 0.0, atol=1e-9)
    assert way.t[-1] == pytest.approx(2 * np.pi)
    assert len(way.until(float(way.t[7]))) == 8
    assert len(way.until(1.0)) == np.searchsorted(way.t, 1.0, side="right")
    later = move_along(orbit(2.0, (0.3, 0.0)), (1.6, 0.0), 1.0, step=0.01, t0=2.0)
    assert later.t[0] == 2.0
    np.testing.assert_allclose(later.f, 0.0, atol=1e-9)


def test_bad_questions() -> None:
    own = field()
    view = FieldView.of(own, LOW, HIGH)
    solid = EruginField(line((0.0, 0.0, 0.0), (2.0, 0.0, 0.0), name="path"), speed=0.8)
    spatial = FieldView.of(solid, (0, 0, 0), (1, 1, 1))
    far = EruginField(line((0.0, 0.0, 0.0, 0.0), (2.0, 0.0, 0.0, 0.0), name="path"), speed=0.8)
    still = motion()
    with pytest.raises(ModelError, match="has 4 dimensions: pictures require two or three"):
        FieldView.of(far, [0] * 4, [1] * 4)
    with pytest.raises(ModelError, match=r"the box from .* is empty"):
        FieldView.of(own, HIGH, LOW)
    with pytest.raises(ModelError, match="streamlines require a plane field, but 'field' has 3 dimensions"):
        field_figure(spatial, [0.0])
    with pytest.raises(ModelError, match="at least one instant"):
        field_figure(view, [])
    with pytest.raises(ModelError, match="the animation requires a plane field"):
        animate_field(spatial, still, Path("never.gif"))
    with pytest.raises(ModelError, match="frames must be at least one, got 0"):
        animate_field(view, still, Path("never.gif"), frames=0)
    with pytest.raises(ModelError, match="the picture requires a field in space, but 'field' has 2 dimensions"):
        draw_field_in_space(view, still, [0.0], Path("never.png"), path=np.zeros((2, 3)))
    with pytest.raises(ModelError, match="at least one instant"):
        draw_field_in_space(spatial, still, [], Path("never.png"), path=np.zeros((2, 3)))
    with pytest.raises(ModelError, match="duration must be greater than zero"):
        move_along(own, (0.0, 0.0), 0.0, step=0.1)
    with pytest.raises(ModelError, match=r"10000000 steps are too many \(at most 1000000\)"):
        move_along(own, (0.0, 0.0), 1.0, step=1e-7)
    with pytest.raises(ShapeError, match=r"start must have shape \(2,\)"):
        move_along(own, (0.0, 0.0, 0.0), 1.0, step=0.1)
    blown = orbit(0.0, extra=lambda x, t: x * (1 - t) ** 0.5)
    with pytest.raises(NotFiniteError, match=r"'plain' is not finite at t = 1 s, after x = \["):
        move_along(blown, (1.0, 0.0), 2.0, step=0.01)
