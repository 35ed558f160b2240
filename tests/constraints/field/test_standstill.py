"""A point that follows a field and no longer makes progress is reported by the preview, by verify and by the run."""

from __future__ import annotations

from dataclasses import dataclass

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
    intersection,
    line,
    moving,
    polygon,
    preview,
    spline,
    verify,
)
from erugin.constraints.curves import Curve, Spline
from erugin.controllers import Program, ProgramController, Status, start_on
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots import Link, planar_manipulator
from erugin.scenarios import simulate
from erugin.simulation import Trajectory, move_along
from erugin.symbolic import ModelError

from ...support.fields import BOTH, Avoidance

Array = NDArray[np.float64]
SPEED, MARGIN = 0.5, 0.1
LINE = line((0.0, 0.0), (6.0, 0.0), name="path")
SIDES = {"a": 1, "b": -1}
"""Left of the path to be passed on the right, and the other way around: between two discs that leave no gap."""


def wedge(sides: dict[str, int] | int = 1, offset: float = 0.25) -> EruginField:
    discs = [circle((3.0, offset), 0.3, name="a"), circle((3.0, -offset), 0.3, name="b")]
    return EruginField(LINE, discs, speed=SPEED, margin=MARGIN, side=sides, avoidance="detour")


def crate(x: float, y: float) -> Curve:
    """A square of half-planes: no ball is known to contain it, so that off the path it is not drawn in."""
    faces = [
        half_space((x + 0.3 * a, y + 0.3 * b), (a, b), name=f"face{i}")
        for i, (a, b) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1)))
    ]
    return intersection(*faces, name="crate")


def test_a_point_in_a_wedge_stands_still_and_is_not_safe() -> None:
    w = wedge(SIDES)
    found = preview(w, (0.0, 0.0), 16.0, step=0.01)
    assert not found.safe
    halt = found.standstill
    assert halt is not None
    assert halt.still
    assert halt.position == pytest.approx((2.75, 0.0), abs=0.06)
    assert 4.0 < halt.since < 10.0
    assert halt.nearest in SIDES
    (message,) = found.problems
    assert "stands still at (2.7" in message
    assert "choose_sides()" in message
    assert "PROBLEM: the point stands still" in str(found)
    assert str(found).endswith("not safe")
    motion = move_along(w, (0.0, 0.0), 16.0, step=0.01)
    assert np.linalg.norm(motion.w[-1]) < 0.02 * SPEED
    assert [message for _, message in motion.notes] == [message for _, message in motion.until(15.0).notes]
    assert "stands still" in motion.notes[0][1]
    freed = preview(w, (0.0, 0.0), 16.0, step=0.01, p=choose_sides(w, (0.0, 0.0), 16.0, step=0.01))
    assert freed.safe
    assert freed.problems == ()
    assert str(freed).endswith("\nsafe")
    assert move_along(wedge(), (0.0, 0.0), 16.0, step=0.01).notes == ()


def test_sides_that_get_along_come_before_sides_that_do_not() -> None:
    """A standstill costs less way than the long way round; it is not chosen all the same."""
    w = wedge(SIDES, offset=0.29)
    stuck = preview(w, (0.0, 0.0), 9.0, step=0.01)
    sides = choose_sides(w, (0.0, 0.0), 9.0, step=0.01)
    assert not stuck.safe
    assert stuck.clearance > 0.0
    assert preview(w, (0.0, 0.0), 9.0, step=0.01, p=sides).rank < stuck.rank


@pytest.mark.parametrize(("y", "side"), [(1.5, -1), (-1.5, 1)])
def test_a_point_that_circles_is_reported_too(y: float, side: int) -> None:
    w = EruginField(LINE, [crate(3.0, y)], speed=SPEED, margin=MARGIN, side=side, avoidance="detour")
    found = preview(w, (3.0, y - 0.45), 30.0, step=0.02)
    assert found.fastest > 0.9 * SPEED
    assert not found.safe
    assert found.standstill is not None
    assert not found.standstill.still
    assert "makes no progress along the path" in found.problems[0]
    other = EruginField(LINE, [crate(3.0, y)], speed=SPEED, margin=MARGIN, side=-side, avoidance="detour")
    assert preview(other, (3.0, y - 0.45), 30.0, step=0.02).safe


def test_on_a_closed_path_laps_are_progress_and_loops_round_an_obstacle_are_not() -> None:
    ring = circle((3.0, 0.0), 2.0, name="path")
    free = EruginField(ring, [circle((3.0, 2.2), 0.3, name="disc")], speed=SPEED, margin=MARGIN)
    assert preview(free, (5.0, 0.0), 60.0, step=0.02).safe
    caught = EruginField(ring, [crate(3.0, 3.5)], speed=SPEED, margin=MARGIN, side=1, avoidance="detour")
    found = preview(caught, (3.0, 3.05), 60.0, step=0.02)
    assert not found.safe
    assert "makes no progress" in found.problems[0]


def test_who_is_at_the_goal_or_not_wanted_to_move_does_not_stand_still() -> None:
    path = line((0.0, 0.0), (3.0, 0.0), name="path")
    disc = circle((1.5, 0.1), 0.2, name="disc")
    stopping = EruginField(path, [disc], speed=SPEED, margin=MARGIN, pace=lambda x, t: (3.0 - path.progress(x)) / 0.5)
    found = preview(stopping, (0.0, 0.0), 40.0, step=0.02)
    assert found.safe
    assert found.progress == pytest.approx(3.0, abs=0.02)
    beyond = EruginField(path, [circle((5.0, 0.0), 3.0 - 1.2, name="rock")], speed=SPEED, margin=MARGIN)
    assert preview(beyond, (0.0, 0.0), 20.0, step=0.02).safe


@pytest.mark.slow
def test_verify_sends_points_along() -> None:
    for w, start in ((wedge(SIDES), None), (wedge(SIDES), (0.0, 0.0)), (wedge(), (0.0, 0.0))):
        report = verify(w, start=start)
        reported = [text for text in report.problems if text.startswith("starting from") and "stands still" in text]
        assert bool(reported) == (w.parameters.nominal["field.side_b"] < 0.0)
        assert report.ok != bool(reported)


def arm_in(w: EruginField, *, held: bool = False) -> Trajectory:
    arm = planar_manipulator([Link(0.4, 1.0, 0.2, 0.02), Link(0.35, 0.8, 0.17, 0.01)])
    tip = arm.points["tip"]
    program = Program(arm, follow(w, tip, perturbation=FirstOrder(12.0)))
    q0, v0 = start_on(program, [-0.9, 1.5], at=[(tip, (0.45, -0.4))])
    law = ProgramController(program, realization="actuated")
    return simulate(arm, SampleAndHold(law, 2e-3) if held else law, q0, v0, 5.0, step=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("held", [False, True], ids=["alone", "held"])
def test_a_robot_that_stands_still_is_blocked(held: bool) -> None:
    path = line((0.45, -0.4), (0.45, 0.4), name="path")
    discs = [circle((0.39, 0.0), 0.07, name="left"), circle((0.51, 0.0), 0.07, name="right")]

    def field(sides: dict[str, int]) -> EruginField:
        return EruginField(path, discs, speed=0.2, margin=0.03, side=sides, avoidance="detour")

    motion = arm_in(field({"left": 1, "right": -1}), held=held)
    assert not motion.ok
    (since, message) = motion.notes[-1]
    assert message.startswith("'follow': the point stands still at (0.4")
    assert motion.ending == f"the duration is over; {message}"
    assert (motion.status[motion.t >= since] == Status.BLOCKED).all()
    assert (motion.status[motion.t < since] == Status.OK).all()
    assert abs(motion.v[-1]).max() < 0.05
    passed = arm_in(field({"left": -1, "right": -1}), held=held)
    assert passed.ok
    assert passed.ending == "the duration is over"


@dataclass(frozen=True, eq=False)
class Scene:
    """A field in a random scene."""

    field: EruginField
    start: Array

    def way(self, x: Array) -> Array:
        """Way along the path, shape (N,), by plain geometry."""
        path = self.field.path
        if isinstance(path, Spline):
            s = np.linspace(0.0, path.length, 2000)
            places = path.at(s)
            near = np.array([s[np.argmin(((places - one) ** 2).sum(axis=1))] for one in x])
            beyond = (x - places[-1]) @ (places[-1] - places[-2]) / np.linalg.norm(places[-1] - places[-2])
            return near + np.where(near >= path.length - 1e-6, np.maximum(beyond, 0.0), 0.0)
        if path.name == "ring":
            return 2.0 * np.unwrap(np.arctan2(x[:, 1], x[:, 0] - 3.0))
        return x[:, 0]

    @property
    def goal(self) -> float:
        return np.inf if self.field.path.name == "ring" else 6.0


def scene_of(seed: int, avoidance: Avoidance) -> Scene:
    """Lines, splines and rings among discs, boxes, polygons, ellipses and capsules, some of which drift and turn."""
    rng = np.random.default_rng(seed)
    kind = seed % 3
    path: Curve = LINE
    if kind == 1:
        path = spline(np.column_stack([np.linspace(0, 6, 5), rng.uniform(-0.5, 0.5, 5)]), name="path")
    elif kind == 2:
        path = circle((3.0, 0.0), 2.0, name="ring")
    start = path.at(0.0) if isinstance(path, Spline) else np.array([1.0 if kind == 2 else 0.0, 0.0])
    obstacles: list[Curve] = []
    for k in range(int(rng.integers(2, 5))):
        angle, size, name = rng.uniform(-2.6, 2.6), float(rng.uniform(0.15, 0.5)), f"o{k}"
        on_ring = np.array([3.0, 0.0]) + rng.uniform(1.6, 2.4) * np.array([np.cos(angle), np.sin(angle)])
        center = on_ring if kind == 2 else np.array([rng.uniform(1.0, 5.5), rng.uniform(-0.8, 0.8)])
        turn, spread = float(rng.uniform(0, 3)), rng.normal(size=2)
        spread *= size / np.linalg.norm(spread)
        corners = np.linspace(0.0, 2 * np.pi, 6)[:5] + rng.uniform(-0.3, 0.3, 5)
        radii = size * rng.uniform(0.6, 1.0, 5)
        outline = center + radii[:, None] * np.column_stack([np.cos(corners), np.sin(corners)])
        solids = (
            lambda c=center, s=size, n=name: circle(c, s, name=n),
            lambda c=center, s=size, n=name, a=turn: box(c, (2 * s, s), orientation=a, rounding=0.1 * s, name=n),
            lambda o=outline, n=name: polygon(o, name=n),
            lambda c=center, s=size, n=name, a=turn: ellipse(c, (s, 0.5 * s), orientation=a, name=n),
            lambda c=center, s=size, n=name, d=spread: capsule(c - d, c + d, 0.4 * s, name=n),
        )
        solid: Curve = solids[int(rng.integers(5))]()
        if rng.random() < 0.3:
            drift = rng.normal(size=2)
            drift *= rng.uniform(0, 0.15) / np.linalg.norm(drift)
            solid = moving(solid, velocity=drift, angular_velocity=float(rng.uniform(-0.3, 0.3)))
        obstacles.append(solid)
    sides = {one.name: int(rng.choice([-1, 1])) for one in obstacles}
    field = EruginField(path, obstacles, speed=SPEED, margin=MARGIN, side=sides, avoidance=avoidance)
    return Scene(field, start)


def judge(seed: int, avoidance: Avoidance) -> str:
    """Outcome of a scene: refused, reported or passed; asserts that the reports are true."""
    scene = scene_of(seed, avoidance)
    try:
        motion = move_along(scene.field, scene.start, 30.0, step=0.02)
    except ModelError:
        return "refused"
    found = preview(scene.field, scene.start, 30.0, step=0.02)
    message = " ".join(text for _, text in motion.notes)
    assert found.safe == (motion.notes == ()), f"seed {seed}: {found}, {motion.notes}"
    if motion.f[:, 1:].min() < -1e-9:
        assert "overrun" in message, f"seed {seed}"
        return "reported"
    way = scene.way(motion.x)
    late = way[motion.t >= 26.0]
    if way.max() >= scene.goal:
        assert not message, f"seed {seed}: at the goal, but {message}"
        return "passed"
    # Two metres were wanted in the last four seconds.
    if late[-1] - late[0] < 0.02:
        assert "stands still" in message or "makes no progress" in message, f"seed {seed}: {way[-1]}, {motion.x[-1]}"
        assert not found.safe
        return "reported"
    if late[-1] - late[0] > 1.0:
        assert not message, f"seed {seed}: on its way, but {message}"
    return "passed"


@pytest.mark.slow
@pytest.mark.parametrize("avoidance", BOTH)
def test_in_random_scenes_no_barrier_is_entered_and_every_standstill_is_reported(avoidance: Avoidance) -> None:
    outcomes = [judge(seed, avoidance) for seed in range(8000, 8030)]
    print({kind: outcomes.count(kind) for kind in set(outcomes)})
    assert outcomes.count("reported") >= 1
    assert outcomes.count("passed") >= 20
