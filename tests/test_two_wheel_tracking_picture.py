"""The picture of laws beside a planned motion: what is drawn is what was run."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from erugin.controllers.baselines import Kanayama
from erugin.scenarios import simulate
from erugin.views import draw_two_wheel_tracking

from .two_wheel_tracking import REDUCED, circular


def test_the_picture_shows_way_and_distances() -> None:
    """On a circle the distance to the path is the difference of radii; labels have units, and the legend all names."""
    motion = circular(REDUCED)
    law = Kanayama.critically_damped(motion, rate=1.0, speed=0.6)
    run = simulate(REDUCED, law, *motion.start(left=0.3), 5.0, step=1e-2)
    figure = draw_two_wheel_tracking(motion, {"a law": run})
    plane, late, beside = figure.axes
    assert_allclose(np.array(plane.lines[1].get_xydata()), run.q[:, :2], atol=1e-15)
    away = run.evaluate(motion.place) - run.q[:, :2]
    assert_allclose(np.asarray(late.lines[0].get_ydata()), np.hypot(*away.T), atol=2e-6)
    radii = np.abs(np.hypot(run.q[:, 0], run.q[:, 1] - 1.5) - 1.5)
    # Polyline for circle: chords of 6 mm; at both ends the nearest point may lie beyond it.
    assert_allclose(np.asarray(beside.lines[0].get_ydata())[20:450], radii[20:450], atol=5e-6)
    for axes in figure.axes:
        assert "[" in axes.get_xlabel()
        assert "[" in axes.get_ylabel()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["planned", "a law", "start", "planned start"]
