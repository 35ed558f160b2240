"""Films of motions: the robot with the path of a point, or its coordinates over time; and the frames of a GIF.

The static background is drawn once, only moving parts are drawn in each frame, and all frames share one palette.
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
"""Bits of red, green and blue, each, in a colour code."""
COLORS, FREQUENT = 256, 160
"""Colours of the palette, and the most frequent ones, which are exact; the others are means of the remaining ones."""


class GifFrames:
    """Frames of one size, drawn one after another and written together.

    Attributes:
        figure: figure in which they are drawn; its resolution and layout are those of the first frame.
    """

    def __init__(self, figure: Figure, resolution: float) -> None:
        """Create frames of a figure.

        Args:
            figure: figure with axes.
            resolution: resolution of a frame [1/inch].
        """
        self.figure = figure
        figure.set_dpi(resolution)
        # matplotlib's stubs hardly cover this canvas.
        self._canvas: Any = FigureCanvasAgg(figure)
        self._still: Any = None
        self._codes: list[NDArray[np.uint16]] = []
        self._counts: NDArray[np.int64] = np.zeros(1 << 3 * BITS, dtype=np.int64)

    def add(self, moving: Sequence[Artist]) -> None:
        """Draw a frame.

        Args:
            moving: artists that may differ between frames, and those above them; they are drawn over everything else.
        """
        if self._still is None:
            # The layout of the first frame is used for all; computing it again would cost more than the drawing.
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
        """Write the frames as a looping GIF.

        Args:
            path: path of the file.
            rate: frames per second [1/s].
        """
        palette, index = self._palette()
        # One by one, because a long film would not fit into memory twice.
        images = (_image(index[codes], palette) for codes in self._codes)
        next(images).save(
            path, format="GIF", save_all=True, append_images=images, duration=int(1000 / rate), loop=0, optimize=False
        )

    def _palette(self) -> tuple[bytes, NDArray[np.uint8]]:
        """Return the colours of the palette, and the entry for each code."""
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
"""Default largest number of frames, and fewest frames, for which a very short motion is slowed down."""
SLOWEST, FASTEST = 8.0, 25.0
"""Default range of frames per second [1/s]."""
MOST = 3000
"""Largest number of frames."""
RESOLUTION = 90


@dataclass(frozen=True)
class Pace:
    """Frame rate and speed of a film.

    Attributes:
        frames: number of frames.
        fps: frames per second [1/s].
        speed: time in the motion over time in the film.
    """

    frames: int
    fps: float
    speed: float

    @classmethod
    def of(cls, duration: float, fps: float | None = None, speed: float | None = None) -> Pace:
        """Compute the pace: real time if a hundred frames allow it, otherwise faster, or slower if it is short.

        Args:
            duration: duration of the motion [s].
            fps: frames per second, if given [1/s].
            speed: time in the motion over time in the film, if given.

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
            raise ModelError(f"{frames} frames exceed the limit of {MOST}: use a smaller fps= or a larger speed=")
        return cls(frames, rate, pace)

    @property
    def rate(self) -> int:
        """Frames per second in a file, which must be an integer [1/s]."""
        return max(1, round(self.fps))

    def title(self, t: float) -> str:
        """Return the time, and the speed of the film relative to the motion.

        Args:
            t: time [s].
        """
        digits = max(2, -math.floor(math.log10(self.speed / self.fps)))
        factor = "" if math.isclose(self.speed, 1.0, rel_tol=0.02) else f"   speed × {self.speed:.3g}"
        return f"t = {t:.{min(digits, 9)}f} s{factor}"


def motion_film(
    motion: Motion, target: Path, *, fps: float | None = None, speed: float | None = None, traced: str = ""
) -> None:
    """Write a motion as a film, atomically.

    Args:
        motion: the motion, loaded with its robots.
        target: path of a file that ends in ``.gif``, or in ``.mp4`` if ffmpeg is installed.
        fps: frames per second [1/s]; by default such that there are at most a hundred frames.
        speed: time in the motion over time in the film; by default 1 if a hundred frames allow it.
        traced: name of the point whose path is drawn; chosen automatically by default.

    Raises:
        ModelError: for an unsupported file type, a number that is not positive, more than 3000 frames, a motion without
            finite samples, or one loaded without its robot.
    """
    target = Path(target)
    kind = target.suffix.lower()
    if kind not in (".gif", ".mp4"):
        raise ModelError(f"the file of an animation must end in .gif or .mp4, got {target.name!r}")
    if kind == ".mp4" and not FFMpegWriter.isAvailable():
        raise ModelError("an .mp4 animation requires ffmpeg, which was not found: install it, or write a .gif")
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
    # Not as a context manager, which would write an empty file, and fail, after an error in the first frame.
    writer.setup(film.figure, str(path), dpi=RESOLUTION)
    for i in range(film.count):
        film.show(i)
        writer.grab_frame()
        # The layout of the first frame is used for all; computing it again costs more than the drawing.
        film.figure.set_layout_engine("none")
    writer.finish()


def animate(
    motion: Motion, path: str | Path | None = None, fps: float | None = None, speed: float | None = None
) -> FuncAnimation | None:
    """Write the film to a path, or return an animation for notebooks.

    Args:
        motion: the motion, loaded with its robots.
        path: path of the file, or None.
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
        pace: frame rate and speed.
        figure: figure that shows one frame after another.
        count: number of frames.
        show: function that draws one frame and returns the artists that may differ between frames.
    """

    figure: Figure
    count: int
    show: Callable[[int], list[Artist]]

    def __init__(self, motion: Motion, fps: float | None = None, speed: float | None = None, traced: str = "") -> None:
        """Create the figure.

        Args:
            motion: the motion, loaded with its robots.
            fps: frames per second [1/s].
            speed: time in the motion over time in the film.
            traced: name of the point whose path is drawn; chosen automatically by default.
        """
        places = MotionPostures.of(motion, traced)
        t = motion.t if places is None else places.t
        if not len(t):
            raise ModelError("the motion has no sample to show")
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
