"""Every kind of controller under every integrator: what a lane of a batch is, a run by itself is too, bit for bit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, FirstOrder, holonomic, nonholonomic
from erugin.controllers import Controller, Program, ProgramController, Status, start_on
from erugin.robots import Robot, assemble, assemble_velocities, lagrangian_system
from erugin.robots.hamiltonian import Cholesky
from erugin.simulation import (
    DOP853,
    RK4,
    CanonicalEuler,
    Integral,
    Integrator,
    Largest,
    Projected,
    Reduced,
    Simulator,
)

from ...support.arms import ELBOW, START, disc_program, two_link_arm
from ...support.called_controller import Called
from ...support.contracts import concrete, require_rows
from ...support.controller_cases import BUILDERS
from ...support.controller_cases.robots import robot_case
from ...support.integrators import ROWS
from ...support.mechanisms import crank_rocker
from ...support.motions import alone, assert_same

Array = NDArray[np.float64]
LANES = 3


class Case(NamedTuple):
    """A plant and its controller, where three runs begin, and what differs between them."""

    robot: Robot
    controller: Controller | None
    q: Array
    v: Array
    p: Mapping[str, Array]
    controller_p: Mapping[str, Array]


FREE: tuple[Integrator, ...] = (RK4(), DOP853(1e-9, 1e-9), CanonicalEuler(Cholesky()))
CLOSED: tuple[Integrator, ...] = (RK4(), Projected(), Reduced(), DOP853(1e-9, 1e-9))
OTHERS: tuple[Integrator, ...] = tuple(
    row.method if row.tolerant is None else row.tolerant(1e-6, 1e-8)
    for row in ROWS
    if type(row.method) not in {type(method) for method in FREE + CLOSED}
)


def arm_case(controller: Controller, q: Array) -> Case:
    rng = np.random.default_rng(11)
    nominal = controller.robot.nominal["m2"]
    starts = q + 0.05 * rng.normal(size=(LANES, len(q))), 0.1 * rng.normal(size=(LANES, len(q)))
    # In the first lane the controller knows the plant as it is, in the others not.
    return Case(controller.robot, controller, *starts, {"m2": nominal * np.array([1.0, 1.1, 0.9])}, {})


def on_the_arm(realization: Any, called: bool = False) -> Case:  # noqa: ANN401 - one of three words
    program = disc_program()
    q = start_on(program, ELBOW, at=[(program.robot.points["tip"], START)])[0]
    inner = ProgramController(program, realization=realization)
    case = arm_case(Called(inner) if called else inner, q)
    return case._replace(controller_p={"disc.radius": np.array([0.1, 0.15, 0.1])})


def switched() -> Case:
    """A row that switches on during the motion, in each lane at another time."""
    arm = two_link_arm()
    height = holonomic(arm.points["tip"][1] - 0.5, perturbation=Baumgarte(4.0), name="height")
    turn = nonholonomic(arm.v[0] - 0.3, perturbation=FirstOrder(3.0), name="turn")
    rows = [turn, height.switched(10 * arm.t + arm.q[0] - 1.5)]
    return arm_case(ProgramController(Program(arm, rows), realization="actuated"), np.array([0.3, 0.8]))


def baseline(name: str) -> Case:
    case, cls = robot_case("two-link arm"), next(cls for cls in BUILDERS if cls.__name__ == name)
    return arm_case(BUILDERS[cls](case), case.q0)


def crank(*, driven: bool) -> Case:
    """A closed loop, free or with a crank that a motor brings to its speed."""
    robot = crank_rocker()
    q = np.array([assemble(robot, [angle, 0.5, 1.5], fixed=["crank"]).q for angle in (0.3, 0.6, 0.9)])
    v = np.array([assemble_velocities(robot, x, fixed={"crank": 2.0}) for x in q])
    speed = nonholonomic(robot.v[0] - 3.0, perturbation=FirstOrder(5.0), name="speed")
    controller = ProgramController(Program(robot, speed), realization="actuated") if driven else None
    p = {"coupler.mass": robot.nominal["coupler.mass"] * np.array([1.0, 1.1, 0.9])}
    return Case(robot, controller, q, v, p, {})


def rolling() -> Case:
    """Wheels on a path, with natural constraints of order 1."""
    case, cls = robot_case("two-wheel robot"), next(cls for cls in BUILDERS if cls.__name__ == "Kanayama")
    q, v = np.tile(case.q0, (LANES, 1)), np.tile(case.v0, (LANES, 1))
    q[1:, 1] = [0.05, -0.1]
    return Case(case.robot, BUILDERS[cls](case), q, v, {}, {})


def mass() -> Case:
    """A loop in which (m w) / m could be simplified to w, which differs in the last bit."""
    x, v, m, u = (ca.SX.sym(name) for name in "xvmu")
    robot = lagrangian_system(q=x, v=v, p=m, nominal={"m": 3.0}, T=m * v**2 / 2, Q=u, u=u)
    along = holonomic(robot.q[0] - ca.sin(robot.t), perturbation=Baumgarte(3.0), name="along")
    controller = ProgramController(Program(robot, along), realization="actuated")
    masses = np.array([7.1, 3.1, 1.7])
    given = {"m": masses}, {"m": np.array([7.1, 3.0, 1.7])}
    return Case(robot, controller, np.full((LANES, 1), 0.1), np.zeros((LANES, 1)), *given)


CASES: dict[str, tuple[Callable[[], Case], tuple[Integrator, ...]]] = {
    "ideal program": (lambda: on_the_arm("ideal"), FREE),
    "actuated program": (lambda: on_the_arm("actuated"), FREE + OTHERS),
    "called from Python": (lambda: on_the_arm("actuated", called=True), FREE + OTHERS[:4]),
    "rows that are switched": (switched, FREE),
    "computed torque": (lambda: baseline("ComputedTorque"), FREE),
    "sliding mode": (lambda: baseline("SlidingMode"), FREE),
    "no controller": (lambda: crank(driven=False), CLOSED),
    "driven closed loop": (lambda: crank(driven=True), CLOSED + OTHERS),
    "rolling wheels": (rolling, CLOSED),
    "one mass": (mass, FREE),
}


@functools.cache
def case_of(name: str) -> Case:
    return CASES[name][0]()


PAIRS = [(name, integrator) for name, (_, integrators) in CASES.items() for integrator in integrators]


@pytest.mark.foreign
def test_every_integrator_is_met() -> None:
    met = {type(integrator) for _, integrator in PAIRS}
    require_rows("ROWS of tests/support/integrators.py", concrete(Integrator), met)


def simulator(case: Case, integrator: Integrator, stop: ca.SX | None = None) -> Simulator:
    metrics = {"speed": Integral(case.robot.v[0] ** 2), "highest": Largest(case.robot.q[-1])}
    return Simulator(case.robot, case.controller, integrator=integrator, metrics=metrics, stop=stop)


def in_lane(values: Mapping[str, Array], i: int) -> dict[str, float]:
    return {name: float(column[i]) for name, column in values.items()}


@pytest.mark.parametrize(("name", "integrator"), PAIRS, ids=lambda x: x if isinstance(x, str) else type(x).__name__)
@pytest.mark.filterwarnings("ignore::erugin.symbolic.errors.StartWarning")
def test_lanes_are_runs_by_themselves(name: str, integrator: Integrator) -> None:
    case = case_of(name)
    runs = simulator(case, integrator)
    span: dict[str, Any] = {"duration": 0.212, "step": 2e-3}
    motions = runs.run_batch(case.q, case.v, **span, p=case.p, controller_p=case.controller_p, t0=0.1)
    assert (motions.failure == Status.OK).all()
    assert np.ptp(motions.metrics["speed"]) > 0.0
    for i in range(LANES):
        given = {"p": in_lane(case.p, i), "controller_p": in_lane(case.controller_p, i)}
        assert_same(motions[i], alone(runs, case.q[i], case.v[i], **span, **given, t0=0.1))
    if name.startswith("rows"):
        assert len({int(active.sum()) for active in motions.active}) == LANES


@pytest.mark.parametrize("kind", ["actuated program", "driven closed loop"])
@pytest.mark.filterwarnings("ignore::erugin.symbolic.errors.StartWarning")
def test_order_and_neighbours_of_lanes_do_not_count(kind: str) -> None:
    """Shuffled, and beside lanes that diverge at once or after some samples, or stop at their start."""
    case, rng = case_of(kind), np.random.default_rng(4)
    runs = simulator(case, RK4(), stop=case.robot.v[0] - 1e3)
    span: dict[str, Any] = {"duration": 0.16, "step": 1e-3, "t0": 0.2}
    many = 21
    ((name, masses),) = case.p.items()
    q, v, m = (np.tile(x, (7, *[1] * (x.ndim - 1))) for x in (case.q, case.v, masses))
    m = m * rng.uniform(0.95, 1.05, many)
    calm = runs.run_batch(q, v, p={name: m}, **span)
    assert calm.ok.all()
    order = rng.permutation(many)
    shuffled = runs.run_batch(q[order], v[order], p={name: m[order]}, **span)
    for one, j in zip(shuffled, order.tolist(), strict=True):
        assert_same(one, calm[j])
    wild = v.copy()
    wild[[2, 8, 9, 20]] *= np.array([1e160, 1e120, -1e90, 1e4])[:, None]
    stormy = runs.run_batch(q, wild, p={name: m}, **span)
    touched = (wild != v).any(axis=1)
    assert (stormy.count[touched] < calm.count[touched]).all()
    for i in np.flatnonzero(~touched).tolist():
        assert_same(stormy[i], calm[i])
