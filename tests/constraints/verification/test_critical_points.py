"""Critical points are found where algebra and geometry put them."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import EruginField, circle, line, verify
from erugin.constraints.verification import CriticalPoint
from erugin.constraints.verification.critical_points import classify_equilibrium, classify_extremum
from erugin.symbolic import Kernel

from ...support.plain_fields import Expression, PlainCurve, PlainField, ring

Array = NDArray[np.float64]


def still(x: ca.SX, _: ca.SX) -> ca.SX:
    """Speed 1 along x₁ in any dimension."""
    return ca.vertcat(ca.SX(1), ca.SX.zeros(x.numel() - 1))


def found_in(
    path: Expression, *others: Expression, low: float = -6.0, high: float = 6.0, w: Expression = still
) -> tuple[CriticalPoint, ...]:
    obstacles = tuple(PlainCurve(f"o{j}", 2, other) for j, other in enumerate(others))
    field = PlainField(PlainCurve("path", 2, path), obstacles, w)
    return verify(field, low=[low] * 2, high=[high] * 2, times=[0.0], samples=200).critical_points


def test_two_rings_have_one_saddle_between_them_and_an_extremum_in_each() -> None:
    """On the axis df/dx = 0 is a cubic equation; off it ∇f = 0 asks for f₁ = f₂ = 0, which disjoint rings exclude."""
    points = found_in(ring((0.0, 0.0), 1.0), ring((3.0, 0.0), 1.5))
    one, two = np.poly1d([1, 0, -1]) / 2, np.poly1d([1, -6, 9 - 1.5**2]) / 3
    cubic = np.poly1d((one * two).deriv())
    roots: list[complex] = [complex(root) for root in cubic.roots]
    expected = sorted(root.real for root in roots)
    assert max(abs(root.imag) for root in roots) == 0.0
    np.testing.assert_allclose([p.position[0] for p in points], expected, atol=1e-9)
    np.testing.assert_allclose([p.position[1] for p in points], 0.0, atol=1e-9)
    assert [p.kind for p in points] == ["minimum", "saddle", "minimum"]
    assert [p.inside for p in points] == [(), (), ("o0",)]
    assert all(p.speed == 1.0 and p.of == "f" for p in points)


def test_rings_that_meet_cross_where_geometry_predicts() -> None:
    points = found_in(ring((0.0, 0.0), 1.0), ring((1.2, 0.0), 1.0))
    crossings = [p for p in points if p.kind == "crossing"]
    assert {p.meeting for p in crossings} == {("path", "o0")}
    np.testing.assert_allclose([p.position for p in crossings], [[0.6, -0.8], [0.6, 0.8]], atol=1e-9)
    assert [p.kind for p in points if p not in crossings] == ["minimum", "maximum", "minimum"]


def test_the_indices_of_all_points_add_up_to_the_turns_of_the_gradient() -> None:
    """Poincaré and Hopf: extrema count +1 and saddles −1; together the winding number of ∇f along the region's edge."""
    rings = [((0.0, 0.3), 0.7), ((2.0, -0.4), 0.5), ((-1.8, -1.0), 0.6), ((0.4, 2.6), 0.8)]
    points = found_in(*(ring(center, radius) for center, radius in rings))
    index = {"minimum": 1, "maximum": 1, "saddle": -1, "crossing": -1}
    edge = np.linspace(-1.0, 1.0, 4001)
    side = np.ones_like(edge)
    walk = 6.0 * np.hstack([[edge, -side], [side, edge], [-edge, side], [-side, -edge]])
    offsets = walk[:, None, :] - np.array([c for c, _ in rings]).T[:, :, None]
    radii = np.array([r for _, r in rings])[:, None]
    values = ((offsets**2).sum(axis=0) - radii**2) / (2 * radii)
    slopes = offsets / radii
    gradient = (values.prod(axis=0) * slopes / values).sum(axis=1)
    angle = np.unwrap(np.arctan2(gradient[1], gradient[0]))
    turns = (angle[-1] - angle[0]) / (2 * np.pi)
    assert turns == pytest.approx(1.0)
    assert sum(index[p.kind] for p in points) == round(turns)
    assert len(points) == 7


def test_between_a_path_and_a_disc_there_is_a_saddle_where_the_field_is_finite() -> None:
    """The literal structure is unbounded there: its last part alone, f_t/|∇f|, exceeds any speed nearby."""
    field = EruginField(
        line((0.0, 0.0), (12.0, 0.0), name="path"),
        [circle((3.0, 0.9), 0.4, velocity=(0.05, -0.1), name="disc")],
        speed=0.5,
        margin=0.15,
    )
    report = verify(field, low=(1, -1), high=(5, 1), times=[0.0], samples=200)
    saddles = [p for p in report.critical_points if p.kind == "saddle" and not p.inside]
    assert len(saddles) == 1
    saddle = saddles[0]
    assert saddle.rate > 0.01
    assert 0.1 < saddle.speed < 1.0
    x, t = ca.SX.sym("x", 2), ca.SX.sym("t")
    f = field.structure(x, t)[2]
    unbounded = ca.jacobian(f, t) / ca.norm_2(ca.gradient(f, x))
    outputs = {"f": f, "unbounded": unbounded}
    kernel = Kernel("product", {"x": x, "t": t, "p": field.parameters.symbols}, outputs, compiled=False)
    values = field.parameters.values()

    def at(dx: float, dy: float, output: int = 0) -> float:
        return float(kernel(saddle.position + np.array([dx, dy]), 0.0, values)[output])

    h = 1e-4
    slope = np.array([at(h, 0.0) - at(-h, 0.0), at(0.0, h) - at(0.0, -h)]) / (2 * h)
    assert np.abs(slope).max() < 1e-6
    bend = np.array([at(h, 0.0) + at(-h, 0.0), at(0.0, h) + at(0.0, -h)]) - 2 * at(0.0, 0.0)
    assert bend[0] * bend[1] < 0.0
    assert abs(at(1e-5, 0.0, 1)) > 100.0
    assert any("literal structure" in note for note in report.notes)


def test_in_space_the_program_curve_itself_is_left_out_and_a_line_of_crossings_shown_once() -> None:
    field = EruginField(
        line((0.0, 0.0, 0.0), (4.0, 0.0, 0.0), name="path"), [circle((2.0, 0.1, 0.0), 0.4, name="ball")],
        speed=0.5, margin=0.15, avoidance="detour",
    )  # fmt: skip
    report = verify(field, low=(0, -1, -1), high=(4, 1, 1), times=[0.0, 1.0], samples=200)
    crossings = [p for p in report.critical_points if p.kind == "crossing"]
    assert {p.meeting for p in crossings} == {("path[2]", "ball")}
    assert len(crossings) == 2, "one for each instant"


def test_a_line_of_critical_points_is_thinned_out() -> None:
    """f = y (1 − y) has ∇f = 0 all along y = ½."""
    path, wall = PlainCurve("path", 2, lambda x, t: x[1]), PlainCurve("wall", 2, lambda x, t: 1 - x[1])
    field = PlainField(path, (wall,), lambda x, t: ca.vertcat(1 + 0 * t, -x[1] * (1 - x[1]) ** 2))
    found = verify(field, low=(-3, -1), high=(3, 2), times=[0.0, 1.0]).critical_points
    assert {point.kind for point in found} == {"degenerate"}
    for time in (0.0, 1.0):
        places = np.array([point.position for point in found if point.time == time])
        np.testing.assert_allclose(places[:, 1], 0.5, atol=1e-9)
        steps = np.diff(np.sort(places[:, 0]))
        assert steps.min() > 0.05 * np.hypot(6.0, 3.0)
        assert np.ptp(places[:, 0]) > 5.0


def test_places_where_the_field_vanishes() -> None:
    """w = (y, x² − 1) has a saddle at (1, 0) and a centre at (−1, 0); with friction the centre becomes a sink."""
    path = PlainCurve("path", 2, lambda x, _: x[1] - 5.0)
    for friction, kind in ((0.0, "center"), (0.3, "sink"), (-0.3, "source")):
        field = PlainField(path, (), lambda x, _, d=friction: ca.vertcat(x[1], x[0] ** 2 - 1 - d * x[1]))  # type: ignore[misc]
        report = verify(field, low=(-3, -3), high=(3, 3), times=[0.0], samples=100)
        points = report.stagnation_points
        np.testing.assert_allclose([p.position for p in points], [[-1.0, 0.0], [1.0, 0.0]], atol=1e-9)
        assert [p.kind for p in points] == [kind, "saddle"]
        assert points[1].escape == pytest.approx((np.sqrt(friction**2 + 8) - friction) / 2)
        assert [p.trap for p in points] == [kind == "sink", False]
        assert any("come to rest" in text for text in report.problems) == (kind == "sink")


def test_a_sink_inside_an_obstacle_is_no_trap() -> None:
    wall = PlainCurve("wall", 2, ring((0.0, 0.0), 1.0))
    field = PlainField(PlainCurve("path", 2, lambda x, _: x[1] - 5.0), (wall,), lambda x, _: -x)
    report = verify(field, low=(-3, -3), high=(3, 3), times=[0.0], samples=100)
    assert [(p.kind, p.inside, p.trap) for p in report.stagnation_points] == [("sink", ("wall",), False)]


@pytest.mark.parametrize(
    ("matrix", "extremum", "equilibrium"),
    [
        ([[2.0, 0.0], [0.0, 1.0]], "minimum", "source"),
        ([[-2.0, 0.5], [0.5, -1.0]], "maximum", "sink"),
        ([[1.0, 3.0], [3.0, 1.0]], "saddle", "saddle"),
        ([[1.0, 1.0], [1.0, 1.0]], "degenerate", "degenerate"),
        ([[0.0, 1.0], [-1.0, 0.0]], "degenerate", "center"),
        (np.diag([1.0, 2.0, -1e-3]), "saddle", "saddle"),
        (np.diag([1.0, 2.0, 3.0]), "minimum", "source"),
    ],
)
def test_kinds(matrix: Array, extremum: str, equilibrium: str) -> None:
    assert classify_extremum(np.asarray(matrix)) == extremum
    assert classify_equilibrium(np.asarray(matrix)) == equilibrium
