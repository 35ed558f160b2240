"""Frames of a film in a GIF: what stays is drawn once, what moves over it, and all frames share one palette."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

BITS = 5
"""Of red, green and blue, each, that are told apart."""
COLORS, FREQUENT = 256, 160
"""Of the palette, and those of them that are colours as they come; the rest are means of what is left."""


class Frames:
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
