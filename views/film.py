"""A motion as a film: the robot with its path, or its coordinates as they come; and the frames of a GIF.

What stays is drawn once, what moves over it, and all frames share one palette.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.animation import FFMpegWriter, FuncAnimation
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from ..simulation.storage.atomic_file import write_whole
from ..symbolic.errors import ModelError
from ..symbolic.validation import positive
from .robot_drawing import Motion, MotionPostures, RobotAxes
from .style import ARM_COLOR, POINT_COLOR, new_figure
from .time_series import CoordinateSeries

BITS = 5
"""Of red, green and blue, each, that are told apart."""
COLORS, FREQUENT = 256, 160
"""Of the palette, and those of them that are colours as they come; the rest are means of what is left."""


class GifFrames:
    """Frames of one size, drawn one after the other and written together.

    Attributes:
        figure: in which they are drawn; its resolution and its layout stay as the first frame finds them.
    """

    def __init__(self, figure: Figure, resolution: float) -> None:
        """Take a figure.

        Args:
            figure: with axes.
            resolution: of a frame [1/inch].
        """
        self.figure = figure
        figure.set_dpi(resolution)
        # matplotlib's stubs know little of this canvas.
        self._canvas: Any = FigureCanvasAgg(figure)
        self._still: Any = None
        self._codes: list[NDArray[np.uint16]] = []
        self._counts: NDArray[np.int64] = np.zeros(1 << 3 * BITS, dtype=np.int64)

    def add(self, moving: Sequence[Artist]) -> None:
        """Draw a frame.

        Args:
            moving: all that may differ from one frame to another, and what lies above it; drawn over all else.
        """
        if self._still is None:
            # The layout of the first frame serves all; finding it anew would cost more than the drawing.
            self._canvas.draw()
            self.figure.set_layout_engine("none")
            for artist in moving:
                artist.set_visible(False)
            self._canvas.draw()
            self._still = self._canvas.copy_from_bbox(self.figure.bbox)
            for artist in moving:
                artist.set_visible(True)
        self._canvas.restore_region(self._still)
        for artist in sorted(moving, key=lambda artist: artist.get_zorder()):
            artist.draw(self._canvas.get_renderer())
        colors: NDArray[np.uint16] = np.asarray(self._canvas.buffer_rgba())[..., :3] >> np.uint16(8 - BITS)
        codes: NDArray[np.uint16] = np.asarray(
            colors[..., 0] << 2 * BITS | colors[..., 1] << BITS | colors[..., 2], dtype=np.uint16
        )
        self._counts += np.bincount(codes.ravel(), minlength=len(self._counts))
        self._codes.append(codes)

    def save(self, path: Path, rate: float) -> None:
        """Write all of them as a GIF that begins anew at its end.

        Args:
            path: the file.
            rate: frames per second [1/s].
        """
        palette, index = self._palette()
        # One by one, for a long film would not fit into memory twice.
        images = (_image(index[codes], palette) for codes in self._codes)
        next(images).save(
            path, format="GIF", save_all=True, append_images=images, duration=int(1000 / rate), loop=0, optimize=False
        )

    def _palette(self) -> tuple[bytes, NDArray[np.uint8]]:
        """Colours of the palette, one after the other, and the entry for each code."""
        used = np.argsort(-self._counts, kind="stable")[: np.count_nonzero(self._counts)]
        step: NDArray[np.int64] = np.arange(1 << BITS)
        value = (255 * step // step[-1]).astype(np.uint8)
        mask = (1 << BITS) - 1
        colors = np.stack([value[used >> 2 * BITS], value[used >> BITS & mask], value[used & mask]], axis=1)
        index = np.zeros(len(self._counts), dtype=np.uint8)
        own = used[:FREQUENT] if len(used) > COLORS else used
        index[own] = np.arange(len(own))
        palette = colors[: len(own)].tobytes()
        if len(own) < len(used):
            few = Image.fromarray(colors[None, FREQUENT:]).quantize(COLORS - FREQUENT)
            index[used[FREQUENT:]] = FREQUENT + np.asarray(few)[0]
            palette += bytes(few.getpalette() or [])[: 3 * (COLORS - FREQUENT)]
        return palette, index


def _image(entries: NDArray[np.uint8], palette: bytes) -> Image.Image:
    image = Image.fromarray(entries)
    image.putpalette(palette)
    return image


FRAMES, FEWEST = 100, 50
"""Frames at most, and those of a motion so short that it is slowed down, if not said otherwise."""
SLOWEST, FASTEST = 8.0, 25.0
"""Frames per second, if not said otherwise [1/s]."""
MOST = 3000
"""Frames that anyone may ask for."""
RESOLUTION = 90


@dataclass(frozen=True)
class Pace:
    """How a film goes.

    Attributes:
        frames: how many there are.
        fps: how many are shown per second [1/s].
        speed: time in the motion over time in the film.
    """

    frames: int
    fps: float
    speed: float

    @classmethod
    def of(cls, duration: float, fps: float | None = None, speed: float | None = None) -> Pace:
        """As fast as the motion if a hundred frames allow it, otherwise faster, or slower if it is very short.

        Args:
            duration: of the motion [s].
            fps: frames per second, if it is given [1/s].
            speed: time in the motion over time in the film, if it is given.

        Raises:
            ModelError: for a number that is not positive, or more than 3000 frames.
        """
        span = duration if duration > 0.0 else 1.0
        rate = positive("fps", fps) if fps is not None else min(FASTEST, max(SLOWEST, (FRAMES - 1) / span))
        if speed is not None:
            pace = positive("speed", speed)
            if fps is None:
                rate = min(FASTEST, max(1.0, (FRAMES - 1) * pace / span))
        else:
            pace = span * rate / min(FRAMES - 1, max(FEWEST, span * rate))
        frames = math.ceil(span / pace * rate - 1e-9) + 1
        if frames > MOST:
            raise ModelError(f"{frames} frames are more than {MOST}: take fewer fps, or a greater speed")
        return cls(frames, rate, pace)

    @property
    def rate(self) -> int:
        """Frames per second in a file, which takes whole numbers [1/s]."""
        return max(1, round(self.fps))

    def title(self, t: float) -> str:
        """Time, and by how much the film is faster than the motion.

        Args:
            t: time [s].
        """
        digits = max(2, -math.floor(math.log10(self.speed / self.fps)))
        factor = "" if math.isclose(self.speed, 1.0, rel_tol=0.02) else f"   speed × {self.speed:.3g}"
        return f"t = {t:.{min(digits, 9)}f} s{factor}"


def motion_film(
    motion: Motion, target: Path, *, fps: float | None = None, speed: float | None = None, traced: str = ""
) -> None:
    """Write a motion as a film, whole or not at all.

    Args:
        motion: of robots that are known.
        target: a file that ends in ``.gif``, or in ``.mp4`` where there is ffmpeg.
        fps: frames per second [1/s]; chosen so that there are at most a hundred if not given.
        speed: time in the motion over time in the film; 1 if not given and a hundred frames allow it.
        traced: name of the point whose way is drawn; chosen if not given.

    Raises:
        ModelError: for another kind of file, a number that is not positive, more than 3000 frames, a motion without
            finite samples, or one loaded without its robot.
    """
    target = Path(target)
    kind = target.suffix.lower()
    if kind not in (".gif", ".mp4"):
        raise ModelError(f"an animation is written as .gif or .mp4, got {target.name!r}")
    if kind == ".mp4" and not FFMpegWriter.isAvailable():
        raise ModelError("an animation in .mp4 needs ffmpeg, which is not there: install it, or write a .gif")
    film = Film(motion, fps, speed, traced)

    def write(path: Path) -> None:
        if kind == ".mp4":
            _write_video(film, path)
            return
        frames = GifFrames(film.figure, RESOLUTION)
        for i in range(film.count):
            frames.add(film.show(i))
        frames.save(path, film.pace.rate)

    write_whole(target, write)


def _write_video(film: Film, path: Path) -> None:
    writer = FFMpegWriter(fps=film.pace.rate)
    # Not as a context, which would write a file of no frames, and fail, after an error in the first one.
    writer.setup(film.figure, str(path), dpi=RESOLUTION)
    for i in range(film.count):
        film.show(i)
        writer.grab_frame()
        # The layout of the first frame serves all; finding it anew costs more than the drawing.
        film.figure.set_layout_engine("none")
    writer.finish()


def animate(
    motion: Motion, path: str | Path | None = None, fps: float | None = None, speed: float | None = None
) -> FuncAnimation | None:
    """:func:`animation` if there is a path, otherwise an object that notebooks show.

    Args:
        motion: of robots that are known.
        path: the file; none if not given.
        fps: frames per second [1/s].
        speed: time in the motion over time in the film.
    """
    if path is not None:
        motion_film(motion, Path(path), fps=fps, speed=speed)
        return None
    film = Film(motion, fps, speed)

    return FuncAnimation(film.figure, film.show, frames=film.count, interval=1000.0 / film.pace.fps, blit=False)


class Film:
    """The frames of a motion.

    Attributes:
        pace: how fast it goes.
        figure: in which one frame after the other is shown.
        count: number of frames.
        show: puts one of them into the figure, and gives all that may differ from one to another.
    """

    figure: Figure
    count: int
    show: Callable[[int], list[Artist]]

    def __init__(self, motion: Motion, fps: float | None = None, speed: float | None = None, traced: str = "") -> None:
        """Lay out the figure.

        Args:
            motion: of robots that are known.
            fps: frames per second [1/s].
            speed: time in the motion over time in the film.
            traced: name of the point whose way is drawn; chosen if not given.
        """
        places = MotionPostures.of(motion, traced)
        t = motion.t if places is None else places.t
        if not len(t):
            raise ModelError("there is no sample that could be shown")
        self.pace = Pace.of(float(t[-1] - t[0]), fps, speed)
        if places is None:
            self._series(CoordinateSeries(motion), t)
        else:
            self._robot(places)

    def _series(self, series: CoordinateSeries, t: NDArray[np.float64]) -> None:
        shown: list[float] = np.linspace(float(t[0]), float(t[-1]), self.pace.frames).tolist()
        self.figure, self.count = series.figure, self.pace.frames

        def show(frame: int) -> list[Artist]:
            series.title.set_text(self.pace.title(shown[frame]))
            return [*series.until(shown[frame]), series.title]

        self.show = show

    def _robot(self, places: MotionPostures) -> None:
        low, high = places.limits
        shape = 0.9 if places.dimension == 3 else float(np.clip((high - low)[1] / (high - low)[0], 0.35, 1.2))
        self.figure = new_figure(5.4, 4.6 * shape + 0.8)
        stage = RobotAxes(self.figure, places)
        postures = places.postures(self.pace.frames)
        self.count = len(postures)
        above = stage.ground(postures[0])
        drawn: list[Artist] = []

        def show(frame: int) -> list[Artist]:
            for artist in drawn:
                artist.remove()
            posture = postures[frame]
            drawn[:] = [*stage.way(posture.way, POINT_COLOR), *stage.robot(posture, ARM_COLOR, width=2.4)]
            title = stage.axes.set_title(self.pace.title(posture.t), family="monospace", fontsize=10)
            return [*drawn, *above, title]

        self.show = show
