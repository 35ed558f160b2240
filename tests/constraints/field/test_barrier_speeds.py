"""Barriers that advance faster than a field follows are refused, whatever moves them, and named by the run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import cast

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import (
    EruginField,
    FirstOrder,
    box,
    capsule,
    choose_sides,
    circle,
    ellipse,
    follow,
    half_space,
    line,
    moving,
    polygon,
    preview,
    require_start,
    superellipse,
    time_varying,
    union,
    verify,
)
from erugin.constraints.curves import Curve
from erugin.controllers import Program, ProgramController, Status, start_on
from erugin.robots import Link, Robot, planar_manipulator
from erugin.scenarios import simulate
from erugin.simulation import Trajectories, Trajectory, move_along
from erugin.symbolic import ModelError

LINE = line((0.0, 0.0), (6.0, 0.0), name="path")
IN_SPACE = line((0.0, 0.0, 0.0), (6.0, 0.0, 0.0), name="path")
ALLOWED = 0.8 * 1.5 * 0.5
DISC = circle((3.0, 2.0), 0.2, name="disc")


def field(obstacle: Curve, *, inside: bool = False) -> EruginField:
    """Cruise at 0.5 m/s, at most 0.75 m/s, so that 0.6 m/s are followed."""
    path = LINE if obstacle.dimension == 2 else IN_SPACE
    if inside:
        return EruginField(path, inside=[obstacle], speed=0.5, margin=0.1)
    return EruginField(path, [obstacle], speed=0.5, margin=0.1)


def squeezing(t: ca.SX) -> ca.SX:
    return ca.vertcat(0, -0.1 * t**2)


def thrown(t: ca.SX) -> ca.SX:
    return ca.vertcat(0, ca.if_else(t > 4.321, -1.5, 0))


def thrusting(t: ca.SX) -> ca.SX:
    return ca.vertcat(ca.fmax(0, t - 1) ** 2, 0)


def swinging(factor: float) -> Callable[[ca.SX], ca.SX]:
    return lambda t: ca.vertcat(0, factor * ca.sin(2 * t))


FAST: tuple[tuple[str, Curve, float], ...] = (
    # The normal of a face moves fastest at its end, where it is half the length of the bar away.
    ("a bar that turns", moving(box((3, 2), (1.6, 0.3), name="bar"), angular_velocity=3.0), 3.0 * 0.8),
    ("an ellipse that turns", moving(ellipse((3, 2), (1.0, 0.3), name="egg"), angular_velocity=-1.0), 0.7),
    (
        "discs that turn about a far point",
        moving(union(circle((3, 2), 0.2, name="a"), circle((3, 3), 0.3, name="b")), angular_velocity=0.7, about=(3, 2)),
        0.7,
    ),
    (
        "a capsule that turns in space",
        moving(capsule((2.5, 2, 0), (3.5, 2, 0), 0.2, name="rod"), angular_velocity=(0.0, 0.0, 2.0)),
        1.0,
    ),
    ("a disc that grows", time_varying(DISC, rates={"radius": 0.9}), 0.9),
    ("a box that widens", time_varying(box((3, 2), (0.4, 0.4), name="box"), rates={"size_y": 1.4}), 0.7),
    ("a disc that breathes", time_varying(DISC, laws={"radius": lambda r, t: r * (1 + 0.9 * ca.sin(5 * t))}), 0.9),
    (
        "a polygon that swells",
        time_varying(polygon([(2, 2), (3, 2), (2.5, 3)]), laws={"scale": lambda s, t: s + 3 * t}),
        0.0,
    ),
    ("a disc that speeds up", moving(DISC, displacement=squeezing), 2.0),
    ("a square that swings", moving(superellipse((3, 2), (0.3, 0.3), 4.0), displacement=swinging(0.5)), 1.0),
    ("a disc that turns up elsewhere", moving(DISC, displacement=thrown), np.inf),
    ("a wall that turns", moving(half_space((3, 2), (0, -1), name="wall"), angular_velocity=0.5), 0.0),
    (
        "a disc that drifts and grows",
        time_varying(circle((3, 2), 0.2, velocity=(0.0, -0.4), name="d"), rates={"radius": 0.3}),
        0.7,
    ),
)
EVERY = pytest.mark.parametrize(("curve", "speed"), [pytest.param(c, v, id=label) for label, c, v in FAST])


@EVERY
def test_a_barrier_that_advances_too_fast_is_refused_with_its_speed(curve: Curve, speed: float) -> None:
    w, start = field(curve), np.zeros(curve.dimension)
    message = "jumps" if np.isinf(speed) else rf"{curve.name!r} moves at .* follows at most 0\.8 of its limit, 0\.6 m/s"
    with pytest.raises(ModelError, match=message) as caught:
        preview(w, start, 10.0, step=0.02)
    if 0.0 < speed < np.inf:
        assert float(str(caught.value).split("moves at ")[1].split(" m/s")[0]) == pytest.approx(speed, rel=2e-3)
        assert f"raise limit= to {speed / 0.8:.2g}"[:-1] in str(caught.value)


@pytest.mark.parametrize(("curve", "speed"), [FAST[0][1:], FAST[4][1:]], ids=["turns", "grows"])
def test_it_is_refused_wherever_a_motion_begins(curve: Curve, speed: float) -> None:
    w, start = field(curve), np.zeros(curve.dimension)
    for attempt in (
        functools.partial(choose_sides, w, start, 10.0, step=0.02),
        functools.partial(move_along, w, start, 10.0, step=0.02),
        functools.partial(require_start, w, start, duration=10.0),
    ):
        with pytest.raises(ModelError, match=rf"moves at {speed:.1f} m/s"):
            attempt()


@pytest.mark.slow
@EVERY
def test_verify_names_what_advances_too_fast(curve: Curve, speed: float) -> None:
    n = curve.dimension
    report = verify(field(curve), low=[0.0] * n, high=[6.0, *[4.0] * (n - 1)], times=[0.0, 5.0, 10.0], samples=30)
    assert any("jumps" in text if np.isinf(speed) else "follows at most 0.8" in text for text in report.problems)


SLOW: tuple[tuple[str, Curve], ...] = (
    ("a bar that turns", moving(box((3, 0.9), (1.6, 0.3), name="bar"), angular_velocity=0.7)),
    ("a disc that grows", time_varying(circle((3, 1.0), 0.2, name="disc"), rates={"radius": 0.05})),
    ("a disc that shrinks fast", time_varying(circle((3, 3.0), 2.5, name="disc"), rates={"radius": -2.0})),
    ("a square that swings", moving(superellipse((3, 0.8), (0.3, 0.3), 4.0), displacement=swinging(0.28))),
    ("a disc at the limit", circle((3.0, 3.0), 0.2, velocity=(0.0, -ALLOWED), name="disc")),
)


@pytest.mark.parametrize("curve", [pytest.param(curve, id=label) for label, curve in SLOW])
def test_slower_ones_are_passed(curve: Curve) -> None:
    found = preview(field(curve), (0.0, 0.0), 14.0, step=0.01)
    assert found.clearance > 0.0
    assert found.safe, str(found)


def test_a_region_that_closes_too_fast_is_refused_and_one_that_opens_is_not() -> None:
    for rate, refused in ((-0.7, True), (0.7, False)):
        room = time_varying(circle((0.0, 0.0), 9.0, name="room"), rates={"radius": rate})
        attempt = functools.partial(require_start, field(room, inside=True), (0.0, 0.0), duration=5.0)
        if refused:
            with pytest.raises(ModelError, match=r"'room' moves at 0\.7 m/s"):
                attempt()
        else:
            attempt()


def test_what_counts_is_the_time_of_the_motion_and_the_values_it_is_given() -> None:
    late = field(moving(DISC, displacement=squeezing))
    require_start(late, (0.0, 0.0), duration=2.9)
    with pytest.raises(ModelError, match=r"moves at 0\.62 m/s"):
        require_start(late, (0.0, 0.0), duration=3.1)
    with pytest.raises(ModelError, match=r"moves at 0\.62 m/s"):
        require_start(late, (0.0, 0.0), t=3.1)
    growing = field(time_varying(DISC, rates={"radius": 0.1}))
    require_start(growing, (0.0, 0.0), duration=3.0)
    with pytest.raises(ModelError, match=r"moves at 0\.8 m/s"):
        require_start(growing, (0.0, 0.0), {"disc.radius_rate": 0.8}, duration=3.0)


def test_a_boundary_behind_another_barrier_does_not_count() -> None:
    """A rotor that spins within a drum never meets a point."""
    rotor = moving(box((3.0, 1.0), (0.8, 0.1), name="rotor"), angular_velocity=20.0)
    drum = circle((3.0, 1.0), 0.5, name="drum")
    assert require_start(EruginField(LINE, [drum, rotor], speed=0.5, margin=0.1), (0.0, 0.0), duration=5.0).size == 2


def arm_among(obstacle: Curve, parameters: dict[str, float] | None = None) -> Trajectory:
    """Two links, of which the tip goes up along a line at 0.2 m/s, where 0.24 m/s are followed."""
    arm, controller, q0, v0 = climbing(obstacle)
    return simulate(arm, controller, q0, v0, 2.5, step=2e-3, controller_p=parameters)


def climbing(obstacle: Curve) -> tuple[Robot, ProgramController, NDArray[np.float64], NDArray[np.float64]]:
    """The arm, its law and its start."""
    arm = planar_manipulator([Link(0.4, 1.0, 0.2, 0.02), Link(0.35, 0.8, 0.17, 0.01)])
    tip = arm.points["tip"]
    w = EruginField(line((0.45, -0.4), (0.45, 0.4), name="path"), [obstacle], speed=0.2, margin=0.03, side=1)
    program = Program(arm, follow(w, tip, perturbation=FirstOrder(12.0)))
    q0, v0 = start_on(program, [-0.9, 1.5], at=[(tip, (0.45, -0.4))])
    return arm, ProgramController(program, realization="actuated"), q0, v0


def test_a_run_among_barriers_that_are_too_fast_reports_it() -> None:
    """Nothing was checked before the run; notes, status and ending report its outcome."""
    swept = arm_among(moving(box((0.45, 0.0), (0.5, 0.06), name="blade"), angular_velocity=3.0))
    assert not swept.ok
    message = [text for _, text in swept.notes]
    assert any("'blade_motion' moves at 0.75 m/s" in text for text in message)
    assert any("overrun by 'blade_motion'" in text for text in message)
    assert "overrun by 'blade_motion'" in swept.ending
    time = next(time for time, text in swept.notes if "overrun" in text)
    assert swept.status[np.searchsorted(swept.t, time)] == Status.BLOCKED
    assert (swept.status[swept.t < time] == Status.OK).all()
    calm = arm_among(moving(box((0.7, 0.0), (0.2, 0.06), name="blade"), angular_velocity=0.3))
    assert calm.ok
    assert calm.notes == ()
    assert calm.ending == "the duration is over"


def test_values_of_a_run_count_not_the_nominal_ones() -> None:
    disc = time_varying(circle((0.75, -0.2), 0.1, name="disc"), rates={"radius": 0.02})
    assert arm_among(disc).ok
    grown = arm_among(disc, {"disc.radius_rate": 0.6})
    assert any("'disc' moves at 0.6 m/s" in text for _, text in grown.notes)
    assert not grown.ok


def batch_among(obstacle: Curve, name: str, values: list[float], duration: float = 0.2) -> Trajectories:
    """Lanes that differ in one parameter of the obstacle."""
    arm, controller, q0, v0 = climbing(obstacle)
    controller_p = np.tile(controller.parameters.values(None), (len(values), 1))
    controller_p[:, controller.parameters.names.index(name)] = values
    runs = simulate(arm, controller, np.tile(q0, (len(values), 1)), v0, duration, step=2e-3, controller_p=controller_p)
    assert isinstance(runs, Trajectories)
    return runs


def test_every_lane_of_a_batch_is_looked_at() -> None:
    """Bounds in closed form decide in each lane, however many sets of parameters there are."""
    drifts = [1e-3 * i for i in range(20)]
    drifts[13] = 0.6
    runs = batch_among(circle((0.75, 0.9), 0.05, name="disc"), "disc.vx", drifts)
    assert [i for i, notes in enumerate(runs.notes) if notes] == [13]
    assert "'disc' moves at 0.6 m/s" in runs.notes[13][0][1]


def test_a_lane_in_which_a_barrier_was_not_searched_is_reported() -> None:
    """No bound is known of what grows, and boundaries are searched for the first sets of parameters only."""
    disc = time_varying(circle((0.75, 0.9), 0.05, name="disc"), rates={"radius": 0.02})
    rates = [0.02 + 1e-3 * i for i in range(12)]
    rates[3] = 0.6
    runs = batch_among(disc, "disc.radius_rate", [*rates, rates[0], 0.6])
    assert [i for i, notes in enumerate(runs.notes) if not notes] == [0, 1, 2, 4, 5, 6, 7, 12]
    assert all("'disc' moves at 0.6 m/s" in runs.notes[i][0][1] for i in (3, 13))
    assert all("'disc' was not searched" in runs.notes[i][0][1] for i in range(8, 12))


def test_lanes_of_the_same_parameters_count_to_the_end_of_the_longest() -> None:
    """The disc is fast enough from 1 s on only; the first lane has ended by then."""
    thrust = moving(circle((0.9, 0.9), 0.05, name="disc"), displacement=thrusting, name="thrust")
    arm, controller, q0, v0 = climbing(thrust)
    p = np.tile(arm.parameters.values(None), (2, 1))
    p[0, arm.parameters.names.index("m1")] = 1.1
    stop = ca.fmin(arm.t - 0.1, arm.parameters["m1"] - 1.05)
    runs = cast(Trajectories, simulate(arm, controller, np.stack([q0, q0]), v0, 1.5, step=2e-3, p=p, stop=stop))
    assert runs.count[0] < runs.count[1]
    assert all("'thrust' moves at" in notes[0][1] for notes in runs.notes)
