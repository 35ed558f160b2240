"""The obstacle filter in closed form: it is the solution of the programme, in Python and in compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import circle
from erugin.controllers import (
    BufferedTick,
    Controller,
    Law,
    Status,
    SymbolicController,
)
from erugin.controllers.baselines import BarrierFunction, CbfFilter
from erugin.controllers.bounded import ConicSolver
from erugin.controllers.traits import Trait
from erugin.controllers.wrappers import Delay, Saturation
from erugin.robots import Link, Robot, assemble
from erugin.robots.examples import five_bar, turtlebot3_burger
from erugin.robots.examples.two_wheel import Form
from erugin.simulation import Simulator
from erugin.symbolic import NO_PARAMETERS, NotFiniteError

from ...support.arms import two_link_arm
from ...support.point_masses import point_mass
from ...support.sampled_laws import BASES, filtered

Array = NDArray[np.float64]
GAMMA = 4.0


class Springs(SymbolicController):
    """A nominal law of forces or inputs, −k (q − q*) − d v on the velocities that have drives, and a constant."""

    supports = frozenset(Trait)

    def __init__(self, robot: Robot, *, applies_force: bool) -> None:
        self.robot, self.parameters, self.applies_force = robot, NO_PARAMETERS, applies_force
        self.reset()

    def build_law(self) -> Law:
        c = self.robot.coordinates
        n = c.nv if self.applies_force else self.robot.u.numel()
        v = ca.vertcat(c.v, ca.SX.zeros(n))[:n]
        return Law.of_errors(1.0 - 2.0 * v, v, tuple(f"v{i}" for i in range(n)))


@dataclass(frozen=True)
class Case:
    """A robot, a point of it, and a function that draws states."""

    robot: Robot
    point: ca.SX
    draw: Callable[[np.random.Generator], tuple[Array, Array]]


def arm_case() -> Case:
    robot = two_link_arm()
    return Case(robot, robot.points["tip"], lambda rng: (rng.uniform([-3, 0.3], [3, 2.8]), rng.normal(0, 1, 2)))


def possible(robot: Robot, q: Array, v: Array) -> Array:
    """The part of velocities that natural rows allow."""
    A = robot.evaluate(robot.natural_form[0], q=q).reshape(-1, len(v))
    return v - np.linalg.pinv(A) @ A @ v


def wheels_case(form: Form) -> Callable[[], Case]:
    def case() -> Case:
        robot = turtlebot3_burger(form=form)
        c = robot.coordinates

        def draw(rng: np.random.Generator) -> tuple[Array, Array]:
            q, v = rng.uniform(-1, 1, c.nq), rng.normal(0, 0.3, c.nv)
            return q, possible(robot, q, v) if robot.natural else v

        return Case(robot, robot.points["nose"], draw)

    return case


def loop_case() -> Case:
    rods = Link(0.3, 0.5, 0.15, 0.004), Link(0.4, 0.4, 0.2, 0.006)
    robot = five_bar(*rods, *rods, ground=(0.2, 0.0))

    def draw(rng: np.random.Generator) -> tuple[Array, Array]:
        q = assemble(robot, np.array([2.2, 0.9, 0.9, 2.2]) + rng.uniform(-0.15, 0.15, 4)).q
        return q, possible(robot, q, rng.normal(0, 0.5, 4))

    return Case(robot, robot.points["tip"], draw)


CASES = {
    "two-link arm": arm_case,
    "two wheels, natural rows": wheels_case("full"),
    "two wheels, reduced": wheels_case("reduced"),
    "five bars, natural rows": loop_case,
}


@pytest.mark.parametrize("swirl", [0.0, 0.5])
@pytest.mark.parametrize("applies_force", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_closed_form_is_the_solution_of_the_programme(name: str, applies_force: bool, swirl: float) -> None:
    case = CASES[name]()
    robot = case.robot
    disc = circle((0.0, 0.0), 0.1, velocity=(0.05, -0.1), name="disc")
    barrier = BarrierFunction.outside(robot, case.point, disc, margin=0.02, swirl=swirl)
    nominal = Springs(robot, applies_force=applies_force)
    closed = CbfFilter(nominal, barrier, rate=GAMMA)
    solved = CbfFilter(nominal, barrier, rate=GAMMA, solver=ConicSolver())
    assert closed.law is not None
    assert solved.law is None
    drives = ca.SX.eye(robot.coordinates.nv) if applies_force else robot.input_matrix
    mobility = robot.mobility(drives)[0]
    rng, corrected, seen = np.random.default_rng(11), 0, set[Status]()
    for _ in range(60):
        q, v = case.draw(rng)
        t, at = float(rng.uniform(0, 1)), robot.evaluate(case.point, q=q)
        away = rng.normal(size=2)
        place = at + away / np.linalg.norm(away) * rng.uniform(0.1, 0.4) - t * np.array([0.05, -0.1])
        p = {"disc.x": place[0], "disc.y": place[1]}
        one, other = closed.evaluate(*closed.arguments(t, q, v, p), None), solved.observe(t, q, v, p)
        # Forces that move nothing are free where natural rows make W singular; the accelerations are unique.
        effect = robot.evaluate(mobility, q=q).reshape(robot.coordinates.nv, -1)
        a, b, asked = (effect @ u for u in (one.output, other.output, nominal.control(t, q, v)))
        size = 1.0 + np.abs(b).max()
        np.testing.assert_allclose(a, b, atol=1e-9 * size)
        if not (applies_force and robot.natural):
            np.testing.assert_allclose(one.output, other.output, atol=1e-9 * (1.0 + np.abs(other.output).max()))
        assert one.status is other.status
        assert one.message == other.message
        corrected += bool(np.abs(a - asked).max() > 1e-3 * size)
        seen.add(one.status)
    assert 10 < corrected < 60
    assert seen == {Status.OK, Status.LIMITED}


WRAPPED: dict[str, Callable[[], Controller]] = {
    "law": BASES["filter"],
    "memory inside": lambda: filtered(BASES["integral"]()),
    "wrapped": lambda: Delay(Saturation(BASES["filter"](), [40.0, 30.0]), 0.004),
}


@pytest.mark.compiled
@pytest.mark.parametrize("name", WRAPPED)
def test_a_compiled_loop_has_the_bits_of_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    controller = WRAPPED[name]()
    simulator = Simulator(controller.robot, controller)
    assert simulator.is_vectorized(2e-3)
    q0, v0 = np.array([[0.3, 0.5], [0.31, 0.52], [0.2, 0.6]]), np.full((3, 2), [0.8, 0.1])
    compiled = simulator.run_batch(q0, v0, 1.0, step=2e-3)
    for kind in (type(controller), CbfFilter):
        monkeypatch.setattr(kind, "sampled_law", lambda self, period: None)
        if hasattr(kind, "law"):
            monkeypatch.setattr(kind, "law", None)
    seen = set[int]()
    for lane in range(len(q0)):
        called = Simulator(controller.robot, controller).run(q0[lane], v0[lane], 1.0, step=2e-3)
        for what in ("q", "v", "u", "status"):
            np.testing.assert_array_equal(getattr(compiled[lane], what), getattr(called, what), err_msg=what)
        assert compiled[lane].notes == called.notes
        seen |= set(called.status.tolist())
    assert seen == {int(Status.OK), int(Status.LIMITED)}


def test_bounds_that_the_closed_form_satisfies_need_no_programme() -> None:
    """With bounds a programme is solved where they bind, and only there; the result is that of the programme."""
    free = two_link_arm()
    robot = replace(free, limits=replace(free.limits, effort=np.array([12.0, 4.0])))
    disc = circle((0.0, 0.0), 0.1, name="disc")
    barrier = BarrierFunction.outside(robot, robot.points["tip"], disc, margin=0.02, swirl=0.5)
    nominal = Springs(robot, applies_force=False)
    closed = CbfFilter(nominal, barrier, rate=GAMMA)
    solved = CbfFilter(nominal, barrier, rate=GAMMA, solver=ConicSolver())
    assert closed.law is None
    assert closed.sampled_law(1e-3) is None
    rng, at_bound, corrected = np.random.default_rng(3), 0, 0
    for _ in range(100):
        q, v = rng.uniform([-3, 0.3], [3, 2.8]), rng.normal(0, 1, 2)
        x, y = robot.evaluate(robot.points["tip"], q=q) + rng.uniform(0.1, 0.25) * np.array([1.0, 0.0])
        one, other = (law.observe(0.0, q, v, {"disc.x": x, "disc.y": y}) for law in (closed, solved))
        np.testing.assert_allclose(one.output, other.output, atol=1e-9 * (1.0 + np.abs(other.output).max()))
        assert one.message == other.message
        at_bound += bool((np.abs(one.output) >= [12.0, 4.0]).any())
        corrected += bool(np.abs(one.output - nominal.control(0.0, q, v)).max() > 1e-3)
    assert 10 < at_bound < corrected - 10


def test_a_barrier_that_is_not_finite_is_an_error_and_no_output() -> None:
    mass = point_mass()
    nominal = Springs(mass, applies_force=False)
    law = CbfFilter(nominal, BarrierFunction("root", 0.5 + ca.sqrt(mass.q[0])))
    assert np.isfinite(law.control(0.0, [1.0, 0.0], [0.0, 0.0])).all()
    with pytest.raises(NotFiniteError, match="a barrier, its derivatives or the nominal output are not finite"):
        law.control(0.0, [-1.0, 0.0], [0.0, 0.0])
    motion = Simulator(mass, law).run_batch([[-1.0, 0.0]], [[0.0, 0.0]], 0.1, step=1e-2)
    assert motion.failure[0] == Status.NOT_FINITE


def test_the_tick_is_bound_to_arrays() -> None:
    law = BASES["filter"]()
    assert isinstance(law, CbfFilter)
    tick, q, v = BufferedTick.of(law), np.array([0.3, 0.5]), np.array([0.8, 0.1])
    tick.t[0], tick.q[:], tick.v[:] = 0.1, q, v
    tick()
    assert np.array_equal(tick.output, law.control(0.1, q, v))
    assert not np.array_equal(tick.output, law.inner.control(0.1, q, v))
