"""Where a field is looked at if nobody says so."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import EruginField, box, circle, implicit, line, parametric, spline
from erugin.constraints.curves import Curve
from erugin.symbolic import ModelError


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
    report = field.verify(samples=60)
    assert (report.low < low).all()
    assert (report.high > high).all()
    assert report.times[0] == 0.0
    assert report.times[2] * 0.5 == pytest.approx(np.linalg.norm(report.high - report.low) / 1.3, rel=0.1)
    assert report["disc"].drift.value < 1e-9


def test_a_curve_that_tells_nothing_needs_a_region() -> None:
    field = EruginField(implicit(lambda x, t: x[1] - ca.sin(x[0]), 2, length=1.0, name="wave"), speed=0.5)
    with pytest.raises(ModelError, match=r"'wave' does not tell where it lies.*low= and high="):
        field.verify()


def test_a_sharp_corner_is_noted_and_does_not_drown_the_accelerations() -> None:
    """Random places on a square fall on its corners, where rounding decides the direction of the boundary."""
    crates = {
        key: box((2.0, 0.1), (0.6, 0.6), rounding=size, name="crate") for key, size in (("sharp", 0.0), ("round", 0.1))
    }
    reports = {
        key: EruginField(line((0.0, 0.0), (6.0, 0.0)), [crate], speed=0.8, margin=0.15).verify(
            low=(-0.5, -1.4), high=(6.5, 1.4)
        )
        for key, crate in crates.items()
    }
    assert reports["sharp"].corners > 0 == reports["round"].corners
    assert [note for note in reports["sharp"].notes if "billionth" in note]
    assert not [note for note in reports["round"].notes if "billionth" in note]
    assert 0.1 < reports["round"].acceleration.value < reports["sharp"].acceleration.value < 1e9
