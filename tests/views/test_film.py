"""Films of motions: frames, speed, colours, and whole files."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.animation import FFMpegWriter, FuncAnimation
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from PIL import Image, ImageSequence

from erugin.robots.examples import butterworth_ladder, heavy_top, turtlebot3_burger
from erugin.simulation import Simulator, Trajectory
from erugin.symbolic import ModelError
from erugin.views import motion_film
from erugin.views.film import Film, GifFrames, Pace
from erugin.views.moving_obstacle import AROUND, free_position

from ..support.motions import arm, phased


def swing(duration: float = 0.4) -> Trajectory:
    return Simulator(arm()).run([0.3, 0.8], [0.0, 0.0], duration, step=1e-2)


@pytest.mark.parametrize(
    ("duration", "fps", "speed", "expected"),
    [
        (3.0, None, None, (76, 25.0, 1.0)),
        (10.0, None, None, (100, 9.9, 1.0)),
        # Longer than a hundred frames can tell at eight per second: faster than the motion.
        (99.0, None, None, (100, 8.0, 8.0)),
        # So short that it would be over at once: slowed down.
        (0.02, None, None, (51, 25.0, 0.01)),
        (4.0, 10.0, 2.0, (21, 10.0, 2.0)),
        (4.0, None, 2.0, (51, 25.0, 2.0)),
        (0.0, None, None, (51, 25.0, 0.5)),
    ],
)
def test_pace(duration: float, fps: float | None, speed: float | None, expected: tuple[int, float, float]) -> None:
    pace = Pace.of(duration, fps, speed)
    assert (pace.frames, pace.fps, pace.speed) == pytest.approx(expected)


def test_default_is_a_hundred_frames_at_most() -> None:
    for duration in np.geomspace(1e-6, 1e6, 200):
        pace = Pace.of(float(duration))
        assert 50 <= pace.frames <= 100
        # The film has the requested duration.
        assert (pace.frames - 1) / pace.fps * pace.speed == pytest.approx(duration, rel=0.05)


@pytest.mark.parametrize(("fps", "speed"), [(0.0, None), (None, -1.0), (float("nan"), None), (1000.0, 0.01)])
def test_bad_pace_is_refused(fps: float | None, speed: float | None) -> None:
    with pytest.raises(ModelError, match=r"fps|speed"):
        Pace.of(4.0, fps, speed)


def test_time_is_shown_with_its_digits() -> None:
    assert Pace.of(3.0).title(1.0) == "t = 1.00 s"
    assert Pace.of(0.02).title(0.01) == "t = 0.0100 s   speed × 0.01"
    assert Pace.of(99.0).title(98.0) == "t = 98.00 s   speed × 8"


def test_gif_has_a_frame_for_each_instant(tmp_path: Path) -> None:
    motion_film(swing(), tmp_path / "run.gif", fps=10.0, speed=1.0)
    with Image.open(tmp_path / "run.gif") as gif:
        frames = [np.asarray(frame.convert("RGB"), dtype=np.int64) for frame in ImageSequence.Iterator(gif)]
        assert gif.info["duration"] == 100
    assert len(frames) == 5
    assert all(np.abs(after - before).max() > 50 for before, after in itertools.pairwise(frames))
    # Axes stay where they are: what changes lies inside of them, and in the title.
    changed = np.max([np.abs(frame - frames[0]).max(axis=2) for frame in frames[1:]], axis=0) > 50
    rows, columns = np.nonzero(changed)
    assert columns.min() > 30
    assert rows.max() < changed.shape[0] - 30


def test_frames_show_robots_of_all_kinds() -> None:
    top = heavy_top(1.0, np.eye(3), center=[0.0, 0.0, 0.3])
    runs = (
        Simulator(top).run([1.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 1.0], 0.02, step=1e-3),
        Simulator(turtlebot3_burger(form="reduced")).run([0.0] * 5, [0.2, 0.5], 0.1, step=1e-2),
        Simulator(butterworth_ladder(3, resistance=50.0, cutoff=1e3)).run([1e-6] * 3, [0.0] * 3, 2e-3, step=1e-5),
        phased(arm(), None),
    )
    for run in runs:
        made = Film(run)
        images: list[bytes] = []
        for frame in (0, made.count // 2, made.count - 1):
            made.show(frame)
            canvas: Any = FigureCanvasAgg(made.figure)
            canvas.draw()
            images.append(bytes(canvas.buffer_rgba()))
        assert len(set(images)) == 3
        texts = (made.figure.axes[0].get_title(), made.figure.get_suptitle())
        assert any(text.startswith("t = ") for text in texts)


def test_film_without_a_file_is_for_notebooks() -> None:
    shown = swing(0.1).animate(fps=20.0, speed=1.0)
    assert isinstance(shown, FuncAnimation)
    page = shown.to_jshtml()
    assert page.count("data:image/png;base64") == 3


@pytest.mark.parametrize("name", ["run.avi", "run", "run.png"])
def test_other_kinds_of_files_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"\.gif or \.mp4"):
        swing().animate(tmp_path / name)


def test_mp4_needs_ffmpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda cls: False))
    with pytest.raises(ModelError, match="ffmpeg"):
        swing().animate(tmp_path / "run.mp4")
    assert not list(tmp_path.iterdir())


def test_half_a_film_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.gif").write_bytes(b"before")

    def broken(self: object, *_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(GifFrames, "save", broken)
    with pytest.raises(OSError, match="disk full"):
        motion_film(swing(), tmp_path / "run.gif", fps=10.0, speed=1.0)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("run.gif", b"before")]


RED, BLUE = (214, 39, 40), (31, 119, 180)


def images(path: Path) -> list[NDArray[np.int64]]:
    """Frames of a GIF, shape (rows, columns, 3)."""
    with Image.open(path) as gif:
        return [np.asarray(frame.convert("RGB"), dtype=np.int64) for frame in ImageSequence.Iterator(gif)]


def drawn(figure: Figure) -> NDArray[np.int64]:
    """The figure, drawn again completely."""
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba(), dtype=np.int64)[..., :3]


def test_a_frame_equals_a_full_redraw(tmp_path: Path) -> None:
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
    assert free_position(point + AROUND, np.array([[9.0, 9.0]])).tolist() != [2.0, 1.0]
    taken = np.array([point, [2.0, 1.0], [1.8, 1.6], [1.0, 1.7]])
    place = free_position(point + AROUND, taken)
    assert place[0] < 1.0
    with pytest.raises(ModelError, match=r"unknown point 'tipp'. Did you mean 'tip'"):
        Film(Simulator(arm()).run([0.3, 0.8], [0.0, 0.0], 0.02, step=1e-2), traced="tipp")
