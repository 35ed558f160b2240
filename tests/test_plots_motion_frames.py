"""Frames of a GIF: what stays is drawn once and what moves over it, in colours that are right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from PIL import Image, ImageSequence

from erugin.robots.examples import turtlebot3_burger
from erugin.simulation import Simulator
from erugin.symbolic import ModelError
from erugin.views.film import Film, GifFrames
from erugin.views.moving_obstacle import AROUND, free_place

from .motions import arm

RED, BLUE = (214, 39, 40), (31, 119, 180)


def images(path: Path) -> list[NDArray[np.int64]]:
    """Frames of a GIF, shape (rows, columns, 3)."""
    with Image.open(path) as gif:
        return [np.asarray(frame.convert("RGB"), dtype=np.int64) for frame in ImageSequence.Iterator(gif)]


def drawn(figure: Figure) -> NDArray[np.int64]:
    """The figure as it is drawn anew."""
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba(), dtype=np.int64)[..., :3]


def test_a_frame_is_what_drawing_all_anew_would_give(tmp_path: Path) -> None:
    motions = (
        Simulator(arm()).run([0.3, 0.8], [0.0, 0.0], 0.3, step=1e-2),
        Simulator(turtlebot3_burger(form="reduced")).run([0.0] * 5, [0.2, 0.5], 0.3, step=1e-2),
    )
    for motion in motions:
        film = Film(motion, 10.0, 1.0)
        frames = GifFrames(film.figure, 60)
        whole = list[NDArray[np.int64]]()
        for i in range(film.count):
            moving = film.show(i)
            frames.add(moving)
            whole.append(drawn(film.figure))
        frames.save(tmp_path / "film.gif", 10)
        shown = images(tmp_path / "film.gif")
        assert len(shown) == len(whole) == film.count
        for one, other in zip(shown, whole, strict=True):
            assert one.shape == other.shape
            # Five bits of each colour are kept; only at edges may what moves lie over what does not.
            assert np.mean(np.abs(one - other).max(axis=2) > 8) < 2e-3


def test_flat_colours_come_through_and_many_colours_do_too(tmp_path: Path) -> None:
    figure = Figure(figsize=(2.0, 1.0))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.imshow(np.linspace(0.0, 1.0, 64 * 32).reshape(32, 64), cmap="gist_rainbow", aspect="auto", extent=(0, 1, 0, 1))
    block = axes.add_patch(Rectangle((0.0, 0.0), 0.25, 0.5, facecolor=np.array(RED) / 255, linewidth=0.0))
    frames = GifFrames(figure, 100)
    frames.add([block])
    block.set(x=0.5, facecolor=np.array(BLUE) / 255)
    frames.add([block])
    frames.save(tmp_path / "blocks.gif", 5)
    first, second = images(tmp_path / "blocks.gif")
    assert first.shape == (100, 200, 3)
    for image, column, color in ((first, 25, RED), (second, 125, BLUE)):
        assert np.abs(image[75, column] - color).max() <= 8
    # Where the block was there is what lay under it again.
    expected = drawn(figure)
    assert np.abs(second - expected).max(axis=2).mean() < 12.0
    assert np.abs(second[75, 25] - RED).max() > 50


def test_labels_go_where_there_is_room() -> None:
    point = np.array([1.0, 1.0])
    assert free_place(point + AROUND, np.array([[9.0, 9.0]])).tolist() != [2.0, 1.0]
    taken = np.array([point, [2.0, 1.0], [1.8, 1.6], [1.0, 1.7]])
    place = free_place(point + AROUND, taken)
    assert place[0] < 1.0
    with pytest.raises(ModelError, match=r"unknown point 'tipp'. Did you mean 'tip'"):
        Film(Simulator(arm()).run([0.3, 0.8], [0.0, 0.0], 0.02, step=1e-2), traced="tipp")
