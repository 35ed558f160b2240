"""Ways of keeping constraints, side by side."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import Baumgarte, distance
from erugin.robots import Link, assemble, assemble_velocities, lagrangian_system, planar_manipulator
from erugin.robots.examples import four_bar
from erugin.scenarios.stabilisation import StabilisationMethod, compare_stabilisation, envelope, plot, table
from erugin.simulation import Projected


def test_a_four_bar_with_and_without_stabilisation(tmp_path: Path) -> None:
    robot = four_bar(Link(1.0, 1.0, 0.5, 0.1), Link(2.0, 2.0, 1.0, 0.7), Link(2.0, 2.0, 1.0, 0.7), ground=(2.0, 0.0))
    q = assemble(robot, [0.5, 0.3, 1.2]).q
    v = assemble_velocities(robot, q, [9.0, 0.0, 0.0])
    ways = {
        "none": StabilisationMethod(None),
        "Baumgarte": StabilisationMethod(Baumgarte()),
        "projection": StabilisationMethod(Baumgarte(), Projected()),
    }
    none, baumgarte, projected = compare_stabilisation(robot, ways, q, v, 10.0, step=1e-3, rounds=1)
    # Without stabilisation φ̈ = 0 holds to the error of the method, and the miss grows about as t²; with it it stays.
    half = len(none.t) // 2
    assert none.position[-1] > 3 * none.position[half] > 1e-7
    assert baumgarte.position[half:].max() < 1e-7
    assert projected.position.max() < 1e-13
    assert projected.velocity.max() < 1e-13
    assert none.energy.max() < 1e-3
    assert none.relative_cost == 1.0
    text = table((none, baumgarte, projected))
    assert len(text.splitlines()) == 4
    assert f"{none.position.max():.1e}" in text
    figure = plot((none, baumgarte, projected))
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "largest |φ| [m]",
        "largest |dφ/dt| [m/s]",
        "|energy error| / largest T",
    ]
    figure.savefig(tmp_path / "stabilisation.png")


def test_unstabilised_rows_are_the_second_derivative() -> None:
    """The motion is the same for an instant: nothing but the stabilisation was taken away."""
    robot = four_bar(Link(1.0, 1.0, 0.5, 0.1), Link(2.0, 2.0, 1.0, 0.7), Link(2.0, 2.0, 1.0, 0.7), ground=(2.0, 0.0))
    q = assemble(robot, [0.5, 0.3, 1.2]).q
    v = assemble_velocities(robot, q, [3.0, 0.0, 0.0])
    kept = compare_stabilisation(
        robot,
        {"a": StabilisationMethod(None), "b": StabilisationMethod(Baumgarte(1.0))},
        q,
        v,
        0.01,
        step=1e-3,
        rounds=1,
    )
    np.testing.assert_allclose(kept[0].energy, kept[1].energy, atol=1e-11)


def test_nothing_to_compare() -> None:
    arm = planar_manipulator([Link(0.5, 1.0, 0.2, 0.03)])
    with pytest.raises(ValueError, match="nothing to keep"):
        compare_stabilisation(arm, {"none": StabilisationMethod(None)}, [0.0], [0.0], 1.0, step=0.1)
    with pytest.raises(ValueError, match="at least one"):
        compare_stabilisation(arm, {}, [0.0], [0.0], 1.0, step=0.1)
    with pytest.raises(ValueError, match=r"'a' must be a Way, such as Way\(Baumgarte\(\)\)"):
        compare_stabilisation(arm, {"a": Baumgarte()}, [0.0], [0.0], 1.0, step=0.1)  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]
    assert len(table(()).splitlines()) == 1


def test_a_robot_at_rest_has_no_error_to_compare() -> None:
    x, v = ca.SX.sym("x", 2), ca.SX.sym("v", 2)
    held = distance(x, [0.0, 0.0], ca.SX(1.0), name="rod")
    robot = lagrangian_system(q=x, v=v, T=ca.sumsqr(v) / 2, natural=[held])
    with pytest.raises(ValueError, match="never moves with 'none'"):
        compare_stabilisation(
            robot, {"none": StabilisationMethod(None)}, [1.0, 0.0], [0.0, 0.0], 0.1, step=1e-3, rounds=1
        )


def test_the_envelope_keeps_every_peak() -> None:
    t = np.asarray(np.arange(1001) * 0.1, dtype=np.float64)
    values = np.zeros(1001)
    values[[3, 500, 1000]] = 2.0, 5.0, 7.0
    times, largest = envelope(t, values)
    assert len(times) == 300
    assert sorted(largest)[-3:] == [2.0, 5.0, 7.0]
    assert times[np.argmax(largest)] == pytest.approx(100.0, abs=0.4)
