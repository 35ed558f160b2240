"""Plots over time: panels by unit, legends that can be read, and what went wrong."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from erugin.robots import Link, planar_manipulator
from erugin.robots.examples import altmann_heiland_crane
from erugin.simulation import Columns, PhasedTrajectory, Simulator, Trajectory
from erugin.symbolic import ModelError
from erugin.views import overview_picture, plot
from erugin.views.time_series import Panel

from ..support.motions import arm, law, phased, single


def labels_of(figure: Figure) -> list[str]:
    return [axes.get_ylabel() for axes in figure.axes]


def names_in(figure: Figure, panel: int) -> list[str]:
    legend = figure.axes[panel].get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def long_chain(n: int) -> Trajectory:
    robot = planar_manipulator([Link(0.3, 1.0, 0.15, 0.01)] * n)
    return Simulator(robot).run([0.1] * n, [0.0] * n, 0.02, step=5e-3)


def test_panels_are_by_unit() -> None:
    run = Simulator(altmann_heiland_crane()).run([0.0, 2.0, 0.4], [0.0] * 3, 0.1, step=1e-2)
    figure = run.plot(velocities=True, energy=True)
    assert labels_of(figure) == [
        *("coordinates [m]", "coordinates [rad]", "velocities [m/s]", "velocities [rad/s]", "energy [J]"),
    ]
    assert names_in(figure, 0) == ["s", "l"]
    assert figure.axes[-1].get_xlabel() == "time [s]"
    lines = figure.axes[0].get_lines()
    np.testing.assert_array_equal(np.asarray(lines[1].get_ydata(), dtype=float)[: len(run)], run.q[:, 1])


def test_what_a_motion_does_not_have_is_left_out() -> None:
    robot = arm()
    assert labels_of(single(robot, None).plot()) == ["coordinates [rad]"]
    driven = single(robot, law(robot))
    assert labels_of(driven.plot()) == ["coordinates [rad]", "inputs [N m]", "|deviation|"]
    assert labels_of(driven.plot(deviations=False)) == ["coordinates [rad]", "inputs [N m]"]


@pytest.mark.sampled
@pytest.mark.parametrize("n", [3, 22])
def test_nothing_overlaps(n: int) -> None:
    """Neither do legends cover panels, nor panels one another, nor is anything outside of the picture."""
    figure = long_chain(n).plot(velocities=True, energy=True)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    boxes: list[Bbox] = []
    for axes in figure.axes:
        legend = axes.get_legend()
        assert legend is not None
        boxes += [axes.bbox, legend.get_window_extent(renderer)]
        assert all(float(text.get_fontsize()) >= 8.0 for text in legend.get_texts())
    for one, other in itertools.combinations(boxes, 2):
        overlap = Bbox.intersection(one, other)
        assert overlap is None or overlap.width * overlap.height < 1.0
    for box in boxes:
        assert box.x0 >= 0.0
        assert box.y0 >= 0.0
        assert box.x1 <= figure.bbox.width
        assert box.y1 <= figure.bbox.height


def test_many_lines_can_be_distinguished() -> None:
    figure = long_chain(22).plot()
    assert len(names_in(figure, 0)) == 22
    styles = {(str(line.get_color()), line.get_linestyle()) for line in figure.axes[0].get_lines()}
    assert len(styles) == 22


def test_phases_share_panels() -> None:
    robot = arm()
    run = phased(robot, law(robot))
    figure = plot(run)
    assert labels_of(figure) == ["coordinates [rad]", "inputs [N m]", "|deviation|"]
    # Of each name one line, broken at the switch, and a dotted line at it.
    assert names_in(figure, 0) == ["q1", "q2"]
    dotted = [line for line in figure.axes[0].get_lines() if line.get_linestyle() == ":"]
    assert [np.asarray(line.get_xdata(), dtype=float)[0] for line in dotted] == run.switches.tolist()
    inputs = np.asarray(figure.axes[1].get_lines()[0].get_ydata(), dtype=float)
    np.testing.assert_array_equal(inputs[np.isfinite(inputs)], run.segments[1].u[:, 0])


def test_trouble_is_shaded() -> None:
    run = single(arm(), None)
    assert run.plot().axes[0].get_title(loc="right") == ""
    troubled = dataclasses.replace(run, status=np.where(np.arange(len(run)) < 5, 6, 0))
    figure = troubled.plot()
    assert "not OK" in figure.axes[0].get_title(loc="right")
    assert [patch.get_window_extent().width > 0.0 for patch in figure.axes[0].patches] == [True]


def test_names_with_underscores_are_shown() -> None:
    (panel,) = Panel.by_unit("coordinates", Columns(("_hidden",), ("m",)), np.zeros((2, 1)))
    run = single(arm(), None)
    names = dataclasses.replace(run.labels, coordinates=Columns(("_a", "$b"), ("rad", "rad")))
    figure = dataclasses.replace(run, named=names).plot()
    assert [name.strip("\u200b") for name in names_in(figure, 0)] == ["_a", "$b"]
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    assert panel.title == "coordinates [m]"


def test_a_picture_is_written_silently(tmp_path: Path) -> None:
    overview_picture(single(arm(), None), tmp_path / "overview.png")
    assert (tmp_path / "overview.png").stat().st_size > 1000
    with pytest.raises(ModelError, match="no sample"):
        plot(PhasedTrajectory((), (), (), "nothing ran"))
