"""The side on which obstacles are passed, for all of them and for each."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.constraints import EruginField, choose_side, choose_sides, circle, half_space, preview
from erugin.symbolic import Kernel, ModelError, ParameterError, ShapeError

from ...support.fields import (
    IN_SPACE,
    LENGTH,
    LINE,
    MARGIN,
    SPEED,
    clearance,
    random_discs,
    scene,
    step_kernel,
    stepper,
    travel,
)

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


@pytest.mark.slow
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


NAMES = ("disc0", "disc1")


def slalom(side: int | Mapping[str, int] = 1) -> EruginField:
    """A disc left of the path and one right of it, each reaching over it."""
    first = circle((3.0, 0.3), 0.5, velocity=(0.0, 0.0), name="disc0")
    second = circle((7.0, -0.3), 0.5, velocity=(0.0, 0.0), name="disc1")
    return EruginField(LINE, [first, second], speed=SPEED, margin=MARGIN, side=side, avoidance="detour")


def test_sides_are_given_by_name_or_for_all() -> None:
    each = slalom({"disc1": -1})
    assert [each.parameters.nominal[f"field.side_{name}"] for name in NAMES] == [0.0, -1.0]
    assert each.parameters.nominal["field.side"] == 0.0
    other = slalom(-1)
    assert [other.parameters.nominal[f"field.side_{name}"] for name in NAMES] == [0.0, 0.0]
    assert other.parameters.nominal["field.side"] == -1.0


@pytest.mark.parametrize("sides", list(itertools.product((1, -1), repeat=2)))
def test_each_disc_is_passed_on_its_own_side(sides: tuple[int, int]) -> None:
    """+1 is to the right, y < 0, of a path along x."""
    w = slalom(dict(zip(NAMES, sides, strict=True)))
    _, x, _ = travel(w, step_kernel(w), np.zeros(2), 30.0, 0.01, w.parameters.values())
    for middle, off, side in ((3.0, 0.3, sides[0]), (7.0, -0.3, sides[1])):
        beside = x[1, int(np.argmin(np.abs(x[0] - middle)))]
        assert np.sign(beside - off) == -side
        assert abs(beside - off) == pytest.approx(0.5 + MARGIN, abs=0.06)
    assert x[0, -1] > LENGTH


def test_the_short_way_round_each_disc_is_chosen() -> None:
    sides = choose_sides(slalom(), (0.0, 0.0), 28.0, step=0.02)
    assert sides == {"field.side": 1.0, "field.side_disc0": 1.0, "field.side_disc1": -1.0}
    # One side for both costs more, on either side.
    best = preview(slalom(), (0.0, 0.0), 28.0, step=0.02, p=sides)
    for side in (1.0, -1.0):
        assert best.cost < preview(slalom(), (0.0, 0.0), 28.0, step=0.02, p={"field.side": side}).cost - 0.05
    # What the parameters were before does not matter.
    turned = dict.fromkeys(sides, -1.0)
    assert choose_sides(slalom(), (0.0, 0.0), 28.0, step=0.02, p=turned) == sides


def test_a_gap_that_closes_is_not_entered() -> None:
    """Two discs leave a gap round the path now, none when the point is there: both are passed on one side."""
    above = circle((4.0, 0.9), 0.5, velocity=(0.0, -0.06), name="disc0")
    below = circle((4.0, -1.0), 0.5, velocity=(0.0, 0.05), name="disc1")
    w = EruginField(LINE, [above, below], speed=SPEED, margin=MARGIN, avoidance="detour")
    sides = choose_sides(w, (0.0, 0.0), 20.0, step=0.02)
    assert sides["field.side_disc0"] == sides["field.side_disc1"]
    found = preview(w, (0.0, 0.0), 20.0, step=0.02, p=sides)
    assert found.clearance > 0.9 * MARGIN
    between = preview(w, (0.0, 0.0), 20.0, step=0.02, p={"field.side_disc0": 1, "field.side_disc1": -1})
    assert between.clearance < 0.5 * MARGIN


def test_no_combination_is_better_than_the_chosen_one() -> None:
    """Against every combination by brute force, in scenes of three discs; the rule is a search, so nearly always."""
    w, _ = stepper(3)
    missed, least, worth = 0, np.inf, 0
    for numbers in random_discs(3, 8, seed=77):
        chosen = preview(
            w, np.zeros(2), 20.0, step=0.04, p=numbers | choose_sides(w, np.zeros(2), 20.0, step=0.04, p=numbers)
        )
        every = [
            preview(w, np.zeros(2), 20.0, step=0.04, p=numbers | {f"field.side_disc{j}": s for j, s in enumerate(c)})
            for c in itertools.product((1, -1), repeat=3)
        ]
        best = min(r.cost for r in every if r.safe)
        worth += best < max(r.cost for r in every) - 0.5
        missed += chosen.cost > best + 0.05
        least = min(least, chosen.clearance)
    assert worth >= 4
    assert missed <= 1
    assert least > 0.0


def test_where_turning_one_side_at_a_time_does_not_help_every_combination_is_tried() -> None:
    """A scene of five discs in which the search alone stops 1.4 m short."""
    w, _ = stepper(5)
    numbers = next(itertools.islice(random_discs(5, 442, seed=5), 441, None))
    sides = choose_sides(w, np.zeros(2), 20.0, step=0.04, p=numbers)
    assert preview(w, np.zeros(2), 20.0, step=0.04, p=numbers | sides).cost < -8.2


@pytest.mark.parametrize(
    ("side", "center", "radius", "drift"),
    [(1, (2.352, -0.311), 0.425, (-0.016, -0.039)), (-1, (0.86, 0.793), 0.692, (0.089, 0.039))],
)
def test_a_disc_that_leaves_the_path_takes_no_loop_along(
    side: int, center: tuple[float, float], radius: float, drift: tuple[float, float]
) -> None:
    """It drifts off to the side on which it is to be passed: if it did not fade out the point would circle it on."""
    disc = circle(center, radius, velocity=drift, name="disc0")
    w = EruginField(LINE, [disc], speed=SPEED, margin=MARGIN, side=side, avoidance="detour")
    found = preview(w, (0.0, 0.0), 40.0, step=0.04)
    assert found.safe
    assert found.progress > 16.0


def test_a_shape_without_a_reference_has_a_side_too() -> None:
    """A wall that the path runs into leaves one way: out of it."""
    wall = half_space((0.0, 0.0), (0.0, -1.0), name="wall")  # The free side is y < 0.
    w = EruginField(LINE, [wall], speed=SPEED, margin=MARGIN, avoidance="detour")
    assert choose_sides(w, (0.0, -0.3), 10.0, step=0.02)["field.side_wall"] == 1.0
    _, x, _ = travel(w, step_kernel(w), np.array([0.0, -0.3]), 20.0, 0.01, w.parameters.values())
    assert x[1, -1] == pytest.approx(-MARGIN, abs=w.parameters.nominal["field.rounding"])
    assert x[0, -1] > 9.0


def test_sides_are_chosen_in_space() -> None:
    balls = [circle((3.0, 0.1, 0.2), 0.5, name="disc0"), circle((7.0, -0.1, -0.2), 0.5, name="disc1")]
    w = EruginField(IN_SPACE, balls, speed=SPEED, margin=MARGIN)
    sides = choose_sides(w, np.zeros(3), 28.0, step=0.02)
    assert sides["field.side_disc0"] == -sides["field.side_disc1"]


BAD: tuple[tuple[str, Callable[[], object], str], ...] = (
    ("nobody", functools.partial(slalom, {"disc7": 1}), r"unknown barrier 'disc7'.*Did you mean"),
    ("none", functools.partial(slalom, {"disc0": 0}), r"side of 'disc0' must be \+1 or -1, got 0"),
    ("both", functools.partial(slalom, 2), r"side must be \+1, -1 or 'auto', got 2"),
    (
        "parameter",
        functools.partial(preview, slalom(), (0.0, 0.0), 1.0, step=0.1, p={"field.side_disc0": 0.5}),
        r"'field\.side_disc0' must be \+1, -1 or 0, got 0\.5",
    ),
    (
        "too fast",
        functools.partial(choose_side, slalom(), (0.0, 0.0), 1.0, step=0.1, p={"disc1.vx": 0.7}),
        r"'disc1' moves at 0\.7 m/s, but 'field' follows at most 0\.8 of its limit, 0\.6 m/s",
    ),
    (
        "covered",
        functools.partial(choose_sides, slalom(), (3.0, 0.2), 1.0, step=0.1),
        r"start \[3\.  0\.2\] lies inside 'disc0', 0\.4 m deep",
    ),
    (
        "bare",
        functools.partial(choose_sides, EruginField(LINE, speed=1.0), (0.0, 0.0), 1.0, step=0.1),
        "no obstacles, so there is no side",
    ),
    (
        "too long",
        functools.partial(choose_sides, slalom(), (0.0, 0.0), 1e5, step=0.01),
        "10000000 steps are too many",
    ),
)


@pytest.mark.parametrize(("make", "message"), [pytest.param(make, message, id=label) for label, make, message in BAD])
def test_bad_sides_and_starts_are_refused_with_numbers(make: functools.partial[object], message: str) -> None:
    with pytest.raises((ModelError, ParameterError), match=message):
        make()


def test_a_preview_reports_its_outcome() -> None:
    w = slalom()
    found = preview(w, (0.0, 0.0), 20.0, step=0.01)
    t, x, v = travel(w, step_kernel(w), np.zeros(2), 20.0, 0.01, w.parameters.values())
    assert found.progress == pytest.approx(float(x[0, -1]), abs=0.01)
    assert found.departure == pytest.approx(float(np.abs(x[1]).mean()), abs=1e-3)
    assert found.fastest == pytest.approx(float(np.linalg.norm(v, axis=0).max()), rel=1e-3)
    gaps = [clearance(_renamed(w.parameters.nominal, name), 1, t, x).min() for name in NAMES]
    assert list(found.nearest.values()) == pytest.approx(gaps, abs=1e-4)
    assert found.clearance == min(found.nearest.values())
    assert found.safe
    bare = preview(EruginField(LINE, speed=SPEED), (0.0, 0.2), 20.0, step=0.01)
    assert bare.clearance == np.inf
    assert bare.cost == pytest.approx(bare.departure - bare.progress)


def _renamed(numbers: Mapping[str, float], name: str) -> dict[str, float]:
    return {key.replace(name, "disc0"): value for key, value in numbers.items() if key.startswith(name)}
