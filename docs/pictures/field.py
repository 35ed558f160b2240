"""Draws docs/pictures/field.png, field_space.png and field.gif: python docs/pictures/field.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from erugin.constraints import EruginField, circle, ellipse, line, moving, polygon, spline, verify
from erugin.simulation import move_along
from erugin.views.plane_field import FieldView, animate_field, draw_field
from erugin.views.space_field import draw_field_in_space

HERE = Path(__file__).parent


def plane() -> None:
    """A path among a disc, a turning ellipse and a polygon, at three instants; then all of it as an animation."""
    path = spline([(0.0, 0.0), (2.5, 0.4), (5.0, -0.3), (8.0, 0.1)], name="path")
    cart = circle((2.4, 1.1), 0.45, velocity=(0.02, -0.22), name="cart")
    blade = ellipse((5.2, -0.5), (0.8, 0.35), name="blade")
    outline = polygon([(6.6, 1.3), (7.5, 1.2), (7.6, 1.9), (7.1, 1.6), (6.7, 2.0)], name="outline")
    fan = moving(blade, angular_velocity=0.25, name="fan")
    crate = moving(outline, velocity=(-0.03, -0.08), name="crate")
    field = EruginField(path, [cart, fan, crate], speed=0.8, margin=0.18)
    low, high, times = (-0.3, -1.9), (8.3, 2.2), (0.0, 3.5, 7.0)
    report = verify(field, low=low, high=high, times=times, start=(0.0, 0.0), samples=300)
    assert report.ok, str(report)
    motion = move_along(field, (0.0, 0.0), 10.5, step=5e-3)
    view = FieldView.of(field, low, high)
    draw_field(view, times, HERE / "field.png", motion=motion, report=report)
    animate_field(view, motion, HERE / "field.gif", frames=42, rate=8.0, width=5.6)


def space() -> None:
    """A straight path through two balls that drift."""
    balls = [
        circle((1.6, 0.15, 0.1), 0.4, velocity=(0.0, -0.08, 0.0), name="one"),
        circle((3.6, -0.3, -0.35), 0.45, velocity=(-0.05, 0.04, 0.08), name="two"),
    ]
    field = EruginField(line((0.0, 0.0, 0.0), (5.0, 0.0, 0.0), name="path"), balls, speed=0.8, margin=0.12, side=-1)
    view = FieldView.of(field, (-0.1, -1.0, -1.0), (5.1, 1.0, 1.0))
    motion = move_along(field, (0.0, 0.0, 0.0), 6.8, step=5e-3)
    path = np.linspace((0.0, 0.0, 0.0), (5.0, 0.0, 0.0), 100)
    draw_field_in_space(view, motion, (0.0, 2.0, 4.5), HERE / "field_space.png", path=path)


if __name__ == "__main__":
    plane()
    space()
