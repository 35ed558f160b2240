"""Faults of a field are named, with the row, the position and the amount; bad arguments are refused."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import EruginField, FieldReport, box, circle, line, parametric, spline, verify
from erugin.constraints.curves import Curve
from erugin.symbolic import EruginError, Kernel, ModelError, ParameterError, ShapeError

from ...support.plain_fields import PlainCurve, PlainField, orbit, ring


def around(field: PlainField, **more: object) -> FieldReport:
    arguments: dict[str, object] = {"low": (-3, -3), "high": (3, 3), "times": [0.0, 1.0], "samples": 100, **more}
    return verify(field, **arguments)  # type: ignore[arg-type]


def problem(report: FieldReport, pattern: str) -> str:
    """The one problem, which must match."""
    assert not report.ok
    assert len(report.problems) == 1, report.problems
    assert re.search(pattern, report.problems[0]), report.problems[0]
    assert report.problems[0] in str(report)
    assert str(report).endswith("not ok: 1 problems")
    return report.problems[0]


def test_a_curve_that_is_left_is_named_with_the_speed_at_which_it_is_left() -> None:
    """A wind of 1 cm/s along x leaves a circle at 0.01 |cos ϑ|, most at its ends on the axis."""
    report = around(orbit(3.0, extra=lambda x, t: ca.vertcat(0.01, 0.0 * t)), offsets=(0.1,))
    text = problem(report, r"'circle' is not an integral curve at \d+ of 100 points.*allowed is 1e-09")
    worst = report["circle"].drift
    assert worst.value == pytest.approx(0.01 * abs(worst.position[0]), rel=1e-9)
    assert 0.0095 < worst.value <= 0.01
    assert report["circle"].faulty == 100
    assert f"{worst.value:.3g}" in text


def test_a_missing_motion_is_detected() -> None:
    """A field made for a circle at rest, and a circle that drifts: it is left at its own speed."""
    moving = dataclasses.replace(orbit(3.0), path=PlainCurve("circle", 2, ring((0.0, 0.0), 1.0, (0.2, 0.0))))
    report = around(moving, times=[0.0], offsets=(0.5,))
    problem(report, "'circle' is not an integral curve")
    assert report["circle"].drift.value == pytest.approx(0.2, rel=0.01)


def test_a_tolerance_lets_pass_what_is_below_it() -> None:
    report = around(orbit(3.0, extra=lambda x, t: ca.vertcat(1e-4, 0.0 * t)), offsets=(0.1,), tolerance=2e-4)
    assert report.ok
    assert report["circle"].drift.value > 9e-5


def test_a_program_curve_that_repels_is_a_fault() -> None:
    report = around(orbit(-2.0), offsets=(0.01,))
    assert len(report.problems) == 4, "on either side; and at either instant its centre attracts instead"
    assert all("'circle' does not attract" in text for text in report.problems[:2])
    assert all("come to rest where no barrier is crossed: sink at (" in text for text in report.problems[2:])
    assert "+0.01 m beside it: d ln|f|/dt is up to 2.04 1/s" in report.problems[0]


def test_nan_values_are_counted() -> None:
    """The root of a negative number to the left of x = −2: a sixth of the region."""
    report = around(orbit(2.0, extra=lambda x, t: 1e-30 * ca.vertcat(ca.sqrt(x[0] + 2), 0 * t)), samples=600)
    assert report.not_finite == pytest.approx(600 / 6, rel=0.25)
    text = problem(report, rf"at {report.not_finite} points .* is not a finite number, the first at \(-")
    assert "nan" not in text


def test_a_curve_on_which_the_velocity_is_nan_is_not_an_integral_curve() -> None:
    report = around(orbit(2.0, extra=lambda x, t: 1e-30 * ca.vertcat(ca.sqrt(x[0] + 0.5), 0 * t)))
    assert math.isinf(report["circle"].drift.value)
    assert "'circle' is not an integral curve" in report.problems[0]


def test_a_start_inside_an_obstacle_is_named_with_its_depth() -> None:
    discs = [circle((1.0, 0.0), 0.4, velocity=(0.2, 0.0), name="near"), circle((4.0, 1.0), 0.4, name="far")]
    field = EruginField(line((0.0, 0.0), (6.0, 0.0), name="path"), discs, speed=0.5, margin=0.1)
    region = {"low": (-1.0, -2.0), "high": (6.0, 2.0), "samples": 60}
    report = verify(field, start=(0.8, 0.1), times=[0.0], **region)  # type: ignore[arg-type]
    depth = 0.4 - math.hypot(0.2, 0.1)
    problem(report, rf"^the start lies inside 'near', {depth:.4g} m deep$")
    assert report.clearances == pytest.approx({"near": -depth, "far": math.hypot(3.2, 0.9) - 0.4})
    assert verify(field, start=(0.8, 0.1), times=[2.0], **region).ok  # type: ignore[arg-type]
    assert verify(field, times=[0.0], **region).clearances == {}  # type: ignore[arg-type]


def test_limits_that_are_exceeded() -> None:
    """On the curve the speed is 1 and the acceleration 1; off it y² + κ² f² |y|² and so on, least in the region."""
    field = orbit(1e-9)
    corner = 3.0 * math.sqrt(2.0)
    report = around(field, speed_limit=2.0, samples=2000, offsets=())
    assert report.speed.value == pytest.approx(corner, rel=0.05)
    problem(report, r"^the speed is 4\.\d+ at .* above the limit of 2 by 2\.")
    assert report.acceleration.value == pytest.approx(corner, rel=0.05)
    problem(around(field, acceleration_limit=2.0, offsets=()), r"^the acceleration is .* above the limit of 2 by 2")
    assert not around(field, offsets=(), speed_limit=corner, acceleration_limit=corner).problems


@pytest.mark.parametrize(
    ("function", "place"),
    [
        (lambda x, t: (x[0] - t) * x[1], [0.0, 0.0]),
        (lambda x, t: (x[0] - 0.5) ** 2 + x[1] ** 2, [0.5, 0.0]),
        (lambda x, t: x[1] ** 2 - (x[0] + 1) ** 3, [-1.0, 0.0]),
    ],
    ids=["two lines that cross", "a point", "a cusp"],
)
def test_a_curve_with_a_zero_gradient_on_it(function: object, place: list[float]) -> None:
    field = PlainField(PlainCurve("bad", 2, function), (), lambda x, t: ca.vertcat(ca.SX(1), x[0]))  # type: ignore[arg-type]
    report = around(field, times=[0.0])
    flat = report["bad"].zero_gradient
    np.testing.assert_allclose(flat[:, :2], np.tile(place, (len(flat), 1)), atol=5e-3)
    assert len(flat) >= 1
    assert any("the gradient of 'bad' vanishes on it at (" in text for text in report.problems)


def test_sound_curves_have_no_zero_gradient_on_them() -> None:
    """Not even where a gradient vanishes off the curve, as at the centre of a circle."""
    assert around(orbit(1.0))["circle"].zero_gradient.shape == (0, 3)


def test_a_plateau_is_no_curve() -> None:
    """For a function that is 1 everywhere, a search ends at once without a result."""
    circle, whole = ring((0.0, 0.0), 1.0), orbit(1.0)
    cut = dataclasses.replace(whole, path=PlainCurve("circle", 2, lambda x, t: ca.fmin(circle(x, t), 1.0)))
    report = around(cut, offsets=(0.01,))
    assert 20 < report["circle"].points < 60
    assert around(whole, offsets=(0.01,))["circle"].points == 100
    assert report["circle"].slope.value == pytest.approx(1.0)


def test_a_program_curve_out_of_sight() -> None:
    report = verify(orbit(1.0), low=(5, 5), high=(6, 6), times=[0.0], samples=30)
    problem(report, r"no point on the program curve 'circle' was found in the region: enlarge it")
    assert report["circle"].points == 0
    assert math.isnan(report["circle"].drift.value)


def closed(name: str) -> Curve:
    """An oval of 2 m by 1 m: inside, the foot of the perpendicular changes sides on the line between two foci."""
    if name == "spline":
        angles = np.linspace(0.0, 2 * np.pi, 13)
        return spline(np.column_stack([np.cos(angles), 0.5 * np.sin(angles)]), name="oval")
    return parametric(lambda s, t: ca.vertcat(ca.cos(s), 0.5 * ca.sin(s)), 0.0, 2 * np.pi, name="oval")


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["spline", "parametric"])
def test_a_field_that_jumps_inside_a_closed_path_is_not_ok(kind: str) -> None:
    field = EruginField(closed(kind), speed=0.3)
    report = verify(field, samples=60)
    assert not report.ok
    (text,) = [text for text in report.problems if "jumps" in text]
    worst = report.jumps[0]
    assert worst.between
    assert abs(worst.position[1]) < 1e-3, "on the long axis"
    assert abs(worst.position[0]) < 0.8
    assert 0.5 < worst.size <= 0.6
    assert f"{worst.size:.3g} m/s over" in text
    # The sides, a hundred times nearer to each other than a micrometre, by the field itself.
    assert np.linalg.norm(worst.other - worst.position) < 1e-8
    x, t = ca.SX.sym("x", 2), ca.SX.sym("t")
    kernel = Kernel("w", {"x": x, "t": t, "p": field.parameters.symbols}, {"w": field.velocity(x, t)}, compiled=False)
    before, after = (kernel(place, worst.time, field.parameters.values())[0] for place in (worst.position, worst.other))
    np.testing.assert_allclose(before, worst.before, atol=1e-9)
    np.testing.assert_allclose(after, worst.after, atol=1e-9)


def test_jumps_far_beside_an_open_path_are_noted() -> None:
    """Beyond the centres of curvature of a bend, outside of it, only a start meets them."""
    bend = spline([(0.0, 0.0), (1.0, 0.3), (1.6, 1.0), (2.4, 1.1), (3.2, 0.2), (4.2, 0.0)], name="bend")
    report = verify(EruginField(bend, speed=0.5), low=(-0.5, -3.0), high=(4.7, 3.0), times=[0.0], samples=60)
    assert report.jumps
    assert {one.between for one in report.jumps} == {False, True}
    wide = spline([(0.0, 0.0), (2.0, 0.2), (4.0, 0.0)], name="wide")
    report = verify(EruginField(wide, speed=0.5), low=(-0.5, -9.0), high=(4.5, 2.0), times=[0.0], samples=60)
    assert report.jumps
    assert report.ok, str(report)
    assert any("jumps at" in note for note in report.notes)


@pytest.mark.slow
def test_jumps_in_space_and_in_time_are_found() -> None:
    turned = orbit(2.0, extra=lambda x, t: ca.if_else(t > 0.37, 1e-30, 0.0) * x)
    assert around(turned, offsets=(0.1,)).ok
    switched = orbit(2.0, extra=lambda x, t: circle_of(x) * ca.if_else(t > 0.37, 0.4, 0.0) * ca.vertcat(x[1], -x[0]))
    report = around(switched, offsets=(0.1,), low=(-1.3, -1.3), high=(1.3, 1.3))
    assert any("jumps" in text and "t = 0.37 s" in text for text in report.problems), report.problems
    assert report.jumps[0].in_time
    hidden = orbit(2.0, extra=lambda x, t: ca.if_else(x[0] + 0.3 * x[1] > 0.123, 0.05, 0.0) * ca.vertcat(-x[1], x[0]))
    report = around(hidden, offsets=(0.1,))
    assert any("jumps" in text for text in report.problems)
    place = report.jumps[0].position
    assert place[0] + 0.3 * place[1] == pytest.approx(0.123, abs=1e-6)
    helix = spline([(np.cos(a), np.sin(a), 0.1 * a) for a in np.linspace(0.0, 5.0, 9)], name="helix")
    report = verify(EruginField(helix, speed=0.3), samples=60)
    assert any(one.between for one in report.jumps), "round the axis the nearest part of a helix changes"
    assert not report.ok


def circle_of(x: ca.SX) -> ca.SX:
    return ring((0.0, 0.0), 1.0)(x, ca.SX(0))


def test_an_acceleration_out_of_all_proportion_is_a_fault() -> None:
    """A layer of a hundredth of a millimetre in which the velocity turns: continuous, and of no curve."""

    def shear(x: ca.SX, t: ca.SX) -> ca.SX:
        return 0.3 * ca.tanh((x[0] - 0.4) / 1e-5) * ca.vertcat(-x[1], x[0])

    report = around(orbit(2.0, extra=shear), offsets=(0.1,), samples=300)
    assert not report.ok
    assert not report.jumps
    (text,) = [text for text in report.problems if "times V²/ℓ" in text]
    assert "ℓ = 1 m, the least radius of curvature of 'circle'" in text
    assert report.turns is not None
    assert report.turns.position[0] == pytest.approx(0.4, abs=1e-3)
    gentle = around(orbit(2.0, extra=lambda x, t: 0.3 * ca.tanh((x[0] - 0.4) / 0.1) * ca.vertcat(-x[1], x[0])))
    assert not [text for text in gentle.problems if "times V²/ℓ" in text]


def test_a_boundary_whose_curvature_jumps_is_noted_with_the_place() -> None:
    notes: dict[str, list[str]] = {}
    for corner in ("arc", "smooth"):
        crate = box((2.0, 0.1), (0.6, 0.6), rounding=0.1, corner=corner, name="crate")
        field = EruginField(line((0.0, 0.0), (4.0, 0.0)), [crate], speed=0.8, margin=0.15)
        report = verify(field, low=(-0.5, -1.4), high=(4.5, 1.4), times=[0.0], samples=100)
        assert report.ok, str(report)
        notes[corner] = [note for note in report.notes if "derivative of the normal" in note]
        if corner == "arc":
            # An arc begins 0.1 m from a corner, on a face.
            x, y = np.abs(report.bends["crate"].position - [2.0, 0.1])
            assert sorted((x, y)) == pytest.approx([0.2, 0.3], abs=1e-6)
            assert report.bends["crate"].value == pytest.approx(10.0, rel=1e-6)
    assert len(notes["arc"]) == 1
    assert "'crate' jumps, its curvature by 10 1/m" in notes["arc"][0]
    assert not notes["smooth"]


def test_an_unknown_row() -> None:
    with pytest.raises(ParameterError, match=r"unknown row 'circel'\. Did you mean 'circle'\?"):
        around(orbit(1.0))["circel"]


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"high": (-3, 3)}, ModelError, r"region from \(-3, -3\) to \(-3, 3\) is empty"),
        ({"low": (0, 0, 0)}, ShapeError, r"low must have shape \(2,\), got shape \(3,\)"),
        ({"high": (3, math.nan)}, ShapeError, r"high must be finite, but high\[1\] is nan"),
        ({"times": []}, ModelError, "at least one instant"),
        ({"times": [0.0, math.inf]}, ShapeError, r"times\[1\] is inf"),
        ({"samples": 1}, ModelError, r"at least one per instant \(2\), got 1"),
        ({"samples": 10.5}, ModelError, r"samples must be a whole number of points.*10\.5"),
        ({"samples": True, "times": 0.0}, ModelError, "samples of verify must be a whole number, got True"),
        ({"seed": -1}, ModelError, "seed must be a whole number of at least zero, got -1"),
        ({"offsets": -0.1}, ModelError, "every offset must be greater than zero, got -0.1"),
        ({"offsets": (0.1, 0.0)}, ModelError, "every offset must be greater than zero, got 0"),
        ({"tolerance": -1e-9}, ModelError, "tolerance must be greater than zero"),
        ({"speed_limit": 0.0}, ModelError, "speed_limit must be greater than zero"),
        ({"acceleration_limit": math.nan}, ModelError, "acceleration_limit must be finite"),
        ({"start": (1.0,)}, ShapeError, r"start must have shape \(2,\)"),
        ({"p": {"unsued": 2.0}}, ParameterError, "unknown parameter 'unsued'. Did you mean 'unused'"),
    ],
)
def test_bad_questions(more: Mapping[str, object], error: type[EruginError], message: str) -> None:
    with pytest.raises(error, match=message):
        around(orbit(1.0), **more)


def test_a_curve_is_no_field() -> None:
    with pytest.raises(ModelError, match=r"needs a field, such as EruginField\(path, obstacles, ...\), got Circle"):
        around(circle((0.0, 0.0), 1.0))  # type: ignore[arg-type]
