"""The side on which obstacles are passed is the one on which a point gets on best, as SciPy's integrator confirms."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.constraints import EruginField, choose_side, circle, preview
from erugin.symbolic import Kernel, ModelError, ParameterError, ShapeError

from .fields import IN_SPACE, LINE, MARGIN, clearance, random_discs, scene, stepper

Array = NDArray[np.float64]


def expense(w: EruginField, start: Array, duration: float, values: Mapping[str, float]) -> float:
    """Departure − progress + 10 (δ − clearance)⁺ by SciPy and plain geometry, for comparison with the preview."""
    x, t = ca.SX.sym("x", w.dimension), ca.SX.sym("t")
    phi = w.path.functions(x, t)[0]
    inputs = {"x": x, "t": t, "p": w.parameters.symbols}
    kernel = Kernel("expense", inputs, {"w": w.velocity(x, t), "off": ca.fabs(phi)}, compiled=False)
    p = w.parameters.values(values)

    def rate(time: float, state: Array) -> Array:
        velocity, off = kernel(state[:-1], time, p)
        return np.append(velocity, off)

    times = np.linspace(0.0, duration, 3001)
    result = solve_ivp(rate, (0.0, duration), np.append(start, 0.0), rtol=1e-7, atol=1e-9, max_step=0.1, t_eval=times)
    assert result.success
    gap = float(clearance(dict(values), len(w.obstacles), result.t, result.y[:-1]).min())
    assert gap > 0.0
    # The path is along the first axis, so progress is the way made along it.
    return float(result.y[-1, -1] / duration - result.y[0, -1] + start[0] + 10 * max(0.0, MARGIN - gap))


@pytest.mark.parametrize("count", [1, 2])
def test_the_side_of_the_lesser_expense_is_chosen(count: int) -> None:
    w, _ = stepper(count)
    chosen: list[int] = []
    for numbers in random_discs(count, 20, seed=20 + count):
        cost = {side: expense(w, np.zeros(2), 15.0, {**numbers, "field.side": side}) for side in (1, -1)}
        if abs(cost[1] - cost[-1]) < 1e-3:  # No difference worth a choice.
            continue
        answer = choose_side(w, np.zeros(2), 15.0, step=0.01, p=numbers)
        assert cost[answer] < cost[-answer]
        # What the parameter was set to before does not matter.
        assert choose_side(w, np.zeros(2), 15.0, step=0.01, p={**numbers, "field.side": -1}) == answer
        found = preview(w, np.zeros(2), 15.0, step=0.01, p={**numbers, "field.side": answer})
        assert found.safe
        assert found.cost == pytest.approx(cost[answer], abs=0.02)
        chosen.append(answer)
    assert set(chosen) == {1, -1}
    assert len(chosen) >= 6


@pytest.mark.parametrize("offset", [0.3, 0.05, 1e-3])
def test_mirrored_scenes_are_passed_on_mirrored_sides(offset: float) -> None:
    """A disc to the left of the path (y > 0) is passed on the right, +1, and the other way around."""
    answers = {
        y: choose_side(scene("one", LINE, [circle((3.0, y), 0.4, name="disc0")]).field, (0.0, 0.0), 12.0, step=0.01)
        for y in (offset, -offset)
    }
    assert answers == {offset: 1, -offset: -1}


def test_equal_departures_mean_plus_one() -> None:
    for start in ((0.0, 0.0), (1.0, 0.0)):
        assert choose_side(scene("one", LINE, [circle((3.0, 0.0), 0.4, name="d")]).field, start, 12.0, step=0.01) == 1
    # A disc that never comes near.
    assert choose_side(scene("far", LINE, [circle((3.0, 50.0), 0.4, name="d")]).field, (0, 0), 12.0, step=0.01) == 1


def test_a_drift_decides_too() -> None:
    """A disc to the right that will have moved to the left of the path is passed on the right."""
    for drift, expected in ((0.0, -1), (0.1, 1)):
        disc = circle((3.0, -0.3), 0.4, velocity=(0.0, drift), name="disc0")
        assert choose_side(scene("one", LINE, [disc]).field, (0.0, 0.0), 14.0, step=0.01) == expected


def test_a_side_is_chosen_in_space() -> None:
    below = circle((4.0, -0.2, 0.1), 0.4, name="disc0")
    above = circle((4.0, 0.2, 0.1), 0.4, name="disc0")
    sides = [choose_side(scene("one", IN_SPACE, [d]).field, (0, 0, 0), 14.0, step=0.01) for d in (below, above)]
    assert sorted(sides) == [-1, 1]


def test_no_side_without_obstacles_or_from_inside_one() -> None:
    with pytest.raises(ModelError, match="'field' has no obstacles"):
        choose_side(scene("bare", LINE, []).field, (0.0, 0.0), 10.0, step=0.01)
    pair = [circle((3.0, 0.0), 0.5, name="left"), circle((5.0, 0.0), 0.5, velocity=(1.0, 0.0), name="right")]
    w = scene("two", LINE, pair).field
    with pytest.raises(ModelError, match=r"start \[5\.  0\.2\] lies inside 'right', 0\.3 m deep"):
        choose_side(w, (5.0, 0.2), 10.0, step=0.01)
    with pytest.raises(ModelError, match=r"lies inside 'left', 0\.5 m deep"):
        choose_side(w, (5.0, 0.2), 10.0, step=0.01, p={"left.x": 5.0, "left.y": 0.2, "right.x": 9.0})
    with pytest.raises(ModelError, match=r"lies inside 'left', -?0 m deep"):
        choose_side(w, (2.5, 0.0), 10.0, step=0.01)
    with pytest.raises(ModelError, match=r"duration must be greater than zero, got -1"):
        choose_side(w, (0.0, 0.0), -1.0, step=0.01, p={"right.vx": 0.0})
    with pytest.raises(ModelError, match=r"step must be greater than zero, got 0"):
        choose_side(w, (0.0, 0.0), 1.0, step=0.0, p={"right.vx": 0.0})
    with pytest.raises(ShapeError, match=r"start must have shape \(2,\), got shape \(3,\)"):
        choose_side(w, (0.0, 0.0, 0.0), 1.0, step=0.01)
    with pytest.raises(ParameterError, match=r"unknown parameter 'left\.z'.*Did you mean"):
        choose_side(w, (0.0, 0.0), 1.0, step=0.01, p={"left.z": 0.0})
